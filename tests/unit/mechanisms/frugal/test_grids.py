"""Cuts ahead of the questions: which constants a frugal person expects."""

from fractions import Fraction

import pytest

from composition import FiltCon
from mechanisms import Count, Estimate, Frugal, Keys, column
from mechanisms.frugal.asking import question_of
from mechanisms.frugal.books import Book
from mechanisms.frugal.grids import MOST_AHEAD, cut_ahead
from mechanisms.tables.expressions.predicates import Predicate
from queryable import ZCDP, Queryable, SeededCoins

A = column("a")


def places(*constants: Fraction | int | str, side: int = 0) -> list[Fraction]:
    """The places on one side after cuts at these constants."""
    cuts = {(Fraction(each), side): 0 for each in constants}
    cut_ahead(list(cuts), cuts, {})
    return sorted(place for place, its in cuts if its == side)


def codes(*values: int | str) -> list[Fraction]:
    found = {Fraction(each): 0 for each in values}
    cut_ahead([], {}, found)
    return sorted(found)


@pytest.mark.parametrize("side", [0, 1])
def test_a_grid_has_24_round_steps_from_0_or_around_the_constants(side: int) -> None:
    """And one more constant, twice the last."""
    assert places(10, 110, side=side) == [*range(0, 241, 10), 480]
    assert places(1990, 1999, side=side) == [*range(1983, 2007), 4012]
    assert places(-20, -11, side=side) == list(range(-27, -3))
    assert places("1/4", "3/4", side=side)[:3] == [0, Fraction(1, 4), Fraction(1, 2)]


def test_the_step_is_a_round_divisor_and_small_if_constants_are_near() -> None:
    """Few constants often have a common divisor that is a multiple of the step."""
    assert places(10, 16)[:3] == [0, 1, 2]
    assert places(500, 1500)[:3] == [0, 250, 500]
    assert places(60, 65)[:2] == [0, 5]
    assert places(0, 60, 600)[1] == 20
    assert places(0, 10, 100)[1] == 10


def test_a_grid_that_is_too_fine_reaches_less_far_or_is_none() -> None:
    assert places(65) == [65]
    assert places(0, 1, MOST_AHEAD - 1) == [*range(MOST_AHEAD), 2 * (MOST_AHEAD - 1)]
    assert places(0, 1, MOST_AHEAD) == [0, 1, MOST_AHEAD]
    assert places("0.1", "700.03") == [Fraction("0.1"), Fraction("700.03")]


def test_grids_are_of_the_constants_of_questions() -> None:
    """Not of those that were cut ahead: a finer step would make too many of them."""
    book = axis(axis(Book(Count()), (A >= 100) & (A < 600)), (A >= 330) & (A < 410))
    (found,) = book.axes.values()
    assert {place for place, _ in found.asked} == {100, 600, 330, 410}
    assert len(found.places) > len(found.asked)


def test_values_are_codes_if_they_are_small_whole_numbers() -> None:
    assert codes(6) == list(range(13))
    assert codes(12) == list(range(19))
    assert codes(1) == [0, 1]
    assert codes("1/2") == [Fraction(1, 2)]
    assert codes(-1, 3) == [-1, 3]
    assert codes(94110) == [94110]


def test_texts_times_and_columns_with_intervals_have_no_codes() -> None:
    for values in ({"a": "a"}, {Fraction(3): 3}):
        cuts = {(Fraction(2), 0): 2}
        known = dict(values)
        cut_ahead(list(cuts), cuts, known)
        assert (cuts, known) == ({(Fraction(2), 0): 2}, values)


def axis(book: Book, where: Predicate, *, told: bool = False) -> Book:
    found = book.cut(question_of(Count(where)).boxes, told=told)
    assert found is not None
    return found


def test_an_axis_that_was_told_is_cut_at_what_is_asked_only() -> None:
    for told, atoms in ((True, 4), (False, 28)):
        book = axis(Book(Count()), (A >= 20) & (A < 60), told=told)
        assert [len(each.atoms) for each in book.axes.values()] == [atoms]
        (found,) = axis(book, A >= 40).axes.values()
        assert len(found.atoms) == atoms + told


def test_shares_are_equal_until_something_was_released() -> None:
    book = axis(axis(Book(Count()), A >= 20), A >= 40)
    (found,) = book.axes.values()
    assert len(set(found.shares)) == 1
    root = Queryable(
        Frugal() @ FiltCon(ZCDP(10)), {"a": [30] * 50}, coins=SeededCoins(1), allow_seeded=True
    )
    assert root.ask(Estimate(Count(A == 6), 20, fixed_in_advance=True)).cost.rho > 0
    for code in (0, 3, 12):  # bought with the first
        assert root.ask(Estimate(Count(A.is_in([code])), 25, fixed_in_advance=True)).cost.rho == 0
    assert root.ask(Estimate(Count(A == 13), 20, fixed_in_advance=True)).cost.rho > 0


def test_told_axes_are_not_extended() -> None:
    bins = Keys.bins("a", range(0, 50, 10))
    (found,) = Frugal(axes=bins)._book(Count()).axes.values()
    assert [float(place[0]) for place, _ in found.places] == [0, 10, 20, 30, 40]
