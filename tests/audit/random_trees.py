"""Random trees of compositors and persons, and messages that they understand.

Knows nothing of streams and laws: `random_cases` runs them.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from random import Random
from typing import Any

import attrs
import numpy as np

import composition as c
from mechanisms import Count, Total, TreeCounter
from queryable import (
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    InteractiveMechanism,
    Launch,
    LaunchOver,
    Postprocessed,
    PureDP,
    QueryError,
    UserLevel,
)
from queryable.streams.levels import DataLevel, EventLevel
from tests.attacks.hostile_units import LABELLED, POOL, SAME_HASH
from tests.audit.cases import Stutter
from tests.audit.random_leaves import PART, UNIT, Once, Pad, Reader, Row, Sum
from tests.audit.toys import nats
from tests.strategies import Courier

F = Fraction
Mechanism = InteractiveMechanism[Any]
Path = tuple[Any, ...]
Cells = list[tuple[Any, Any]]
"""True units, and cells that name them in rows."""
Stream = list[list[Row]]
"""The initial rows, then the batches."""
OURS = (ValueError, TypeError, QueryError)
PARTS = c.Partition(PART, ["a", "b"])
ODDS = (F(3), F(2))
LARGE = (PureDP(50), ApproxDP(50, "1/2"), ZCDP(50), ApproxZCDP(50, "1/10"), RDP(2, 50))
SMALL = (PureDP(nats(3)), PureDP(nats(6)), PureDP(nats(9)), ApproxDP(nats(6), "1/8"))
_SAME_HASH = [*[(2**100, np.float64(2**100))] * 3, *((each, each) for each in SAME_HASH[1:8])]
"""A number, and integers that equal it."""
OF_SUM = Sum().per_record.loss_per_square


@attrs.frozen
class Still(Courier):
    """A person over whom the data stand still."""

    continual = False


@attrs.define
class Maker:
    """Makes random cells, streams, trees and messages.

    Args:
        top: the kind of root, a key of `INNER` or `OUTER`; None for any.
    """

    random: Random
    top: str | None = None

    def chance(self, likely: float) -> bool:
        """Whether something of this probability happens."""
        return self.random.random() < likely

    def cells(self) -> Cells:
        """True units, and cells that name them in rows."""
        if self.chance(0.6):
            return [("u", "u"), ("u", "u"), ("v", "v")]
        if self.chance(0.4):
            return _SAME_HASH
        labels = self.random.sample([*LABELLED], 2)
        some = [each for each in POOL if any(each[0] is label for label in labels)]
        return [*self.random.sample(some, min(4, len(some))), ("u", "u")]

    def row(self, cells: Cells, some: tuple[int, ...] = (1, 1, -1, 0)) -> Row:
        """A row, whose x is one of some."""
        label, cell = self.random.choice(cells)
        part = "ab"[self.chance(0.4)] if self.chance(0.9) else self.random.choice(cells)[1]
        return cell, part, self.random.choice(some) if self.chance(0.97) else 2**63, label

    def stream(self, cells: Cells) -> Stream:
        """The initial rows and up to two batches."""
        count = 1 + self.random.choice((0, 1, 2, 2))
        sizes = (2, 4, 6) if cells is _SAME_HASH else (0, 1, 2, 2)
        return [[self.row(cells) for _ in range(self.random.choice(sizes))] for _ in range(count)]

    def leaf(self) -> Mechanism:
        """A mechanism that launches nothing."""
        odds = self.random.choice(ODDS)
        levels = (EventLevel(), UserLevel(UNIT, 1), UserLevel(UNIT, 2))
        level = self.random.choice(levels)
        grows = self.chance(0.6)
        horizon = self.random.choice((1, 1, 2))
        return self.random.choice(
            (
                *(Once(odds), Once(odds), Once(odds, F(1, 8)), Sum(odds), Pad(odds)),
                *(Reader(level, grows, odds), Reader(level, grows, odds)),
                Reader(DataLevel(), grows, odds),
                TreeCounter(Count(), epsilon=horizon * nats(3), horizon=horizon, neighbours=level),
            )
        )

    def tree(self, depth: int) -> Mechanism:
        """A mechanism, perhaps with others in it."""
        if depth <= 0 or self.chance(0.35):
            return self.leaf()
        return self.built(INNER, depth - 1)

    def built(self, kinds: "dict[str, Make]", depth: int) -> Mechanism:
        """A mechanism of one of these kinds; not every tree can be built."""
        while True:
            with suppress(*OURS):
                return kinds[self.random.choice([*kinds])](self, depth)

    def root(self) -> Mechanism:
        """A mechanism that takes messages."""
        kinds = {**INNER, **OUTER}
        while True:
            found = self.built({self.top: kinds[self.top]} if self.top else kinds, 2)
            if any(places((), found)):
                return found

    def budget(self, depth: int) -> Any:
        """At the top often one that admits all; a large one inside would hide what is lost."""
        return self.pick(*SMALL) if depth < 2 and self.chance(0.9) else self.pick(*LARGE, *SMALL)

    def person(self) -> Any:
        """A person, perhaps one over whom the data stand still."""
        return self.random.choice((Courier(), Still(), Still(), Stutter()))

    def pick(self, *some: Any) -> Any:
        """One of these."""
        return self.random.choice(some)

    # Messages.

    def message(self, place: "Place", names: list[Any], depth: int) -> Any:
        """A message that a mechanism in the tree may understand; it launches no deeper trees."""
        match place.mechanism:
            case Reader():
                return "read"
            case Pad():
                return self.pick("key", "sum")
            case TreeCounter():
                return Total()
        alone = isinstance(place.mechanism, c.Individual) and self.chance(0.5)
        tree = Sum(self.pick(*ODDS)) if alone else self.tree(min(depth, 2 - len(place.path)))
        d_out = self.pick(*SMALL[:2]) if isinstance(tree, c.OdomCon) else None
        if isinstance(place.mechanism, c.Blocks) and self.chance(0.9):
            some = [name for name in names if self.chance(0.5)]
            return LaunchOver(tree, some or names, d_out)
        return Launch(tree, d_out)


def _plain(make: Maker, depth: int) -> Any:
    return c.FiltCon(make.budget(depth), d_in=make.pick(1, 1, 2))


def _of_units(make: Maker, depth: int) -> Mechanism:
    return c.Blocks(_plain(make, depth), UNIT, make.pick(1, 2), unit_rows=make.pick(1, 2))


Make = Callable[[Maker, int], Any]
INNER: dict[str, Make] = {
    "FiltCon": _plain,
    "Filt": lambda make, depth: c.Filt(make.budget(depth), d_in=make.pick(1, 1, 2)),
    "FiltSeq": lambda make, depth: c.FiltSeq(make.budget(depth), d_in=make.pick(1, 1, 2)),
    "ExPost": lambda make, depth: c.ExPost(make.pick(*LARGE[:depth], *SMALL)),
    "OdomCon": lambda make, depth: c.OdomCon(make.pick(PureDP, PureDP, ApproxDP, ZCDP)),
    "Individual": lambda make, depth: c.Individual(make.pick(1, 1, 2) * OF_SUM),
    "Blocks": lambda make, depth: c.Blocks(_plain(make, depth)),
    "Blocks of units": _of_units,
    "Universal": lambda make, depth: c.Universal(make.pick(*LARGE[:depth], *SMALL)),
    "person": lambda make, depth: make.person() @ make.tree(depth),
    "person again": lambda make, depth: make.person() @ make.tree(depth),
    "ConComp": lambda make, depth: c.ConComp([make.tree(depth) for _ in range(make.pick(1, 2))]),
    "Parallel": lambda make, depth: c.Parallel(PARTS, {each: make.tree(depth) for each in "ab"}),
}
OUTER: dict[str, Make] = {
    "Odom": lambda make, depth: c.Odom(make.pick(PureDP, ZCDP)),
    "OdomSeq": lambda make, depth: c.OdomSeq(make.pick(PureDP, ZCDP)),
    "OdomCon at the top": lambda make, depth: c.OdomCon(make.pick(PureDP, ApproxDP)),
    "a leaf at the top": lambda make, depth: make.leaf(),
    "a filter at the top": _plain,
    "Blocks of units at the top": _of_units,
}


@attrs.frozen
class Place:
    """Where messages go, and the mechanism that gets them."""

    path: Path
    mechanism: Any


def places(path: Path, mechanism: Any) -> Iterator[Place]:
    """Where a mechanism that has started takes messages: at its parts, behind its persons."""
    while isinstance(mechanism, Postprocessed):
        mechanism = mechanism.mechanism
    if isinstance(mechanism, c.ConComp | c.Parallel):
        for name, child in mechanism.started_with().items():
            yield from places((*path, name), child)
    elif not isinstance(mechanism, Once | Sum):
        yield Place(path, mechanism)


__all__ = ["OURS", "Maker", "Mechanism", "Place", "Stream", "places"]
