"""What a pod on a fabric of GKE has beside resources and environment: ranks and jobs alike, setting for setting."""

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpufabric.hardware import machine_fabrics
from gpufabric.hardware.fabric_pods import fabric_pods
from gpufabric.hardware.machines import gcp_machines
from gpufabric.plan import GroupPlan, PodProfile, ProfileConflictError
from gpufabric.plan.explain import explain
from gpufabric.plan.job_preflight import NAME as PREFLIGHT
from gpufabric.plan.profile import entry
from gpufabric.validation import contract
from tests.plan.test_promise import fabric_part, gate_part
from tests.spec.specs import GONE, H100, changed, plan_of, problems

MACHINES = [name for name, row in gcp_machines().items() if row.fabric and not row.refusal]
every_machine = pytest.mark.parametrize("machine", MACHINES)
JOB = {"template": {"spec": {"containers": [{"name": "main", "image": "acme/train:1", "command": ["python3", "train.py"]}]}}}
MEGA, ULTRA = "a3-megagpu-8g", "a3-ultragpu-8g"


def spec_of(machine: str, **changes: Any) -> dict[str, Any]:
    row = gcp_machines()[machine]
    return changed(
        H100,
        group__fabric=GONE,
        group__machine_type=machine,
        group__accelerators=f"{row.accelerator}:{row.accelerators}",
        validation__floor_gbytes_per_s=10,
        **changes,
    )


def group_of(machine: str, **changes: Any) -> GroupPlan:
    return plan_of(spec_of(machine, **changes)).groups[0]


def rank_pod(group: GroupPlan) -> tuple[dict[str, Any], dict[str, Any]]:
    """The rank container and the pod around it."""
    pod = group.gate.gate.rank_job["spec"]["template"]["spec"]
    return next(each for each in pod["containers"] if each["name"] == contract.CONTAINER_RANK), pod


def test_every_family_is_looked_at() -> None:
    assert (
        {gcp_machines()[name].fabric for name in MACHINES}
        == fabric_pods().keys()
        == {"gib", "gpudirect-tcpx", "gpudirect-tcpxo"}
    )


@every_machine
@pytest.mark.parametrize("attachment", ["networks", "dranet"])
def test_the_gate_measures_with_exactly_what_a_job_gets(machine: str, attachment: str) -> None:
    if attachment == "dranet" and not fabric_pods()[gcp_machines()[machine].fabric].device_class:
        return
    group = group_of(machine, group__fabric_attachment=attachment)
    assert gate_part(group) == fabric_part(group.profile.apply_to(JOB)["template"], "main")
    rank, _ = rank_pod(group)
    script = group.profile.fabric.parts.environment_script
    before = entry(script) if script else []
    assert rank["command"] == [*before, *contract.RANK_COMMAND]
    assert group.profile.apply_to(JOB)["template"]["spec"]["containers"][0]["command"] == [*before, "python3", "train.py"]


@every_machine
def test_rail_k_of_the_node_is_interface_k_of_the_pod(machine: str) -> None:
    row = gcp_machines()[machine]
    pod = fabric_pods()[row.fabric]
    annotations = group_of(machine).profile.fabric.annotations
    assert annotations["networking.gke.io/default-interface"] == "eth0"
    first, *rails = json.loads(annotations["networking.gke.io/interfaces"])
    assert first == {"interfaceName": "eth0", "network": "default"}
    names = [each["interfaceName"] for each in rails]
    assert names == [f"eth{pod.first_interface + rail}" for rail in range(row.fabric_devices)]
    assert [each["network"] for each in rails] == [pod.network_name.format(rail) for rail in range(row.fabric_devices)]
    assert pod.first_interface == 1 + len(pod.host_networks), "GKE counts the pool's networks from eth1"
    said = machine_fabrics()[row.fabric].environment.get("NCCL_GPUDIRECTTCPX_SOCKET_IFNAME")
    assert said is None or said.split(",") == names, "NCCL is told of the same rails, in the same order"


@every_machine
def test_the_key_of_the_devices_ends_in_the_sidecars_name(machine: str) -> None:
    group = group_of(machine)
    row, parts = fabric_pods()[group.fabric.name], group.profile.fabric.parts
    keys = [key for key in group.profile.fabric.annotations if key.startswith("devices.gke.io/")]
    assert bool(keys) == bool(parts.sidecar) == bool(row.sidecar)
    if parts.sidecar:
        assert keys == [f"devices.gke.io/container.{parts.sidecar['name']}"]
        listed = [each["path"] for each in yaml.safe_load(group.profile.fabric.annotations[keys[0]])]
        assert listed[:8] == [f"/dev/nvidia{gpu}" for gpu in range(8)]
        assert {"/dev/nvidiactl", "/dev/nvidia-uvm"} <= set(listed)


@every_machine
def test_plugin_and_sidecar_are_one_pair_and_the_ranks_run_the_plugins_version(machine: str) -> None:
    group = group_of(machine)
    row, (rank, pod) = fabric_pods()[group.fabric.name], rank_pod(group)
    if row.sidecar:
        assert rank["image"] == row.plugin
        (sidecar,) = pod["initContainers"]
        assert sidecar["image"] == row.sidecar_image
        assert sidecar["restartPolicy"] == "Always", "it ends with the job, else no Job would ever complete"
    else:
        assert rank["image"].rpartition(":")[2] == row.plugin.rpartition(":")[2]
    for image in filter(None, (row.plugin, row.sidecar_image)):
        assert re.fullmatch(r"v[0-9.]+", image.rpartition(":")[2]), "a version, not a moving tag"


@every_machine
def test_every_mount_is_a_volume_and_the_nodes_folders_must_be_there(machine: str) -> None:
    _, pod = rank_pod(group_of(machine))
    volumes = {each["name"]: each for each in pod["volumes"]}
    mounts = [
        each for key in ("containers", "initContainers") for container in pod.get(key, []) for each in container["volumeMounts"]
    ]
    assert {each["name"] for each in mounts} <= volumes.keys()
    assert {each["hostPath"]["type"] for each in volumes.values() if "hostPath" in each} == {"Directory"}


@every_machine
def test_folders_of_the_node_take_the_widest_pod_security(machine: str) -> None:
    assert group_of(machine).gate.pod_security == "privileged"


@every_machine
def test_what_the_vendors_script_sets_reaches_every_rank(machine: str) -> None:
    group = group_of(machine)
    rank, _ = rank_pod(group)
    env = {each["name"]: each["value"] for each in rank["env"]}
    assert env.get(contract.ENV_SCRIPT, "") == fabric_pods()[group.fabric.name].environment_script
    judge = next(each for each in rank_pod(group)[1]["containers"] if each["name"] == contract.CONTAINER_JUDGE)
    assert contract.ENV_SCRIPT not in {each["name"] for each in judge["env"]}
    assert group.profile.fabric.environment.items() <= env.items()


# As public logs and Google's documentation have them.
EVIDENCE = {
    "gib": "a3ultra-vm-0:606:642 [6] NCCL INFO Using network gIB",
    "gpudirect-tcpx": "tcpx-0:120:188 [0] NCCL INFO Using network GPUDirectTCPX_v7",
    "gpudirect-tcpxo": "mega-0:98:140 [3] NCCL INFO Using network FasTrak",
}


@every_machine
def test_the_transport_is_proved_by_its_own_line_alone(machine: str) -> None:
    expectation = group_of(machine).gate.gate.expectation
    pattern = str(expectation.transport_regex)
    name = gcp_machines()[machine].fabric
    assert {fabric for fabric, line in EVIDENCE.items() if re.search(pattern, line)} == {name}
    assert not re.search(pattern, "vm-0:606:642 [6] NCCL INFO Using network Socket")


@every_machine
def test_two_nodes_run_an_all_gather_too(machine: str) -> None:
    """GPUDirect hides a lost rail as RDMA does: NCCL sums inside each node first."""
    assert group_of(machine).gate.gate.expectation.also is not None


def test_a_claim_takes_the_place_of_interfaces_and_counts_the_devices() -> None:
    group = group_of(ULTRA, group__fabric_attachment="dranet")
    assert group.profile.fabric.annotations == {}
    rank, pod = rank_pod(group)
    assert pod["resourceClaims"] == [{"name": "fabric", "resourceClaimTemplateName": "gpufabric-gib-8"}]
    assert rank["resources"]["claims"] == [{"name": "fabric"}]
    claim = group.gate.claim
    assert claim is not None
    (request,) = claim.template_spec["spec"]["devices"]["requests"]
    assert request["exactly"] == {"deviceClassName": "mrdma.google.com", "allocationMode": "ExactCount", "count": 8}
    told = group.profile.to_dict()["fabric"]
    assert told["claim"] == pod["resourceClaims"][0]
    assert told["claimTemplate"] == claim.template_spec, "a job's namespace needs the template, too"
    assert group_of(ULTRA).gate.claim is None


def test_where_claims_or_networks_do_not_fit_it_is_said() -> None:
    (of_mega,) = problems(spec_of(MEGA, group__fabric_attachment="dranet"))
    assert of_mega.startswith(
        "node_groups[0].fabric_attachment: no device class of dynamic resource allocation is known for gpudirect-tcpxo "
        "(a3-megagpu-8g), only for gib; write networks, or leave it out ("
    )
    on_aws = changed(H100, group__fabric=GONE, group__machine_type="p5.48xlarge", group__fabric_attachment="networks")
    assert problems(on_aws) == ["node_groups[0].fabric_attachment: efa-v2 is not attached by networks or claims; leave it out"]
    (other,) = problems(spec_of(ULTRA, group__fabric_attachment="claims"))
    assert other.startswith("node_groups[0].fabric_attachment: ")


def test_taints_that_are_named_are_tolerated_by_ranks_and_jobs() -> None:
    group = group_of(ULTRA, group__tolerates=["cloud.google.com/gke-queued"])
    queued = {"key": "cloud.google.com/gke-queued", "operator": "Exists", "effect": "NoSchedule"}
    assert queued in rank_pod(group)[1]["tolerations"]
    assert queued in group.profile.apply_to(JOB)["template"]["spec"]["tolerations"]
    (bad,) = problems(spec_of(ULTRA, group__tolerates=["a=b"]))
    assert bad.startswith("node_groups[0].tolerates: 'a=b' is no key of a taint; ")


# --- merging into a job


def test_a_job_whose_command_is_not_known_is_refused() -> None:
    """The script could not come before an image's own entrypoint, and the job would run on another network."""
    profile = group_of(ULTRA).profile
    with pytest.raises(TypeError) as caught:
        profile.apply_to({"template": {"spec": {"containers": [{"name": "main", "image": "acme/train:1", "args": ["x"]}]}}})
    assert str(caught.value).startswith(
        "template.spec.containers[main].command: the fabric's environment comes from /usr/local/gib/scripts/set_nccl_env.sh, "
    )


@every_machine
def test_merging_twice_changes_nothing(machine: str) -> None:
    profile = group_of(machine).profile
    once = profile.apply_to(JOB)
    assert profile.apply_to(once) == once


@every_machine
def test_what_is_added_is_spelled_as_the_user_spells(machine: str) -> None:
    theirs = {"template": {"spec": {"restart_policy": "Never", "containers": [{"name": "main", "command": ["x"]}]}}}
    found = group_of(machine).profile.apply_to(theirs)
    assert not [
        key for key in _keys(found["template"]["spec"]) if key in ("volumeMounts", "hostPath", "mountPath", "restartPolicy")
    ]
    assert group_of(machine).profile.apply_to(found) == found


def test_a_container_of_the_sidecars_name_is_a_conflict() -> None:
    theirs = {
        "template": {"spec": {"initContainers": [{"name": "tcpxo-daemon", "image": "acme/rxdm:1"}], **JOB["template"]["spec"]}}
    }
    with pytest.raises(ProfileConflictError, match=r"initContainers\[tcpxo-daemon\]"):
        group_of(MEGA).profile.apply_to(theirs)


def test_as_data_it_is_what_is_merged() -> None:
    group = group_of(MEGA)
    told, merged = group.profile.to_dict()["fabric"], group.profile.apply_to(JOB)["template"]
    assert told["annotations"] == merged["metadata"]["annotations"]
    assert told["initContainers"] == merged["spec"]["initContainers"]
    assert told["volumes"] == [each for each in merged["spec"]["volumes"] if each["name"] != "dshm"]
    assert told["commandPrefix"] == merged["spec"]["containers"][0]["command"][:4]
    assert json.loads(json.dumps(told)) == told, "plain data, for stack outputs"


def _keys(value: Any) -> list[str]:
    if isinstance(value, Mapping):
        return [*value, *(key for each in value.values() for key in _keys(each))]
    return [key for each in value for key in _keys(each)] if isinstance(value, list) else []


# --- the entry, as a shell runs it


def run_entry(script: Path, *command: str, shell: str = "/bin/sh", **env: str) -> subprocess.CompletedProcess[str]:
    _, flag, text, name = entry(str(script))
    log = script.parent / "log"
    environment = {"PATH": "/usr/bin:/bin", "GPUFABRIC_TERMINATION_LOG": str(log), **env}
    return subprocess.run([shell, flag, text, name, *command], capture_output=True, text=True, check=False, env=environment)


def test_the_script_is_bashs_and_the_command_gets_its_environment(tmp_path: Path) -> None:
    script = tmp_path / "set_nccl_env.sh"
    script.write_text('x=(gIB a); [[ -n ${x[0]} ]] && export NCCL_NET="${x[0]}"\nfalse\n')
    done = run_entry(script, "/bin/sh", "-c", 'echo "$NCCL_NET $1"', "sh", "an argument")
    assert (done.returncode, done.stdout) == (0, "gIB an argument\n"), done.stderr


def test_without_bash_the_shell_reads_it(tmp_path: Path) -> None:
    script = tmp_path / "env.sh"
    script.write_text("export NCCL_NET=gIB\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "printenv").symlink_to("/usr/bin/printenv")
    done = run_entry(script, "printenv", "NCCL_NET", PATH=str(programs))
    assert (done.returncode, done.stdout) == (0, "gIB\n"), done.stderr


def test_it_waits_for_the_installer_and_then_says_whose_work_is_missing(tmp_path: Path) -> None:
    script = tmp_path / "env.sh"
    done = run_entry(script, "true", GPUFABRIC_ENTRY_SECONDS="0")
    assert done.returncode == 74
    assert (tmp_path / "log").read_text() == (
        f"{script} is not there after 0 s: the fabric's installer has not done its work on this node"
    )


@pytest.mark.parametrize("program", ["fabric_entry.sh", "job_preflight.sh", "daemon_scripts"])
def test_the_programs_are_posix(program: str) -> None:
    plan = Path(__file__).parents[2] / "components" / "gpufabric" / "plan" / program
    for file in sorted(plan.iterdir()) if plan.is_dir() else [plan]:
        done = subprocess.run(["/bin/sh", "-n", str(file)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), file
        assert file.stat().st_size > 100


# --- the preflight of jobs on nodes that nobody has validated


def preflight_of(machine: str = ULTRA, **changes: Any) -> PodProfile:
    return group_of(machine, group__preflight={}, **changes).profile


def test_a_job_looks_at_its_node_instead_of_asking_for_the_label() -> None:
    pod = preflight_of().apply_to(JOB)["template"]["spec"]
    assert "affinity" not in pod, "no node that is made for the job could have the label"
    first = pod["initContainers"][0]
    assert first["name"] == PREFLIGHT
    assert first["command"][4:] == ["8", "8", *(f"eth{each}" for each in range(2, 10))]
    assert first["resources"] == {"limits": {"nvidia.com/gpu": "8"}}
    assert first["image"].endswith("/nccl-plugin-gib-diagnostic:v1.1.1")
    assert "gpufabric.dev/validated" not in json.dumps(preflight_of().to_dict())
    labelled = group_of(ULTRA).profile.apply_to(JOB)["template"]["spec"]
    assert "affinity" in labelled
    assert "initContainers" not in labelled


def test_the_look_comes_before_the_sidecar_and_is_none_of_the_gates() -> None:
    pod = preflight_of(MEGA).apply_to(JOB)["template"]["spec"]
    assert [each["name"] for each in pod["initContainers"]] == [PREFLIGHT, "tcpxo-daemon"]
    with_look, without = group_of(ULTRA, group__preflight={}), group_of(ULTRA)
    assert with_look.gate.gate.fingerprint == without.gate.gate.fingerprint


def test_the_look_needs_an_image_where_none_is_known() -> None:
    g2 = changed(
        H100, group__fabric="ethernet", group__network_tier="standard", group__preflight={}, validation__floor_gbytes_per_s=1
    )
    (missing,) = problems(g2)
    assert missing == (
        "node_groups[0].preflight.image: missing: no rank image is known for ethernet; "
        "name an image with a shell and nvidia-smi, with its tag or digest"
    )
    assert problems(changed(g2, group__preflight={"image": "nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04"})) == []
    (floating,) = problems(changed(g2, group__preflight={"image": "acme/smi:latest"}))
    assert floating.startswith("node_groups[0].preflight.image: acme/smi:latest is not pinned")
    cpu = changed(g2, group__accelerators="cpu", validation__backend="mpi")
    assert problems(cpu) == ["node_groups[0].preflight: it looks at GPUs; node_groups[0] has accelerators: cpu; leave it out"]


def lines_of(machine: str, **changes: Any) -> dict[str, str]:
    ((_, lines),) = explain(plan_of(spec_of(machine, **changes)))
    return {line.subject: line.decision for line in lines}


def test_explain_says_what_pods_have_and_who_may_run() -> None:
    mega = lines_of(MEGA)
    assert mega["rails"] == f"an interface for each of {', '.join(f'gpu-{rail}' for rail in range(8))}"
    assert mega["sidecar"].startswith("tcpxo-daemon, us-docker.pkg.dev/")
    assert mega["script"] == "/usr/local/nvidia/lib64/nccl-env-profile.sh, before the command"
    claims = lines_of(ULTRA, group__fabric_attachment="dranet", group__preflight={})
    assert claims["rails"] == "a claim of 8 mrdma.google.com"
    assert claims["admission"] == "jobs run on any node of the group, and look at it before they start"
    assert "rails" not in {line.subject for _, lines in explain(plan_of(H100)) for line in lines}


def test_a_queue_of_validated_nodes_has_none_to_give() -> None:
    (found,) = problems(spec_of(ULTRA, group__preflight={}, group__scheduler={"kind": "kueue"}))
    assert found == (
        "node_groups[0].preflight: the queue gives out validated nodes alone, and here nodes are made for each job; "
        "leave out scheduler, or preflight"
    )


class Node:
    """A node as the look sees it: nvidia-smi's answers, RDMA ports and interfaces."""

    def __init__(self, root: Path) -> None:
        self.root, self.gpus, self.errors, self.ports, self.rails, self.smi = root, 8, "0", 8, "up", 0

    def look(self, *command: str) -> tuple[int, str]:
        programs = self.root / "bin"
        programs.mkdir()
        answer = "".join(f"GPU-{each}\\n" for each in range(self.gpus))
        ecc = "".join(f"{self.errors if each == 3 else 0}\\n" for each in range(self.gpus))
        (programs / "nvidia-smi").write_text(
            f'#!/bin/sh\n[ {self.smi} = 0 ] || {{ echo "Driver/library version mismatch"; exit {self.smi}; }}\n'
            f'case $1 in *uuid*) printf "{answer}" ;; *ecc*) printf "{ecc}" ;; esac\n'
        )
        (programs / "nvidia-smi").chmod(0o755)
        for port in range(self.ports):
            at = self.root / f"sys/class/infiniband/mlx5_{port}/ports/1"
            at.mkdir(parents=True)
            (at / "state").write_text("4: ACTIVE\n")
        for rail in range(2, 10):
            at = self.root / f"sys/class/net/eth{rail}"
            at.mkdir(parents=True)
            (at / "operstate").write_text(f"{self.rails if rail == 5 else 'up'}\n")
        log = self.root / "log"
        env = {"PATH": f"{programs}:/usr/bin:/bin", "PREFLIGHT_ROOT": str(self.root), "PREFLIGHT_TERMINATION_LOG": str(log)}
        done = subprocess.run(list(command), capture_output=True, text=True, check=False, env=env)
        return done.returncode, log.read_text() if log.exists() else done.stdout


LOOKS: dict[str, tuple[dict[str, Any], int, str]] = {
    "healthy": ({}, 0, "gpufabric preflight: passed"),
    "a lost GPU": ({"gpus": 7}, 1, "7 GPUs answer, wanted 8"),
    "memory errors": ({"errors": "2"}, 1, "uncorrected memory errors of a GPU since its driver was loaded: 2"),
    "memory errors that cannot be read": (
        {"errors": "[N/A]"},
        1,
        "uncorrected memory errors of a GPU since its driver was loaded: [N/A]",
    ),
    "a driver that does not answer": ({"smi": 18}, 1, "nvidia-smi failed: Driver/library version mismatch"),
    "a lost adapter": ({"ports": 7}, 1, "7 RDMA ports are active, wanted 8"),
    "a rail that is down": ({"rails": "down"}, 1, "interface eth5 of the fabric is down"),
}


@pytest.mark.parametrize("case", LOOKS)
def test_the_look_keeps_jobs_from_sick_nodes(case: str, tmp_path: Path) -> None:
    node, (sick, code, says) = Node(tmp_path), LOOKS[case]
    for key, value in sick.items():
        setattr(node, key, value)
    command = preflight_of().admission.checks[0]["command"]
    found, text = node.look(*command)
    assert (found, says in text) == (code, True), text
