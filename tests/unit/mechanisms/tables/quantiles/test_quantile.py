"""Quantiles: the scores, how far a record moves them, and choosing by them."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import ExponentialMechanism, PrivacyUnit, Quantile, Table, column
from queryable import PureDP, Queryable, Statistic

levels = st.fractions(0, 1, max_denominator=10)
numbers = st.lists(st.one_of(st.none(), st.integers(-9, 9), st.floats()), max_size=9)
grids = st.lists(st.integers(-9, 9), min_size=1, max_size=6, unique=True).map(sorted)


@given(numbers, levels, grids)
def test_scores_match_their_definition(values: list[Any], level: Fraction, grid: list[int]) -> None:
    """Beside the definition, counted cell by cell."""
    there = [value for value in values if value is not None and value == value]  # noqa: PLR0124
    a, b = level.as_integer_ratio()
    expected = [
        -abs((b - a) * sum(x < t for x in there) - a * sum(x > t for x in there)) for t in grid
    ]
    assert Quantile("x", level, grid)({"x": values}).tolist() == expected


@given(numbers, st.one_of(st.integers(-9, 9), st.floats()), levels, grids)
def test_a_record_moves_scores_by_at_most_the_sensitivity(
    values: list[Any], more: Any, level: Fraction, grid: list[int]
) -> None:
    quantile = Quantile("x", level, grid)
    change = quantile({"x": [*values, more]}) - quantile({"x": values})
    assert abs(change).max() <= quantile.linf
    assert abs(change).sum() <= quantile.l1
    assert (change**2).sum() <= quantile.l2**2


def test_sensitivities() -> None:
    """Every score moves by as much; bounds on groups do not help."""
    quantile = Quantile("x", "1/4", [1, 2, 3])
    assert (quantile.linf, quantile.l1) == (3, 9)
    per = PrivacyUnit("id", max_rows=2, max_groups=1, max_rows_per_group=1)
    assert Quantile("x", "1/4", [1, 2, 3], per=per).linf == 6
    assert ExponentialMechanism(quantile, 1).sensitivity == 3


def test_persons_move_scores_by_at_most_the_sensitivity() -> None:
    """Each person of three rows, two of which count, is left out once."""
    rows = [(person, 3 * person + visit) for person in range(6) for visit in range(3)]

    def scores(without: int | None) -> Any:
        kept = [row for row in rows if row[0] != without]
        data = {"id": [p for p, _ in kept], "x": [x for _, x in kept]}
        table = Table(data, privacy_unit="id", max_rows=2, seed=1)
        return Quantile("x", "1/2", range(0, 18, 3), per=table.unit).value(table)

    moves = [abs(scores(None) - scores(person)).max() for person in range(6)]
    assert max(moves) == 2


def test_a_private_median() -> None:
    """Of 10,001 numbers with epsilon 1, within 100: candidates further off have e^-50 each."""
    data = {"x": np.arange(10_001), "y": np.arange(10_001) % 2}
    grid = range(0, 10_001, 50)
    queryable = Queryable(FiltCon(PureDP(1)), Table(data))
    quantile = Quantile("x", "1/2", grid, column("y") == 0)
    chosen = grid[queryable.launch(ExponentialMechanism(quantile, epsilon=1))]
    assert abs(chosen - 5000) <= 200


@pytest.mark.parametrize("wrong", [{"monotone": True}, {"sensitivity": "9/10"}])
def test_a_known_sensitivity_cannot_be_declared_smaller(wrong: dict[str, Any]) -> None:
    """Scores move both ways, and by linf: a choice that says less would cost more than it says."""
    quantile = Quantile("x", "1/2", [1, 2, 3])
    with pytest.raises(ValueError, match=r"both ways|may move by"):
        ExponentialMechanism(quantile, 1, **wrong)


def test_integer_scores_move_by_integers() -> None:
    """An linf between integers, or above another norm, does not refuse its own default."""

    class Known(Statistic):
        linf = Fraction(5, 2)

    scores = Known(lambda data: np.zeros(3, dtype=int), l1=6, l2="9/4", shape=(3,))
    assert ExponentialMechanism(scores, 1).sensitivity == 2
    with pytest.raises(ValueError, match="may move by 2"):
        ExponentialMechanism(scores, 1, sensitivity=1)
