"""What goes wrong on demand: the nth call of a kind fails, hangs, or is slow, before or after it took effect."""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase

POLL_S = 0.02
TABLE = """
create table if not exists faults (
  number integer primary key, operation text, kind text, nth integer, does text, at text, seconds real, says text,
  reached integer default 0
)"""


@dataclass(frozen=True)
class Fault:
    """One wish for trouble."""

    operation: str
    """create, update, delete or read."""
    kind: str = "*"
    """Pattern of the type's token."""
    nth: int = 1
    """Which of these calls, counted from the wish on."""
    does: str = "fail"
    """fail: ends with an error. hang: does not come back until the fault is lifted or the caller is gone. slow: takes long."""
    at: str = "before"
    """before the call takes effect, or after it."""
    seconds: float = 0.0
    says: str = "InternalFailure: the stand-in was asked to fail here"


class FaultError(Exception):
    """A call that was asked to fail, or whose caller went away while it hung."""


def wish(connection: sqlite3.Connection, fault: Fault) -> int:
    """Note a fault; its number."""
    row = (fault.operation, fault.kind, fault.nth, fault.does, fault.at, fault.seconds, fault.says)
    columns = "operation, kind, nth, does, at, seconds, says"
    return connection.execute(f"insert into faults ({columns}) values (?,?,?,?,?,?,?)", row).lastrowid or 0  # noqa: S608


def due(connection: sqlite3.Connection, operation: str, kind: str) -> list[tuple[int, Fault]]:
    """Count this call against every fault that it fits, and return those whose turn it is, inside the caller's transaction."""
    found = []
    for number, *row in connection.execute(
        "select number, operation, kind, nth, does, at, seconds, says from faults where nth > 0"
    ).fetchall():
        fault = Fault(*row)
        if fault.operation == operation and fnmatchcase(kind, fault.kind):
            connection.execute("update faults set nth = nth - 1 where number = ?", (number,))
            found += [(number, fault)] if fault.nth == 1 else []
    return found


def suffer(connect: Callable[[], sqlite3.Connection], number: int, fault: Fault, alive: Callable[[], bool]) -> None:
    """Do what the fault says."""
    _execute(connect, "update faults set reached = 1 where number = ?", number)
    if fault.does == "fail":
        raise FaultError(fault.says)
    if fault.does == "slow":
        time.sleep(fault.seconds)
        return
    while alive():
        if not _execute(connect, "select 1 from faults where number = ?", number):
            return
        time.sleep(POLL_S)
    raise FaultError("the caller went away")


def _execute(connect: Callable[[], sqlite3.Connection], statement: str, number: int) -> list[tuple[int]]:
    connection = connect()
    try:
        return connection.execute(statement, (number,)).fetchall()
    finally:
        connection.close()
