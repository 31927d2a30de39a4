"""One unit, or one record, that is meant to take the place of others, or to stop a batch.

Streams of batches are generated that differ in all records of one unit, or in one record, and fed
to everything that reads units or rows: counters, blocks, parts, individual accounts, in every form
of data. Cells are from pools in which people have written down which unit each names. Checked is:
no histogram moves by more than is claimed for so many units or records; and each batch is taken, or
refused, on both sides alike, and by the same mechanisms.

At 1b177ec units were compared by `==` and `hash`: `numpy.float64(2**100)` took the place of 999
integers. A cell whose comparison raises stopped the batch for all mechanisms, as one integer did
in a list for an array, and a text in a list for one part of a `Parallel`. Times of a nanosecond
were one unit in a counter and several in a table, and a far time made the counter fail.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from composition import Blocks, ConComp, FiltCon, Individual, OdomCon, Parallel, Partition
from mechanisms import (
    Count,
    Gaussian,
    Histogram,
    Laplace,
    SparseVector,
    Table,
    ToeplitzCounter,
    Total,
    TreeCounter,
)
from queryable import ZCDP, MechanismFault, PureDP, Queryable, QueryError, UserLevel
from tests.attacks import hostile_tables
from tests.attacks.hostile_tables import FORMS, objects
from tests.attacks.hostile_units import POOL, SAME_HASH
from tests.attacks.test_individual import Silent

VALUES = [0, 1, 2, 3]
LABELS = sorted({repr(label) for label, _ in POOL})
BY_LABEL = {name: [cell for label, cell in POOL if repr(label) == name] for name in LABELS}
SOME, LARGE = ZCDP(10**6), ZCDP(10**12)


# Storages: how units and values become data, and which unit a cell names.


@attrs.frozen
class Storage:
    """A form of data with a column `u` of units and a column `x` of values."""

    made: Callable[[list[Any], list[int]], Any] = attrs.field(repr=False)
    drawn: Callable[[Random], tuple[Any, Any]] = attrs.field(repr=False)
    """Gives a label and a cell."""
    opened: Callable[[Any], Any] = attrs.field(default=lambda data: data, repr=False)


def of_pool(random: Random) -> tuple[Any, Any]:
    """Any cell. Half of them are of few labels, so that units have several rows."""
    if random.random() < 0.5:
        name = random.choice(["1", "0", "None", "'day'", "'text 1'", repr(2**100)])
        return name, random.choice(BY_LABEL[name])
    label, cell = random.choice(POOL)
    return repr(label), cell


def records(units: list[Any], values: list[int]) -> Any:
    return [{"u": unit, "x": value} for unit, value in zip(units, values, strict=True)]


def in_dict(column: Callable[[list[Any]], Any]) -> Callable[[list[Any], list[int]], Any]:
    return lambda units, values: {"u": column(units), "x": np.array(values, dtype=np.int64)}


def in_structured(units: list[Any], values: list[int]) -> Any:
    return hostile_tables.structured({"u": objects(units), "x": np.array(values, dtype=np.int64)})


def in_pandas(units: list[Any], values: list[int]) -> Any:
    return pd.DataFrame(
        {"u": pd.Series(objects(units), dtype=object), "x": np.array(values, dtype=np.int64)}
    )


def in_polars(units: list[Any], values: list[int]) -> Any:
    return pl.DataFrame(
        {"u": hostile_tables.of_objects(units), "x": pl.Series(values, dtype=pl.Int64)}
    )


OBJECTS = {
    "records": Storage(records, of_pool),
    "lists": Storage(in_dict(list), of_pool),
    "tuples": Storage(in_dict(tuple), of_pool),
    "object arrays": Storage(in_dict(objects), of_pool),
    "structured": Storage(in_structured, of_pool),
    "pandas": Storage(in_pandas, of_pool),
    "polars": Storage(in_polars, of_pool),
}


def label_of(cell: Any, *, padded: bool) -> Any:
    """The unit that a cell of a typed column names: each value is one, and a missing one is none.

    Some columns are made of integers, of which the least is no time, and some of bytes, which have
    to be text. numpy pads texts with zeros, so that those at the end are lost.
    """
    if cell is None or cell == -(2**63) or cell != cell:  # noqa: PLR0124 (NaN)
        return "None"
    if isinstance(cell, bytes):
        try:
            return (cell.decode().rstrip("\0") if padded else cell.decode()) + " in bytes"
        except UnicodeDecodeError:
            return None if cell != b"\xff" else "b'\\xff'"
    if isinstance(cell, str):
        return cell.rstrip("\0") if padded else cell
    return repr(0 if cell == 0 else cell)  # also for the zero below zero


def typed(form: str, name: str, *, in_sql: bool = False) -> Storage:
    """A typed column of a form of `hostile_tables`; a table compares its cells in SQL."""
    column, values = FORMS[form].columns[name], VALUES_IN[form]

    def made(units: list[Any], given: list[int]) -> Any:
        return FORMS[form].assemble({"u": column.make(units), "x": values(given)})

    def drawn(random: Random) -> tuple[Any, Any]:
        cell = column.cell(random, 0.5)
        if name == "time" and isinstance(cell, int) and not in_sql:
            return label_of(cell // 1000, padded=False), cell  # Python's have microseconds
        return label_of(cell, padded=form == "typed arrays"), cell

    return Storage(made, drawn)


def int64(values: list[int]) -> Any:
    return np.array(values, dtype=np.int64)


VALUES_IN: dict[str, Callable[[list[int]], Any]] = {
    "typed arrays": int64,
    "pandas classic": int64,
    "pandas nullable": int64,
    "pandas arrow": int64,
    "polars": lambda values: pl.Series(values, dtype=pl.Int64),
    "pyarrow": lambda values: pa.array(values, pa.int64()),
}
TYPED = {
    f"{form}: {name}": typed(form, name)
    for form in VALUES_IN
    for name in FORMS[form].columns
    if name not in ("anything", "masked", "list", "struct", "complex")
}
TEXTS: list[Any] = ["a", "1", 1, 1.0, True, None, float("nan"), 2**70, "\ud800", [1], np.int8(1)]
TEXTS += ["x" * 70, "x" * 71, np.float64(2**100), 2**100 + 1, object()]
WRITTEN = ["a", "1", "1", "1", "true", None, None, str(2**70), None, None, "1"]
WRITTEN += ["x" * 70, "x" * 71, "1.2676506002282294e+30", str(2**100 + 1), None]
"""The text of each, which is the cell that a table of Python objects has."""


def of_texts(random: Random) -> tuple[Any, Any]:
    place = random.randrange(len(TEXTS))
    return repr(WRITTEN[place]), TEXTS[place]


def table(data: Any) -> Table:
    return Table(data, privacy_unit="u", max_rows=2, seed=1, threads=1)


def in_table(storage: Storage) -> Storage:
    return attrs.evolve(storage, opened=table)


READ_BY_DUCKDB = [
    *("integer", "double", "text", "bytes", "decimal", "day", "second", "instant", "time"),
    *("duration", "dictionary"),
]
TABLES = {"table: objects": in_table(Storage(in_dict(list), of_texts))} | {
    f"table: {name}": in_table(typed("pyarrow", name, in_sql=True)) for name in READ_BY_DUCKDB
}
STORAGES = OBJECTS | TYPED | TABLES


# What reads units or rows, what it is asked in the end, and what is claimed about the answer.

Answers = list[tuple[Any, int | None, int | None]]
"""Histograms, and how far each may move in L1 if all records of a unit are added, or if one is."""


@attrs.frozen
class Reader:
    """A mechanism, and what is asked of its handle, given the names of blocks."""

    mechanism: Any
    answers: Callable[[Any, list[str]], Answers] = attrs.field(repr=False)


def readers(per: Any) -> Iterator[Reader]:
    """All of them; for a table with units, of which two rows count, those that protect these."""
    asked = Histogram("x", VALUES, per=per)
    noisy = Gaussian(asked, rho=1)
    rows, one = (2, None) if per else (None, 1)

    def in_total(handle: Any, blocks: list[str]) -> Answers:
        return [(handle(Total()), 2, None if per else 2)]

    def of_all(handle: Any, blocks: list[str]) -> Answers:
        return [(handle(noisy), rows, one)]

    def of_units(handle: Any, blocks: list[str]) -> Answers:
        some = handle.launch_over(noisy, blocks[:1]), 2, None if per else 2
        return [some, (handle.launch_over(noisy, blocks), *((2, None) if per else (4, 4)))]

    level: dict[str, Any] = {} if per else {"neighbours": UserLevel("u", 2)}
    counter = TreeCounter(asked, rho=1, horizon=64, **level)
    yield Reader(counter, in_total)
    yield Reader(ToeplitzCounter(asked, rho=1, horizon=64, **level), in_total)
    yield Reader(ConComp([counter]), lambda q, blocks: in_total(q.children[0], blocks))
    yield Reader(Blocks(FiltCon(SOME), "u", 2, unit_rows=2), of_units)
    yield Reader(FiltCon(SOME), of_all)
    yield Reader(Individual(10**6), of_all)
    watching = SparseVector(10**6, epsilon=1, sensitivity=2 if per else 1)
    yield Reader(watching, lambda q, _: [([int(q(Count(per=per)))], 0, 0)])
    if per is None:
        event = TreeCounter(asked, rho=1, horizon=64)
        parts = {1: FiltCon(PureDP(10)), "1": event, "other": event}

        def of_parts(handle: Any, blocks: list[str]) -> Answers:
            found = [handle.children[1](Laplace(asked, epsilon=1))]
            found += [handle.children[name](Total()) for name in ("1", "other")]
            return [(np.concatenate([np.asarray(each) for each in found]), None, 1)]

        yield Reader(event, lambda q, _: [(q(Total()), None, 1)])
        yield Reader(Parallel(Partition("u", [1, "1"]), parts), of_parts)
        yield Reader(Parallel(Partition(_unit, [1, "1"]), parts), of_parts)
        yield Reader(
            Blocks(FiltCon(SOME)), lambda q, names: [(q.launch_over(noisy, names), None, 1)]
        )


def _unit(record: Any) -> Any:
    return record["u"]


Batch = list[tuple[Any, Any, int]]
"""Records: the label of the unit, its cell, and the value."""


@attrs.frozen
class Told:
    """What is seen of a stream: whether each batch was taken, and all answers."""

    taken: list[str]
    answers: list[Any] = attrs.field(repr=False)
    bounds: list[tuple[int | None, int | None]]


def told(storage: Storage, batches: list[Batch], outer: Any, alone: Reader | None = None) -> Told:
    """Feed the batches, and ask all readers in a filter, or one that is the root."""
    first, *later = [storage.made([u for _, u, _ in b], [x for _, _, x in b]) for b in batches]
    data = storage.opened(first)
    per = data.unit if isinstance(data, Table) else None
    root = Queryable(alone.mechanism if alone else outer, data, coins=Silent(), allow_seeded=True)
    found = [alone] if alone else list(readers(per))
    handles = [root] if alone else [root.launch(each.mechanism) for each in found]
    names, taken = [], []
    for place, batch in enumerate(later):
        names.append(f"block {place // 2}")
        try:
            root.feed(batch, block=names[-1])
            taken.append("taken")
        except (QueryError, MechanismFault) as error:
            taken.append(repr(error))
        if place % 2:
            root.feed.close(names[-1])
    answers: list[Any] = []
    bounds: list[Any] = []
    for each, handle in zip(found, handles, strict=True):
        try:
            for answer, *bound in each.answers(handle, sorted(set(names))):
                answers.append(np.asarray(answer, dtype=object))
                bounds.append(tuple(bound))
        except MechanismFault:
            answers.append(None)
            bounds.append((None, None))
    if isinstance(data, Table):
        data.close()
    return Told(taken, answers, bounds)


def some_batches(storage: Storage, random: Random) -> list[Batch]:
    """An even number of batches, and the data before them."""
    return [
        [
            (*storage.drawn(random), random.choice(VALUES))
            for _ in range(random.choice([0, 1, 4, 12]))
        ]
        for _ in range(1 + 2 * random.choice([1, 2, 3]))
    ]


def hold_apart(before: Told, after: Told, which: int, why: object) -> None:
    """Compare two neighbouring streams.

    Args:
        which: 0 if they differ in all records of a unit, 1 if in one record.
    """
    assert before.taken == after.taken, why
    assert before.taken == ["taken"] * len(before.taken), why
    for one, other, bound in zip(before.answers, after.answers, before.bounds, strict=True):
        assert one is not None, why
        assert other is not None, why
        if bound[which] is not None:
            assert abs(one - other).sum() <= bound[which], (why, one, other, bound)


def compare(name: str, seed: object) -> None:
    """Two neighbouring streams of one storage."""
    storage, random = STORAGES[name], Random(f"units {name} {seed}")
    batches = some_batches(storage, random)
    outer = random.choice([FiltCon(LARGE), OdomCon(ZCDP)])
    units = {label for batch in batches for label, _, _ in batch if label != "None"}
    places = [(b, place) for b, batch in enumerate(batches) for place in range(len(batch))]
    unit = random.choice(sorted(units, key=repr)) if units else None
    at = random.choice(places) if places else None
    whole = told(storage, batches, outer)
    without = [[row for row in batch if row[0] != unit] for batch in batches]
    hold_apart(whole, told(storage, without, outer), 0, (name, seed, unit))
    if not name.startswith("table"):
        fewer = [[r for i, r in enumerate(each) if (b, i) != at] for b, each in enumerate(batches)]
        hold_apart(whole, told(storage, fewer, outer), 1, (name, seed, at))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*OBJECTS])
@pytest.mark.parametrize("pairs", [3, pytest.param(150, marks=pytest.mark.slow)])
def test_a_unit_or_a_record_moves_what_is_claimed(name: str, pairs: int) -> None:
    """Python objects, in every storage."""
    for seed in range(pairs):
        compare(name, seed)


SOME_TYPED = ["typed arrays: double", "typed arrays: moment", "pandas nullable: integer"]
SOME_TYPED += ["pandas classic: category", "polars: text", "pyarrow: second"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [each if each in SOME_TYPED else pytest.param(each, marks=pytest.mark.slow) for each in TYPED],
)
def test_so_do_typed_columns(name: str) -> None:
    """Of each library, with the extremes of their types."""
    for seed in range(2 if name in SOME_TYPED else 20):
        compare(name, seed)


SOME_TABLES = ["table: objects", "table: second"]


@pytest.mark.parametrize(
    "name",
    [
        each if each in SOME_TABLES else pytest.param(each, marks=pytest.mark.slow)
        for each in TABLES
    ],
)
@pytest.mark.parametrize("pairs", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_so_do_tables(name: str, pairs: int) -> None:
    """DuckDB says which units are equal, for snapshots, counters and blocks alike."""
    for seed in range(pairs):
        compare(name, seed)


# The root may count one record of a unit: the attack on Python's own equality.

ONLY = Histogram("x", VALUES)
FIRST = UserLevel("u", 1)


def of_first(handle: Any, blocks: list[str]) -> Answers:
    return [(handle.children[0](Total()), 1, None)]


def of_blocks(handle: Any, blocks: list[str]) -> Answers:
    return [(handle.launch_over(Gaussian(ONLY, rho=1), blocks), 1, None)]


ROOTS = {
    "tree": Reader(
        ConComp([TreeCounter(ONLY, epsilon="1/2", horizon=9, neighbours=FIRST)]), of_first
    ),
    "toeplitz": Reader(
        ConComp([ToeplitzCounter(ONLY, rho=1, horizon=9, neighbours=FIRST)]), of_first
    ),
    "blocks": Reader(Blocks(FiltCon(SOME), "u"), of_blocks),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("root", ROOTS)
@pytest.mark.parametrize("name", ["records", "lists", "object arrays", "pandas", "polars"])
def test_one_number_takes_no_place_of_a_thousand_others(root: str, name: str) -> None:
    """At 1b177ec a count moved by 999 at a claimed epsilon of 1/2."""
    rows: Batch = [(repr(each), each, 0) for each in SAME_HASH[1:]]
    odd: Batch = [("odd", np.float64(2**100), 0)]
    storage, reader = STORAGES[name], ROOTS[root]
    for placed in ([*odd, *rows], [*rows, *odd], [*rows[:9], *odd, *rows[9:]]):
        before = told(storage, [[], rows, []], None, reader)
        hold_apart(before, told(storage, [[], placed, []], None, reader), 0, (root, name))
        assert before.answers[0].sum() == len(rows)
