"""Odometers, exactly: whatever threshold is fixed, the view truncated at it stays within it."""

from typing import Any

import attrs
import pytest

from composition import FiltCon, Odom, OdomCon, OdomSeq
from composition.rules import Whitehouse2023
from queryable import (
    SYSTEM,
    ZCDP,
    ApproxDP,
    Ask,
    InteractiveMechanism,
    Launch,
    Launched,
    PrivacyLossQuery,
    PureDP,
    truncated_view,
)
from queryable.audit import every_outcome, hashable, view_law
from tests.audit.toys import (
    F,
    PadReveal,
    Reported,
    Response,
    TwoRounds,
    divergence,
    excess,
    moment,
    nats,
    reader,
    script,
    wanderer,
    worst_cases,
)

both = pytest.mark.parametrize(("x", "x_prime"), [(0, 1), (1, 0)])
LAUNCHES = [Launch(PadReveal(3)), Launch(Response(2)), Launch(reader(3)), Launch(TwoRounds())]
ASKS = [Ask(child, query) for child in (0, 1) for query in ("key", "sum", "read", "next")]


@attrs.frozen
class Truncated(InteractiveMechanism[Any]):
    """An odometer whose answers stop where its report leaves the threshold: Algorithm 5 as one."""

    odometer: OdomCon
    threshold: Any

    def init(self, dataset: Any, coins: Any = SYSTEM) -> tuple[Any, Any]:
        return self.odometer.init(dataset, coins)

    def step(self, state: Any, query: Any, coins: Any = SYSTEM) -> tuple[Any, Any]:
        if state == "over":
            return state, "over"
        after, answer = self.odometer.step(state, query, coins)
        report = self.odometer.step(after, PrivacyLossQuery(), coins)[1]
        return (after, answer) if report <= self.threshold else ("over", "over")


def truncated_law(odometer: Any, bit: int, adversary: Any, threshold: Any) -> Any:
    """The law of the truncated view."""
    law: dict[Any, Any] = {}
    for chance, view in every_outcome(
        lambda coins: truncated_view(odometer, bit, adversary, threshold, coins)
    ):
        seen = hashable((view.opening, *view.answers))
        law[seen] = law.get(seen, F(0)) + chance
    return law


@pytest.mark.parametrize("seed", range(8))
def test_truncation_is_a_mechanism(seed: int) -> None:
    """The law of `truncated_view` is that of the machine whose worst case is computed below."""
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


@both
@pytest.mark.parametrize("kind", [OdomCon, OdomSeq])
@pytest.mark.parametrize("odds", [1, 2, 3, 6, 9])
def test_pure_odometer_is_valid(kind: Any, odds: int, x: int, x_prime: int) -> None:
    """Definition 2.11: truncated at epsilon, no adversary's view loses more."""
    threshold = {1: 0, 2: nats(2), 3: nats(3), 6: nats(3) + nats(2), 9: 2 * nats(3)}[odds]
    truncated = Truncated(kind(PureDP), PureDP(threshold))
    launches = LAUNCHES[:2] if odds == 9 else LAUNCHES
    assert worst_cases(truncated, x, x_prime, launches + ASKS, 5, [excess(odds)]) == (0,)


@both
def test_odometer_of_measurements_is_valid(x: int, x_prime: int) -> None:
    """The same for the noninteractive odometer, at thresholds between what it can report."""
    launches = [Launch(Response(odds)) for odds in (F(3, 2), 2, 3)]
    for odds in (F(2), F(5, 2), F(4), F(17, 2)):
        truncated = Truncated(Odom(PureDP), PureDP(nats(odds)))
        # the largest product of odds that fits; up to it the loss is reached
        most = max(p for p in (F(3, 2), 2, F(9, 4), 3, F(27, 8), 4, 6, F(81, 16), 8) if p <= odds)
        found = worst_cases(truncated, x, x_prime, launches, 5, [excess(odds), excess(most / 2)])
        assert found[0] == 0 < found[1]


@both
def test_approximate_odometer_is_valid(x: int, x_prime: int) -> None:
    """Truncated at (epsilon, delta) under the basic rule, the loss is all of delta at epsilon."""
    launches = [Launch(Response(2, delta="1/10")), Launch(PadReveal(2)), Launch(Response(2))]
    basic = Truncated(OdomCon(ApproxDP), ApproxDP(2 * nats(2), "1/10"))
    found = worst_cases(basic, x, x_prime, launches + ASKS[:2], 4, [excess(4)])
    assert found == (F(1, 10),)


@both
def test_whitehouse_odometer_is_valid(x: int, x_prime: int) -> None:
    """Under the square-root rule more than epsilon is lost, with probability at most delta."""
    launches = [Launch(PadReveal(F(3, 2))), Launch(Response(F(3, 2)))]
    threshold = ApproxDP("0.85", "7/10")
    truncated = Truncated(OdomCon(ApproxDP, Reported(Whitehouse2023(), threshold.delta)), threshold)
    (gain,) = worst_cases(truncated, x, x_prime, launches + ASKS[:2], 5, [excess(F(234, 100))])
    assert 0 < gain <= threshold.delta


@both
def test_zcdp_odometer_is_valid(x: int, x_prime: int) -> None:
    """Truncated at rho, the Renyi divergence of order alpha is at most rho*alpha."""
    rho = Response(3).privacy_map(1, ZCDP).rho
    truncated = Truncated(OdomCon(ZCDP), ZCDP(rho))
    found = worst_cases(truncated, x, x_prime, LAUNCHES + ASKS, 4, [moment(2), moment(6)])
    # exp((alpha - 1) * alpha * rho) from below, by the first terms of its series
    for alpha, value in zip((2, 6), found, strict=True):
        exponent = (alpha - 1) * alpha * rho
        assert 1 < value <= sum(_terms(exponent, 30))


def _terms(exponent: Any, count: int) -> Any:
    term = F(1)
    for n in range(1, count + 1):
        yield term
        term = term * exponent / n


@both
def test_nested_odometers_are_valid(x: int, x_prime: int) -> None:
    """A filter inside an odometer: its launches are paid for by its own launch."""
    inner = FiltCon(PureDP(nats(2)))
    queries = [Launch(inner), Launch(Response(3)), Ask(0, Launch(PadReveal(2)))]
    queries += [Ask(0, Ask(0, "key")), Ask(0, Ask(0, "sum")), Ask(0, Launch(Response(2)))]
    truncated = Truncated(OdomCon(PureDP), PureDP(nats(2) + nats(3)))
    exactly, below = worst_cases(truncated, x, x_prime, queries, 5, [excess(6), excess(5)])
    assert exactly == 0 < below


def test_a_false_claim_is_caught() -> None:
    """An odometer reports what it was told; its truncated view shows what was lost."""
    truncated = Truncated(OdomCon(PureDP), PureDP(nats(2)))
    queries = [Launch(PadReveal(3, stated=2)), *ASKS[:2]]
    assert worst_cases(truncated, 0, 1, queries, 3, [excess(2)]) > (0,)


def test_odometers_report_and_do_not_stop() -> None:
    """Mutation: an odometer taken for a filter at its threshold is refuted; nothing is refused."""
    adversary = script(*[Launch(Response(3))] * 3)
    laws = [view_law(OdomCon(PureDP), bit, adversary) for bit in (0, 1)]
    assert all(isinstance(answer, Launched) for seen in laws[0] for answer in seen[1:])
    assert divergence(*laws, excess(3)) > 0
    assert divergence(*laws, excess(27)) == 0
