"""The public search for the worst adversary, compared with the independent one in tests/audit."""

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import comb, inf
from typing import Any

import attrs
import pytest

from composition import ConComp, FiltCon
from queryable import SYSTEM, Ask, Coins, InteractiveMechanism, Launch, PureDP, UnknownQueryError
from queryable.audit import (
    HockeyStick,
    MaxDivergence,
    Renyi,
    hockey_stick,
    max_divergence,
    view_law,
    worst_case,
)
from queryable.losses.conversions import log_up
from queryable.view import View
from tests.audit.cases import Doors
from tests.audit.toys import (
    PadReveal,
    Response,
    TwoRounds,
    excess,
    moment,
    nats,
    reader,
    worst_cases,
    yes,
)

F = Fraction


class Unhashable:
    """A hidden value that is unhashable and compares unequal to every other."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return self is other


@attrs.frozen
class Forks(InteractiveMechanism[Any]):
    """Answers L at odds 2 of the bit, and R at odds 3 after an earlier query."""

    hidden: Callable[[Any], Any] = tuple

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return self.hidden((bool(dataset), 0)), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        bit, asked = getattr(state, "value", state)
        odds = F(2) if query == "L" else F(3) if asked else F(1)
        return self.hidden((bit, min(asked + 1, 2))), coins.draw(yes(odds)) == bit


@attrs.frozen
class Coy(InteractiveMechanism[Any]):
    """Raises a query error if the bit is set."""

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return bool(dataset), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        if state:
            raise UnknownQueryError("not that")
        return state, None


FILTERED = FiltCon(PureDP(nats(3) + nats(2)))
LAUNCHES = (Launch(reader(3)), Launch(PadReveal(2)), Launch(Response(3)), Ask(0, "read"))
GAMES: tuple[Any, ...] = (
    (ConComp([PadReveal(3), TwoRounds()]), (Ask(0, "key"), Ask(0, "sum"), Ask(1, "next")), 4),
    (FILTERED, LAUNCHES, 3),
    pytest.param(FILTERED, LAUNCHES, 4, marks=pytest.mark.slow),
    (reader(3, delta="1/10"), ("read",), 3),
)


@pytest.mark.parametrize(("mechanism", "queries", "horizon"), GAMES)
@pytest.mark.parametrize(("x", "x_prime"), [(0, 1), (1, 0)])
def test_two_searches_agree(
    mechanism: Any, queries: Any, horizon: int, x: int, x_prime: int
) -> None:
    """Two independent searches find the same suprema, to within the rounding of e^epsilon."""
    odds = (1, 2, 3)
    found = worst_cases(mechanism, x, x_prime, queries, horizon, [excess(each) for each in odds])
    for factor, value in zip(odds, found, strict=True):
        epsilon = log_up(F(factor)) if factor > 1 else 0
        ours = worst_case(mechanism, x, x_prime, queries, horizon, HockeyStick(epsilon)).value
        assert abs(ours - value) < F(1, 10**25)


@pytest.mark.parametrize(("mechanism", "queries", "horizon"), GAMES)
def test_renyi_suprema_agree(mechanism: Any, queries: Any, horizon: int) -> None:
    """They agree at a Renyi order, and are infinite if the bit may be revealed."""
    (value,) = worst_cases(mechanism, 0, 1, queries, horizon, [moment(3)])
    found = worst_case(mechanism, 0, 1, queries, horizon, Renyi(3)).value
    if value == inf:
        assert found == inf
    else:
        assert abs(2 * F(found) - log_up(value)) < F(1, 10**25)


@pytest.mark.parametrize(("mechanism", "queries", "horizon"), GAMES)
def test_the_adversary_reaches_the_value(mechanism: Any, queries: Any, horizon: int) -> None:
    """Replayed, the returned strategy has exactly the divergence that was found."""
    worst = worst_case(mechanism, 0, 1, queries, horizon, HockeyStick("1/2"))
    laws = [view_law(mechanism, bit, worst.adversary) for bit in (0, 1)]
    assert hockey_stick(*laws, "1/2") == worst.value > 0


def every_strategy(queries: tuple[Any, ...], horizon: int) -> list[Any]:
    """All deterministic adversaries against yes-or-no answers, including early stops."""
    views = [view for n in range(horizon) for view in product((False, True), repeat=n)]
    choices = product((None, *queries), repeat=len(views))
    plans = [dict(zip(views, choice, strict=True)) for choice in choices]
    return [lambda view, plan=plan: plan.get(view.answers) for plan in plans]


@pytest.mark.parametrize("divergence", [HockeyStick(0), HockeyStick("1/2"), Renyi(2), Renyi("3/2")])
@pytest.mark.parametrize(
    ("mechanism", "queries"), [(PadReveal(3), ("key", "sum")), (Forks(), "LR")]
)
def test_no_adversary_does_better(mechanism: Any, queries: Any, divergence: Any) -> None:
    """The value is the maximum over an explicit list of deterministic adversaries."""
    best = F(0)
    for adversary in every_strategy(tuple(queries), 2):
        p, q = (view_law(mechanism, bit, adversary) for bit in (0, 1))
        total = sum((divergence.term(p.get(v, F(0)), q.get(v, F(0))) for v in {*p, *q}), F(0))
        best = max(best, total)
    found = worst_case(mechanism, 0, 1, tuple(queries), 2, divergence)
    assert found.value == divergence.value(best) > 0


@pytest.mark.parametrize(
    ("mechanism", "queries"), [(PadReveal(3), ("key", "sum")), (Forks(), "LR")]
)
def test_no_adversary_sees_a_larger_ratio(mechanism: Any, queries: Any) -> None:
    """The same for the largest ratio, which the returned tree reaches."""
    best = F(0)
    for adversary in every_strategy(tuple(queries), 2):
        laws = [view_law(mechanism, bit, adversary) for bit in (0, 1)]
        best = max(best, F(max_divergence(*laws)))
    found = worst_case(mechanism, 0, 1, tuple(queries), 2, MaxDivergence())
    assert found.value == best > 0
    laws = [view_law(mechanism, bit, found.adversary) for bit in (0, 1)]
    assert max_divergence(*laws) == best


def test_what_tells_the_bit_is_detected() -> None:
    """If the bit may be revealed."""
    leaky = reader(3, delta="1/10")
    assert worst_case(leaky, 0, 1, ("read",), 2, MaxDivergence()).value == inf
    # A query error for one dataset only reveals the dataset, and the witness replays.
    found = worst_case(Coy(), 0, 1, ("?",), 1, HockeyStick(5))
    assert found.value == 1
    laws = [view_law(Coy(), bit, found.adversary, errors=True) for bit in (0, 1)]
    assert hockey_stick(*laws, 5) == 1
    assert worst_case(Coy(), 1, 1, ("?",), 1, HockeyStick(0)).value == 0


def test_caching_does_not_change_the_value() -> None:
    """Unhashable states give the same value, with more beliefs."""
    merged = worst_case(Forks(), 0, 1, ("L", "R"), 3, HockeyStick("1/2"))
    alone = worst_case(Forks(hidden=Unhashable), 0, 1, ("L", "R"), 3, HockeyStick("1/2"))
    assert merged.value == alone.value
    assert str(merged.adversary) == str(alone.adversary)
    assert alone.beliefs > merged.beliefs
    # The recursion is as deep as the interaction; 200 rounds work.
    with pytest.raises(ValueError, match="at most 200"):
        worst_case(PadReveal(3), 0, 1, ("key",), 201, HockeyStick(0))
    assert worst_case(PadReveal(3), 0, 1, ("key",), 200, HockeyStick(0)).value == 0


def test_the_alphabet_may_depend_on_the_view() -> None:
    """Queries may be a function of the view; fewer queries may reach less."""

    def once_each(view: View) -> list[str]:
        return [each for each in ("key", "sum") if each not in {e.query for e in view}]

    free = worst_case(PadReveal(3), 0, 1, ("key", "sum"), 2, HockeyStick(0))
    dependent = worst_case(PadReveal(3), 0, 1, once_each, 2, HockeyStick(0))
    keys = worst_case(PadReveal(3), 0, 1, lambda view: ["key"], 2, HockeyStick(0))
    assert free.value == dependent.value == F(1, 2)
    assert keys.value == 0


def test_the_search_is_short_and_tells_its_progress() -> None:
    """It asks no query that adds nothing, whatever the horizon."""
    lines = str(worst_case(PadReveal(3), 0, 1, ("key", "sum"), 5, HockeyStick(0)).adversary)
    assert lines.count("ask") == 3  # one query, then the other after each of two answers
    # Two stateful children under one filter: equal beliefs are solved once.
    queries = (Launch(reader(3)), Ask(0, "read"), Ask(1, "read"))
    found = worst_case(FiltCon(PureDP(2 * nats(3))), 0, 1, queries, 8, HockeyStick(0), limit=1000)
    assert F(found.value) == F(1429, 4374)
    assert found.beliefs < 300
    # The callback receives every number from 1 to the total.
    reported: list[int] = []
    found = worst_case(
        PadReveal(3), 0, 1, ("key", "sum"), 4, HockeyStick(0), progress=reported.append
    )
    assert reported == list(range(1, found.beliefs + 1))


def test_too_large_a_search_is_refused_before_it_starts() -> None:
    """The estimate needs the first few rounds only."""
    reported: list[int] = []
    queries = [Launch(Response(odds)) for odds in (2, 3, 5, 7)]
    with pytest.raises(ValueError, match=r"about .* beliefs at horizon 40"):
        worst_case(
            FiltCon(PureDP(99)),
            0,
            1,
            queries,
            40,
            HockeyStick(0),
            limit=2000,
            progress=reported.append,
        )
    assert reported == []
    with pytest.raises(ValueError, match="more than 3 beliefs"):
        worst_case(PadReveal(3), 0, 1, ("key", "sum"), 3, HockeyStick(0), limit=3)


READERS = ConComp([reader(3), reader(3), reader(2)])
READS = [Ask(child, "read") for child in range(3)]


@pytest.mark.parametrize(
    ("mechanism", "queries", "beliefs"),
    [
        # after d reads a belief is each child's counts of answers: comb(d + 5, 5) of them
        (READERS, READS, comb(25, 6)),
        # every view of d coins is searched separately
        (Forks(), lambda view: ["L"], 2**20),
    ],
)
def test_the_estimate_is_about_right(mechanism: Any, queries: Any, beliefs: int) -> None:
    """Within a factor of four, for polynomial and for exponential growth."""
    with pytest.raises(ValueError, match="about") as caught:
        worst_case(mechanism, 0, 1, queries, 20, HockeyStick(0), limit=5000)
    estimate = float(str(caught.value).split()[1])
    assert beliefs / 4 < estimate < 4 * beliefs


def test_a_function_that_is_not_a_sum_over_views_is_refused() -> None:
    """The largest ratio is not a sum over views; the hockey stick as a function is."""
    with pytest.raises(ValueError, match="not a sum over views"):
        worst_case(
            PadReveal(3), 0, 1, ("key", "sum"), 2, lambda p, q: max(hockey_stick(p, q, 0), 1)
        )
    found = worst_case(
        PadReveal(3), 0, 1, ("key", "sum"), 2, lambda p, q: hockey_stick(p, q, "1/2")
    )
    assert (
        found.value == worst_case(PadReveal(3), 0, 1, ("key", "sum"), 2, HockeyStick("1/2")).value
    )


@attrs.frozen
class Lists(InteractiveMechanism[Any]):
    """Opens with a list and answers with lists."""

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return bool(dataset), ["hello"]

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return state, [query, coins.draw(yes(F(3))) == state]


def test_an_alphabet_sees_answers_as_they_were_given() -> None:
    """The view contains original answers, not their keys."""
    seen: list[Any] = []

    def by_view(view: View) -> list[Any]:
        seen.extend((view.opening, *view.answers))
        return ["go"]

    found = worst_case(Lists(), 0, 1, by_view, 2, HockeyStick(0))
    assert F(found.value) == F(1, 2)
    assert seen
    assert all(isinstance(answer, list) for answer in seen)


def test_queries_are_read_once_and_checked() -> None:
    """The iterator is read once, and its queries are offered at every point."""
    found = worst_case(PadReveal(3), 0, 1, iter(("key", "sum")), 2, HockeyStick(0))  # type: ignore[arg-type]
    assert found.value == F(1, 2)
    # An adversary returns None to stop, so None cannot be a query.
    with pytest.raises(ValueError, match="remove None from the queries"):
        worst_case(PadReveal(3), 0, 1, ("key", None), 2, HockeyStick(0))
    found = worst_case(PadReveal(3), 0, 1, ("key", "keys", "sum"), 2, HockeyStick(0))
    assert found.never_legal == ("keys",)
    assert found.value == F(1, 2)


def test_interleaving_can_be_worse_than_taking_turns() -> None:
    """Returning to the first child after an answer of the second helps the adversary."""
    mechanism, doors = ConComp([Doors(), Doors()]), ("next", "bold")

    def in_turn(view: View) -> list[Any]:
        begun = any(exchange.path == (1,) for exchange in view)
        return [Ask(child, door) for child in ((1,) if begun else (0, 1)) for door in doors]

    at_will = [Ask(child, door) for child in (0, 1) for door in doors]
    interleaved = worst_case(mechanism, 0, 1, at_will, 4, HockeyStick("5/4"))
    sequential = worst_case(mechanism, 0, 1, in_turn, 4, HockeyStick("5/4"))
    assert F(sequential.value) + F(1, 100) < F(interleaved.value)
