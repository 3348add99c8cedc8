"""The stand-in's memory: one SQLite file, shared by the providers of one cloud and read by the tests while they run."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.standin import faults
from tools.standin.values import Tree

_TABLES = """
create table if not exists objects (
  number integer primary key, kind text, id text, urn text, owner integer, held integer default 0, properties text,
  unique (kind, id)
);
create table if not exists links (holder integer, target integer, path text, protects integer);
create index if not exists links_of_holder on links (holder);
create index if not exists links_to_target on links (target);
create table if not exists overrides (kind text, path text, value text, primary key (kind, path));
create table if not exists calls (number integer primary key, operation text, kind text, id text, urn text);
"""


@dataclass(frozen=True)
class Object:
    """Something the cloud holds."""

    number: int
    kind: str
    id: str
    urn: str
    """Of the resource that made it; empty for what came otherwise."""
    owner: int | None
    """The object that brought it."""
    held: bool
    """The account had it before the program came."""
    properties: Tree

    @property
    def label(self) -> str:
        """For error texts and assertions."""
        return f"{self.kind.rpartition(':')[2]} {self.id}"


@dataclass(frozen=True)
class Store:
    """The file. Every method opens it anew: calls come on many threads, and a test may look in from another process."""

    file: Path

    def create(self) -> None:
        """Make the tables."""
        connection = self.connect()
        connection.execute("pragma journal_mode = wal")
        connection.executescript(_TABLES)
        connection.execute(faults.TABLE)
        connection.close()

    def connect(self) -> sqlite3.Connection:
        """A connection that commits by itself."""
        connection = sqlite3.connect(self.file, timeout=60, isolation_level=None)
        connection.execute("pragma synchronous = off")  # a power cut may take this cloud along
        return connection

    @contextmanager
    def transaction(self) -> Iterator["Ledger"]:
        """All or nothing, one at a time."""
        connection = self.connect()
        try:
            connection.execute("begin immediate")
            yield Ledger(connection)
            connection.execute("commit")
        finally:
            connection.close()  # takes an open transaction back


@dataclass(frozen=True)
class Ledger:
    """The objects and their links, inside one transaction."""

    connection: sqlite3.Connection

    def all(self) -> list[Object]:
        """Everything there is, oldest first."""
        return self._objects("order by number")

    def find(self, kind: str, value: str, path: str = "id") -> list[Object]:
        """Objects by id, or by a value among their properties."""
        if path == "id":
            return self._objects("where kind = ? and id = ?", kind, value)
        return self._objects("where kind = ? and json_extract(properties, ?) = ?", kind, f"$.{path}", value)

    def of(self, kind: str) -> list[Object]:
        """All of one kind; ``*`` is a wildcard."""
        return self._objects("where kind glob ?", kind)

    def add(self, kind: str, key: str, urn: str, properties: Tree, *, owner: int | None = None, held: bool = False) -> Object:
        """A new object."""
        row = (kind, key, urn, owner, held, json.dumps(properties))
        columns = "kind, id, urn, owner, held, properties"
        made = self.connection.execute(f"insert into objects ({columns}) values (?,?,?,?,?,?)", row)  # noqa: S608
        return Object(made.lastrowid or 0, kind, key, urn, owner, held, properties)

    def change(self, found: Object, properties: Tree) -> None:
        """Other properties."""
        self.connection.execute("update objects set properties = ? where number = ?", (json.dumps(properties), found.number))

    def remove(self, found: Object) -> None:
        """Take an object and its links away."""
        self.connection.execute("delete from objects where number = ?", (found.number,))
        self.connection.execute("delete from links where ? in (holder, target)", (found.number,))

    def link(self, holder: Object, targets: list[tuple[Object, str, bool]]) -> None:
        """What an object refers to: target, at which path, and whether that protects the target. Replaces what was noted."""
        self.connection.execute("delete from links where holder = ?", (holder.number,))
        rows = [(holder.number, target.number, path, protects) for target, path, protects in targets]
        self.connection.executemany("insert into links values (?,?,?,?)", rows)

    def holders(self, target: Object, *, protecting: bool) -> list[Object]:
        """Who refers to an object."""
        return self._objects(
            "where number in (select holder from links where target = ? and protects = ?)", target.number, protecting
        )

    def brought_by(self, owner: Object) -> list[Object]:
        """What came with an object."""
        return self._objects("where owner = ?", owner.number)

    def override(self, kind: str, path: str, value: Any) -> None:
        """From now on the cloud adds this value to what is made."""
        self.connection.execute("insert or replace into overrides values (?,?,?)", (kind, path, json.dumps(value)))

    def overrides(self, kind: str) -> Tree:
        """Path -> value that replaces the description's template."""
        rows = self.connection.execute("select path, value from overrides where kind = ?", (kind,))
        return {path: json.loads(value) for path, value in rows}

    def note(self, operation: str, kind: str, key: str, urn: str) -> int:
        """Write a call down; its number."""
        row = (operation, kind, key, urn)
        return self.connection.execute("insert into calls (operation, kind, id, urn) values (?,?,?,?)", row).lastrowid or 0

    def _objects(self, condition: str, *values: Any) -> list[Object]:
        columns = "number, kind, id, urn, owner, held, properties"
        rows = self.connection.execute(f"select {columns} from objects {condition}", values)  # noqa: S608 - our own text
        return [
            Object(number, kind, key, urn, owner, bool(held), json.loads(text))
            for number, kind, key, urn, owner, held, text in rows
        ]
