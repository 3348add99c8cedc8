"""Kueue's kinds, as the pinned Kueue defines them."""

from typing import Any

import yaml

from tools.localcluster.kueue import definitions
from tools.toolchain.build import ensure_built
from tools.toolchain.programs import read_programs, select


def kueue_kinds() -> list[dict[str, Any]]:
    """The CustomResourceDefinitions. Their conversions are left out: they need the program, and one version is asked for."""
    (program,) = select(read_programs(), "kueue")
    ensure_built([program])
    found = [yaml.safe_load(text) for text in definitions(program).values()]
    for each in found:
        each["spec"].pop("conversion", None)
    return found
