"""From a fabric's row to parts of a pod: interfaces, the sidecar with its devices, volumes, the claim. In Kubernetes' words."""

import json
from collections.abc import Mapping
from typing import Any

from gpufabric.hardware.fabric_pods import FabricPod
from gpufabric.plan.fabric import GroupFabric
from gpufabric.plan.profile import PodClaim, PodParts

_PERIOD_S = 5  # ours: how often the sidecar's ready file is looked for
CLAIM = "fabric"
"""Name of a pod's claim, and of the request in it."""


def pod_annotations(fabric: GroupFabric, gpus: int) -> dict[str, str]:
    """What GKE reads from pods of the fabric: their interfaces, and the devices of the sidecar."""
    row = fabric.pod
    if row is None:
        return {}
    return {**({} if fabric.claims else _interfaces(row, fabric.rails)), **_devices(row, gpus)}


def pod_parts(fabric: GroupFabric) -> PodParts:
    """What else pods of the fabric have; nothing where its row says nothing."""
    row = fabric.pod
    if row is None:
        return PodParts()
    return PodParts(
        volumes=_volumes(row),
        mounts=row.mounts,
        sidecar=_sidecar(row) if row.sidecar else None,
        claim=_claim(row, fabric.rails) if fabric.claims else None,
        environment_script=row.environment_script,
    )


def _interfaces(row: FabricPod, rails: int) -> dict[str, str]:
    """Rail k of the node is interface k of the pod: NCCL pairs rails by their order."""
    listed = [{"interfaceName": row.host_interface, "network": "default"}]
    for rail, network in enumerate(row.rail_networks(rails)):
        listed.append({"interfaceName": f"eth{row.first_interface + rail}", "network": network})
    return {
        "networking.gke.io/default-interface": row.host_interface,
        "networking.gke.io/interfaces": json.dumps(listed, separators=(",", ":")),
    }


def _devices(row: FabricPod, gpus: int) -> dict[str, str]:
    """The sidecar uses the GPUs that the container beside it has asked for. GKE finds it by its name, which the key ends in."""
    if not row.sidecar:
        return {}
    devices = [*(f"/dev/nvidia{gpu}" for gpu in range(gpus)), *row.sidecar_devices]
    return {f"devices.gke.io/container.{row.sidecar}": "".join(f"- path: {each}\n" for each in devices)}


def _volumes(row: FabricPod) -> tuple[Mapping[str, Any], ...]:
    """Folders of the node must be there: a pod waits for them, since an installer makes them."""
    of_node = ({"name": name, "hostPath": {"path": path, "type": "Directory"}} for name, path in row.host_paths.items())
    return (*of_node, *({"name": name, "emptyDir": {}} for name in row.empty_dirs))


def _sidecar(row: FabricPod) -> Mapping[str, Any]:
    """An init container that goes on: it is there before the job's container and ends with it (Kubernetes 1.29)."""
    ready = {
        "startupProbe": {
            "exec": {"command": ["cat", row.sidecar_ready_file]},
            "periodSeconds": _PERIOD_S,
            "failureThreshold": row.sidecar_ready_s // _PERIOD_S,
        }
    }
    return {
        "name": row.sidecar,
        "image": row.sidecar_image,
        "command": list(row.sidecar_command),
        "restartPolicy": "Always",
        "env": [{"name": name, "value": value} for name, value in sorted(row.sidecar_environment.items())],
        "securityContext": {"capabilities": {"add": list(row.sidecar_capabilities)}},
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in row.sidecar_mounts.items()],
        **(ready if row.sidecar_ready_file else {}),
    }


def _claim(row: FabricPod, rails: int) -> PodClaim:
    """All devices of a node, counted: a node that lacks one gets no pod, rather than one with fewer rails."""
    exactly = {"deviceClassName": row.device_class, "allocationMode": "ExactCount", "count": rails}
    requests = [{"name": CLAIM, "exactly": exactly}]
    return PodClaim(
        name=CLAIM, template=f"gpufabric-{row.name}-{rails}", template_spec={"spec": {"devices": {"requests": requests}}}
    )
