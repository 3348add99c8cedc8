"""The recorded requests of every AWS sample: they belong to its golden plan, and match the API that AWS publishes."""

import pytest

from tests.judged.records import RECORDS
from tools.awsprovider.plans import AGAIN, plan_hash
from tools.awsprovider.record import made_with
from tools.awsprovider.sample import samples
from tools.judge.aws.model import AwsModel
from tools.judge.aws.references import AwsBook
from tools.judge.references import judge
from tools.judge.request import Record

every_record = pytest.mark.parametrize("sample", RECORDS)


def test_every_sample_has_a_record_and_every_record_a_sample() -> None:
    assert RECORDS.keys() == samples().keys(), f"run `{AGAIN}`"


@every_record
def test_a_record_belongs_to_the_plan_as_it_is(sample: str) -> None:
    record = Record.load(RECORDS[sample])
    assert record.plan == plan_hash(sample), f"the golden plan of {sample} changed: run `{AGAIN} SAMPLE={sample}`"
    assert dict(record.made_with) == made_with(), f"the provider or moto changed: run `{AGAIN}`"


@every_record
def test_what_is_sent_matches_the_published_api(sample: str) -> None:
    record = Record.load(RECORDS[sample])
    assert [str(each) for each in judge(record, AwsModel(), AwsBook())] == []
    assert len(record.requests) >= 20


@every_record
def test_a_record_is_written_as_it_is_read(sample: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    copy = tmp_path_factory.mktemp("records") / "copy.json"
    Record.load(RECORDS[sample]).write(copy)
    assert copy.read_text("utf-8") == RECORDS[sample].read_text("utf-8")
