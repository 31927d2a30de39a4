"""Numbers of an answer in the words of an agent, without the digits that noise may change.

`Graz.n` is the number n in the row whose first cell is Graz; `n` that of an answer with one row.
Each has an interval, from n_low to n_high.
"""

import re
from collections.abc import Mapping
from math import ceil, log10
from typing import Any

from queryable.wording.quoting import quoted

_QUOTED = re.compile(r"\{([^{}]+)\}")
_SURELY = 10


def quoting(text: str, answer: Mapping[str, Any]) -> str:
    """A text with each `{Graz.n}` replaced by the number.

    Raises:
        LookupError: the answer has no such number.
    """
    return _QUOTED.sub(lambda found: about(*interval(found[1], answer)), text)


def require_claim(claim: Any) -> tuple[str, str]:
    """The two numbers that a claim compares, such as `Graz.n > Lyon.n`.

    Raises:
        ValueError: it compares no two numbers.
    """
    parts = [each.strip() for each in claim.split(">")] if isinstance(claim, str) else []
    if len(parts) != 2 or not all(parts):
        raise ValueError(f"a claim is {quoted(claim)}; it should be as Graz.n > Lyon.n")
    return parts[0], parts[1]


def holds(claim: str, answer: Mapping[str, Any]) -> bool:
    """Whether one number is larger than the other, by their intervals.

    Raises:
        LookupError: the answer has no such number.
    """
    larger, smaller = (interval(each, answer) for each in require_claim(claim))
    return smaller[2] < larger[1]


def about(value: float, low: float, high: float) -> str:
    """A number, rounded to a power of ten of at least ten times the half-width of its interval."""
    half = max(value - low, high - value)
    if not half > 0:
        return f"{value:,}"
    digits = ceil(log10(_SURELY * half))
    return f"about {round(value, -digits):,.{max(-digits, 0)}f}"


def interval(place: str, answer: Mapping[str, Any]) -> tuple[float, float, float]:
    """A number of an answer, and the ends of its interval.

    Raises:
        LookupError: there is no such number.
    """
    key, _, name = place.rpartition(".")
    columns = [*answer.get("columns", ())]
    names = [name, f"{name}_low", f"{name}_high"]
    if not {*names} <= {*columns}:
        raise LookupError(f"the answer has no number {name} with an interval")
    rows = [row for row in answer["rows"] if not key or str(row[0]) == key]
    if len(rows) != 1:
        raise LookupError(f"{place} is in {len(rows)} rows of the answer; it should be in one")
    value, low, high = (rows[0][columns.index(each)] for each in names)
    if not all(isinstance(each, int | float) for each in (value, low, high)):
        raise LookupError(f"{place} is no number in the answer")
    return value, low, high
