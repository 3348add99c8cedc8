"""Sizes that are sold in steps: a size is legal, or its nearest neighbours are, and nothing legal lies between them."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpufabric.hardware.filestore import filestore_bands, nearest_filestore_sizes_gib
from gpufabric.hardware.managed_lustre import managed_lustre_tiers


@pytest.mark.parametrize(
    ("throughput", "size", "nearest"),
    [
        (1000, 9000, (9000,)),
        (1000, 8999, (9000,)),
        (1000, 10000, (9000, 18000)),
        (1000, 1_530_001, (1_530_000, 1_584_000)),
        (1000, 1_600_000, (1_584_000, 1_656_000)),
        (1000, 99_000_000, (10_008_000,)),
        (250, 36_000, (36_000,)),
        (125, 12_240_001, (12_240_000,)),
    ],
)
def test_sizes_of_managed_lustre(throughput: int, size: int, nearest: tuple[int, ...]) -> None:
    assert managed_lustre_tiers()[throughput].nearest_sizes_gib(size) == nearest


@given(st.sampled_from([125, 250, 500, 1000]), st.integers(1, 100_000_000))
def test_what_is_offered_is_sold_and_near(throughput: int, size: int) -> None:
    row = managed_lustre_tiers()[throughput]
    nearest = row.nearest_sizes_gib(size)
    assert 1 <= len(nearest) <= 2
    for each in nearest:
        assert row.nearest_sizes_gib(each) == (each,)
        assert each % (row.step_size_gib if each <= row.wide_from_gib else row.wide_step_size_gib) == 0
        assert row.step_size_gib <= each <= row.most_size_gib
    assert nearest == (size,) or len(nearest) == 1 or nearest[0] < size < nearest[1]


@pytest.mark.parametrize(
    ("tier", "size", "nearest"),
    [
        ("zonal", 1, (1024,)),
        ("zonal", 1024, (1024,)),
        ("zonal", 1100, (1024, 1280)),
        ("zonal", 10_000, (9984, 10_240)),
        ("zonal", 13_000, (12_800, 15_360)),
        ("zonal", 200_000, (102_400,)),
        ("basic_ssd", 2000, (2560,)),
        ("basic_ssd", 2561, (2561,)),
    ],
)
def test_sizes_of_filestore(tier: str, size: int, nearest: tuple[int, ...]) -> None:
    assert nearest_filestore_sizes_gib(tier, size) == nearest


@pytest.mark.parametrize("tier", ["zonal", "regional", "basic_ssd"])
def test_bands_do_not_overlap_and_end_on_their_steps(tier: str) -> None:
    bands = filestore_bands(tier)
    assert bands
    assert all((row.most_size_gib - row.first_size_gib) % row.step_size_gib == 0 for row in bands)
    assert all(one.most_size_gib < other.first_size_gib for one, other in pairwise(bands))
