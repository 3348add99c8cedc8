"""The recorded requests of the samples, what they were recorded with, and by what they are judged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import tools.awsprovider.record
import tools.googleprovider.record
from tools.judge.aws.model import AwsModel
from tools.judge.aws.references import AwsBook
from tools.judge.google.model import GoogleModel
from tools.judge.google.references import GoogleBook, is_given, named_path, thing_of
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
    id_of: Callable[[str], str]
    """The kind of what a text is an id of; empty for other texts."""


def _id_of_aws(text: str) -> str:
    """``vpc`` for vpc-0123...."""
    kinds = {thing.kind for thing in AwsBook().things((text,)) if thing.name == text}
    return kinds.pop() if len(kinds) == 1 else ""


def _id_of_google(text: str) -> str:
    """``network`` for projects/p/global/networks/vpc, with or without what stands before it."""
    path = named_path(text)
    return thing_of(path).kind if path and not is_given(path) else ""


CLOUDS = {
    "aws": Cloud(AwsModel(), AwsBook(), tools.awsprovider.record.made_with, "make record-aws", _id_of_aws),
    "gcp": Cloud(GoogleModel(), GoogleBook(), tools.googleprovider.record.made_with, "make record-google", _id_of_google),
}


def cloud_of(sample: str) -> Cloud:
    """By the sample's name."""
    return CLOUDS[sample.partition("-")[0]]
