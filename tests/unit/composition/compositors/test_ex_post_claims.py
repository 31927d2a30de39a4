"""Claims of losses that are known afterwards, and the levels that they are paid from."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import pytest
from immutables import Map

from composition import Blocks, ConComp, ExPost, FiltCon, Parallel, Partition, Universal
from composition.compositors.ex_post_claims import ExPostClaim
from mechanisms import Count, Histogram, Laplace, Scripted, Table, TreeCounter
from mechanisms.counters.contributions import first_records
from queryable import (
    SYSTEM,
    ApproxDP,
    Coins,
    InteractiveMechanism,
    Launch,
    MechanismFault,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryError,
    Statistic,
    UnknownQueryError,
    UserLevel,
)
from queryable.checks.protection import ROW, Protected, levels_of, whom
from queryable.ex_post import Expense, ExPostMechanism, Opening
from queryable.losses import ExPostBound
from queryable.streams.levels import BlockLevel, DataLevel, EventLevel
from tests.strategies import SECRET, Courier

ZERO, DELTA = PureDP(0), ApproxDP(0, 0)


def tenth(query: Any) -> Any:
    return "1/10"


@attrs.frozen
class Counted(Expense):
    """A tenth for every answer, unless the test says otherwise."""

    worst: Callable[[Any], Any] = tenth
    more: Callable[[Any], Any] = tenth
    spent: Any = Fraction(0)

    def epsilon(self, d_in: int) -> Any:
        return self.spent * d_in if isinstance(self.spent, Fraction) else self.spent

    def at_worst(self, query: Any, d_in: int) -> Any:
        if isinstance(query, Opening):
            return self.epsilon(d_in)
        if query != "ask":
            raise UnknownQueryError("ask to 'ask'")
        more = self.worst(query)
        return self.epsilon(d_in) + Fraction(more) * d_in if isinstance(more, str) else more

    def after(self, query: Any, answer: Any) -> Expense:
        if isinstance(query, Opening):
            return self
        more = self.more(answer)
        return attrs.evolve(self, spent=self.spent + Fraction(more) if type(more) is str else more)


@attrs.frozen
class Asked(ExPostMechanism[int]):
    """Answers how often it was asked before; what it says of its cost is up to the test."""

    stated: Any = Counted()
    told: Any = Fraction(0)
    fails: bool = False

    def expense(self) -> Any:
        if isinstance(self.stated, Exception):
            raise self.stated
        return self.stated

    def delta(self, d_in: int) -> Any:
        return self.told

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        if self.fails:
            raise RuntimeError(SECRET)
        return 0, None

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        if query != "ask":
            raise UnknownQueryError("ask to 'ask'")
        return state + 1, state


def raises(error: Exception) -> Callable[[Any], Any]:
    def function(_: Any) -> Any:
        raise error

    return function


def test_charges_follow_the_answers() -> None:
    child = ExPostClaim.of(Asked(told="1e-9"), DELTA, 2)
    assert child.loss == ApproxDP(0, "1e-9")
    assert child.at_worst("ask") == ApproxDP("0.2", "1e-9")
    moved, alive = child.settled("ask", 0, child.at_worst("ask"), alive=True)
    assert alive
    assert moved.loss == ApproxDP("0.2", "1e-9")
    assert moved.realised(3) == ExPostBound("0.3", "1e-9")
    assert moved.loss_at(2, 3) == ApproxDP("0.3", "1e-9")
    assert moved.realised(0) == ExPostBound(0, 0)
    # Then less is charged, and the rest is there for other things.
    stated = Counted(more=lambda answer: "0")
    table = Queryable(ExPost(PureDP("0.1")), None)
    child = table(Asked(stated))
    assert [child("ask") for _ in range(5)] == [0, 1, 2, 3, 4]
    assert table.privacy_loss() == ExPostBound(0, 0)


@pytest.mark.parametrize(
    "stated",
    [
        Counted(worst=raises(RuntimeError("no idea"))),
        Counted(worst=lambda query: Fraction(-1)),
        Counted(worst=lambda query: float("nan")),
        Counted(worst=lambda query: None),
    ],
)
def test_a_cost_that_is_not_told_in_advance_stops_the_ask(stated: Any) -> None:
    """Before anything runs; the child has not moved and nothing was charged."""
    table = Queryable(ExPost(PureDP(1)), None)
    child = table(Asked(stated))
    with pytest.raises(PrivacyClaimError, match="Asked does not state its cost"):
        child("ask")
    assert table.privacy_loss() == ExPostBound(0, 0)


@pytest.mark.parametrize(
    ("mechanism", "message"),
    [
        (Asked(stated=RuntimeError("no idea")), "no idea"),
        (Asked(stated=None), "no Expense"),
        (Asked(told=2), "probability"),
        (Asked(told="1e-9"), "ApproxDP"),
        (Asked(Counted(spent=Fraction(-1))), "negative"),
    ],
)
def test_a_launch_without_a_claim_is_refused(mechanism: Any, message: str) -> None:
    """No expense, a bad one, or a delta that the budget has no place for."""
    with pytest.raises(PrivacyClaimError, match=message):
        Queryable(ExPost(PureDP(1)), None)(mechanism)


@pytest.mark.parametrize(
    "more",
    [
        lambda answer: "1/5",
        raises(RuntimeError(SECRET)),
        raises(QueryError(SECRET)),
        lambda answer: Fraction(-1),
    ],
)
def test_a_cost_above_the_worst_fails_the_child(more: Any) -> None:
    """Its answer is withheld, the worst is charged for good, and no text comes out."""
    table = Queryable(ExPost(PureDP(1)), None)
    child = table(Asked(Counted(more=more)))
    with pytest.raises(MechanismFault) as caught:
        child("ask")
    assert SECRET not in repr(caught.value)
    assert table.privacy_loss() == ExPostBound("0.1", 0)
    assert table.privacy_loss(3) == ExPostBound("0.3", 0)
    with pytest.raises(QueryError):
        child("ask")


def test_a_failure_at_launch_costs_the_worst_opening() -> None:
    """Here nothing; its delta is spent."""
    table = Queryable(ExPost(ApproxDP(1, "1e-6")), None)
    with pytest.raises(MechanismFault):
        table(Asked(told="1e-7", fails=True))
    assert table.privacy_loss() == ExPostBound(0, "1e-7")
    # An expense is no privacy map.
    with pytest.raises(PrivacyClaimError, match="Asked"):
        Queryable(FiltCon(PureDP(1)), None)(Asked())


ROWS = {"who": ["z"], "kind": ["a"]}
PARTS = Partition("kind", ["a", "b"])


def counter(level: Any) -> TreeCounter:
    return TreeCounter(Histogram("kind", ["a", "b"]), epsilon=1, horizon=4, neighbours=level)


def of_anything(level: Any) -> TreeCounter:
    """A counter of a user's function, which no table refuses."""
    return TreeCounter(Statistic(len, l1=1, l2=1), epsilon=1, horizon=4, neighbours=level)


def units() -> Table:
    return Table(ROWS, privacy_unit="who", max_rows=1)


def units_of_who() -> Protected:
    return units().protects


def test_one_record_more_may_displace_another_one() -> None:
    """The counterexample: two records differ, and `UserLevel("who", 1)` is charged for one."""
    level = UserLevel("who", 1)
    first, second = {"who": ["u"], "kind": ["a"]}, {"who": ["u"], "kind": ["b"]}
    none = {"who": [], "kind": []}
    kept, seen = first_records(first, level, Map())
    assert (kept, first_records(second, level, seen)[0]) == (first, none)
    kept, seen = first_records(none, level, Map())
    assert (kept, first_records(second, level, seen)[0]) == (none, second)


NARROW = [
    counter(UserLevel("who", 1)),
    ConComp([counter(UserLevel("who", 1)), counter(EventLevel())]),
    Parallel(PARTS, {"a": counter(UserLevel("who", 1))}),
    Blocks(FiltCon(PureDP(1)), "who"),
    Blocks(FiltCon(PureDP(1)), "who", 2),
    Blocks(FiltCon(PureDP(1)), "who", 1, unit_rows=2),
]


@pytest.mark.parametrize("mechanism", NARROW, ids=str)
def test_claims_about_units_that_do_not_hold_for_one_record(mechanism: Any) -> None:
    """A filter over records is charged at one record, so it refuses them."""
    q = Queryable(FiltCon(PureDP(9)), ROWS)
    for way in (
        lambda: q(mechanism),
        lambda: q.launch_many([mechanism]),
        lambda: q(Universal(PureDP(2))).ask(Launch(mechanism)),
    ):
        with pytest.raises(QueryError, match="and then two differ: let two"):
            way()
    spent = q.privacy_loss()
    assert isinstance(spent, PureDP)
    assert spent <= PureDP(2)


@pytest.mark.parametrize(
    "mechanism",
    [
        counter(UserLevel("who", 2)),
        ConComp([counter(UserLevel("who", 2)), counter(EventLevel())]),
        Parallel(PARTS, {"a": counter(UserLevel("who", 2))}),
        Blocks(FiltCon(PureDP(1)), "who", 2, unit_rows=2),
    ],
    ids=str,
)
def test_claims_about_units_that_hold_for_one_record(mechanism: Any) -> None:
    assert Queryable(FiltCon(PureDP(9)), ROWS)(mechanism) is not None


def test_a_root_protects_its_own_units() -> None:
    for mechanism in (NARROW[0], ConComp([NARROW[0]]), NARROW[3]):
        assert Queryable(mechanism, dict(ROWS)) is not None
    with pytest.raises(QueryError, match="let two records"):
        Queryable(NARROW[1], dict(ROWS))


WHO, TWICE, KIND = UserLevel("who", 1), UserLevel("who", 2), UserLevel("kind", 2)
EVENT, DATA = EventLevel(), DataLevel()


@pytest.mark.parametrize(
    ("mechanism", "levels", "rows", "units"),
    [
        (ConComp([counter(TWICE)]), {TWICE}, "who", "who"),
        (ConComp([counter(TWICE), counter(WHO)]), {TWICE, WHO}, "who", "who"),
        (ConComp([counter(TWICE), counter(EVENT)]), {TWICE, EVENT}, "row", None),
        (ConComp([counter(TWICE), counter(KIND)]), {TWICE, KIND}, "row", None),
        (ConComp([counter(TWICE), Laplace(Count(), epsilon=1)]), {TWICE, DATA}, "row", "who"),
        (ConComp([counter(WHO), Laplace(Count(), epsilon=1)]), {WHO, DATA}, None, "who"),
        (ConComp([counter(EVENT), FiltCon(PureDP(1))]), {EVENT, DATA}, "row", None),
        (ConComp([FiltCon(PureDP(1))]), {DATA}, "row", "who"),
        (Parallel(PARTS, {"a": counter(TWICE)}), {TWICE, EVENT}, "row", None),
        (Parallel(PARTS, {"a": FiltCon(PureDP(1))}), {DATA, EVENT}, "row", None),
        (Blocks(FiltCon(PureDP(1)), "who", 2), {BlockLevel("who", 2, 1)}, "who", "who"),
        (Courier() @ counter(WHO), {WHO}, "who", "who"),
        (Courier() @ FiltCon(PureDP(1)), {DATA}, "row", "who"),
        (Scripted(FiltCon(PureDP(1)), []), {DATA}, "row", "who"),
        (ConComp([]), set(), "row", "who"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, InteractiveMechanism) else None,
)
def test_a_composition_states_what_all_in_it_protect(
    mechanism: Any, levels: set[Any], rows: str | None, units: str | None
) -> None:
    """`rows` and `units` are whom its claim is about over data that protect these."""
    assert {*levels_of(mechanism)} == levels
    for whose, protected in ((ROW, rows), (units_of_who(), units)):
        if protected is None:
            with pytest.raises(QueryError, match="othing is charged"):
                whom(mechanism, whose)
        else:
            assert whom(mechanism, whose).unit == protected


@pytest.mark.parametrize(
    "mechanism",
    [
        ConComp([of_anything(UserLevel("who", 1)), of_anything(EventLevel())]),
        ConComp([of_anything(UserLevel("who", 1)), of_anything(UserLevel("kind", 1))]),
        Parallel(PARTS, {each: of_anything(UserLevel("who", 1)) for each in "ab"}),
        Parallel(PARTS, {each: FiltCon(PureDP(1)) for each in "ab"}),
    ],
    ids=str,
)
def test_data_that_protect_units_refuse_a_composition_with_weaker_parts(mechanism: Any) -> None:
    """Also parallel parts: a unit has rows in several, so the largest loss is not the whole."""
    q = Queryable(FiltCon(PureDP(9)), units())
    with pytest.raises(QueryError, match="protect all rows of one who"):
        q(mechanism)
    with pytest.raises(QueryError, match="protect all rows of one who"):
        Queryable(mechanism, units())
    assert q.privacy_loss() == PureDP(0)


def test_rows_are_divided_and_units_are_not() -> None:
    """Also where the parts keep the data: rows of a table without its unit are unbounded."""
    mechanism = Parallel(PARTS, {"a": FiltCon(ApproxDP(1, "1e-9"))})
    assert mechanism.growth is None
    with pytest.raises(TypeError, match="may be in several parts"):
        PARTS.split(units(), ["a"])
    q = Queryable(FiltCon(ApproxDP(9, "1e-6")), Table(dict(ROWS)))
    assert q(Parallel(PARTS, {"a": FiltCon(ApproxDP(1, "1e-9"))})).opening is not None


@pytest.mark.parametrize("within", ["alone", "composed", "behind a person", "in a person's filter"])
def test_data_that_cannot_be_divided_are_refused_before_the_charge(within: str) -> None:
    """Units may have rows in several parts; joined rows are not read one by one."""
    parts: Any = Parallel(PARTS, {"a": FiltCon(ApproxDP(1, "1e-9"))})
    mechanism = {
        "alone": parts,
        "composed": ConComp([FiltCon(ApproxDP(1, "1e-9")), parts]),
        "behind a person": Courier() @ parts,
        "in a person's filter": Courier() @ ConComp([parts]),
    }[within]
    joined = Table(dict(ROWS)).join(public={"kind": ["a", "b"], "more": [1, 2]}, on="kind")
    for data, why in ((units(), "several parts"), (joined, "joined"), ({"x": [1]}, "no column")):
        q = Queryable(FiltCon(ApproxDP(9, "1e-6")), data)
        with pytest.raises(QueryError, match=why):
            q(mechanism)
        assert q.privacy_loss() == ApproxDP(0, 0)
        with pytest.raises(QueryError, match=why):
            q.can_afford(mechanism)
        with pytest.raises(QueryError, match=why):
            Queryable(mechanism, data)
        with pytest.raises(QueryError, match=why):
            Queryable(Universal(ApproxDP(9, "1e-6")), data)(mechanism)
