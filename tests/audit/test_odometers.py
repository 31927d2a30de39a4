"""Odometers, exactly: thresholds fixed in advance, and time-uniform reports.

For every fixed threshold, the view truncated at the threshold stays within it. A time-uniform
report is ever exceeded with probability at most delta.
"""

from math import log
from typing import Any

import attrs
import pytest

from composition import (
    LinearOdometer,
    OdomCon,
    OneSidedMixtureOdometer,
    RenyiOdometer,
    TimeUniform,
)
from queryable import (
    SYSTEM,
    Ask,
    Coins,
    InteractiveMechanism,
    Launch,
    Measurement,
    PrivacyLossQuery,
    PureDP,
    UnknownQueryError,
    truncated_view,
)
from queryable.audit import every_outcome, hashable, view_law
from tests.audit.cases import Truncated
from tests.audit.toys import (
    F,
    PadReveal,
    Response,
    TwoRounds,
    nats,
    passing,
    reader,
    wanderer,
    worst_cases,
    yes,
)
from tests.walks import hidden_bit, worst_crossing

both = pytest.mark.parametrize(("x", "x_prime"), [(0, 1), (1, 0)])
one_way = pytest.mark.parametrize(
    ("x", "x_prime"), [(0, 1), pytest.param(1, 0, marks=pytest.mark.slow)]
)
"""For larger searches; other tests here search in both directions."""
LAUNCHES = [Launch(PadReveal(3)), Launch(Response(2)), Launch(reader(3)), Launch(TwoRounds())]
ASKS = [Ask(child, query) for child in (0, 1) for query in ("key", "sum", "read", "next")]


def truncated_law(odometer: Any, bit: int, adversary: Any, threshold: Any) -> Any:
    law: dict[Any, Any] = {}
    for chance, view in every_outcome(
        lambda coins: truncated_view(odometer, bit, adversary, threshold, coins)
    ):
        seen = hashable((view.opening, *view.answers))
        law[seen] = law.get(seen, F(0)) + chance
    return law


@pytest.mark.parametrize("seed", range(8))
def test_truncation_is_a_mechanism(seed: int) -> None:
    """`truncated_view` has the law of `Truncated`, whose worst case is computed below."""
    odometer, threshold = OdomCon(PureDP), PureDP(nats(3) + nats(2))

    def adversary(view: Any) -> Any:
        return None if "over" in view.answers else wandering(view)

    wandering = wanderer(seed, LAUNCHES, (PrivacyLossQuery(),), 6)
    for bit in (0, 1):
        machine = view_law(Truncated(odometer, threshold), bit, adversary)
        cut: dict[Any, Any] = {}
        for seen, chance in machine.items():
            kept = tuple(answer for answer in seen if answer != "over")
            cut[kept] = cut.get(kept, F(0)) + chance
        assert truncated_law(odometer, bit, adversary, threshold) == cut


# Time-uniform reports: the probability of ever exceeding one, for the worst adversary.

OFTEN = F(7, 10)
"""A large delta, so that as few as two of the hidden bits below can exceed the report."""


@attrs.frozen
class HiddenBit(InteractiveMechanism[bool]):
    """Keeps a randomized response at odds 9/4; opens with a noisy reading, and tells it on request.

    The mechanism of `tests.walks.hidden_bit` at a step of log(3/2).
    """

    def loss(self, d_in: int) -> PureDP:
        return PureDP(nats(F(9, 4)))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[bool, Any]:
        hidden = coins.draw(yes(F(9, 4))) == bool(dataset)
        return hidden, coins.draw(yes(F(19, 6))) == hidden

    def step(self, state: bool, query: Any, coins: Coins = SYSTEM) -> tuple[bool, Any]:
        if query != "tell":
            raise UnknownQueryError("ask to 'tell'")
        return state, state


def ever_exceeded(
    rule: TimeUniform, x: Any, x_prime: Any, queries: Any, horizon: int, **options: Any
) -> Any:
    """The largest probability under x, over adversaries, of a loss above the current report."""
    odometer = OdomCon(rule.measure, rule, **options)

    def leaf(state: Any) -> Any:
        return (passing(odometer.step(state, PrivacyLossQuery())[1].epsilon),)

    return worst_cases(odometer, x, x_prime, queries, horizon, leaf)[0]


BITS = [Launch(HiddenBit()), *(Ask(child, "tell") for child in range(3))]


@one_way
def test_interleaved_hidden_bits_exceed_reports_rarely(x: int, x_prime: int) -> None:
    """Three hidden bits in any order; the tree game of the longer tests gives the same value."""
    rule = LinearOdometer(OFTEN, 1)
    found = ever_exceeded(rule, x, x_prime, BITS, 6, max_mechanisms=3)
    assert 0 < found <= OFTEN

    def report(launched: tuple[int, ...]) -> float:
        return float(rule.bound([PureDP(nats(F(9, 4)))] * launched[0]))

    played = worst_crossing([hidden_bit(log(1.5))], (3,), report, log(1.5))
    assert played == pytest.approx(float(found), rel=1e-12)


@pytest.mark.parametrize(
    "rule", [OneSidedMixtureOdometer(OFTEN, 1), RenyiOdometer(OFTEN, ["3/2", 2, 3])], ids=str
)
@pytest.mark.parametrize("horizon", [4, pytest.param(5, marks=pytest.mark.slow)])
def test_two_kinds_of_children_exceed_reports_rarely(rule: TimeUniform, horizon: int) -> None:
    """Interleaved children that lose at launch and children that lose later."""
    queries = [Launch(PadReveal(F(3, 2))), *BITS[:3]]
    queries += [Ask(child, query) for child in (0, 1) for query in ("key", "sum")]
    assert ever_exceeded(rule, 0, 1, queries, horizon, max_mechanisms=2) <= OFTEN


@both
def test_children_with_deltas_exceed_reports_rarely(x: int, x_prime: int) -> None:
    """Interactive children with a delta of their own; the bound is the total delta."""
    rule = LinearOdometer("1/2", 1, deltas="1/10", margin=1)
    queries = [Launch(reader(F(3, 2), delta="1/20")), *(Ask(child, "read") for child in (0, 1))]
    found = ever_exceeded(rule, x, x_prime, queries, 5)
    assert F(5, 100) < found <= rule.total_delta < F(2, 3)


@attrs.frozen
class Halved(LinearOdometer):
    """An odometer with half the valid report."""

    vouched_for = "nothing: the test shows that it is false"

    def boundary(self, variance: Any) -> Any:
        return super().boundary(variance) / 2


def test_a_report_that_is_too_low_is_caught() -> None:
    """Half of the bound is exceeded with probability above delta."""
    assert ever_exceeded(Halved(F(1, 2), 1), 1, 0, BITS, 4, max_mechanisms=2) > F(1, 2)


@attrs.frozen
class Graded(Measurement):
    """Answers True at odds 4/9, 1 or 9/4, for 0, 1 or 2 records."""

    def loss(self, d_in: int) -> PureDP:
        return PureDP(nats(F(13, 8) if d_in == 1 else F(9, 4)))

    def release(self, dataset: Any, coins: Coins) -> bool:
        return coins.draw(yes(F(9, 4) ** (dataset - 1)))


@both
def test_a_report_holds_for_its_own_d_in_only(x: int, x_prime: int) -> None:
    """Two records lose more than the report for d_in=1; the odometer for d_in=2 is valid."""
    rule, launches = LinearOdometer("1/2", "7/10"), [Launch(Graded())]
    assert ever_exceeded(rule, x, x_prime, launches, 4) <= rule.delta
    assert ever_exceeded(rule, 2 * x, 2 * x_prime, launches, 4, d_in=2) <= rule.delta
    assert ever_exceeded(rule, 2 * x, 2 * x_prime, launches, 4) > rule.delta
