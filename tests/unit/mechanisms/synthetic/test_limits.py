"""What is refused by its size, before anything is charged."""

from fractions import Fraction

import pytest

from mechanisms import Fit, Synthetic
from mechanisms.synthetic.fitting import LEAST_VARIANCE, MOST_VARIANCE
from mechanisms.synthetic.limits import (
    MOST_CELLS,
    fit_of,
    planned_round,
    require_quick_choice,
    require_small,
    rows_of,
)
from queryable import ZCDP, QueryError
from queryable.effort import quickly


def test_a_fit_is_read() -> None:
    assert fit_of(Fit(ZCDP("1/3"), rounds=2)) == (Fraction(1, 3), 2)
    assert fit_of(Fit(1)) == (1, None)


def test_noise_that_floats_cannot_hold_is_refused() -> None:
    """The last of many rounds may get a thousandth of a round, and the only one all."""
    assert planned_round(Fraction(1, 10), 4, Fraction(1)).cost == Fraction(1, 40)
    little = 1000 * 10 / (2 * MOST_VARIANCE * Fraction(9, 10))
    planned_round(little, 10, Fraction(1))
    with pytest.raises(QueryError, match="the noise of a round would be too large"):
        planned_round(little * Fraction(999, 1000), 10, Fraction(1))
    with pytest.raises(QueryError, match="too large"):
        planned_round(Fraction(1, 10**9), 10, Fraction(10**9))
    much = 1 / (2 * LEAST_VARIANCE)
    planned_round(much, 10, Fraction(1))
    with pytest.raises(QueryError, match="almost no noise"):
        planned_round(much + 1, 10, Fraction(1))


def test_tables_are_measured_before_they_are_made() -> None:
    pairs = [(0, 3), (1, 3), (2, 3)]
    require_small(pairs, (100,) * 4)
    with pytest.raises(QueryError, match=f"{MOST_CELLS} is the most"):
        require_small([*pairs, (0, 1, 2)], (100,) * 4)


def test_large_tables_take_the_steps_of_a_message() -> None:

    def ask(times: int) -> None:
        for _ in range(times):
            require_small([(0, 1, 2)], (120, 120, 120))

    with quickly(steps=10**6):
        ask(9)
        with pytest.raises(QueryError, match="in a further message"):
            ask(9)


def test_a_choice_takes_the_steps_of_a_message() -> None:
    for tables in ([100_000] * 150, [10] * 511):
        require_quick_choice(tables)
        with quickly(steps=10**6):
            require_quick_choice(tables[:90])
            with pytest.raises(QueryError, match=f"among {len(tables)} marginals"):
                require_quick_choice(tables)


def test_rows_are_bounded_by_their_values() -> None:
    assert rows_of(10**6, 10) == 10**6
    assert rows_of(10**5, 100) == 10**5
    for rows, columns in ((10**6 + 1, 1), (10**5 + 1, 100)):
        with pytest.raises(QueryError, match="rows is"):
            rows_of(rows, columns)


def test_a_model_has_at_most_200_columns() -> None:
    names = [f"c{each}" for each in range(201)]
    with pytest.raises(ValueError, match="201 columns; give at most 200"):
        Synthetic({name: [0] for name in names}, [("c0", "c1")])
    Synthetic({name: [0] for name in names[1:]}, [("c1", "c2")])
