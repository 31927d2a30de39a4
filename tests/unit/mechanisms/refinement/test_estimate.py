"""Estimates: where the truth is, for each mechanism that gives them, and how they compare."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import ExPost, FiltCon
from mechanisms import (
    BrownianNoiseReduction,
    Count,
    Doubling,
    Laplace,
    LaplaceNoiseReduction,
    Open,
    Refine,
    Until,
)
from mechanisms.refinement.estimate import Refined, Stopped, Undecided
from mechanisms.refinement.messages import Latest
from mechanisms.refinement.tails import MeanTails
from queryable import (
    ZCDP,
    InteractiveMechanism,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    Statistic,
)

F = Fraction
RUNS = 20_000
MANY = Statistic(lambda data: np.full(RUNS, 10**6), l1=1, l2=1, shape=RUNS)
WAYS: dict[str, Any] = {
    "brownian": lambda of: opened(
        BrownianNoiseReduction() @ FiltCon(ZCDP(10**6)), Open(of, [400, 100, 25, 4, 1])
    ),
    "doubling": lambda of: opened(Doubling(64, 4) @ FiltCon(ZCDP(10**6)), Open(of)),
    "doubling, laplace": lambda of: opened(
        Doubling(16, noise="laplace") @ FiltCon(PureDP(10**6)), Open(of)
    ),
    "laplace": lambda of: table(ExPost(PureDP(10**6)))(
        LaplaceNoiseReduction(of, scales=[16, 8, 4, 2, 1])
    ),
}
each_way = pytest.mark.parametrize("way", WAYS)


def table(mechanism: InteractiveMechanism[Any]) -> Queryable:
    return Queryable(mechanism, [1, 2], coins=SeededCoins(11), allow_seeded=True)


def opened(mechanism: InteractiveMechanism[Any], query: Open) -> Any:
    return table(mechanism)(query)


def width(estimate: Refined, **options: Any) -> Any:
    low, high = estimate.interval(**options)
    return high - low


@each_way
def test_the_truth_is_in_the_interval_as_often_as_said(way: str) -> None:
    """At each of two steps, of 20,000 entries; off by chance with probability below 1e-9.

    So many independent entries that are within at least as often as `confidence` are so but for
    6 standard errors. The intervals are not wide for it either: less than 5 points too often.
    """
    estimate = WAYS[way](MANY)
    for confidence in (F(1, 2), F(9, 10)):
        low, high = estimate(Refine()).interval(confidence, fixed_in_advance=True)
        within = float(np.mean((low <= 10**6) & (high >= 10**6)))
        error = 6 * float((confidence * (1 - confidence)) / RUNS) ** 0.5
        assert float(confidence) - error <= within <= 0.1 * (1.5 - float(confidence)) + confidence


@each_way
def test_an_interval_of_one_number(way: str) -> None:
    """Two ints around the value; the finer the estimate, the narrower."""
    estimate = WAYS[way](Count())
    coarse, fine = estimate(Refine()), estimate(Refine())
    low, high = coarse.interval()
    assert (type(low), type(high)) == (int, int)
    assert low < coarse.value < high
    assert width(fine) < width(coarse) < width(coarse, confidence="0.99")
    with pytest.raises(ValueError, match="confidence"):
        coarse.interval(1)


@each_way
def test_who_stops_because_of_the_value_gets_a_wider_interval(way: str) -> None:
    """As does who says so; and what goes on from there without another target."""
    estimate, other = WAYS[way](Count()), WAYS[way](Count())
    other(Refine())
    other(Refine())
    third = other(Refine())
    assert width(third) > width(third, fixed_in_advance=True)
    seen: list[Any] = []
    stopped = estimate(Until(lambda each: bool(seen.append(each) or len(seen) == 3)))
    assert (stopped.value, stopped.variance) == (third.value, third.variance)
    assert width(stopped) == width(third) == width(stopped, fixed_in_advance=True)
    assert width(estimate(Latest())) == width(stopped)
    following, plain = estimate(Refine()), other(Refine())
    assert width(following) == width(plain) == width(estimate(Latest()), fixed_in_advance=True)
    assert width(other(Latest()), fixed_in_advance=True) == width(plain, fixed_in_advance=True)


def test_a_target_that_is_named_is_one_that_was_fixed() -> None:
    """Wherever a condition has stopped before."""
    for way, target in (("brownian", 1), ("laplace", 1)):
        estimate, other = WAYS[way](Count()), WAYS[way](Count())
        estimate(Until(lambda each: each.variance < 200))
        fixed = [width(each(Refine(target)), fixed_in_advance=True) for each in (estimate, other)]
        assert fixed[0] == fixed[1] < width(estimate(Latest()))


def test_intervals_have_the_law_of_the_noise() -> None:
    """Laplace releases as `Laplace` itself, Gaussian means as the bound on their noise says."""
    for way in ("doubling, laplace", "laplace"):
        low, high = Laplace(Count(), scale=16).release([1], SeededCoins(1)).interval(F(9, 10))
        first = WAYS[way](Count())(Refine())
        assert width(first, confidence=F(9, 10), fixed_in_advance=True) == high - low
    estimate = WAYS["brownian"](Count())
    estimate(Refine())
    half = MeanTails(F(25), F(400)).in_advance(F(1, 20))
    assert 2 * half - 2 < width(estimate(Refine(25)), fixed_in_advance=True) <= 2 * half


@each_way
def test_a_condition_that_raises_stops_alike(way: str) -> None:
    """A refusal that keeps what was paid for, told again by `Latest()`; everything goes on."""
    for wrong, why in ((lambda _: 1 / 0, "ZeroDivisionError"), (lambda _: 3, "gave int")):
        estimate = WAYS[way](Count())
        with pytest.raises(QueryRefusedError, match=rf"condition .*{why}.*paid for"):
            estimate(Until(wrong))
        answer = estimate.view.answers[-1]
        assert isinstance(answer, Undecided)
        assert answer.estimate == estimate(Latest())
        with pytest.raises(QueryError, match=why):  # now of what is known: nothing has changed
            estimate(Until(wrong))
        again = estimate(Latest())
        assert again == answer.estimate
        assert width(again) == width(again, fixed_in_advance=True)
        assert estimate(Refine()).variance < again.variance


@each_way
def test_an_error_without_a_text_loses_nothing(way: str) -> None:
    """Not even where the text itself raises."""

    class MuteError(Exception):
        def __str__(self) -> str:
            raise ValueError

    def mute(each: Refined) -> bool:
        raise MuteError

    estimate = WAYS[way](Count())
    with pytest.raises(QueryRefusedError, match="condition raised MuteError; "):
        estimate(Until(mute))
    assert estimate(Latest()) is not None


def test_an_estimate_made_by_hand_has_no_interval() -> None:
    with pytest.raises(ValueError, match="noise"):
        Refined(F(1), F(1)).interval()


def test_estimates_compare_by_value_and_variance() -> None:
    """Arrays too; not by what is known of the noise."""
    made = WAYS["brownian"](Count())(Refine())
    assert made == Refined(made.value, made.variance)
    assert hash(made) == hash(Refined(made.value, made.variance))
    assert made != Stopped(made.value, made.variance, True)
    assert "reach" not in repr(made)
