"""The verdicts of a stack's gates in a stand-in cluster, where nothing runs: they lie there from the beginning."""

import json
from collections.abc import Mapping
from typing import Any

from gpufabric.plan.names import gate_names
from gpufabric.validation.contract import VERDICT_KEY
from tools.standin.standin import StandIn

VERDICT = {"outcome": "pass", "reason": "a stand-in cluster: nothing ran", "nodes": []}


def hold_verdicts(cloud: StandIn, stack: str, wish: Mapping[str, Any]) -> None:
    """Put one ``pass`` per group of the wish where its gate would write it."""
    for group in wish["node_groups"]:
        names = gate_names(stack, group["name"], None)
        verdict = {VERDICT_KEY: json.dumps(VERDICT)}
        cloud.hold("kubernetes:core/v1:ConfigMap", f"{names.namespace}/{names.verdict}", data=verdict)
