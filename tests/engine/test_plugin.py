"""The plugin through the real engine: another language sees all components, as the golden schema has them."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.kubernetes.golden import FOLDER
from tools.engine import Engine

pytestmark = pytest.mark.engine


def test_the_engine_reads_the_golden_schema_from_the_plugin(tmp_path: Path) -> None:
    engine = Engine(tmp_path)
    command = engine.command("package", "get-schema", "./plugin")
    done = subprocess.run(command, env=engine.environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found, golden = json.loads(done.stdout), json.loads((FOLDER / "schema.json").read_text("utf-8"))
    assert found["name"] == "gpufabric"
    for kind in ("resources", "types"):
        assert found[kind].keys() == golden[kind].keys()
    for token, resource in found["resources"].items():
        same = golden["resources"][token]
        assert resource["isComponent"] is True
        assert named(resource, "inputProperties") == named(same, "inputProperties"), token
        assert named(resource, "properties") == named(same, "properties"), token
        assert set(resource.get("requiredInputs", [])) == set(same.get("requiredInputs", [])), token


def named(resource: dict[str, Any], what: str) -> dict[str, Any]:
    """Each property with its type or the type it refers to, and what is said of it."""
    return {key: (each.get("$ref", each.get("type")), each.get("description")) for key, each in resource.get(what, {}).items()}
