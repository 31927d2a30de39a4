"""Private selection: exact laws against the claims, false claims that are caught, exact draws."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

import attrs
import mpmath
import pytest

from composition import FiltCon
from mechanisms import Best, BestRun, Gaussian, Laplace, Poisson, TruncatedNegativeBinomial, best
from queryable import (
    RDP,
    ZCDP,
    ApproxDP,
    InteractiveMechanism,
    Loss,
    Measurement,
    MechanismFault,
    PureDP,
    Queryable,
    SeededCoins,
    Statistic,
)
from queryable.audit import view_law
from queryable.audit.enumeration import CUT
from queryable.losses import RenyiCurve
from queryable.losses.conversions import log_up
from queryable.randomness.coins import Coins
from queryable.randomness.intervals import high, low
from queryable.randomness.laws import UniformBelow

Weights = tuple[int, ...]
TWO = log_up(Fraction(2))
RARE: tuple[Weights, Weights] = ((9898, 2, 100), (9799, 1, 200))
"""Two laws in parts of 10,000 of the numbers 0, 1, 2; no chance is more than doubled or halved."""
PAIRS = (RARE, ((2, 1), (1, 2)), ((4, 1, 1), (2, 2, 2)), ((1, 4, 2, 4), (2, 3, 4, 2)))
SIZE = Statistic(len, l1=1, l2=1)


@attrs.frozen
class Dice(Measurement[int]):
    """Answers a number with the weights that are the data. The pairs have a ratio of at most 2."""

    claim: Loss = PureDP(TWO)

    def loss(self, d_in: int) -> Loss:
        return self.claim.group(d_in)

    def release(self, dataset: Any, coins: Coins) -> int:
        drawn = coins.draw(UniformBelow(sum(dataset)))
        return next(k for k, end in enumerate(accumulate(dataset)) if drawn < end)


def generated(x: Any, eta: Any, gamma: Any) -> Any:
    """E[x^K]."""
    if eta == 0:
        return mpmath.log(1 - (1 - gamma) * x) / mpmath.log(gamma)
    return ((1 - (1 - gamma) * x) ** -eta - 1) / (gamma**-eta - 1)


@cache
def best_of(weights: Weights, eta: Fraction, gamma: Fraction) -> tuple[Any, ...]:
    """The chances that each number is the largest: the largest of K is k or less by E[p^K]."""
    with mpmath.workdps(60):
        e, g = (mpmath.mpf(each.numerator) / each.denominator for each in (eta, gamma))
        ends = [mpmath.mpf(end) / sum(weights) for end in (0, *accumulate(weights))]
        below = [generated(end, e, g) for end in ends]
        return tuple(b - a for a, b in pairwise(below))


def divergence(p: tuple[Any, ...], q: tuple[Any, ...], order: Any) -> Any:
    with mpmath.workdps(60):
        a = mpmath.mpf(order.numerator) / order.denominator
        return mpmath.log(sum(x * (x / y) ** (a - 1) for x, y in zip(p, q, strict=True))) / (a - 1)


LAWS = [
    TruncatedNegativeBinomial(eta, gamma)
    for eta in (0, "1/2", 1, "5/2")
    for gamma in ("9/10", "1/2", "1/100")
]
SHORT = [TruncatedNegativeBinomial(eta, "9/10") for eta in (0, "1/2", 1, "3/2")]


def sides(law: TruncatedNegativeBinomial) -> Any:
    for x, y in PAIRS:
        p, q = (best_of(each, law.eta, law.gamma) for each in (x, y))
        yield from ((x, y, p, q), (y, x, q, p))


def worst_ratio(law: TruncatedNegativeBinomial) -> float:
    """The largest log-ratio of chances of a best run."""
    return max(
        float(mpmath.log(a / b)) for *_, p, q in sides(law) for a, b in zip(p, q, strict=True)
    )


@pytest.mark.parametrize("law", SHORT, ids=str)
def test_it_runs_by_its_law(law: TruncatedNegativeBinomial) -> None:
    """The views, enumerated through the code itself, have the chances of the formula."""
    weights = (1, 2, 1)
    views = view_law(Best(Dice(), "largest", law), weights, lambda view: None, tail="1/1000")
    lost = sum((high(chance) for seen, chance in views.items() if seen is CUT), Fraction(0))
    assert lost <= Fraction(1, 500)
    for k, chance in enumerate(best_of(weights, law.eta, law.gamma)):
        seen = views[(BestRun(0, k),)]  # type: ignore[index]
        assert low(seen) - Fraction(1, 10**12) <= Fraction(str(chance)) <= high(seen) + lost


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_pure_claim_holds_of_exact_laws(law: TruncatedNegativeBinomial) -> None:
    claimed = Best(Dice(), "largest", law).privacy_map(1)
    assert claimed == PureDP((2 + law.eta) * TWO)
    assert worst_ratio(law) <= float(claimed.epsilon) + 1e-12


@pytest.mark.parametrize("eta", [0, 1])
def test_a_claim_without_eta_is_caught(eta: int) -> None:
    """A rare number just below the best one: (2 + eta) epsilon is nearly reached."""
    law = TruncatedNegativeBinomial(eta, "1/9000")
    worst = worst_ratio(law)
    assert 0.97 * (2 + eta) * float(TWO) < worst <= (2 + eta) * float(TWO)
    assert worst > (1 + eta) * float(TWO)


@pytest.mark.parametrize("order", [Fraction(3, 2), Fraction(2), Fraction(8), Fraction(64)])
@pytest.mark.parametrize("law", LAWS[::2], ids=str)
def test_renyi_claim_holds_of_exact_laws(law: TruncatedNegativeBinomial, order: Fraction) -> None:
    """Also of the claim that is made from the exact curve of each pair, which is not pure."""
    general = Best(Dice(), "largest", law).privacy_map(1, RDP.at(order))
    for x, y, p, q in sides(law):
        found = divergence(p, q, order)
        assert found <= float(general.epsilon) + 1e-12  # type: ignore[attr-defined]
        orders = sorted({order, Fraction(2), Fraction(8), Fraction(64)})
        shares = [tuple(mpmath.mpf(n) / sum(each) for n in each) for each in (x, y)]
        curve = [max(divergence(*shares, a), divergence(*shares[::-1], a)) for a in orders]
        own = RenyiCurve(orders, [Fraction(str(e)) + Fraction(1, 10**9) for e in curve])
        stated = Best(Dice(own), "largest", law).privacy_map(1, RDP.at(order))
        assert found <= float(stated.epsilon) + 1e-12  # type: ignore[attr-defined]


@pytest.mark.parametrize("part", [0, Fraction(1, 2), 1])
def test_a_renyi_claim_without_its_middle_terms_is_caught(
    part: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left out, or as at eta=0, they do not bound what the best run loses; all of them do."""
    law, order = TruncatedNegativeBinomial(1, "1/9000"), Fraction(64)
    x, y, p, q = next(iter(sides(law)))
    shares = [tuple(mpmath.mpf(n) / sum(each) for n in each) for each in (x, y)]
    one = max(divergence(*shares, order), divergence(*shares[::-1], order))
    candidate = Dice(RenyiCurve([order, 4096], [Fraction(str(one)), TWO]))
    extra = best._extra
    monkeypatch.setattr(best, "_extra", lambda *given: part * extra(*given))
    stated = Best(candidate, "largest", law).privacy_map(1, RDP.at(order))
    found = max(divergence(p, q, order), divergence(q, p, order))
    assert (found <= float(stated.epsilon)) == (part == 1)  # type: ignore[attr-defined]


def poisson_best(weights: Weights, mu: Fraction) -> tuple[Any, ...]:
    """The chances that nothing runs, and that each number is the largest."""
    with mpmath.workdps(60):
        m = mpmath.mpf(mu.numerator) / mu.denominator
        ends = [mpmath.mpf(end) / sum(weights) for end in (0, *accumulate(weights))]
        below = [mpmath.exp(m * (end - 1)) for end in ends]
        return below[0], *(b - a for a, b in pairwise(below))


@pytest.mark.parametrize("mu", [Fraction(1, 2), Fraction(3), Fraction(40)])
@pytest.mark.parametrize("order", [Fraction(5, 4), Fraction(2), Fraction(8), Fraction(64)])
def test_poisson_claim_holds_of_exact_laws(mu: Fraction, order: Fraction) -> None:
    """Of pure candidates, and of those with the exact curve of each pair."""
    orders = sorted({order, *map(Fraction, (2, 8, 64))})
    for pair in PAIRS:
        for x, y in (pair, pair[::-1]):
            found = divergence(poisson_best(x, mu), poisson_best(y, mu), order)
            shares = [tuple(mpmath.mpf(n) / sum(each) for n in each) for each in (x, y)]
            curve = [max(divergence(*shares, a), divergence(*shares[::-1], a)) for a in orders]
            own = RenyiCurve(orders, [Fraction(str(e)) + Fraction(1, 10**9) for e in curve])
            for claim in (PureDP(TWO), own):
                stated = Best(Dice(claim), "largest", Poisson(mu)).privacy_map(1, RDP.at(order))
                assert found <= float(stated.epsilon) + 1e-12  # type: ignore[attr-defined]


def test_a_poisson_claim_without_delta_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of a pair in which all numbers get more likely or all less."""
    x, y, mu, order = (1, 2), (2, 1), Fraction(5), Fraction(64)
    p, q = poisson_best(x, mu), poisson_best(y, mu)
    found = max(divergence(p, q, order), divergence(q, p, order))
    mechanism = Best(Dice(), "largest", Poisson(mu))
    assert found <= float(mechanism.privacy_map(1, RDP.at(order)).epsilon)  # type: ignore[attr-defined]
    monkeypatch.setattr(best, "_delta", lambda *given: Fraction(0))
    assert found > float(mechanism.privacy_map(1, RDP.at(order)).epsilon)  # type: ignore[attr-defined]


def test_poisson_runs_by_its_law() -> None:
    """Also the case in which nothing runs, which is told."""
    weights, mu = (1, 2, 1), Fraction(1, 2)
    views = view_law(Best(Dice(), "largest", Poisson(mu)), weights, lambda view: None, tail="1e-3")
    lost = sum((high(chance) for seen, chance in views.items() if seen is CUT), Fraction(0))
    runs = (BestRun(None, None), *(BestRun(0, k) for k in range(3)))
    for run, chance in zip(runs, poisson_best(weights, mu), strict=True):
        seen = views[(run,)]  # type: ignore[index]
        assert low(seen) - Fraction(1, 10**12) <= Fraction(str(chance)) <= high(seen) + lost


@pytest.mark.parametrize("order", [2, 16])
def test_the_curve_is_the_formula(order: int) -> None:
    """Of zCDP candidates, against the theorem written again with its best second order."""
    rho, eta, gamma = 0.01, 0.5, 0.01
    law = TruncatedNegativeBinomial("1/2", "1/100")
    runs = eta * (1 - gamma) / (gamma * (1 - gamma**eta))
    assert float(law.mean) == pytest.approx(runs, rel=1e-12)
    second = (mpmath.log(1 / gamma) / rho) ** 0.5
    extra = (1 + eta) * ((second - 1) * rho + mpmath.log(1 / gamma) / second)
    expected = order * rho + extra + mpmath.log(runs) / (order - 1)
    stated = Best(Dice(ZCDP("0.01")), "largest", law).privacy_map(1, RDP.at(order))
    assert expected <= float(stated.epsilon) <= expected * 1.01  # type: ignore[attr-defined]
    assert expected - mpmath.log(runs) / (order - 1) < float(stated.epsilon)  # type: ignore[attr-defined]


@pytest.mark.parametrize("law", [*SHORT, *LAWS[1::3], Poisson("1/3"), Poisson(7)], ids=str)
def test_draws_have_their_probabilities(law: Any) -> None:
    """Each of the first counts is within five deviations, and the law sums to 1."""
    draws = 4000
    kept, tail = law.truncated(Fraction(1, 10**6))
    assert 1 - tail <= sum(high(chance) for _, chance in kept) <= 1 + Fraction(1, 10**9)
    mean = sum(k * high(chance) for k, chance in kept)
    assert float(mean) == pytest.approx(float(law.mean), rel=1e-3)
    coins = SeededCoins(5)
    seen = Counter(coins.draw(law) for _ in range(draws))
    for k, chance in kept[:6]:
        expected = draws * float(high(chance))
        assert abs(seen[k] - expected) <= 5 * (expected + 1) ** 0.5


def test_a_candidate_is_chosen_and_told() -> None:
    """Under a filter: charged by the claim, and the answer says which one ran."""
    table = Queryable(FiltCon(PureDP(5)), list(range(50)))
    law = TruncatedNegativeBinomial(0, "1/20")
    both = Best([Laplace(SIZE, epsilon=1), Laplace(SIZE, epsilon="1/2")], "smallest", law)
    run = table.launch(both)
    assert run.candidate in (0, 1)
    assert table.privacy_loss() == PureDP(2)
    curve = Best(Gaussian(SIZE, scale=20), "largest", law)
    assert isinstance(curve.privacy_map(1), RenyiCurve)
    renyi = Queryable(FiltCon(RenyiCurve([8, 16], [9, 9])), list(range(50)))
    assert abs(renyi.launch(curve).answer - 50) < 400


@attrs.frozen
class Pair(Measurement[tuple[str, int]]):
    """A text and a number."""

    def loss(self, d_in: int) -> Loss:
        return PureDP(0)

    def release(self, dataset: Any, coins: Coins) -> tuple[str, int]:
        return "drawn", coins.draw(UniformBelow(100))


def test_the_number_may_be_a_part_of_the_answer() -> None:
    law = TruncatedNegativeBinomial(5, "1/100")
    assert Best(Pair(), "largest", law, of=1).release(None, SeededCoins(1)).answer[1] > 90
    assert Best(Pair(), "smallest", law, of=1).release(None, SeededCoins(1)).answer[1] < 10
    for wrong in (0, 2, "drawn", None):
        with pytest.raises(MechanismFault):
            Best(Pair(), "largest", law, of=wrong).release(None, SeededCoins(1))


def test_a_failing_run_fails_all() -> None:
    """It costs what it claims, and says nothing else."""
    table = Queryable(FiltCon(PureDP(5)), ())  # no weights
    with pytest.raises(MechanismFault):
        table.launch(Best(Dice(), "largest", TruncatedNegativeBinomial(1, "1/3")))
    assert table.privacy_loss() == PureDP(3 * TWO)


GEOMETRIC = TruncatedNegativeBinomial(1, "1/3")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([], "largest", GEOMETRIC), ValueError),
        (([Dice()] * 21, "largest", GEOMETRIC), ValueError),
        ((len, "largest", GEOMETRIC), TypeError),
        ((FiltCon(PureDP(1)), "largest", GEOMETRIC), TypeError),
        ((Best(Dice(), "largest", GEOMETRIC), "largest", GEOMETRIC), TypeError),
        ((Dice(), "best", GEOMETRIC), ValueError),
        ((Dice(), "largest", 3), TypeError),
        ((Dice(ApproxDP(1, "1e-6")), "largest", GEOMETRIC), ValueError),
    ],
)
def test_bad_parameters(arguments: Any, error: Any) -> None:
    with pytest.raises(error):
        Best(*arguments)


@pytest.mark.parametrize(
    ("eta", "gamma"),
    [(-1, "1/2"), (101, "1/2"), (1, 0), (1, 1), (1, "1/10001"), (0, "1e-6"), (1, "1e-300")],
)
def test_bad_repetitions(eta: Any, gamma: Any) -> None:
    """More runs than 10,000 on average are refused."""
    with pytest.raises(ValueError, match="should be"):
        TruncatedNegativeBinomial(eta, gamma)


@pytest.mark.parametrize("mu", [0, -1, 10_001, "x", None])
def test_bad_poisson(mu: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="mu is"):
        Poisson(mu)


@pytest.mark.parametrize("of", [-1, True, "_hidden", "a.b", 1.5, ""])
def test_fields_are_public_names_or_places(of: Any) -> None:
    with pytest.raises(ValueError, match="of is"):
        Best(Dice(), "largest", GEOMETRIC, of=of)


def test_it_is_a_measurement() -> None:
    assert issubclass(Best, Measurement)
    assert issubclass(Best, InteractiveMechanism)
