"""A ledger that an owner's command opens, and the note that is made of what it has checked."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from curator.codec import CODEC
from curator.ledgers import BrokenChainError, LedgerError, ledger_of
from curator.owner.checks import folder_of, record_check
from curator.settings.configuration import NAME as _CONFIGURATION
from curator.settings.configuration import read_configuration
from curator.verification.accounts import WrongAccountError
from curator.verify import VerificationError


class ReplayError(LedgerError):
    """A replay differs from the log."""


class OpenedLedger:
    """A ledger that is there already, open for a while: by its own place or a configuration's."""

    def __init__(self, place: str) -> None:
        stated = Path(place, _CONFIGURATION)
        place = str(stated) if "://" not in place and stated.exists() else place
        self.configuration = read_configuration(place) if place.endswith(".toml") else None
        self.codec = CODEC if self.configuration is None else self.configuration.codec
        self.datasets = () if self.configuration is None else tuple(self.configuration.datasets)
        at = place if self.configuration is None else self.configuration.ledger
        self.ledger, self._ledger, self.unnoted = ledger_of(at, make=False), at, ""

    def key_of(self, root: str) -> str | None:
        """The key that the configuration states for a root; None for that beside the ledger."""
        return None if self.configuration is None else self.configuration.key_of(root)

    @contextmanager
    def noted(self, command: str) -> Iterator[Callable[..., None]]:
        """A check that is noted beside the ledger, with its result.

        It is given a function for each root, with the hash of its last event and what is counted.
        """
        heads: dict[str, str] = {}
        counts: Counter[str] = Counter()

        def note(root: str, head: str, **facts: int) -> None:
            heads[root] = head
            counts.update(facts)

        try:
            yield note
        except (BrokenChainError, VerificationError, WrongAccountError, ReplayError):
            self._record(command, heads, counts, passed=False)
            raise
        if heads:
            self._record(command, heads, counts, passed=True)

    def _record(
        self, command: str, heads: dict[str, str], counts: Counter[str], *, passed: bool
    ) -> None:
        file = None if self.configuration is None else self.configuration.file
        folder = folder_of(self._ledger, file)
        self.unnoted = record_check(folder, command, passed, head=heads, **counts)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.ledger.close()
