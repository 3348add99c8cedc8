"""A running stand-in, as tests and measurements see it: how the engine finds it, what it holds, what shall go wrong."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from pulumi.runtime import rpc

from tools.folders import REPOSITORY
from tools.localcluster.waits import wait_until
from tools.standin import faults
from tools.standin.store import Object, Store
from tools.standin.values import Tree, projected, put


@dataclass(frozen=True)
class StandIn:
    """Providers that are attached by name, over one cloud."""

    store: Store
    ports: dict[str, int]

    @property
    def environment(self) -> dict[str, str]:
        """For the engine."""
        return {"PULUMI_DEBUG_PROVIDERS": ",".join(f"{name}:{port}" for name, port in self.ports.items())}

    def objects(self, kind: str = "*") -> list[Object]:
        """What programs have made and nobody has deleted. What the account had, and what comes with others, is left out."""
        with self.store.transaction() as ledger:
            return [each for each in ledger.of(kind) if not each.held and each.owner is None]

    def search(self, kind: str, inputs: Tree) -> str | None:
        """Id of the one object of a kind that looks as it was asked for, or None. Encrypted inputs are not compared."""
        asked = {key: value for key, value in inputs.items() if not key.startswith("__") and not _encrypted(value)}
        found = [each.id for each in self.objects(kind) if projected(each.properties, asked) == asked]
        if len(found) > 1:
            raise LookupError(f"{kind}: {', '.join(found)} all look like {asked}")
        return found[0] if found else None

    def calls(self, operation: str = "*") -> list[tuple[str, str, str]]:
        """What was asked so far: operation, kind, id."""
        with self.store.transaction() as ledger:
            rows = ledger.connection.execute(
                "select operation, kind, id from calls where operation glob ? order by number", (operation,)
            )
            return list(rows)

    def hold(self, kind: str, key: str, **properties: Any) -> None:
        """Put something into the account that was there before."""
        with self.store.transaction() as ledger:
            ledger.add(kind, key, "", properties, held=True)

    def hand_out(self, kind: str, **outputs: Any) -> None:
        """Let the cloud add these outputs to objects of a kind instead of the data file's."""
        with self.store.transaction() as ledger:
            for path, value in outputs.items():
                ledger.override(kind, path, value)

    def drift(self, kind: str, path: str, value: Any) -> None:
        """Somebody changes the only object of a kind by hand."""
        with self.store.transaction() as ledger:
            (found,) = ledger.of(kind)
            put(found.properties, path, value)
            ledger.change(found, found.properties)

    def lose(self, kind: str) -> None:
        """Somebody deletes the only object of a kind by hand."""
        with self.store.transaction() as ledger:
            (found,) = ledger.of(kind)
            ledger.remove(found)

    def fault(self, **wish: Any) -> int:
        """Let something go wrong; see :class:`tools.standin.faults.Fault`. Its number."""
        with self.store.transaction() as ledger:
            return faults.wish(ledger.connection, faults.Fault(**wish))

    def await_fault(self, number: int, timeout_s: float = 60) -> None:
        """Wait until a fault's call has come."""

        def reached() -> bool:
            with self.store.transaction() as ledger:
                (found,) = ledger.connection.execute("select reached from faults where number = ?", (number,)).fetchone()
                return bool(found)

        wait_until(f"the call of fault {number}", reached, timeout_s)

    def lift_faults(self) -> None:
        """Nothing goes wrong from now on; what hangs goes on."""
        with self.store.transaction() as ledger:
            ledger.connection.execute("delete from faults")


def _encrypted(value: Any) -> bool:
    return isinstance(value, dict) and rpc._special_sig_key in value


@contextmanager
def running(store: Path, *names: str) -> Iterator[StandIn]:
    """Stand-ins for these providers, until the block ends. The store is kept: another run goes on with the same cloud."""
    command = [sys.executable, "-m", "tools.standin", str(store), *names]
    with subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        stdin, stdout = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        try:
            yield StandIn(Store(store), json.loads(stdout.readline()))
        finally:
            stdin.close()
