"""The stand-in's memory: one SQLite file. Things go by their path; what names what is noted, so that nothing in use goes."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Body = dict[str, Any]

_TABLES = """
create table if not exists things (number integer primary key, path text unique, api text, body text);
create table if not exists names (holder text, target text, unique (holder, target));
create table if not exists operations (number integer primary key, waits integer, answer text);
create table if not exists troubles (
  number integer primary key, method text, times integer, status integer, reason text, says text, leaves text
);
"""


@dataclass(frozen=True)
class Thing:
    """Something the account holds."""

    number: int
    path: str
    api: str
    body: Body


@dataclass(frozen=True)
class Store:
    """The file."""

    file: Path

    def create(self) -> None:
        """Make the tables."""
        with self.transaction() as ledger:
            ledger.connection.executescript(_TABLES)

    @contextmanager
    def transaction(self) -> Iterator["Ledger"]:
        """All or nothing, one at a time."""
        connection = sqlite3.connect(self.file, timeout=60, isolation_level=None)
        connection.execute("pragma synchronous = off")  # a power cut may take this cloud along
        try:
            connection.execute("begin immediate")
            yield Ledger(connection)
            connection.execute("commit") if connection.in_transaction else None
        finally:
            connection.close()  # takes an open transaction back


@dataclass(frozen=True)
class Ledger:
    """The account inside one transaction."""

    connection: sqlite3.Connection

    def find(self, path: str) -> Thing | None:
        """The thing at a path."""
        return next(self._things("where path = ?", path), None)

    def below(self, prefix: str) -> list[Thing]:
        """Everything whose path begins so, oldest first."""
        return list(self._things("where substr(path, 1, ?) = ? order by number", len(prefix), prefix))

    def put(self, api: str, path: str, body: Body) -> Thing:
        """A new thing, or another body of one that is there."""
        self.connection.execute(
            "insert into things (path, api, body) values (?,?,?) on conflict (path) do update set body = excluded.body",
            (path, api, json.dumps(body)),
        )
        found = self.find(path)
        assert found is not None  # noqa: S101 - just put there
        return found

    def remove(self, path: str) -> None:
        """Take a thing away, with all that lies in it and with what it named."""
        for thing in [path, *(each.path for each in self.below(f"{path}/"))]:
            self.connection.execute("delete from things where path = ?", (thing,))
            self.connection.execute("delete from names where holder = ?", (thing,))

    def note_names(self, holder: str, targets: Iterable[str]) -> None:
        """What a thing names from now on."""
        self.connection.execute("delete from names where holder = ?", (holder,))
        rows = [(holder, target) for target in targets]
        self.connection.executemany("insert or ignore into names values (?,?)", rows)

    def users(self, path: str) -> list[str]:
        """Paths of what names a thing, itself and its parts left out."""
        rows = self.connection.execute(
            "select holder from names where target = ? and holder != ? and substr(holder, 1, ?) != ?",
            (path, path, len(path) + 1, f"{path}/"),
        )
        return [holder for (holder,) in rows]

    def start(self, answer: Body) -> int:
        """Note an operation that has to be asked for twice; its number."""
        row = (1, json.dumps(answer))
        return self.connection.execute("insert into operations (waits, answer) values (?,?)", row).lastrowid or 0

    def poll(self, number: int) -> tuple[bool, Body] | None:
        """Is an operation done, and what it will answer. None if there is no such operation."""
        row = self.connection.execute("select waits, answer from operations where number = ?", (number,)).fetchone()
        if row is None:
            return None
        self.connection.execute("update operations set waits = waits - 1 where number = ?", (number,))
        return row[0] <= 0, json.loads(row[1])

    def _things(self, condition: str, *values: Any) -> Iterator[Thing]:
        rows = self.connection.execute(f"select number, path, api, body from things {condition}", values)  # noqa: S608 - our text
        for number, path, api, text in rows:
            yield Thing(number, path, api, json.loads(text))
