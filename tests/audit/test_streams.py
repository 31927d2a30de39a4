"""Data that grow: every compositor and continual mechanism, against its exact worst adversary.

The adversary sends batches and asks questions in any order. In one place the streams differ: a
record arrives, or none does.
"""

import inspect
from typing import Any

import pytest

import composition
import mechanisms
from composition import (
    ConComp,
    FiltCon,
    LinearOdometer,
    OdomCon,
    OneSidedMixtureOdometer,
    RenyiOdometer,
    TimeUniform,
)
from mechanisms import SparseVector
from queryable import (
    Ask,
    InteractiveMechanism,
    Launch,
    PrivacyLossQuery,
    PureDP,
    Statistic,
    Update,
)
from queryable.audit import HockeyStick, MaxDivergence, Pair, audit, worst_case
from queryable.view import View
from tests.attacks.test_sparse_vectors import Finite, HalfTheNoise
from tests.audit.cases import TOTAL, holds_and_is_nearly_reached
from tests.audit.streams import (
    ARRIVES,
    BOTH,
    EMPTY,
    NOTHING,
    PADS,
    READS,
    STREAMS,
    Limited,
    Rolls,
    odd,
    response,
)
from tests.audit.test_every_compositor import parts
from tests.audit.test_odometers import OFTEN
from tests.audit.toys import F, PadReveal, excess, nats, passing, script, worst_cases

LONGER = {
    *("FiltCon, zCDP", "FiltCon, approximate zCDP", "FiltCon of pads", "nested filters"),
    *(
        "ConComp",
        "Individual",
        "ViaZCDP",
        "OdomSeq",
        "Odom",
        "FiltCon that halts",
        "OdomCon, Renyi",
        "an odometer launched as a filter",
        "FiltCon, beside a snapshot",
        "FiltCon, Renyi at several orders",
        "FiltCon, Gaussian",
        "ViaRenyi",
    ),
}
"""Cases of a second or more, and others of a kind that a quick case has too."""
LONGEST = {"FiltCon, zCDP"}
"""Cases of a minute or more, with four updates."""


def marked(slow: set[str], mark: Any, other: Any = ()) -> list[Any]:
    """The names of all cases; those in `slow` with a mark."""
    return [pytest.param(each, marks=[mark] if each in slow else other) for each in STREAMS]


@pytest.mark.parametrize("name", marked(LONGER, pytest.mark.slow))
def test_the_claim_holds_and_is_nearly_reached(name: str) -> None:
    holds_and_is_nearly_reached(STREAMS[name])


@pytest.mark.parametrize("name", marked(LONGEST, pytest.mark.long, [pytest.mark.slow]))
def test_the_claim_holds_for_four_updates_and_four_questions(name: str) -> None:
    """As above, with more batches, which are part of both streams."""
    case = STREAMS[name]
    verdict = case.audited(size=case.most)
    assert verdict.holds, verdict


ELSEWHERE = {
    "Blocks": "tests/audit/test_blocks.py",
    "SparseVector": "below",
    **dict.fromkeys(["ToeplitzCounter", "TreeCounter"], "tests/unit/mechanisms/counters"),
}


def test_every_exported_continual_mechanism_is_audited() -> None:
    """Every one that may get batches is in a case, or is tested elsewhere."""
    audited = {name for case in STREAMS.values() for name in parts(case.build())} | set(ELSEWHERE)
    exported = {
        name
        for package in (composition, mechanisms)
        for name in package.__all__
        if inspect.isclass(kind := getattr(package, name))
        and issubclass(kind, InteractiveMechanism)
        and not inspect.isabstract(kind)
        and kind.growth is not None
    }
    assert exported <= audited
    assert len(exported) > 12


def test_the_two_searches_agree() -> None:
    """The public search and that of the toys, which share no code, on one filter and streams."""
    mechanism, queries = Limited(FiltCon(PureDP(TOTAL)), 1, 4), (ARRIVES, *BOTH)
    for odds in (F(3, 2), 2):
        (gain,) = worst_cases(mechanism, (), (), queries, 5, [excess(odds)], differing=1)
        found = worst_case(mechanism, (), (), queries, 5, HockeyStick(nats(odds)))
        assert found.value == pytest.approx(gain, abs=1e-12)
        assert gain > 0
    assert worst_cases(mechanism, (), (), queries, 5, [excess(6)], differing=1) == (0,)


# Initial data, two records, and children that keep their data.


def test_initial_data_may_differ_instead() -> None:
    """Batches are then equal, and the claim is that for data that do not change."""
    mechanism = Limited(FiltCon(PureDP(TOTAL)), 1, 4)
    queries = (EMPTY, ARRIVES, *BOTH)
    verdict = audit(mechanism, [((1,), ())], queries=queries, horizon=4)
    assert verdict.holds
    assert "never legal: Pair" in verdict.method
    low = audit(mechanism, [((1,), ())], queries=queries, horizon=4, claim=PureDP(nats(5)))
    assert low.refuted


def test_two_records_cost_twice_the_budget() -> None:
    """Event level: two batches that differ are two records, one after the other."""
    mechanism, queries = FiltCon(PureDP(nats(2))), (ARRIVES, Launch(Rolls(2)), Ask(0, "read"))
    options: dict[str, Any] = {"queries": queries, "horizon": 5, "differing": 2}
    assert audit(mechanism, NOTHING, d_in=2, **options).holds
    low = audit(mechanism, NOTHING, d_in=2, claim=PureDP(nats(F(399, 100))), **options)
    assert low.refuted
    assert audit(mechanism, NOTHING, **options).refuted


def sent(view: View) -> bool:
    """Whether the batch that differs was sent."""
    return any(isinstance(exchange.query, Pair) for exchange in view)


CHILDREN = (Launch(PadReveal(3, bit=odd)), Launch(response(2)), Launch(FiltCon(PureDP(nats(2)))))


@pytest.mark.parametrize(("before", "odds"), [(True, 1), (False, 6)])
def test_a_child_knows_what_arrived_before_its_launch(before: bool, odds: int) -> None:
    """Launched before the record arrives, a child that keeps its data has ratio 1."""
    asks = (*PADS, Ask(1, Launch(Rolls(1))))

    def offered(view: View) -> Any:
        launches = CHILDREN if before != sent(view) else ()
        return (*launches, *asks, *(() if sent(view) else (ARRIVES,)))

    found = worst_case(FiltCon(PureDP(TOTAL)), (), (), offered, 5, MaxDivergence())
    assert float(found.value) == pytest.approx(float(nats(odds)))


def test_a_part_that_keeps_its_data_loses_nothing() -> None:
    """The claim of such a part is charged; a stream that differs later does not reach it."""
    mechanism = ConComp([PadReveal(3), Rolls(2)])
    queries = (ARRIVES, *PADS, Ask(1, "read"))
    assert mechanism.privacy_map(1) == PureDP(nats(3) + nats(2))
    options: dict[str, Any] = {"queries": queries, "horizon": 4}
    assert audit(mechanism, NOTHING, claim=PureDP(nats(2)), **options).holds
    assert audit(mechanism, NOTHING, claim=PureDP(nats(F(199, 100))), **options).refuted


# Time-uniform odometers.


def ever_exceeded(rule: TimeUniform, queries: Any, horizon: int, **options: Any) -> Any:
    """The largest probability, over adversaries, of a loss above the current report."""
    odometer = OdomCon(rule.measure, rule, **options)

    def leaf(state: Any) -> Any:
        return (passing(odometer.step(state, PrivacyLossQuery())[1].epsilon),)

    pairs = (ARRIVES, Pair(ARRIVES.under_x_prime, ARRIVES.under_x))
    return max(
        worst_cases(odometer, (), (), (pair, *queries), horizon, leaf, differing=1)[0]
        for pair in pairs
    )


LAUNCHED = (Launch(Rolls(F(9, 4))), *READS, Ask(2, "read"))
AFTER = (Launch(response(F(9, 4))), Launch(Rolls(F(9, 4))), Ask(0, "read"))


@pytest.mark.parametrize(
    "rule",
    [
        LinearOdometer(OFTEN, 1),
        pytest.param(OneSidedMixtureOdometer(OFTEN, 1), marks=pytest.mark.slow),
        pytest.param(RenyiOdometer(OFTEN, [2, 3]), marks=pytest.mark.slow),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_reports_are_exceeded_rarely(rule: TimeUniform) -> None:
    """Children that were launched before the record arrived, and after it."""
    assert ever_exceeded(rule, LAUNCHED, 6, max_mechanisms=3) <= OFTEN
    assert ever_exceeded(rule, AFTER, 6, max_mechanisms=4) <= OFTEN


def test_some_report_is_exceeded() -> None:
    """The linear report with probability above zero; that of a liar with more than delta."""
    rule = LinearOdometer(OFTEN, 1)
    assert ever_exceeded(rule, AFTER, 5, max_mechanisms=3) > 0
    liar = (Launch(Rolls(9, stated=F(3, 2))), Ask(0, "read"))
    assert ever_exceeded(rule, liar, 3) == F(9, 10) > OFTEN


# The sparse vector.

UP = Statistic(len, l1=1, l2=1)
DOWN = Statistic(lambda records: 1 - len(records), l1=1, l2=1)


@pytest.mark.parametrize("turned", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_sparse_vector_keeps_its_claim(turned: bool) -> None:
    """With finite noise; at less than its epsilon, and with half the noise, it would not."""
    queries = (ARRIVES.turned() if turned else ARRIVES, EMPTY, UP, DOWN)
    sparse = Limited(Finite(0, nats(16), 1, 5), 2, 4)
    at = HockeyStick(nats(16))
    assert worst_case(sparse, (), (), queries, 5, at).value <= sparse.mechanism.unmoved  # type: ignore[attr-defined]
    found = worst_case(sparse, (), (), queries, 5, HockeyStick(nats(3)))
    assert found.value > 4 * sparse.mechanism.unmoved  # type: ignore[attr-defined]


@pytest.mark.slow
def test_a_sparse_vector_for_four_updates_and_four_questions() -> None:
    sparse = Limited(Finite(0, nats(16), 1, 5), 4, 4)
    for queries in ((ARRIVES, EMPTY, UP, DOWN), (ARRIVES.turned(), EMPTY, UP, DOWN)):
        found = worst_case(sparse, (), (), queries, 8, HockeyStick(nats(16)))
        assert found.value <= sparse.mechanism.unmoved  # type: ignore[attr-defined]


def test_half_the_noise_is_caught() -> None:
    half = HalfTheNoise(0, nats(16))
    found = worst_case(half, (), (), (ARRIVES, EMPTY, UP, DOWN), 6, HockeyStick(nats(16)))
    assert found.value > 10 * half.unmoved


@pytest.mark.parametrize(
    ("place", "rounds"),
    [(1, 3), *(pytest.param(place, 4, marks=pytest.mark.slow) for place in (0, 1, 2))],
)
def test_the_real_sparse_vector_between_batches(place: int, rounds: int) -> None:
    """The law of its answers up to tails, for a record that arrives at one of several places."""
    batches = [ARRIVES if each == place else Update((2,)) for each in range(rounds)]
    questions = (UP, DOWN, UP, DOWN)[:rounds]
    moves = [each for pair in zip(batches, questions, strict=True) for each in pair]
    verdict = audit(
        SparseVector(1, epsilon=1), NOTHING, adversary=script(*moves), tail="1e-4", slack="1e-2"
    )
    assert verdict.holds, verdict
    assert "exact law" in verdict.method
