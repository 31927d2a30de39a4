"""The accumulator of a rule whose weights depend on its budget: more than the claimed delta.

`ViaRenyi(orders)` without weights gives half of them to the order that suits the budget. The order
is 18.85 for budgets up to epsilon = 3.00101, and 6 from there on. "The least budget that admits the
launches", read as an accumulator, is within epsilon = 3.0011 if either weighting fits: that is the
attack of test_some_order_fits.py again. The binary mechanisms here were found by a search.
"""

from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import (
    Basic,
    GDPResidue,
    Menu,
    Rogers2016,
    Rogers2023,
    StitchedOdometer,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    accumulator_of,
    filter_of,
)
from composition.rules import Account, Additive, Rule
from queryable import RDP, ApproxDP, PureDP
from queryable.losses import RenyiCurve
from tests.reference import beside_response, mp, real

ORDERS = (Fraction(6), Fraction("18.85"), Fraction(100))
DELTA = Fraction(1, 10**6)
BUDGET = ApproxDP("3.0011", DELTA)
SMALLER = ApproxDP("3.001014", DELTA)
FIRST = Fraction(7, 100)
AFTER = {True: ("0.0252", "-9.5925"), False: ("0.1405", "-12.828")}
"""After a yes and after a no: by how much the loss passes epsilon, and the log-probability."""


@attrs.frozen
class SomeBudgetAccount(Account):
    """Naive: [G <= d] with G the least budget that admits, whatever weights it has."""

    accounts: tuple[Any, ...]

    def add(self, loss: Any) -> "SomeBudgetAccount":
        return SomeBudgetAccount(tuple(each.add(loss) for each in self.accounts))

    @property
    def within(self) -> bool:
        return any(each.within for each in self.accounts)

    def total(self) -> ApproxDP:
        return BUDGET

    def remaining(self) -> Any:
        raise AssertionError


def naive() -> Account:
    """Two of the budgets within the bound are enough."""
    rule = ViaRenyi(ORDERS)
    return SomeBudgetAccount((rule.open(SMALLER), rule.open(BUDGET)))


def sign(yes: bool) -> int:
    return 1 if yes else -1


def binary(yes: bool) -> tuple[RenyiCurve, Any]:
    """The mechanism launched after an answer: its loss, and what it gains at the budget's epsilon.

    It says "bad" with probability p, on the neighbour with p*e^-loss.
    """
    beyond, log_p = (real(text) for text in AFTER[yes])
    loss = real(BUDGET.epsilon) - sign(yes) * real(FIRST) + beyond
    p, q = mp.exp(log_p), mp.exp(log_p - loss)

    def divergence(a: Any, b: Any, alpha: Any) -> Any:
        moment = a**alpha * b ** (1 - alpha) + (1 - a) ** alpha * (1 - b) ** (1 - alpha)
        return mp.log(moment) / (alpha - 1)

    values = [max(divergence(p, q, real(a)), divergence(q, p, real(a))) for a in ORDERS]
    curve = RenyiCurve(ORDERS, [Fraction(mp.nstr(value, 25)) for value in values])
    return curve, p * -mp.expm1(-beyond)


def admits(account: Account, yes: bool) -> bool:
    """Whether the whole path is."""
    start = account.add(PureDP(FIRST).to(RDP.at(*ORDERS)))
    return start.within and start.add(binary(yes)[0]).within


def test_the_budget_chosen_by_an_answer_breaks_the_claim() -> None:
    """Both paths are admitted by some budget within (3.0011, 1e-6), and reach 1.048 delta."""
    assert admits(naive(), yes=True)
    assert admits(naive(), yes=False)
    for fixed in naive().accounts:  # type: ignore[attr-defined]
        assert not (admits(fixed, yes=True) and admits(fixed, yes=False))

    def profile(t: Any) -> Any:
        return binary(t < real(BUDGET.epsilon))[1]

    true = beside_response(FIRST, profile, real(BUDGET.epsilon))
    assert real("1.048e-6") < true < real("1.049e-6")


def test_a_rule_with_weights_by_budget_has_no_accumulator() -> None:
    """The refusal names what helps; weights of its own do, and so does a single order."""
    with pytest.raises(ValueError, match=r"monotone .* weights=\[...\]"):
        accumulator_of(ViaRenyi(ORDERS), ApproxDP, DELTA)
    accumulator_of(ViaRenyi([8]), ApproxDP, DELTA)
    for weights in (("1/2", "1/4", "1/4"), ("1/4", "1/2", "1/4"), ("0", "1/2", "1/2")):
        rule = filter_of(accumulator_of(ViaRenyi(ORDERS, weights), ApproxDP, DELTA))
        account = rule.open(BUDGET)
        assert not (admits(account, yes=True) and admits(account, yes=False))


SLACK = DELTA / 2
MONOTONE: list[tuple[Rule, Any]] = [
    (Basic(), ApproxDP("0.03", "1e-8")),
    (Whitehouse2023(SLACK), ApproxDP("0.03", "1e-8")),
    (ViaZCDP(SLACK), ApproxDP("0.03", "1e-8")),
    (Rogers2023(SLACK), ApproxDP("0.03", "1e-8")),
    (ViaGDP(SLACK), PureDP("0.03")),
    (Rogers2016(), PureDP("0.03")),
    (Menu("0.01", [1, 3, 9], slack=SLACK), ApproxDP("0.03", "1e-8")),
    (GDPResidue(SLACK), ApproxDP("0.03", "1e-8")),
    (ViaRenyi(ORDERS, ("1/2", "1/4", "1/4"), SLACK), PureDP("0.03")),
    (filter_of(StitchedOdometer(DELTA, "1/1000")), PureDP("0.03")),
    (filter_of(Additive(ApproxDP)), ApproxDP("0.03", "1e-8")),
]


@pytest.mark.parametrize(("rule", "loss"), MONOTONE, ids=lambda each: type(each).__name__)
def test_rules_that_say_so_are_monotone(rule: Rule, loss: Any) -> None:
    """How many launches fit never falls as epsilon rises at a fixed delta, on a fine line."""
    assert rule.monotone()

    def fits(epsilon: Fraction) -> int:
        budget = ApproxDP(epsilon, DELTA)
        account, count = rule.open(budget), 0
        stated = loss.to(rule.child_measure(budget))
        while count < 40 and (account := account.add(stated)).within:
            count += 1
        return count

    counts = [fits(Fraction(step, 10)) for step in range(1, 12)]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_who_does_not_say_has_no_accumulator() -> None:
    """A rule of one's own has to say that it is monotone."""

    class Mine(Basic):
        def monotone(self) -> bool:
            return super(Basic, self).monotone()

    with pytest.raises(ValueError, match="monotone"):
        accumulator_of(Mine(), PureDP)


def test_no_accumulator_is_made_around_the_check() -> None:
    """Also one that is constructed without `accumulator_of` asks the rule."""
    fine = accumulator_of(ViaRenyi(ORDERS, weights=["1/2", "1/4", "1/4"]), ApproxDP, DELTA)
    with pytest.raises(ValueError, match="monotone"):
        attrs.evolve(fine, rule=ViaRenyi(ORDERS))
