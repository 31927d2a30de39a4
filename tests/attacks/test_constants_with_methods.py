"""Constants of an analyst's class: their methods must not get cells or write SQL."""

import datetime as dt
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import Partition
from mechanisms import (
    Count,
    ExponentialMechanism,
    GroupBy,
    Histogram,
    PrivacyUnit,
    Quantile,
    Sum,
    Table,
    TopK,
    column,
)
from mechanisms.tables.expressions.predicates import Comparison
from mechanisms.tables.requests.request import Categories

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


@pytest.mark.parametrize("wrong", [np.longdouble(1), np.complex128(1), 1j, Fraction(1, 2)])
def test_other_types_are_refused(wrong: Any) -> None:
    """What has no exact builtin type is no constant."""
    for make in (lambda: column("x") == wrong, lambda: Histogram("x", [wrong])):
        with pytest.raises(TypeError, match="should be a number, a string or a date"):
            make()
