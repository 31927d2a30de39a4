"""Estimates: where the truth is, when to stop, and arithmetic after the noise."""

from fractions import Fraction
from itertools import pairwise
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import ExPost, FiltCon
from mechanisms import (
    AbsoluteError,
    BrownianNoiseReduction,
    Count,
    Doubling,
    Laplace,
    LaplaceNoiseReduction,
    Open,
    Refine,
    RelativeError,
    Until,
    even_schedule,
    geometric_schedule,
)
from mechanisms.refinement.averaging import moved, number, rounding, rounding_moved
from mechanisms.refinement.estimate import Refined, Stopped, Undecided
from mechanisms.refinement.refine_queries import Latest
from mechanisms.refinement.stopping import shortened
from mechanisms.refinement.tails import MeanTails, Reach, ReleaseTails, Tails
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
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
from queryable.answers.half_widths import half_width

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
    # Laplace releases as `Laplace` itself, Gaussian means as the bound on their noise says.
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


def test_estimates_compare_by_value_and_variance() -> None:
    """Arrays too; not by what is known of the noise."""
    made = WAYS["brownian"](Count())(Refine())
    assert made == Refined(made.value, made.variance)
    assert hash(made) == hash(Refined(made.value, made.variance))
    assert made != Stopped(made.value, made.variance, True)
    assert "reach" not in repr(made)
    with pytest.raises(ValueError, match="noise"):
        Refined(F(1), F(1)).interval()


def published(value: float, deviation: float, alpha: float) -> bool:
    """The condition as Rogers et al. 2023, section 7.2 print it, in floats."""
    if not abs(value) > deviation:
        return False
    return 1 - alpha < abs((value + deviation) / (value - deviation)) <= 1 + alpha


@given(
    st.integers(-2000, 2000),
    st.fractions(Fraction(1, 10), 100, max_denominator=97),
    st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50),
    st.sampled_from([1, 2, Fraction(1, 3)]),
)
def test_relative_error_is_the_papers(
    value: int, deviation: Fraction, alpha: Fraction, times: Any
) -> None:
    """For either sign, wherever floats are sure; `deviations` widen the margin."""
    estimate = Refined(Fraction(value), (deviation / times) ** 2)
    told = RelativeError(alpha, times)(estimate)
    wider, narrower = (
        published(value, float(deviation) * (1 + sign * 1e-9), float(alpha)) for sign in (1, -1)
    )
    if wider == narrower:
        assert told == wider


def test_relative_error_is_decided_without_rounding() -> None:
    """At the very edge, (2 + alpha) m = alpha y, it holds; a hair beyond it does not."""
    edge = Refined(Fraction(21), Fraction(1))
    assert RelativeError("1/10")(edge)
    assert not RelativeError("1/10")(Refined(Fraction(21) - Fraction(1, 10**40), Fraction(1)))
    assert not RelativeError("1/10")(Refined(Fraction(-19), Fraction(1)))
    assert RelativeError("1/10")(Refined(Fraction(-19) - Fraction(1, 10**40), Fraction(1)))
    assert not RelativeError("1/10")(Refined(Fraction(0), Fraction(1, 10**9)))
    near = np.array([30.0, -25.0, 1000.0])
    assert RelativeError("1/10")(Refined(near, Fraction(1)))
    assert not RelativeError("1/10")(Refined(np.array([30.0, 20.0]), Fraction(1)))
    assert not RelativeError("1/10")(Refined(np.array([np.nan, 30.0]), Fraction(1)))
    condition = AbsoluteError(10, deviations=2)
    assert condition(Refined(Fraction(3), Fraction(25)))
    assert not condition(Refined(Fraction(3), Fraction(2501, 100)))


def test_schedules_are_even_or_geometric() -> None:
    """Precisions are equally spaced, exactly, from end to end."""
    schedule = even_schedule(10**4, "1/3", 1000)
    precisions = [1 / each for each in schedule]
    assert len({b - a for a, b in pairwise(precisions)}) == 1
    assert (schedule[0], schedule[-1], len(schedule)) == (10**4, Fraction(1, 3), 1000)
    # By a factor each, the last by what is left.
    assert geometric_schedule(100, 10) == (100, 50, 25, Fraction(25, 2), 10)
    deviations = [sqrt(each) for each in geometric_schedule(16, 1, 4)]
    assert deviations == [4, 2, 1]
    # Six digits each, so that what is added up of them is short.
    schedule = geometric_schedule(10**9, "1/1000", "1.021")
    assert len(schedule) > 1300
    assert max(each.denominator for each in schedule) <= 10**9
    ratios = [a / b for a, b in pairwise(schedule)][:-1]
    assert max(ratios) <= Fraction("1.021")
    assert min(ratios) > Fraction("1.0209")
    with pytest.raises(ValueError, match="steps"):
        geometric_schedule(10, 1, "1.0000001")


@given(st.fractions(Fraction(1, 10**12), 10**12))
def test_shortened_is_just_above(value: Fraction) -> None:
    """Never below, and by less than a part in 10^5."""
    short = shortened(value)
    assert value <= short < value * (1 + Fraction(1, 10**5))
    assert shortened(short) == short


def test_means_are_exact_or_rounded_so_far() -> None:
    assert number(10**400 + 1) == 10**400 + 1
    assert moved(Fraction(1), Fraction(10**400), Fraction(1, 3)) == Fraction(10**400 + 2, 3)
    # Beyond 1,024 bits, to within 2**-65.
    share = Fraction(1, 3**700)
    mean = moved(Fraction(1), Fraction(5), share)
    assert mean.denominator <= 2**64
    assert abs(mean - 1 - 4 * share) <= Fraction(1, 2**65)
    share = Fraction(1, 3**700)
    mean = moved(Fraction(1), Fraction(5), share)
    error = abs(mean - 1 - 4 * share)
    assert error <= rounding_moved(Fraction(0), Fraction(1), Fraction(5), mean, share)
    assert rounding(Fraction(1, 3)) == 0


def test_arrays_are_read_only_floats() -> None:
    """Also those of Python integers; beyond floats they are infinite, and nothing is raised."""
    start = number(np.array([1, -2]))
    assert start.dtype == np.float64
    huge = number(np.array([10**400, -(10**400)], dtype=object))
    assert huge.tolist() == [np.inf, -np.inf]
    mean = moved(start, number(np.array([3, 2])), Fraction(1, 2))
    assert mean.tolist() == [2, 0]
    for each in (start, huge, mean, moved(huge, huge, Fraction(1, 2))):
        assert not each.flags.writeable
    # Integers beyond 2**53 lose their last digits, beyond floats everything.
    huge = [2**53 + 1, -(2**100) - 1, 10**400]
    value = number(np.array(huge, dtype=object))
    bound = rounding(value)
    assert bound[2] == np.inf
    assert all(abs(int(v) - h) <= b for v, h, b in zip(value[:2], huge, bound, strict=False))


def test_rounding_errors_are_bounded() -> None:
    """A thousand steps of floats: never more than the bound says, nor 1,000 times less."""
    random = np.random.default_rng(5)
    measured = random.integers(-(10**15), 10**15, (1000, 20))
    exact = [Fraction(int(each)) for each in measured[0]]
    mean = number(measured[0])
    bound = rounding(mean)
    for step, each in enumerate(measured[1:], 2):
        share, value = Fraction(1, step), number(each)
        before, mean = mean, moved(mean, value, share)
        bound = rounding_moved(bound, before, value, mean, share)
        exact = [a + share * (int(b) - a) for a, b in zip(exact, each, strict=True)]
    errors = [abs(Fraction(a) - b) for a, b in zip(mean.tolist(), exact, strict=True)]
    assert 0 < max(errors) <= max(bound) < 1000 * max(errors)
    assert all(error <= Fraction(most) for error, most in zip(errors, bound, strict=True))


MISSED = [F(1, 2), F(1, 5), F(1, 20), F(1, 1000)]
PATHS = [
    *([F(1, 10)], [F(1)], [F(100)], [F(2), F(1)], [F(100), F(1)], [F(3), F(1, 5)]),
    *([F(400), F(399)], [F(10), F(9), F(8)], [F(1), F(9, 10), F(3, 10)]),
]


def paths_of_noise(path: list[Fraction]) -> tuple[Any, Any]:
    """Every path of the noise of a mean, shape (paths, steps), but for less than 1e-15, in floats.

    Steps are weighted means of independent discrete Gaussians, as refinements along the path are.
    """
    precisions = [1 / path[0], *(1 / fine - 1 / coarse for coarse, fine in pairwise(path))]
    sums, chances = np.zeros((1, 0)), np.ones(1)
    for precision in precisions:
        reach = int(9 * float(precision) ** -0.5) + 3
        values = np.arange(-reach, reach + 1)
        weights = np.exp(-(values**2) * float(precision) / 2)
        before = sums[:, -1:] if sums.shape[1] else np.zeros((len(sums), 1))
        after = (before + float(precision) * values).reshape(-1, 1)
        sums = np.hstack([np.repeat(sums, len(values), axis=0), after])
        chances = np.outer(chances, weights / weights.sum()).ravel()
    return sums * np.array([float(t) for t in path]), chances


def missing(tails: list[Any], noise: Any, chances: Any) -> float:
    """The probability that the noise of some step is at its half-width or beyond."""
    beyond = abs(noise) >= np.array([float(each) for each in tails]) - 1e-9
    return float(chances[beyond.any(axis=1)].sum())


@pytest.mark.parametrize("path", PATHS, ids=lambda path: "-".join(map(str, path)))
def test_a_mean_is_within_its_half_width_often_enough(path: list[Fraction]) -> None:
    """Exactly, whatever the steps before; and by not much more than that."""
    noise, chances = paths_of_noise(path)
    for missed in MISSED:
        width = MeanTails(path[-1], path[0]).in_advance(missed)
        assert missing([width], noise[:, -1:], chances) <= missed
        if path[-1] >= 1:
            normal = half_width(DiscreteGaussian(path[-1] * 10**6), 1 - missed) / 1000
            assert width < normal + 1


def test_all_refinements_at_once() -> None:
    """Who stops where the value is worst misses more than was said in advance, but not this."""
    for path in ([F(64), F(16), F(4)], [F(8), F(4), F(2)], [F(20), F(19), F(1)]):
        tails = [MeanTails(t, path[0]) for t in path]
        noise, chances = paths_of_noise(path)
        for missed in MISSED:
            always = [each.at_all_times(missed) for each in tails]
            assert missing(always, noise, chances) <= missed
        before = [each.in_advance(F(1, 5)) for each in tails]
        assert missing(before, noise, chances) > F(1, 5)


@pytest.mark.parametrize("law", [DiscreteLaplace(F(7, 2)), DiscreteGaussian(F(50))])
def test_a_release_has_the_tails_of_its_law(law: Any) -> None:
    """At all times by shares that sum to one."""
    assert ReleaseTails(law, 3).in_advance(F(1, 20)) == half_width(law, F(19, 20))
    assert ReleaseTails(law, 3).at_all_times(F(1, 20)) == half_width(law, 1 - F(1, 240))
    assert sum(F(1, n * (n + 1)) for n in range(1, 1000)) < 1


class Fixed(Tails):
    """Says what the test says."""

    def __init__(self, width: Any) -> None:
        self.width = F(width)

    def in_advance(self, missed: Fraction) -> Fraction:
        return self.width

    def at_all_times(self, missed: Fraction) -> Fraction:
        return 2 * self.width


def ends(reach: Reach, value: Any, confidence: Any = "0.9") -> tuple[Any, Any]:
    """The interval for a target that was fixed in advance."""
    return reach.ends(value, confidence, fixed_in_advance=True)


def test_ends_are_the_integers_within_the_bound() -> None:
    """The truth is one, so nothing is lost; there is always at least one."""
    assert ends(Reach(Fixed("1.5")), F(10)) == (9, 11)
    assert ends(Reach(Fixed(2)), 7) == (5, 9)
    assert ends(Reach(Fixed("1.5"), value_dependent=True), F(10)) == (7, 13)
    assert Reach(Fixed("1.5")).ends(F(10), "0.9") == (7, 13)
    assert ends(Reach(Fixed("1/10")), F(1, 2)) == (0, 1)
    assert ends(Reach(Fixed("1.5"), rounded=F(1, 2)), F(10)) == (8, 12)
    # Floats outward, to whole numbers; what is not finite says nothing; integers exactly.
    floats = np.array([10.0, 0.5, np.inf, np.nan, 2.0**60])
    low, high = ends(Reach(Fixed("1.5"), rounded=np.full(5, 1e-9)), floats)
    assert low[:4].tolist() == [9, -1, -np.inf, -np.inf]
    assert high[:4].tolist() == [11, 2, np.inf, np.inf]
    assert low[4] < 2.0**60 < high[4]
    assert (ends(Reach(Fixed("1/10")), np.array([0.5]))) == (np.array([0.0]), np.array([1.0]))
    big = np.array([5, 2**63 - 1])
    low, high = ends(Reach(Fixed(3)), big)
    assert (low.tolist(), high.tolist()) == ([2, 2**63 - 4], [8, 2**63 + 2])
    low, high = ends(Reach(Fixed(10**400)), np.array([1.0]))
    assert (low.tolist(), high.tolist()) == ([-np.inf], [np.inf])


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, "x", True])
def test_a_confidence_is_between_0_and_1(confidence: Any) -> None:
    with pytest.raises(ValueError, match="confidence"):
        ends(Reach(Fixed(1)), F(1), confidence)
