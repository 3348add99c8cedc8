"""What a save costs in each mode, at three bandwidths of the server: order and integrity are asserted, no ratio."""

from pathlib import Path

import pytest

from tests.mounts.node import MIB
from tests.mounts.saves import MODES, Save, saves, table

SLOW = (10, 20, 40)


def check(found: list[Save]) -> None:
    assert all(each.equal for each in found), "a file in the bucket is not what was written"
    for bandwidth in {each.mbytes_per_s for each in found}:
        by_mode = {each.mode: each for each in found if each.mbytes_per_s == bandwidth}
        assert by_mode.keys() == set(MODES)
        cached, plain = by_mode["MOUNT_CACHED"], by_mode["MOUNT"]
        wire_s = cached.size / 1e6 / bandwidth
        assert by_mode["local disk"].durable_s is None
        assert cached.close_s < plain.close_s, "a cached save does not wait for the bucket"
        assert cached.close_s < wire_s < plain.close_s * 1.1, "an uncached save takes the wire's time at least"
        assert cached.durable_s is not None
        assert cached.durable_s > wire_s * 0.9, "the barrier said done before the bytes could have been sent"


def test_a_cached_save_takes_the_disks_time_and_is_in_the_bucket_when_the_barrier_says_so(
    start: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = list(saves(tmp_path, 64 * MIB, SLOW))
    with capsys.disabled():
        print(f"\n{table(found)}")
    check(found)


@pytest.mark.soak
def test_two_gibibytes(start: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = list(saves(tmp_path, 2048 * MIB, (50, 100, 200)))
    with capsys.disabled():
        print(f"\n{table(found)}")
    check(found)
