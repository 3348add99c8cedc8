"""The grid of FSx for Lustre: what is legal passes, everything else is offered its two neighbours."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufabric.hardware.lustre import lustre_metadata, lustre_throughputs
from gpufabric.plan.aws.filesystem import plan_filesystem
from gpufabric.spec import SpecError
from gpufabric.spec.aws.storage import FsxLustreWish


def wish(**keys: object) -> FsxLustreWish:
    return FsxLustreWish.parse(keys)


@pytest.mark.parametrize(("throughput", "step"), [(125, 38400), (250, 19200), (500, 9600), (1000, 4800)])
def test_the_steps_with_efa(throughput: int, step: int) -> None:
    for size in (step, 2 * step, 10 * step):
        assert plan_filesystem(wish(size_gib=size, throughput_mbytes_per_s_per_tib=throughput)).size_gib == size
    with pytest.raises(SpecError, match=f"write {step} or {2 * step};"):
        plan_filesystem(wish(size_gib=step + 1, throughput_mbytes_per_s_per_tib=throughput))


@pytest.mark.parametrize("size", [1200, 2400, 4800, 7200, 240_000])
def test_the_steps_without_efa(size: int) -> None:
    assert plan_filesystem(wish(size_gib=size, efa=False)).size_gib == size


@given(st.integers(1, 10**6), st.sampled_from(sorted(lustre_throughputs())), st.booleans())
def test_the_sizes_that_are_offered_are_legal_and_next_to_the_one_asked_for(size: int, throughput: int, efa: bool) -> None:
    row = lustre_throughputs()[throughput]
    nearest = row.nearest_sizes_gib(size, efa=efa)
    for offered in nearest:
        assert row.nearest_sizes_gib(offered, efa=efa) == (offered,)
        assert offered % (row.efa_step_size_gib if efa else 1200) == 0
    assert nearest == (size,) or (nearest[-1] > size and nearest[0] < nearest[-1]) or len(nearest) == 1
    if len(nearest) == 2:
        assert nearest[0] < size < nearest[1]


@given(st.integers(1, 400_000))
def test_the_metadata_that_is_offered_is_legal(wanted: int) -> None:
    table = lustre_metadata()
    nearest = table.nearest_ops_per_s(wanted)
    assert 1 <= len(nearest) <= 2
    assert all(table.nearest_ops_per_s(each) == (each,) for each in nearest)
    assert max(nearest) <= 192_000


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        plan_filesystem(wish(throughput_mbytes_per_s_per_tib=200, metadata_ops_per_s=2000), at="storage.dataset")
    keys = [re.split(r": ", line)[0] for line in str(caught.value).split("\n")]
    assert keys == [
        "storage.dataset.throughput_mbytes_per_s_per_tib",
        "storage.dataset.size_gib",
        "storage.dataset.metadata_ops_per_s",
    ]


def test_a_large_file_system_has_the_time_it_takes() -> None:
    assert plan_filesystem(wish(size_gib=1_920_000)).create_minutes == 460
