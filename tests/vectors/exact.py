"""The exact values of rules, from the formulas of docs/theory by `tests.reference`."""

from collections import Counter
from fractions import Fraction
from typing import Any

from tests import reference
from tests.reference import likelier, response_renyi
from tests.vectors.conversions import concentrated, gaussian
from tests.vectors.decimals import mp, real
from tests.vectors.losses import Written

F = Fraction
Given = dict[str, Any]
Launches = list[tuple[Written, int]]
"""Losses, each with a number of launches."""


def rho_of(loss: Written) -> Any:
    """The rho of a launch."""
    match loss:
        case ["PureDP" | "ApproxDP", epsilon, *_]:
            return real(epsilon) * mp.tanh(real(epsilon) / 2)
        case ["GDP", mu]:
            return real(mu) ** 2 / 2
    return real(loss[1])


def mu_of(loss: Written) -> Any:
    """The mu of a launch."""
    if loss[0] == "GDP":
        return real(loss[1])
    return 2 * mp.sqrt(2) * mp.erfinv(2 * likelier(loss[1]) - 1)


def renyi_of(loss: Written, order: str) -> Any:
    """The Renyi loss of a launch at an order."""
    match loss:
        case ["PureDP", epsilon]:
            return min(real(epsilon), response_renyi(epsilon, order))
        case ["RenyiCurve", orders, epsilons]:
            return real(epsilons[orders.index(order)])
    return by_zcdp(loss, order)


def by_zcdp(loss: Written, order: str) -> Any:
    """A bound on it, by the rho of the launch."""
    return rho_of(loss) * real(order)


def added(launches: Launches, part: Any) -> Any:
    """The sum of a part over all launches."""
    return mp.fsum(times * part(loss) for loss, times in launches)


def squared(loss: Written) -> Any:
    """Epsilon squared."""
    return real(loss[1]) ** 2


def tilted(sums: list[Any], given: Given) -> Any:
    """The least epsilon of the weighted mixture: l - log(1 + 1/s), docs/theory.md 5.8.

    At the l with g(l) + log(1 + s(l)) = log(1/slack), g = log m and s its slope, the condition on l
    is an equality, and its slope there is 0.
    """
    terms = [
        (real(order) - 1, real(weight), loss)
        for order, weight, loss in zip(given["orders"], given["weights"], sums, strict=True)
    ]

    def slope(level: Any) -> tuple[Any, Any]:
        masses = [weight * mp.exp(rate * (level - loss)) for rate, weight, loss in terms]
        mass = mp.fsum(masses)
        return mass, mp.fsum(rate * m for (rate, *_), m in zip(terms, masses, strict=True)) / mass

    def lacking(level: Any) -> Any:
        mass, rate = slope(level)
        return -mp.log(mass) - mp.log(1 + rate) - mp.log(real(given["slack"]))

    level = reference.root(lacking, -100, 1000)
    return max(mp.mpf(0), level - mp.log(1 + 1 / slope(level)[1]))


def rogers_2016(launches: Launches, delta: Any) -> Any:
    """The least epsilon of Theorem 5.1, whose x depends on epsilon."""
    log, spread = -mp.log(delta), added(launches, squared)
    drift = added(launches, lambda loss: real(loss[1]) * mp.expm1(real(loss[1])) / 2)

    def excess(epsilon: Any) -> Any:
        x = epsilon**2 / (mp.mpf("28.04") * log)
        wide = 2 * (spread + x) * (1 + mp.log(spread / x + 1) / 2) * log
        return drift + mp.sqrt(wide) - epsilon

    return reference.root(excess, mp.mpf("1e-9"), 1000)


def least_of(name: str, given: Given, budget: Written, launches: Launches) -> Any:
    """The least epsilon with which a rule admits these launches; None if it is not stated."""
    delta = real(given.get("slack", budget[-1])) if name != "Basic" else None
    match name:
        case "Whitehouse2023":
            spread = added(launches, squared)
            return mp.sqrt(-2 * mp.log(delta) * spread) + spread / 2
        case "ViaZCDP":
            return concentrated(added(launches, rho_of), delta)
        case "Rogers2023":
            rho = added(launches, rho_of)
            return rho + 2 * mp.sqrt(-rho * mp.log(delta))
        case "ViaGDP":
            return gaussian(mp.sqrt(added(launches, lambda loss: mu_of(loss) ** 2)), delta)
        case "Rogers2016":
            return rogers_2016(launches, delta)
        case "ViaRenyi":
            orders = given["orders"]
            sums = [added(launches, lambda loss, a=a: renyi_of(loss, a)) for a in orders]
            return tilted(sums, given)
    return None


BOUNDS: dict[str, tuple[Any, str]] = {
    "LinearOdometer": (reference.linear, "target_epsilon"),
    "MixtureOdometer": (reference.mixture, "gamma"),
    "OneSidedMixtureOdometer": (reference.one_sided, "gamma"),
    "StitchedOdometer": (reference.stitched, "v0"),
    "Rogers2016Odometer": (reference.rogers, "n"),
    "RogersLemma64Odometer": (reference.lemma_64, "x"),
}
"""The boundary of an odometer as a function of V, delta and the parameter that is named."""


def reported(name: str, given: Given, launches: Launches) -> Any:
    """The exact value of what an odometer reports."""
    delta = real(given["delta"])
    if name == "RenyiOdometer":
        of = by_zcdp if "margin" in given else renyi_of
        pure = min(
            added(launches, lambda loss, a=order: of(loss, a))
            - mp.log(real(weight) * delta) / (real(order) - 1)
            for order, weight in zip(given["orders"], given["weights"], strict=True)
        )
    else:
        bound, field = BOUNDS[name]
        pure = bound(2 * added(launches, rho_of), delta, real(given[field]))
    with_delta = any(loss[0].startswith("Approx") and times for loss, times in launches)
    return pure + (real(given["margin"]) if with_delta else 0)


def optimal(losses: Launches, delta: Any) -> Any:
    """The least epsilon at a delta of the composition of responses, docs/theory.md.

    It is the largest log((A - star)/B) over the sums s of +-epsilon_i, A and B the probabilities on
    both data sets of a sum of at least s.
    """
    law: dict[Fraction, Any] = {F(0): mp.mpf(1)}
    good = mp.mpf(1)
    for loss, times in losses:
        epsilon, p = F(loss[1]), likelier(loss[1])
        good *= (1 - real(loss[2] if len(loss) > 2 else 0)) ** times
        for _ in range(times):
            grown: Counter[Fraction] = Counter()
            for value, mass in law.items():
                grown[value + epsilon] += mass * p
                grown[value - epsilon] += mass * (1 - p)
            law = dict(grown)
    star, likely, unlikely, ratio = 1 - (1 - delta) / good, mp.mpf(0), mp.mpf(0), mp.mpf(1)
    for value in sorted(law, reverse=True):
        likely, unlikely = likely + law[value], unlikely + law[value] * mp.exp(-real(value))
        ratio = max(ratio, (likely - star) / unlikely)
    return mp.log(ratio)
