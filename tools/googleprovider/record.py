"""The record of a sample: what Google's provider sent during its ``up``, less what differs from run to run."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gpufabric.spec import CONFIG_KEY
from tools.googleapi.server import Exchange
from tools.googleprovider.provider import program
from tools.googleprovider.sample import sample_life
from tools.googleprovider.seeds import existing
from tools.judge.google.model import TRANSPORT, GoogleModel
from tools.judge.google.references import GoogleBook
from tools.judge.order import in_order
from tools.judge.request import Record, Request
from tools.samples.plans import config_of, plan_hash, samples

# Google's marks of a thing's last change: whoever changes it next has to name them.
_MARKS = ("etag", "fingerprint", "labelFingerprint")


def record_sample(name: str, folder: Path) -> Record:
    """Run one ``up`` of a sample."""
    folder.mkdir()
    with sample_life(name, folder) as life:
        life.stack.succeed("up")
        return record_of(name, life.apis.exchanges)


def record_of(name: str, exchanges: Sequence[Exchange]) -> Record:
    """What a sample has sent in one ``up``."""
    held = existing(config_of(samples("gcp")[name])[CONFIG_KEY])
    return Record(plan=plan_hash(name), made_with=made_with(), requests=normalise(exchanges), existing=tuple(sorted(held)))


def made_with() -> dict[str, str]:
    """Versions of everything that has a say in what is sent."""
    return {program().name: program().version, "google-api-python-client": version("google-api-python-client")}


def normalise(exchanges: Sequence[Exchange]) -> tuple[Request, ...]:
    """The requests that change something, each after those that it needs. Of a thing's policies, which the provider changes
    member by member or several at once, the last one counts."""
    kept: dict[tuple[str, str, int], Request] = {}
    for number, exchange in enumerate(exchanges):
        if exchange.changes:
            request = exchange.request
            policy = request.path.endswith(("setIamPolicy", "/iam"))
            query = {key: value for key, value in request.query.items() if key not in TRANSPORT}
            written = Request(request.service, request.method, request.path, query, json=_settled(request.json))
            kept[request.service, request.path, 0 if policy else number + 1] = written
    return tuple(in_order(list(kept.values()), GoogleModel(), GoogleBook()))


def _settled(value: Any) -> Any:
    if isinstance(value, dict):
        inner = {key: _settled(each) for key, each in value.items() if key not in _MARKS}
        if "bindings" in inner:
            bindings = [{**each, "members": sorted(each.get("members", ()))} for each in inner["bindings"]]
            inner["bindings"] = sorted(bindings, key=lambda each: str(each["role"]))
        return inner
    return [_settled(each) for each in value] if isinstance(value, list) else value
