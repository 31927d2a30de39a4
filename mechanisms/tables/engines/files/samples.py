"""How the first rows of columns without a declared type are read, and what would read them better.

All of this depends on rows, so it is private, for the owner alone.
"""

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import product
from typing import Any

import attrs

from mechanisms.tables.engines.files.cell_formats import CellFormat, DateFormat
from mechanisms.tables.engines.files.cells import readings
from mechanisms.tables.engines.sql.expression import identifier

SAMPLED = 1000
"""How many rows of a source are read as a sample: the first ones."""

_TRIED = 100
_SHOWN = 40
_NAMES = {"number": "a number", "date": "a date", "timestamp": "a time", "instant": "an instant"}
_NAMES |= {"integer": "a whole number", "boolean": "a truth value"}
_YES_OR_NO = {"yes", "no", "y", "n", "ja", "nein", "j", "oui", "non", "on", "off", "wahr", "falsch"}
_TYPES = (
    (r"[+-]?[0-9]{1,18}", "BIGINT"),
    (r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?", "DOUBLE"),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "DATE"),
    (r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{5,18}", "TIMESTAMP"),
    (
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{5,18}( ?UTC|Z|[+-][0-9:]{2,5})",
        "TIMESTAMP WITH TIME ZONE",
    ),
)
"""What a cell looks like that was declared to be of another type."""
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
        read: how many of them are read as a "number", "date", "timestamp" and so on.
        examples: for each of these, a cell that is not read so, if there is one.
        advice: an option of `Table` with which more of them would be read, or an empty text.
        remark: what a question about them should say, where no option helps; or an empty text.
        seldom: whether the remark is about nearly all cells, and about few files.
        options: whether the source takes options; the cells of a frame are converted before.
    """

    cells: int
    read: Mapping[str, int]
    examples: Mapping[str, str]
    advice: str = ""
    remark: str = ""
    seldom: bool = False
    options: bool = True

    def _best(self) -> str:
        """The reading that the cells are probably meant for."""
        best = max(self.read, key=self.read.__getitem__)
        return "date" if "date_format" in self.advice and not self.read[best] else best

    def finding(self) -> str:
        """What an owner may have to change, or an empty text."""
        best = self._best()
        if best not in self.examples or not (self.read[best] or self.advice):
            return self.remark
        advice = f"; {self._to_do(self.advice)}" if self.advice else ""
        count, example = self.read[best], short(self.examples[best])
        return (
            f"of the first {self.cells:,} cells {count:,} are read as {_NAMES[best]}, and "
            f"{example} is not{advice}"
        )

    def decided_by_few(self) -> str:
        """What to say of a column of text that is text because of few of its cells, or nothing."""
        best = self._best()
        if best not in self.examples or 10 * self.read[best] < 9 * self.cells:
            return ""
        return (
            f"text, because of cells such as {short(self.examples[best])}: of the first "
            f"{self.cells:,} cells {self.read[best]:,} are {_NAMES[best]}, and pandas takes the "
            "type of a column from its cells, so that one row decides about it"
        )

    def _to_do(self, advice: str) -> str:
        return to_do(advice, options=self.options)

    @property
    def is_most(self) -> bool:
        """Whether half of the cells or more are not read as they are probably meant."""
        best = self._best()
        if best in self.examples and (self.read[best] or self.advice):
            return 2 * self.read[best] < self.cells
        return self.seldom

    @property
    def remedy(self) -> str:
        """What to do, without a cell."""
        return self._to_do(without_cells(self.advice)) if self.advice else ""


def to_do(advice: str, *, options: bool) -> str:
    """What to do about cells that an option of a CSV file would read."""
    return f"write {advice}" if options else f"convert them first: of a CSV file, {advice}"


def without_cells(advice: str) -> str:
    """An option without the cells that it names."""
    return "null_values=[..]" if advice.startswith("null_values") else advice


def short(cell: str) -> str:
    """A cell, or its beginning."""
    return repr(cell if len(cell) <= _SHOWN else cell[: _SHOWN - 3] + "...")


def sampled(
    connection: Any, cells: Any, columns: Mapping[str, tuple[str, CellFormat]], *, options: bool
) -> dict[str, Sample]:
    """Samples of columns of an Arrow table of text, by their names.

    Args:
        connection: of DuckDB, to read the cells as a request would.
        cells: at most `SAMPLED` rows.
        columns: for each name, the column in the table, and its format.
        options: whether the source takes options.
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
        advice = advice_for(unread, form)
        remark, seldom = _remark(name, [row[0] for row in rows], len(unread), options=options)
        found[name] = Sample(len(rows), read, examples, advice, remark, seldom, options)
    connection.unregister("sample")
    return found


def _remark(name: str, cells: Sequence[str], unread: int, *, options: bool) -> tuple[str, bool]:
    """What a question about cells should say, and whether few files need it."""
    if not cells:
        return "", False
    days = [cell for cell in cells if re.fullmatch("(19|20)[0-9]{6}", cell)]
    if len(days) == len(cells) == _dates(days, "%Y%m%d"):
        write = to_do(f"date_format={{{name!r}: '%Y%m%d'}}", options=options)
        return f"numbers such as {days[0]!r} seem to be dates; {write}", True
    spaced = sum(cell != cell.strip(" ") for cell in cells)
    if unread == len(cells) and 2 * spaced >= len(cells):
        text = f"of the first {len(cells):,} cells {spaced:,} begin or end with a space, so that "
        ask = f"column({name!r}).strip(), and for numbers column({name!r}).strip().cast('number')"
        return f"{text}no key equals them, and none is a number; ask for {ask}", True
    if {cell.strip().lower() for cell in cells} <= _YES_OR_NO:
        text = f"truth values are written as {short(cells[0])}, which is text"
        return f"{text}: compare column({name!r}) with it, not with True", False
    return "", False


def advice_for(cells: Sequence[str], form: CellFormat, declared: str = "", name: str = "..") -> str:
    """Options of `Table` with which at least half of some cells would be read.

    Args:
        declared: the type of which they are no values.
        name: of the column.
    """
    cells, declared = cells[:_TRIED], declared.upper()
    if cells and all(cell.strip().lower() in _NULLS for cell in cells):
        return f"null_values={sorted(set(cells))}"
    if cells and all(len(cell) > 1 and cell[0] == cell[-1] == "'" for cell in cells):
        return 'quote="\'"'
    days = declared.startswith(("DATE", "TIMESTAMP"))
    other = _other_type(cells, declared, name) if declared else ""
    if other and not days:
        return other
    return _written_as(cells, form, numbers=not days) or other


def _other_type(cells: Sequence[str], declared: str, name: str) -> str:
    """The type of which a cell is a value."""
    for pattern, kind in _TYPES:
        if cells and re.fullmatch(pattern, cells[0]):
            return "" if kind == declared else f"types={{{name!r}: {kind!r}}}"
    return ""


def _written_as(cells: Sequence[str], form: CellFormat, *, numbers: bool) -> str:
    """How cells are written, as options."""
    likely = [cell for cell in cells if len(cell) <= _SHOWN and re.search("[0-9]", cell)]
    if not likely or 2 * len(likely) < len(cells):
        return ""
    counts = {}
    for decimal, thousands in _NUMBERS if numbers else ():
        options = [f"decimal={decimal!r}"] * (decimal != form.decimal)
        options += [f"thousands={thousands!r}"] * (thousands != form.thousands)
        if options:
            pattern = _number(decimal, thousands)
            counts[tuple(options)] = sum(pattern.fullmatch(cell) is not None for cell in likely)
    for day, clock in product(_DATES if numbers else (*_DATES, "%Y%m%d"), _CLOCKS):
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
