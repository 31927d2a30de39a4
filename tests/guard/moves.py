"""Statistics on neighbours: how far they move, which way, and whether they can be evaluated.

`faults_of` evaluates a statistic on the centre of a star and on neighbours, and compares with what
it declares. It looks at public declarations and values alone, and computes no sensitivity itself.
"""

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

from mechanisms import DiscoveredKeys
from queryable.checks.fit import require_answerable
from queryable.errors import MechanismFault, QueryError
from queryable.statistics import IntegerStatistic
from tests.guard.findings import Fault, short
from tests.guard.worlds import Star, centre, neighbour, places

FAILED = "failed"
Value = list[int] | dict[Any, int] | str | None
"""Entries; counts by key; `FAILED`; None if it was refused before it was evaluated."""


def faults_of(
    statistic: Any, form: str, star: Star, random: Random, count: int
) -> Iterator[Fault | int]:
    """Yield what is wrong, and last the number of neighbours that were compared."""
    where = f"{form}, {star.name}"
    data = centre(form, star)
    refused = refusal(data, statistic)
    chosen = places(form, star, count, random)
    if refused is not None:
        for place in chosen[:2]:
            if refusal(neighbour(form, star, place), statistic) is None:
                yield Fault("refused for some data", f"{refused}; not for {place}", where)
        yield 0
        return
    before = entries(statistic, data)
    values = [entries(statistic, neighbour(form, star, place)) for place in chosen]
    yield from _failures(star, before, list(zip(chosen, values, strict=True)), where)
    declared = _Declared(statistic)
    for place, after in zip(chosen, values, strict=True):
        if FAILED not in (before, after):
            told = declared.broken(before, after, star.neighbours[place].sign)
            if told:
                what = short(star.neighbours[place].what)
                yield Fault(told[0], f"{told[1]} at {what}", where)
    yield len(chosen)


def _failures(
    star: Star, before: Value, after: list[tuple[int, Value]], where: str
) -> Iterator[Fault]:
    failed = [place for place, value in after if value == FAILED]
    if before == FAILED and len(failed) == len(after):
        yield Fault("fails on all data", "it could be refused before the charge", where)
    elif before == FAILED or failed:
        mine = "with" if before == FAILED else "without"
        other = next(p for p, v in after if (v == FAILED) != (before == FAILED))
        what = short(star.neighbours[other].what)
        yield Fault("fails for some data", f"{mine} failure in the centre, not so at {what}", where)


def refusal(dataset: Any, asked: Any) -> str | None:
    """Why it is refused before a charge; None if it is not."""
    try:
        require_answerable(dataset, asked)
    except QueryError as error:
        return str(error)
    return None


def entries(statistic: Any, dataset: Any) -> Value:
    """The value as a list, or by key."""
    try:
        if isinstance(statistic, DiscoveredKeys):
            found: dict[Any, int] = {}
            for batch in statistic.found(dataset):
                counts = np.asarray(batch.counts)
                keys = batch.keys(np.arange(len(counts)))
                found |= dict(zip(map(repr, keys), counts.tolist(), strict=True))
            return found
        return [int(each) for each in np.asarray(statistic(dataset), dtype=object).reshape(-1)]
    except MechanismFault:
        return FAILED
    except Exception:
        if isinstance(
            statistic, DiscoveredKeys
        ):  # it is found inside the boundary of `PrivateKeys`
            return FAILED
        raise


class _Declared:
    """What a statistic says about itself, read once."""

    def __init__(self, statistic: Any) -> None:
        if isinstance(statistic, DiscoveredKeys):
            most = Fraction(statistic.most)
            self.l1, self.l2_squared, self.linf = most, most, Fraction(1)
            self.monotone: Any = "up"
            return
        assert isinstance(statistic, IntegerStatistic)
        self.l1, self.l2_squared = Fraction(statistic.l1), Fraction(statistic.l2) ** 2
        linf = getattr(statistic, "linf", None)
        self.linf = None if linf is None else Fraction(linf)
        self.monotone = statistic.monotone

    def broken(self, before: Any, after: Any, sign: int) -> tuple[str, str] | None:
        """Which declaration does not hold, and how; `sign` is 1 if `after` has the record more."""
        moved = differences(before, after)
        l1, linf = sum(map(abs, moved)), max(map(abs, moved), default=0)
        squared = sum(each * each for each in moved)
        if not l1 <= self.l1:
            return "l1", f"moves by {short(l1)}, declared {short(self.l1)}"
        if not squared <= self.l2_squared:
            return "l2", f"moves by the root of {short(squared)}, of {short(self.l2_squared)}"
        if self.linf is not None and not linf <= self.linf:
            return "linf", f"moves by {short(linf)}, declared {short(self.linf)}"
        ways = {"up": min, "down": max}
        if self.monotone in ways and moved:
            most = ways[self.monotone](each * sign for each in moved)
            if most * (1 if self.monotone == "up" else -1) < 0:
                return "monotone", f"moves by {short(most)} as a record is added: {self.monotone}"
        return None


def differences(before: Any, after: Any) -> list[int]:
    """How far each entry moves."""
    if isinstance(before, dict):
        keys = before.keys() | after.keys()
        return [after.get(key, 0) - before.get(key, 0) for key in keys]
    return [b - a for a, b in zip(before, after, strict=True)]
