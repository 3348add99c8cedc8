"""Image family, release and user data of a node."""

from gpufabric.hardware import AwsMachine, EksVersion, ami_types, machine_fabrics
from gpufabric.spec import Problem
from gpufabric.spec.aws import EksNodeGroupSpec

_BOUNDARY = "==gpufabric=="
_RAID0 = """\
apiVersion: node.eks.aws/v1alpha1
kind: NodeConfig
spec:
  instance:
    localStorage:
      strategy: RAID0
"""


def ami_type(wish: EksNodeGroupSpec, machine: AwsMachine, path: str) -> str | Problem:
    """The image family for the machine's architecture, or why the one asked for cannot be had."""
    known = ami_types()
    if wish.ami_type is None:
        return next(row.name for row in known.values() if row.default and row.architecture == machine.architecture)
    where = f"{path}.ami_type"
    row = known.get(wish.ami_type)
    fitting = [each.name for each in known.values() if not each.refusal and each.architecture == machine.architecture]
    fix = f"leave it out, or write {' or '.join(fitting)}"
    if row is None:
        return Problem(where, f"{wish.ami_type} is no image family with NVIDIA's driver that is known here", fix)
    if row.refusal:
        return Problem(where, f"{row.name} is refused: {row.refusal}", fix, str(row.provenance))
    if row.architecture != machine.architecture:
        return Problem(where, f"{row.name} is for {row.architecture}; {machine.name} is {machine.architecture}", fix)
    return row.name


def ami_release(wish: EksNodeGroupSpec, version: EksVersion, path: str) -> str | Problem:
    """The pinned release: the wish's, else the table's. Of another Kubernetes version EKS refuses it after minutes."""
    if wish.ami_release is None:
        return version.ami_release
    if not wish.ami_release.startswith(f"{version.kubernetes}."):
        reason = f"{wish.ami_release} is not of Kubernetes {version.kubernetes}, the cluster's version"
        return Problem(f"{path}.ami_release", reason, f"leave it out (then {version.ami_release})")
    return wish.ami_release


def user_data(machine: AwsMachine, *, striped: bool, fabric: bool) -> str:
    """MIME text for AL2023: nodeadm's part, which EKS merges with its own, and a script that runs before the kubelet.

    RAID0 puts containers, pod logs and ephemeral storage on the local disks. Huge pages are set before the kubelet starts,
    since it counts them once (amazon-eks-ami issue 2367; nodeadm-run.service comes after cloud-final.service).
    """
    parts = []
    if striped:
        parts.append(("application/node.eks.aws", _RAID0))
    pages = machine_fabrics()[machine.fabric].node_huge_pages_2mib if fabric else 0
    if pages:
        parts.append(("text/x-shellscript", f"#!/bin/bash\nsysctl -w vm.nr_hugepages={pages}\n"))
    if not parts:
        return ""
    head = f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="{_BOUNDARY}"\n\n'
    body = "".join(f"--{_BOUNDARY}\nContent-Type: {kind}\n\n{text}\n" for kind, text in parts)
    return f"{head}{body}--{_BOUNDARY}--\n"
