"""Every real value that is charged, reported or decided by, on 1,000 random inputs at 60 digits.

No value is rounded in the analyst's favour: a bound on a loss is at or above the true value, and a
limit of a loss is at or below it. In the other direction the relative error stays within the stated
slack. If the true value has no formula, a consequence of the rounded value is compared, such as the
delta at a reported epsilon.
"""

import inspect
from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import attrs
import pytest

import composition
from composition import (
    Basic,
    ExPost,
    GDPResidue,
    LinearOdometer,
    Menu,
    MixtureOdometer,
    OneSidedMixtureOdometer,
    RenyiOdometer,
    Rogers2016,
    Rogers2016Odometer,
    Rogers2023,
    RogersLemma64Odometer,
    Rule,
    StitchedOdometer,
    TimeUniform,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    accumulator_of,
    filter_of,
)
from composition.compositors.pool import PooledAccount
from composition.rules.menus.worst_case import worst_cases
from composition.rules.optimal import optimal_delta, optimal_epsilon
from composition.rules.residue import largest_first, largest_response, residue
from composition.rules.rogers import drift
from mechanisms import thresholds
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable import GDP, ZCDP, ApproxDP, ApproxZCDP, PureDP
from queryable.losses import Dominated, RenyiCurve, conversions
from queryable.losses.lines import slopes_within, start_of
from tests.reference import (
    beside_response,
    gaussian_profile,
    laplace_zcdp,
    lemma_64,
    likelier,
    linear,
    lowest,
    menu_worst_case,
    mixture,
    mp,
    one_sided,
    over,
    rdp_epsilon,
    real,
    renyi_allowed,
    response_renyi,
    rogers,
    root,
    stitched,
    zcdp_capacity,
    zcdp_epsilon,
)

F = Fraction
INPUTS = 28
Pair = tuple[Fraction, Any]
"""The computed value and the true value."""


@attrs.frozen
class Rounded:
    """A value to compare, the object it belongs to, and its largest relative error."""

    of: Any
    draw: Callable[[Random], Pair]
    slack: str
    down: bool


CASES: list[Rounded] = []


def rounded(of: Any, slack: str, *, down: bool = False) -> Callable[..., Any]:
    """Register a case: its value should be at or above the true one, or with `down` below it."""

    def listed(draw: Callable[[Random], Pair]) -> Callable[[Random], Pair]:
        CASES.append(Rounded(of, draw, slack, down))
        return draw

    return listed


def any_of(random: Random, low: float, high: float) -> Fraction:
    """A rational of 12 digits between two powers of ten, log-uniform."""
    return F(f"{10 ** random.uniform(low, high):.12g}")


def delta_of(random: Random, low: float = -15, high: float = -1) -> Fraction:
    """A delta, or a share of a delta."""
    return any_of(random, low, high)


# Conversions.


@rounded(conversions.discrete_gaussian_to_gdp, "1e-25")
def discrete_gaussian_to_gdp(random: Random) -> Pair:
    variance = any_of(random, -2, 2)
    reach = range(1, int(17 * float(variance) ** 0.5) + 17)
    beside = 2 * mp.fsum(mp.exp(-mp.mpf(x * x) / (2 * real(variance))) for x in reach)
    mu = 2 * mp.sqrt(2) * mp.erfinv(1 / (1 + beside))
    return conversions.discrete_gaussian_to_gdp(variance), mu


@rounded(conversions.gdp_to_discrete_gaussian, "1e-11")
def gdp_to_discrete_gaussian(random: Random) -> Pair:
    mu = any_of(random, -6, 1)
    variance = conversions.gdp_to_discrete_gaussian(mu)
    assert conversions.discrete_gaussian_to_gdp(variance) <= mu
    return variance, 1 / (2 * mp.pi * mp.erf(real(mu) / mp.sqrt(8)) ** 2)


@rounded(conversions.response_to_approx, "1e-20")
def response_to_approx(random: Random) -> Pair:
    epsilon, delta = any_of(random, -4, 2), delta_of(random, -15, 0)
    own = delta * random.choice([0, any_of(random, -3, 0)])
    star = 1 - (1 - real(delta)) / (1 - real(own))
    odds = mp.exp(real(epsilon)) - star * (1 + mp.exp(real(epsilon)))
    return conversions.response_to_approx(epsilon, own, delta), mp.log(max(mp.mpf(1), odds))


@rounded(conversions.pure_to_zcdp, "1e-25")
def pure_to_zcdp(random: Random) -> Pair:
    epsilon = any_of(random, -6, 2)
    return conversions.pure_to_zcdp(epsilon), real(epsilon) * mp.tanh(real(epsilon) / 2)


@rounded(conversions.pure_within_zcdp, "1e-9", down=True)
def pure_within_zcdp(random: Random) -> Pair:
    rho = any_of(random, -6, 2)
    start = real(rho) + mp.sqrt(2 * real(rho))
    true = mp.findroot(lambda epsilon: epsilon * mp.tanh(epsilon / 2) - real(rho), start)
    return conversions.pure_within_zcdp(rho), true


@rounded(conversions.pure_to_rdp, "1e-20")
def pure_to_rdp(random: Random) -> Pair:
    epsilon, alpha = any_of(random, -3, 1.5), 1 + any_of(random, -2, 3)
    return conversions.pure_to_rdp(epsilon, alpha), response_renyi(epsilon, alpha)


@rounded(conversions.pure_to_gdp, "1e-25")
def pure_to_gdp(random: Random) -> Pair:
    epsilon = any_of(random, -4, 1.5)
    mu = 2 * mp.sqrt(2) * mp.erfinv(mp.tanh(real(epsilon) / 2))
    return conversions.pure_to_gdp(epsilon), mu


def distance(divergence: Any) -> Any:
    """A bound on the squared total variation distance: Pinsker; Bretagnolle and Huber."""
    return min(divergence / 2, -mp.expm1(-divergence))


def near(divergence: Any, delta: Any) -> bool:
    """Whether total variation is within delta: Pinsker; Bretagnolle and Huber."""
    return bool(distance(divergence) <= delta**2)


@rounded(conversions.distance_squared, "1e-25")
def distance_squared(random: Random) -> Pair:
    divergence = any_of(random, -6, 2)
    return conversions.distance_squared(divergence), distance(real(divergence))


@rounded(conversions.rdp_to_approx, "1e-3")
def rdp_to_approx(random: Random) -> Pair:
    """The loss that the least moment at this epsilon allows; the moment is searched again."""
    alpha, loss, delta = 1 + any_of(random, -2, 2), any_of(random, -3, 1), delta_of(random)
    epsilon = conversions.rdp_to_approx(alpha, loss, delta)
    assert epsilon <= conversions.concentrated_to_approx(alpha, loss, delta)
    if near(real(loss), real(delta)):
        return epsilon, mp.mpf(0)
    return F(mp.nstr(renyi_allowed(real(alpha), real(delta), real(epsilon)), 55)), real(loss)


@rounded(conversions.concentrated_to_approx, "1e-25")
def concentrated_to_approx(random: Random) -> Pair:
    alpha, loss, delta = 1 + any_of(random, -2, 3), any_of(random, -6, 2), delta_of(random)
    true = rdp_epsilon(real(alpha), real(loss), real(delta))
    if near(real(loss), real(delta)):
        true = mp.mpf(0)
    return conversions.concentrated_to_approx(alpha, loss, delta), max(mp.mpf(0), true)


@rounded(conversions.zcdp_to_approx, "1e-9")
def zcdp_to_approx(random: Random) -> Pair:
    rho, delta = any_of(random, -6, 2), delta_of(random)
    true = zcdp_epsilon(real(rho), real(delta))
    if near(real(rho), real(delta)):
        true = mp.mpf(0)
    return conversions.zcdp_to_approx(rho, delta), true


@rounded(ApproxZCDP, "1e-9")
def approximate_zcdp_to_approx(random: Random) -> Pair:
    rho, own, delta = any_of(random, -5, 1), delta_of(random, -15, -4), delta_of(random, -3, -1)
    found = ApproxZCDP(rho, own).to(ApproxDP, delta)
    assert isinstance(found, ApproxDP)
    left = real(delta) - real(own)
    return found.epsilon, mp.mpf(0) if near(real(rho), left) else zcdp_epsilon(real(rho), left)


@rounded(conversions.largest_zcdp, "1e-9", down=True)
def largest_zcdp(random: Random) -> Pair:
    epsilon, delta = any_of(random, -3, 1.5), delta_of(random)
    true = max(zcdp_capacity(real(epsilon), real(delta)), 2 * real(delta) ** 2)
    return conversions.largest_zcdp(epsilon, delta), true


def pool_line(rho: Any, slope: Any, missed: Any) -> Any:
    """The loss at a rho by the order 1 + slope, which is below 0 for a large delta."""
    return rdp_epsilon(1 + slope, (1 + slope) * rho, missed)


@rounded(start_of, "1e-25")
def start_of_a_line(random: Random) -> Pair:
    slope, missed = any_of(random, -2, 1.5), delta_of(random, -15, -3)
    return start_of(slope, missed), pool_line(0, real(slope), real(missed))


def a_pool(random: Random) -> tuple[PooledAccount, list[Any]]:
    """An empty account of a pool, and the lambdas of its lines."""
    epsilon, delta, lines = any_of(random, -2, 1.5), delta_of(random, -12, -2), random.randint(1, 4)
    account = ExPost(ApproxDP(epsilon, delta), slack=delta / 2, lines=lines).account()
    assert isinstance(account, PooledAccount)
    return account, [real(each) for each in account.slopes]


@rounded(PooledAccount, "1e-25")
def epsilon_of_a_pool(random: Random) -> Pair:
    account, slopes = a_pool(random)
    rho, missed = any_of(random, -6, 1), real(account.slack) / len(slopes)
    told = account.add(ApproxDP("1/9", 0)).add(ZCDP(rho)).total().epsilon - F(1, 9)
    return told, max(mp.mpf(0), min(pool_line(real(rho), each, missed) for each in slopes))


@rounded(PooledAccount, "1e-20", down=True)
def what_is_left_of_a_pool(random: Random) -> Pair:
    """The remaining rho, and that at which the best of the lines reaches epsilon."""
    account, slopes = a_pool(random)
    missed, epsilon = real(account.slack) / len(slopes), real(account.most[0])
    true = [(epsilon - pool_line(0, each, missed)) / (1 + each) for each in slopes]
    return account.left_for(ZCDP(0)).parts[0], max(true)


@rounded(slopes_within, "1e-6", down=True)
def the_largest_rho_of_a_line(random: Random) -> Pair:
    """By the line that is chosen, and by the best one."""
    epsilon, missed = any_of(random, -3, 1.5), delta_of(random)
    (slope,) = slopes_within(epsilon, missed, 1)
    return (epsilon - start_of(slope, missed)) / (1 + slope), zcdp_capacity(
        real(epsilon), real(missed)
    )


@rounded(conversions.gdp_delta, "1e-20")
def gdp_delta(random: Random) -> Pair:
    mu = any_of(random, -1, 0.7)
    epsilon = mu * any_of(random, -2, 1.2)
    with mp.workdps(250):  # the two terms agree in many digits
        return conversions.gdp_delta(mu, epsilon), +gaussian_profile(mu, real(epsilon))


@rounded(conversions.gdp_to_approx, "1e-9")
def delta_at_gdp_to_approx(random: Random) -> Pair:
    mu, delta = any_of(random, -1, 0.7), delta_of(random)
    epsilon = conversions.gdp_to_approx(mu, delta)
    return delta, gaussian_profile(mu, real(epsilon)) if epsilon else real(delta)


@rounded(conversions.largest_gdp, "1e-9")
def delta_at_largest_gdp(random: Random) -> Pair:
    epsilon, delta = any_of(random, -2, 1), delta_of(random)
    return delta, gaussian_profile(conversions.largest_gdp(epsilon, delta), real(epsilon))


@rounded(conversions.group_delta, "1e-20")
def group_delta(random: Random) -> Pair:
    epsilon, delta, size = any_of(random, -4, 0), delta_of(random), random.randint(1, 20)
    true = real(delta) * mp.expm1(size * real(epsilon)) / mp.expm1(real(epsilon))
    return conversions.group_delta(epsilon, delta, size), min(mp.mpf(1), true)


@rounded(conversions.discrete_laplace_to_zcdp, "1e-20")
def discrete_laplace_to_zcdp(random: Random) -> Pair:
    width, scale = F(random.randint(1, 50)), any_of(random, -1, 3)
    found = conversions.discrete_laplace_to_zcdp(width, scale)
    return found, laplace_zcdp(real(width), real(scale))


@rounded(conversions.log_up, "1e-25")
def log_up(random: Random) -> Pair:
    value = 1 + any_of(random, -3, 9)
    return conversions.log_up(value), mp.log(real(value))


@rounded(conversions.log_down, "1e-25", down=True)
def log_down(random: Random) -> Pair:
    value = 1 + any_of(random, -3, 9)
    return conversions.log_down(value), mp.log(real(value))


# Filters: their reports, and the largest losses that they admit.


def spent(random: Random, rule: Rule, slack: Fraction, state: Callable[[Fraction], Any]) -> Any:
    """An account with some launches, under a budget that admits them, and their losses."""
    losses = [any_of(random, -3, -0.5) for _ in range(random.randint(1, 9))]
    account = rule.open(ApproxDP(500, slack))
    for loss in losses:
        account = account.add(state(loss))
    return account, losses


@rounded(Whitehouse2023, "1e-25")
def whitehouse_total(random: Random) -> Pair:
    slack = delta_of(random)
    account, epsilons = spent(random, Whitehouse2023(), slack, lambda e: ApproxDP(e, 0))
    variance = real(sum(epsilon**2 for epsilon in epsilons))
    true = mp.sqrt(-2 * variance * mp.log(real(slack))) + variance / 2
    return account.total().epsilon, true


@rounded(Whitehouse2023, "1e-20", down=True)
def whitehouse_capacity(random: Random) -> Pair:
    epsilon, slack = any_of(random, -3, 1.5), delta_of(random)
    deviation = mp.sqrt(-2 * mp.log(real(slack)))
    largest = (mp.sqrt(deviation**2 + 2 * real(epsilon)) - deviation) ** 2
    return Whitehouse2023().capacity(epsilon, slack), largest


@rounded(accumulator_of, "1e-15")
def whitehouse_least_budget(random: Random) -> Pair:
    slack = delta_of(random)
    account = accumulator_of(Whitehouse2023(), ApproxDP, slack).open()
    epsilons = [any_of(random, -3, -0.5) for _ in range(3)]
    for epsilon in epsilons:
        account = account.add(ApproxDP(epsilon, 0))
    total = account.total()
    assert isinstance(total, ApproxDP)
    variance = real(sum(epsilon**2 for epsilon in epsilons))
    return total.epsilon, mp.sqrt(-2 * variance * mp.log(real(slack))) + variance / 2


@rounded(ViaZCDP, "1e-9")
def zcdp_total(random: Random) -> Pair:
    slack = delta_of(random)
    account, rhos = spent(random, ViaZCDP(), slack, lambda rho: ApproxZCDP(rho, 0))
    return account.total().epsilon, zcdp_epsilon(real(sum(rhos)), real(slack))


@rounded(Rogers2023, "1e-20")
def rogers_2023_total(random: Random) -> Pair:
    slack = delta_of(random)
    account, rhos = spent(random, Rogers2023(), slack, lambda rho: ApproxZCDP(rho, 0))
    rho = real(sum(rhos))
    return account.total().epsilon, rho + 2 * mp.sqrt(-rho * mp.log(real(slack)))


@rounded(Rogers2023, "1e-20", down=True)
def rogers_2023_capacity(random: Random) -> Pair:
    epsilon, slack = any_of(random, -3, 1.5), delta_of(random)
    log = -mp.log(real(slack))
    return Rogers2023().capacity(epsilon, slack), (mp.sqrt(log + real(epsilon)) - mp.sqrt(log)) ** 2


@rounded(ViaGDP, "1e-9")
def gdp_total(random: Random) -> Pair:
    slack = delta_of(random)
    account, mus = spent(random, ViaGDP(), slack, GDP)
    mu = mp.sqrt(real(sum(mu**2 for mu in mus)))
    epsilon = real(account.total().epsilon)
    below = mp.exp(epsilon) * mp.ncdf(-epsilon / mu - mu / 2)
    return slack, mp.ncdf(-epsilon / mu + mu / 2) - below if epsilon else real(slack)


@rounded(ViaGDP, "1e-9")
def slack_at_the_gdp_capacity(random: Random) -> Pair:
    epsilon, slack = any_of(random, -2, 1), delta_of(random)
    capacity = ViaGDP().capacity(epsilon, slack)
    return slack, gaussian_profile(mp.sqrt(real(capacity)), real(epsilon))


@rounded(GDP, "1e-25")
def gdp_sum(random: Random) -> Pair:
    account, mus = Basic().open(GDP(500)), [any_of(random, -3, 1) for _ in range(5)]
    for mu in mus:
        account = account.add(GDP(mu))
    total = account.total()
    assert isinstance(total, GDP)
    return total.mu, mp.sqrt(real(sum(mu**2 for mu in mus)))


@rounded(Rogers2016, "1e-25")
def rogers_drift(random: Random) -> Pair:
    epsilon = any_of(random, -6, 1)
    return drift(epsilon), real(epsilon) * mp.expm1(real(epsilon)) / 2


@rounded(Rogers2016, "1e-20")
def rogers_bound(random: Random) -> Pair:
    delta = delta_of(random)
    account, epsilons = spent(random, Rogers2016(), delta, PureDP)
    log = -mp.log(real(delta))
    x = real(500) ** 2 / (real("28.04") * log)
    v = real(sum(epsilon**2 for epsilon in epsilons))
    drift = sum(real(e) * mp.expm1(real(e)) / 2 for e in epsilons)
    return account.bound, drift + mp.sqrt(2 * (v + x) * (1 + mp.log(v / x + 1) / 2) * log)


@rounded(ViaRenyi, "1e-6")
def slack_at_the_renyi_total(random: Random) -> Pair:
    """The supremum of (1 - e^(epsilon-l))/m(l) at the reported epsilon."""
    orders = sorted(1 + any_of(random, -0.5, 2) for _ in range(random.randint(2, 5)))
    shares = [random.randint(0, 9) for _ in orders]
    shares[-1] += 1
    weights, slack = [F(share, sum(shares)) for share in shares], delta_of(random)
    rate = any_of(random, -3, -1)
    losses = [rate * order * F(random.randint(50, 100), 100) for order in orders]
    account = ViaRenyi(orders, weights).open(ApproxDP(500, slack)).add(RenyiCurve(orders, losses))
    epsilon = real(account.total().epsilon)
    each = zip(weights, orders, losses, strict=True)
    terms = [(real(w), real(a) - 1, real(r)) for w, a, r in each]

    def minus_ratio(log_excess: Any) -> Any:
        level = epsilon + mp.exp(log_excess)
        mass = sum(w * mp.exp(rate * (level - r)) for w, rate, r in terms)
        return -mp.log(-mp.expm1(epsilon - level)) + mp.log(mass)

    return slack, mp.exp(-lowest(minus_ratio, -20, 8)) if epsilon else real(slack)


@rounded(GDPResidue, "1e-9")
def slack_at_the_first_residue(random: Random) -> Pair:
    epsilon, slack = any_of(random, -2, 1), delta_of(random, -12, -1)
    each = largest_first(epsilon, slack) * F(random.randint(1, 99), 100)
    left = GDPResidue().open(ApproxDP(epsilon, slack)).add(Dominated(each, 0, 0)).mu
    assert left is not None
    return slack, beside_response(each, lambda t: gaussian_profile(left, t), real(epsilon))


@rounded(GDPResidue, "1e-6", down=True)
def residue_left(random: Random) -> Pair:
    mu = any_of(random, -2, 0.7)
    epsilon = largest_response(mu) * F(random.randint(1, 990), 1000)
    found, own = residue(mu, epsilon), mp.erf(real(mu) / mp.sqrt(8))

    def spare(m: Any) -> Any:
        beside = mp.ncdf(m / 2 - real(epsilon) / m)
        beside -= mp.exp(real(epsilon)) * mp.ncdf(-m / 2 - real(epsilon) / m)
        return own - mp.tanh(real(epsilon) / 2) - 2 * beside / (1 + mp.exp(real(epsilon)))

    return found or F(0), root(spare, 0, real(mu), 160)


@rounded(GDPResidue, "1e-20", down=True)
def largest_response_beside_nothing(random: Random) -> Pair:
    mu = any_of(random, -3, 1)
    return largest_response(mu), 2 * mp.atanh(mp.erf(real(mu) / mp.sqrt(8)))


@rounded(Menu, "1e-6")
def menu_total(random: Random) -> Pair:
    step, epsilon = F(random.randint(1, 60), 100), F(random.randint(0, 200), 100)
    entries = sorted(random.sample(range(1, 6), random.randint(1, 3)))
    priced = dict(zip(entries, sorted(random.randint(1, 5) for _ in entries), strict=True))
    rule = Menu(step, priced, priced)
    found = worst_cases(epsilon, step, rule.priced, F(1, 5))
    units = min(len(found) - 1, 9)
    true = menu_worst_case(epsilon, step, priced, units)
    return F(found[units]), true or real(F(found[units]))


@rounded(optimal_delta, "1e-20")
def optimal_delta_of_five(random: Random) -> Pair:
    losses, epsilon = five(random), any_of(random, -2, 0.3)
    return optimal_delta(losses, epsilon), optimum(losses, real(epsilon))


@rounded(optimal_epsilon, "1e-9")
def delta_at_the_optimal_epsilon(random: Random) -> Pair:
    losses, delta = five(random), delta_of(random, -4, -0.5)
    epsilon = optimal_epsilon(losses, delta)
    reached = optimum(losses, real(epsilon))
    return delta, reached if epsilon else max(reached, real(delta))


def five(random: Random) -> list[ApproxDP]:
    return [ApproxDP(any_of(random, -2, 0), delta_of(random, -9, -5)) for _ in range(5)]


def optimum(losses: list[ApproxDP], epsilon: Any) -> Any:
    """The delta of the composition: responses that also reveal everything with some probability."""

    def profile(left: list[ApproxDP], t: Any) -> Any:
        if not left:
            return over(t)
        p, e = likelier(left[0].epsilon), real(left[0].epsilon)
        return p * profile(left[1:], t - e) + (1 - p) * profile(left[1:], t + e)

    kept = mp.fprod(1 - real(loss.delta) for loss in losses)
    return 1 - kept * (1 - profile(losses, epsilon))


# Odometers: their reports, and the largest losses that they admit as filters.


def boundary(kind: Any, formula: Callable[[Any, Any, Any], Any]) -> Callable[[Random], Pair]:
    def of(random: Random) -> Pair:
        rho, delta = any_of(random, -9, 5), delta_of(random, -42, -0.45)
        parameter: Any = any_of(random, -9, 5)
        if kind is Rogers2016Odometer:
            parameter = random.randint(3, 10**6)
        found = kind(delta, parameter).bound([ZCDP(rho)])
        return found, formula(2 * real(rho), real(delta), real(parameter))

    of.__name__ = kind.__name__
    return of


def shorter(v: Any, d: Any, gamma: Any) -> Any:
    return one_sided(v, d, gamma, 130)


BOUNDARIES: dict[Any, Any] = {
    LinearOdometer: linear,
    MixtureOdometer: mixture,
    OneSidedMixtureOdometer: shorter,
    StitchedOdometer: stitched,
    Rogers2016Odometer: rogers,
    RogersLemma64Odometer: lemma_64,
}
for kind, formula in BOUNDARIES.items():
    rounded(kind, "1e-20")(boundary(kind, formula))


@rounded(RenyiOdometer, "1e-20")
def renyi_odometer(random: Random) -> Pair:
    orders = sorted(1 + any_of(random, -1, 2) for _ in range(3))
    shares = [random.randint(1, 50) for _ in orders]
    weights, delta = [F(share, sum(shares)) for share in shares], delta_of(random)
    losses = [any_of(random, -4, 2) for _ in orders]
    found = RenyiOdometer(delta, orders, weights).bound([RenyiCurve(orders, losses)])
    each = zip(weights, orders, losses, strict=True)
    true = min(real(r) - mp.log(real(w) * real(delta)) / (real(a) - 1) for w, a, r in each)
    return found, true


@rounded(TimeUniform, "1e-20")
def total_delta_with_a_margin(random: Random) -> Pair:
    delta, deltas, margin = delta_of(random), delta_of(random, -15, -4), any_of(random, -2, 1)
    odometer = MixtureOdometer(delta, 1, deltas=deltas, margin=margin)
    return odometer.total_delta, real(delta) - real(deltas) / mp.expm1(-real(margin))


@rounded(filter_of, "1e-9")
def epsilon_when_a_filter_is_full(random: Random) -> Pair:
    """The bound, after the largest remaining launch according to the filter."""
    kind = random.choice([kind for kind in BOUNDARIES if kind is not Rogers2016Odometer])
    delta, parameter = delta_of(random), any_of(random, -3, -1)
    epsilon = any_of(random, 0, 1)
    account = filter_of(kind(delta, parameter)).open(ApproxDP(epsilon, delta)).add(ZCDP("1e-6"))
    room = account.remaining()
    assert isinstance(room, ZCDP)
    true = BOUNDARIES[kind](2 * real(room.rho + F("1e-6")), real(delta), real(parameter))
    return epsilon, true if room.rho else real(epsilon)


# Keys that are found in the data.


@rounded(thresholds.shown_by, "1e-24")
def the_chance_of_a_new_key_with_laplace_noise(random: Random) -> Pair:
    scale, threshold = any_of(random, -1, 4), random.randint(1, 200)
    keys, units = random.randint(1, 9), random.randint(1, 5)
    p = mp.exp(-1 / real(scale))

    def shown(count: int) -> Any:
        least = threshold - count
        return p**least / (1 + p) if least > 0 else 1 - p ** (1 - least) / (1 + p)

    apart, together = (
        -mp.expm1(many * mp.log1p(-shown(count)))
        for many, count in ((keys * units, 1), (keys, units))
    )
    found = thresholds.shown_by(DiscreteLaplace(scale), threshold, keys, units)
    return found, max(apart, together)


@rounded(thresholds.at_least, "1e-12")
def the_chance_of_a_new_key_with_gaussian_noise(random: Random) -> Pair:
    """Noise that is narrow enough for its tail to be summed term by term."""
    variance, least = any_of(random, -1, 3), random.randint(1, 40)
    noise = DiscreteGaussian(variance)
    terms = [mp.exp(-real(x * x) / (2 * real(variance))) for x in range(800)]
    whole = 2 * mp.fsum(terms) - terms[0]
    return thresholds.at_least(noise, least)[1], mp.fsum(terms[least:]) / whole


DEAR = {
    residue_left,
    slack_at_the_renyi_total,
    zcdp_to_approx,
    largest_zcdp,
    the_largest_rho_of_a_line,
    approximate_zcdp_to_approx,
    the_chance_of_a_new_key_with_gaussian_noise,
    zcdp_total,
    gdp_total,
    epsilon_when_a_filter_is_full,
    slack_at_the_first_residue,
    *(case.draw for case in CASES if case.of is OneSidedMixtureOdometer),
}
"""Cases of which an input takes 10 ms or more: the quick test draws the first few only."""
FIRST = 7


def named(cases: list[Rounded]) -> Any:
    return pytest.mark.parametrize("case", cases, ids=[each.draw.__name__ for each in cases])


@named(CASES)
def test_against_60_digits(case: Rounded) -> None:
    compare(case, FIRST if case.draw in DEAR else INPUTS)


@pytest.mark.slow
@named([case for case in CASES if case.draw in DEAR])
def test_against_60_digits_on_all_inputs(case: Rounded) -> None:
    compare(case, INPUTS)


def compare(case: Rounded, inputs: int) -> None:
    """Never in the analyst's favour; otherwise within the slack."""
    random = Random(case.draw.__name__)
    for _ in range(inputs):
        found, true = case.draw(random)
        said = real(found)
        assert said <= true if case.down else true <= said
        assert abs(said - true) <= real(case.slack) * true


def test_there_are_a_thousand_inputs() -> None:
    """With those of the slow test."""
    assert len(CASES) * INPUTS >= 1000


EXACT = {"Basic", "Rule"}
"""Rules that only add and compare fractions."""
SEARCHES = {"least", "greatest", "normal_below", "order_within"}
"""Functions in `conversions` that search and do not convert."""


def test_every_rounding_is_here() -> None:
    """Every rule, odometer and conversion is compared, unless it does not round."""
    compared = {case.of for case in CASES}
    for name, value in vars(composition).items():
        if inspect.isclass(value) and issubclass(value, Rule | TimeUniform):
            assert value in compared or name in EXACT, f"add a @rounded case for {name}"
    for name, value in vars(conversions).items():
        if getattr(value, "__module__", "") == conversions.__name__ and not name.startswith("_"):
            assert value in compared or name in SEARCHES, f"add a @rounded case for {name}"
