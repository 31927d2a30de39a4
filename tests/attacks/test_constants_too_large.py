"""No public constant may make a query fail after it was charged.

Each either works, and gives what plain Python gives, or is refused before anything is charged.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, GroupBy, Histogram, PrivacyUnit, Quantile, Sum, column
from mechanisms.tables.expressions.operands import MOST_NESTED
from mechanisms.tables.expressions.predicates import Predicate
from queryable import ZCDP, Queryable, QueryError
from queryable.statistics import IntegerStatistic
from tests.engines import EMBEDDED, opened, quietly

TYPES = {"p": "integer", "x": "integer", "f": "float", "g": "text"}
ROWS = [(i % 7, i, i / 4, f"it's {i}") for i in range(60)]
x, f, g = column("x"), column("f"), column("g")
MANY = range(1100)


def nested(condition: Callable[[int], Predicate]) -> Predicate:
    predicate = condition(0)
    for value in range(1, MOST_NESTED):
        predicate |= condition(value)
    return predicate


def negated() -> Predicate:
    predicate: Predicate = x == 3
    for _ in range(MOST_NESTED - 1):
        predicate = ~predicate
    return predicate


CASES: dict[str, Callable[[], IntegerStatistic]] = {
    "1,100 integers": lambda: Count(x.is_in(MANY)),
    "1,100 texts": lambda: Count(g.is_in([f"it's {i}" for i in MANY])),
    "1,100 floats": lambda: Count(f.is_in([-0.0, *(i / 4 for i in MANY)])),
    "1,100 comparisons": lambda: Count(nested(lambda value: x == value)),
    "negations": lambda: Count(negated()),
    "500 keys": lambda: GroupBy({"x": range(500)}, Count()),
    "500 texts as keys": lambda: GroupBy({"g": [f"it's {i}" for i in range(500)]}, Sum("x", 0, 9)),
    "500 edges": lambda: Histogram("f", bins=[i / 4 for i in range(500)]),
    "a grid of 100": lambda: Quantile("x", "1/2", range(100)),
    "a lone surrogate": lambda: Count(g == "\ud800"),
    "a lone surrogate in a list": lambda: Count(g.is_in(["a", "\udfff"])),
    "a lone surrogate as a key": lambda: Histogram("g", ["a", "\ud800"]),
    "NUL": lambda: Count(g == "it's 1\0"),
    "NUL as a key": lambda: Histogram("g", ["it's 1\0", "it's 1"]),
    "a long text": lambda: Count(g < "it's " * 10**5),
    "400 digits": lambda: Count(x < 10**400),
    "a small float": lambda: Count(f > 5e-324),
}


def values(engine: str, statistic: IntegerStatistic) -> tuple[Any, Any]:
    """What the table and plain lists say; refused means that nothing was charged."""
    table = opened(engine, TYPES, ROWS)
    queryable = Queryable(FiltCon(ZCDP(1)), table)
    lists = {name: [row[i] for row in ROWS] for i, name in enumerate(TYPES)}
    with quietly():
        try:
            queryable(Gaussian(statistic, rho="1/100"))  # a charged failure raises MechanismFault
        except QueryError:
            assert queryable.privacy_loss() == ZCDP(0)
            return None, None
        return statistic.value(table), statistic.value(lists)


ALIKE = ("1,100 texts", "1,100 floats", "500 texts as keys")
"""What databases compile as they do integers; quick tests have these on DuckDB."""


@pytest.mark.parametrize(
    ("case", "engine"),
    [
        *((case, "duckdb") for case in CASES),
        *((case, "ibis on sqlite") for case in CASES if case not in ALIKE),
        *(pytest.param(case, "ibis on sqlite", marks=pytest.mark.slow) for case in ALIKE),
        # as the others, and slower to compile
        *(pytest.param(case, "ibis on duckdb", marks=pytest.mark.slow) for case in CASES),
    ],
)
def test_a_constant_works_or_is_refused(case: str, engine: str) -> None:
    value, expected = values(engine, CASES[case]())
    assert np.array_equal(value, expected)
    assert (value is None) <= ("surrogate" in case or case == "negations")


@pytest.mark.parametrize("bound", ["max_rows", "max_groups", "max_rows_per_group"])
def test_bounds_are_numbers_that_engines_count_to(bound: str) -> None:
    """Larger ones are refused where the unit is described."""
    with pytest.raises(ValueError, match="below 2\\*\\*63"):
        PrivacyUnit("p", **{"max_rows": 1, bound: 2**127})


@pytest.mark.parametrize("engine", EMBEDDED)
def test_the_largest_bound(engine: str) -> None:
    table = opened(engine, TYPES, ROWS, privacy_unit="p", max_rows=2**63 - 1)
    assert Count(per=table.unit).value(table) == len(ROWS)


def test_long_integers_are_refused() -> None:
    """Python does not even print them."""
    with pytest.raises(ValueError, match="more than 400 digits"):
        x > 10**5000  # noqa: B015


@pytest.mark.parametrize(
    "by",
    [
        {name: range(500) for name in "abcd"},
        {f"c{i}": [1] for i in range(70)},
    ],
)
def test_answers_fit_the_memory(by: Any) -> None:
    """Too many groups, or too many dimensions, failed after the charge."""
    with pytest.raises(ValueError, match="an answer has at most"):
        GroupBy(by, Count())
