"""Faults in the accounting of rules, and what of the verification finds each of them.

A fault is in the code that writes the ledger and in the process that verifies it, so it is found
only by what does not use the faulty code.
"""

import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import count
from typing import Any

import attrs
import pytest

import composition as c
from composition.compositors import pool
from composition.compositors.ex_post_claims import ExPostAccount
from composition.rules import renyi, residue, rogers, slack, weights
from composition.rules.least_budget import LeastBudget
from composition.rules.menus import menu
from composition.rules.odometers import time_uniform
from curator.verify import VerificationError, verify
from queryable import GDP, ZCDP, ApproxDP, Launch, PureDP
from queryable.losses import Dominated, conversions
from tests.ledgers import edited, events_of
from tests.stored import STORED
from tests.strategies import RandomWord
from tests.unit.curator.verification.test_all_kinds import COARSE, found

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

NUMBERS = count(1)
SMALL, TENTH, LARGE, GAUSSIAN = PureDP("1/50"), PureDP("1/10"), PureDP("1/2"), GDP("1/10")
NEARLY = Fraction(99, 100)
WORD = RandomWord(TENTH)
ADDITIVE = sys.modules["composition.rules.additive"]  # a function of the room has its name
SUMS, CHECK = "it should be", "above the budget"
CAPACITY, LEAVES = "a capacity of", "does not leave"
ADD, MILLIONTH = "add_parts", 1 + Fraction(1, 10**6)


def filtered(rule: Any) -> Callable[[], Any]:
    """Makes a filter, with a budget that no other one has, so that nothing is remembered of it."""
    budget = ApproxDP(1, Fraction(1, 10**6 - next(NUMBERS)))
    return lambda: c.FiltCon(budget, rule)


def pooled() -> Callable[[], Any]:
    """Makes an ex-post filter with a pool."""
    return lambda: c.ExPost(ApproxDP("1/2", "1e-6"), slack="9e-7", lines=2)


def stopped(kind: Any, *given: Any, **named: Any) -> Callable[[], Any]:
    """Makes a filter that a time-uniform odometer stops."""
    return lambda: c.FiltCon(ApproxDP(1, "1e-6"), c.filter_of(kind(*given, **named)))


def less(place: Any, name: str, factor: Fraction = NEARLY) -> Callable[[Any], None]:
    """A function that gives a little less, or with a factor above 1 more, than it should."""
    real = getattr(place, name)

    def faulty(*given: Any, **named: Any) -> Any:
        value = real(*given, **named)
        return None if value is None else type(value)(value * factor)

    return lambda patch: patch.setattr(place, name, faulty)


def computed(place: Any, name: str, value: Callable[[Any], Any]) -> Callable[[Any], None]:
    return constant(place, name, property(value))


def constant(place: Any, name: str, value: Any) -> Callable[[Any], None]:
    return lambda patch: patch.setattr(place, name, value)


MORE = 1 / NEARLY
REAL_OPEN = c.Basic.open
WHITEHOUSE, VIA_ZCDP, ROGERS = c.Whitehouse2023(), c.ViaZCDP(), c.Rogers2023()
MENU, RENYI, RESIDUE = c.Menu("1/100", [1, 5]), c.ViaRenyi([8, 16, 32, 64]), c.GDPResidue()
DELTA = Fraction(1, 10**6)

FAULTS: dict[str, dict[str, tuple[Any, Any, Any]]] = {
    SUMS: {
        "a sum of too little": (
            lambda: c.FiltCon(PureDP(1)),
            TENTH,
            constant(
                ADDITIVE,
                ADD,
                lambda parts, more: tuple(a + b * NEARLY for a, b in zip(parts, more, strict=True)),
            ),
        ),
        "epsilon squared": (filtered(WHITEHOUSE), TENTH, less(weights.Whitehouse2023, "weight")),
        "rho": (filtered(VIA_ZCDP), TENTH, less(weights.ViaZCDP, "weight")),
        "mu squared": (filtered(c.ViaGDP()), GAUSSIAN, less(weights.ViaGDP, "weight")),
        "deltas that are left out": (
            filtered(c.Whitehouse2023("5e-7")),
            ApproxDP("1/100", "1e-8"),
            constant(slack, "delta_of", lambda loss: Fraction(0)),
        ),
        "sums of Renyi losses": (
            filtered(RENYI),
            TENTH,
            constant(renyi, ADD, lambda parts, more: parts),
        ),
        "units of a menu": (filtered(MENU), SMALL, less(menu.Terms, "cost", Fraction(9, 10))),
        "sums of an odometer": (
            lambda: c.OdomCon(ZCDP, c.MixtureOdometer("1e-6", "1/100")),
            TENTH,
            constant(time_uniform, ADD, lambda parts, more: parts),
        ),
        "the least budget of Whitehouse2023": (
            lambda: c.OdomCon(ApproxDP, c.accumulator_of(WHITEHOUSE, ApproxDP, DELTA)),
            TENTH,
            less(weights.Whitehouse2023, "weight"),
        ),
        "an ex-post account": (
            lambda: c.ExPost(PureDP(1)),
            TENTH,
            constant(ExPostAccount, "add", lambda self, loss: self),
        ),
        "the rho of a pool": (
            pooled(),
            ZCDP("1/200"),
            constant(pool, ADD, lambda parts, more: parts),
        ),
    },
    CHECK: {
        "a sum that is not compared": (
            lambda: c.FiltCon(PureDP(1)),
            TENTH,
            constant(ADDITIVE, "at_most", lambda value, most: value <= most * 2),
        ),
        "a weight that is not compared": (
            filtered(WHITEHOUSE),
            LARGE,
            computed(slack.SlackAccount, "within", lambda self: self.weight < 4),
        ),
        "the first advanced filter": (
            filtered(c.Rogers2016()),
            SMALL,
            computed(
                rogers.RogersAccount,
                "within",
                lambda self: self.bound <= self.budget.epsilon * MORE**4,
            ),
        ),
        "the lines of a pool": (pooled(), ZCDP("1/5000"), less(pool, "start_of", Fraction(9, 10))),
        "the slopes of a pool": (
            pooled(),
            ZCDP("1/200"),
            computed(pool.PooledAccount, "pool", lambda self: (self.rho, self.slack)),
        ),
        "a mixture of orders": (filtered(RENYI), SMALL, less(renyi.Mixture, "epsilon", NEARLY**9)),
        "the worst case of a menu": (
            filtered(MENU),
            SMALL,
            computed(menu.MenuAccount, "within", lambda self: self.used < 9000),
        ),
        **{
            f"the bound of {type(each).__name__}": (
                stopped(type(each), **attrs.asdict(each, filter=lambda field, _: field.init)),
                SMALL,
                less(type(each), name, Fraction(9, 10)),
            )
            for each, name in (
                (c.LinearOdometer("1e-6", 1), "boundary"),
                (c.MixtureOdometer("1e-6", "1/100"), "boundary"),
                (c.OneSidedMixtureOdometer("1e-6", "1/100"), "boundary"),
                (c.StitchedOdometer("1e-6", "1/100"), "boundary"),
                (c.Rogers2016Odometer("1e-6", 1000), "boundary"),
                (c.RogersLemma64Odometer("1e-6", "1/100"), "boundary"),
                (c.RenyiOdometer("1e-6", [20, 40]), "pure_bound"),
            )
        },
        "the share of the deltas": (
            stopped(c.MixtureOdometer, "8e-7", "1/100", deltas="9e-9", margin="1/20"),
            ApproxDP("1/100", "4e-9"),
            constant(time_uniform.TimeUniformAccount, "objection", ""),
        ),
        "the margin of the deltas": (
            stopped(c.MixtureOdometer, "5e-7", "1/100", deltas="1e-9", margin="1/2"),
            ApproxDP("1/10", "1e-12"),
            computed(
                time_uniform.TimeUniformAccount,
                "epsilon",
                lambda self: self.odometer.pure_bound(self.pure),
            ),
        ),
    },
    "opens an account with budget": {
        "a budget of twice as much": (
            lambda: c.FiltCon(PureDP("97/100")),
            TENTH,
            constant(c.Basic, "open", lambda rule, budget: REAL_OPEN(rule, budget + budget)),
        )
    },
    "opens an account with slack": {
        "half of the slack": (filtered(c.ViaZCDP()), TENTH, less(slack, "share_of", Fraction(1, 2)))
    },
    CAPACITY: {
        "its capacity": (
            filtered(WHITEHOUSE),
            TENTH,
            less(weights.Whitehouse2023, "capacity", MORE),
        ),
        "the largest rho": (filtered(VIA_ZCDP), TENTH, less(conversions, "largest_zcdp", MORE)),
        "the capacity of Brownian noise": (
            filtered(ROGERS),
            TENTH,
            less(weights.Rogers2023, "capacity", MORE),
        ),
        "the largest mu": (filtered(c.ViaGDP()), GAUSSIAN, less(conversions, "largest_gdp", MORE)),
    },
    "has a drift of": {"the drift": (filtered(c.Rogers2016()), TENTH, less(rogers, "drift"))},
    LEAVES: {
        "what a response leaves": (filtered(RESIDUE), TENTH, less(residue, "residue", MILLIONTH)),
        "what the first response leaves": (
            filtered(RESIDUE),
            TENTH,
            less(residue, "first_residue", MILLIONTH),
        ),
        "what a Gaussian leaves": (
            filtered(RESIDUE),
            GAUSSIAN,
            less(residue, "sqrt_down", MILLIONTH),
        ),
    },
    "more than the budget's delta": {
        "the delta of the deltas": (
            stopped(c.MixtureOdometer, "9e-7", "1/100", deltas="9e-9", margin="1/20"),
            ApproxDP("1/100", "4e-9"),
            constant(time_uniform, "round_up", lambda formula, *values: values[0]),
        )
    },
    "does not list the losses": {
        "losses that are not listed": (
            lambda: c.OdomCon(Dominated, COARSE),
            TENTH,
            constant(
                LeastBudget,
                "add",
                lambda self, loss: LeastBudget(
                    self.rule, self.line, self.losses, self.ceiling.add(loss), loss
                ),
            ),
        )
    },
}
"""What is said of each fault, and where it is: a compositor, a loss, and what is patched."""


def _launches(mechanism: Any, loss: Any) -> int:
    """How many launches the faulty code admits, but at most a few hundred."""
    account = mechanism._opened()
    stated = loss if isinstance(mechanism, c.ExPost) else loss.to(mechanism.child_measure)
    for launches in range(1, 300):
        account = account.add(stated)
        if not getattr(account, "within", launches < 3):
            return launches
    return 300


@pytest.mark.parametrize(
    ("told", "fault"), [(told, fault) for told, faults in FAULTS.items() for fault in faults]
)
def test_a_fault_is_found(told: str, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, loss, patch = FAULTS[told][fault]
    patch(monkeypatch)
    faulty: Any = mechanism()
    script = [Launch(RandomWord(loss))] * _launches(faulty, loss)
    events = events_of(faulty, script, (1, 2, 3))
    with pytest.raises(VerificationError) as caught:
        verify(events, codec=STORED)
    monkeypatch.undo()
    assert told in str(caught.value)


@pytest.mark.parametrize("odometer", [False, True])
def test_weights_that_the_rule_states_are_those_of_its_accounts(*, odometer: bool) -> None:
    """Weights that a rule does not state are computed in floats, and are not compared."""
    rule = c.ViaRenyi([2, 8], ["1/3", "2/3"])
    mechanism: Any = c.FiltCon(ApproxDP(3, "1e-6"), rule)
    if odometer:
        accumulator = c.accumulator_of(rule, ApproxDP, "1e-6")
        mechanism = c.OdomCon(accumulator.measure, accumulator)
    events = events_of(mechanism, [Launch(WORD)] * 2, (1, 2, 3))

    def exchanged(body: dict[str, Any]) -> None:
        for charge in body.get("charges", ()):
            weights = '"weights":["1/3","2/3"]'
            head, mixture, rest = charge["account"].partition('"mixture":')
            assert weights in rest
            charge["account"] = head + mixture + rest.replace(weights, '"weights":["2/3","1/3"]', 1)

    assert "has weights" in found([edited(event, exchanged) for event in events])
