"""What goes wrong on demand: a quota, no machines in the zone, a server that is overloaded."""

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from tools.googleapi.store import Ledger


@dataclass(frozen=True)
class Trouble:
    """One wish for trouble."""

    method: str
    """Pattern of the calls it hits: ``container *.nodePools.create``."""
    reason: str
    """Google's word: QUOTA_EXCEEDED, ZONE_RESOURCE_POOL_EXHAUSTED, backendError."""
    says: str
    status: int = 0
    """HTTP status of the refusal. 0: the call is taken, and its operation fails."""
    times: int = 1
    """How many calls it hits."""
    leaves: str = ""
    """Status of the thing that a failed operation leaves behind; empty: nothing is left."""


QUOTA = Trouble("compute *.insert", "quotaExceeded", "Quota 'NETWORKS' exceeded.  Limit: 5.0 globally.", 403)
BUSY = Trouble("* *", "backendError", "Service unavailable. Try again later.", 503)
STOCK_OUT = Trouble(
    "container *.nodePools.create",
    "ZONE_RESOURCE_POOL_EXHAUSTED",
    "The zone does not have enough resources available to fulfill the request. Try a different zone, or try again later.",
)


def wish(ledger: Ledger, trouble: Trouble) -> None:
    """Let something go wrong from now on."""
    row = (trouble.method, trouble.times, trouble.status, trouble.reason, trouble.says, trouble.leaves)
    columns = "method, times, status, reason, says, leaves"
    ledger.connection.execute(f"insert into troubles ({columns}) values (?,?,?,?,?,?)", row)  # noqa: S608 - our text


def due(ledger: Ledger, method: str) -> Trouble | None:
    """The trouble whose turn this call is."""
    rows: list[tuple[Any, ...]] = ledger.connection.execute(
        "select number, method, reason, says, status, times, leaves from troubles where times > 0 order by number"
    ).fetchall()
    for number, *row in rows:
        found = Trouble(*row)
        if fnmatchcase(method, found.method):
            ledger.connection.execute("update troubles set times = times - 1 where number = ?", (number,))
            return found
    return None
