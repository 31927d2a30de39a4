"""What to write instead of a wrong column or constant, for error messages. Public facts only."""

from collections.abc import Collection, Iterable
from datetime import datetime
from difflib import get_close_matches

from queryable.wording.quoting import quoted

_MOST_LISTED = 40


def no_column(name: str, columns: Iterable[str]) -> str:
    """The message for a column that does not exist, with the nearest name that does."""
    columns = list(columns)
    if len(columns) == 1:
        for mark in ";\t|":
            if name in columns[0].split(mark):
                return f"write sep={mark!r}: the file has one column, {columns[0]!r}"
    known = [each for each in columns if each.isprintable()]  # the others are the engine's own
    folded = {each.casefold(): each for each in known}
    near = get_close_matches(name.casefold(), folded, n=1)
    fix = f"write {folded[near[0]]!r}: " if near else ""
    more = len(known) - _MOST_LISTED
    listed = ", ".join(map(repr, known[:_MOST_LISTED])) + (f" and {more} more" if more > 0 else "")
    return f"{fix}there is no column {name!r}; the columns are {listed}"


def require_distinct(columns: Iterable[str]) -> None:
    """Check that no two columns have the same name, ignoring case, as for the engines.

    Raises:
        ValueError: two have.
    """
    known: dict[str, str] = {}
    for name in columns:
        folded = name.lower()
        if folded in known:
            both = f"{quoted(known[folded])} and {quoted(name)}"
            raise ValueError(f"rename a column: two have the same name, ignoring case: {both}")
        known[folded] = name


def require_column(operand: object, columns: Collection[str]) -> None:
    """Check that a column that is named by itself is there.

    Raises:
        ValueError: it is not.
    """
    if isinstance(operand, str) and operand not in columns:
        raise ValueError(no_column(operand, columns))


_PERIODS = ("period[", "pandas.period", "extension<pandas.period", "Extension('pandas.period'")


def require_no_periods(name: str, kind: object) -> None:
    """Check that a column does not hold pandas' periods, which libraries read as their numbers.

    Args:
        kind: the column's type in pandas, polars or Arrow, or its name there.

    Raises:
        TypeError: it does.
    """
    if str(kind).startswith(_PERIODS):
        raise TypeError(
            f"convert column {quoted(name)} with .dt.to_timestamp(): it holds periods, of which "
            "only numbers would be read"
        )


def not_readable(name: str, kind: object) -> str:
    """The message for a column of a type that no engine reads."""
    return (
        f"convert column {quoted(name)} ({kind}) to a type that can be read, such as int64, "
        "float64, text or datetime64[us], with one value in each row"
    )


_CONSTANTS = {
    "number": "a number",
    "text": "a text, such as 'CA'",
    "bytes": "bytes",
    "moment": "a datetime.date or datetime.datetime, such as datetime.date(2024, 1, 31)",
    "instant": "a datetime.datetime with a time zone, such as datetime(2024, 1, 31, tzinfo=UTC)",
    "duration": "a datetime.timedelta",
}


def no_comparison(family: str, kind: str, constant: object) -> str:
    """The message for a constant of another kind than the column, with one that compares."""
    if family == "moment" and isinstance(constant, datetime) and constant.tzinfo is not None:
        return (
            "give a datetime without a time zone, such as datetime(2024, 1, 31): a column of "
            f"{kind} does not compare with one that has a time zone"
        )
    fix = f"give {_CONSTANTS[family]}: " if family in _CONSTANTS else ""
    return f"{fix}a column of {kind} does not compare with {type(constant).__name__}"
