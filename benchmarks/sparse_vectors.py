"""A sparse vector over counts, beside the one in textbooks: noise, errors and time.

`python -m benchmarks.sparse_vectors` prints the rows. The noise and the questions are those of
seeded coins, so that every run gives the same numbers; only times differ.
"""

from collections.abc import Iterator
from fractions import Fraction
from statistics import fmean, median
from typing import Any

import attrs

from benchmarks.measure import Goal, Row, faster, line, seconds
from mechanisms import SparseVector
from queryable import Queryable, SeededCoins, Statistic

BELOW = Statistic(lambda value: value, l1=1, l2=1, monotone="up")
DRAWS, RUNS, MOST = 20_000, 201, 3_000


@attrs.frozen
class Textbook(SparseVector):
    """Algorithm 2 of Dwork, Roth 2014: an even split, and new noise after each True."""

    monotone: bool | None = attrs.field(init=False, default=False)
    refresh: bool = attrs.field(init=False, default=True)

    def _split(self) -> tuple[Fraction, Fraction]:
        half = self.epsilon / self.cutoff / 2
        return half, half


MARGINS = {1: 14, 10: 80}
"""By cutoff: how far below the threshold the counts are that are asked about."""


class Laws:
    """Coins that give 0, and note the laws."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def draw(self, law: Any, size: Any = None) -> int:
        self.asked.append(law)
        return 0

    def spawn(self, child: Any, message: int) -> "Laws":
        return self


def noise(mechanism: SparseVector) -> float:
    """The mean size of the noise on a count."""
    coins = Laws()
    state, _ = mechanism.init(0, coins)
    mechanism.step(state, BELOW, coins)
    return fmean(abs(int(each)) for each in SeededCoins(1).draw(coins.asked[1], DRAWS))


def until_an_error(mechanism: SparseVector, margin: int) -> float:
    """How many counts are asked about until one below is said to be above; the median of runs."""
    lengths = []
    for run in range(RUNS):
        coins = SeededCoins(run)
        state, _ = mechanism.init(-margin, coins)
        length = 0
        while length < MOST:
            state, answer = mechanism.step(state, BELOW, coins)
            length += 1
            if answer is not False:
                break
        lengths.append(length)
    return median(lengths)


def rows() -> Iterator[Row]:
    """For cutoffs of 1 and 10 at epsilon 1: the noise, and the questions until an error."""
    for cutoff, margin in MARGINS.items():
        new, old = (kind(0, 1, cutoff) for kind in (SparseVector, Textbook))
        least = 1.9 if cutoff == 1 else 3
        ours, theirs = noise(new), noise(old)
        goals = (faster(ours, theirs, "textbook", least),)
        work = f"sparse vector, cutoff {cutoff}: mean noise on a count"
        yield Row("sparse vectors", work, ours, "", {"textbook": theirs}, goals)
        ours, theirs = (until_an_error(each, margin) for each in (new, old))
        work = f"sparse vector, cutoff {cutoff}: counts {margin} below until the first error"
        yield Row("sparse vectors", work, ours, "questions", {"textbook": theirs})
    asks = {
        name: Queryable(kind(10**9, 1), 0)
        for name, kind in (("new", SparseVector), ("old", Textbook))
    }
    each = seconds({name: (lambda q=q: q(BELOW), 500) for name, q in asks.items()}, 15)  # type: ignore[misc]
    goal = Goal("no slower than the textbook's", each["new"] <= each["old"] * 1.05)
    work = "sparse vector: an ask"
    yield Row("sparse vectors", work, each["new"], "s", {"textbook": each["old"]}, (goal,))


if __name__ == "__main__":
    for row in rows():
        print(line(row))
