"""The recorded requests of the samples, what they were recorded with, and by what they are judged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import tools.awsprovider.record
import tools.googleprovider.record
from tools.judge.aws.model import AwsModel
from tools.judge.aws.references import AwsBook
from tools.judge.google.model import GoogleModel
from tools.judge.google.references import GoogleBook
from tools.judge.references import Book
from tools.judge.shapes import Model
from tools.samples.plans import RECORDED

RECORDS = {file.stem: file for file in sorted(RECORDED.glob("*.json"))}


@dataclass(frozen=True)
class Cloud:
    """Whose API it is."""

    model: Model
    book: Book
    made_with: Callable[[], Mapping[str, str]]
    again: str
    """Makes the records anew."""


CLOUDS = {
    "aws": Cloud(AwsModel(), AwsBook(), tools.awsprovider.record.made_with, "make record-aws"),
    "gcp": Cloud(GoogleModel(), GoogleBook(), tools.googleprovider.record.made_with, "make record-google"),
}


def cloud_of(sample: str) -> Cloud:
    """By the sample's name."""
    return CLOUDS[sample.partition("-")[0]]
