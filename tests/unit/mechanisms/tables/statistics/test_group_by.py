"""Statistics in groups: shapes, sensitivities, and one query for all of them."""

from fractions import Fraction

import numpy as np
import pytest

from mechanisms import (
    Count,
    GroupBy,
    Histogram,
    Laplace,
    Mean,
    PrivacyUnit,
    Sum,
    Table,
    Variance,
    column,
)

ROWS = {
    "state": ["NY", "CA", "NY", None, "TX"],
    "sex": [1, 2, 2, 1, 1],
    "age": [10, 20, 30, 40, 50],
}
BY = {"state": ["CA", "NY"], "sex": [1, 2, 3]}


def test_values_and_shapes() -> None:
    assert GroupBy(BY, Count())(ROWS).tolist() == [[0, 1, 0], [1, 1, 0]]
    assert GroupBy(BY, Sum("age", 0, 25))(ROWS).tolist() == [[0, 20, 0], [10, 25, 0]]
    assert GroupBy(BY, Mean("age", 0, 50)).shape == (2, 3, 2)
    assert GroupBy({"sex": [1, 2]}, Histogram("state", ["NY"]))(ROWS).tolist() == [[1], [1]]
    assert GroupBy(BY, Count(column("age") > 10))(ROWS).sum() == 2


def test_estimates_by_group() -> None:
    means = GroupBy({"sex": [1, 2, 3]}, Mean("age", 0, 50))
    estimated = means.estimate(means(ROWS))
    assert estimated[:2] == pytest.approx([100 / 3, 25])
    assert np.isnan(estimated[2])
    spread = GroupBy({"sex": [1]}, Variance("age", 0, 50))
    assert spread.estimate(spread(ROWS)) == pytest.approx([np.var([10, 40, 50])])
    assert GroupBy(BY, Count()).estimate([1, 2]).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("bounds", "l1", "l2_squared"),
    [
        ({"max_rows": 5}, 5, 25),
        ({"max_rows": 5, "max_groups": 2}, 5, 25),
        ({"max_rows": 5, "max_rows_per_group": 1}, 5, 5),
        ({"max_rows": 5, "max_groups": 2, "max_rows_per_group": 1}, 2, 2),
        ({"max_rows": 5, "max_groups": 2, "max_rows_per_group": 2}, 4, 8),
        ({"max_rows": 5, "max_rows_per_group": 2}, 5, 9),
    ],
)
def test_sensitivities(bounds: dict[str, int], l1: int, l2_squared: int) -> None:
    """A row is in one group; a person's rows fill groups as far as the bounds let them."""
    per = PrivacyUnit("id", **bounds)
    counts, sums = GroupBy(BY, Count(per=per)), GroupBy(BY, Sum("age", -3, 10, per=per))
    assert (counts.l1, sums.l1) == (l1, 10 * l1)
    assert l2_squared <= counts.l2**2 <= l2_squared + Fraction(1, 10**20)
    assert sums.l2**2 == pytest.approx(100 * l2_squared)
    assert GroupBy(BY, Count()).l1 == 1


def test_one_launch_is_one_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts and sums of all groups come from one statement."""
    table, statements = Table(ROWS), []
    run = table._engine.run
    monkeypatch.setattr(table._engine, "run", lambda plan: (statements.append(plan), run(plan))[1])
    Laplace(GroupBy(BY, Mean("age", 0, 50)), epsilon=1).init(table)
    assert len(statements) == 1
