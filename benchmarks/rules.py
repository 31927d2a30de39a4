"""Rules: the time of a decision and of the set-up, and the launches that a budget admits."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import count, cycle
from random import Random
from typing import Any

import attrs

from benchmarks.measure import Goal, Row, Work, at_most, seconds
from composition import (
    Basic,
    GDPResidue,
    Menu,
    Rogers2016,
    Rule,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    admitted,
    recommend,
)
from composition.rules.base import Account
from composition.rules.optimal import optimal_delta
from queryable import ZCDP, ApproxDP, Loss, PureDP
from queryable.losses import RenyiCurve

FEW, MANY = 100, 10_000
EACH = Fraction(1, 100)
SMALLER = [PureDP(EACH - Fraction(n, 10**6)) for n in range(997)]
"""Different losses, so that no decision comes from a cache."""
DELTA = Fraction(1, 10**6)
BUDGET, LARGER = ApproxDP(1, DELTA), ApproxDP(5, DELTA)
ORDERS = (2, 4, 8, 16, 32, 64)
UNITS = (1, 2, 3, 5, 10, 20)
"""A menu of 0.01, 0.02, 0.03, 0.05, 0.1 and 0.2."""
PUBLISHED = (Basic(), Rogers2016(), Whitehouse2023())


@attrs.frozen
class Decided:
    """A rule under a budget that admits `MANY` launches, and the limit for one decision."""

    name: str
    rule: Rule
    budget: Loss
    limit: float
    shown: str


DECIDED = (
    Decided("basic, epsilon", Basic(), PureDP(MANY), 10e-6, "10 us"),
    Decided("basic, zCDP", Basic(), ZCDP(MANY), 10e-6, "10 us"),
    Decided("zCDP in (epsilon, delta)", ViaZCDP(), ApproxDP(9, DELTA), 10e-6, "10 us"),
    Decided("Renyi at 6 orders", Basic(), RenyiCurve(ORDERS, [MANY] * 6), 1e-3, "1 ms"),
    Decided("weighted Renyi, 6 orders", ViaRenyi(ORDERS), ApproxDP(9, DELTA), 1e-3, "1 ms"),
    Decided("menu of 6", Menu(EACH, UNITS), LARGER, 50e-6, "50 us"),
    Decided("GDP residue", GDPResidue(), LARGER, 5e-3, "5 ms"),
)


def decisions() -> Iterator[Row]:
    """The time to decide whether one more launch of a given loss fits."""
    for each in DECIDED:
        measure = each.rule.child_measure(each.budget)
        few = each.rule.open(each.budget).add_many(PureDP(EACH).to(measure), FEW)
        many = few.add_many(PureDP(EACH).to(measure), MANY - FEW)
        assert many.within, each
        losses = [loss.to(measure) for loss in SMALLER]
        measured = seconds(
            {"few": (decision(few, losses), 60), "many": (decision(many, losses), 60)}
        )
        ratio = measured["many"] / measured["few"]
        yield Row(
            "rules",
            f"decide after {MANY:,} launches: {each.name}",
            measured["many"],
            goals=(
                at_most(measured["many"], each.limit, each.shown),
                Goal(f"as after {FEW} ({ratio:.2f}x)", ratio <= 1.25),
            ),
        )


def decision(account: Account, losses: list[Any]) -> Work:
    following = cycle(losses)
    return lambda: account.add(next(following)).within


def set_up() -> Iterator[Row]:
    """The time to set up a menu. The slack differs each time, because results are cached."""
    budget, numbers = ApproxDP("2.02", DELTA), count()

    def opened() -> Any:
        return Menu(EACH, UNITS, slack=DELTA * (1 - Fraction(next(numbers), 10**6))).open(budget)

    units = opened().spent().of
    (taken,) = seconds({"": (opened, 1)}).values()
    work = f"set up a menu of {len(UNITS)} over {units:,} units"
    yield Row("rules", work, taken, goals=(at_most(taken, 1.0, "1 s"),))


def optimum(budget: ApproxDP, each: Fraction) -> int:
    """Return how many launches fit if all are fixed in advance."""
    low, high = 0, 1
    while fits(budget, each, high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(budget, each, middle) else (low, middle)
    return low


def fits(budget: ApproxDP, each: Fraction, launches: int) -> bool:
    return optimal_delta([PureDP(each)] * launches, budget.epsilon) <= budget.delta


def admissions() -> Iterator[Row]:
    """Launches admitted at epsilon = 1, delta = 1e-6."""
    loss, peers = PureDP(EACH), {}
    peers["Whitehouse"] = admitted(BUDGET, Whitehouse2023(), loss)
    peers["limit"] = best = optimum(BUDGET, EACH)
    rules = (("menu of 6", Menu(EACH, UNITS), 545), ("GDP residue", GDPResidue(), 555))
    for name, rule, least in rules:
        ours = admitted(BUDGET, rule, loss)
        yield counted(f"launches of 0.01 admitted: {name}", ours, peers, least)
    ours = recommend(BUDGET, [loss] * (best + 100)).admitted
    yield counted("launches of 0.01 admitted: recommend", ours, peers, -(-97 * best // 100))


def counted(work: str, ours: int, peers: dict[str, int], least: int) -> Row:
    goal = Goal(f">= {least} ({ours / peers['limit']:.1%} of the limit)", ours >= least)
    return Row("rules", work, ours, "", peers=dict(peers), goals=(goal,))


def recommendations() -> Iterator[Row]:
    """`recommend` beside the best published rule, for which the worst order is used too."""
    random, shares = Random(7), []
    for _ in range(20):
        sizes = [Fraction(random.randint(1, 20), 100) for _ in range(random.randint(1, 4))]
        plan = [PureDP(random.choice(sizes)) for _ in range(random.randint(20, 300))]
        best = max(heaviest_first(rule, plan) for rule in PUBLISHED)
        shares.append(recommend(BUDGET, plan).admitted / best)
    goal = Goal("never below 1", min(shares) >= 1)
    work = "recommend beside the best published rule, least of 20 plans"
    yield Row("rules", work, min(shares), "", goals=(goal,))


def heaviest_first(rule: Rule, plan: list[PureDP]) -> int:
    account, measure = rule.open(BUDGET), rule.child_measure(BUDGET)
    for launched, loss in enumerate(sorted(plan, key=lambda loss: loss.epsilon, reverse=True)):
        account = account.add(loss.to(measure))
        if not account.within:
            return launched
    return len(plan)


def rows() -> Iterator[Row]:
    yield from decisions()
    yield from set_up()
    yield from admissions()
    yield from recommendations()
