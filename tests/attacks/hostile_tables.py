"""In-memory tables of every kind, with cells that are meant to make a reader fail.

Builds tables whose column types are fixed, so only cells vary.
"""

import datetime as dt
import enum
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

Row = dict[str, Any]


def fail(*_: Any, **__: Any) -> Any:
    """The method of a cell that fails."""
    raise RuntimeError("the patient is 47")


def hostile(kind: type, *methods: str) -> type:
    """A subclass whose methods fail."""
    return type(f"Hostile{kind.__name__.title()}", (kind,), dict.fromkeys(methods, fail))


COMPARED = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__bool__", "__hash__")
CONVERTED = ("__int__", "__index__", "__float__", "__repr__", "__str__", "as_integer_ratio")


class NoClass:
    """`isinstance` fails on it."""

    __class__ = property(fail)  # type: ignore[assignment]


class Ambiguous:
    """An object whose comparisons return arrays."""

    def __eq__(self, other: object) -> Any:
        return np.ones(3, dtype=bool)

    __lt__ = __le__ = __gt__ = __ge__ = __ne__ = __eq__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Grade(enum.IntEnum):
    """Integers of an enumeration class."""

    GOOD = 1


def nested(kind: type) -> Any:
    """So deep that hashing it would overflow the stack."""
    value: Any = kind(())
    for _ in range(100_000):
        value = kind((value,))
    return value


AWARE = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
NAIVE = AWARE.replace(tzinfo=None)
OBJECTS: list[Any] = [
    *(None, float("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT")),
    *(Decimal(text) for text in ("sNaN", "NaN", "-Infinity", "1e999999", "1e-999999", "2.5")),
    *(Fraction(1, 3), 10**400, -(10**400), 2**63, -(2**63) - 1, 2**64, np.uint64(2**64 - 1)),
    *(float("inf"), float("-inf"), 1e308, 5e-324, -0.0, 0.29, np.float32(0.1), np.float16(7)),
    *(np.longdouble("1e4000"), np.timedelta64(3, "s"), np.datetime64(10**15, "s")),
    *(True, np.True_, False, 3 + 4j, complex("nan"), 2 + 0j, np.complex64(1)),
    *("\ud800", "", "a\0", np.str_("a"), b"\xff", bytearray(b"a"), memoryview(b"a")),
    *([1], [], {}, {1}, (), ({},), nested(tuple), nested(list), range(3), iter([1])),
    *(np.zeros(2), np.array(5), np.array([5]), np.array([]), np.array([(1, 2)], "i4,i4")[0]),
    *(AWARE, dt.date.max, dt.datetime.min, dt.time(1), dt.timedelta.max, pd.Timestamp(AWARE)),  # noqa: DTZ901
    *(pd.Period("2020"), pd.Interval(0, 1), pd.Series([1, 2]), pl.Series([1]), pa.scalar(2)),
    *(object(), fail, int, NotImplemented, ..., NoClass(), Ambiguous(), Grade.GOOD),
    *(hostile(kind, *COMPARED)() for kind in (object, int, float, str, bytes, Decimal, Fraction)),
    *(hostile(kind, *CONVERTED)() for kind in (object, int, float, Decimal, Fraction)),
    hostile(dict, "__getitem__")(),
]
NUMBERS = [0, 1, 2, 5]
TEXTS = ["a", "b", "c"]
MOMENTS = [NAIVE, NAIVE + dt.timedelta(1, 1)]
ENDS = [2**63 - 1, -(2**63) + 1, 2**53 + 1]
FLOATS = [float("nan"), float("inf"), float("-inf"), 1e308, 5e-324, -0.0, 0.29]


@attrs.frozen
class Column:
    """How cells become a column of a fixed type, and which cells."""

    make: Callable[[list[Any]], Any] = attrs.field(repr=False)
    usual: list[Any] = attrs.field(repr=False)
    odd: list[Any] = attrs.field(repr=False)

    def cell(self, random: Random, odd: float) -> Any:
        """One cell, an odd one with that probability."""
        return random.choice(self.odd if random.random() < odd else self.usual)


@attrs.frozen
class Form:
    """A kind of table: its columns, and how they are put together."""

    columns: dict[str, Column] = attrs.field(repr=False)
    assemble: Callable[[dict[str, Any]], Any] = attrs.field(default=dict, repr=False)

    def row(self, random: Random, odd: float) -> Any:
        """One record."""
        return {name: column.cell(random, odd) for name, column in self.columns.items()}

    def narrowed(self, random: Random) -> "Form":
        """Some three of its columns."""
        names = random.sample(sorted(self.columns), min(3, len(self.columns)))
        return attrs.evolve(self, columns={name: self.columns[name] for name in names})

    def table(self, rows: list[Any]) -> Any:
        columns = self.columns.items()
        return self.assemble(
            {name: each.make([row[name] for row in rows]) for name, each in columns}
        )

    def entries(self, table: Any, name: str) -> Any:
        """A column as the library has it, as a user's function would give it back."""
        return table[name]


class Records(Form):
    """A list of records, some without a field and some no records."""

    def row(self, random: Random, odd: float) -> Any:
        """One record."""
        if random.random() < odd / 3:
            return random.choice(OBJECTS)
        row = Form.row(self, random, odd)
        if random.random() < odd / 3:
            del row[random.choice(sorted(row))]
        return row

    def table(self, rows: list[Any]) -> Any:
        """The rows themselves."""
        return list(rows)

    def entries(self, table: Any, name: str) -> Any:
        """The fields, by a function that does not fail."""
        return [row.get(name) if type(row) is dict else None for row in table]


def objects(cells: list[Any]) -> Any:
    """An array of objects."""
    return np.fromiter(cells, dtype=object, count=len(cells))


def typed(dtype: str, usual: list[Any], odd: list[Any]) -> Column:
    """A numpy column."""
    return Column(lambda cells: np.array(cells, dtype=dtype), usual, odd)


def times(dtype: str, *, kind: str = "M8") -> Column:
    """A numpy column of moments or durations, from integers."""
    nat = -(2**63)
    return Column(
        lambda cells: np.array(cells, dtype=np.int64).view(f"{kind}[{dtype}]"),
        NUMBERS,
        [nat, *ENDS],
    )


ANYTHING = Column(objects, [*NUMBERS, *TEXTS], OBJECTS)
ARRAYS = {
    "double": typed("f8", NUMBERS, FLOATS),
    "half": typed("f2", NUMBERS, [np.nan, np.inf, 65504]),
    "long": typed("longdouble", NUMBERS, [np.nan, np.inf, np.longdouble("1e4000")]),
    "integer": typed("i8", NUMBERS, ENDS),
    "unsigned": typed("u8", NUMBERS, [2**64 - 1, 2**63]),
    "truth": typed("?", [True, False], [True]),
    "text": typed("U3", TEXTS, ["", "\ud800", "a\0"]),
    "bytes": typed("S3", [b"a", b"b"], [b"\xff", b""]),
    "complex": typed("c16", NUMBERS, [complex("nan"), complex("inf"), 3 + 4j]),
    "moment": times("us"),
    "second": times("s"),
    "day": times("D"),
    "year": times("Y"),
    "duration": times("s", kind="m8"),
}
MASKED = Column(
    lambda cells: np.ma.array(
        [-1 if cell is None else cell for cell in cells],
        mask=[cell is None for cell in cells],
        dtype=int,
    ).reshape(-1),
    NUMBERS,
    [None, *ENDS],
)


def structured(columns: dict[str, Any]) -> Any:
    """A structured array."""
    length = len(next(iter(columns.values())))
    table = np.empty(length, dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        table[name] = column
    return table


def pandas(dtype: Any, usual: list[Any], odd: list[Any]) -> Column:
    return Column(lambda cells: pd.Series(cells, dtype=dtype), usual, odd)


def in_pandas(columns: dict[str, Any]) -> Any:
    """A pandas frame."""
    return pd.DataFrame(columns)


CLASSIC = {
    "double": pandas("float64", NUMBERS, FLOATS),
    "integer": pandas("int64", NUMBERS, ENDS),
    "truth": pandas("bool", [True, False], [True]),
    "anything": Column(lambda cells: pd.Series(objects(cells), dtype=object), NUMBERS, OBJECTS),
    "text": pandas("str", TEXTS, [None, "", "a\0"]),
    "moment": pandas("datetime64[ns]", MOMENTS, [None, pd.Timestamp.max, pd.Timestamp.min]),
    "second": Column(lambda cells: pd.Series(times("s").make(cells)), NUMBERS, [-(2**63), 10**14]),
    "instant": pandas("datetime64[us, UTC]", [AWARE], [None, AWARE.replace(year=9999)]),
    "duration": pandas("timedelta64[ns]", [dt.timedelta(1)], [None]),
    "category": pandas(pd.CategoricalDtype(["a", "b", 2.5]), TEXTS[:2], [None, 2.5]),
    "period": pandas("period[D]", ["2020-01-01"], [None]),
}
NULLABLE = {
    "integer": pandas("Int64", NUMBERS, [None, *ENDS]),
    "double": Column(
        lambda cells: pd.Series(
            pd.arrays.FloatingArray(
                np.array([0 if cell is None else cell for cell in cells], dtype=float),
                np.array([cell is None for cell in cells], dtype=bool),
            )
        ),
        NUMBERS,
        [None, *FLOATS],
    ),
    "truth": pandas("boolean", [True, False], [None]),
    "text": pandas("string[python]", TEXTS, [None, "", "\ud800"]),
    "sparse": pandas("Sparse[float]", NUMBERS, FLOATS),
    "category": pandas(pd.CategoricalDtype([1, 2, 5]), NUMBERS[1:], [None]),
}


def arrow(kind: Any, usual: list[Any], odd: list[Any]) -> Column:
    return Column(lambda cells: pa.chunked_array([pa.array(cells, type=kind)]), usual, [None, *odd])


def unchecked_text(cells: list[Any]) -> Any:
    """Bytes that Arrow takes for text."""
    data = pa.array(cells, type=pa.binary())
    return pa.chunked_array([pa.Array.from_buffers(pa.string(), len(cells), data.buffers())])


IN_ARROW = {
    "integer": arrow(pa.int64(), NUMBERS, ENDS),
    "double": arrow(pa.float64(), NUMBERS, FLOATS),
    "truth": arrow(pa.bool_(), [True, False], []),
    "text": Column(unchecked_text, [b"a", b"b"], [None, b"\xff", b"\xed\xa0\x80", b""]),
    "bytes": arrow(pa.binary(), [b"a"], [b"\xff"]),
    "decimal": arrow(pa.decimal128(38, 2), [Decimal(1), Decimal("2.50")], [Decimal(10) ** 35]),
    "day": arrow(pa.date32(), NUMBERS, [2**31 - 1, -(2**31)]),
    "second": arrow(pa.timestamp("s"), NUMBERS, ENDS),
    "instant": arrow(pa.timestamp("ns", "UTC"), NUMBERS, ENDS),
    "time": arrow(pa.time64("ns"), [0, 1000], [1, 86_399_999_999_999]),
    "duration": arrow(pa.duration("s"), NUMBERS, ENDS),
    "list": arrow(pa.list_(pa.int64()), [[1], [2]], [[], [None]]),
    "struct": arrow(pa.struct({"a": pa.int64()}), [{"a": 1}], [{"a": None}]),
    "dictionary": Column(
        lambda cells: pa.chunked_array([pa.array(cells, type=pa.string()).dictionary_encode()]),
        TEXTS,
        [None],
    ),
    "nothing": arrow(pa.null(), [None], []),
}


def as_pandas(column: Column) -> Column:
    """An Arrow column in a pandas frame."""

    def make(cells: list[Any]) -> Any:
        made = column.make(cells)
        return pd.Series(made, dtype=pd.ArrowDtype(made.type))

    return attrs.evolve(column, make=make)


def polars(kind: Any, usual: list[Any], odd: list[Any]) -> Column:
    return Column(lambda cells: pl.Series(cells, dtype=kind, strict=True), usual, [None, *odd])


def of_objects(cells: list[Any]) -> Any:
    """A polars column of objects; polars looks at the first to see what to do with it."""
    return pl.Series([object(), *cells], dtype=pl.Object)[1:]


IN_POLARS = {
    "integer": polars(pl.Int64, NUMBERS, ENDS),
    "unsigned": polars(pl.UInt64, NUMBERS, [2**64 - 1]),
    "wide": polars(pl.Int128, NUMBERS, [2**100]),
    "double": polars(pl.Float64, [float(each) for each in NUMBERS], FLOATS),
    "truth": polars(pl.Boolean, [True, False], []),
    "text": Column(lambda cells: pl.from_arrow(unchecked_text(cells)), [b"a"], [None, b"\xff"]),
    "category": polars(pl.Enum(TEXTS), TEXTS, []),
    "bytes": polars(pl.Binary, [b"a"], [b"\xff"]),
    "decimal": polars(pl.Decimal(38, 2), [Decimal(1), Decimal("2.50")], [Decimal(10) ** 35]),
    "day": Column(
        lambda cells: pl.Series(cells, dtype=pl.Int32).cast(pl.Date), NUMBERS, [2**31 - 1]
    ),
    "moment": Column(
        lambda cells: pl.Series(cells, dtype=pl.Int64).cast(pl.Datetime("us")),
        NUMBERS,
        [None, *ENDS],
    ),
    "instant": polars(pl.Datetime("us", "UTC"), [AWARE], []),
    "duration": polars(pl.Duration("ms"), [dt.timedelta(1)], [dt.timedelta(10**6)]),
    "time": polars(pl.Time, [dt.time(1)], []),
    "list": polars(pl.List(pl.Int64), [[1]], [[], [None]]),
    "struct": polars(pl.Struct({"a": pl.Int64}), [{"a": 1}], [{"a": None}]),
    "anything": Column(of_objects, NUMBERS, OBJECTS),
    "nothing": polars(pl.Null, [None], []),
}

FORMS: dict[str, Form] = {
    "typed arrays": Form(ARRAYS | {"masked": MASKED}),
    "object arrays": Form({"x": ANYTHING, "y": ANYTHING}),
    "lists": Form(
        {"x": attrs.evolve(ANYTHING, make=list), "y": attrs.evolve(ANYTHING, make=tuple)}
    ),
    "structured array": Form(ARRAYS | {"x": ANYTHING}, structured),
    "pandas classic": Form(CLASSIC, in_pandas),
    "pandas nullable": Form(NULLABLE, in_pandas),
    "pandas arrow": Form({name: as_pandas(each) for name, each in IN_ARROW.items()}, in_pandas),
    "polars": Form(IN_POLARS, pl.DataFrame),
    "pyarrow": Form(IN_ARROW, pa.table),
    "records": Records({"x": ANYTHING, "y": ANYTHING}),
}
