"""How far a function of the data moved between neighbours, as a multiple of what it declares."""

from collections.abc import Iterator
from fractions import Fraction
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np

from queryable.audit.neighbours.readings import CountedKeys, Failure, Reading
from queryable.losses.numbers import exact
from queryable.statistics import Bit, IntegerStatistic
from queryable.streams.levels import BlockLevel, UserLevel


class Distance(NamedTuple):
    """How data differ from the owner's.

    Attributes:
        d_in: in how many records, or units that the data protect.
        way: 1 if they were only added, -1 if they were only removed, else 0.
        records: in how many records, of streams that differ in all records of a unit; else None.
    """

    d_in: int
    way: int
    records: int | None = None

    def at(self, mechanism: Any, blocks: BlockLevel | None) -> "Distance":
        """The distance of what a mechanism counts.

        Args:
            blocks: the level of the blocks that it runs on, if it does.
        """
        if self.records is None:
            return self
        level, most = getattr(mechanism, "neighbours", None), self.records
        if isinstance(level, UserLevel):
            most = level.max_records
        elif blocks is not None:
            most = blocks.max_blocks * (blocks.max_records or 1)
        return Distance(self.d_in * min(most, self.records), self.way)


class Movement(NamedTuple):
    """A move and the most that is declared.

    Attributes:
        measure: "l1", "l2", "linf", "monotone", "keys" or "outcome".
        ratio: the move over what is declared, to the nearest float.
        beyond: whether it is more than what is declared, exactly.
        text: the move in words.
    """

    measure: str
    ratio: float
    beyond: bool
    text: str


def movements(reading: Reading, after: Any, distance: Distance | None) -> Iterator[Movement]:
    """The moves of a value from one data set to the other.

    Args:
        after: the value on the other data set.
        distance: None if the data sets are no neighbours: then outcomes alone are compared.
    """
    before = reading.value
    failed = isinstance(before, Failure), isinstance(after, Failure)
    if failed[0] != failed[1]:
        which, cause = ("other", after) if failed[1] else ("own", before)
        yield Movement("outcome", inf, True, f"it fails on the {which} data alone ({cause.cause})")
    if any(failed) or distance is None or isinstance(reading.what, Bit):
        return
    if isinstance(before, CountedKeys):
        yield from _of_keys(before, after, reading.what, distance)
    elif isinstance(reading.what, IntegerStatistic):
        yield from _of_entries(before, after, reading.what, distance)


def moved_entries(before: Any, after: Any) -> list[int]:
    """The differences of the entries that differ."""
    if before is after:
        return []
    if isinstance(before, int) and isinstance(after, int):
        return [] if before == after else [int(after) - int(before)]
    one, other = np.asarray(before), np.asarray(after)
    places = np.flatnonzero(one.ravel() != other.ravel())
    pairs = zip(one.ravel()[places].tolist(), other.ravel()[places].tolist(), strict=True)
    return [int(b) - int(a) for a, b in pairs]


def all_moves(before: Any, after: Any) -> list[int]:
    """The differences of all entries, in their order."""
    one, other = (np.asarray(each, dtype=object).ravel().tolist() for each in (before, after))
    return [int(b) - int(a) for a, b in zip(one, other, strict=True)]


def named(what: Any) -> str:
    """What is read of the data, or reads them, as the owner knows it."""
    for name in ("asked", "public_name"):
        text = getattr(what, name, None)
        if isinstance(text, str):
            return text
    return type(what).__name__


def _of_entries(
    before: Any, after: Any, what: IntegerStatistic, distance: Distance
) -> Iterator[Movement]:
    moved = moved_entries(before, after)
    if not moved:
        yield Movement("l1", 0.0, False, "it does not move")
        return
    times = distance.d_in
    sums = {
        "l1": (sum(map(abs, moved)), exact(what.l1, "l1") * times, 1),
        "l2": (sum(each * each for each in moved), exact(what.l2, "l2") * times, 2),
        "linf": (max(map(abs, moved)), exact(what.linf, "linf") * times, 1),
    }
    for measure, (size, most, power) in sums.items():
        bound = most**power
        ratio = float(Fraction(size) / bound) if bound else inf
        move = sqrt(size) if power == 2 else size
        text = f"{measure} moves by {move:,.6g}; {float(most):,.6g} is declared"
        yield Movement(measure, sqrt(ratio) if power == 2 else ratio, not size <= bound, text)
    way = {"up": 1, "down": -1}.get(what.monotone or "", 0) * distance.way
    if way and any(each * way < 0 for each in moved):
        declared = f'monotone="{what.monotone}" is declared'
        change = "added" if distance.way > 0 else "removed"
        other = "lowered" if min(each * way for each in moved) * way < 0 else "raised"
        text = f"an entry is {other} as a record is {change}; {declared}"
        yield Movement("monotone", inf, True, text)


def _of_keys(before: CountedKeys, after: Any, what: Any, distance: Distance) -> Iterator[Movement]:
    one, other = before.counts, after.counts
    moved = {key: other.get(key, 0) - one.get(key, 0) for key in {*one, *other}}
    moves = [abs(each) for each in moved.values() if each]
    most, size = what.most * distance.d_in, sum(moves)
    largest = max(moves, default=0)
    text = f"the counts of {len(moves)} keys move by {size}; {what.most} keys by 1 is declared"
    beyond = not size <= most or not largest <= distance.d_in
    yield Movement("keys", size / most, beyond, text)
