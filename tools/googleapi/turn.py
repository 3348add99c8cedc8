"""One call on its way through the account, and what answers it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tools.googleapi.store import Body, Ledger, Thing
from tools.judge.google.model import GoogleCall
from tools.judge.google.references import path_of

if TYPE_CHECKING:
    from tools.googleapi.account import Account

# The path of what was changed or looked at, and what it is now.
Done = tuple[str, Body | None]


@dataclass(frozen=True)
class Turn:
    """A call that the published API allows, and whose names all exist."""

    ledger: Ledger
    account: "Account"
    call: GoogleCall
    body: Mapping[str, Any]

    @property
    def path(self) -> str:
        """What the call is about."""
        return path_of(self.call)

    @property
    def thing(self) -> Thing:
        """The thing at that path, which was looked for before."""
        found = self.ledger.find(self.path)
        assert found is not None  # noqa: S101
        return found


Handler = Callable[[Turn], Done]
