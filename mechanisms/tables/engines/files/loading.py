"""Cells of CSV files and of Python objects, read in DuckDB as the types declared for them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mechanisms.tables.engines.files.cell_formats import PLAIN, CellFormats
from mechanisms.tables.engines.files.cells import cast, sql_type
from mechanisms.tables.engines.files.csv_files import csv_files
from mechanisms.tables.engines.files.frames import ArrowFrame
from mechanisms.tables.engines.files.misread import Misread, MisreadFinding
from mechanisms.tables.engines.files.opening import Sources
from mechanisms.tables.engines.files.samples import SAMPLED, Sample, sampled
from mechanisms.tables.engines.sql.expression import identifier
from mechanisms.tables.engines.sql.types import kind_of
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.corrections import (
    no_column,
    not_readable,
    require_distinct,
)


def rows_of_arrow(connection: Any, table: Any) -> Any:
    """The rows of an Arrow table in DuckDB.

    Raises:
        TypeError: a column has a type that DuckDB does not have.
    """
    import duckdb

    try:
        return connection.from_arrow(table)
    except duckdb.NotImplementedException:
        for name in table.column_names:
            try:
                connection.from_arrow(table.select([name]).slice(0, 0))
            except duckdb.NotImplementedException:
                kind = table.schema.field(name).type
                raise TypeError(not_readable(name, kind)) from None
        raise


class Numbered(NamedTuple):
    """An Arrow table, the name of the column that numbers its rows, and what was not read."""

    table: Any
    number: str
    misread: Misread | None


def numbered(
    connection: Any,
    types: Mapping[str, str],
    frame: ArrowFrame,
    formats: CellFormats,
) -> Numbered:
    """An Arrow table whose declared columns are read as their types, with numbers of its rows.

    Raises:
        ValueError: two columns have the same name, or a type is wrong.
    """
    import pyarrow as pa

    source = frame.table
    require_distinct(map(str, source.column_names))
    undeclared = {name: (name, PLAIN) for name in frame.written if name not in types}
    guessed = {name: (name, PLAIN) for name in frame.guessed}
    head = source.select([*undeclared, *guessed]).slice(0, SAMPLED)
    lost, examples = {}, {}
    for name, each in types.items():
        column, read = source.column(name), _read(connection, source.select([name]), each, formats)
        lost[name] = read.null_count - column.null_count
        if lost[name]:
            unread = column.filter(read.is_null()).drop_null()
            examples[name] = unread[0].as_py()
        source = source.set_column(source.column_names.index(name), name, read)
    misread = None
    samples = sampled(connection, head, undeclared, options=False)
    notes = frame.notes + tuple(_of_text(sampled(connection, head, guessed, options=False)))
    if undeclared or types or frame.invalid or frame.unread or notes:
        misread = Misread(
            *(source.num_rows, 0, {**frame.invalid, **lost}, examples, samples, dict(types)),
            unread=frame.unread,
            notes=notes,
            options=False,
        )
    numbers = pa.array(np.arange(source.num_rows), "int32")
    number = unlike(source.column_names, "\x1frow")
    return Numbered(source.append_column(number, numbers), number, misread)


def _of_text(samples: Mapping[str, Sample]) -> Iterator[MisreadFinding]:
    """Columns of text that pandas may have made text because of few cells."""
    for name, sample in samples.items():
        if text := sample.decided_by_few():
            yield MisreadFinding(name, text, True, f"convert {name!r} first")


def _read(connection: Any, text: Any, declared: str, formats: CellFormats) -> Any:
    """The only column of an Arrow table of text, read as a type."""
    import pyarrow as pa

    [name] = text.column_names
    kind, declared = declared_type(connection, name, declared, formats)
    number = unlike([name], "row")
    text = text.append_column(number, pa.array(np.arange(text.num_rows), "int64"))
    cells = connection.from_arrow(text)
    cells = cells.project(f"{cast(identifier(name), declared, kind)}, {identifier(number)}")
    return cells.order(identifier(number)).to_arrow_table().column(0)  # else in any order


def declared_type(
    connection: Any, name: str, declared: str, formats: CellFormats
) -> tuple[Kind, str]:
    """The kind and the checked name of a declared type.

    Raises:
        ValueError: DuckDB has no such type, or the format of its dates has a time of day.
    """
    declared = sql_type(connection, name, declared)
    [found] = connection.sql(f"SELECT CAST(NULL AS {declared})").types
    kind, dates = kind_of(str(found)), formats.of(name).date_format
    if kind.name == "date" and dates is not None and dates.has_time:
        raise ValueError(
            f"declare {name!r} as 'TIMESTAMP', because its date_format has a time of day, or "
            f"give a format for each column, date_format={{{name!r}: '%d.%m.%Y', ..}}"
        )
    return kind, declared


def stored(
    connection: Any,
    sources: Sources,
    types: Mapping[str, str],
    dialect: dict[str, Any],
    formats: CellFormats,
    folder: Path,
) -> tuple[Any, Misread]:
    """The cells of CSV files, in a table of the database; each cell is cast on its own.

    While the file is read, a further column for each declared one holds the cells that are no
    values of its type, so that the owner can be shown one.

    Raises:
        ValueError: a type or a name is wrong, the files have other headers, or one has changed.
    """
    import pyarrow as pa

    names, files = csv_files(sources.paths, dialect, folder)
    names_of([*types, *formats.named], names)
    given = {name: declared_type(connection, name, each, formats) for name, each in types.items()}
    texts = {name: identifier(str(i)) for i, name in enumerate(names)}
    columns = [f"{identifier(it)} {given[it][1] if it in given else 'VARCHAR'}" for it in names]
    lost = {name: identifier(unlike(names, f"lost {i}")) for i, name in enumerate(given)}
    columns += [f"{name} VARCHAR" for name in lost.values()]
    connection.execute(f"CREATE TABLE stored ({', '.join(columns)})")
    read = {
        name: cast(texts[name], declared, kind, formats.of(name))
        for name, (kind, declared) in given.items()
    }
    inner = [f"{read.get(name, text)} AS r{text[1:-1]}, {text}" for name, text in texts.items()]
    cells = [f"r{text[1:-1]}" for text in texts.values()]
    cells += [f"CASE WHEN r{texts[it][1:-1]} IS NULL THEN {texts[it]} END" for it in lost]
    insert = f"INSERT INTO stored SELECT {', '.join(cells)} FROM (SELECT {', '.join(inner)} "
    head: list[Any] = []
    connection.begin()
    for batch in chain.from_iterable(file.batches(len(names)) for file in files):
        connection.register("batch", batch)
        connection.execute(f"{insert} FROM batch)")
        connection.unregister("batch")
        if (room := SAMPLED - sum(part.num_rows for part in head)) > 0:
            head.append(batch.slice(0, room))
    connection.commit()
    for file in files:
        file.remove_copy()
    sources.require_unchanged()
    asked = ["count(*)", *(f"count({it}), left(min({it}), 1000)" for it in lost.values())]
    [(rows, *found)] = connection.sql(f"SELECT {', '.join(asked)} FROM stored").fetchall()
    for name in lost.values():
        connection.execute(f"ALTER TABLE stored DROP COLUMN {name}")
    counts = dict(zip(lost, found[::2], strict=True))
    examples = {it: cell for it, cell in zip(lost, found[1::2], strict=True) if cell is not None}
    undeclared = {
        name: (str(i), formats.of(name)) for i, name in enumerate(names) if name not in types
    }
    samples = {}
    if head:
        samples = sampled(connection, pa.concat_tables(head), undeclared, options=True)
    total: Counter[int] = sum((file.undecoded for file in files), Counter())
    long: Counter[int] = sum((file.too_long for file in files), Counter())
    misread = Misread(
        rows,
        sum(file.misfits for file in files),
        counts,
        examples,
        samples,
        dict(types),
        undecoded={names[i]: count for i, count in sorted(total.items())},
        too_long={names[i]: count for i, count in sorted(long.items())},
        encoding=files[0].encoding,
        likely=next((file.likely for file in files if file.likely), ""),
        notes=_notes(names),
    )
    return connection.table("stored"), misread


def _notes(names: Sequence[str]) -> tuple[MisreadFinding, ...]:
    """What the header of a CSV file says, which is public."""
    if names[0].lower().startswith("sep=") and len(names) <= 2:
        return (
            MisreadFinding("", f"the first line, {names[0]!r}, names no column; remove it", True),
        )
    marks = [mark for mark in ";\t|," if mark in names[0]] if len(names) == 1 else []
    if not marks:
        return ()
    remedy = f"write sep={marks[0]!r}"
    return (MisreadFinding("", f"the file has one column, {names[0]!r}; {remedy}", True, remedy),)


def unlike(names: Iterable[str], name: str) -> str:
    """The name, longer until it is not the name of a column, ignoring case."""
    known = {each.lower() for each in names}
    while name in known:
        name += "_"
    return name


def names_of(names: Iterable[str], columns: Iterable[str]) -> list[str]:
    """The names, if all of them are columns.

    Raises:
        ValueError: one is not.
    """
    wanted, known = list(names), list(columns)
    for name in wanted:
        if name not in known:
            raise ValueError(no_column(name, known))
    return wanted
