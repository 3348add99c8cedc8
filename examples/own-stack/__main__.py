"""An organisation's own stack: it brings cluster and job, imports the gate, and lets the job run only where the gate passed.

Install: ``pip install 'gpufabric[kubernetes]'``. Here the nodes are CPU nodes; with GPUs, write ``"accelerators": "H100:8"``,
``"fabric": "infiniband"`` and leave out ``network_tier``, ``backend`` and, where a baseline is known, the floor.
"""

import pulumi
from pulumi_kubernetes.batch.v1 import Job
from pulumi_kubernetes.core.v1 import Namespace

from gpufabric.kubernetes import KubernetesNodeGroup, NcclValidation
from gpufabric.kubernetes.args import NodeGroupArgs, ValidationArgs

config = pulumi.Config()
image = config.get("image") or "localhost/gpufabric/gate:1"

group: NodeGroupArgs = {
    "name": "train",
    "node_selector": {"gpufabric.dev/pool": "train"},
    "accelerators": "cpu",
    "nodes": 2,
    "network_tier": "standard",
    "fabric": "ethernet",
}
wanted: ValidationArgs = {"backend": "mpi", "image": image, "max_size": "4M", "floor_gbytes_per_s": 0.01}

nodes = KubernetesNodeGroup("train", group)
gate = NcclValidation("train", {"node_group": group, "validation": wanted})

team = Namespace("team", metadata={"name": "team"})
container = {"name": "trainer", "image": image, "command": ["python3", "-c", "print('trained where it is fast')"]}
job = Job(
    "finetune",
    metadata={"name": "finetune", "namespace": team.metadata["name"]},
    spec=nodes.pod_profile.apply_to({"template": {"spec": {"restartPolicy": "Never", "containers": [container]}}}),
    opts=pulumi.ResourceOptions(depends_on=[gate]),
)

pulumi.export("verdict", gate.verdict)
pulumi.export("finetune", job.status.apply(lambda status: status.succeeded))
