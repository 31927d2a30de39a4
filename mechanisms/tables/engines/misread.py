"""What could not be read in a source, for its owner alone.

`sampled` reads the first rows of columns without a declared type in every way, and looks for a
format that fits better. All of this depends on rows, so it is private: nothing of it decides
whether a table opens, and no error, `repr` or display contains it.
"""

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import product
from typing import Any

import attrs

from mechanisms.tables.engines.cell_formats import PLAIN, CellFormat, DateFormat
from mechanisms.tables.engines.cells import readings
from mechanisms.tables.engines.sql import identifier

SAMPLED = 1000
"""How many rows of a source are read as a sample: the first ones."""

_TRIED = 100
_SHOWN = 40
_NAMES = {"number": "a number", "date": "a date", "timestamp": "a time", "instant": "an instant"}
_NULLS = {"na", "n/a", "nan", "null", "none", "nil", "missing", "unknown", "-", "--", ".", "?"}
_NUMBERS = [(".", each) for each in (None, ",", " ", "'", "\N{NO-BREAK SPACE}")]
_NUMBERS += [(",", each) for each in (None, ".", " ", "\N{NO-BREAK SPACE}")]
_DATES: tuple[str, ...] = (
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%Y/%m/%d",
    "%d.%m.%y",
)
_DATES += ("%m/%d/%y", "%d/%m/%y", "%d-%b-%Y", "%d %b %Y", "%d-%b-%y", "%d%b%Y", "%Y-%m-%d")
_CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


@attrs.frozen(repr=False)
class Sample:
    """How the cells of one column are read, in the first rows of a source.

    Args:
        cells: how many cells of the sample are not missing.
        read: how many of them are read as a "number", "date", "timestamp" or "instant".
        examples: for each of these, a cell that is not read so, if there is one.
        advice: an option of `Table` with which more of them would be read, or an empty text.
    """

    cells: int
    read: Mapping[str, int]
    examples: Mapping[str, str]
    advice: str = ""

    def finding(self) -> str:
        """What an owner may have to change, or an empty text."""
        best = max(self.read, key=self.read.__getitem__)
        if "date_format" in self.advice and not self.read[best]:
            best = "date"
        if best not in self.examples or not (self.read[best] or self.advice):
            return ""
        advice = f"; write {self.advice}" if self.advice else ""
        count, example = self.read[best], _short(self.examples[best])
        return (
            f"of the first {self.cells:,} cells {count:,} are read as {_NAMES[best]}, and "
            f"{example} is not{advice}"
        )


@attrs.frozen(repr=False)
class Misread:
    """What could not be read in a source. Private: for the data's owner alone.

    `str` of it contains cells of the data. Its `repr` contains nothing.

    Args:
        rows: the number of rows.
        misfits: how many rows are missing entirely: lines of a CSV file that do not parse, or that
            have another number of cells than the header.
        cells: for each column with a declared type, or of a Parquet file with text or times, how
            many cells are missing because they are not valid values of the type.
        examples: for columns with a declared type, one such cell.
        samples: for columns without a declared type, how the cells of the first rows are read.
        declared: the declared types.
    """

    rows: int
    misfits: int
    cells: Mapping[str, int]
    examples: Mapping[str, str] = attrs.field(factory=dict)
    samples: Mapping[str, Sample] = attrs.field(factory=dict)
    declared: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def findings(self) -> tuple[str, ...]:
        """What was lost or is probably not read as intended; one text each, empty if nothing."""
        found = []
        if self.misfits:
            found.append(
                f"{self.misfits:,} rows are missing: they do not parse, or do not have as many "
                "cells as the header"
            )
        for name, lost in self.cells.items():
            if lost:
                found.append(f"{name}: {lost:,} cells are no valid {self._type(name)}")
        found += [f"{name}: {text}" for name, it in self.samples.items() if (text := it.finding())]
        return tuple(found)

    def _type(self, name: str) -> str:
        kind = self.declared.get(name, "text or time")
        if name not in self.examples:
            return f"{kind} and are missing"
        advice = advice_for([self.examples[name]], PLAIN)
        write = f"; write {advice}" if advice else ""
        return f"{kind} and are missing, for example {_short(self.examples[name])}{write}"

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows", *self.findings]
        return "\n- ".join(lines if self.findings else [f"{lines[0]}, all read"])

    def __repr__(self) -> str:
        return "<Misread: private, for the owner>"


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= _SHOWN else cell[: _SHOWN - 3] + "...")


def sampled(
    connection: Any, cells: Any, columns: Mapping[str, tuple[str, CellFormat]], *, advise: bool
) -> dict[str, Sample]:
    """Samples of columns of an Arrow table of text, by their names.

    Args:
        connection: of DuckDB, to read the cells as a request would.
        cells: at most `SAMPLED` rows.
        columns: for each name, the column in the table, and its format.
        advise: whether to look for another format.
    """
    found: dict[str, Sample] = {}
    if not columns:
        return found
    connection.register("sample", cells)
    for name, (column, form) in columns.items():
        ways = readings("cell", form)
        flags = ", ".join(f"({text}) IS NOT NULL" for text, _ in ways.values())
        rows = connection.execute(
            f"SELECT cell, {flags} FROM (SELECT {identifier(column)} AS cell FROM sample) "
            "WHERE cell IS NOT NULL"
        ).fetchall()
        read, examples = {}, {}
        for i, way in enumerate(ways, 1):
            read[way] = sum(row[i] for row in rows)
            example = next((row[0] for row in rows if not row[i]), None)
            if example is not None:
                examples[way] = example
        unread = [row[0] for row in rows if not any(row[1:])]
        advice = advice_for(unread, form) if advise else ""
        found[name] = Sample(len(rows), read, examples, advice)
    connection.unregister("sample")
    return found


def advice_for(cells: Sequence[str], form: CellFormat) -> str:
    """Options of `Table` with which at least half of some cells would be read."""
    cells = cells[:_TRIED]
    if cells and all(cell.strip().lower() in _NULLS for cell in cells):
        return f"null_values={sorted(set(cells))}"
    likely = [cell for cell in cells if len(cell) <= _SHOWN and re.search("[0-9]", cell)]
    if not likely or 2 * len(likely) < len(cells):
        return ""
    counts = {}
    for decimal, thousands in _NUMBERS:
        options = [f"decimal={decimal!r}"] * (decimal != form.decimal)
        options += [f"thousands={thousands!r}"] * (thousands != form.thousands)
        if options:
            pattern = _number(decimal, thousands)
            counts[tuple(options)] = sum(pattern.fullmatch(cell) is not None for cell in likely)
    for day, clock in product(_DATES, _CLOCKS):
        if day != "%Y-%m-%d" or form.date_format is not None:
            counts[f"date_format={day + clock!r}",] = _dates(likely, day + clock)
    most = max(counts.values())
    if 2 * most < len(cells):
        return ""
    best = [options for options, count in counts.items() if count == most]
    fewest = min(map(len, best))
    return " or ".join(", ".join(options) for options in best if len(options) == fewest)


@cache
def _number(decimal: str, thousands: str | None) -> re.Pattern[str]:
    return re.compile(CellFormat(decimal, thousands).number)


@cache
def _date(written: str) -> re.Pattern[str]:
    return re.compile(DateFormat(written).pattern)


def _dates(cells: Iterable[str], written: str) -> int:
    """How many cells are days of the calendar in a format."""
    found = 0
    for cell in cells:
        if _date(written).fullmatch(cell):
            with suppress(ValueError):
                dt.datetime.strptime(cell, written)  # noqa: DTZ007 (only whether it is a day)
                found += 1
    return found
