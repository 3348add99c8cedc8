"""A stack of a program, run by the real engine through Google's own provider, over the stand-in of Google's APIs."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpufabric.spec import CONFIG_KEY
from tools.googleapi.server import GoogleApis
from tools.googleprovider.provider import environment, plugin_folder
from tools.googleprovider.seeds import seed
from tools.samples.life import Life, stacks_at_golden_time
from tools.samples.life import life as any_life
from tools.samples.plans import config_of, samples
from tools.standin.verdicts import hold_verdicts
from tools.toolchain.cli import path_folder


@dataclass(frozen=True)
class GoogleLife:
    """A stack, and the project of Google's that it lives in."""

    stack: Life
    apis: GoogleApis

    @property
    def held(self) -> list[str]:
        """Paths of everything in the project."""
        return self.apis.account.paths()


@contextmanager
def life(
    name: str, program: Path, config: Mapping[str, Any], folder: Path, project: str = "train-123456"
) -> Iterator[GoogleLife]:
    """A new stack of a program in an empty project."""
    with GoogleApis(folder / "google.sqlite", project) as apis:
        path = os.pathsep.join([str(plugin_folder(folder)), path_folder(), os.environ["PATH"]])
        known = {**environment(apis.url), "PATH": path, "GOOGLE_PROJECT": project}
        with any_life(name, program, config, folder, environment=known) as stack:
            yield GoogleLife(stack, apis)


@contextmanager
def sample_life(name: str, folder: Path) -> Iterator[GoogleLife]:
    """A sample's own stack."""
    config = config_of(samples("gcp")[name])
    wish = config[CONFIG_KEY]
    with life(name, stacks_at_golden_time(folder), config, folder, wish["project"]) as made:
        seed(made.apis.account, wish)
        hold_verdicts(made.stack.cluster, name, wish)
        yield made
