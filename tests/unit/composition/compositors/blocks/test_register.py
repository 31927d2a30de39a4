"""Names, order and accounts of blocks."""

import pickle
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition import FiltCon
from composition.compositors.blocks import accounts as block_accounts
from composition.compositors.blocks.accounts import Block, BlockAccounts, in_words, largest
from composition.compositors.blocks.register import BlockRegister
from queryable import ApproxDP, Last, PureDP, QueryError

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


class Sly(str):
    """A text that claims to be another one."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return hash("b")


def test_a_subclass_of_a_name_is_what_its_characters_say() -> None:
    register = BlockRegister(EMPTY).opened("a").closing("a").opened("b").closing("b")
    assert [block.name for block in register.named([Sly("a")])] == ["a"]
    with pytest.raises(QueryError, match="block 'a' is closed"):
        register.opened(Sly("a"))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sets(st.integers(0, 5), min_size=1), st.integers(1, 3)), max_size=12))
def test_each_block_has_lost_the_sum_of_its_launches(launches: list[tuple[set[int], int]]) -> None:
    """Accounts are shared, and the charges are those of one account a block."""
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


def test_blocks_with_one_history_share_an_account() -> None:
    register = charge(closed(100), list(range(100)), PureDP("1/10"))
    assert len({id(account) for account in register.accounts.values()}) == 1
    register = charge(charge(register, [3], PureDP("1/10")), [5], PureDP("1/10"))
    assert len({id(account) for account in register.accounts.values()}) == 2
    register = charge(register, [3, 5], PureDP("1/10"))
    assert len({id(account) for account in register.accounts.values()}) == 2


def test_orders_that_come_to_the_same_sum_share_an_account() -> None:
    """As the blocks of two days, each with the launches of its own age."""
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


def test_accounts_of_nothing() -> None:
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


def test_wrong_names_of_a_launch_are_explained() -> None:
    with pytest.raises(QueryError, match="no block is closed yet"):
        closed(0).named(Last(1))
    with pytest.raises(QueryError, match=r"as in \['may'\], or by Last"):
        closed(1).named("may")
    with pytest.raises(QueryError, match="from 1 to 1"):
        closed(1).named(Last(2))
