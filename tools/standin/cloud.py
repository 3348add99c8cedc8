"""The rules of the stand-in's cloud: ids in its form, references that must exist, an order of deletion, taken names."""

import hashlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from pulumi.runtime.rpc import UNKNOWN

from tools.standin import faults
from tools.standin.description import Description, Kind
from tools.standin.store import Ledger, Object, Store
from tools.standin.values import Tree, at, differences, exact, fill, merged, projected, put, without


class CloudError(Exception):
    """The cloud's refusal, in its own manner."""


@dataclass(frozen=True)
class Difference:
    """What an update would do."""

    changes: dict[str, str]
    """Path -> add, delete or update."""
    replacing: frozenset[str]
    """Those of the paths that need a new object."""
    in_place: bool
    """The new object cannot stand beside the old one, since it has the same name."""


@dataclass
class Cloud:
    """One provider's view of the store."""

    description: Description
    store: Store
    constants: dict[str, str] = field(init=False)
    """The description's, and what the provider was configured with (its region)."""

    def __post_init__(self) -> None:
        self.constants = dict(self.description.constants)
        with self.store.transaction() as ledger:
            for kind, key, properties in self.description.held:
                if not ledger.find(kind, key):
                    ledger.add(kind, key, "", fill(properties, self.constants.get), held=True)

    def check(self, token: str, logical: str, old: Tree, new: Tree, seed: bytes) -> Tree:
        """Inputs with the name that the cloud's provider would give. It stays when the program says nothing later on."""
        kind = self._kind(token)
        if kind.autoname and not at(new, kind.autoname):
            kept = at(old, kind.autoname)
            digest = hashlib.sha256(token.encode() + logical.encode() + seed).hexdigest()
            new = deepcopy(new)
            put(new, kind.autoname, kept[0] if kept else f"{logical}-{digest[:7]}")
        return new

    def diff(self, token: str, old: Tree, new: Tree) -> Difference:
        """Compare the inputs of the last ``up`` with those of this one."""
        kind = self._kind(token)
        changes = dict(differences(old, new))
        replacing = frozenset(path for path in changes if any(_within(path, needs) for needs in kind.replaced_by))
        taken = [at(old, path) == at(new, path) for path in kind.unique]
        return Difference(changes, replacing, bool(replacing) and bool(taken) and all(taken))

    def planned(self, token: str, inputs: Tree) -> Tree:
        """What a preview says about a new object: its inputs, and that the rest is not known yet.

        References are not followed: what they name may come into being with the same ``up``.
        """
        kind = self._kind(token)
        known = deepcopy(inputs)
        for path in (*kind.outputs, *kind.counts):
            if not at(known, path):
                put(known, path, UNKNOWN)
        return known

    def create(self, token: str, urn: str, inputs: Tree) -> Object:
        """Make an object, or say what stands against it."""
        kind = self._kind(token)
        with self.store.transaction() as ledger:
            number = ledger.note("create", token, "", urn)
            targets = self._targets(ledger, kind, inputs)
            look_up = partial(self._look_up, number, inputs)
            key = fill(kind.id, look_up)
            taken = self._same_name(ledger, token, kind, inputs) or ledger.find(token, key)
            if taken:
                raise self._error("taken", token, id=taken[0].id)
            added = ledger.overrides(token)
            properties = self._completed(kind, inputs, added, lambda path: key if path == "id" else look_up(path))
            made = ledger.add(token, key, urn, properties)
            ledger.link(made, targets)
            for brought, path in kind.brings.items():
                for other in at(properties, path):
                    ledger.add(brought, other, "", {}, owner=made.number)
        return made

    def update(self, token: str, key: str, urn: str, inputs: Tree, *, preview: bool = False) -> Tree:
        """Change an object; what the cloud had added stays, its counters go up."""
        kind = self._kind(token)
        with self.store.transaction() as ledger:
            number = 0 if preview else ledger.note("update", token, key, urn)
            found = self._one(ledger, token, key)
            paths = (*kind.outputs, *kind.counts)
            added = {path: each for path in paths if (each := exact(found.properties, path)) is not None}
            added |= {path: UNKNOWN if preview else added.get(path, 1) + 1 for path in kind.counts}
            look_up = partial(self._look_up, number, inputs)
            properties = self._completed(kind, inputs, added, lambda path: key if path == "id" else look_up(path))
            if not preview:
                ledger.link(found, self._targets(ledger, kind, inputs))
                ledger.change(found, properties)
        return properties

    def read(self, token: str, key: str) -> Object | None:
        """What there is, as it is now."""
        with self.store.transaction() as ledger:
            ledger.note("read", token, key, "")
            return next(iter(ledger.find(token, key)), None)

    def inputs(self, found: Object, asked: Tree) -> Tree:
        """The inputs that would make an object as it is now; where nobody knows what was asked, all but what the cloud adds."""
        if asked:
            shown: Tree = projected(found.properties, asked)
            return shown
        kind = self._kind(found.kind)
        return without(found.properties, (*kind.outputs, *kind.counts))

    def delete(self, token: str, key: str, urn: str) -> None:
        """Remove an object and what goes with it; refused while something protected holds on to it. Gone is gone: no error."""
        kind = self._kind(token)
        with self.store.transaction() as ledger:
            ledger.note("delete", token, key, urn)
            found = next(iter(ledger.find(token, key)), None)
            if found is None:
                return
            gone = {each.number: each for each in self._going(ledger, found, kind)}
            for each in gone.values():
                left = [holder for holder in ledger.holders(each, protecting=True) if holder.number not in gone]
                if left:
                    raise self._error("in_use", token, id=key, by=", ".join(holder.label for holder in left[:3]))
            for each in gone.values():
                ledger.remove(each)

    def invoke(self, token: str, arguments: Tree) -> Tree:
        """Answer a question from the description or from what the cloud holds."""
        known = self.description.invokes.get(token)
        if known is None:
            raise CloudError(f"the stand-in for {self.description.name} has no answer to {token}; add it to its data file")
        if not known.kind:
            answer: Tree = arguments | fill(known.answer, lambda path: self.constants.get(path, arguments.get(path)))
            return answer
        with self.store.transaction() as ledger:
            found = ledger.find(known.kind, arguments[known.by], known.by)
        if not found:
            raise self._error("missing", known.kind, value=arguments[known.by])
        return found[0].properties | {"id": found[0].id}

    def trouble(self, operation: str, token: str) -> list[tuple[int, faults.Fault]]:
        """Faults whose turn this call is."""
        connection = self.store.connect()
        try:
            connection.execute("begin immediate")
            found = faults.due(connection, operation, token)
            connection.execute("commit")
        finally:
            connection.close()
        return found

    def _kind(self, token: str) -> Kind:
        kind = self.description.kind(token)
        if kind is None:
            raise CloudError(f"the stand-in for {self.description.name} does not know {token}; add it to its data file")
        return kind

    def _one(self, ledger: Ledger, token: str, key: str) -> Object:
        found = ledger.find(token, key)
        if not found:
            raise self._error("missing", token, value=key)
        return found[0]

    def _look_up(self, number: int, inputs: Tree, path: str) -> Any:
        """A hole of a template: a constant, ``hex17`` (as many digits), or an input."""
        if path in self.constants:
            return self.constants[path]
        if path.startswith("hex") and path[3:].isdigit():
            return hashlib.sha256(f"{self.description.name} {number}".encode()).hexdigest()[: int(path[3:])]
        found = at(inputs, path)
        return found[0] if found else None

    def _completed(self, kind: Kind, inputs: Tree, added: Tree, look_up: Callable[[str], Any]) -> Tree:
        """The inputs and what the cloud adds to them: ``added`` by path, and the rest from the description's templates."""
        outputs: Tree = {}
        for path, template in kind.outputs.items():
            put(outputs, path, added[path] if path in added else fill(template, look_up))
        for path in kind.counts:
            put(outputs, path, added.get(path, 1))
        completed: Tree = merged(outputs, inputs)
        return completed

    def _targets(self, ledger: Ledger, kind: Kind, inputs: Tree) -> list[tuple[Object, str, bool]]:
        """Everything the inputs refer to. A reference to nothing is refused."""
        found = []
        for rules, protects in ((kind.refers, True), (kind.mentions, False)):
            for path, rule in rules.items():
                for value in at(inputs, path):
                    target = None if value == UNKNOWN else self._target(ledger, rule, str(value))
                    found += [(target, path, protects)] if target else []
        return found

    def _target(self, ledger: Ledger, rule: str, value: str) -> Object | None:
        choices = [choice.partition("#") for choice in rule.split("|")]
        for token, _, path in choices:
            if token.startswith("~") and fnmatchcase(value, token[1:]):
                return None
            found = ledger.find(token, value, path or "id")
            if found:
                return found[0]
        raise self._error("missing", choices[0][0], value=value)

    def _same_name(self, ledger: Ledger, token: str, kind: Kind, inputs: Tree) -> list[Object]:
        wanted = [at(inputs, path) for path in kind.unique]
        if not any(wanted):
            return []
        return [each for each in ledger.of(token) if [at(each.properties, path) for path in kind.unique] == wanted]

    def _going(self, ledger: Ledger, found: Object, kind: Kind) -> Iterator[Object]:
        """An object and all that is gone with it."""
        yield found
        yield from ledger.brought_by(found)
        for pattern in kind.takes_along:
            yield from ledger.of(pattern)
        for holder in ledger.holders(found, protecting=False):
            if any(fnmatchcase(holder.kind, pattern) for pattern in kind.takes_holders):
                yield holder

    def _error(self, name: str, token: str, **words: str) -> CloudError:
        noun = token.rpartition(":")[2]
        return CloudError(self.description.errors[name].format(noun=noun, **words))


def _within(path: str, rule: str) -> bool:
    """Is ``a.b[0].c`` at or below ``a.b``?"""
    plain = "".join(part.partition("]")[2] if "]" in part else part for part in path.split("["))
    return rule in ("*", plain) or plain.startswith(f"{rule}.")
