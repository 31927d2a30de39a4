"""What can be built has a true claim: rules, odometers, accounts and compositors of hostile fields.

A walk builds a value, then one that holds it, and so on up to a compositor. Whatever a constructor
accepts opens; counts and responses are launched in it, and what was admitted is compared with every
claim and report. A line of budgets that are not totally ordered is found at 1b177ec, where any
number of counts fits, and so are accounts that admit more than their budget.
"""

from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

import attrs
import pytest

import composition
import composition.rules
from composition import AtMostADay, Basic, FiltCon, OdomCon
from composition.advice.planning import Candidate, Recommendation
from composition.compositors.blocks.accounts import Block
from composition.rules import Account
from composition.rules.additive import AdditiveAccount, RunningSum
from composition.rules.duality import AccumulatorRule, RuleAccumulator
from composition.rules.least_budget import Line
from composition.rules.menus.costs import Fitted
from composition.rules.menus.menu import Units
from composition.rules.slack import SlackRule
from curator.codec.schema import ENTRIES
from queryable import RDP, InteractiveMechanism, PureDP
from queryable.losses import RenyiCurve
from tests.audit.built import ACCOUNTS, COMPOSITORS, RULES, Maker
from tests.audit.spending import ATOMS, overspent, spent
from tests.audit.true_losses import Atom

F = Fraction
WITHOUT_CLAIM = {AtMostADay, Candidate, Fitted, Recommendation, Block, Units}
"""A policy, what recommends, a name, and what is only shown."""


@attrs.define
class Found:
    """What walks have found."""

    accepted: Counter[type] = attrs.field(factory=Counter)
    wrong: list[str] = attrs.field(factory=list)

    def walk(self, maker: Maker) -> None:
        """Build values that hold one another, and spend what they admit."""
        for value in maker.walk():
            self.accepted[type(value)] += 1
            if isinstance(value, Account) and hasattr(value, "within"):
                found = overspent(value, maker.random.choice(ATOMS), 30)
                self.wrong += [f"{value}: {found}"] if found else []
            if isinstance(value, InteractiveMechanism):
                child = maker.any_of(InteractiveMechanism) if maker.random.random() < 0.5 else None
                self.wrong += spent(value, child, maker.random, 8)
        self.wrong += maker.complaints
        maker.complaints.clear()


@pytest.mark.parametrize(
    ("seed", "walks"), [(1, 60), *(pytest.param(n, 700, marks=pytest.mark.slow) for n in (2, 3, 4))]
)
def test_what_is_built_has_a_true_claim(seed: int, walks: int) -> None:
    maker, found = Maker(Random(seed)), Found()
    for _ in range(walks):
        found.walk(maker)
    assert found.wrong == []
    assert sum(found.accepted.values()) > walks / 2


def test_every_rule_account_and_compositor_is_built() -> None:
    """All that has a tag, and all that is exported."""
    tagged = {kind for entry in ENTRIES for kind in entry.classes}
    own = {kind for kind in tagged if kind.__module__.startswith("composition.")}
    for package in (composition, composition.rules):
        exported = (getattr(package, name) for name in package.__all__)
        own |= {kind for kind in exported if isinstance(kind, type) and attrs.has(kind)}
    own -= {composition.TimeUniform, SlackRule}  # bases
    built = {*RULES, *ACCOUNTS, *COMPOSITORS}
    assert own - built - WITHOUT_CLAIM == set()
    assert not built & WITHOUT_CLAIM
    assert len(built) > 40
    for kind in (*RULES, *ACCOUNTS, *COMPOSITORS):
        maker = Maker(Random(1))
        assert any(maker.made(kind) is not None for _ in range(100)), f"none of {kind} is accepted"


CURVE = RenyiCurve([2, 1000], [200, 1])
CHEAP = Atom(variance=F(1, 6))


def of_a_line(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A filter over budgets that are not totally ordered, as it could be built once."""
    monkeypatch.setattr(Line, "__attrs_post_init__", lambda self: None)
    monkeypatch.delattr(RuleAccumulator, "filter")
    line = Line(CURVE.zero(), F(1))
    return FiltCon(CURVE, AccumulatorRule(RuleAccumulator(Basic(), line)))


def test_a_line_of_budgets_that_are_not_ordered_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """33 counts at variance 1/6 lose 99,000 at order 1000, for a claim of 1."""
    one = Random(1)
    one.choice = lambda atoms: CHEAP  # type: ignore[method-assign, assignment]
    (*found, _) = spent(of_a_line(monkeypatch), None, one, 40)
    assert "Renyi at 1000 is 99000" in found[0]
    assert "claimed 1.0" in found[0]


@pytest.mark.parametrize("build", [lambda: FiltCon(PureDP(1)), lambda: OdomCon(RDP.at(2))])
def test_a_false_total_is_found(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter that admits everything, and an odometer that forgets a launch."""
    assert spent(build(), None, Random(3), 8) == []
    monkeypatch.setattr(AdditiveAccount, "within", True)
    monkeypatch.setattr(RunningSum, "add", lambda self, loss: self)
    assert spent(build(), None, Random(3), 8) != []
