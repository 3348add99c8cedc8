"""Bad specs, one by one: the exact lines that a user reads, with path, reason and fix."""

from typing import Any

import pytest

from gpufabric.hardware.baselines import baselines
from tests.spec.specs import CPU, GONE, H100, changed, problems

GROUP = "node_groups[0]"
VALIDATION_KEYS = (
    "image, rank_image, backend, floor_gbytes_per_s, floor_all_gather_gbytes_per_s, max_size, run, wait, "
    "health, dcgm_level, nodes_minutes, start_minutes, benchmark_minutes, hold, keep, single_node_ok, stand_ins"
)
GROUP_KEYS = "name, node_selector, accelerators, nodes, network_tier, fabric, machine_type, profile, scheduler, memtest"
GROUP_KEYS += ", preflight, fabric_attachment, tolerates, local_disk"
TOP_KEYS = "node_groups, validation, scheduler, stores, filesystems, storage, local_nvme, cloud, orchestrator, cluster"
FABRICS = "ethernet, ethernet-runpod, infiniband, infiniband-together"
MOST_NODES = max(row.most_nodes for row in baselines() if "infiniband" in row.fabrics and "H100" in row.accelerators)
DIGITS = "write digits without quotes, such as"


def group(**changes: Any) -> dict[str, Any]:
    return changed(H100, **{f"group__{key}": value for key, value in changes.items()})


def gate(**changes: Any) -> dict[str, Any]:
    return changed(H100, **{f"validation__{key}": value for key, value in changes.items()})


def profile(tier: str = "best", **keys: Any) -> dict[str, Any]:
    explicit = {"hcas": ["mlx5"], **keys} if tier == "best" else keys
    return changed(
        H100, group__fabric=GONE, group__network_tier=tier, group__profile=explicit, validation__floor_gbytes_per_s=1
    )


def two(**second: Any) -> dict[str, Any]:
    first = H100["node_groups"][0]
    return {**H100, "node_groups": [first, {**first, "name": "other", "node_selector": {"pool": "other"}, **second}]}


Cases = dict[str, tuple[object, str | list[str]]]

KEYS: Cases = {
    "unknown key at the top": (changed(H100, cluser={}), "cluser: unknown key; did you mean cluster?"),
    "unknown key, nothing like it": (changed(H100, xyzzy=1), f"xyzzy: unknown key; known keys: {TOP_KEYS}"),
    "unknown key of a group": (group(node=2), f"{GROUP}.node: unknown key; did you mean nodes?"),
    "unknown key of the gate": (gate(speed=2), f"validation.speed: unknown key; known keys: {VALIDATION_KEYS}"),
    "unknown key of a profile": (profile(hca=["mlx5"]), f"{GROUP}.profile.hca: unknown key; did you mean hcas?"),
    "unknown key of the cluster": (
        changed(H100, cluster={"existin": {}}),
        "cluster.existin: unknown key; did you mean existing?",
    ),
    "unknown key of the existing cluster": (
        changed(H100, cluster={"existing": {"file": "x"}}),
        "cluster.existing.file: unknown key; known keys: kubeconfig, context",
    ),
    "key that is no word": (
        changed(H100, **{"a b\nc": 1}),
        f'["a b\\nc"]: unknown key; known keys: {TOP_KEYS}',
    ),
    "key that is no text": (dict([*H100.items(), (3, 1)]), "expected a text as the key, found 3; put the key in quotes"),
    "no cloud": (changed(H100, cloud=GONE), "cloud: missing; write kubernetes, aws or gcp"),
    "no groups": (changed(H100, node_groups=GONE), "node_groups: missing; this key is required"),
    "no name": (group(name=GONE), f"{GROUP}.name: missing; this key is required"),
    "no selector": (group(node_selector=GONE), f"{GROUP}.node_selector: missing; this key is required"),
    "no accelerators": (group(accelerators=GONE), f"{GROUP}.accelerators: missing; this key is required"),
    "no nodes": (group(nodes=GONE), f"{GROUP}.nodes: missing; this key is required"),
}

TYPES: Cases = {
    "nothing": (None, f"expected a mapping, found nothing; known keys: {TOP_KEYS}"),
    "a list": ([H100], f"expected a mapping, found a list; known keys: {TOP_KEYS}"),
    "a text": ("aws", f"expected a mapping, found 'aws'; known keys: {TOP_KEYS}"),
    "a number": (3, f"expected a mapping, found 3; known keys: {TOP_KEYS}"),
    "groups as a mapping": (
        changed(H100, node_groups={"train": {}}),
        "node_groups: expected a list, found a mapping; write [...], or lines that begin with -",
    ),
    "groups as nothing": (
        changed(H100, node_groups=None),
        "node_groups: expected a list, found nothing; write [...], or lines that begin with -",
    ),
    "group as a text": (
        changed(H100, node_groups=["train"]),
        f"{GROUP}: expected a mapping, found 'train'; known keys: {GROUP_KEYS}",
    ),
    "gate as nothing": (
        changed(H100, validation=None),
        f"validation: expected a mapping, found nothing; known keys: {VALIDATION_KEYS}",
    ),
    "nodes in quotes": (group(nodes="2"), f"{GROUP}.nodes: expected a whole number, found '2'; {DIGITS} 2"),
    "nodes true": (group(nodes=True), f"{GROUP}.nodes: expected a whole number, found true; {DIGITS} 2"),
    "nodes and a half": (group(nodes=2.5), f"{GROUP}.nodes: expected a whole number, found 2.5; {DIGITS} 2"),
    "nodes null": (group(nodes=None), f"{GROUP}.nodes: expected a whole number, found nothing; {DIGITS} 2"),
    "name as a number": (group(name=3), f"{GROUP}.name: expected a text, found 3; put it in quotes"),
    "label as a number": (
        group(node_selector={"pool": 3}),
        f"{GROUP}.node_selector.pool: expected a text, found 3; put it in quotes",
    ),
    "label as true": (
        group(node_selector={"gpufabric.dev/gpu": True}),
        f'{GROUP}.node_selector["gpufabric.dev/gpu"]: expected a text, found true; put it in quotes',
    ),
    "label key as a number": (
        group(node_selector={3: "x"}),
        f"{GROUP}.node_selector: expected a text as the key, found 3; put the key in quotes",
    ),
    "selector as a list": (
        group(node_selector=["pool=train"]),
        f"{GROUP}.node_selector: expected a mapping, found a list; write key: value pairs",
    ),
    "selector as a text": (
        group(node_selector="pool=train"),
        f"{GROUP}.node_selector: expected a mapping, found 'pool=train'; write key: value pairs",
    ),
    "profile as a text": (
        changed(H100, group__fabric=GONE, group__profile="infiniband"),
        f"{GROUP}.profile: expected a mapping, found 'infiniband'; known keys: resources, hcas, interface, environment, image",
    ),
    "wait in words": (
        gate(wait="no"),
        "validation.wait: expected true or false, found 'no'; write one of them, without quotes",
    ),
    "size as a number": (gate(max_size=8), "validation.max_size: expected a text, found 8; put it in quotes"),
    "image as a list": (gate(image=["a:1"]), "validation.image: expected a text, found a list; write a text"),
    "hcas as a text": (
        profile(hcas="mlx5_0"),
        f"{GROUP}.profile.hcas: expected a list, found 'mlx5_0'; write [...], or lines that begin with -",
    ),
    "environment as a number": (
        profile(environment={"NCCL_IB_QPS_PER_CONNECTION": 4}),
        f"{GROUP}.profile.environment.NCCL_IB_QPS_PER_CONNECTION: expected a text, found 4; put it in quotes",
    ),
    "resource in quotes": (
        profile(resources={"rdma/ib": "1"}),
        f"{GROUP}.profile.resources[\"rdma/ib\"]: expected a whole number, found '1'; {DIGITS} 2",
    ),
}

NUMBERS: Cases = {
    "zero nodes": (group(nodes=0), f"{GROUP}.nodes: 0 is out of range; write a number from 1 up"),
    "negative nodes": (group(nodes=-3), f"{GROUP}.nodes: -3 is out of range; write a number from 1 up"),
    "too many nodes": (group(nodes=5001), f"{GROUP}.nodes: 5001 is out of range; write a number up to 5000"),
    "absurdly many nodes": (
        group(nodes=10**5000),
        f"{GROUP}.nodes: a number of over 4983 digits is out of range; write a number up to 5000",
    ),
    "floor 0": (gate(floor_gbytes_per_s=0), "validation.floor_gbytes_per_s: 0 is out of range; write a number above 0"),
    "negative floor": (
        gate(floor_gbytes_per_s=-1.5),
        "validation.floor_gbytes_per_s: -1.5 is out of range; write a number above 0",
    ),
    "floor of another unit": (
        gate(floor_gbytes_per_s=400_000),
        "validation.floor_gbytes_per_s: 400000 is out of range; write a number up to 10000",
    ),
    "floor nan": (
        gate(floor_gbytes_per_s=float("nan")),
        f"validation.floor_gbytes_per_s: expected a number, found nan; {DIGITS} 0.5",
    ),
    "floor inf": (
        gate(floor_gbytes_per_s=float("inf")),
        f"validation.floor_gbytes_per_s: expected a number, found inf; {DIGITS} 0.5",
    ),
    "floor in words": (
        gate(floor_gbytes_per_s="fast"),
        f"validation.floor_gbytes_per_s: expected a number, found 'fast'; {DIGITS} 0.5",
    ),
    "floor in quotes": (
        gate(floor_gbytes_per_s="300"),
        f"validation.floor_gbytes_per_s: expected a number, found '300'; {DIGITS} 0.5",
    ),
    "run 0": (gate(run=0), "validation.run: 0 is out of range; write a number from 1 up"),
    "run too large": (gate(run=1_000_001), "validation.run: 1000001 is out of range; write a number up to 1000000"),
    "no time for nodes": (gate(nodes_minutes=0), "validation.nodes_minutes: 0 is out of range; write a number from 0.1 up"),
    "more than a day": (gate(start_minutes=1441), "validation.start_minutes: 1441 is out of range; write a number up to 1440"),
    "zero devices": (
        profile(resources={"rdma/ib": 0}),
        f'{GROUP}.profile.resources["rdma/ib"]: 0 is out of range; write a number from 1 up',
    ),
}

_NAME_FIX = "write 1 to 20 of a-z, 0-9 and -, beginning with a letter and not ending in -"
_LABEL_FIX = "write it as kubectl get nodes --show-labels shows it"
_SIZE_FIX = "write 1K to 64G (K, M and G count in 1024), such as 8G"
_IMAGE_FIX = "write for example registry.example/team/image:1.2"
_PIN = "is not pinned: what was validated must be what runs again; add a version tag (not latest) or a digest"

TEXTS: Cases = {
    "stand-in over two lines": (
        gate(stand_ins=["no GPU\nhere"]),
        "validation.stand_ins[0]: 'no GPU\\nhere' is not one sentence of at most 200 printable characters",
    ),
    "stand-in of a whole book": (
        gate(stand_ins=["fine", "a" * 201]),
        f"validation.stand_ins[1]: '{'a' * 75}...' is not one sentence of at most 200 printable characters",
    ),
    "name too long": (group(name="a" * 21), f"{GROUP}.name: '{'a' * 21}' cannot be part of Kubernetes names; {_NAME_FIX}"),
    "name in capitals": (group(name="Train"), f"{GROUP}.name: 'Train' cannot be part of Kubernetes names; {_NAME_FIX}"),
    "name empty": (group(name=""), f"{GROUP}.name: '' cannot be part of Kubernetes names; {_NAME_FIX}"),
    "name of a whole book": (
        group(name="a" * 5000),
        f"{GROUP}.name: '{'a' * 75}...' cannot be part of Kubernetes names; {_NAME_FIX}",
    ),
    "name with half a character": (
        group(name="\ud800"),
        f"{GROUP}.name: '\\ud800' cannot be part of Kubernetes names; {_NAME_FIX}",
    ),
    "empty selector": (
        group(node_selector={}),
        (
            f"{GROUP}.node_selector: empty: it would select every node of the cluster; "
            "write the label that only this group's nodes have"
        ),
    ),
    "selector on the verdict": (
        group(node_selector={"gpufabric.dev/validated": "pass"}),
        (
            f"{GROUP}.node_selector: gpufabric.dev/validated is the gate's own verdict; "
            "select by a label that says which nodes, not how they did"
        ),
    ),
    "label key with a blank": (
        group(node_selector={"a b": "c"}),
        f"{GROUP}.node_selector: 'a b=c' is not a Kubernetes label; {_LABEL_FIX}",
    ),
    "label value too long": (
        group(node_selector={"a": "x" * 64}),
        f"{GROUP}.node_selector: 'a={'x' * 64}' is not a Kubernetes label; {_LABEL_FIX}",
    ),
    "H100 without count": (
        group(accelerators="H100"),
        f"{GROUP}.accelerators: 'H100' is not NAME:COUNT; write for example H100:8 (eight per node), or cpu",
    ),
    "count 0": (
        group(accelerators="H100:0"),
        f"{GROUP}.accelerators: 'H100:0' is not NAME:COUNT; write for example H100:8 (eight per node), or cpu",
    ),
    "unknown tier": (group(network_tier="fast"), f"{GROUP}.network_tier: 'fast' is not a choice here; write best or standard"),
    "unknown backend": (
        gate(backend="cuda"),
        "validation.backend: 'cuda' is not a choice here; write nccl, mpi or torch",
    ),
    "size in words of others": (gate(max_size="8GB"), f"validation.max_size: '8GB' is not a message size; {_SIZE_FIX}"),
    "size without unit": (gate(max_size="512"), f"validation.max_size: '512' is not a message size; {_SIZE_FIX}"),
    "size too large": (gate(max_size="128G"), f"validation.max_size: '128G' is not a message size; {_SIZE_FIX}"),
    "size 0": (gate(max_size="0G"), f"validation.max_size: '0G' is not a message size; {_SIZE_FIX}"),
    "image with a blank": (gate(image="my image:1"), f"validation.image: 'my image:1' is not an image reference; {_IMAGE_FIX}"),
    "image with an empty tag": (
        gate(image="ghcr.io/acme/gate:"),
        f"validation.image: 'ghcr.io/acme/gate:' is not an image reference; {_IMAGE_FIX}",
    ),
    "image with half a digest": (
        gate(image="ghcr.io/acme/gate@sha256:12ab"),
        f"validation.image: 'ghcr.io/acme/gate@sha256:12ab' is not an image reference; {_IMAGE_FIX}",
    ),
    "floating image": (
        gate(image="ghcr.io/acme/gate:latest"),
        f"validation.image: ghcr.io/acme/gate:latest {_PIN}",
    ),
    "image without tag": (gate(image="ghcr.io/acme/gate"), f"validation.image: ghcr.io/acme/gate {_PIN}"),
    "a port is no tag": (gate(image="registry:5000/gate"), f"validation.image: registry:5000/gate {_PIN}"),
    "floating image of the ranks": (
        profile(image="ghcr.io/acme/nccl-tests"),
        f"{GROUP}.profile.image: ghcr.io/acme/nccl-tests {_PIN}",
    ),
    "floating image of all ranks": (
        gate(rank_image="ghcr.io/acme/nccl-tests:latest"),
        f"validation.rank_image: ghcr.io/acme/nccl-tests:latest {_PIN}",
    ),
    "empty adapter": (
        profile(hcas=[""]),
        f"{GROUP}.profile.hcas[0]: '' is not a host channel adapter; write for example mlx5_0, or mlx5 for all that begin so",
    ),
    "adapters in one text": (
        profile(hcas=["mlx5_0,mlx5_1"]),
        (
            f"{GROUP}.profile.hcas[0]: 'mlx5_0,mlx5_1' is not a host channel adapter; "
            "write for example mlx5_0, or mlx5 for all that begin so"
        ),
    ),
    "resource without a domain": (
        profile(resources={"gpu": 4}),
        (
            f"{GROUP}.profile.resources: 'gpu' is not a device plugin's resource; "
            "write it as kubectl describe node shows it, such as rdma/ib"
        ),
    ),
    "two interfaces": (
        profile(interface="eth0,eth1"),
        f"{GROUP}.profile.interface: 'eth0,eth1' is not a network interface; write for example eth0",
    ),
    "environment with a bad name": (
        profile(environment={"1A": "x"}),
        f"{GROUP}.profile.environment: '1A' is not the name of an environment variable; use letters, digits and _",
    ),
    "environment with a bad value": (
        profile(environment={"A": "x\0y"}),
        f"{GROUP}.profile.environment: the value of A cannot stand in an environment; take the NUL or half character out",
    ),
    "contents of a kubeconfig": (
        changed(H100, cluster={"existing": {"kubeconfig": "users:\n- user: {token: secret}"}}),
        "cluster.existing.kubeconfig: empty, or more than a line; write a path or a name, never the contents of a kubeconfig",
    ),
}

ACROSS: Cases = {
    "no group at all": (changed(H100, node_groups=[]), "node_groups: no node group; write at least one"),
    "duplicate names": (two(name="train"), "node_groups: two groups are named train; give every group a name of its own"),
    "overlapping selectors": (
        two(node_selector={"pool": "train", "rack": "1"}),
        (
            "node_groups[1].node_selector: a node can match this and node_groups[0] (train); "
            "give both one label key with different values"
        ),
    ),
    "selectors by different keys": (
        two(node_selector={"rack": "1"}),
        (
            "node_groups[1].node_selector: a node can match this and node_groups[0] (train); "
            "give both one label key with different values"
        ),
    ),
    "selectors that cannot be kept off": (
        changed(
            H100,
            node_groups=[
                {**H100["node_groups"][0], "name": f"g{i}", "node_selector": {"name": str(i), f"only{i}": "x"}}
                for i in range(8)
            ],
        ),
        (
            "node_groups: to keep the gate's coordinator off all these groups takes more than 100 rules; "
            "select each group by one label key that all groups share"
        ),
    ),
    "fabric and profile": (
        group(profile={"hcas": ["mlx5"]}),
        f"{GROUP}.fabric: fabric and profile say the same thing twice; keep one of them",
    ),
    "neither fabric nor profile": (
        group(fabric=GONE),
        f"{GROUP}.fabric: missing; write one of {FABRICS}, or give an explicit profile",
    ),
    "unknown fabric": (
        group(fabric="infinband"),
        (
            f"{GROUP}.fabric: unknown fabric 'infinband' (did you mean 'infiniband'?); known: {FABRICS}; "
            "write one of these, or give an explicit profile"
        ),
    ),
    "empty fabric": (
        group(fabric=""),
        f"{GROUP}.fabric: unknown fabric ''; known: {FABRICS}; write one of these, or give an explicit profile",
    ),
    "unknown accelerator": (
        group(accelerators="H1000:8"),
        (
            f"{GROUP}.accelerators: unknown accelerator 'H1000' (did you mean 'H100'?); "
            "known: A100, A100-80GB, B200, B300, H100, H200, L4, L40S, cpu; write one of these"
        ),
    ),
    "too many GPUs per node": (
        group(accelerators="H100:16"),
        (
            f"{GROUP}.accelerators: 16 x H100 per node; a node holds at most 8; write H100:8 and more nodes "
            "(vendor, NVIDIA H100 data sheet; nvidia device plugin README (resource name), 2026-11)"
        ),
    ),
    "counted CPUs": (group(accelerators="cpu:2"), f"{GROUP}.accelerators: cpu takes no count; write cpu"),
    "best without RDMA": (
        group(fabric="ethernet"),
        (
            f"{GROUP}.network_tier: best (the default) asks for GPUDirect or RDMA; ethernet has none; "
            "name a fabric that has it (infiniband, infiniband-together), or write network_tier: standard"
        ),
    ),
    "best without adapters": (
        profile(hcas=[]),
        (
            f"{GROUP}.network_tier: best (the default) asks for GPUDirect or RDMA; an explicit profile has none; "
            "list the adapters under profile.hcas, or write network_tier: standard"
        ),
    ),
    "standard with RDMA": (
        group(network_tier="standard"),
        f"{GROUP}.network_tier: standard asks for ordinary Ethernet; infiniband is RDMA; write best, or fabric: ethernet",
    ),
    "standard with adapters": (
        profile("standard", hcas=["mlx5"]),
        (
            f"{GROUP}.network_tier: standard asks for ordinary Ethernet; an explicit profile is RDMA; "
            "write best, or leave profile.hcas out"
        ),
    ),
    "RDMA by the back door": (
        profile("standard", environment={"NCCL_IB_HCA": "mlx5"}),
        f"{GROUP}.profile.environment.NCCL_IB_HCA: profile.hcas says this; leave it out, and write hcas: there",
    ),
    "two interfaces said": (
        profile(environment={"NCCL_SOCKET_IFNAME": "bond0"}),
        (
            f"{GROUP}.profile.environment.NCCL_SOCKET_IFNAME: profile.interface says this; "
            "leave it out, and write interface: there"
        ),
    ),
    "GPUs asked for twice": (
        profile(resources={"nvidia.com/gpu": 4}),
        f'{GROUP}.profile.resources["nvidia.com/gpu"]: accelerators: H100:8 asks for it already; leave it out',
    ),
    "environment of the gate": (
        profile(environment={"GATE_NODES": "1", "PYTHONPATH": "/x"}),
        [
            (
                f"{GROUP}.profile.environment.GATE_NODES: the gate's own programs use this name; leave it out, "
                "and set it in your job"
            ),
            (
                f"{GROUP}.profile.environment.PYTHONPATH: the gate's own programs use this name; leave it out, "
                "and set it in your job"
            ),
        ],
    ),
    "quiet NCCL": (
        profile(environment={"NCCL_DEBUG": "WARN"}),
        (
            f"{GROUP}.profile.environment.NCCL_DEBUG: the gate needs INFO, which prints the transport in use; "
            "leave it out, and set it in your job"
        ),
    ),
    "no image": (
        gate(image=GONE),
        (
            "validation.image: missing: coordinator and judge run in it; "
            "name the gate's image (python3 -m tools.image howto says how to build one and load or push it)"
        ),
    ),
    "mpi for the best tier": (
        gate(backend="mpi", floor_gbytes_per_s=1),
        (
            "validation.backend: mpi measures TCP between CPUs and proves nothing about infiniband "
            f"({GROUP}.network_tier: best); write nccl, or network_tier: standard for the group"
        ),
    ),
    "nccl without GPUs": (
        changed(CPU, validation__backend="nccl"),
        f"validation.backend: nccl needs GPUs; {GROUP} has accelerators: cpu; write mpi, or torch",
    ),
    "torch in the gate's own image": (
        gate(backend="torch"),
        (
            "validation.rank_image: missing: the torch backend measures in the image that your jobs run in; "
            "name that image, with its tag or digest"
        ),
    ),
    "torch on CPUs for the best tier": (
        changed(
            CPU,
            group__network_tier="best",
            group__fabric="infiniband",
            validation__backend="torch",
            validation__rank_image="ghcr.io/acme/train:7",
        ),
        (
            "validation.backend: torch without GPUs (gloo) measures TCP between CPUs and proves nothing about infiniband "
            f"({GROUP}.network_tier: best); write nccl, or network_tier: standard for the group"
        ),
    ),
    "a node alone, and nobody keeps the gate": (
        gate(single_node_ok=True),
        (
            "validation.single_node_ok: it says what the controller may do, and no controller is kept; "
            "write keep: true too, or leave it out"
        ),
    ),
    "a node of one GPU alone": (
        changed(
            H100,
            group__accelerators="H100:1",
            validation__floor_gbytes_per_s=10,
            validation__single_node_ok=True,
            validation__keep=True,
        ),
        (
            f"validation.single_node_ok: nothing is measured inside a node of {GROUP}: one GPU has nobody in its node "
            "to sum with; leave it out"
        ),
    ),
    "no baseline": (
        group(accelerators="H100:4"),
        (
            f"validation.floor_gbytes_per_s: no baseline is known for 2 nodes of H100:4 on infiniband ({GROUP}); "
            "write the least all_reduce bus bandwidth that you accept, in GB/s"
        ),
    ),
    "more nodes than the baseline's": (
        group(nodes=5000),
        (
            f"validation.floor_gbytes_per_s: no baseline is known for 5000 nodes of H100:8 on infiniband ({GROUP}), "
            f"only for up to {MOST_NODES}; write the least all_reduce bus bandwidth that you accept, in GB/s"
        ),
    ),
    "no baseline for CPUs": (
        changed(CPU, validation__floor_gbytes_per_s=GONE),
        (
            f"validation.floor_gbytes_per_s: no baseline is known for 2 nodes of cpu on ethernet ({GROUP}); "
            "write the least all_reduce bus bandwidth that you accept, in GB/s"
        ),
    ),
    "another size than the baseline's": (
        gate(max_size="1G"),
        (
            f"validation.max_size: the baseline of {GROUP} holds for messages of 8G, not of 1G; "
            "leave it out, or give floor_gbytes_per_s for your size"
        ),
    ),
    "a single CPU node": (
        changed(CPU, group__nodes=1),
        f"{GROUP}.nodes: a single rank has nobody to reduce with; write 2 or more nodes",
    ),
    "a single GPU": (
        changed(H100, group__nodes=1, group__accelerators="H100:1", validation__floor_gbytes_per_s=1),
        f"{GROUP}.nodes: a single rank has nobody to reduce with; write 2 or more nodes",
    ),
}

_LATER = "nebius, azure, oci, coreweave"
_TODAY = "a cluster that exists there can be used today with cloud: kubernetes"
NOT_HERE: Cases = {
    **{
        f"cloud {cloud}": (
            {"cloud": cloud, "region": "x", "node_groups": "not read"},
            f"cloud: {cloud} is not built yet; {_TODAY}",
        )
        for cloud in _LATER.split(", ")
    },
    "unknown cloud": (
        changed(H100, cloud="asw"),
        f"cloud: 'asw' is not a known cloud; write kubernetes, aws or gcp (not built yet: {_LATER})",
    ),
    "cloud as a list": (
        changed(H100, cloud=["aws"]),
        f"cloud: a list is not a known cloud; write kubernetes, aws or gcp (not built yet: {_LATER})",
    ),
    "orchestrator slurm": (
        changed(H100, orchestrator="slurm"),
        "orchestrator: slurm is not built yet; write kubernetes, or leave it out",
    ),
    "orchestrator vm": (
        changed(H100, orchestrator="vm"),
        "orchestrator: vm is not built yet; write kubernetes, or leave it out",
    ),
    "orchestrator unknown": (
        changed(H100, orchestrator="nomad"),
        "orchestrator: 'nomad' is not a choice here; write kubernetes",
    ),
    **{
        key: (changed(H100, **{key: None}), f"{key}: does not apply to cloud: kubernetes ({why}); leave it out")
        for key, why in {
            "region": "the cluster already stands somewhere",
            "zone": "the cluster already stands somewhere",
            "network": "the cluster brings its network",
            "api_access": "the cluster has its API endpoint, and cluster.existing says how to reach it",
            "tags": "no cloud resource is created that could carry a tag",
        }.items()
    },
    **{
        key: (group(**{key: "x"}), f"{GROUP}.{key}: does not apply to cloud: kubernetes ({why}); leave it out")
        for key, why in {
            "disk_tier": "the machines' disks exist, and local_disk names a folder of theirs",
            "capacity": "the machines exist",
        }.items()
    },
}

TOGETHER: Cases = {
    "shape and what is not built": (
        changed(H100, region="x", orchestrator="vm", group__nodes="2", group__capacity={}, validation__run=0),
        [
            "orchestrator: vm is not built yet; write kubernetes, or leave it out",
            "region: does not apply to cloud: kubernetes (the cluster already stands somewhere); leave it out",
            f"{GROUP}.capacity: does not apply to cloud: kubernetes (the machines exist); leave it out",
            f"{GROUP}.nodes: expected a whole number, found '2'; {DIGITS} 2",
            "validation.run: 0 is out of range; write a number from 1 up",
        ],
    ),
    "hardware, image and a second group": (
        changed(
            two(fabric="ethernet", node_selector={"pool": "train"}),
            group__accelerators="H1000:8",
            group__fabric="infinband",
            validation__image="ghcr.io/acme/gate",
        ),
        [
            (
                "node_groups[1].node_selector: a node can match this and node_groups[0] (train); "
                "give both one label key with different values"
            ),
            (
                f"{GROUP}.accelerators: unknown accelerator 'H1000' (did you mean 'H100'?); "
                "known: A100, A100-80GB, B200, B300, H100, H200, L4, L40S, cpu; write one of these"
            ),
            (
                f"{GROUP}.fabric: unknown fabric 'infinband' (did you mean 'infiniband'?); known: {FABRICS}; "
                "write one of these, or give an explicit profile"
            ),
            f"validation.image: ghcr.io/acme/gate {_PIN}",
            (
                "node_groups[1].network_tier: best (the default) asks for GPUDirect or RDMA; ethernet has none; "
                "name a fabric that has it (infiniband, infiniband-together), or write network_tier: standard"
            ),
        ],
    ),
    "a problem of the gate, said once for two groups": (two() | {"validation": {}}, [problems(gate(image=GONE))[0]]),
    "nccl without GPUs and without floor": (
        changed(CPU, validation__backend="nccl", validation__floor_gbytes_per_s=GONE),
        [
            f"validation.backend: nccl needs GPUs; {GROUP} has accelerators: cpu; write mpi, or torch",
            (
                f"validation.floor_gbytes_per_s: no baseline is known for 2 nodes of cpu on ethernet ({GROUP}); "
                "write the least all_reduce bus bandwidth that you accept, in GB/s"
            ),
        ],
    ),
}

ALL = {**KEYS, **TYPES, **NUMBERS, **TEXTS, **ACROSS, **NOT_HERE, **TOGETHER}


@pytest.mark.parametrize("case", ALL)
def test_a_bad_spec_is_answered_with_these_lines(case: str) -> None:
    spec, lines = ALL[case]
    assert problems(spec) == ([lines] if isinstance(lines, str) else lines)


def test_the_specs_that_are_changed_are_good() -> None:
    assert problems(H100) == problems(CPU) == problems(profile()) == problems(profile("standard")) == problems(two()) == []


def test_no_case_is_lost() -> None:
    assert len(ALL) == sum(map(len, (KEYS, TYPES, NUMBERS, TEXTS, ACROSS, NOT_HERE, TOGETHER))) >= 100
