"""After a killed ``up``: what it was creating, which nobody noted, goes into the state or is forgotten.

The next ``up`` alone creates all of it a second time: Pulumi only warns of pending creates, and its
``refresh --import-pending-creates`` forgets them instead of importing them (v3.274.1: nothing reads its mark).
"""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tools.engine import Engine
from tools.errors import ToolError

Search = Callable[[str, dict[str, Any]], str | None]
"""Type and inputs of a resource -> id of the one in the cloud, or None where there is none."""


def resume(engine: Engine, stack: str, search: Search) -> dict[str, str | None]:
    """Take the lock of a killed ``up`` away, and settle what it was creating. URN -> id of what was found.

    ``search`` looks into the cloud, as a person would: by name and tags, which are among the inputs.
    """
    engine.unlock(stack)
    state = engine.state_of(stack)
    deployment = state["deployment"]
    pending = deployment.pop("pending_operations", None) or []
    creating = [each["resource"] for each in pending if each["type"] == "creating"]
    found = {each["urn"]: search(each["type"], each["inputs"]) for each in creating}
    if pending:
        adopted = [each | {"id": found[each["urn"]]} for each in creating if found[each["urn"]]]
        deployment["resources"] = [*deployment.get("resources", []), *adopted]
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "state.json"
            file.write_text(json.dumps(state), encoding="utf-8")
            _check(engine.run("stack", "import", "--file", str(file), "--stack", stack))
        # An update or a deletion that was interrupted needs this too: the state may say what is no longer so.
        _check(engine.run("refresh", "--yes", "--skip-preview", "--suppress-outputs", "--stack", stack))
    return found


def _check(done: Any) -> None:
    if done.returncode:
        raise ToolError(f"pulumi {' '.join(done.args[6:8])}: {done.stdout.strip()}")
