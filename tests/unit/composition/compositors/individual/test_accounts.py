"""Accounts of records are exact, and never above the budget."""

from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition.compositors.individual.accounts import Accounts
from tests.strategies import among

F = Fraction


def paid(shares: Any, squares: Any, records: int = 1) -> list[Any]:
    """Who was active in each launch."""
    accounts, active = Accounts.of(records), []
    for share, square in zip(shares, squares, strict=True):
        now, accounts = accounts.charged(F(share), np.asarray(square))
        active.append(now.tolist())
    return active


def test_ten_tenths_fit_and_nothing_more() -> None:
    """Also not 1e-17, and a record that adds nothing is always active."""
    shares = [F(1, 10)] * 10 + [F(1, 10**17)]
    assert paid(shares, [[1, 0]] * 11, 2) == [[True, True]] * 10 + [[False, True]]


def test_a_record_pays_the_square_of_what_it_adds() -> None:
    assert paid([F(1, 9)] * 3, [[9, 4, 1]] * 3, 3) == [
        [True, True, True],
        [False, True, True],
        [False, False, True],
    ]
    assert paid([F(2, 3), F(2, 3), F(1, 3)], [[1]] * 3) == [[True], [False], [True]]
    active, accounts = Accounts.of(3).charged(F(1))
    assert active.tolist() == [True] * 3
    assert not accounts.charged(F(1, 2**70))[0].any()
    active, accounts = Accounts.of(2).charged(F(0), np.array([5, 0]))
    assert active.all()
    assert accounts.spent.tolist() == [0, 0]
    accounts = Accounts.of(2)
    accounts.charged(F(1, 2))
    assert accounts == Accounts.of(2)


@pytest.mark.parametrize("kind", ["uint8", "int16", "int32", "uint64"])
def test_squares_of_any_integer_type(kind: str) -> None:
    """A mechanism of one's own may count in fewer bits than the account has."""
    active, accounts = Accounts.of(3).charged(F(1, 10**6), np.array([100, 1, 0], dtype=kind))
    assert active.all()
    assert accounts.spent.tolist() == [100, 1, 0]


@pytest.mark.parametrize("square", [2**61, 2**61 + 1, 2**62, 2**63 - 1, 2**64, 10**40])
def test_large_squares_are_paid_to_one_unit(square: int) -> None:
    """What is rounded is what a record pays, not what one unit of its square costs."""
    squares = np.array([square, square // 2, 1, 0, square + 1], dtype=object)
    active, accounts = Accounts.of(5).charged(F(1, square), squares)
    assert active.tolist() == [True, True, True, True, False]
    assert (accounts.spent >= 0).all()
    assert (accounts.spent <= accounts.units).all()
    exact = [F(int(each), square) for each in squares]
    for spent, whole in zip(accounts.spent[:4].tolist(), exact, strict=False):
        assert whole <= F(spent, accounts.units) < whole + F(1, 2**60)


@pytest.mark.parametrize("share", [F(1, 10**80), F(1, 2**62), F(3, 2**61 + 1), F(7, 3)])
def test_squares_of_64_bits_with_any_share(share: Fraction) -> None:
    squares = np.array([2**63 - 1, 10**9, 1])
    active, accounts = Accounts.of(3).charged(share, squares)
    assert active.tolist() == [share * int(each) <= 1 for each in squares]
    assert all(
        F(spent, accounts.units) >= min(share * int(each), 1) * bool(there)
        for spent, each, there in zip(accounts.spent.tolist(), squares, active, strict=True)
    )


SHARES = st.one_of(among(0, 2, 30), st.integers(0, 2 * 10**6).map(lambda n: F(n, 10**6)))


@settings(max_examples=40)
@given(st.lists(st.tuples(SHARES, st.integers(0, 5)), max_size=30))
def test_accounts_are_exact_or_above(launches: list[tuple[Fraction, int]]) -> None:
    """Against rational accounts: never more than the budget, and exact for short denominators."""
    accounts, spent = Accounts.of(1), F(0)
    for share, square in launches:
        active, accounts = accounts.charged(share, np.array([square]))
        if active[0]:
            spent += share * square
        assert spent <= F(int(accounts.spent[0]), accounts.units) <= 1


@given(st.lists(st.integers(1, 30), max_size=30))
def test_common_denominators_are_exact(parts: list[int]) -> None:
    active = paid([F(part, 60) for part in parts], [[1]] * len(parts))
    sums = accumulate(
        parts, lambda spent, part: spent + part if spent + part <= 60 else spent, initial=0
    )
    before = list(sums)
    assert [each[0] for each in active] == [
        spent + part <= 60 for spent, part in zip(before, parts, strict=False)
    ]


@given(
    st.integers(1, 40),
    st.lists(
        st.tuples(
            SHARES,
            st.sampled_from([bool, np.int64, object]),
            st.dictionaries(st.integers(0, 39), st.integers(0, 3)),
        ),
        max_size=8,
    ),
)
def test_each_record_pays_on_its_own(records: int, launches: Any) -> None:
    """However many of them are counted, and of whatever type the squares are."""
    accounts, alone = Accounts.of(records), [Accounts.of(1) for _ in range(records)]
    for share, kind, counted in launches:
        squares = np.array([counted.get(place, 0) for place in range(records)], dtype=kind)
        before = accounts.spent.copy()
        active, after = accounts.charged(share, squares)
        assert accounts.spent.tolist() == before.tolist()
        for place in range(records):
            [mine], alone[place] = alone[place].charged(share, np.array([int(squares[place])]))
            assert active[place] == mine
        accounts = after
        assert accounts.spent.tolist() == [int(each.spent[0]) for each in alone]


LONG = st.builds(
    F, st.integers(1, 2**40), st.integers(2**61 + 1, 2**90).filter(lambda n: n & (n - 1))
)
"""Shares that are no whole number of units, however many a budget has; many are far below one."""
RECORDS = 40
SQUARES: dict[str, Any] = {
    "one for all": np.asarray(1),
    "one for all, counted": np.asarray(True),
    "most are counted": np.array([True] * RECORDS),
    "few are counted": np.array([True] + [False] * (RECORDS - 1)),
    "numbers": np.arange(RECORDS) % 5 + 1,
    "small numbers": (np.arange(RECORDS) % 5 + 1).astype(np.uint8),
    "few numbers": np.array([3] + [0] * (RECORDS - 1)),
    "few long numbers": np.array([10**30] + [0] * (RECORDS - 1), dtype=object),
    "long numbers": np.array([10**30, 7] * (RECORDS // 2), dtype=object),
}


@pytest.mark.parametrize("kind", SQUARES)
@settings(max_examples=20)
@given(share=LONG, times=st.integers(1, 3))
def test_nobody_pays_less_than_the_exact_share(kind: str, share: Fraction, times: int) -> None:
    """Rounding is up in each branch: at 1b177ec one branch could be rounded down unnoticed.

    Rounded down, a share below one unit would cost nothing, any number of times.
    """
    nobody_pays_less(kind, share, times)


def nobody_pays_less(kind: str, share: Fraction, times: int) -> None:
    """After each launch every record has paid its exact cost at least."""
    squares, accounts, exact = SQUARES[kind], Accounts.of(RECORDS), [F(0)] * RECORDS
    each = [int(square) for square in np.broadcast_to(squares, RECORDS)]
    for _ in range(times):
        active, accounts = accounts.charged(share, squares)
        exact = [
            spent + share * square * bool(there)
            for spent, square, there in zip(exact, each, active, strict=True)
        ]
        paid = [F(spent, accounts.units) for spent in accounts.spent.tolist()]
        assert all(least <= found <= 1 for least, found in zip(exact, paid, strict=True))


@given(share=LONG, other=LONG)
def test_what_all_owe_is_rounded_up(share: Fraction, other: Fraction) -> None:
    what_is_owed_is_paid(share, other)


def what_is_owed_is_paid(share: Fraction, other: Fraction) -> None:
    """Both shares, by every record, as far as it has so much."""
    accounts = Accounts.of(2).without(share).without(other)
    assert all(
        min(share + other, 1) <= F(spent, accounts.units) <= 1 for spent in accounts.spent.tolist()
    )
