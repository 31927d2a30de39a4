"""Names, order and accounts of blocks, which rows of units count, and the policy of a day."""

import pickle
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition import AtMostADay, Blocks, FiltCon, OdomCon, Whitehouse2023
from composition.compositors.blocks import accounts as block_accounts
from composition.compositors.blocks.accounts import Block, BlockAccounts, in_words, largest
from composition.compositors.blocks.register import BlockRegister
from composition.compositors.blocks.units import NO_UNITS, kept_rows
from mechanisms import Count, Gaussian
from queryable import (
    ZCDP,
    ApproxDP,
    Ask,
    Last,
    LaunchOver,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
)
from queryable.streams.blocks import BlocksQuery
from tests.strategies import Faulty, Toy, raising
from tests.unit.composition.compositors.blocks.test_blocks import LITTLE, Reads, spent

EMPTY: Any = FiltCon(PureDP(1)).account()
PAIRS: Any = FiltCon(ApproxDP(1, "1/10")).account()


def closed(count: int, empty: Any = EMPTY) -> BlockRegister:
    register = BlockRegister(empty)
    for place in range(count):
        register = register.opened(place).closing(place)
    return register


def charge(register: BlockRegister, names: Any, loss: Any) -> BlockRegister:
    blocks = register.named(names)
    return register.charged(blocks, register.steps(blocks, loss))


def shown(register: BlockRegister, names: Any, empty: Any = EMPTY) -> BlockAccounts:
    blocks = register.named(names)
    return BlockAccounts(empty, blocks, tuple(map(register.account, blocks)))


def test_names_are_texts_ints_and_dates() -> None:
    day, moment = date(2024, 1, 1), datetime(2024, 1, 1)  # noqa: DTZ001 (a name, no time)
    register = BlockRegister(EMPTY)
    for name in (day, moment, "1", 1):
        register = register.opened(name).closing(name)
    assert [block.name for block in register.named([1, moment, "1", day])] == [day, moment, "1", 1]
    register = BlockRegister(EMPTY).opened("a").closing("a").opened("b").closing("b")
    assert [block.name for block in register.named([Sly("a")])] == ["a"]
    with pytest.raises(QueryError, match="block 'a' is closed"):
        register.opened(Sly("a"))
    with pytest.raises(QueryError, match="no block is closed yet"):
        closed(0).named(Last(1))
    with pytest.raises(QueryError, match=r"as in \['may'\], or by Last"):
        closed(1).named("may")
    with pytest.raises(QueryError, match="from 1 to 1"):
        closed(1).named(Last(2))


class Sly(str):
    """A text that claims to be another one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("b")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sets(st.integers(0, 5), min_size=1), st.integers(1, 3)), max_size=12))
def test_each_block_has_lost_the_sum_of_its_launches(launches: list[tuple[set[int], int]]) -> None:
    register, lost = closed(6), dict.fromkeys(range(6), Fraction(0))
    for names, tenths in launches:
        register = charge(register, list(names), PureDP(Fraction(tenths, 10)))
        for name in names:
            lost[name] += Fraction(tenths, 10)
    assert [each.spent for each in register.stated()] == [PureDP(lost[name]) for name in range(6)]
    groups = shown(register, list(range(6))).groups
    assert len(groups) == len(set(lost.values()))  # one account for each amount
    assert sorted(block.name for _, blocks in groups for block in blocks) == list(range(6))
    for count in (1, 2, 7):
        total = sum(sorted(lost.values())[-count:], Fraction(0))
        assert largest(register.all_accounts(), count, EMPTY) == PureDP(total)


def test_blocks_with_equal_sums_share_an_account() -> None:
    register = charge(closed(100), list(range(100)), PureDP("1/10"))
    assert len({id(account) for account in register.accounts.values()}) == 1
    register = charge(charge(register, [3], PureDP("1/10")), [5], PureDP("1/10"))
    assert len({id(account) for account in register.accounts.values()}) == 2
    register = charge(register, [3, 5], PureDP("1/10"))
    assert len({id(account) for account in register.accounts.values()}) == 2
    # As the blocks of two days, each with the launches of its own age.
    register = closed(2)
    for names, cost in (([0], "1/10"), ([0], "1/5"), ([1], "1/5"), ([1], "1/10")):
        register = charge(register, names, PureDP(cost))
    assert register.account(register.blocks[0]) is register.account(register.blocks[1])


def test_a_copy_of_a_book_goes_on_as_the_book() -> None:
    """A copy has no memory: ids of objects mean nothing in it."""
    register = charge(closed(3), [0, 1], PureDP("1/10"))
    copied = pickle.loads(pickle.dumps(register))
    assert copied == register
    assert charge(copied, [1, 2], PureDP("1/5")) == charge(register, [1, 2], PureDP("1/5"))


def test_a_memory_that_is_full_starts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(block_accounts, "_MOST_STEPS", 2)
    register = closed(4)
    for name in (0, 1, 2, 3, 0):
        register = charge(register, [name], PureDP(Fraction(1, name + 2)))
    assert [each.spent for each in register.stated()] == [
        PureDP(1), PureDP("1/3"), PureDP("1/4"), PureDP("1/5"),
    ]  # fmt: skip


def test_of_coordinates_the_largest_of_each() -> None:
    register = charge(charge(closed(2, PAIRS), [0], ApproxDP("1/2", 0)), [1], ApproxDP(0, "1/20"))
    accounts = BlockAccounts.of(PAIRS, register.all_accounts())
    assert accounts.total() == ApproxDP("1/2", "1/20")
    assert accounts.remaining() == ApproxDP("1/2", "1/20")
    assert accounts.share() == Fraction(1, 2)
    accounts = BlockAccounts(EMPTY)
    assert (accounts.total(), accounts.remaining()) == (PureDP(0), PureDP(1))
    assert accounts.share() == 0
    assert accounts.breakdown() == []


def test_what_is_shown_after_a_receipt_has_the_blocks_of_before() -> None:
    first = charge(closed(4), [0, 1, 2], PureDP("1/10"))
    second = charge(first, [2, 3], PureDP("1/10"))
    one = shown(first, [0, 1, 2])
    other = shown(second, [2, 3])
    assert one.after(None) is one
    both = other.after(one)
    assert [(name, str(each.total())) for name, each in both.breakdown()] == [
        ("0, 1, 3", "PureDP(epsilon=0.1)"),
        ("2", "PureDP(epsilon=0.2)"),
    ]
    before = other.before(one)
    assert isinstance(before, BlockAccounts)
    assert before.breakdown() == [("2", one.groups[0][0])]
    assert other.before(None) is None


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ([], ""),
        ([3], "d3"),
        ([4, 3], "d3, d4"),
        ([1, 2, 3, 7], "d1 to d3, d7"),
        ([0, 2, 4, 6, 8], "d0, d2, d4, d6, d8"),
        ([0, 2, 4, 6, 8, 10, 11], "d0, d2, d4, d6, 3 more"),
    ],
)
def test_names_in_words(places: list[int], words: str) -> None:
    assert in_words(Block(place, f"d{place}") for place in places) == words


class Loud:
    """A cell that raises when it is compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("records", "kept"),
    [
        ({"who": ["x", None, "x", "y"], "n": [0, 1, 2, 3]}, {"who": ["x", "y"], "n": [0, 3]}),
        ({"who": np.array([1.0, np.nan, 1.0, 2.0])}, {"who": np.array([1.0, 2.0])}),
        ([{"who": "x"}, {}, {"who": "y"}], [{"who": "x"}, {"who": "y"}]),
        ([{"who": [1]}, {"who": Loud()}, {"who": "y"}], [{"who": "y"}]),
    ],
)
def test_rows_without_a_unit_and_beyond_the_limit_do_not_count(records: Any, kept: Any) -> None:
    found, _ = kept_rows(records, "who", NO_UNITS, 0, 1, 1)
    np.testing.assert_equal(found, kept)


def test_a_frame_is_cut_and_a_batch_that_counts_is_not_copied() -> None:
    found, _ = kept_rows(pd.DataFrame({"who": [1, 1, 2]}), "who", NO_UNITS, 0, 1, 1)
    assert found["who"].tolist() == [1, 2]
    records = {"who": ["x", "y"]}
    assert kept_rows(records, "who", NO_UNITS, 0, 1, 1)[0] is records


def test_other_units_change_nothing() -> None:
    batches = [["x", "y", "x"], ["y", "x"], ["x"], ["z", "x"]]
    places, alone, among = [0, 0, 1, 2], [], []
    units = others = NO_UNITS
    for place, batch in zip(places, batches, strict=True):
        rows: Any = [{"who": name, "at": at} for at, name in enumerate(batch)]
        both, others = kept_rows(rows, "who", others, place, 2, 2)
        mine, units = kept_rows(
            [each for each in rows if each["who"] == "x"], "who", units, place, 2, 2
        )
        among.append([each for each in both if each["who"] == "x"])
        alone.append(mine)
    assert among == alone
    assert [len(each) for each in alone] == [2, 0, 1, 0]


def paced(most: Any = "1/5", budget: Any = 1, days: int = 2) -> Queryable:
    q = Queryable(AtMostADay(PureDP(most)) @ Blocks(FiltCon(PureDP(budget))), [])
    for day in range(days):
        q.feed([day], block=f"day {day}")
        q.feed.close(f"day {day}")
    return q


def test_a_block_loses_at_most_so_much_a_day() -> None:
    q = paced()
    assert q.launch_over(Reads(), Last(2)) == [0, 1]
    assert q.launch_over(Reads(), ["day 1"]) == [1]
    assert q.can_afford(Reads(), blocks=["day 0"])
    assert not q.can_afford(Reads(), blocks=Last(2))
    with pytest.raises(QueryRefusedError) as refused:
        q.launch_over(Reads(), Last(2))
    assert "block 'day 1' has a limit a day" in str(refused.value)
    assert (refused.value.spent, refused.value.remaining) == (PureDP("1/5"), PureDP(0))
    assert spent(q) == [1, 2]
    with pytest.raises(QueryError, match="what a block may lose today is limited too"):
        q.remaining(blocks=["day 0"])
    q = paced()
    q.launch_over(Reads(PureDP("1/5")), Last(2))
    q.feed([2], block="day 2")
    assert not q.can_afford(Reads(), blocks=["day 0"])
    q.feed.close("day 2")
    assert q.launch_over(Reads(PureDP("1/5")), Last(3)) == [0, 1, 2]
    assert spent(q) == [4, 4, 2]
    assert not q.can_afford(Reads(), blocks=["day 0"])


def test_the_budget_of_a_block_still_holds() -> None:
    q = paced(most="1/5", budget="3/10")
    q.launch_over(Reads(PureDP("1/5")), ["day 0"])
    q.feed([2], block="day 2")
    q.feed.close("day 2")
    with pytest.raises(QueryRefusedError, match="block day 0 cannot pay: insufficient budget"):
        q.launch_over(Reads(PureDP("1/5")), ["day 0"])
    assert q.can_afford(Reads(), blocks=["day 0"])
    assert not q.can_afford(Reads(PureDP("1/5")), blocks=["day 0"])
    q = paced()
    with pytest.raises(QueryRefusedError):
        q.launch_over(Reads(PureDP(2)), ["day 0"])
    faulty = Faulty(raising(ValueError()), True, charged=LITTLE)
    assert type(q._root.tell((), LaunchOver(faulty, ["day 0"]))).__name__ == "Failed"
    q.launch_over(Reads(), ["day 0"])
    assert not q.can_afford(Reads(), blocks=["day 0"])


def test_everything_else_passes() -> None:
    q = paced()
    child = q.launch_over(Toy(LITTLE), ["day 0"])
    assert child.ask("bits") == 0
    assert q.ask(Ask(0, PrivacyLossQuery())) == LITTLE
    assert q.privacy_loss() == LITTLE
    assert len(q.ask(BlocksQuery())) == 2
    one, other = q.launch_many([LaunchOver(Reads(), ["day 0"]), LaunchOver(Reads(), ["day 0"])])
    assert one == [0]
    assert "limit a day" in other.reason
    q = Queryable(AtMostADay(PureDP(1)) @ OdomCon(PureDP), [1])
    assert q.launch(Reads()) == [1]
    with pytest.raises(QueryError):
        q.launch_over(Reads(), ["x"])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda q: q.launch_over(Reads(), ["x"]),
        lambda q: q.launch_over(Reads(), []),
        lambda q: q.launch_over(Reads(), Last(3)),
        lambda q: q.launch_over(Reads(), Last("x")),
        lambda q: q.launch_over(Reads(), ["day 0"], PureDP("1/100")),
        lambda q: q.launch_over(Count(), ["day 0"]),
        lambda q: q.launch(Reads()),
        lambda q: q.can_afford(Reads(), blocks=["x"]),
        lambda q: q.feed([1]),
        lambda q: q.feed([1], block="day 0"),
        lambda q: q.ask("bits"),
    ],
)
def test_a_wrong_message_changes_nothing(wrong: Any) -> None:
    q = paced()
    q.launch_over(Reads(), ["day 0"])
    with pytest.raises(QueryError):
        wrong(q)
    assert spent(q) == [1, 0]
    assert q.launch_over(Reads(), Last(2)) == [0, 1]
    assert not q.can_afford(Reads(), blocks=["day 0"])


def test_another_measure_and_rule() -> None:
    """The day's losses add up by a rule of their own, in a measure that the launch converts to."""
    policy = AtMostADay(ApproxDP("1/2", "1e-6"), Whitehouse2023())
    q = Queryable(policy @ Blocks(FiltCon(ZCDP(1))), [])
    q.feed([1], block="a")
    q.feed.close("a")
    with pytest.raises(QueryRefusedError, match="the policy of a day"):
        q.launch_over(Gaussian(Count(), rho="1/100"), ["a"])
    assert q.launch_over(Reads(PureDP("1/20")), ["a"]) == [1]
