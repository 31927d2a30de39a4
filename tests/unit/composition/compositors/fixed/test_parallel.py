"""Parallel: a mechanism to each part, used in any order, accounted for by the worst split."""

from itertools import product
from typing import Any

import attrs
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


def test_parts_interleave() -> None:
    """Using one part retires no other part, and changes no other part's budget."""
    q = Queryable(Parallel(PARTS, {"a": FiltCon(PureDP("0.2")), "b": FiltCon(PureDP("0.1"))}), DATA)
    a, b = q.opening
    first, second, third = a.launch(Toy()), b.launch(Toy()), a.launch(Toy())
    assert [each.ask("bits") for each in (first, second, third, first)] == [0, 0, 0, 1]
    with pytest.raises(QueryRefusedError):
        b.launch(Toy())
    assert (a.privacy_loss(), b.privacy_loss()) == (PureDP("0.2"), PureDP("0.1"))


def test_a_part_that_reports_what_was_realised_counts_with_its_budget() -> None:
    """A bound on what was realised is no loss; the whole is told in losses."""
    q = Queryable(Parallel(PARTS, {"a": ExPost(PureDP(2)), "b": FiltCon(PureDP(1))}), DATA)
    assert q.privacy_loss() == PureDP(2)


def test_the_loss_is_that_of_the_part_that_spent_most() -> None:
    """The report is the part with the largest spending; the map keeps the declared loss."""
    mechanism = Parallel(PARTS, {"a": FiltCon(PureDP(1)), "b": FiltCon(PureDP(2))})
    q = Queryable(mechanism, DATA)
    assert q.privacy_loss() == PureDP(0)
    q.children["a"].launch(Toy())
    assert q.privacy_loss() == PureDP("0.1")
    q.children["b"].launch(Toy(PureDP("0.3")))
    assert q.privacy_loss() == PureDP("0.3")
    assert q.privacy_loss(2) == PureDP(4)  # both records in part b
    assert mechanism.privacy_map(1) == PureDP(2)


def test_losses_of_several_measures_meet() -> None:
    """In the report as in the map."""
    q = Queryable(Parallel(PARTS, {"a": FiltCon(ZCDP(1)), "b": Toy(PureDP("0.1"))}), DATA)
    q.children["a"].launch(Toy(ZCDP("0.5")))
    assert q.privacy_loss() == ZCDP("0.5")


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


def test_many_equal_parts_are_no_more_work_than_few() -> None:
    """Of a thousand parts with one flat map, two records reach two."""
    mechanism = parallel(*[Mapped(losses=(PureDP(1),))] * 1000)
    assert mechanism.privacy_map(2) == PureDP(2)
    assert mechanism.privacy_map(1) == PureDP(1)


def test_many_records_are_bounded_from_above() -> None:
    """Flat maps beyond the exact convolution: every part at its most, which here is reached."""
    flat = parallel(*[Mapped(losses=(PureDP(1), PureDP(2)))] * 3)
    assert flat.privacy_map(101) == PureDP(6)
    assert flat.privacy_map(6) == PureDP(6)
    steep = parallel(*[Mapped(losses=tuple(PureDP(k * k) for k in range(1, 400)))] * 3)
    assert steep.privacy_map(300) == PureDP(90_000)


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


def test_a_delta_is_at_most_one() -> None:
    """The supremum over parts is capped at one."""
    mechanism = parallel(*[Mapped(losses=(ApproxDP(1, "0.7"),))] * 2)
    assert mechanism.privacy_map(2) == ApproxDP(2, 1)


def test_an_order_without_group_bound_is_refused_beyond_one() -> None:
    """Renyi privacy at one order says nothing of two records in one part."""
    mechanism = parallel(Toy(RDP(8, 1)), Toy(RDP(8, 2)))
    assert mechanism.privacy_map(1) == RDP(8, 2)
    with pytest.raises(ValueError, match="group"):
        mechanism.privacy_map(2)


def test_the_open_case_is_refused_only_where_parts_compose() -> None:
    """At d_in=1 one part differs, which needs no composition theorem; at 2 it does."""
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
    """With the part that it was meant for."""
    with pytest.raises(TypeError, match="'a'"):
        Parallel(PARTS, {"a": mechanism})


def test_an_unused_part_is_no_child() -> None:
    """Part b has no mechanism, and its records are not read."""
    q = Queryable(Parallel(PARTS, {"a": Toy()}), DATA)
    assert list(q.children) == ["a"]
    with pytest.raises(UnknownChildError):
        q.ask(Ask("b", "bits"))


def test_a_missing_column_is_refused_before_the_charge() -> None:
    """The names of columns are public."""
    columns = {"k": [record["k"] for record in DATA]}
    q = Queryable(FiltCon(PureDP(9)), columns)
    with pytest.raises(QueryError, match="no column 'absent'"):
        q.launch(Parallel(Partition("absent", ["a"]), {"a": Toy()}))
    assert q.privacy_loss() == PureDP(0)


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
