"""The next known-good node that frees up is reserved for a late one: a placeholder waits with high priority.

A placeholder is a pod that asks for a whole node's devices, as a rank does, on any node that is open. It preempts nobody. When
devices come free, the scheduler looks at waiting pods by their priority, so that it gets the node before the next job does. (A
pod that was just turned away rests for up to ten seconds; a job that comes just then is faster, and the placeholder takes the
next node.) Where ranks ask for no device, pods do not exclude each other, and nothing can be reserved.

For the moment between placeholder and ranks the node is closed and tainted, whatever the hold is; it opens again afterwards.
"""

import copy
from collections.abc import Collection, Sequence
from typing import Any, Final

from gpufabric.validation import contract, gate_json, leftovers
from gpufabric.validation.api import Api, Json, path

_COMMAND: Final = ("python3", "-c", "import time\nwhile True: time.sleep(3600)")


class Reservations:
    """The controller's placeholders. `priority_class` empty: none are made. `look` reads, `want` and `release` change."""

    def __init__(self, api: Api, gate: gate_json.Gate, owner: Json, devices: dict[str, float], priority_class: str) -> None:
        self.api, self.gate, self.owner, self.devices, self.priority_class = api, gate, owner, devices, priority_class
        self.prefix = f"{gate.names.rank_job}-reserve-"
        self.placed: dict[str, str] = {}
        self.waiting: set[str] = set()
        self.made = 0

    @property
    def possible(self) -> bool:
        return bool(self.priority_class and self.devices)

    def look(self) -> Collection[str]:
        """The nodes that are reserved now. Asks only while there are placeholders."""
        if self.placed or self.waiting:
            names = {name for name in leftovers.jobs(self.api, self.gate) if name.startswith(self.prefix)}
            pods = [pod for pod in leftovers.rank_pods(self.api, self.gate) if pod.job in names and not pod.deleting]
            self.placed = {pod.node: pod.job for pod in pods if pod.node}
            self.waiting = names - set(self.placed.values())
        return self.placed.keys()

    def want(self, count: int, but: Sequence[str] = ()) -> None:
        """As many placeholders wait as late nodes have no partner; a reserved node that nobody took is given back.

        `but`: open nodes that a new placeholder keeps off.
        """
        count = count if self.possible else 0
        but = [*but, *self.placed]  # whatever else is on a node that nobody took would be there again
        for node in list(self.placed):
            self.release(node)
        for name in sorted(self.waiting)[count:]:
            self._delete(name)
            self.waiting.discard(name)
        while len(self.waiting) < count:
            name = f"{self.prefix}{self.made}"  # never one that is on its way out
            self.made += 1
            self.api.create(path("jobs", namespace=self.gate.namespace, group="batch"), self.job(name, but))
            self.waiting.add(name)

    def release(self, node: str) -> None:
        """Free the node's devices; nothing where it is not reserved."""
        if name := self.placed.pop(node, ""):
            self._delete(name)

    def _delete(self, name: str) -> None:
        self.api.delete(path("jobs", name, namespace=self.gate.namespace, group="batch"))

    def job(self, name: str, but: Sequence[str] = ()) -> dict[str, Any]:
        """The placeholder: in the judge's image, which is on every node of the group, with the labels of ranks."""
        template = copy.deepcopy(dict(self.gate.rank_job["spec"]["template"]))
        ranks = template["spec"]
        judge = next(each for each in ranks["containers"] if each["name"] == contract.CONTAINER_JUDGE)
        labels = contract.labels(self.gate.group, leftovers.RANKS)
        devices = {device: f"{count:.0f}" for device, count in self.devices.items()}
        open_node: dict[str, Any] = {
            "matchExpressions": [{"key": contract.LABEL_VALIDATED, "operator": "In", "values": ["pass"]}],
            "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in but],
        }
        only_open = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [open_node]}}
        meta = self.owner["metadata"]
        owner = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        tolerations = [each for each in ranks.get("tolerations", []) if each.get("key") != contract.TAINT_HOLD]
        spec = {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 0,
            "priorityClassName": self.priority_class,
            "nodeSelector": ranks.get("nodeSelector", {}),
            "affinity": {**ranks.get("affinity", {}), "nodeAffinity": only_open},
            "tolerations": tolerations,
            "securityContext": ranks.get("securityContext", {}),
            "containers": [
                {
                    "name": "placeholder",
                    "image": judge.get("image", self.gate.image),
                    "imagePullPolicy": "IfNotPresent",
                    "command": list(_COMMAND),
                    "resources": {"limits": devices},
                    "securityContext": judge.get("securityContext", {}),
                }
            ],
        }
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
            "spec": {"completions": 1, "parallelism": 1, "template": {"metadata": {"labels": labels}, "spec": spec}},
        }
