"""One node looked at by itself: what its judge says and how it ends."""

import json
import threading
from pathlib import Path

import pytest

from gpufabric.validation import contract, node_check
from gpufabric.validation.health_wish import Health, Rule

WISH = Health(interface="eth0", rules={"interface": Rule("fatal", "write the interface that ip link shows")})


def run(root: Path, *, wish: str | None = None, readings: dict[str, str] | None = None) -> tuple[int, str]:
    """The judge beside readings (text by name; all with exit code 0); its exit code and message."""
    (root / "plan").mkdir()
    (root / "plan" / contract.HEALTH_NAME).write_text(json.dumps(WISH.to_dict()) if wish is None else wish)
    folder = root / "shared" / "health"
    folder.mkdir(parents=True)
    for name, text in (readings or {}).items():
        (folder / name).write_text(text)
        (folder / f"{name}.code").write_text("0\n")
    if readings is not None:
        (folder / "done").touch()
    message = root / "message"
    environment = {
        contract.ENV_ROOT: str(root),
        contract.ENV_TERMINATION_LOG: str(message),
        contract.ENV_NODE_NAME: "gpu-7",
        contract.ENV_START_SECONDS: "0.3",
    }
    environment[node_check.ENV_STAY_SECONDS] = "0"
    return node_check.main(environment, threading.Event()), message.read_text()


def test_a_fit_node(tmp_path: Path) -> None:
    assert run(tmp_path, readings={"interface": "has eth0\nhas lo\nstate up\n"}) == (
        0,
        "PASS gpu-7: fit. Node health: 1 checks passed on 1 node.",
    )


def test_a_sick_node_is_named_with_what_to_do(tmp_path: Path) -> None:
    code, said = run(tmp_path, readings={"interface": "has ens1\nhas lo\n"})
    assert code == 2
    assert said.startswith("FAIL gpu-7: sick: interface: no eth0; the pod has ens1, lo")
    assert "\nNext: write the interface that ip link shows; then run `pulumi up` again" in said


def test_a_node_of_which_nothing_could_be_read(tmp_path: Path) -> None:
    code, said = run(tmp_path, readings={})
    assert code == 3
    assert said.startswith("UNKNOWN gpu-7: no check could be made. Node health: 0 checks passed on 1 node, 1 not checked")


def test_readings_that_do_not_come_prove_nothing(tmp_path: Path) -> None:
    code, said = run(tmp_path)
    assert code == 3
    assert said.startswith("UNKNOWN gpu-7: the container beside this one left no readings within 0.3 s")


@pytest.mark.parametrize("wish", ["", "[]", "{}", '{"interface": "eth0", "gpus": -1}'])
def test_a_plan_that_cannot_be_read(tmp_path: Path, wish: str) -> None:
    code, said = run(tmp_path, wish=wish, readings={})
    assert code == 3
    assert said.startswith("UNKNOWN gpu-7: its plan cannot be read")
