"""Bugs that audits found in other libraries, written as statistics and mechanisms of a user.

Cebere et al. 2026 (arXiv 2602.17454) name the kinds. Each is found, and the same without the bug
holds.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Laplace
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import Measurement, PureDP, Queryable
from queryable.audit import NeighbourReport, on_neighbours
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.coins import SeededCoins
from queryable.statistics import Statistic

VALUES = np.array([3.0, 9.5, 10.0, 0.25, 7.0, 4.0, 4.0])
LONG = np.concatenate([VALUES, np.full(40, 0.1)])


def total(values: Any) -> int:
    """The sum of values that are cut off to [0, 10], missing ones as 0."""
    return int(np.trunc(np.clip(np.nan_to_num(values, nan=0.0), 0, 10)).sum())


TOTAL = Statistic(total, l1=10, l2=10, monotone="up")


@attrs.frozen
class Total(Measurement[Any]):
    """A sum with noise of a scale: several copies of it, or a mean."""

    scale: int = 20
    copies: int = 1
    mean: bool = False

    def loss(self, d_in: int) -> PureDP:
        return PureDP(Fraction(d_in, 2))

    def release(self, dataset: Any, coins: Any) -> Any:
        value = TOTAL(dataset)
        noisy = [value + coins.draw(DiscreteLaplace(self.scale)) for _ in range(self.copies)]
        if self.mean:
            return noisy[0] / max(len(dataset), 1)
        return noisy[0] if self.copies == 1 else tuple(noisy)


@attrs.frozen
class CountsOf(Measurement[Any]):
    """Counts of values, with noise. Without `values` those that occur are counted."""

    values: tuple[float, ...] | None = (4.0, 7.0)

    def loss(self, d_in: int) -> PureDP:
        return PureDP(d_in)

    def release(self, dataset: Any, coins: Any) -> Any:
        values = sorted({*dataset.tolist()}) if self.values is None else self.values
        noise = DiscreteLaplace(1)
        return {each: int((dataset == each).sum()) + coins.draw(noise) for each in values}


def checked(mechanism: InteractiveMechanism[Any], data: Any = VALUES) -> NeighbourReport:
    table = Queryable(FiltCon(PureDP(9)), data, coins=SeededCoins(3), allow_seeded=True)
    table.launch(mechanism)
    return on_neighbours(table, 60)


def laplace(function: Callable[[Any], Any], l1: int = 10) -> Laplace:
    return Laplace(Statistic(function, l1=l1, l2=l1), epsilon="1/2")


def in_single_precision(values: Any) -> int:
    kept = np.clip(np.nan_to_num(values, nan=0.0), 0, 1).astype(np.float32)
    return int(np.cumsum(kept * np.float32(2**24), dtype=np.float32)[-1]) if len(kept) else 0


def in_integers(values: Any) -> int:
    kept = np.clip(np.nan_to_num(values, nan=0.0), 0, 1)
    return int(np.trunc(kept * 2**24).astype(np.int64).sum())


RIGHT = {
    "a sum with noise": Total(),
    "a statistic": Laplace(TOTAL, epsilon="1/2"),
    "two answers": Total(scale=40, copies=2),
    "integers": laplace(in_integers, 2**24),
}
WRONG = {
    "wrong private mean": (Total(mean=True), {"law"}),
    "inferred domain": (CountsOf(None), {"law"}),
    "double spending": (Total(copies=2), {"noise"}),
    "NaN": (laplace(lambda values: int(np.clip(values, 0, 10).sum())), {"outcome"}),
    "noise scale": (Total(scale=2), {"noise"}),
    "sensitivity": (laplace(total, l1=1), {"l1"}),
    "precision": (laplace(in_single_precision, 2**24), {"l1"}),
}


@pytest.mark.parametrize("name", RIGHT)
def test_without_the_bug_everything_holds(name: str) -> None:
    report = checked(RIGHT[name], LONG if name == "integers" else VALUES)
    assert report.holds, report
    assert not report.unchecked


@pytest.mark.parametrize("name", WRONG)
def test_a_bug_of_another_library_is_found(name: str) -> None:
    mechanism, measures = WRONG[name]
    report = checked(mechanism, LONG if name == "precision" else VALUES)
    assert not report.holds
    assert measures <= {each.measure for each in report.broken}, report
    assert report.smallest is not None
    assert report.smallest.ratio > 1


def test_counts_of_given_values_hold() -> None:
    """The data are read without a statistic, so the exact law is compared."""
    report = checked(CountsOf((4.0,)))
    assert report.holds, report
    assert {each.measure for each in report.worst} >= {"law"}
