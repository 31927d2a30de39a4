"""How numbers and dates are written in the cells of a CSV file: public, and given by the owner.

Each format gives a regular expression that a cell has to match as a whole, and SQL that rewrites
such a cell in the form that DuckDB casts: a number with a point, a date of ISO 8601.
"""

import re
from collections.abc import Mapping
from typing import Any

import attrs

from queryable.wording.quoting import quoted

_THOUSANDS: tuple[str, ...] = (".", ",", "'", " ", "_", "\N{RIGHT SINGLE QUOTATION MARK}")
_THOUSANDS += ("\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}", "\N{THIN SPACE}")
_MONTHS = "janfebmaraprmayjunjulaugsepoctnovdec"
_DIRECTIVES = {
    "Y": ("[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9]",) * 2,
    "y": ("[0-9]{2}",) * 2,
    "m": ("[0-9]{1,2}", "[0-9]{2}"),
    "b": (f"(?i:{'|'.join(re.findall('...', _MONTHS))})",) * 2,
    "d": ("[0-9]{1,2}", "[0-9]{2}"),
    "H": ("[01]?[0-9]|2[0-3]", "[01][0-9]|2[0-3]"),
    "I": ("0?[1-9]|1[0-2]", "0[1-9]|1[0-2]"),
    "p": ("(?i:am|pm)",) * 2,
    "M": ("[0-9]{1,2}", "[0-9]{2}"),
    "S": ("[0-9]{1,2}", "[0-9]{2}"),
    "f": ("[0-9]{1,9}",) * 2,
}
"""What each directive of a date format matches: in general, and next to another digit."""


def literal(text: str) -> str:
    """A text as a constant of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _ends(part: str) -> tuple[bool, bool]:
    """Whether a part of a date format begins and ends with a digit."""
    if part[:1] == "%":
        return (part not in ("%%", "%b", "%p"),) * 2
    return part[:1].isdecimal(), part[-1:].isdecimal()


@attrs.frozen
class DateFormat:
    """A date, with or without a time of day, written with the directives of `strptime`.

    The directives are %Y and %m and %d (day, month and year in digits), %y (two digits: 69 to 99
    are 1969 to 1999, 00 to 68 are 2000 to 2068), %b (the month's first three letters in English),
    %H or %I with %p (the hour, or 1 to 12 with AM or PM), %M, %S, %f (a fraction of a second) and
    %% (a percent sign). Everything else stands for itself. Days, months and times of day have one
    or two digits, and two if they are next to another digit.
    """

    written: str
    pattern: str = attrs.field(init=False, repr=False)
    """A regular expression with one group for each directive."""
    directives: str = attrs.field(init=False, repr=False)
    """The letters of the directives in their order."""

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.written, str) or not self.written.isprintable():
            raise ValueError(f"date_format is {quoted(self.written)}; write it as '%d.%m.%Y'")
        parts = re.findall("%.?|[^%]+", self.written)
        known = [part[1] for part in parts if re.fullmatch(f"%[{''.join(_DIRECTIVES)}]", part)]
        self._require_complete(known, parts)
        pattern = ""
        for before, part, after in zip(["", *parts], parts, [*parts[1:], ""], strict=False):
            if part == "%%" or part[0] != "%":
                pattern += re.escape(part.replace("%%", "%"))
            else:
                pattern += f"({_DIRECTIVES[part[1]][_ends(before)[1] or _ends(after)[0]]})"
        object.__setattr__(self, "pattern", pattern)
        object.__setattr__(self, "directives", "".join(known))

    def _require_complete(self, known: list[str], parts: list[str]) -> None:
        """Check that the directives are known, occur once, and say which day it is.

        Raises:
            ValueError: they do not.
        """
        given, each = set(known), len(known) == len(set(known))
        other = [
            part for part in parts if part[0] == "%" and part != "%%" and part[1:] not in given
        ]
        day = len(given & set("Yy")) == len(given & set("mb")) == len(given & set("d")) == 1
        hours = given & set("HIp")
        times = hours in (set(), {"H"}, {"I", "p"}) and all(
            finer not in given or coarser & given
            for finer, coarser in (("M", set("HI")), ("S", set("M")), ("f", set("S")))
        )
        if other or not (each and day and times):
            raise ValueError(
                f"date_format is {self.written!r}; write a day, a month and a year once each, such "
                "as '%d.%m.%Y', and a time as '%H:%M', '%H:%M:%S' or '%I:%M %p'; the directives "
                "are %Y %y %m %b %d %H %I %p %M %S %f %%"
            )

    @property
    def has_time(self) -> bool:
        """Whether there is a time of day."""
        return bool(set(self.directives) & set("HI"))

    def iso(self, text: str) -> str:
        """SQL for the same date or time of ISO 8601, for a text that matches."""
        part = {
            letter: f"regexp_extract({text}, {literal(f'^{self.pattern}$')}, {i})"
            for i, letter in enumerate(self.directives, 1)
        }
        two = {letter: f"lpad({found}, 2, '0')" for letter, found in part.items()}
        year = part.get("Y") or (
            f"(CASE WHEN {part['y']} >= '69' THEN '19' ELSE '20' END || {part['y']})"
        )
        month = two.get("m") or (
            f"lpad(CAST((instr('{_MONTHS}', lower({part['b']})) + 2) // 3 AS VARCHAR), 2, '0')"
        )
        day = f"({year} || '-' || {month} || '-' || {two['d']}"
        if not self.has_time:
            return f"{day})"
        hour = two.get("H") or (
            f"lpad(CAST(TRY_CAST({part['I']} AS INTEGER) % 12 + "
            f"CASE lower({part['p']}) WHEN 'pm' THEN 12 ELSE 0 END AS VARCHAR), 2, '0')"
        )
        clock = f"{hour} || ':' || {two.get('M', literal('00'))} || ':' || "
        clock += two.get("S", literal("00"))
        fraction = f" || '.' || {part['f']}" if "f" in part else ""
        return f"{day} || ' ' || {clock}{fraction})"


@attrs.frozen
class CellFormat:
    """How the numbers and dates of one column are written.

    Args:
        decimal: the character before the fraction of a number, a point or a comma.
        thousands: the character between groups of three digits, which a number may then contain;
            None if numbers have none.
        date_format: of dates and times without a zone; None if they are of ISO 8601.
    """

    decimal: str = "."
    thousands: str | None = None
    date_format: DateFormat | None = None

    def __attrs_post_init__(self) -> None:
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal is {quoted(self.decimal)}; it should be '.' or ','")
        if self.thousands is not None and self.thousands not in _THOUSANDS:
            raise ValueError(
                f"thousands is {quoted(self.thousands)}; it should be None or one of {_THOUSANDS}"
            )
        if self.decimal == self.thousands:
            raise ValueError("decimal and thousands should be different characters")

    @property
    def point(self) -> str:
        """A regular expression of the decimal character."""
        return re.escape(self.decimal)

    @property
    def whole(self) -> str:
        """A regular expression of the digits before it."""
        if self.thousands is None:
            return "[0-9]+"
        return f"([0-9]+|[0-9]{{1,3}}({re.escape(self.thousands)}[0-9]{{3}})+)"

    @property
    def number(self) -> str:
        """A regular expression of decimal numbers and infinities."""
        return (
            f"[+-]?({self.whole}({self.point}[0-9]*)?|{self.point}[0-9]+)([eE][+-]?[0-9]{{1,9}})?"
            "|[+-]?(?i:inf|infinity)"
        )

    def with_point(self, text: str) -> str:
        """SQL for the same number with a decimal point and no other sign between digits."""
        if self.thousands is not None:
            text = f"replace({text}, {literal(self.thousands)}, '')"
        return text if self.decimal == "." else f"replace({text}, {literal(self.decimal)}, '.')"


PLAIN = CellFormat()
"""Numbers with a point, and dates of ISO 8601."""


@attrs.frozen
class CellFormats:
    """The format of each column of a file.

    Args:
        decimal, thousands: as in `CellFormat`, for all columns.
        date_format: as text, for all columns, or a mapping of columns to their formats. Columns
            that it leaves out are of ISO 8601.
    """

    decimal: str = "."
    thousands: str | None = None
    date_format: str | Mapping[str, str] | None = None

    def __attrs_post_init__(self) -> None:
        for column in self.named or ("",):
            self.of(column)

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that `date_format` names."""
        return tuple(self.date_format) if isinstance(self.date_format, Mapping) else ()

    def of(self, column: str) -> CellFormat:
        """The format of a column.

        Raises:
            ValueError: an option has a value that no format has.
        """
        written: Any = self.date_format
        if isinstance(written, Mapping):
            written = written.get(column)
        dates = None if written is None else DateFormat(written)
        return CellFormat(self.decimal, self.thousands, dates)
