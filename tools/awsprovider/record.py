"""The record of a sample: what AWS's provider sent during its ``up``, and what it was recorded with."""

from importlib.metadata import version
from pathlib import Path

from tools.awsprovider.bridge import GROUP
from tools.awsprovider.normalise import normalise
from tools.awsprovider.plans import declared
from tools.awsprovider.sample import sample_life
from tools.awsprovider.session import Session
from tools.judge.request import Record
from tools.samples.plans import config_of, plan_hash, samples
from tools.toolchain.programs import read_programs, select


def record_sample(session: Session, name: str, folder: Path) -> Record:
    """Run one ``up`` of a sample."""
    folder.mkdir()
    with sample_life(session, name, folder) as life:
        life.succeed("up")
    return record_of(session, name)


def record_of(session: Session, name: str) -> Record:
    """What a sample has sent since the session was last reset."""
    existing = declared(config_of(samples("aws")[name]))
    return Record(
        plan=plan_hash(name),
        made_with=made_with(),
        requests=normalise(session.recorder.exchanges, existing),
        existing=tuple(sorted(existing)),
        gaps=tuple(sorted(session.recorder.lacking.used)),
    )


def made_with() -> dict[str, str]:
    """Versions of everything that has a say in what is sent and answered."""
    programs = {program.name: program.version for program in select(read_programs(), GROUP)}
    return {**programs, "moto": version("moto")}
