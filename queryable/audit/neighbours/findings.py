"""What is found out while an analysis is held on neighbours: the worst of each kind is kept."""

from math import inf
from typing import Any

import attrs

_MEASURES = ["l1", "linf", "l2", "monotone", "keys", "noise", "law", "account", "outcome", "step"]
"""Causes before what follows of them."""


@attrs.frozen
class Example:
    """A neighbour, in words for the owner. It quotes records.

    Attributes:
        removed, added: how many units are removed and added.
        reason: why it was chosen.
        difference: what differs.
    """

    removed: int
    added: int
    reason: str
    difference: str

    def __str__(self) -> str:
        return f"{self.difference} ({self.reason})" if self.reason else self.difference


@attrs.frozen
class Worst:
    """The worst of one kind, over all neighbours.

    Attributes:
        what: what was compared: a statistic, a mechanism or a step.
        path: the ids of the mechanism that has it.
        measure: "l1", "l2", "linf", "monotone" and "keys" of what is read; "noise", what the answer
            loses, over its mechanism's claim; "law", the exact law over its claim; "account", what
            the answers lose together, over the claim of the queryable; "outcome" and "step",
            whether everything is answered, refused or failed alike, and the same steps follow.
        ratio: what was found over what is claimed: 1 is tight. Infinity where nothing may differ.
        beyond: whether it is more than is claimed.
        text: what was found, in words.
        example: the neighbour.
    """

    what: str
    path: tuple[Any, ...]
    measure: str
    ratio: float
    beyond: bool
    text: str
    example: Example

    @property
    def difference(self) -> str:
        """In what the neighbour differs."""
        return str(self.example)

    @property
    def rank(self) -> tuple[Any, ...]:
        """Smaller examples first: fewer records, finite ratios, shorter words, the cause."""
        records, words = self.example.removed + self.example.added, len(self.example.difference)
        return records, self.ratio == inf, words, _MEASURES.index(self.measure), -self.ratio

    def __str__(self) -> str:
        where = "".join(f"/{each}" for each in self.path)
        name = f"{self.what} at {where}" if where else self.what
        return f"{name}: {self.text}; neighbour: {self.example}"


class Findings:
    """The worst of each kind so far, and what was counted."""

    def __init__(self) -> None:
        self.worst: dict[tuple[str, str], Worst] = {}
        self.beyond: dict[tuple[str, str, int], Worst] = {}
        self.unchecked: dict[str, str] = {}
        self.steps = self.leaves = self.readings = 0

    def add(self, found: Worst) -> None:
        """Keep a finding if it is the worst of its kind, or the smallest that is beyond a claim."""
        kind = found.what, found.measure
        known = self.worst.get(kind)
        if known is None or (found.beyond, found.ratio) > (known.beyond, known.ratio):
            self.worst[kind] = found
        if found.beyond:
            units = found.example.removed + found.example.added
            smaller = self.beyond.get((*kind, units))
            if smaller is None or found.rank < smaller.rank:
                self.beyond[*kind, units] = found

    def leave_out(self, what: str, why: str) -> None:
        """Note what cannot be checked."""
        self.unchecked.setdefault(what, why)
