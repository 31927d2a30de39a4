"""A time-uniform odometer that charges interactive children ask by ask fails too often.

A mechanism with two asks may reveal everything in the first, for half of the price. An adversary
that chooses when to stop exceeds the report with probability 0.46, not 0.3. The library charges the
whole price of a child at launch.
"""

from fractions import Fraction
from typing import Any

import attrs

from composition import LinearOdometer, OdomCon
from queryable import (
    SYSTEM,
    ZCDP,
    Ask,
    Coins,
    InteractiveMechanism,
    Launch,
    PrivacyLossQuery,
    PureDP,
    UnknownQueryError,
)
from queryable.audit import view_law
from queryable.losses import TimeUniformBound
from queryable.view import View
from tests.audit.toys import nats, passing, script, yes

ODDS, CHILDREN, ASKS = Fraction(3, 2), 5, 2
RULE = LinearOdometer("3/10", "13/10")


@attrs.frozen
class TellsFirst(InteractiveMechanism[Any]):
    """May be asked twice: a randomized response to the data, and the same once more."""

    def loss(self, d_in: int) -> PureDP:
        return PureDP(nats(ODDS))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return (coins.draw(yes(ODDS)) == bool(dataset), 0), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        response, asked = state
        if query != "tell" or asked == ASKS:
            raise UnknownQueryError("ask to 'tell', twice")
        return (response, asked + 1), response


@attrs.frozen
class ProRata(InteractiveMechanism[Any]):
    """Naive: an odometer that charges a child, which may be asked so often, a part at each ask."""

    odometer: OdomCon

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        state, opening = self.odometer.init(dataset, coins)
        return (state, 0), opening

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        inner, asked = state
        if query == PrivacyLossQuery():
            child = TellsFirst().privacy_map(1, ZCDP)
            assert isinstance(child, ZCDP)
            spent = ZCDP(child.rho * asked / ASKS)
            return state, TimeUniformBound(RULE.bound([spent]), RULE.delta)
        after, answer = self.odometer.step(inner, query, coins)
        return (after, asked + isinstance(query, Ask)), answer


def attack(odometer: InteractiveMechanism[Any]) -> Fraction:
    """Return the exact probability that the loss exceeds the report when the adversary stops."""
    p, q = (view_law(odometer, bit, stopping) for bit in (1, 0))
    return sum(
        (passing(last_report(view))(chance, q[view]) for view, chance in p.items()), Fraction(0)
    )


def last_report(answers: Any) -> Fraction:
    """The epsilon reported last."""
    reports = [each.epsilon for each in answers if isinstance(each, TimeUniformBound)]
    return reports[-1] if reports else Fraction(0)


def stopping(view: View) -> Any:
    """Launch, ask once, look at the report; stop once the yeses so far have lost more."""
    answers, step = view.answers, len(view) % 3
    told = [answer for answer in answers if isinstance(answer, bool)]
    lost = (2 * sum(told) - len(told)) * nats(ODDS)
    if len(told) == CHILDREN and step == 0:
        return None
    if step == 0 and lost > last_report(answers):
        return None
    return (Launch(TellsFirst()), Ask(len(told), "tell"), PrivacyLossQuery())[step]


def test_pro_rata_charging_is_passed_too_often() -> None:
    """Exactly 0.46368 at delta = 0.3, with five children."""
    found = attack(ProRata(OdomCon(ZCDP, RULE)))
    assert found == Fraction("0.46368")
    assert found > RULE.delta


def test_charging_at_launch_is_not() -> None:
    """The same adversary against ours stays within delta."""
    assert 0 < attack(OdomCon(ZCDP, RULE)) <= RULE.delta


def test_both_charge_the_same_in_all() -> None:
    """The naive charges come at other times and have the same sum."""
    ours, naive = OdomCon(ZCDP, RULE), ProRata(OdomCon(ZCDP, RULE))
    asks = [Launch(TellsFirst()), Ask(0, "tell"), Ask(0, "tell"), PrivacyLossQuery()]
    reports = [
        {last_report(view) for view in view_law(odometer, 1, script(*asks))}
        for odometer in (ours, naive)
    ]
    assert reports[0] == reports[1]
    assert len(reports[0]) == 1
