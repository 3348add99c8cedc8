"""Stage 0 alone, on one node: `python3 -m gpufabric.validation.node_check`, beside health.sh in a NodeHealthCheck's pod.

Exit 0 healthy, 2 sick, 3 nothing could be judged. The termination message, which Pulumi prints, names the node, what was found
and what to do. The first pod that fails ends the Job and with it the others: after a bad verdict this one stays for
GATE_STAY_SECONDS or until it is told to end, so that the other nodes' verdicts are not lost.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gpufabric.validation import contract, gate_json, health_report, health_wish
from gpufabric.validation.ending import AGAIN
from gpufabric.validation.health import Watch
from gpufabric.validation.health_report import Report
from gpufabric.validation.health_wish import Health
from gpufabric.validation.reader import Reader

ENV_STAY_SECONDS: Final = "GATE_STAY_SECONDS"
_POLL_SECONDS: Final = 0.2
_STAY_SECONDS: Final = 10.0


def read_wish(text: str) -> Health:
    """health.json's text -> what the node is held to. Raises ContractError."""
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise gate_json.ContractError(f"{contract.HEALTH_FILE}: not JSON: {error}") from None
    reader = Reader()
    wish = health_wish.read(reader, raw if isinstance(raw, dict) else {})
    if reader.problems:
        raise gate_json.ContractError("; ".join(reader.problems))
    return wish


def told(node: str, wish: Health, report: Report) -> tuple[str, str]:
    """The outcome, and the line for a person. Where nothing could be read nothing is known: no run follows to prove it."""
    summary = health_report.summary({node: report})
    if report.fatal:
        fix = health_report.fix(wish, {node: report})
        return "fail", f"FAIL {node}: sick: {health_report.fatal_text(report)}. {summary}.\nNext: {fix}; {AGAIN}."
    if not report.passed and wish.wanted:
        return (
            "unknown",
            f"UNKNOWN {node}: no check could be made. {summary}.\nNext: name an image that has the tools, {AGAIN}.",
        )
    return "pass", f"PASS {node}: fit. {summary}."


def main(environment: Mapping[str, str], stop: threading.Event) -> int:
    """Wait for the readings beside us and judge them."""
    root = Path(environment.get(contract.ENV_ROOT, contract.ROOT))
    log = Path(environment.get(contract.ENV_TERMINATION_LOG, contract.TERMINATION_LOG))
    node = environment.get(contract.ENV_NODE_NAME, "this node")
    try:
        wish = read_wish((root / Path(contract.HEALTH_FILE).relative_to(contract.ROOT)).read_text("utf-8"))
    except (OSError, gate_json.ContractError) as error:
        return _leave(log, f"UNKNOWN {node}: its plan cannot be read: {error}. Please report this mistake in gpufabric.", 3)
    watch = Watch(root / Path(contract.SHARED_DIR).relative_to(contract.ROOT), wish)
    patience_s = float(environment.get(contract.ENV_START_SECONDS, "120"))
    end = time.monotonic() + patience_s
    while (report := watch.look()) is None:
        if stop.is_set() or time.monotonic() >= end:
            text = f"UNKNOWN {node}: the container beside this one left no readings within {patience_s:g} s"
            return _leave(log, f"{text}.\nNext: look at its image and its log, {AGAIN}.", 3)
        stop.wait(_POLL_SECONDS)
    outcome, text = told(node, wish, report)
    code = _leave(log, text, contract.EXIT_CODES[outcome])
    if code:
        stop.wait(float(environment.get(ENV_STAY_SECONDS, _STAY_SECONDS)))
    return code


def _leave(log: Path, text: str, code: int) -> int:
    print(text, flush=True)
    log.write_bytes(text.encode()[: contract.TERMINATION_MESSAGE_BYTES])
    return code


if __name__ == "__main__":
    stop_asked = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop_asked.set())
    sys.exit(main(os.environ, stop_asked))
