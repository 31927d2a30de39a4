"""Choosing by scores: the claims against exact laws, and lies that are found out."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, log
from typing import Any

import numpy as np
import pytest

import mechanisms
from composition import FiltCon
from mechanisms import (
    Count,
    ExponentialMechanism,
    GroupBy,
    Histogram,
    Mean,
    PermuteAndFlip,
    PrivacyUnit,
    Quantile,
    Sum,
    Table,
    TopK,
    Variance,
)
from mechanisms.sampling.choices import Softmax
from queryable import RDP, ZCDP, ApproxDP, MechanismFault, PureDP, Queryable, SeededCoins, Statistic
from queryable.audit import view_law
from queryable.randomness.intervals import Interval
from tests.strategies import NotedCoins

EPSILON = Fraction(1, 2)
Scores = tuple[int, ...]


def given(candidates: int, l1: Any = 1, l2: Any = 1) -> Statistic:
    """Scores that are the data themselves."""
    return Statistic(np.array, l1=l1, l2=l2, shape=candidates, monotone="up")


@cache
def law(mechanism: Any, scores: Scores) -> dict[Any, float]:
    """What it chooses, with probabilities good to many digits."""
    views = view_law(mechanism, list(scores), lambda view: None)
    chances = {}
    for answers, chance in views.items():
        assert isinstance(chance, Interval)
        assert chance.high - chance.low < 1e-20
        chances[answers[0]] = float(chance.high)  # type: ignore[index]
    return chances


STARTS = [(0, 0, 0), (0, 0, 8), (0, 8, 8), (0, 1, 3), (2, 0, 0), (5, 5, 0)]
UP = list(product((0, 1, 2), repeat=3))  # scores that all move up, by at most 2
BOTH = list(product((-2, 0, 2), repeat=3))


def neighbours(moves: list[Scores]) -> list[tuple[Scores, Scores]]:
    return [
        (start, tuple(a + b for a, b in zip(start, move, strict=True)))
        for start, move in product(STARTS, moves)
    ]


def log_ratios(mechanism: Any, moves: list[Scores]) -> list[list[float]]:
    """log P(choice)/Q(choice) for all starts and moves."""
    pairs = [(law(mechanism, x), law(mechanism, y)) for x, y in neighbours(moves)]
    return [[log(p[choice] / q[choice]) for choice in p] for p, q in pairs]


def largest(mechanism: Any, moves: list[Scores]) -> float:
    """The worst loss, in either direction."""
    return max(abs(each) for ratios in log_ratios(mechanism, moves) for each in ratios)


CHOICES = {
    "ExponentialMechanism": lambda m: ExponentialMechanism(
        given(3), EPSILON, sensitivity=2, monotone=m
    ),
    "PermuteAndFlip": lambda m: PermuteAndFlip(given(3), EPSILON, sensitivity=2, monotone=m),
    "TopK": lambda m: TopK(given(3), EPSILON, sensitivity=2, monotone=m, k=2),
}
every = pytest.mark.parametrize("name", CHOICES)


@every
@pytest.mark.parametrize(("monotone", "moves"), [(False, BOTH), (True, UP)])
def test_epsilon_holds_of_exact_laws(name: str, monotone: bool, moves: list[Scores]) -> None:
    """The worst loss over all small scores and moves is at most epsilon, and not far below."""
    worst = largest(CHOICES[name](monotone), moves)
    assert EPSILON / 2 < worst <= EPSILON + 1e-12


@every
def test_sensitivities_that_are_too_small_are_found_out(name: str) -> None:
    """Twice the rate is paid for by scores that all move one way and so far as declared."""
    assert largest(CHOICES[name](True), BOTH) > EPSILON + 1e-3
    by_four = [tuple(2 * each for each in move) for move in BOTH]
    assert largest(CHOICES[name](False), by_four) > EPSILON + 1e-3


@pytest.mark.parametrize(("monotone", "moves"), [(False, BOTH), (True, UP)])
def test_the_range_of_the_exponential_mechanism(monotone: bool, moves: list[Scores]) -> None:
    """The losses of any two choices differ by at most epsilon, which is what its zCDP rests on."""
    mechanism = CHOICES["ExponentialMechanism"](monotone)
    ranges = [max(each) - min(each) for each in log_ratios(mechanism, moves)]
    assert EPSILON - 1e-9 < max(ranges) <= EPSILON + 1e-12


def test_permute_and_flip_has_a_larger_range() -> None:
    """So no zCDP bound of bounded range is claimed for it."""
    mechanism = CHOICES["PermuteAndFlip"](False)
    ranges = [max(each) - min(each) for each in log_ratios(mechanism, BOTH)]
    assert max(ranges) > EPSILON + 1e-3
    assert mechanism.privacy_map(1, ZCDP) == PureDP(EPSILON).to(ZCDP)


@pytest.mark.parametrize("alpha", ["1.01", "2", "8", "64"])
@pytest.mark.parametrize("name", ["ExponentialMechanism", "TopK"])
def test_zcdp_holds_of_exact_laws(name: str, alpha: str) -> None:
    """Renyi divergences are at most alpha rho, and RDP claims no less than they are."""
    mechanism, order = CHOICES[name](False), float(alpha)
    rho = float(mechanism.privacy_map(1, ZCDP).rho)
    claimed = float(mechanism.privacy_map(1, RDP.at(alpha)).epsilon)
    assert claimed <= order * rho * (1 + 1e-12)
    worst = 0.0
    for x, y in neighbours(BOTH):
        p, q = law(mechanism, x), law(mechanism, y)
        moment = sum(q[each] * exp(order * log(p[each] / q[each])) for each in p)
        worst = max(worst, log(moment) / (order - 1))
    assert claimed * 0.2 < worst <= claimed + 1e-9


def test_claims() -> None:
    """Epsilon grows with the records, rho with their square; the better of two bounds is stated."""
    mechanism = ExponentialMechanism(given(3), "1/10", sensitivity=1)
    assert mechanism.privacy_map(3) == PureDP("3/10")
    assert mechanism.privacy_map(3, ZCDP) == ZCDP("9/800")
    assert ExponentialMechanism(given(3), 100).privacy_map(1, ZCDP) == PureDP(100).to(ZCDP)
    assert mechanism.privacy_map(1, ApproxDP) == ApproxDP("1/10", 0)
    assert mechanism.privacy_map(1, RDP.at(2, 8)).to(RDP.at(8)) == RDP(8, "1/100")
    best = TopK(given(9), 1, k=5, sensitivity=1)
    assert best.privacy_map(1) == PureDP(1)
    assert best.privacy_map(2, ZCDP) == ZCDP("1/10")
    # No entry moves by more than the smaller norm, nor by a part of an integer.
    assert ExponentialMechanism(given(3, l1=9, l2="5.5"), 1).sensitivity == 5
    assert ExponentialMechanism(Histogram("a", [1, 2]), 1).sensitivity == 1
    with pytest.raises(ValueError, match="sensitivity"):
        ExponentialMechanism(given(3, l1="1/2", l2="1/2"), 1)


def test_peeling_is_the_exponential_mechanism_again_and_again() -> None:
    """The exact law of the pair is that of one choice, then one among those left."""
    mechanism = TopK(given(3), 1, k=2, sensitivity=1)
    scores = (3, 0, 1)
    exact = law(mechanism, scores)
    assert len(exact) == 6
    for (first, second), chance in exact.items():
        weights = [exp(each / 4) for each in scores]
        expected = weights[first] / sum(weights)
        weights[first] = 0
        assert chance == pytest.approx(expected * weights[second] / sum(weights), rel=1e-12)
    # k may be all of them: an order.
    ordered = TopK(given(5), 10**6, k=5).release([3, 9, 1, 7, 5], SeededCoins(1))
    assert ordered == (1, 3, 4, 0, 2)


@pytest.mark.parametrize("kind", [ExponentialMechanism, PermuteAndFlip])
def test_under_a_filter(kind: Any) -> None:
    """Through the handle it answers a plain index, and is charged its bound."""
    table = Queryable(FiltCon(ZCDP(1)), {"state": np.array(["NY"] * 500 + ["CA"])})
    chosen = table(kind(Histogram("state", ["CA", "NY", "TX"]), "1/2", monotone=True))
    assert type(chosen) is int
    assert chosen == 1
    own = kind(Histogram("state", ["CA", "NY", "TX"]), "1/2").privacy_map(1, ZCDP)
    assert table.privacy_loss() == own
    assert (own == ZCDP("1/32")) == (kind is ExponentialMechanism)


@pytest.mark.parametrize("kind", CHOICES)
def test_a_failing_statistic_reveals_nothing(kind: str) -> None:
    def leaky(dataset: Any) -> Any:
        raise ValueError("Ada is in row 7")

    mechanism: Any = {
        "ExponentialMechanism": ExponentialMechanism,
        "PermuteAndFlip": PermuteAndFlip,
        "TopK": lambda *given, **named: TopK(*given, **named, k=1),
    }[kind](Statistic(leaky, l1=1, l2=1, shape=3), 1)
    table = Queryable(FiltCon(PureDP(1)), None)
    with pytest.raises(MechanismFault) as caught:
        table(mechanism)
    assert "Ada" not in str(caught.value)
    assert table.privacy_loss() == PureDP(1)


def test_the_rate_is_the_theorems() -> None:
    """epsilon / (2 sensitivity), or without the two; of k choices a share each."""

    coins = NotedCoins()
    ExponentialMechanism(given(3), 1, sensitivity=5).release([1, 2, 3], coins)
    ExponentialMechanism(given(3), 1, sensitivity=5, monotone=True).release([1, 2, 3], coins)
    TopK(given(3), 1, sensitivity=5, k=2).release([1, 2, 3], coins)
    rates = [law.rate for law in coins.laws]
    assert rates == [Fraction(1, 10), Fraction(1, 5), Fraction(1, 20), Fraction(1, 20)]


PER = PrivacyUnit("id", max_rows=4)
FEW = PrivacyUnit("id", max_rows=4, max_rows_per_group=2)
BY = {"k": ["a", "b"]}


@pytest.mark.parametrize(
    ("scores", "known"),
    [
        (Histogram("k", ["a", "b"]), 1),
        (Histogram("k", ["a", "b"], per=PER), 4),
        (Histogram("k", ["a", "b"], per=FEW), 2),
        (GroupBy(BY, Count(per=PER)), 4),
        (GroupBy(BY, Sum("x", -3, 5, per=FEW)), 10),
        (Mean("x", 0, 10), 5),
        (Variance("x", 0, 10), 25),
    ],
)
@pytest.mark.parametrize("kind", CHOICES)
def test_what_the_library_knows_is_not_declared_away(kind: str, scores: Any, known: int) -> None:
    """Four rows of a person move one bar by four: sensitivity=1 would lose four times epsilon."""
    named = {"k": 1} if kind == "TopK" else {}
    make: Any = getattr(mechanisms, kind)
    assert make(scores, 1, **named).sensitivity == known
    assert make(scores, 1, sensitivity=known, **named).sensitivity == known
    with pytest.raises(ValueError, match=f"may move by {known}"):
        make(scores, 1, sensitivity=known - Fraction(1, 2), **named)


def test_linf_is_attained() -> None:
    """One person with four rows in a bar: the loss is epsilon at linf, and four times it at 1."""
    scores = Histogram("k", ["a", "b"], per=PER)
    rows = {"id": [1, 1, 1, 1, 2], "k": ["a", "a", "a", "a", "b"]}
    full = Table(rows, privacy_unit="id", max_rows=4)
    without = Table(
        {name: cells[4:] for name, cells in rows.items()}, privacy_unit="id", max_rows=4
    )
    p, q = scores(full), scores(without)
    assert abs(p - q).max() == scores.linf == 4
    losses = {}
    for sensitivity in (1, 4):
        chances = [dict(Softmax(each, Fraction(1, sensitivity)).outcomes()) for each in (p, q)]
        ratios = [log(float(chances[0][each].low) / float(chances[1][each].low)) for each in (0, 1)]
        losses[sensitivity] = max(ratios) - min(ratios)
    assert losses[4] == pytest.approx(1)
    assert losses[1] == pytest.approx(4)


@pytest.mark.parametrize(
    ("scores", "one_way"),
    [
        (Histogram("k", ["a", "b"], per=PER), True),
        (GroupBy(BY, Count()), True),
        (GroupBy(BY, Sum("x", 0, 5)), True),
        (GroupBy(BY, Sum("x", -5, 0)), True),
        (GroupBy(BY, Sum("x", -3, 5)), False),
        (GroupBy(BY, Sum("x", "-1/2", 5)), True),  # truncated to 0
        (Mean("x", 0, 10), False),
        (Mean("x", 0, 1), True),
        (Variance("x", 0, 10), False),
        (Quantile("x", "1/2", [1, 2, 3]), False),
    ],
)
def test_monotone_is_refused_of_scores_that_move_both_ways(scores: Any, one_way: bool) -> None:
    """It doubles the rate; for scores that move both ways it would double the loss."""
    if one_way:
        assert ExponentialMechanism(scores, 1, monotone=True).monotone
    else:
        with pytest.raises(ValueError, match="both ways"):
            ExponentialMechanism(scores, 1, monotone=True)


@pytest.mark.parametrize("kind", CHOICES)
def test_what_a_statistic_declares_is_not_declared_away(kind: str) -> None:
    """An analyst names a site's statistic by its tag, and the sensitivity beside it is her own."""
    named = {"k": 1} if kind == "TopK" else {}
    make: Any = getattr(mechanisms, kind)
    with pytest.raises(ValueError, match="may move by 2"):
        make(Statistic(list, l1=3, l2=2, shape=3), 1, sensitivity=1, **named)
    assert make(Statistic(list, l1=3, l2=2, linf=1, shape=3), 1, **named).sensitivity == 1
