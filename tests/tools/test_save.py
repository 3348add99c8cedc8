"""The save of `make up`: what is declared for it, which bucket it meets, and how its figures are told."""

import json
from typing import Any

import pytest

from gpufabric.plan import resolve_any
from gpufabric.spec import read_stack_file
from tools import up
from tools.errors import ToolError
from tools.localcluster import bucket
from tools.save import Saved, described, job_spec

SAVED = Saved(node="n0", size=64 << 20, close_s=0.5, bucket_s=8.0, sha256="abc")


def role() -> Any:
    found = read_stack_file(up.WITH_BUCKET)
    plan = resolve_any(found.spec, found.stack)
    return plan.groups[0], next(each for each in plan.storage if each.role == "checkpoint")


def test_the_sample_names_the_bucket_that_is_brought_up() -> None:
    _, checkpoint = role()
    (found,) = checkpoint.groups
    told = found.mount_args["bucket"]
    assert (told["name"], told["endpoint"]) == (bucket.BUCKET, bucket.ENDPOINT)
    assert (found.mount_args["namespace"], found.mount_args["credentials_secret"]) == (bucket.NAMESPACE, bucket.SECRET)
    assert found.mount_args["rclone_image"] == bucket.IMAGE
    assert found.mount_args["checkpoint_gib"] * 1024 == up.CHECKPOINT_MIB


def test_both_samples_of_make_up_ask_for_the_same_gate() -> None:
    plain, with_bucket = (read_stack_file(each).spec for each in (up.PLAIN, up.WITH_BUCKET))
    assert plain.validation == with_bucket.validation


def test_the_job_has_the_profile_of_its_group() -> None:
    group, checkpoint = role()
    spec = job_spec(group.profile.apply_to, "gate:1", folder=checkpoint.path, key="a.pt", mib=1)
    pod = spec["template"]["spec"]
    assert pod["containers"][0]["command"][3:] == ["/checkpoints", "a.pt", "1"]
    assert {each["mountPath"] for each in pod["containers"][0]["volumeMounts"]} == {"/models", "/checkpoints"}
    assert pod["affinity"]["nodeAffinity"], "on validated nodes alone"


def test_the_keys_of_the_bucket_are_in_a_secret_alone() -> None:
    texts = {each["kind"]: json.dumps(each) for each in bucket.objects()}
    assert [kind for kind, text in texts.items() if bucket.KEYS["AWS_SECRET_ACCESS_KEY"] in text] == ["Secret"]


def test_the_figures_are_told_with_their_rates() -> None:
    lines = described(SAVED, "abc").splitlines()
    assert lines[1].split()[2:6] == ["0.50", "s", "134.2", "MB/s"]
    assert lines[2].split()[4:8] == ["8.00", "s", "8.4", "MB/s"]
    assert lines[3].endswith("is that of the pod's file")
    assert "DIFFERS" in described(SAVED, "abd")


def test_without_fuse_there_is_no_bucket_and_the_reason_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bucket, "FUSE", "/nowhere/fuse")
    assert up.with_bucket(None) == (up.PLAIN, False)
    assert capsys.readouterr().out == "without a bucket: /nowhere/fuse: No such file or directory\n"
    with pytest.raises(ToolError, match="needs a bucket: /nowhere/fuse"):
        up.with_bucket(up.WITH_BUCKET)
    assert up.with_bucket(up.PLAIN) == (up.PLAIN, False)


def test_a_server_that_cannot_be_built_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> int:
        raise ToolError("versitygw: go build ended with 1\nand much more")

    monkeypatch.setattr(bucket, "FUSE", "/dev/null")
    monkeypatch.setattr(bucket, "ensure_built", fails)
    assert bucket.lacking() == "versitygw: go build ended with 1"
