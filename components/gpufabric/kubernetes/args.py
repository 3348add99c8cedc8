"""Arguments of the Kubernetes components: typed dicts that other languages can host too.

No ``from __future__ import annotations`` here, no unions and no ``Literal``: Pulumi's component analyzer refuses them.
Each key means what the spec model of the same name says; a test holds the two together.
"""

from typing import NotRequired, TypedDict

from pulumi import Input

from gpufabric.kubernetes.storage_args import OwnFilesystemArgs, OwnStoreArgs, StorageArgs


class FabricProfileArgs(TypedDict):
    """What a pod needs for the fabric, said explicitly where no named fabric fits."""

    resources: NotRequired[dict[str, int]]
    """Device-plugin resources per pod, such as ``{"rdma/ib": 8}``; counts from 1 to 4,096. Default: none."""
    hcas: NotRequired[list[str]]
    """Host channel adapters for ``NCCL_IB_HCA``, names or prefixes. Default: none, which means no RDMA."""
    interface: NotRequired[str]
    """The pod's interface for bootstrap and TCP. Default: ``eth0``, the first interface of a pod."""
    environment: NotRequired[dict[str, str]]
    """Environment of the job beyond what the keys above set. Default: none."""
    image: NotRequired[str]
    """Image that the ranks of the gate run in, pinned. Default: ``rank_image`` of the validation, else its ``image``."""


class SchedulerArgs(TypedDict):
    """Who decides when a job starts: the queue in front of the node groups."""

    kind: str
    """``kueue``: jobs wait, with nothing running, until validated nodes are free for all of their pods."""
    installed: NotRequired[bool]
    """Kueue is in the cluster already. Default: true. ``false``: not built yet."""
    queue: NotRequired[str]
    """Name of the LocalQueues: 1 to 63 of ``a-z``, ``0-9``, ``-``. Default: the group's name."""
    cluster_queue: NotRequired[str]
    """Name of the ClusterQueue. Default: ``gpufabric-<stack>-<group>``."""
    namespaces: NotRequired[list[str]]
    """Existing namespaces that jobs are submitted in; each gets a LocalQueue. Default: ``default``."""
    topology_levels: NotRequired[list[str]]
    """Node labels that say where a node stands, the widest first, up to 15. The host is always the last. Default: it alone."""


class ProvisioningArgs(TypedDict):
    """Nodes that are asked for when the turn of a job comes, all of them at once; none is there before."""

    kind: str
    """``gke_queued``: a queued node pool of GKE, by Dynamic Workload Scheduler."""
    max_run_seconds: NotRequired[int]
    """How long the nodes of a job live, 600 to 604,800 seconds. Default: GKE's, seven days."""


class GroupSchedulerArgs(SchedulerArgs):
    """The queue in front of one group."""

    provisioning: NotRequired[ProvisioningArgs]
    """Who is asked for the nodes of a group that has none before a job's turn; it needs ``preflight``. Default: nobody."""


class MemtestArgs(TypedDict):
    """A test of the GPUs' memory before every job that uses the pod profile."""

    level: str
    """``short``: 2 to 10 minutes (dcgmi diag -r 2). ``medium``: 10 to 30 (3). ``long``: 45 to 135 (4)."""
    image: str
    """Image with dcgmi, pinned; with nv-hostengine where no DCGM engine answers in the pod."""


class PreflightArgs(TypedDict):
    """A look at the node before every job, instead of the label that says it was validated."""

    image: NotRequired[str]
    """Image with a shell and nvidia-smi, pinned. Default: the rank image of the machine's fabric; without one required."""


class LocalDiskArgs(TypedDict):
    """Where the nodes of a group have room on disks of their own: nothing about it can be asked of a cluster."""

    path: str
    """Folder on every node, such as ``/mnt/nvme``: caches are made below it; ``scratch`` in it is for pods, and exists."""
    size_gib: int
    """What it holds on each node, 1 to 1,000,000 GiB; caches together take three quarters of it."""


class NodeGroupArgs(TypedDict):
    """A group of equal nodes of a cluster of one's own."""

    name: str
    """Name of the group, part of the names of what is created for it: 1 to 20 of ``a-z``, ``0-9``, ``-``."""
    node_selector: dict[str, str]
    """Labels that exactly this group's nodes have."""
    accelerators: str
    """``NAME:COUNT`` per node in SkyPilot's words, such as ``H100:8``; or ``cpu``."""
    nodes: int
    """Number of nodes, exactly: 1 to 5,000."""
    network_tier: NotRequired[str]
    """``best`` (default): GPUDirect or RDMA, or an error. ``standard``: Ethernet, asked for by name."""
    fabric: NotRequired[str]
    """A named fabric of the table. Exactly one of ``fabric``, ``machine_type`` and ``profile``."""
    machine_type: NotRequired[str]
    """A cloud's machine of the table, whose fabric it is. Exactly one of ``fabric``, ``machine_type`` and ``profile``."""
    profile: NotRequired[FabricProfileArgs]
    """The fabric said explicitly. Exactly one of ``fabric``, ``machine_type`` and ``profile``."""
    scheduler: NotRequired[GroupSchedulerArgs]
    """The queue in front of this group; its pod profile puts jobs there. Default: the stack's ``scheduler``, if any."""
    memtest: NotRequired[MemtestArgs]
    """A test of the GPUs' memory before every job. Default: none."""
    preflight: NotRequired[PreflightArgs]
    """For groups that grow from zero for each job: jobs look at their node themselves and do not ask for the label of validated
    nodes. Default: jobs run on validated nodes alone."""
    fabric_attachment: NotRequired[str]
    """How a pod gets the devices of a GKE machine's fabric: ``networks`` or ``dranet``. Default: networks."""
    tolerates: NotRequired[list[str]]
    """Keys of taints (NoSchedule) that jobs and ranks tolerate beside that of GPUs. Default: none."""
    local_disk: NotRequired[LocalDiskArgs]
    """A folder of the nodes' own disks, for caches and scratch of ``storage``. Default: none that pods may use."""


class ValidationArgs(TypedDict):
    """What the gate measures, what is enough, how long to wait."""

    image: NotRequired[str]
    """The gate's own image, pinned: Python 3.11; for the ``mpi`` backend also mpirun, mpi4py and sshd. Required."""
    rank_image: NotRequired[str]
    """Image of the ranks, pinned: nccl-tests, mpirun and sshd for ``nccl``; that of your jobs for ``torch``, where it is
    required. Default: the machine's, else ``image``; ``profile.image`` wins."""
    backend: NotRequired[str]
    """``nccl`` (default): nccl-tests on GPUs. ``mpi``: between CPUs over TCP. ``torch``: in ``rank_image``."""
    floor_gbytes_per_s: NotRequired[float]
    """Least bus bandwidth of the largest message, GB/s (1e9 bytes/s), above 0 and up to 10,000. Default: the baseline table."""
    floor_all_gather_gbytes_per_s: NotRequired[float]
    """The same of the all_gather between exactly two nodes by GPUDirect or RDMA (``nccl``), above 0 and up to 10,000. Default:
    the baseline table; without a row none."""
    max_size: NotRequired[str]
    """Largest message, the one that is judged, 1K to 64G. Default: 8G on GPUs, 64M between CPUs."""
    run: NotRequired[int]
    """Raise it to validate again, 1 to 1,000,000; only a raise drains nodes that are busy. Default: 1."""
    wait: NotRequired[bool]
    """Wait for nodes that are not Ready. Default: true. ``false``: fewer nodes than asked give the outcome pending."""
    health: NotRequired[dict[str, str]]
    """How bad a finding of stage 0 is: fatal, warning; by check or XID (``xid-63``, also ignore). Default: the table's."""
    dcgm_level: NotRequired[int]
    """Level of ``dcgmi diag`` in stage 0: 1 (default, seconds), 2 (minutes) or 3 (a quarter of an hour). The clocks follow."""
    nodes_minutes: NotRequired[float]
    """How long to wait for the nodes, Ready and drained, 0.1 to 1,440 minutes. Default: 15."""
    start_minutes: NotRequired[float]
    """How long image pull and start of the ranks may take, 0.1 to 1,440 minutes. Default: 15."""
    benchmark_minutes: NotRequired[float]
    """How long the sweep may take, with an all_gather after it, 0.1 to 1,440 minutes. Default: 10."""
    hold: NotRequired[str]
    """How a node stays closed: ``label`` (default), or ``taint``: also tainted ``gpufabric.dev/hold:NoSchedule``."""
    keep: NotRequired[bool]
    """Keep the gate running: nodes that join, reboot or are replaced are validated and opened without an up. Default: false."""
    single_node_ok: NotRequired[bool]
    """With ``keep``: open a late node by its own measurement alone where no idle partner is there. Default: false."""
    stand_ins: NotRequired[list[str]]
    """What is not the real thing here, at most 10 sentences of 200 characters: every verdict repeats them. Default: none."""


class NcclValidationArgs(TypedDict):
    """Arguments of :class:`gpufabric.kubernetes.NcclValidation`."""

    node_group: NodeGroupArgs
    """The group to validate."""
    validation: ValidationArgs
    """What to measure and what is enough."""
    namespace: NotRequired[str]
    """An existing namespace to run in. Default: one of the gate's own, ``gpufabric-<stack>-<group>``."""
    groups: NotRequired[list[NodeGroupArgs]]
    """All groups of the cluster: the gate's coordinator keeps off their nodes. Default: ``node_group`` alone."""


class NodeHealthCheckArgs(TypedDict):
    """Arguments of :class:`gpufabric.kubernetes.NodeHealthCheck`."""

    node_group: NodeGroupArgs
    """The group whose nodes are looked at. ``profile.image``, if given, is the image that reads; it may lack Python."""
    image: str
    """The gate's own image, pinned, with Python 3.11: it judges, and reads unless the profile names another image."""
    health: NotRequired[dict[str, str]]
    """How bad a finding is: fatal, warning; by check or XID (``xid-63``, also ignore). Default: the table's."""
    dcgm_level: NotRequired[int]
    """Level of ``dcgmi diag``: 1 (default, seconds), 2 (minutes) or 3 (a quarter of an hour). The clocks follow."""
    run: NotRequired[int]
    """Raise it to look again, 1 to 1,000,000. Default: 1."""
    start_minutes: NotRequired[float]
    """How long image pull and start may take, and busy devices to become free, 0.1 to 1,440 minutes. Default: 15."""
    namespace: NotRequired[str]
    """An existing namespace to run in. Default: one of its own, ``gpufabric-<stack>-<group>-health``."""


class FabricGateArgs(TypedDict):
    """Arguments of :class:`gpufabric.kubernetes.FabricGate`: those of the group's NcclValidation, whose objects it uses."""

    node_group: NodeGroupArgs
    """The group to keep validated."""
    validation: ValidationArgs
    """What to measure and what is enough."""
    namespace: NotRequired[str]
    """The namespace of the group's gate. Default: the gate's own, ``gpufabric-<stack>-<group>``."""
    groups: NotRequired[list[NodeGroupArgs]]
    """All groups of the cluster: the controller keeps off their nodes. Default: ``node_group`` alone."""


class JobQueueArgs(TypedDict):
    """Arguments of :class:`gpufabric.kubernetes.JobQueue`."""

    node_group: NodeGroupArgs
    """The group whose validated nodes the queue gives out; here its ``scheduler`` is required."""


class GroupNvmeArgs(TypedDict):
    """The local NVMe of one node group: its disks become one file system, mounted where ``local_disk`` of the group says."""

    disk_image: str
    """Image with mdadm, xfsprogs and util-linux, pinned."""
    disks: NotRequired[int]
    """How many disks each node has, 1 to 64: else nothing is formatted. Default: the machine's, or not known."""
    devices: NotRequired[list[str]]
    """Disks by their path, shell patterns, where no cloud's model fits. Default: none, those whose model the table knows."""
    wipe: NotRequired[list[str]]
    """Disks below ``/dev/disk/by-id``, shell patterns, that may be cleared of what others left there. Default: none."""
    local_volume: NotRequired[bool]
    """Also a StorageClass for local volumes that you make. Default: false."""


class KubernetesTrainingStackArgs(TypedDict):
    """Arguments of :class:`gpufabric.kubernetes.KubernetesTrainingStack`."""

    node_groups: list[NodeGroupArgs]
    """The groups of nodes; names are unique, no node matches two of them."""
    validation: NotRequired[ValidationArgs]
    """The gate of every group. Default: none of its keys; but ``image`` is required."""
    scheduler: NotRequired[SchedulerArgs]
    """The queue in front of every group that has no ``scheduler`` of its own; the verdict opens it. Default: none."""
    stores: NotRequired[dict[str, OwnStoreArgs]]
    """Buckets that exist, by name. Default: none."""
    filesystems: NotRequired[dict[str, OwnFilesystemArgs]]
    """Shared file systems that exist, by the name of their claim in the namespace of the jobs. Default: none."""
    storage: NotRequired[StorageArgs]
    """Which of them each role uses: data sets, models, checkpoints, scratch. Default: no roles."""
    local_nvme: NotRequired[dict[str, GroupNvmeArgs]]
    """Groups whose nodes' local NVMe becomes one file system, by the group's name: its disks are formatted. Default: none."""


class ApiAccessArgs(TypedDict):
    """How a cluster's API endpoint is reached. There is no default: the safe one would lock most users out."""

    kind: str
    """``public``: from ``cidrs`` and from inside. ``private``: from inside the VPC alone, where ``pulumi up`` then runs.
    ``dns``, of GKE: by a name, from anywhere, for whom IAM lets in."""
    cidrs: NotRequired[list[str]]
    """Public IPv4 networks that may call, /8 or narrower, at most 40. Required with ``public``. Default: none."""


class ServiceAccountArgs(TypedDict):
    """A Kubernetes service account."""

    namespace: str
    """Namespace of the service account."""
    name: str
    """Name of the service account."""


class NodeNetworkArgs(TypedDict):
    """One network of a node pool beside the cluster's own: a VPC with a subnet in it, by name."""

    network: Input[str]
    """Name of the VPC."""
    subnetwork: Input[str]
    """Name of its subnet, in the region."""
