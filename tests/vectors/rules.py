"""Vectors of rules: what filters admit, what odometers report, and what fixed losses add up to.

Exact values are those of the formulas in docs/theory, by `tests.reference`.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import composition as c
from composition import Rule, TimeUniform, filter_of
from composition.rules.optimal import optimal_epsilon
from queryable.losses import AdditiveLoss, ApproxDP, ApproxZCDP, Loss
from queryable.losses.renyi import orders_in
from tests.reference import menu_worst_case
from tests.vectors.decimals import around, mp, outward, real
from tests.vectors.exact import Given, Launches, least_of, optimal, reported
from tests.vectors.losses import Written, loss_of

F = Fraction
SMALL, TINY = "1/1000000", "1/1000000000"
ONE = ["ApproxDP", "1", SMALL]

ODD = [(["PureDP", "1/10"], 2), (["PureDP", "1/20"], 3), (["PureDP", "1/100"], 7)]
MIXED = [(["PureDP", "1/20"], 2), (["ZCDP", "1/1000"], 3), (["ApproxDP", "1/30", TINY], 5)]
FIRST = (["PureDP", "1/10"], 1000)
GAUSSIANS = [(["GDP", "1/20"], 4), (["GDP", "1/100"], 9)]
HALF = {"slack": "1/2000000"}
RENYI = {"orders": ["4", "16", "40"], "weights": ["1/4", "1/2", "1/4"]}
MENU = {"unit": "1/10", "menu": [1, 2, 4], "costs": [1, 4, 16]}
SUMS: list[tuple[Written, Launches]] = [
    (["PureDP", "1"], [(["PureDP", "1/3"], 2), (["PureDP", "1/10"], 5), (["PureDP", "1/30"], 2)]),
    (["PureDP", "1"], [(["PureDP", "1/10"], 10), (["PureDP", "1/100000000000000000"], 1)]),
    (ONE, [(["PureDP", "1/4"], 2), (["ApproxDP", "1/8", "1/3000000"], 5)]),
    (ONE, [(["ApproxDP", "1/100", "1/7000000"], 9), (["PureDP", "9/10"], 2)]),
    (["ZCDP", "1/8"], [(["ZCDP", "1/50"], 5), (["PureDP", "1/10"], 9), (["GDP", "1/4"], 2)]),
    (["ZCDP", "2"], [(["GDP", "1"], 3), (["ZCDP", "1/2"], 2), (["ZCDP", "1/1000"], 1)]),
    (["GDP", "1"], [(["GDP", "1/3"], 10), (["GDP", "1/1000"], 1)]),
    (["GDP", "3/2"], [(["GDP", "4/5"], 2), (["GDP", "9/10"], 2), (["GDP", "1/7"], 40)]),
    (["ApproxZCDP", "1/10", SMALL], [(["ZCDP", "1/30"], 2), (["ApproxZCDP", "1/90", TINY], 9)]),
    (["RenyiCurve", ["2", "8"], ["1", "2"]], [(["ZCDP", "1/10"], 3), (["ZCDP", "1/64"], 2)]),
    (["Dominated", "1", "1", SMALL], [(["PureDP", "1/3"], 2), (["GDP", "1/2"], 5), GAUSSIANS[0]]),
]  # fmt: skip

FILTERS: list[tuple[str, Given, Written, Launches]] = [
    *(("Basic", {}, budget, launches) for budget, launches in SUMS),
    ("Whitehouse2023", {"slack": SMALL}, ONE, ODD),
    ("Whitehouse2023", {"slack": SMALL}, ["ApproxDP", "2", SMALL], [FIRST]),
    ("Whitehouse2023", HALF, ONE, [(["ApproxDP", "1/30", TINY], 9), (["PureDP", "1/15"], 7)]),
    ("Whitehouse2023", HALF, ONE, [(["ApproxDP", "1/30", "1/10000000"], 9)]),
    ("Whitehouse2023", {"slack": "1/1000"}, ["ApproxDP", "1/10", "1/1000"], ODD[1:]),
    ("ViaZCDP", {"slack": SMALL}, ONE, ODD),
    ("ViaZCDP", {"slack": SMALL}, ["ApproxDP", "2", SMALL], [FIRST]),
    ("ViaZCDP", HALF, ONE, MIXED),
    ("ViaZCDP", HALF, ONE, [(["ApproxZCDP", "1/400", "1/10000000"], 9)]),
    ("ViaZCDP", {"slack": "1/1000"}, ["ApproxDP", "5", "1/1000"], [(["ZCDP", "1/9"], 9), *ODD]),
    ("ViaZCDP", {"slack": "9/10000000"}, ONE, [(["GDP", "1/20"], 9), *MIXED]),
    ("ViaGDP", {"slack": SMALL}, ONE, GAUSSIANS),
    ("ViaGDP", {"slack": SMALL}, ["ApproxDP", "2", SMALL], [(["PureDP", "1/10"], 99)]),
    ("ViaGDP", {"slack": "1/1000"}, ["ApproxDP", "1", "1/1000"], [*ODD, *GAUSSIANS]),
    ("ViaGDP", {"slack": TINY}, ["ApproxDP", "1/2", TINY], GAUSSIANS),
    ("Rogers2016", {}, ONE, [FIRST, (["PureDP", "1/100"], 5)]),
    ("Rogers2016", {}, ["ApproxDP", "2", SMALL], [FIRST]),
    ("Rogers2016", {}, ["ApproxDP", "1", "1/1000"], ODD),
    ("Rogers2023", {"slack": SMALL}, ONE, ODD),
    ("Rogers2023", HALF, ["ApproxDP", "2", SMALL], MIXED),
    ("ViaRenyi", {**RENYI, "slack": SMALL}, ONE, ODD),
    ("ViaRenyi", {**RENYI, "slack": SMALL}, ["ApproxDP", "2", SMALL], [(["ZCDP", "1/200"], 99)]),
    ("ViaRenyi", {"orders": ["20"], "weights": ["1"], "slack": SMALL}, ONE, ODD),
    ("ViaRenyi", {**RENYI, "slack": TINY}, ["ApproxDP", "3", TINY], [
        (["RenyiCurve", RENYI["orders"], ["1/20", "1/5", "2"]], 2), *ODD
    ]),
    ("GDPResidue", {"slack": SMALL}, ONE, [(["GDP", "1/20"], 30), (["GDP", "1/100"], 30)]),
    ("Menu", {**MENU, "slack": SMALL}, ["ApproxDP", "5/2", SMALL], [*ODD, FIRST]),
    ("Menu", {**MENU, "slack": SMALL}, ["ApproxDP", "2", SMALL], [(["PureDP", "1/7"], 9), *ODD]),
    ("Menu", {**MENU, **HALF}, ONE, [
        (["ApproxDP", "1/10", "1/5000000"], 5), (["PureDP", "1/2"], 1)
    ]),
    ("Menu", {"unit": "1/5", "menu": [1, 3], "costs": [1, 5], "slack": "1/1000"},
        ["ApproxDP", "2", "1/1000"], [(["PureDP", "3/5"], 1), (["PureDP", "1/5"], 20)]),
]  # fmt: skip

SHARES = {"deltas": "1/10000000", "margin": "1/10"}
STEPS: Launches = [(["PureDP", "1/10"], 1), (["ZCDP", "1/200"], 4), (["PureDP", "1/2"], 8)]
WITH_DELTAS: Launches = [(["PureDP", "1/10"], 1), (["ApproxDP", "1/10", TINY], 3)]
ODOMETERS: list[tuple[str, Given, Launches]] = [
    ("LinearOdometer", {"delta": SMALL, "target_epsilon": "1"}, STEPS),
    ("LinearOdometer", {"delta": "1/1000", "target_epsilon": "3", **SHARES}, WITH_DELTAS),
    ("MixtureOdometer", {"delta": SMALL, "gamma": "1/10"}, STEPS),
    ("MixtureOdometer", {"delta": "1/1000", "gamma": "1", **SHARES}, WITH_DELTAS),
    ("OneSidedMixtureOdometer", {"delta": SMALL, "gamma": "1/10"}, STEPS),
    ("OneSidedMixtureOdometer", {"delta": TINY, "gamma": "1/3"}, STEPS),
    ("OneSidedMixtureOdometer", {"delta": "1/1000", "gamma": "1", **SHARES}, WITH_DELTAS),
    ("StitchedOdometer", {"delta": SMALL, "v0": "1/100"}, STEPS),
    ("StitchedOdometer", {"delta": "1/1000", "v0": "1", **SHARES}, WITH_DELTAS),
    ("Rogers2016Odometer", {"delta": SMALL, "n": "1000"}, STEPS),
    ("Rogers2016Odometer", {"delta": "1/1000", "n": "3"}, STEPS),
    ("RogersLemma64Odometer", {"delta": SMALL, "x": "1/10"}, STEPS),
    ("RenyiOdometer", {"delta": SMALL, "orders": ["2", "8"], "weights": ["1/3", "2/3"]}, STEPS),
    ("RenyiOdometer", {
        "delta": SMALL, "orders": ["4", "16", "64"], "weights": ["1/4", "1/2", "1/4"]
    }, STEPS),
    ("RenyiOdometer", {"delta": TINY, "orders": ["8"], "weights": ["1"], **SHARES}, WITH_DELTAS),
]  # fmt: skip
STOPPED = (0, 2, 3, 4, 7, 9, 11)
"""The odometers that are tried as filters too, at the epsilon that their last launch reaches."""

FIXED: list[tuple[Launches, str]] = [
    ([(["PureDP", "1/10"], 10)], SMALL),
    ([(["PureDP", "1"], 3)], "1/1000"),
    ([(["ApproxDP", "1/2", TINY], 6)], SMALL),
    ([(["PureDP", "1/20"], 60)], SMALL),
    ([(["PureDP", "1/3"], 4), (["ApproxDP", "1/7", "1/10000000"], 5)], SMALL),
    ([(["PureDP", "2"], 1), (["PureDP", "1/10"], 20)], TINY),
    ([(["ApproxDP", "0", "1/1000"], 3), (["PureDP", "1/4"], 8)], "1/100"),
    ([(["PureDP", "1/10"], 2)], "1/2"),
]


# What the rules say.


def rule_of(name: str, given: Given) -> Rule:
    """The rule of a vector."""
    rule: Rule = getattr(c, name)(**given)
    return rule


def odometer_of(name: str, given: Given) -> TimeUniform:
    """The odometer of a vector."""
    odometer: TimeUniform = getattr(c, name)(
        **{field: int(value) if field == "n" else value for field, value in given.items()}
    )
    return odometer


def launched(account: Any, measure: Any, launches: Launches) -> tuple[Any, list[int]]:
    """The account after launches, and how many of each were admitted."""
    counts = []
    for text, times in launches:
        loss, admitted = loss_of(text).to(measure), 0
        for _ in range(times):
            grown = account.add(loss)
            if not grown.within:
                break
            account, admitted = grown, admitted + 1
        counts.append(admitted)
    return account, counts


def nearly_all(account: Any) -> Launches:
    """A launch of nearly all that is left, and one that no longer fits."""
    left: Loss = account.remaining()
    assert isinstance(left, AdditiveLoss)
    first = left.parts[0]
    if orders := orders_in(left):
        rho = Fraction(outward(first / orders[0], up=False, digits=6))
        return [(["ZCDP", str(rho)], 1), (["ZCDP", str(rho / 50)], 1)]
    name = {ApproxDP: "PureDP", ApproxZCDP: "ZCDP"}.get(type(left), type(left).__name__)
    if name == "Dominated":
        return []
    value = left.mu if name == "GDP" else first  # type: ignore[attr-defined]
    most = Fraction(outward(value, up=False, digits=6))
    return [([name, str(most)], 1), ([name, str(most / 50)], 1)] if most else []


def spent(name: str, account: Any) -> list[str] | None:
    """The exact sums of an account, where they are rational."""
    if name == "Basic":
        return [str(part) for part in account.sum.parts]
    if name == "Menu":
        return [str(account.used), str(account.deltas)]
    if name in ("Whitehouse2023", "ViaGDP"):
        return [str(account.weight), str(account.deltas)]
    return None


# The vectors.

PRECISION = {
    "ViaZCDP": (12, "1e-9"),
    "Rogers2016": (15, "1e-14"),
    "ViaGDP": (15, "1e-14"),
    "ViaRenyi": (9, "1e-8"),
}
"""Digits of what is stated, and its relative error, where a search is in floats or ends early."""
FINE = (20, "1e-19")


def filtering(name: str, given: Given, budget: Written, launches: Launches) -> dict[str, Any]:
    """The vector of a filter."""
    limit, rule = loss_of(budget), rule_of(name, given)
    measure = rule.child_measure(limit)
    account, counts = launched(rule.open(limit), measure, launches)
    more = nearly_all(account)
    account, further = launched(account, measure, more)
    launches, counts = [*launches, *more], [*counts, *further]
    kept = [(loss, count) for (loss, _), count in zip(launches, counts, strict=True)]
    found: dict[str, Any] = {
        "filter": {"rule": name, **given},
        "budget": budget,
        "launches": [[*launch, count] for launch, count in zip(launches, counts, strict=True)],
    }
    if name == "Menu":
        priced = dict(zip(given["menu"], given["costs"], strict=True))
        step = F(given["unit"])
        worst = menu_worst_case(F(budget[1]), step, priced, account.used)
        found["units"] = account.terms.units
        if worst:  # for none, a number below all others is stated
            ours = F(account.terms.worst[account.used])
            found["worst"] = enclosure(worst, ours, 10, "1e-9")
    elif (least := least_of(name, given, budget, kept)) is not None:
        found["least"] = enclosure(least, account.least(), *PRECISION.get(name, FINE))
    sums = spent(name, account)
    return found if sums is None else {**found, "spent": sums}


def enclosure(true: Any, ours: Fraction, digits: int = 25, slack: str = "1e-24") -> dict[str, Any]:
    """An exact value, what is stated for it, and by how much that may be above."""
    return {"exact": around(true), "stated": outward(ours, up=True, digits=digits), "slack": slack}


def reporting(name: str, given: Given, launches: Launches) -> dict[str, Any]:
    """The vector of an odometer."""
    odometer = odometer_of(name, given)
    account, reports = odometer.open(), []
    for place, (loss, times) in enumerate(launches, 1):
        for _ in range(times):
            account = account.add(loss_of(loss).to(odometer.measure))
        reports.append(enclosure(reported(name, given, launches[:place]), account.epsilon))
    total = real(given["delta"])
    if "margin" in given:
        total += real(given["deltas"]) / -mp.expm1(-real(given["margin"]))
    return {
        "odometer": {"name": name, **given},
        "launches": [list(each) for each in launches],
        "reports": reports,
        "delta": enclosure(total, odometer.total_delta),
    }


def stopping(name: str, given: Given, launches: Launches) -> dict[str, Any]:
    """The vector of an odometer that runs as a filter: its last launches are refused."""
    odometer = odometer_of(name, given)
    limit = outward(reported_after(odometer, launches[:2]) * F(11, 10), up=True, digits=3)
    budget = ["ApproxDP", str(F(limit)), str(F(outward(odometer.total_delta, up=True, digits=3)))]
    rule = filter_of(odometer)
    account, counts = launched(rule.open(loss_of(budget)), odometer.measure, launches)
    kept = [(loss, count) for (loss, _), count in zip(launches, counts, strict=True)]
    return {
        "filter": {"rule": "filter of", "odometer": {"name": name, **given}},
        "budget": budget,
        "launches": [[*launch, count] for launch, count in zip(launches, counts, strict=True)],
        "least": enclosure(reported(name, given, kept), account.least()),
    }


def reported_after(odometer: TimeUniform, launches: Launches) -> Fraction:
    """What an odometer reports after launches."""
    return odometer.bound(loss_of(loss) for loss, times in launches for _ in range(times))


def fixed(losses: Launches, delta: str) -> dict[str, Any]:
    """The vector of losses that are fixed in advance."""
    ours = optimal_epsilon([loss_of(loss) for loss, times in losses for _ in range(times)], delta)
    return {
        "fixed": [list(each) for each in losses],
        "delta": delta,
        "epsilon": enclosure(optimal(losses, real(delta)), ours),
    }


def vectors() -> Iterator[dict[str, Any]]:
    """The vectors of all rules."""
    made = [
        *(filtering(*each) for each in FILTERS),
        *(reporting(*each) for each in ODOMETERS),
        *(stopping(*ODOMETERS[place]) for place in STOPPED),
        *(fixed(*each) for each in FIXED),
    ]
    numbers: Counter[str] = Counter()
    for vector in made:
        kind = next(iter(vector))
        numbers[kind] += 1
        yield {"id": f"{kind} {numbers[kind]}", **vector}
