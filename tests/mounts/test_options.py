"""The configuration files of all kinds, held against rclone's own list of options: neither GCS nor Azure can be called here."""

import configparser
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gpufabric.plan.mounts import resolve_cached_mount
from gpufabric.spec.mounts import CachedMountSpec
from tests.plan.mounts.wishes import AZURE, CACHED, GCS, S3
from tools.toolchain.cli import path_folder

RCLONE = Path(path_folder(), "rclone")


@pytest.fixture(scope="module")
def options() -> dict[str, set[str]]:
    """Kind of store -> names of its options."""
    if not RCLONE.exists():
        pytest.skip("make toolchain builds rclone")
    out = subprocess.run([RCLONE, "config", "providers"], check=True, capture_output=True, text=True).stdout
    return {each["Name"]: {option["Name"] for option in each["Options"]} for each in json.loads(out)}


@pytest.mark.parametrize("bucket", [S3, GCS, AZURE], ids=lambda each: each["kind"])
@pytest.mark.parametrize("secret", [{}, {"credentials_secret": "keys", "namespace": "ml"}], ids=["identity", "secret"])
def test_every_key_is_an_option_of_its_backend(
    options: dict[str, set[str]], bucket: dict[str, Any], secret: dict[str, Any]
) -> None:
    plan = resolve_cached_mount(CachedMountSpec.parse({**CACHED, "bucket": bucket, **secret}), "dev")
    parsed = configparser.ConfigParser()
    parsed.read_string(plan.files["rclone.conf"])
    keys = dict(parsed["store"])
    assert set(keys) - {"type"} <= options[keys.pop("type")]
    assert all(value and value != "None" for value in keys.values())


def test_the_version_is_the_pinned_one() -> None:
    if not RCLONE.exists():
        pytest.skip("make toolchain builds rclone")
    from gpufabric.hardware.rclone import rclone_image

    told = subprocess.run([RCLONE, "version"], check=True, capture_output=True, text=True).stdout
    assert told.splitlines()[0] == f"rclone v{rclone_image().version}"
