"""Launches over blocks of growing data: the decision and the charge, beside the scan."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import count
from typing import Any

import attrs

from benchmarks.measure import Row, at_most, seconds
from composition import Blocks, FiltCon
from queryable import ZCDP, Coins, Last, Loss, Measurement, Queryable

YEAR = 365


@attrs.frozen
class Nothing(Measurement[int]):
    """Reads nothing, so that the scan takes no time."""

    rho: Fraction = Fraction(1, 10**6)

    def loss(self, d_in: int) -> Loss:
        return ZCDP(d_in * d_in * self.rho)

    def release(self, dataset: Any, coins: Coins) -> int:
        return 0


def days(number: int) -> Queryable:
    q = Queryable(Blocks(FiltCon(ZCDP(10**6))), [])
    for day in range(number):
        q.feed([day], block=day)
        q.feed.close(day)
    return q


def of_all_ages() -> Queryable:
    """Each of 365 blocks has lost another amount."""
    q = days(YEAR)
    for last in range(1, YEAR + 1):
        q.launch_over(Nothing(), Last(last))
    return q


def rows() -> Iterator[Row]:
    same, long, ages, new = days(YEAR), days(10 * YEAR), of_all_ages(), of_all_ages()
    other, plain = count(2), Queryable(FiltCon(ZCDP(10**6)), [])

    def another() -> None:
        """Another loss each time, so that no account was computed before."""
        new.launch_over(Nothing(Fraction(1, 10**6 + next(other))), Last(YEAR))

    measured = seconds(
        {
            "same": (lambda: same.launch_over(Nothing(), Last(YEAR)), 20),
            "long": (lambda: long.launch_over(Nothing(), Last(YEAR)), 20),
            "ages": (lambda: ages.launch_over(Nothing(), Last(YEAR)), 20),
            "new": (another, 2),
            "week": (lambda: long.launch_over(Nothing(), Last(7)), 100),
            "plain": (lambda: plain.launch(Nothing()), 100),
        }
    )
    for name, work in (
        ("same", f"a launch over {YEAR} blocks with one history"),
        ("long", f"over {YEAR} of {10 * YEAR:,} blocks"),
        ("ages", f"over {YEAR} blocks of which each has lost another amount"),
        ("new", "the same, if no block has come to these amounts before"),
    ):
        yield Row("blocks", work, measured[name], goals=(at_most(measured[name], 1e-3, "1 ms"),))
    yield Row("blocks", f"over 7 of {10 * YEAR:,} blocks", measured["week"])
    yield Row("blocks", "a launch in a filter", measured["plain"])
