"""What a composition protects if its data grow: the levels of all mechanisms in it."""

from typing import Any

import pytest
from immutables import Map

from composition import Blocks, ConComp, FiltCon, Parallel, Partition, Universal
from mechanisms import Count, Histogram, Laplace, Scripted, Table, TreeCounter
from mechanisms.counters.contributions import first_records
from queryable import (
    ApproxDP,
    InteractiveMechanism,
    Launch,
    PureDP,
    Queryable,
    QueryError,
    Statistic,
    UserLevel,
)
from queryable.checks.protection import ROW, Protected, levels_of, whom
from queryable.streams.levels import BlockLevel, DataLevel, EventLevel
from tests.strategies import Courier

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


def test_parts_of_data_that_protect_units_are_not_made() -> None:
    """Also where the parts keep the data: rows of a table without its unit are unbounded."""
    mechanism = Parallel(PARTS, {"a": FiltCon(ApproxDP(1, "1e-9"))})
    assert mechanism.growth is None
    with pytest.raises(TypeError, match="may be in several parts"):
        PARTS.split(units(), ["a"])


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


def test_rows_of_a_table_are_divided() -> None:
    q = Queryable(FiltCon(ApproxDP(9, "1e-6")), Table(dict(ROWS)))
    assert q(Parallel(PARTS, {"a": FiltCon(ApproxDP(1, "1e-9"))})).opening is not None
