"""A sample stack of this repository, run by the real engine through AWS's own provider."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpufabric.spec import CONFIG_KEY
from tools.awsprovider.plans import declared
from tools.awsprovider.seeds import seed
from tools.awsprovider.session import Session
from tools.samples.life import Life, stacks_at_golden_time
from tools.samples.life import life as any_life
from tools.samples.plans import config_of, samples
from tools.standin.verdicts import hold_verdicts


@contextmanager
def life(session: Session, name: str, program: Path, config: Mapping[str, Any], folder: Path) -> Iterator[Life]:
    """A new stack of a program in an empty account."""
    session.reset()
    # The program itself may ask AWS, too.
    known = session.emulator.environment
    with any_life(
        name, program, config, folder, ports={"aws": session.port}, environment=known, rest=session.proxy.rest
    ) as made:
        yield made


@contextmanager
def sample_life(session: Session, name: str, folder: Path) -> Iterator[Life]:
    """A sample's own stack."""
    config = config_of(samples("aws")[name])
    with life(session, name, stacks_at_golden_time(folder), config, folder) as made:
        wish = config[CONFIG_KEY]
        seed(declared(config), wish["region"])
        hold_verdicts(made.cluster, name, wish)
        yield made
