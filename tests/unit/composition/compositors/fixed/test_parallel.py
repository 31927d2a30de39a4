"""Partitions of records, and a mechanism for each part."""

from collections import Counter
from decimal import Decimal
from itertools import product
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import Blocks, ExPost, FiltCon, OdomCon, Parallel, Partition
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    Failed,
    Launch,
    LaunchOver,
    Loss,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    UnprovenCompositionError,
    Update,
)
from queryable.data.rows import rows_of
from queryable.errors import RetiredChildError, UnknownChildError
from queryable.messages import CloseBlock
from queryable.streams.blocks import BlocksQuery
from tests.strategies import Size, Toy

COINS = SeededCoins(1)
DATA = [{"k": key} for key in ("a", "a", "b", "c", None)]
PARTS = Partition("k", ["a", "b"])


@attrs.frozen
class Mapped(Toy):
    """Its losses at 1, 2, ... records are listed; the last one is for all more."""

    losses: tuple[Loss, ...] = attrs.field(kw_only=True)

    def loss(self, d_in: int) -> Loss:
        return self.losses[min(d_in, len(self.losses)) - 1]


def parallel(*mechanisms: Any) -> Parallel:
    names = [f"p{place}" for place in range(len(mechanisms))]
    return Parallel(Partition("k", names), dict(zip(names, mechanisms, strict=True)))


def test_each_part_sees_its_own_records() -> None:
    """The rest go to the other part, which may be used as well."""
    mechanism = Parallel(PARTS, {"a": Size(), "b": Size(), "other": Size()})
    assert [each.answer for each in mechanism.init(DATA, COINS)[1]] == [2, 1, 2]
    # Part b has no mechanism, and its records are not read.
    q = Queryable(Parallel(PARTS, {"a": Toy()}), DATA)
    assert list(q.children) == ["a"]
    with pytest.raises(UnknownChildError):
        q.ask(Ask("b", "bits"))


def test_parts_interleave() -> None:
    """Using one part retires no other part, and changes no other part's budget."""
    q = Queryable(Parallel(PARTS, {"a": FiltCon(PureDP("0.2")), "b": FiltCon(PureDP("0.1"))}), DATA)
    a, b = q.opening
    first, second, third = a.launch(Toy()), b.launch(Toy()), a.launch(Toy())
    assert [each.ask("bits") for each in (first, second, third, first)] == [0, 0, 0, 1]
    with pytest.raises(QueryRefusedError):
        b.launch(Toy())
    assert (a.privacy_loss(), b.privacy_loss()) == (PureDP("0.2"), PureDP("0.1"))


def test_the_loss_is_that_of_the_part_that_spent_most() -> None:
    mechanism = Parallel(PARTS, {"a": FiltCon(PureDP(1)), "b": FiltCon(PureDP(2))})
    q = Queryable(mechanism, DATA)
    assert q.privacy_loss() == PureDP(0)
    q.children["a"].launch(Toy())
    assert q.privacy_loss() == PureDP("0.1")
    q.children["b"].launch(Toy(PureDP("0.3")))
    assert q.privacy_loss() == PureDP("0.3")
    assert q.privacy_loss(2) == PureDP(4)  # both records in part b
    assert mechanism.privacy_map(1) == PureDP(2)
    # In the report as in the map.
    q = Queryable(Parallel(PARTS, {"a": FiltCon(ZCDP(1)), "b": Toy(PureDP("0.1"))}), DATA)
    q.children["a"].launch(Toy(ZCDP("0.5")))
    assert q.privacy_loss() == ZCDP("0.5")
    # A bound on what was realised is no loss; the whole is told in losses.
    q = Queryable(Parallel(PARTS, {"a": ExPost(PureDP(2)), "b": FiltCon(PureDP(1))}), DATA)
    assert q.privacy_loss() == PureDP(2)


@given(
    st.lists(
        st.lists(st.integers(0, 9), min_size=1, max_size=3).map(sorted), min_size=1, max_size=4
    ),
    st.integers(0, 4),
)
def test_the_map_is_the_supremum_over_splits(curves: list[list[int]], d_in: int) -> None:
    """Against all splits, one by one; flat maps included."""
    mechanism = parallel(*(Mapped(losses=tuple(map(PureDP, curve))) for curve in curves))

    def lost(curve: list[int], records: int) -> int:
        return curve[min(records, len(curve)) - 1] if records else 0

    splits = (s for s in product(range(d_in + 1), repeat=len(curves)) if sum(s) <= d_in)
    worst = max(sum(map(lost, curves, split)) for split in splits)
    assert mechanism.privacy_map(d_in) == PureDP(worst)


def test_many_records_and_many_parts_are_bounded_from_above() -> None:
    """Flat maps beyond the exact convolution: every part at its most, which here is reached."""
    flat = parallel(*[Mapped(losses=(PureDP(1), PureDP(2)))] * 3)
    assert flat.privacy_map(101) == PureDP(6)
    assert flat.privacy_map(6) == PureDP(6)
    steep = parallel(*[Mapped(losses=tuple(PureDP(k * k) for k in range(1, 400)))] * 3)
    assert steep.privacy_map(300) == PureDP(90_000)
    # Of a thousand parts with one flat map, two records reach two.
    mechanism = parallel(*[Mapped(losses=(PureDP(1),))] * 1000)
    assert mechanism.privacy_map(2) == PureDP(2)
    assert mechanism.privacy_map(1) == PureDP(1)


@pytest.mark.parametrize(
    ("one", "other", "at_one", "at_two"),
    [
        (ZCDP(1), ZCDP(2), ZCDP(2), ZCDP(8)),
        (GDP(3), GDP(4), GDP(4), GDP(8)),
        (ApproxDP(1, "0.1"), ApproxDP(2, 0), ApproxDP(2, "0.1"), None),
        (PureDP(1), ApproxDP("0.5", "0.1"), ApproxDP(1, "0.1"), None),
    ],
)
def test_every_measure_has_its_supremum(one: Any, other: Any, at_one: Any, at_two: Any) -> None:
    """The larger of two, or the join of two that are not ordered."""
    mechanism = parallel(Toy(one), Toy(other))
    assert mechanism.privacy_map(1) == at_one
    assert mechanism.privacy_map(0) == at_one.zero()
    if at_two is not None:
        assert mechanism.privacy_map(2) == at_two


def test_beyond_one_record_parts_need_a_group_bound_and_a_theorem() -> None:
    """The supremum over parts is capped at one."""
    mechanism = parallel(*[Mapped(losses=(ApproxDP(1, "0.7"),))] * 2)
    assert mechanism.privacy_map(2) == ApproxDP(2, 1)
    # Renyi privacy at one order says nothing of two records in one part.
    mechanism = parallel(Toy(RDP(8, 1)), Toy(RDP(8, 2)))
    assert mechanism.privacy_map(1) == RDP(8, 2)
    with pytest.raises(ValueError, match="group"):
        mechanism.privacy_map(2)
    # At d_in=1 one part differs, which needs no composition theorem; at 2 it does.
    losses = (ApproxZCDP(1, "0.1"), ApproxZCDP(2, "0.2"))
    mechanism = parallel(Mapped(losses=losses), Mapped(losses=losses))
    assert mechanism.privacy_map(1) == ApproxZCDP(1, "0.1")
    with pytest.raises(UnprovenCompositionError, match="open"):
        mechanism.privacy_map(2)


def test_with_an_odometer_there_is_no_claim() -> None:
    """But there is a report."""
    mechanism = Parallel(PARTS, {"a": OdomCon(PureDP), "b": Toy()})
    with pytest.raises(PrivacyClaimError):
        mechanism.privacy_map(1)
    q = Queryable(mechanism, DATA)
    q.children["a"].launch(Toy(PureDP(3)))
    assert q.privacy_loss() == PureDP(3)


@pytest.mark.parametrize("name", ["c", True, 0, None])
def test_an_unknown_part_is_refused_at_construction(name: Any) -> None:
    """A mechanism for a part that no record is in."""
    with pytest.raises(ValueError, match="no part"):
        Parallel(PARTS, {name: Toy()})


@pytest.mark.parametrize("mechanism", [None, "a", Toy, Launch(Toy())])
def test_what_is_no_mechanism_is_refused(mechanism: Any) -> None:
    with pytest.raises(TypeError, match="'a'"):
        Parallel(PARTS, {"a": mechanism})


def test_nothing_starts_if_the_parts_cannot_be_made() -> None:
    """The launch has failed as a whole, and is charged. The error is not told."""

    class Broken(Partition):
        def split(self, dataset: Any, wanted: Any) -> Any:
            raise RuntimeError("secret")

    started: list[int] = []

    class Counts(Toy):
        def init(self, dataset: Any, coins: Any = COINS) -> Any:
            started.append(len(dataset))
            return super().init(dataset, coins)

    mechanism = Parallel(Broken("k", ["a", "b"]), {"a": Counts(), "b": Counts()})
    state, _ = FiltCon(PureDP(1)).init(DATA, COINS)
    state, answer = FiltCon(PureDP(1)).step(state, Launch(mechanism), COINS)
    assert isinstance(answer, Failed)
    assert FiltCon(PureDP(1)).step(state, PrivacyLossQuery(), COINS)[1] == PureDP("0.1")
    with pytest.raises(RetiredChildError):
        FiltCon(PureDP(1)).step(state, Ask(0, Ask("a", "bits")), COINS)
    assert not started


def test_the_records_that_a_part_starts_with_are_in_no_block() -> None:
    """It knows the blocks that arrive later."""
    parts = Parallel(PARTS, {name: Blocks(FiltCon(PureDP(1))) for name in ("a", "b")})
    mechanism, batch = FiltCon(PureDP(2)), [{"k": "a"}, {"k": "b"}]
    state, _ = mechanism.init(DATA, COINS)
    state, _ = mechanism.step(state, Update(batch, "monday"), COINS)
    state, _ = mechanism.step(state, Launch(parts), COINS)
    named = []
    for block in (None, "tuesday"):
        state, _ = mechanism.step(state, Update(batch, block), COINS)
        _, told = mechanism.step(state, Ask(0, Ask("a", BlocksQuery())), COINS)
        named.append([each.block for each in told])
    assert named == [[], ["tuesday"]]
    state, _ = mechanism.step(state, CloseBlock("tuesday"), COINS)
    launch = LaunchOver(Size(), ["tuesday"])
    assert mechanism.step(state, Ask(0, Ask("a", launch)), COINS)[1].answer == 1


def test_it_is_launched_and_charged_as_a_whole() -> None:
    """In a filter for one record the largest part, for two the supremum."""
    flat = parallel(*[Mapped(losses=(PureDP(1),))] * 3)
    for d_in, lost in ((1, 1), (2, 2), (3, 3), (4, 3)):
        q = Queryable(FiltCon(PureDP(9), d_in=d_in), DATA)
        q.launch(flat)
        assert q.privacy_loss() == PureDP(lost)
    # The names of columns are public.
    columns = {"k": [record["k"] for record in DATA]}
    q = Queryable(FiltCon(PureDP(9)), columns)
    with pytest.raises(QueryError, match="no column 'absent'"):
        q.launch(Parallel(Partition("absent", ["a"]), {"a": Toy()}))
    assert q.privacy_loss() == PureDP(0)


KEYS = st.one_of(
    st.sampled_from(["a", "b", "other", "c", 0, 1, 2, True, False, None, 1.0, (), float("nan")]),
    st.text(max_size=2),
    st.integers(-2, 3),
    st.just([]),
    st.just({}),
)


def itself(record: Any) -> Any:
    return record


def raising(record: Any) -> Any:
    raise RuntimeError(record)


@given(st.lists(KEYS), st.sampled_from([itself, raising, "k"]))
def test_every_record_is_in_exactly_one_part(keys: list[Any], key: Any) -> None:
    """Whatever the keys are: missing, unhashable, of a wrong type, or raised over."""
    data: list[Any] = [{"k": each} for each in keys] if key == "k" else keys
    partition = Partition(key, ["a", "b", 1])
    parts = partition.split(data, partition.parts)
    assert sum(map(len, parts.values())) == len(data)
    found = Counter(id(record) for part in parts.values() for record in part)
    assert found == Counter(map(id, data))


@given(st.lists(KEYS, max_size=6), KEYS)
def test_one_record_more_changes_one_part(keys: list[Any], added: Any) -> None:
    """By that record: where a record goes does not depend on the others."""
    partition = Partition(itself, ["a", "b", 1])
    before = partition.split(keys, partition.parts)
    after = partition.split([*keys, added], partition.parts)
    longer = [name for name in partition.parts if len(after[name]) != len(before[name])]
    assert len(longer) == 1
    assert [id(each) for each in after[longer[0]][:-1]] == [id(each) for each in before[longer[0]]]


@pytest.mark.parametrize(
    ("key", "part"),
    [
        ("a", "a"),
        (1, 1),
        (np.int64(1), 1),
        (np.str_("a"), "a"),
        (1.0, 1),
        (np.float64(1.5), "other"),
        (float("nan"), "other"),
        (True, "other"),
        (np.True_, "other"),
        ("z", "other"),
        (None, "other"),
        ([], "other"),
    ],
)
def test_where_a_record_goes(key: Any, part: Any) -> None:
    """By equality with a name, numpy's scalars and whole floats too; a bool is no number."""
    parts = Partition(itself, ["a", 1]).split([key], ["a", 1, "other"])
    assert [name for name, records in parts.items() if len(records)] == [part]


@pytest.mark.parametrize(
    "dataset",
    [
        [{"k": "a", "v": 1}, {"k": "b", "v": 2}, {"k": "a", "v": 3}, {"k": None, "v": 4}],
        {"k": ["a", "b", "a", None], "v": [1, 2, 3, 4]},
        pd.DataFrame({"k": ["a", "b", "a", None], "v": [1, 2, 3, 4]}),
        pl.DataFrame({"k": ["a", "b", "a", None], "v": [1, 2, 3, 4]}),
    ],
    ids=["records", "columns", "pandas", "polars"],
)
@pytest.mark.parametrize("key", ["k", lambda row: row["k"]], ids=["column", "function"])
def test_every_form_of_data(dataset: Any, key: Any) -> None:
    parts = Partition(key, ["a", "b"]).split(dataset, ["a", "b", "other"])
    assert all(type(part) is type(dataset) for part in parts.values())
    values = {name: [row["v"] for row in rows_of(part)] for name, part in parts.items()}
    assert values == {"a": [1, 3], "b": [2], "other": [4]}


@pytest.mark.parametrize(
    ("names", "error", "reason"),
    [
        (["a", "b", "a"], ValueError, "overlap"),
        ([1, True], TypeError, "True"),
        ([], ValueError, "at least one"),
        ("ab", TypeError, "list of part names"),
        ([["a"]], TypeError, "int or a string"),
        ([None], TypeError, "int or a string"),
        ([1.5], TypeError, "int or a string"),
        (set, TypeError, "public"),
        (np.array(["a", "b"]), TypeError, "public"),
        (pd.Series(["a", "b"]).unique(), TypeError, "public"),
        (pd.DataFrame({"k": ["a", "b"]})["k"], TypeError, "public"),
        (pl.Series(["a", "b"]), TypeError, "public"),
        (None, TypeError, "names is None"),
    ],
)
def test_bad_names_are_refused(names: Any, error: type[Exception], reason: str) -> None:
    """Overlapping, no names at all, or categories that are read off the data."""
    with pytest.raises(error, match=reason):
        Partition(itself, names)


@pytest.mark.parametrize("other", ["a", None, True, ["x"]])
def test_the_other_part_has_a_name_of_its_own(other: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        Partition(itself, ["a"], other)


@pytest.mark.parametrize("name", ["c", 3, True, None, ["a"]])
def test_an_unknown_part_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="'a', 1, 'other'"):
        Partition(itself, ["a", 1]).require_part(name)


def test_parts_are_the_names_and_the_other() -> None:
    """Public, before any data are seen."""
    partition = Partition("k", ["a", 1], "rest")
    assert partition.parts == ("a", 1, "rest")
    for name in partition.parts:
        partition.require_part(name)
    assert dict(Partition(itself, ["a", "b"]).split(["a", "b"], ["b"])) == {"b": ["b"]}
    # Their keys are numpy scalars and name parts all the same.
    parts = Partition(itself, [0, 1]).split(np.array([0, 1, 1, 2]), [0, 1, "other"])
    assert {name: part.tolist() for name, part in parts.items()} == {
        0: [0],
        1: [1, 1],
        "other": [2],
    }


class Lying(int):
    """A number whose comparison fails."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("the patient is 47")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    "record",
    [{}, {"k": None}, {"k": Decimal("sNaN")}, {"k": np.zeros(2)}, {"k": Lying(1)}, None, 3, pd.NA],
    ids=str,
)
@pytest.mark.parametrize("key", ["k", lambda record: record["k"]], ids=["column", "function"])
def test_a_record_without_a_key_is_in_the_other_part(record: Any, key: Any) -> None:
    """In a list of records and in a column of objects, alone and among others."""
    rows = [{"k": "a"}, record]
    for data in (rows, rows[1:]):
        parts = Partition(key, ["a", 1]).split(data, ["a", 1, "other"])
        assert [len(part) for part in parts.values()] == [len(data) - 1, 0, 1]
    if isinstance(record, dict) and record:
        column = np.fromiter(("a", record["k"]), dtype=object, count=2)
        for table in ({"k": column}, pd.DataFrame({"k": pd.Series(column, dtype=object)})):
            parts = Partition(key, ["a", 1]).split(table, ["a", 1, "other"])
            assert [len(part["k"]) for part in parts.values()] == [1, 0, 1]


def test_a_part_does_not_tell_where_its_rows_were() -> None:
    """Otherwise the pandas index would reveal how many records of other parts come first."""
    lengths = {
        tuple(Partition("k", ["a"]).split(pd.DataFrame({"k": keys}), ["a"])["a"].index)
        for keys in (["a", "a"], ["b", "a", "a"], ["a", "b", "b", "a"])
    }
    assert lengths == {(0, 1)}
