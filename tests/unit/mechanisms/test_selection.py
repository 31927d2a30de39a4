"""The formulas of private selection at 60 digits, and exact laws of every order of the numbers.

Nothing is allowed for rounding: a claim is at or above the formula, and the formula above the law.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import product
from typing import Any

import attrs
import mpmath
import pytest

from mechanisms import Best, Count, Laplace, Poisson, Threshold, TruncatedNegativeBinomial
from mechanisms.repetitions import Repetitions
from mechanisms.selection import HELPERS, ORDERS, log_mean, poisson_orders
from queryable import RDP, ZCDP, ApproxDP, Loss, Measurement, PureDP
from queryable.losses import Measure, RenyiCurve, RenyiOrder
from queryable.randomness.coins import Coins

ENDS = tuple(map(Fraction, ("1000001/1000000", "5/4", 2, 256, 4097, 20_000)))
"""Orders at and beyond both ends of those that are tried."""

LAWS: list[Any] = [
    *(TruncatedNegativeBinomial(eta, "1/10") for eta in ("-9/10", "-1/10", 0, "1/10", 1, 20)),
    *(TruncatedNegativeBinomial(eta, "1/2000") for eta in ("-99/100", 0, "1e-9", "1/2", 1)),
    *(Poisson(mu) for mu in ("1/10", 1, 30)),
    *(Threshold(1, gamma) for gamma in ("9/10", "1/5000")),
]


def real(value: Any) -> Any:
    return mpmath.mpf(Fraction(value).numerator) / Fraction(value).denominator


def up(value: Any) -> Fraction:
    """A rational at or above it, to 50 digits."""
    return Fraction(int(mpmath.ceil(value * mpmath.mpf(10) ** 50)), 10**50)


@attrs.frozen
class Stated(Measurement[int]):
    """Claims a curve, and perhaps an epsilon."""

    curve: Callable[[Fraction], Fraction]
    epsilon: Fraction | None = None

    def loss(self, d_in: int) -> Loss:
        return RDP(2, self.curve(Fraction(2))) if self.epsilon is None else PureDP(self.epsilon)

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        if isinstance(measure, RenyiOrder):
            return RDP(measure.alpha, self.curve(measure.alpha))
        return super().privacy_map(d_in, measure)

    def release(self, dataset: Any, coins: Coins) -> int:
        return 0


def moment_bound(law: Repetitions, order: Any, own: Any, least: Any, delta: Any) -> Any:
    """The theorems, written again."""
    if isinstance(law, Poisson):
        mu = real(law.mu)
        inside = mpmath.exp(-mu) + mu * mpmath.exp((order - 1) * (own + mu * delta))
        return mpmath.log(inside) / (order - 1)
    assert isinstance(law, TruncatedNegativeBinomial | Threshold)
    eta, gamma = real(getattr(law, "eta", 0)), real(law.gamma)
    if isinstance(law, Threshold):
        mean = 1 / gamma
    elif eta == 0:
        mean = (1 / gamma - 1) / mpmath.log(1 / gamma)
    else:
        mean = eta * (1 - gamma) / (gamma * (1 - gamma**eta))
    return own + (1 + eta) * least + mpmath.log(mean) / (order - 1)


def in_turns(values: tuple[Any, ...]) -> list[Any]:
    """Each law with one of the values, the next law with the next; the other pairs are slow."""
    return [
        pytest.param(
            *(law, value),
            id=f"{value}-{law}",
            marks=[] if (n - place) % len(values) == 0 else [pytest.mark.slow],
        )
        for n, law in enumerate(LAWS)
        for place, value in enumerate(values)
    ]


@pytest.mark.parametrize(("law", "pure"), in_turns((True, False)))
def test_claims_are_the_formulas_rounded_up(law: Any, pure: bool) -> None:
    """At 60 digits, over the same orders; too large by less than 1e-20 of them."""
    rho, epsilon = Fraction(1, 50), Fraction(1, 5)
    candidate = Stated(lambda a: min(rho * a, epsilon if pure else a), epsilon if pure else None)
    best = Best(candidate, "largest", law)
    with mpmath.workdps(60):
        curve = [(real(b), real(candidate.curve(b))) for b in HELPERS]
        runs = mpmath.log(1 / real(getattr(law, "gamma", 1)))
        tried = [(1 - 1 / b) * own + runs / b for b, own in curve]
        least = min([runs, *tried, *([real(epsilon)] if pure else [])])
        at = [(b, own + mpmath.log(1 - 1 / b), mpmath.log(b)) for b, own in curve]
        odds, found = mpmath.exp(real(epsilon)), {}
        helping = HELPERS
        if isinstance(law, Poisson):
            helping = poisson_orders(epsilon) if pure else ORDERS
        for a in {*ENDS, *helping}:
            order, own, delta = real(a), real(candidate.curve(a)), mpmath.mpf(0)
            ratio = order / (order - 1)
            if pure:
                delta = max((odds - ratio) / (odds + 1), delta)
            elif isinstance(law, Poisson):
                level = mpmath.log(ratio)
                delta = min(mpmath.exp(min((b - 1) * (e - level) - last for b, e, last in at)), 1)
            found[a] = moment_bound(law, order, own, least, delta)
        for a in ENDS:
            claim = best.privacy_map(1, RDP.at(a))
            assert isinstance(claim, RDP)
            exact = min([found[a], *(found[b] for b in helping if b > a)])
            stated = best.privacy_map(1, PureDP) if pure else None
            if stated is not None:
                converted = stated.to(RDP.at(a))
                assert isinstance(converted, RDP)
                exact = min(exact, real(converted.epsilon))
            assert exact <= real(claim.epsilon) <= exact * (1 + mpmath.mpf(10) ** -20)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_pure_claims_are_the_formulas_rounded_up(law: Any) -> None:
    epsilon = Fraction(1, 7)
    stated = Best(Stated(lambda a: epsilon, epsilon), "largest", law).privacy_map(1, PureDP)
    assert isinstance(stated, PureDP)
    if isinstance(law, Poisson):
        with mpmath.workdps(60):
            exact = real(epsilon) + real(law.mu) * mpmath.tanh(real(epsilon) / 2)
            assert exact <= real(stated.epsilon) <= exact * (1 + mpmath.mpf(10) ** -20)
    else:
        assert stated == PureDP((2 + getattr(law, "eta", 0)) * epsilon)


@pytest.mark.parametrize("mean", [Fraction(1, 3), Fraction(10_001, 7)])
def test_the_logarithm_of_a_mean_is_rounded_up(mean: Fraction) -> None:
    with mpmath.workdps(60):
        assert max(mpmath.log(real(mean)), 0) <= real(log_mean(Poisson(mean)))


# Exact laws.


def generated(law: Any) -> Callable[[Any], Any]:
    """E[t^K]."""
    if isinstance(law, Poisson):
        mu = real(law.mu)
        return lambda t: mpmath.exp(mu * (t - 1))
    eta, gamma = real(law.eta), real(law.gamma)
    if eta == 0:
        return lambda t: mpmath.log(1 - (1 - gamma) * t) / mpmath.log(gamma)
    return lambda t: ((1 - (1 - gamma) * t) ** -eta - 1) / (gamma**-eta - 1)


def best_of(shares: Any, numbers: tuple[int, ...], law: Any) -> list[Any]:
    """The chances of the answers, of which several may have the same number; and of none."""
    if isinstance(law, Threshold):
        reach = [x for x, k in zip(shares, numbers, strict=True) if k >= law.tau]
        gamma, p = real(law.gamma), sum(reach, mpmath.mpf(0))
        none = [gamma * (1 - p)] if len(reach) < len(shares) else []
        return [x / (gamma + (1 - gamma) * p) for x in (*reach, *none)]
    f = generated(law)
    found = [f(mpmath.mpf(0))] if isinstance(law, Poisson) else []
    for x, k in zip(shares, numbers, strict=True):
        worse = sum((y for y, j in zip(shares, numbers, strict=True) if j < k), mpmath.mpf(0))
        equal = sum(y for y, j in zip(shares, numbers, strict=True) if j == k)
        upper = mpmath.mpf(1) if k == max(numbers) else worse + equal
        found.append(x / equal * (f(upper) - f(worse)))
    return found


def orders_of(size: int) -> Iterator[tuple[int, ...]]:
    """All ways to give answers numbers, up to the size of the numbers."""
    for numbers in product(range(size), repeat=size):
        if {*numbers} == {*range(max(numbers) + 1)}:
            yield numbers


def divergence(p: Any, q: Any, order: Fraction) -> Any:
    a = real(order)
    moment = sum(x * (x / y) ** (a - 1) for x, y in zip(p, q, strict=True))
    return max(mpmath.log(moment) / (a - 1), mpmath.mpf(0))


PAIRS = (
    ((6665, 2, 3333), (3333, 1, 6666)),
    ((1, 10, 100), (2, 9, 100)),
    ((1, 300, 30), (30, 300, 1)),
)
SOME = tuple(map(Fraction, ("5/4", 2, 64, 20_000)))


@cache
def curve_of(pair: Any, order: Fraction) -> Fraction:
    """The divergence of a pair, rounded up; of one pair it is asked for with every law."""
    with mpmath.workdps(70):
        x, y = ([mpmath.mpf(part) / sum(each) for part in each] for each in pair)
        return up(max(divergence(x, y, order), divergence(y, x, order)))


@pytest.mark.parametrize(("law", "pair"), in_turns(PAIRS))
def test_claims_hold_whatever_the_score_prefers(law: Any, pair: Any) -> None:
    """Candidates state exactly their own epsilon and curve, or the curve alone."""
    with mpmath.workdps(70):
        x, y = ([mpmath.mpf(part) / sum(each) for part in each] for each in pair)
        curve = partial(curve_of, pair)
        epsilon = up(max(abs(mpmath.log(a / b)) for a, b in zip(x, y, strict=True)))
        pure = Best(Stated(curve, epsilon), "largest", law)
        both = pure, Best(Stated(curve), "largest", law)
        claims = {a: [each.privacy_map(1, RDP.at(a)) for each in both] for a in SOME}
        least = {a: min(real(each.epsilon) for each in two) for a, two in claims.items()}  # type: ignore[attr-defined]
        stated = real(pure.privacy_map(1, PureDP).epsilon)  # type: ignore[attr-defined]
        for numbers in orders_of(3):
            p, q = best_of(x, numbers, law), best_of(y, numbers, law)
            for one, other in ((p, q), (q, p)):
                worst = max(a / b for a, b in zip(one, other, strict=True))
                assert mpmath.log(worst) <= stated
                assert all(divergence(one, other, a) <= least[a] for a in SOME)


@pytest.mark.parametrize("mu", [Fraction(1, 2), Fraction(4), Fraction(20)])
def test_the_pure_claim_of_poisson_is_nearly_reached(mu: Fraction) -> None:
    """A rare number between the others; without tanh(epsilon/2) the claim is false."""
    with mpmath.workdps(60):
        (x, y), law = PAIRS[0], Poisson(mu)
        p, q = (best_of([mpmath.mpf(n) / sum(w) for n in w], (0, 1, 2), law) for w in (x, y))
        worst = mpmath.log(max(a / b for a, b in zip(p, q, strict=True)))
        two = up(mpmath.log(2))
        claim = Best(Stated(lambda a: two, two), "largest", law).privacy_map(1, PureDP)
        assert isinstance(claim, PureDP)
        assert mpmath.log(2) + real(mu) / 4 < worst
        assert 0.999 * real(claim.epsilon) < worst <= real(claim.epsilon)


def test_poisson_of_pure_candidates_is_stated_in_other_measures() -> None:
    """Its own loss is a curve, which may be far below; the pure claim converts to the rest."""
    best = Best(Stated(lambda a: Fraction(1, 10), Fraction(1, 10)), "largest", Poisson(2))
    pure = best.privacy_map(1, PureDP)
    assert best.privacy_map(1, ZCDP) == pure.to(ZCDP)
    assert best.privacy_map(0, PureDP) == PureDP(0)
    stated = best.privacy_map(1)
    assert isinstance(stated, RenyiCurve)
    assert {*ORDERS} < {*stated.orders}
    assert best.privacy_map(0) == best.privacy_map(1).zero()
    alone = Best(Stated(lambda a: Fraction(1, 10)), "largest", Poisson(2))
    with pytest.raises(ValueError, match="no theorem converts"):
        alone.privacy_map(1, PureDP)


@pytest.mark.parametrize("rho", ["1/20", "1/2000", "1/20000", "1/200000"])
@pytest.mark.parametrize("delta", ["1e-6", "1e-9"])
def test_the_orders_of_a_claim_serve_small_and_large_losses(rho: str, delta: str) -> None:
    """Its conversion to epsilon is at most 4% above that of all orders that are tried."""
    law = TruncatedNegativeBinomial(0, "1/50")
    best = Best(Stated(lambda a: a * Fraction(rho)), "largest", law)
    few, all_of_them = best.privacy_map(1), best.privacy_map(1, RDP.at(*HELPERS))
    least = all_of_them.to(ApproxDP, delta).epsilon  # type: ignore[attr-defined]
    assert least <= few.to(ApproxDP, delta).epsilon <= least * Fraction(104, 100)  # type: ignore[attr-defined]


def theorem_6(epsilon: float, mu: float, order: float) -> float:
    """Papernot, Steinke 2022, Theorem 6, of randomized response at this epsilon."""
    p, ratio = 1 / (1 + math.exp(-epsilon)), order / (order - 1)
    q = 1 - p
    one = math.log(p) * order + math.log(q) * (1 - order)
    own = (one + math.log1p(math.exp((1 - 2 * order) * epsilon))) / (order - 1)
    delta = max(0, (math.exp(epsilon) - ratio) / (math.exp(epsilon) + 1))
    return own + mu * delta + math.log(mu) / (order - 1)


@pytest.mark.parametrize(("epsilon", "mu"), [(".01", 1), (".1", 100), (".5", 1000), ("3", 10)])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_poisson_orders_are_near_the_best_ones(epsilon: str, mu: int, delta: float) -> None:
    """The epsilon at a delta is at most 1.01 times the least of Theorem 6 over all orders."""
    best = Best(Laplace(Count(), epsilon=epsilon), "largest", Poisson(mu))
    ours = best.privacy_map(1).to(ApproxDP, delta=delta).epsilon  # type: ignore[attr-defined]
    least = float(best.privacy_map(1, PureDP).epsilon)  # type: ignore[attr-defined]
    corner = 1 / math.expm1(float(epsilon))  # below it delta is 0
    for order in (1 + corner, *(1 + 10 ** (k / 100) for k in range(-300, 500))):
        extra = math.log1p(-1 / order) - math.log(order * delta) / (order - 1)
        least = min(least, theorem_6(float(epsilon), mu, order) + extra)
    assert 0.99 * least < ours < 1.01 * least


@pytest.mark.parametrize(("epsilon", "mu"), [(".1", 100), (".5", 1000), ("1", 100)])
def test_poisson_of_pure_candidates_is_also_stated_in_zcdp(epsilon: str, mu: int) -> None:
    """The curve implies a rho that is far below that of the pure claim, and holds at all orders."""
    best = Best(Laplace(Count(), epsilon=epsilon), "largest", Poisson(mu))
    stated, pure = best.privacy_map(1, ZCDP), best.privacy_map(1, PureDP)
    assert isinstance(stated, ZCDP)
    assert isinstance(pure, PureDP)
    assert stated.rho < pure.to(ZCDP).rho / 3  # type: ignore[attr-defined]
    finer = [1 + Fraction(2) ** k * each for k in range(-9, 12) for each in (1, Fraction(4, 3))]
    curve = best.privacy_map(1, RDP.at(*finer))
    assert isinstance(curve, RenyiCurve)
    found = [least / order for order, least in zip(finer, curve.epsilons, strict=True)]
    assert max(found) <= stated.rho < max(found) * Fraction(5, 4)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("mu", [Fraction(30), Fraction(200)])
def test_the_zcdp_claim_of_poisson_holds(pair: Any, mu: Fraction) -> None:
    """For exact laws, whatever the score prefers, at orders between those of the curve too."""
    orders = [1 + Fraction(2) ** k for k in range(-4, 9)]
    with mpmath.workdps(70):
        x, y = ([mpmath.mpf(part) / sum(each) for part in each] for each in pair)
        epsilon = up(max(abs(mpmath.log(a / b)) for a, b in zip(x, y, strict=True)))
        candidate = Stated(partial(curve_of, pair), epsilon)
        rho = real(Best(candidate, "largest", Poisson(mu)).privacy_map(1, ZCDP).rho)  # type: ignore[attr-defined]
        for numbers in orders_of(3):
            p, q = best_of(x, numbers, Poisson(mu)), best_of(y, numbers, Poisson(mu))
            for one, other in ((p, q), (q, p)):
                assert all(divergence(one, other, a) <= rho * real(a) for a in orders)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 10**12), Fraction(30)])
def test_extreme_candidates_have_the_usual_orders(epsilon: Fraction) -> None:
    assert poisson_orders(epsilon) == ORDERS
