"""Pairs of messages: exact worst cases over streams, against enumeration by hand."""

from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from math import inf
from typing import Any

import attrs
import numpy as np
import pytest

from queryable import (
    SYSTEM,
    ApproxDP,
    Coins,
    InteractiveMechanism,
    PureDP,
    QueryError,
    UnknownQueryError,
)
from queryable.audit import (
    HockeyStick,
    MaxDivergence,
    Pair,
    Renyi,
    Strategy,
    audit,
    hockey_stick,
    renyi_divergence,
    view_law,
    worst_case,
)
from queryable.audit.picture import picture_of_adversary
from queryable.audit.views.pairs import OneSide, sides, turned, turned_alphabet
from queryable.view import View
from tests.audit.toys import F, excess, moment, nats, script, worst_cases, yes


@attrs.frozen
class Batch:
    """A message with records and a block."""

    records: Any = ()
    block: Any = None


@attrs.frozen
class Other(Batch):
    """A message of another class."""


EMPTY, FULL = Batch(()), Batch((1,))
PAIR = Pair(FULL, EMPTY)


@attrs.frozen
class Latest(InteractiveMechanism[Any]):
    """ "read" responds at these odds to whether the latest batch has records, once for each batch.

    The initial data are the first batch. After `loud` batches a full one is told.
    """

    odds: Any = F(3)
    loud: int | None = None

    def loss(self, d_in: int) -> PureDP:
        return PureDP(d_in * nats(self.odds))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return (bool(dataset), False, 1), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        full, asked, batches = state
        match query:
            case Batch(records):
                told = batches == self.loud and bool(records)
                return (bool(records), False, batches + 1), "full" if told else None
            case "read" if not asked:
                return (full, True, batches), coins.draw(yes(F(self.odds))) == full
        raise UnknownQueryError("send a batch, then 'read' once")


# The values themselves.


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        (FULL, Other((1,)), "one class"),
        (Batch((1,), "a"), Batch((), "b"), "one block"),
        (FULL, Batch((1,)), "are equal"),
        (Batch(np.array([1, 2])), Batch(np.array([1, 2])), "are equal"),
    ],
)
def test_public_parts_of_a_pair_agree(one: Any, other: Any, what: str) -> None:
    """Classes and blocks are public, so a pair that differs there is no pair."""
    with pytest.raises(ValueError, match=what):
        Pair(one, other)


def test_records_of_any_kind_are_compared_by_value() -> None:
    """Arrays have no single truth value; they are compared entry by entry."""
    assert Pair(Batch(np.array([1])), Batch(np.array([2]))).under_x.records == [1]
    assert sides(PAIR) == (FULL, EMPTY)
    assert sides("read") == ("read", "read")
    assert turned(PAIR) == Pair(EMPTY, FULL)
    assert turned("read") == "read"


def test_a_turned_alphabet_sees_the_pairs_that_it_offered() -> None:
    """A function of the view is given its own pairs, not the exchanged ones."""
    seen = []

    def offered(view: View) -> Any:
        seen.extend(exchange.query for exchange in view)
        return [PAIR, "read"]

    exchanged = turned_alphabet(offered)
    assert callable(exchanged)
    assert exchanged(View(None).then(turned(PAIR), None)) == (turned(PAIR), "read")
    assert seen == [PAIR]
    assert turned_alphabet([PAIR, "read"]) == (turned(PAIR), "read")


@pytest.mark.parametrize("side", [2, -1, True, None, "x"])
def test_a_side_is_zero_or_one(side: Any) -> None:
    with pytest.raises(ValueError, match="side should be 0"):
        OneSide(Latest(), side)


def test_a_pair_has_a_law_on_each_side() -> None:
    """Without a side the mechanism gets the pair itself, which it refuses."""
    with pytest.raises(QueryError):
        view_law(Latest(), (), script(PAIR))
    # A pair read once has exactly the law of randomized response.
    p, q = (view_law(Latest(), (), script(PAIR, "read"), side=side) for side in (0, 1))
    assert p == {(None, None, True): F(3, 4), (None, None, False): F(1, 4)}
    assert q == {(None, None, True): F(1, 4), (None, None, False): F(3, 4)}
    leaf = excess(2)
    assert sum(leaf(p[seen], q[seen]) for seen in p) == F(1, 4)
    # Different initial data use the only difference up.
    verdict = audit(Latest(), [((1,), ())], queries=MOVES, horizon=3)
    assert verdict.holds
    assert "never legal: Pair" in verdict.method
    both = audit(Latest(), [((1,), ()), ((), ())], queries=MOVES, horizon=3)
    assert "never legal" not in both.method


# Worst cases.


def every_adversary(horizon: int, pairs: int) -> Iterator[Any]:
    """All deterministic adversaries of `Latest` that send at most `pairs` pairs."""
    moves = (PAIR, turned(PAIR), EMPTY, "read")
    answers = (None, False, True)
    nodes = [seen for n in range(horizon) for seen in product(answers, repeat=n)]
    reachable = [seen for seen in nodes if len(seen) < 2 or seen[0] is None]
    for choice in product(moves, repeat=len(reachable)):
        plan = dict(zip(reachable, choice, strict=True))
        if all(_pairs_on(path, plan) <= pairs for path in plan):
            yield lambda view, plan=plan: plan.get(view.answers)


def _pairs_on(path: Any, plan: Any) -> int:
    return sum(isinstance(plan.get(path[:n]), Pair) for n in range(len(path) + 1))


@pytest.mark.parametrize("pairs", [0, 1])
def test_worst_case_is_the_best_of_all_adversaries(pairs: int) -> None:
    """The search equals the maximum over an explicit list of adversaries."""
    mechanism, moves = Latest(), (PAIR, turned(PAIR), EMPTY, "read")
    best, moments = F(0), F(0)
    for adversary in every_adversary(2, pairs):
        with suppress(QueryError):
            p, q = (view_law(mechanism, (), adversary, side=side) for side in (0, 1))
            best = max(best, hockey_stick(p, q, "1/2"))
            moments = max(moments, renyi_divergence(p, q, 2))
    assert (best > 0) == (pairs == 1)
    found = worst_case(mechanism, (), (), moves, 2, HockeyStick("1/2"), differing=pairs)
    assert found.value == best
    found = worst_case(mechanism, (), (), moves, 2, Renyi(2), differing=pairs)
    assert found.value == moments


@pytest.mark.parametrize(
    ("x", "x_prime", "differing", "odds"),
    [((), (), 0, 1), ((), (), 1, 3), ((), (), 2, 9), ((1,), (), 1, 3), ((1,), (), 2, 9)],
)
def test_the_number_of_pairs_is_bounded(x: Any, x_prime: Any, differing: int, odds: int) -> None:
    """Each differing batch costs log(3); different initial data count as one."""
    found = worst_case(
        Latest(), x, x_prime, (PAIR, EMPTY, "read"), 6, MaxDivergence(), differing=differing
    )
    assert found.value == nats(odds)


def test_the_number_of_pairs_is_part_of_the_cache_key() -> None:
    """After an empty batch or a pair that was not read, equal states have different futures."""

    @attrs.frozen
    class Blind(Latest):
        """Counts batches only; a third one is read."""

        def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
            full, _, batches = state
            if isinstance(query, Batch) and batches < 3:
                return (full, False, batches + 1), None
            return super().step(state, query, coins)

    # A pair among the first two batches is lost, and then none is left for the third.
    for moves in ((PAIR, EMPTY, "read"), ("read", EMPTY, PAIR)):
        found = worst_case(Blind(), (), (), moves, 5, MaxDivergence())
        assert found.value == nats(3)
        asked = [str(line).count("send") for line in found.adversary.lines()]
        assert sum(asked) == 1


def test_without_pairs_nothing_changes() -> None:
    """The search for different initial data is the one without streams, whatever `differing`."""
    for differing in (0, 1, 5):
        found = worst_case(Latest(), (1,), (), ("read",), 2, Renyi(2), differing=differing)
        (plain,) = worst_cases(Latest(), (1,), (), ("read",), 2, [moment(2)])
        assert found.adversary(View(None)) == "read"
        assert found.value == renyi_divergence(
            *(view_law(Latest(), data, found.adversary) for data in ((1,), ())), 2
        )
        assert plain == F(3, 4) ** 2 / F(1, 4) + F(1, 4) ** 2 / F(3, 4)


def test_an_adversary_with_pairs_is_replayed_and_printed() -> None:
    """The strategy shows both messages; a picture does too."""
    found = worst_case(Latest(), (), (), (PAIR, "read"), 2, HockeyStick(1))
    first, *_ = str(found.adversary).splitlines()
    assert first == (
        "None -> send Batch(records=(1,), block=None) under x, "
        "Batch(records=(), block=None) under x'"
    )
    texts = [each.get_text() for each in picture_of_adversary(found.adversary).axes[0].texts]
    assert any("under x" in text or text.startswith("Batch(records=(1,)") for text in texts)
    # The laws of the strategy's view under x and x' have the divergence that was found.
    found = worst_case(Latest(), (), (), (PAIR, EMPTY, "read"), 4, HockeyStick("1/2"))
    assert isinstance(found.adversary, Strategy)
    p, q = (view_law(Latest(), (), found.adversary, side=side) for side in (0, 1))
    assert hockey_stick(p, q, "1/2") == found.value > 0
    # It is checked against the laws of both sides.
    found = worst_case(Latest(), (), (), (PAIR, "read"), 2, lambda p, q: hockey_stick(p, q, "1/2"))
    assert found.value == worst_case(Latest(), (), (), (PAIR, "read"), 2, HockeyStick("1/2")).value
    # A batch that is answered differently under x and x' ends every doubt.
    found = worst_case(Latest(loud=2), (), (), (PAIR, EMPTY), 2, MaxDivergence())
    assert found.value == inf


def test_queries_that_depend_on_the_view() -> None:

    def offered(view: View) -> Any:
        if any(isinstance(exchange.query, Pair) for exchange in view):
            return ("read", EMPTY)
        return (EMPTY, PAIR)

    for differing, odds in ((1, 3), (0, 1)):
        found = worst_case(Latest(), (), (), offered, 4, MaxDivergence(), differing=differing)
        assert found.value == nats(odds)


# Audits.

MOVES = (PAIR, EMPTY, FULL, "read")


def test_an_audit_of_streams() -> None:
    assert audit(Latest(), [((), ())], queries=MOVES, horizon=5).holds
    low = audit(Latest(), [((), ())], queries=MOVES, horizon=5, claim=PureDP(1))
    assert low.refuted
    assert "send Batch(records=(1,), block=None) under x" in str(low)
    twice = audit(Latest(), [((), ())], queries=MOVES, horizon=5, d_in=2, differing=2)
    assert twice.holds
    assert audit(Latest(), [((), ())], queries=MOVES, horizon=5, differing=2).refuted


@attrs.frozen
class OneWay(Latest):
    """A full batch is told with probability 1/4; an empty one never."""

    def loss(self, d_in: int) -> ApproxDP:
        return ApproxDP(0, "1/4")

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        if query == "read":
            return state, state[0] and coins.draw(yes(F(1, 3)))
        return super().step(state, query, coins)


@pytest.mark.parametrize("pair", [PAIR, turned(PAIR)])
def test_an_audit_examines_both_directions(pair: Any) -> None:
    """However the pair is written, the divergence from the side with the record is found.

    A finding prints its pair as it was searched, so that its x is the side that it calls x.
    """
    moves = (pair, "read")
    claim = ApproxDP("1/10", "1/4")  # 1/4 in one direction, 1 - e^(1/10) 3/4 in the other
    verdict = audit(OneWay(), [((), ())], queries=moves, horizon=2, claim=claim)
    assert verdict.holds
    one, other = (finding.above for finding in verdict.findings)
    assert max(one, other) == F(1, 4) > min(one, other)
    refuted = audit(OneWay(), [((), ())], queries=moves, horizon=2, claim=ApproxDP("1/10", "1/5"))
    (against,) = [each for each in refuted.findings if each.below > F(1, 5)]
    assert "send Batch(records=(1,), block=None) under x, Batch(records=()" in str(
        against.adversary
    )


def test_an_audit_of_one_adversary_and_of_samples() -> None:
    """Each side's message arrives in laws and in samples."""
    stream = script(PAIR, "read")
    exact = audit(Latest(), [((), ())], adversary=stream, claim=PureDP(1))
    assert exact.refuted
    assert "exact law" in exact.method
    assert audit(Latest(), [((), ())], adversary=stream).holds
    drawn = audit(
        Latest(F(50)), [((), ())], adversary=stream, claim=PureDP(1), limit=1, samples=2_000
    )
    assert "samples" in drawn.method
    assert drawn.refuted
