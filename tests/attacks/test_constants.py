"""Constants of an analyst: classes of their own, and constants that are too large."""

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import FiltCon, Partition
from mechanisms import (
    Count,
    ExponentialMechanism,
    Gaussian,
    GroupBy,
    Histogram,
    PrivacyUnit,
    Quantile,
    Sum,
    Table,
    TopK,
    column,
)
from mechanisms.tables.expressions.operands import MOST_NESTED
from mechanisms.tables.expressions.predicates import Comparison, Predicate
from mechanisms.tables.requests.request import Categories
from queryable import ZCDP, Queryable, QueryError
from queryable.statistics import IntegerStatistic
from tests.engines import EMBEDDED, opened, quietly

# Constants of an analyst's class: their methods must not get cells or write SQL.


SEEN: list[Any] = []


def _spy(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        SEEN.append(other)
        return getattr(type(self).__mro__[1], name)(self, other)

    return method


def spying(base: type) -> type:
    """A subclass that notes what its instances are compared and computed with."""
    names = ["eq", "ne", "lt", "le", "gt", "ge", "add", "radd", "sub", "rsub", "mul", "rmul"]
    methods = {f"__{each}__": _spy(f"__{each}__") for each in names if hasattr(base, f"__{each}__")}
    return type("Spy", (base,), {**methods, "__hash__": base.__hash__})


CELLS: dict[type, list[Any]] = {
    int: [3, 5, 7, 7],
    float: [0.5, 1.5, 2.5, 2.5],
    str: ["secret", "a", "b", "b"],
    bytes: [b"secret", b"a", b"b", b"b"],
    dt.date: [dt.date(2020, 1, day) for day in (1, 2, 3, 3)],
    dt.datetime: [dt.datetime(2020, 1, day) for day in (1, 2, 3, 3)],  # noqa: DTZ001
    dt.timedelta: [dt.timedelta(day) for day in (1, 2, 3, 3)],
}


def spy_of(cell: Any) -> Any:
    kind = spying(type(cell))
    match cell:
        case dt.datetime():
            return kind(cell.year, cell.month, cell.day)
        case dt.date():
            return kind(cell.year, cell.month, cell.day)
        case dt.timedelta():
            return kind(cell.days)
    return kind(cell)


@pytest.mark.parametrize("kind", CELLS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("wrap", [list, lambda cells: np.array(cells, dtype=object)])
def test_cells_are_not_handed_over(kind: type, wrap: Any) -> None:
    """Every place that takes a constant keeps it as the builtin type."""
    cells = CELLS[kind]
    data = {"x": wrap(cells)}
    first, second, spy = spy_of(cells[0]), spy_of(cells[1]), spy_of(cells[2])
    x = column("x")
    statistics = [
        *(Count(each) for each in (x == spy, x != spy, x < spy, x <= spy, x > spy, x >= spy)),
        Count(Comparison("x", "==", spy)),
        Count(x.is_in([first, spy])),
        Histogram("x", [first, spy]),
        GroupBy({"x": [spy]}, Count()),
        GroupBy((Categories("x", (spy,)),), Count()),
        Quantile("x", "1/2", [first, second, spy] if first < second else [second, first]),
    ]
    SEEN.clear()
    values = [np.asarray(each(data)).tolist() for each in statistics]
    assert SEEN == []
    assert values[0] == values[6] == 2
    assert values[8] == [1, 2]


def test_records_are_not_handed_to_the_names_of_parts() -> None:
    """A record's key is looked up among plain names."""
    text, whole = spying(str), spying(int)
    partition = Partition(text("k"), [text("a"), whole(1)], other=text("rest"))
    SEEN.clear()
    records = [{"k": key} for key in ("a", 1, "secret", 1.0)]
    parts = partition.split(records, partition.parts)
    assert SEEN == []
    assert [len(parts[name]) for name in ("a", 1, "rest")] == [1, 2, 1]


def test_a_time_zone_is_not_asked() -> None:
    """A `tzinfo` of the analyst's would be called once for each cell."""
    asked = []

    class Zone(dt.tzinfo):
        def utcoffset(self, when: Any) -> dt.timedelta:
            asked.append(when)
            return dt.timedelta(hours=1)

        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = None  # type: ignore[assignment]

    cells = [dt.datetime(2020, 1, 1, hour, tzinfo=dt.UTC) for hour in range(3)]
    statistic = Count(column("x") == dt.datetime(2020, 1, 1, 2, tzinfo=Zone()))
    asked.clear()
    assert (statistic({"x": cells}), asked) == (1, [])


def test_bounds_are_plain_fractions() -> None:
    """A bound is what cells are clipped to."""
    whole = spying(int)

    class Ratio(Fraction):
        @property
        def numerator(self) -> int:
            return whole(super().numerator)  # type: ignore[no-any-return]

        @property
        def denominator(self) -> int:
            return whole(super().denominator)  # type: ignore[no-any-return]

    statistic = Sum("x", Ratio(0), Ratio(6), unit=Ratio(1, 2))
    SEEN.clear()
    assert statistic({"x": [3, 5, 7, 8.5]}) == 40
    assert SEEN == []


@pytest.mark.parametrize("name", ["max_rows", "max_groups", "max_rows_per_group"])
def test_a_bound_is_not_written_into_sql_by_its_own_methods(name: str) -> None:
    """`max_rows` is a number in the statement: at most so many rows count, whatever it prints."""

    class Free(int):
        def __format__(self, spec: str) -> str:
            return "1 OR TRUE"

        __str__ = __repr__ = lambda self: "1 OR TRUE"

    with Table({"p": [1] * 9, "g": [7] * 9}, privacy_unit="p", max_rows=3) as table:
        per = PrivacyUnit("p", **{"max_rows": 3, name: Free(1)})
        assert GroupBy({"g": [7]}, Count(per=per)).value(table).tolist() in ([1], [3])


def test_a_privacy_unit_is_ours() -> None:
    """A subclass could say one bound for the claim and another for the engine."""

    class Unbounded(PrivacyUnit):
        pass

    with pytest.raises(TypeError, match="should be a PrivacyUnit"):
        Count(per=Unbounded("p", max_rows=1))


def test_the_number_of_choices_is_a_plain_number() -> None:
    """A `k` of the analyst's would multiply the loss as it likes."""

    class Cheap(int):
        def __mul__(self, other: Any) -> Any:
            return other

        __rmul__ = __mul__

    choice = TopK(Histogram("x", ["a", "b", "c"]), k=Cheap(3), epsilon=1)
    assert type(choice.k) is int
    assert ExponentialMechanism(choice.scores, epsilon=1).privacy_map(1) is not None


@pytest.mark.parametrize("wrong", [np.longdouble(1), np.complex128(1), 1j, object()])
def test_other_types_are_refused(wrong: Any) -> None:
    """What has no exact builtin type is no constant."""
    for make in (lambda: column("x") == wrong, lambda: Histogram("x", [wrong])):
        with pytest.raises(TypeError, match="should be a number, a string or a date"):
            make()


# No public constant may make a query fail after it was charged.
#
# Each either works, and gives what plain Python gives, or is refused before anything is charged.


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
    "by", [{name: range(500) for name in "abcd"}, {f"c{i}": [1] for i in range(70)}]
)
def test_answers_fit_the_memory(by: Any) -> None:
    """Too many groups, or too many dimensions, failed after the charge."""
    with pytest.raises(ValueError, match="an answer has at most"):
        GroupBy(by, Count())
