"""Blocks: launches over blocks, the owner's messages, refusals, and everything that is wrong."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from typing import Any

import attrs
import numpy as np
import pytest

from composition import Blocks, ExPost, Filt, FiltCon, Menu, Whitehouse2023
from composition.compositors.blocks import blocks, units
from mechanisms import Count, Gaussian, SparseVector, Table, ToeplitzCounter, column
from queryable import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    CanAfford,
    Failed,
    Last,
    Launch,
    Launched,
    LaunchOver,
    Loss,
    Measurement,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Refused,
    UnprovenCompositionError,
    explain,
)
from queryable.audit.views.scripts import snapshot
from queryable.checks.datasets import Described
from queryable.checks.protection import Protected
from queryable.data.growing import Grown, grown
from queryable.errors import HandleError
from queryable.messages import CloseBlock, LaunchMany, MeasureQuery, Stated, Update
from queryable.streams.blocks import BlockLossQuery, BlocksQuery
from tests.strategies import Faulty, Toy, raising

LITTLE = PureDP("1/10")


@attrs.frozen
class Reads(Measurement[Any]):
    """Answers all records; its loss is small."""

    charged: Loss = LITTLE

    def loss(self, d_in: int) -> Loss:
        return self.charged

    def release(self, dataset: Any, coins: Any) -> Any:
        return list(dataset)


def week(build: Any = None, days: int = 3, start: Any = ()) -> Queryable:
    """Blocks with two records a day, and an open block with one."""
    q = Queryable(Blocks(FiltCon(PureDP(1))) if build is None else build, list(start))
    for day in range(days):
        q.feed([10 * day], block=f"day {day}")
        q.feed([10 * day + 1], block=f"day {day}")
        q.feed.close(f"day {day}")
    q.feed([99], block="today")
    return q


def spent(q: Queryable) -> list[Any]:
    return [each.spent.parts[0] * 10 for each in q.ask(BlocksQuery())]


def state_of(q: Queryable) -> Any:
    """The state by value, with the records."""
    return snapshot(q._root.state)  # type: ignore[attr-defined]


# Launches.


def test_a_launch_reads_the_union_of_its_blocks_and_charges_each() -> None:
    q = week()
    assert q.launch_over(Reads(), ["day 2", "day 0"]) == [0, 1, 20, 21]
    assert q.launch_over(Reads(), Last(2)) == [10, 11, 20, 21]
    assert q(LaunchOver(Reads(), ("day 1",))) == [10, 11]
    assert spent(q) == [1, 2, 2, 0]
    assert q.privacy_loss() == PureDP("1/5")
    assert q.ask(BlockLossQuery("day 0")) == LITTLE
    assert q.ask(BlockLossQuery("today")) == PureDP(0)


def test_all_blocks_pay_or_none() -> None:
    q = week()
    q.launch_over(Reads(PureDP("1/2")), ["day 1"])
    q.launch_over(Reads(PureDP("3/5")), ["day 2"])
    before = state_of(q)
    with pytest.raises(QueryRefusedError) as refused:
        q.launch_over(Reads(PureDP("3/5")), Last(3))
    assert "blocks day 1, day 2 cannot pay" in str(refused.value)
    assert "Or launch over blocks that can pay" in str(refused.value)
    assert refused.value.spent == PureDP("1/2")
    assert state_of(q) == before
    assert spent(q) == [0, 5, 6, 0]
    q = week()
    q.launch_over(Reads(PureDP(1)), Last(3))
    q.feed([98], block="today")
    q.feed.close("today")
    assert q.launch_over(Reads(PureDP(1)), Last(1)) == [99, 98]
    with pytest.raises(QueryRefusedError, match="blocks day 2, today cannot pay"):
        q.launch_over(Reads(), Last(2))


def test_nothing_is_read_before_it_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused launch, a dry run and a wrong one read no block; an admitted one reads its own."""
    q, read = week(), list[Any]()
    over = Grown.over

    def seen(self: Any, blocks: Any) -> Any:
        read.append(tuple(blocks))
        return over(self, blocks)

    monkeypatch.setattr(Grown, "over", seen)
    assert not q.can_afford(Reads(PureDP(2)), blocks=Last(2))
    assert q.can_afford(Reads(), blocks=Last(2))
    with pytest.raises(QueryRefusedError):
        q.launch_over(Reads(PureDP(2)), Last(2))
    with pytest.raises(QueryError):
        q.launch_over(Reads(), ["day 0", "today"])
    assert read == []
    q.launch_over(Reads(), Last(2))
    assert read == [("day 1", "day 2")]


def test_children_keep_their_records_and_get_no_updates() -> None:
    q = week()
    team = q.launch_over(FiltCon(PureDP("1/2")), Last(2))
    q.feed([97], block="today")
    q.feed.close("today")
    assert team.launch(Reads()) == [10, 11, 20, 21]
    assert team.privacy_loss() == LITTLE
    assert spent(q) == [0, 5, 5, 0]
    q = week()
    inner = q.launch_over(FiltCon(PureDP("1/2")), ["day 1"])
    deeper = inner.launch(FiltCon(PureDP("1/4")))
    assert deeper.launch(Reads()) == [10, 11]
    child = week().launch_over(FiltCon(LITTLE), ["day 0"])
    with pytest.raises(HandleError):
        child.feed([1], block="day 0")


def test_several_launches_are_single_ones() -> None:
    launches = [
        LaunchOver(Reads(), ["day 0"]),
        LaunchOver(Reads(PureDP(2)), Last(1)),
        LaunchOver(Toy(LITTLE), Last(3)),
        LaunchOver(Faulty(raising(ValueError()), True, charged=LITTLE), ["day 2"]),
        LaunchOver(Reads(PureDP("9/10")), ["day 0"]),
        LaunchOver(Reads(), ["day 0"]),
    ]
    together, alone = week(), week()
    told = together._root.tell((), LaunchMany(launches))
    assert told == tuple(alone._root.tell((), each) for each in launches)
    kinds = [type(each) for each in told]
    assert kinds == [Launched, Refused, Launched, Failed, Refused, Launched]
    assert spent(together) == spent(alone) == [3, 1, 2, 0]
    assert together.ledger() == alone.ledger()
    assert together.ask(Ask(1, "bits")) == alone.ask(Ask(1, "bits")) == 0


def test_names_and_many_launches_through_the_handle() -> None:
    q = week()
    first, second = q.launch_many([LaunchOver(Reads(), ["day 0"]), LaunchOver(Reads(), Last(1))])
    assert (first, second) == ([0, 1], [20, 21])
    with pytest.raises(QueryError, match="entry 1: there is no block 'x'"):
        q.launch_many([LaunchOver(Reads(), ["day 0"]), LaunchOver(Reads(), ["x"])])
    with pytest.raises(QueryError, match="entry 0"):
        q.launch_many([Reads()])
    assert spent(q) == [1, 0, 1, 0]
    q = week()
    first = q.launch_over(Reads(), ["day 0"], name="all")
    assert q.launch_over(Reads(), ["day 0"], name="all") is first
    assert spent(q) == [1, 0, 0, 0]
    with pytest.raises(QueryError, match="belongs to another mechanism"):
        q.launch_over(Reads(), ["day 1"], name="all")


def test_released_statistics_over_blocks() -> None:
    q = Queryable(Blocks(FiltCon(ZCDP(1))), {"age": np.array([], dtype=int)})
    for day in range(2):
        q.feed({"age": np.array([31, 47, 62] * 100)}, block=date(2024, 1, day + 1))
        q.feed.close(date(2024, 1, day + 1))
    both = q.release(Count(column("age") >= 40), within=20, blocks=Last(2))
    low, high = both.interval(0.999999)
    assert low <= 400 <= high
    assert q.ask(MeasureQuery()) == Stated(ZCDP, 1)
    assert q.launch_over(Gaussian(Count(), rho="1/5"), [date(2024, 1, 1)]) > 0


def test_an_interrupted_batch_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the records were added already or not."""
    for late in (False, True):
        q = week()
        before = state_of(q)

        def stopped(*arguments: Any, late: bool = late) -> Any:
            if late:
                grown(*arguments)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(blocks, "grown", stopped)
            with pytest.raises(KeyboardInterrupt):
                q.feed([98], block="today")
        assert state_of(q) == before
        q.feed([97], block="today")
        q.feed.close("today")
        assert q.launch_over(Reads(), Last(1)) == [99, 97]


# Where Blocks runs.


def test_blocks_in_a_filter() -> None:
    """Updates reach it; it knows the blocks from before; the last of them is closed or passed."""
    q = Queryable(FiltCon(PureDP(3)), [])
    q.feed([0], block="a")
    first = q.launch(Blocks(FiltCon(PureDP(1))))
    q.feed.close("a")
    q.feed([1], block="b")
    second = q.launch(Blocks(FiltCon(PureDP(1))))
    assert [each.closed for each in second.ask(BlocksQuery())] == [True, False]
    q.feed([2], block="b")
    q.feed.close("b")
    third = q.launch(Blocks(FiltCon(PureDP(1))))
    q.feed([3], block="c")  # the third was not told that b is closed
    for each in (first, second, third):
        assert each.launch_over(Reads(), Last(2)) == [0, 1, 2]
        assert each.launch_over(Reads(), ["b"]) == [1, 2]
        assert [block.block for block in each.ask(BlocksQuery())] == ["a", "b", "c"]
    assert q.privacy_loss() == PureDP(3)
    with pytest.raises(QueryError, match="block 'a' is closed"):
        q.feed([4], block="a")
    q.feed.close("c")
    assert first.launch_over(Reads(), Last(1)) == [3]


def test_records_in_no_block_are_never_read() -> None:
    q = Queryable(FiltCon(PureDP(3)), [7])
    inner = q.launch(Blocks(FiltCon(PureDP(1))))
    q.feed([8])
    q.feed([9], block="a")
    q.feed([10])
    q.feed.close("a")
    assert inner.launch_over(Reads(), ["a"]) == [9]
    assert q.launch(Reads()) == [7, 8, 9, 10]
    q = week(start=[1000])
    assert q.launch_over(Reads(), Last(3)) == [0, 1, 10, 11, 20, 21]


# Claims.


@pytest.mark.parametrize(
    ("blocks", "d_in", "loss"),
    [
        (Blocks(FiltCon(ZCDP(1))), 1, ZCDP(1)),
        (Blocks(FiltCon(ZCDP(1))), 0, ZCDP(0)),
        (Blocks(FiltCon(ZCDP(1))), 3, ZCDP(9)),
        (Blocks(FiltCon(ZCDP(1), d_in=2)), 1, ZCDP(1)),
        (Blocks(FiltCon(ZCDP(1), d_in=2)), 2, ZCDP(2)),
        (Blocks(FiltCon(ZCDP(1), d_in=2)), 3, ZCDP(8)),
        (Blocks(FiltCon(ZCDP(1)), "who", 3), 1, ZCDP(3)),
        (Blocks(FiltCon(ZCDP(1)), "who", 3), 2, ZCDP(12)),
        (Blocks(FiltCon(ApproxDP(1, "1/100"), Whitehouse2023("1/200")), "who", 2), 1, None),
    ],
)
def test_the_claim(blocks: Blocks, d_in: int, loss: Loss | None) -> None:
    assert blocks.privacy_map(d_in) == (ApproxDP(2, "1/50") if loss is None else loss)


def test_a_report_counts_the_blocks_that_may_differ() -> None:
    q = week(Blocks(FiltCon(PureDP(1), d_in=2)), days=4)
    for place, cost in enumerate(("1/10", "3/10", "2/10")):
        q.launch_over(Reads(PureDP(cost)), [f"day {place}"])
    assert q.privacy_loss() == PureDP("1/2")  # two records, in the two blocks that lost most
    assert q.privacy_loss(1) == PureDP("3/10")
    assert q.privacy_loss(0) == PureDP(0)
    assert q.privacy_loss(4) == q._root.mechanism.privacy_map(4)


def test_the_rule_of_the_filter_decides_for_each_block_and_its_limit_for_all() -> None:
    q = week(Blocks(FiltCon(ApproxDP(1, "1e-6"), Menu("1/100", [1, 2]))))
    for _ in range(50):
        q.launch_over(Reads(PureDP("1/100")), ["day 0"])
    assert not q.can_afford(Reads(PureDP("1/2")), blocks=["day 0"])
    assert q.can_afford(Reads(PureDP("1/50")), blocks=Last(3))
    q = week(Blocks(FiltCon(PureDP(1), max_mechanisms=2)))
    q.launch_over(Reads(), ["day 0"])
    q.launch_over(Reads(), ["day 1"])
    with pytest.raises(QueryRefusedError, match="at mechanism count limit"):
        q.launch_over(Reads(), ["day 2"])


# Units.


def visits(*names: str | None) -> list[dict[str, Any]]:
    return [{"who": name, "n": place} for place, name in enumerate(names)]


def test_a_unit_counts_in_its_first_blocks() -> None:
    q = Queryable(Blocks(FiltCon(PureDP(1)), "who", 2), [])
    batches = {"a": ("x", "y", "x"), "b": ("x", None, "z"), "c": ("x", "y", "z")}
    for name, batch in batches.items():
        q.feed(visits(*batch), block=name)
        q.feed.close(name)
    rows = q.launch_over(Reads(), Last(3))
    assert [row["who"] for row in rows] == ["x", "y", "x", "z", "y", "z"]
    assert q.privacy_loss() == PureDP("1/5")  # a unit may be in two of the three blocks
    q = Queryable(FiltCon(PureDP(3)), [])
    q.feed(visits("x", "y", "x", "x"), block="a")
    q.feed.close("a")
    inner = q.launch(Blocks(FiltCon(PureDP(1)), "who", 2, unit_rows=2))
    for name in ("b", "c"):
        q.feed(visits("x", "z"), block=name)
        q.feed.close(name)
    rows = inner.launch_over(Reads(), Last(3))
    assert [row["who"] for row in rows] == ["x", "y", "x", "x", "z", "z"]


@attrs.frozen
class PerRecord(Reads):
    """Its loss grows with the number of records."""

    def loss(self, d_in: int) -> Loss:
        return PureDP(d_in * self.charged.epsilon)  # type: ignore[attr-defined]


def test_a_launch_is_charged_for_all_rows_of_a_unit_in_its_blocks() -> None:
    q = Queryable(Blocks(FiltCon(PureDP(10)), "who", 2, unit_rows=3), [])
    for name in "abc":
        q.feed(visits("x"), block=name)
        q.feed.close(name)
    q.launch_over(PerRecord(), ["a"])
    assert spent(q) == [3, 0, 0]
    q.launch_over(PerRecord(), ["a", "b"])
    assert spent(q) == [9, 6, 0]
    q.launch_over(PerRecord(), ["a", "b", "c"])
    assert spent(q) == [15, 12, 6]
    assert q.ask(MeasureQuery()) == Stated(PureDP, 6)


def test_they_are_restricted_when_a_launch_or_a_batch_reads_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The start of `Blocks` is paid for by nothing, so it reads nothing."""
    q, read, real = Queryable(FiltCon(PureDP(4)), []), list[Any](), blocks.kept_rows

    def seen(records: Any, *others: Any) -> Any:
        read.append(records)
        return real(records, *others)

    for module in (blocks, units):
        monkeypatch.setattr(module, "kept_rows", seen)
    for name in ("a", "b"):
        q.feed(visits("x", "y"), block=name)
        q.feed.close(name)
    first, second = (q.launch(Blocks(FiltCon(PureDP(1)), "who", 2, unit_rows=2)) for _ in range(2))
    assert read == []
    assert len(first.launch_over(Reads(), ["a"])) == 2
    assert read == [visits("x", "y")] * 2
    q.feed(visits("x", "z"), block="c")
    q.feed.close("c")
    assert len(read) == 2 + 1 + 3
    assert [len(each.launch_over(Reads(), Last(3))) for each in (first, second)] == [5, 5]
    assert len(read) == 6


def test_a_batch_of_which_the_units_cannot_be_read_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    faults: list[BaseException] = []
    q = Queryable(Blocks(FiltCon(PureDP(1)), "who"), [], on_fault=faults.append)
    q.feed(visits("x"), block="a")
    before = state_of(q)
    with monkeypatch.context() as patch:
        patch.setattr(units, "column_keys", lambda *_: [1 / 0])
        with pytest.raises(QueryError, match="nothing has changed"):
            q.feed(visits("y"), block="a")
    assert [type(each) for each in faults] == [ZeroDivisionError]
    assert state_of(q) == before
    q.feed(visits("z"), block="a")
    q.feed.close("a")
    assert [row["who"] for row in q.launch_over(Reads(), ["a"])] == ["x", "z"]


def test_data_that_protect_units_need_the_same_unit() -> None:
    table = Table({"who": [1], "n": [2]}, privacy_unit="who", max_rows=3)
    for wrong in (Blocks(FiltCon(PureDP(1))), Blocks(FiltCon(PureDP(1)), "n")):
        with pytest.raises(QueryError, match="unit='who' in Blocks"):
            Queryable(wrong, table)
        q = Queryable(FiltCon(PureDP(1)), table)
        with pytest.raises(QueryError, match="unit='who' in Blocks"):
            q.launch(wrong)
        assert q.privacy_loss() == PureDP(0)
    # Their rows cannot be dropped any more, and it is refused before anything is charged.
    for mechanism in (Blocks(FiltCon(PureDP(1)), "who"), FiltCon(PureDP(1))):
        with pytest.raises(QueryError, match="launch it before the first block"):
            Queryable(mechanism, Folders()).launch(Blocks(FiltCon(PureDP(1)), "who"))
    q = Queryable(Blocks(FiltCon(PureDP(1)), "who"), {"who": [], "n": []})
    before = state_of(q)
    with pytest.raises(QueryError, match="column"):
        q.feed({"n": [1]}, block="a")
    assert state_of(q) == before


class Folders(Described):
    """A data set with units and blocks of its own."""

    protects = Protected("person", "all rows", "who")
    blocks = ("a",)

    def check(self, statistic: Any) -> None:
        pass


# What is wrong.


def analyst_updates(q: Queryable) -> None:
    q.ask(Update([1], "today"))


def analyst_closes(q: Queryable) -> None:
    q(CloseBlock("today"))


def analyst_updates_below(q: Queryable) -> None:
    q.ask(Ask(0, Update([1], "today")))


WRONG: dict[str, tuple[Callable[[Queryable], Any], str]] = {
    "an analyst's update": (analyst_updates, "only the owner"),
    "an analyst's update of a child": (analyst_updates_below, "only the owner"),
    "an analyst closes": (analyst_closes, "only the owner"),
    "into a closed block": (lambda q: q.feed([1], block="day 0"), "block 'day 0' is closed"),
    "out of order": (lambda q: q.feed([1], block="x"), "close block 'today' before block 'x'"),
    "no block": (lambda q: q.feed([1]), "name the block"),
    "another schema": (lambda q: q.feed({"a": [1]}, block="today"), "give a list of records"),
    "a block named by a list": (lambda q: q.feed([1], block=["today"]), "a block's name is"),
    "closed twice": (lambda q: q.feed.close("day 0"), "block 'day 0' is closed already"),
    "closed, but never opened": (lambda q: q.feed.close("x"), "block 'x' was never opened"),
    "an unknown block": (lambda q: q.launch_over(Reads(), ["day 0", "x"]), "no block 'x'"),
    "an open block": (lambda q: q.launch_over(Reads(), ["today"]), "'today' is still open"),
    "no blocks": (lambda q: q.launch_over(Reads(), []), "a list that is not empty"),
    "an empty range": (lambda q: q.launch_over(Reads(), Last(0)), "a count from 1 to 3"),
    "too many blocks": (lambda q: q.launch_over(Reads(), Last(4)), "a count from 1 to 3"),
    "a negative range": (lambda q: q.launch_over(Reads(), Last(-1)), "Last: count"),
    "a range of a bool": (lambda q: q.launch_over(Reads(), Last(True)), "Last: count"),
    "a block twice": (
        lambda q: q.launch_over(Reads(), ["day 0", "day 1", "day 0"]),
        "block 'day 0' is named twice",
    ),
    "a text for a list": (lambda q: q.launch_over(Reads(), "day 0"), "a list that is not empty"),
    "a bool for a name": (lambda q: q.launch_over(Reads(), [True]), "a text, an int or a date"),
    "a set of blocks": (lambda q: q.launch_over(Reads(), {"day 0"}), "a list that is not empty"),  # type: ignore[arg-type]
    "a plain launch": (lambda q: q.launch(Reads()), "name the blocks to launch on"),
    "a dry run of a plain launch": (lambda q: q.can_afford(Reads()), "which names blocks"),
    "no mechanism": (lambda q: q.launch_over(Count(), ["day 0"]), "Count alone is exact"),  # type: ignore[call-overload]
    "a claim below the map": (
        lambda q: q.launch_over(Reads(), ["day 0"], PureDP("1/100")),
        "below the privacy map",
    ),
    "another measure": (lambda q: q.launch_over(Reads(ZCDP(1)), ["day 0"]), "Nothing is charged"),
    "the loss of an unknown block": (lambda q: q.ask(BlockLossQuery("x")), "no block 'x'"),
    "the loss of no block": (lambda q: q.ask(BlockLossQuery(None)), "a text, an int or a date"),
    "an unknown query": (lambda q: q.ask("bits"), "Blocks answers LaunchOver"),
    "a word": (lambda q: q.ask(CanAfford("x")), "which names blocks"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_message_changes_nothing(name: str) -> None:
    act, words = WRONG[name]
    q = week()
    q.launch_over(Toy(LITTLE), ["day 0"])
    before, exchanges = state_of(q), len(q.view)
    with pytest.raises(QueryError, match=words):
        act(q)
    assert state_of(q) == before
    assert len(q.view) == exchanges
    assert spent(q) == [1, 0, 0, 0]
    assert q.launch_over(Reads(), Last(3)) == [0, 1, 10, 11, 20, 21]
    q.feed([98], block="today")
    q.feed.close("today")
    assert q.launch_over(Reads(), ["today"]) == [99, 98]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Blocks(PureDP(1)), "should be a FiltCon"),
        (lambda: Blocks(Filt(PureDP(1))), "should be a FiltCon"),
        (lambda: Blocks(ExPost(PureDP(1))), "should be a FiltCon"),
        (lambda: Blocks(FiltCon(PureDP(1), on_exceed="halt")), "on_exceed is 'halt'"),
        (lambda: Blocks(FiltCon(PureDP(1)), unit_blocks=2), "need unit"),
        (lambda: Blocks(FiltCon(PureDP(1)), "who", 0), "unit_blocks is 0"),
        (lambda: Blocks(FiltCon(PureDP(1)), "who", unit_rows=0), "unit_rows is 0"),
        (lambda: Blocks(FiltCon(PureDP(1)), 7), "the column that names units"),
    ],
)
def test_wrong_parameters(build: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        build()


def test_what_no_theorem_covers_is_refused() -> None:
    q = week(Blocks(FiltCon(ApproxZCDP(1, "1e-6"))))
    with pytest.raises(UnprovenCompositionError):
        q.launch_over(Toy(ApproxZCDP("1/10", "1e-9")), ["day 0"])  # it has no coin at launch
    assert q.ask(PrivacyLossQuery()) == ApproxZCDP(0, 0)
    q = Queryable(FiltCon(PureDP(1)), [])
    with pytest.raises(QueryError):
        q.launch_over(Reads(), Last(1))
    with pytest.raises(QueryError):
        q.ask(CanAfford(LaunchOver(Reads(), Last(1))))
    with pytest.raises(QueryError):
        q.ask(Launch(LaunchOver(Reads(), Last(1))))
    assert q.privacy_loss() == PureDP(0)


# What is shown.


def test_the_tree_and_the_ledger_name_blocks() -> None:
    q = week()
    q.launch_over(Reads(), ["day 0"])
    q.launch_over(FiltCon(PureDP("1/2")), Last(2))
    with pytest.raises(QueryRefusedError):
        q.launch_over(Reads(PureDP("3/5")), Last(3))
    tree = q.tree()
    assert "day 0: [##..................] 10%  spent PureDP(epsilon=0.1)" in tree
    assert "day 1, day 2: [##########..........] 50%" in tree
    assert "Reads  over day 0  PureDP(epsilon=0.1)  10% of its parent's budget" in tree
    assert "[1] FiltCon  over day 1, day 2  PureDP(epsilon=0.5)  50% of its parent's" in tree
    assert [row.asked for row in q.ledger()] == [
        "Reads over day 0",
        "FiltCon over day 1, day 2",
        "Reads over day 0 to day 2",
    ]
    assert [str(row.total) for row in q.ledger()] == [
        "PureDP(epsilon=0.1)",
        "PureDP(epsilon=0.5)",
        "PureDP(epsilon=0.5)",
    ]
    assert "day 1, day 2" in q._repr_html_()


def test_the_receipt_says_which_blocks_were_charged() -> None:
    q = week()
    q.launch_over(Reads(), ["day 0"])
    told = q._root.tell((), LaunchOver(Reads(), Last(3)))
    assert isinstance(told, Launched)
    assert told.receipt is not None
    groups = told.receipt.account.groups  # type: ignore[attr-defined]
    charged = {block.name: account.total() for account, blocks in groups for block in blocks}
    assert charged == {"day 0": PureDP("1/5"), "day 1": LITTLE, "day 2": LITTLE}
    assert told.receipt.charged == LITTLE


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        (Blocks(FiltCon(PureDP(1))), "records in k blocks is protected as k records"),
        (Blocks(FiltCon(PureDP(1)), "who", 2), "those in its first 2 blocks count"),
    ],
)
def test_the_explanation_says_who_is_protected(blocks: Blocks, words: str) -> None:
    text = " ".join(Queryable(blocks, []).explain().split())
    assert words in text
    assert "blocks of growing data; Haney et al. 2023, Theorem 1.20" in text


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ({"unit_blocks": 2}, "two records of each who count"),
        ({"unit_rows": 2}, "two blocks of each who count"),
        ({}, "two blocks of each who and two records of each who count"),
        ({"unit_blocks": 2, "unit_rows": 2}, None),
    ],
)
def test_the_explanation_says_where_it_is_refused(
    numbers: dict[str, int], words: str | None
) -> None:
    blocks = Blocks(FiltCon(PureDP("1/10")), "who", **numbers)  # type: ignore[arg-type]
    q = Queryable(FiltCon(PureDP(1)), {"who": []})
    for text in (explain(blocks), Queryable(blocks, {"who": []}).explain()):
        said = " ".join(text.split())
        assert ("it is refused over data that protect single records" in said) is bool(words)
        assert words is None or words in said
    if words is None:
        assert "refused over" not in q(blocks).explain()
    else:
        with pytest.raises(QueryError, match="protect single records"):
            q(blocks)


def test_what_counts_batches_goes_beside_it() -> None:
    """No batch reaches closed blocks, so it would say 0, also in a filter. Nothing is charged."""
    days = Queryable(Blocks(FiltCon(ZCDP(1))), {"age": [31]})
    for day in ("monday", "tuesday"):
        days.feed({"age": [47, 62]}, block=day)
        days.feed.close(day)
    counter = ToeplitzCounter(Count(), rho="1/10", horizon=9)
    team = days.launch_over(FiltCon(ZCDP("1/2")), Last(2))
    before = days.privacy_loss()
    with pytest.raises(QueryError, match="Blocks passes none on"):
        days.launch_over(counter, Last(1))
    for launch in (counter, FiltCon(ZCDP("1/5"))):
        with pytest.raises(QueryError, match="this filter passes none on"):
            team(launch)(counter)
    assert (days.privacy_loss(), team.privacy_loss()) == (before, ZCDP("1/5"))
    watch = team(SparseVector(-500, "1/10"))
    assert watch(Count())


@pytest.mark.parametrize("fault", [ValueError(), KeyboardInterrupt()], ids=repr)
def test_a_launch_that_ends_early_is_charged_to_each_block(fault: BaseException) -> None:
    q, ends = week(), Faulty(raising(fault), True, charged=LITTLE)
    launches = [LaunchOver(Reads(), ["day 0"]), LaunchOver(ends, Last(2))]
    with suppress(KeyboardInterrupt):
        q.ask(LaunchMany([*launches, launches[0]]))
    assert spent(q) == [2, 1, 1, 0]
    assert q.launch_over(Reads(), ["day 0"]) == [0, 1]
