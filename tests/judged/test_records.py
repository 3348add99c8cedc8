"""The recorded requests of every cloud sample: they belong to its golden plan, and match the API that its cloud publishes."""

import pytest

from tests.judged.records import CLOUDS, RECORDS, cloud_of
from tools.judge.references import judge
from tools.judge.request import Record
from tools.samples.plans import plan_hash, samples

every_record = pytest.mark.parametrize("sample", RECORDS)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_every_sample_has_a_record_and_every_record_a_sample(cloud: str) -> None:
    assert {name for name in RECORDS if name.startswith(f"{cloud}-")} == samples(cloud).keys(), f"run `{CLOUDS[cloud].again}`"


@every_record
def test_a_record_belongs_to_the_plan_as_it_is(sample: str) -> None:
    record, again = Record.load(RECORDS[sample]), cloud_of(sample).again
    assert record.plan == plan_hash(sample), f"the golden plan of {sample} changed: run `{again} SAMPLE={sample}`"
    assert dict(record.made_with) == cloud_of(sample).made_with(), f"what it was recorded with changed: run `{again}`"


@every_record
def test_what_is_sent_matches_the_published_api(sample: str) -> None:
    record, cloud = Record.load(RECORDS[sample]), cloud_of(sample)
    assert [str(each) for each in judge(record, cloud.model, cloud.book)] == []
    assert len(record.requests) >= 5


@every_record
def test_a_record_is_written_as_it_is_read(sample: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy = tmp_path_factory.mktemp("records") / "copy.json"
    Record.load(RECORDS[sample]).write(copy)
    assert copy.read_text("utf-8") == RECORDS[sample].read_text("utf-8")
