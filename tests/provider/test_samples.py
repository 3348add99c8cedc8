"""Every sample through AWS's own provider: preview, up, up again without a change, down; and it sends what is on record."""

from pathlib import Path

import pytest

from tools.awsprovider.normalise import masked
from tools.awsprovider.record import record_of
from tools.awsprovider.sample import sample_life
from tools.awsprovider.session import Session
from tools.judge.request import Record
from tools.samples.plans import RECORDED, samples

# The smallest one. The others take a minute each, most of it waiting as AWS's provider does.
AT_ONCE = ("aws-existing-vpc",)
SAMPLES = [pytest.param(name, marks=[] if name in AT_ONCE else pytest.mark.soak) for name in samples("aws")]


@pytest.mark.engine
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_goes_up_and_down(name: str, aws: Session, tmp_path: Path) -> None:
    with sample_life(aws, name, tmp_path) as life:
        life.succeed("preview")
        assert not aws.recorder.changes(), "a preview changes nothing"
        life.succeed("up")
        record = record_of(aws, name)
        life.succeed("up", "--expect-no-changes")
        life.unprotect()
        life.succeed("destroy")
    on_record = Record.load(RECORDED / f"{name}.json")
    assert masked(record.requests) == masked(on_record.requests), "run `make record-aws`"
    assert (record.plan, record.gaps, record.existing) == (on_record.plan, on_record.gaps, on_record.existing)
