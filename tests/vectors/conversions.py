"""Vectors of conversions between measures: what is given, the exact value, and what is stated.

The exact value is that of the formula in docs/theory/conversions.md, by `tests.reference`.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import attrs

from queryable import GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, PureDP
from queryable.losses.conversions import discrete_gaussian_to_gdp, discrete_laplace_to_zcdp
from tests.reference import (
    gaussian_profile,
    laplace_zcdp,
    likelier,
    rdp_epsilon,
    renyi_allowed,
    response_renyi,
    root,
    zcdp_capacity,
    zcdp_epsilon,
)
from tests.vectors.decimals import around, fraction, mp, outward, real

F = Fraction
Given = Mapping[str, Fraction]


def fractions(text: str) -> list[Fraction]:
    """The fractions of a text."""
    return [F(each) for each in text.split()]


EPSILONS = fractions("1/1000 1/50 1/10 1/3 1 2 5 12")
RHOS = fractions("1/100000 1/2000 1/200 1/50 1/8 1/2 2 10")
MUS = fractions("1/100 1/20 1/5 1/2 1 3/2 3 6")
ORDERS = fractions("5/4 3/2 2 3 8 32 100 256")
SIZES = fractions("1/4 1/2 1 3 10 30 100 400")
DELTAS = [F(1, 10**power) for power in (1, 3, 5, 6, 7, 9, 12, 15)]
SEARCHED = 12
"""Digits of values that floats choose an order for; their last bits may differ."""
FOUND = 25


@attrs.frozen
class Conversion:
    """A kind of conversion.

    Attributes:
        given: the parameters, a list of values for each.
        ours: what this package states.
        true: the exact value at 60 digits.
        digits: of what is stated.
        slack: the largest relative error of what is stated.
        up: whether it is a loss, and rounded up, or a capacity.
    """

    given: Mapping[str, list[Fraction]]
    ours: Callable[..., Fraction]
    true: Callable[..., Any]
    digits: int = FOUND
    slack: str = "1e-24"
    up: bool = True


def turned(values: list[Fraction], by: int) -> list[Fraction]:
    """The values, beginning with another one, so that small ones meet large ones."""
    return [*values[by:], *values[:by]]


def at_delta(loss: Any, delta: Fraction) -> Fraction:
    """The epsilon at a delta."""
    return loss.to(ApproxDP, delta).epsilon


def no_distance(divergence: Any, delta: Any) -> bool:
    """Whether the total variation distance is within delta, so that epsilon is 0."""
    return bool(min(divergence / 2, -mp.expm1(-divergence)) <= delta * delta)


def concentrated(rho: Any, delta: Any) -> Any:
    return mp.mpf(0) if no_distance(rho, delta) else zcdp_epsilon(rho, delta)


def response(epsilon: Any, own: Any, delta: Any) -> Any:
    left = (1 - delta) / (1 - own)
    return mp.log(max(mp.mpf(1), mp.exp(epsilon) - (1 - left) * (1 + mp.exp(epsilon))))


def renyi(alpha: Any, loss: Any, delta: Any) -> Any:
    def lacking(epsilon: Any) -> Any:
        return loss - renyi_allowed(alpha, delta, epsilon)

    if no_distance(loss, delta) or lacking(mp.mpf(0)) <= 0:
        return mp.mpf(0)
    most = rdp_epsilon(alpha, loss, delta)
    ends = most, most * mp.mpf("0.999")
    return mp.findroot(lacking, ends, solver="secant", tol=mp.mpf(10) ** -68)


def gaussian(mu: Any, delta: Any) -> Any:
    def excess(epsilon: Any) -> Any:
        return gaussian_profile(mu, epsilon) - delta

    return mp.mpf(0) if excess(0) <= 0 else root(excess, 0, mu * mu + 12 * mu)


def largest_gaussian(epsilon: Any, delta: Any) -> Any:
    return root(lambda mu: delta - gaussian_profile(mu, epsilon), mp.mpf("1e-30"), 64)


def integer_gaussian(variance: Any) -> Any:
    reach = range(1, int(17 * mp.sqrt(variance)) + 17)
    beside = 2 * mp.fsum(mp.exp(-mp.mpf(x * x) / (2 * variance)) for x in reach)
    return 2 * mp.sqrt(2) * mp.erfinv(1 / (1 + beside))


KINDS: dict[str, Conversion] = {
    "pure to zcdp": Conversion(
        {"epsilon": EPSILONS},
        lambda epsilon: PureDP(epsilon).to(ZCDP).rho,
        lambda epsilon: epsilon * mp.tanh(epsilon / 2),
    ),
    "pure to renyi": Conversion(
        {"epsilon": EPSILONS, "alpha": turned(ORDERS, 2)},
        lambda epsilon, alpha: PureDP(epsilon).to(RDP.at(alpha)).epsilon,
        lambda epsilon, alpha: min(epsilon, response_renyi(fraction(epsilon), fraction(alpha))),
    ),
    "pure to gaussian": Conversion(
        {"epsilon": EPSILONS},
        lambda epsilon: PureDP(epsilon).to(GDP).mu,
        lambda epsilon: 2 * mp.sqrt(2) * mp.erfinv(2 * likelier(fraction(epsilon)) - 1),
    ),
    "response at delta": Conversion(
        {
            "epsilon": turned(EPSILONS, 3),
            "own": [F(0), F(1, 10**4), F(0), F(1, 10**8), F(0), F(1, 10**12), F(0), F(0)],
            "delta": DELTAS,
        },
        lambda epsilon, own, delta: at_delta(ApproxDP(epsilon, own), delta),
        response,
    ),
    "zcdp to approximate": Conversion(
        {"rho": RHOS, "delta": turned(DELTAS, 3)},
        lambda rho, delta: at_delta(ZCDP(rho), delta),
        concentrated,
        SEARCHED,
        "1e-9",
    ),
    "approximate zcdp to approximate": Conversion(
        {"rho": RHOS, "own": [each / 3 for each in turned(DELTAS, 2)], "delta": turned(DELTAS, 2)},
        lambda rho, own, delta: at_delta(ApproxZCDP(rho, own), delta),
        lambda rho, own, delta: concentrated(rho, delta - own),
        SEARCHED,
        "1e-9",
    ),
    "zcdp within approximate": Conversion(
        {"epsilon": EPSILONS, "delta": turned(DELTAS, 4)},
        lambda epsilon, delta: ZCDP.within(ApproxDP(epsilon, delta)).rho,
        lambda epsilon, delta: max(2 * delta * delta, zcdp_capacity(epsilon, delta)),
        SEARCHED,
        "1e-9",
        up=False,
    ),
    "renyi to approximate": Conversion(
        {"alpha": ORDERS, "loss": turned(EPSILONS, 5), "delta": turned(DELTAS, 1)},
        lambda alpha, loss, delta: at_delta(RDP(alpha, loss), delta),
        renyi,
        8,
        "1e-7",
    ),
    "gaussian to delta": Conversion(
        {"mu": MUS, "epsilon": turned(EPSILONS, 1)},
        lambda mu, epsilon: GDP(mu).delta(epsilon),
        gaussian_profile,
    ),
    "gaussian to approximate": Conversion(
        {"mu": MUS, "delta": turned(DELTAS, 2)},
        lambda mu, delta: at_delta(GDP(mu), delta),
        gaussian,
        15,
        "1e-14",
    ),
    "gaussian within approximate": Conversion(
        {"epsilon": EPSILONS, "delta": turned(DELTAS, 1)},
        lambda epsilon, delta: GDP.within(ApproxDP(epsilon, delta)).mu,
        largest_gaussian,
        15,
        "1e-14",
        up=False,
    ),
    "group of approximate": Conversion(
        {
            "epsilon": EPSILONS,
            "delta": [F(1, 10**power) for power in (3, 4, 6, 6, 8, 9, 14, 50)],
            "size": [F(size) for size in (1, 2, 3, 4, 5, 6, 2, 9)],
        },
        lambda epsilon, delta, size: ApproxDP(epsilon, delta).group(int(size)).delta,
        lambda epsilon, delta, size: min(
            mp.mpf(1), delta * mp.expm1(size * epsilon) / mp.expm1(epsilon)
        ),
    ),
    "integer laplace to zcdp": Conversion(
        {"sensitivity": [F(width) for width in (1, 1, 2, 3, 1, 5, 2, 40)], "scale": SIZES},
        discrete_laplace_to_zcdp,
        laplace_zcdp,
    ),
    "integer gaussian to gaussian": Conversion(
        {"variance": SIZES},
        discrete_gaussian_to_gdp,
        integer_gaussian,
    ),
    "zcdp to renyi": Conversion(
        {"rho": RHOS[::2], "alpha": ORDERS[1::2]},
        lambda rho, alpha: ZCDP(rho).to(RDP.at(alpha)).epsilon,
        lambda rho, alpha: rho * alpha,
    ),
    "gaussian to zcdp": Conversion(
        {"mu": MUS[::2]},
        lambda mu: GDP(mu).to(ZCDP).rho,
        lambda mu: mu * mu / 2,
    ),
}


def stated(kind: Conversion, given: Given) -> str:
    """What this package states, rounded once more in the same direction."""
    return outward(kind.ours(**given), up=kind.up, digits=kind.digits)


def vectors() -> Iterator[dict[str, Any]]:
    """The vectors of all kinds."""
    for name, kind in KINDS.items():
        for number, values in enumerate(zip(*kind.given.values(), strict=True), 1):
            given = dict(zip(kind.given, values, strict=True))
            yield {
                "id": f"{name} {number}",
                "of": name,
                "given": {field: str(value) for field, value in given.items()},
                "exact": around(kind.true(*map(real, values))),
                "stated": stated(kind, given),
                "rounded": "up" if kind.up else "down",
                "slack": kind.slack,
            }
