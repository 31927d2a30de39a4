"""A plan of launches by kind: how many launches of each loss are among the first ones.

Launches of equal losses are of one kind. Where their order does not matter, an account adds those
of a kind at once.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from math import inf
from typing import Self

import attrs

from composition.rules import Account
from composition.rules.fitting import Plan
from queryable.losses import Loss


@attrs.frozen
class Kinds:
    """The kinds of a plan, which may be repeated.

    Attributes:
        losses: one of each kind.
        launches: how many launches the plan has.
    """

    losses: tuple[Loss, ...]
    launches: int
    _starts: tuple[list[int], ...] = attrs.field(repr=False)
    """For each kind: how many launches of the plan come before each of its runs."""
    _before: tuple[list[int], ...] = attrs.field(repr=False)
    """For each kind: how many launches of this kind do; at last, how many it has."""

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """The kinds of a plan."""
        starts: dict[Loss, list[int]] = {}
        before: dict[Loss, list[int]] = {}
        known: dict[int, tuple[list[int], list[int]]] = {}  # by identity: hashes take longer
        launches = 0
        for loss, count in plan:
            if id(loss) not in known:
                known[id(loss)] = starts.setdefault(loss, []), before.setdefault(loss, [0])
            places, counts = known[id(loss)]
            places.append(launches)
            counts.append(counts[-1] + count)
            launches += count
        return cls(tuple(starts), launches, tuple(starts.values()), tuple(before.values()))

    def between(self, first: int, last: int) -> list[tuple[Loss, int]]:
        """Each kind with the number of its launches from one place on and before another."""
        counts = zip(self.losses, self._first(first), self._first(last), strict=True)
        return [(loss, more - less) for loss, less, more in counts if more > less]

    def at(self, place: int) -> Loss:
        """The launch at a place."""
        [(loss, _)] = self.between(place, place + 1)
        return loss

    def _first(self, launches: int) -> Iterator[int]:
        plans, rest = divmod(launches, self.launches)
        for starts, before in zip(self._starts, self._before, strict=True):
            runs = bisect_left(starts, rest)
            some = min(before[runs], before[runs - 1] + rest - starts[runs - 1]) if runs else 0
            yield plans * before[-1] + some


def merged(plan: Plan) -> Plan:
    """Each kind once, with all of its launches, in the order in which they are listed first."""
    kinds = Kinds.of(plan)
    return kinds.between(0, kinds.launches)


def added(account: Account, launches: list[tuple[Loss, int]]) -> Account:
    """The account after so many launches of each kind."""
    for loss, count in launches:
        account = account.add_many(loss, count)
    return account


def greatest_count(fits: Callable[[int], bool], most: float = inf, start: int = 0) -> int:
    """The largest count up to `most` that fits. `fits` is true up to some count, then false.

    Args:
        start: about how many may fit, where the search starts.
    """
    at, step = int(min(max(start, 1), most)), 1
    if at < 1:
        return 0
    if fits(at):
        while at + step <= most and fits(at + step):
            at, step = at + step, 2 * step
        low, high = at, int(min(at + step, most + 1))
    else:
        while at > step and not fits(at - step):
            at, step = at - step, 2 * step
        low, high = max(at - step, 0), at
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
