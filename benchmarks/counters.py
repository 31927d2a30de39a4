"""Counters: variance at equal rho, time of a batch and of a question, over a year by the hour.

`python -m benchmarks.counters` prints the table; `benchmarks/peers/counters.py` has the same
variance for other libraries, in environments of their own.
"""

from collections.abc import Iterator
from fractions import Fraction
from statistics import median
from time import process_time
from typing import Any

from benchmarks.measure import Row, at_most, line
from mechanisms import Count, ToeplitzCounter, Total, TreeCounter
from mechanisms.counters.sums import GaussianSum
from mechanisms.counters.toeplitz_noise import ToeplitzNoise
from queryable import Update
from queryable.randomness.coins import SYSTEM

STEPS, YEAR = 1024, 8760
RHO = Fraction(1, 2)


def variance(law: Any) -> Fraction:
    """The variance parameter that a noise's law states."""
    if isinstance(law, GaussianSum):
        return sum(law.variances, Fraction(0))
    assert isinstance(law, ToeplitzNoise)
    return law.variance()


def worst(mechanism: Any) -> float:
    """The largest variance of a total in the first 1,024 steps, times 2 rho."""
    state, _ = mechanism.init(None)
    found = Fraction(0)
    for _ in range(STEPS):
        state, _ = mechanism.step(state, Update([]), SYSTEM)
        found = max(found, variance(mechanism.step(state, Total(), SYSTEM)[1].noise))
    return float(found * 2 * RHO)


def year(mechanism: Any) -> tuple[float, float, float]:
    """Seconds of a batch (the median of three years), of a question, and of a whole year."""
    batches, questions, years = [], [], []
    for _ in range(3):
        state, _ = mechanism.init(None)
        asking = 0.0
        began = process_time()
        for _ in range(YEAR):
            state, _ = mechanism.step(state, Update([0, 0, 0]), SYSTEM)
            asked = process_time()
            mechanism.step(state, Total(), SYSTEM)
            asking += process_time() - asked
        whole = process_time() - began
        batches.append((whole - asking) / YEAR)
        questions.append(asking / YEAR)
        years.append(whole)
    return median(batches), median(questions), median(years)


COUNTERS = {
    "tree": lambda horizon: TreeCounter(Count(), rho=RHO, horizon=horizon),
    "Toeplitz": lambda horizon: ToeplitzCounter(Count(), rho=RHO, horizon=horizon),
}

LIMITS = {("tree", STEPS): 110.01, ("Toeplitz", STEPS): 10.72, ("Toeplitz", None): 22.3}
"""Of the variance, by counter and horizon."""


def rows() -> Iterator[Row]:
    """Yield the variances at 1,024 steps, and the times of a year of hours."""
    for name, make in COUNTERS.items():
        for horizon, text in ((STEPS, "horizon 1024"), (None, "no horizon")):
            found = worst(make(horizon))
            limit = LIMITS.get((name, horizon))
            goals = () if limit is None else (at_most(found, limit, f"{limit}"),)
            work = f"{name}, {text}: worst variance * 2 rho"
            yield Row("counters", work, found, unit="", goals=goals)
    for name, make in COUNTERS.items():
        batch, question, whole = year(make(YEAR))
        yield Row("counters", f"{name}: a batch, of a year by the hour", batch)
        yield Row("counters", f"{name}: a total, asked every hour", question)
        yield Row("counters", f"{name}: the year", whole)


if __name__ == "__main__":
    for each in rows():
        print(line(each), flush=True)
