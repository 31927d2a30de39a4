"""Expressions and statistics of tables in plain Python, one row at a time.

This is a second implementation of what `mechanisms.tables` computes. It imports nothing of the
product, uses no numpy, and is written for reading and not for speed. A row is a dict of Python
values: int, float, bool, str, date, datetime (naive or aware), Decimal. None and NaN are missing.

An operand is a function from a row to a cell or None, and a predicate a function from a row to a
bool.
"""

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, TypeAlias

Row: TypeAlias = dict[str, Any]
Rows: TypeAlias = Sequence[Row]
Operand: TypeAlias = Callable[[Row], Any]
Holds: TypeAlias = Callable[[Row], bool]

COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LARGEST, SMALLEST = 1e150, 1e-150
INF = float("inf")


# Cells


def present(cell: Any) -> Any:
    """The cell, None if it is missing."""
    return None if cell is None or cell != cell else cell  # noqa: PLR0124


def nearest(number: Any) -> float:
    """The float64 nearest to an int, a Decimal or a float."""
    try:
        return float(number)
    except OverflowError:
        return INF if number > 0 else -INF


def tamed(number: Any) -> float | None:
    """A float that is missing if it is too large, and 0 if it is too small."""
    if number is None:
        return None
    x = nearest(number)
    if x != x or abs(x) > LARGEST:  # noqa: PLR0124
        return None
    return 0.0 if abs(x) < SMALLEST else x


def arithmetic(symbol: str, left: Any, right: Any) -> float | None:
    """The sum, difference, product or quotient of two cells."""
    a, b = tamed(left), tamed(right)
    if a is None or b is None or (symbol == "/" and b == 0):
        return None
    by_symbol = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}
    return tamed(by_symbol[symbol](a, b))


def days_between(left: date | None, right: date | None) -> float | None:
    """The number of days from the right date to the left one."""
    return None if left is None or right is None else float(left.toordinal() - right.toordinal())


# Predicates


def ordered(value: Any) -> Any:
    """A value that Python compares exactly with all values of its family."""
    if isinstance(value, Decimal):
        return Fraction(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time())
    return value


def compared(symbol: str, cell: Any, constant: Any) -> bool:
    """A cell compared exactly with a constant. A missing cell satisfies no comparison.

    Beside decimals a float is its shortest decimal.
    """
    if type(cell) is Decimal and type(constant) is float and abs(constant) < INF:
        constant = Decimal(repr(constant))
    return cell is not None and bool(COMPARE[symbol](ordered(cell), ordered(constant)))


def compared_cells(symbol: str, left: Any, right: Any) -> bool:
    """Two cells of a row: integers are compared exactly, other numbers as the nearest floats."""
    if left is None or right is None:
        return False
    if {type(left), type(right)} <= {int, float, Decimal} and {type(left), type(right)} != {int}:
        left, right = nearest(left), nearest(right)
    return compared(symbol, left, right)


def like(text: str | None, pattern: str) -> bool:
    """Whether a pattern matches the whole text: % stands for any text, _ for one character."""
    if text is None:
        return False
    reached = {0}  # how much of the pattern matches the text so far
    for character in [*text, None]:
        waiting = list(reached)
        while waiting:
            place = waiting.pop()
            if pattern[place : place + 1] == "%" and place + 1 not in reached:
                reached.add(place + 1)
                waiting.append(place + 1)
        if character is None:
            break
        reached = {
            place + (pattern[place] != "%")
            for place in reached
            if place < len(pattern) and pattern[place] in ("%", "_", character)
        }
    return len(pattern) in reached


# Functions of text and of moments


def strip(text: str | None) -> str | None:
    """The text without ASCII white space at its ends."""
    return None if text is None else text.strip(" \t\n\v\f\r")


def _changes_case(letter: str) -> bool:
    """Whether a letter of Latin (up to U+017F), Greek or Cyrillic has exactly one other case."""
    other = letter.swapcase()
    spans = [(0, 0x17F), (0x386, 0x3CE), (0x400, 0x52F)]
    within = all(any(low <= ord(it) <= high for low, high in spans) for it in letter + other)
    return other != letter and len(other) == 1 and within and other.swapcase() == letter


def lower(text: str | None) -> str | None:
    """The text in lower case, letter by letter."""
    if text is None:
        return None
    return "".join(each.lower() if _changes_case(each) else each for each in text)


def upper(text: str | None) -> str | None:
    """The text in upper case, letter by letter."""
    if text is None:
        return None
    return "".join(each.upper() if _changes_case(each) else each for each in text)


def _in_utc(moment: Any) -> Any:
    aware = isinstance(moment, datetime) and moment.tzinfo is not None
    return moment.astimezone(UTC).replace(tzinfo=None) if aware else moment


def part(name: str, moment: Any) -> int | None:
    """The year, quarter, month, day, weekday (Monday is 0) or hour."""
    if moment is None:
        return None
    moment = _in_utc(moment)
    if name == "quarter":
        return (moment.month - 1) // 3 + 1
    if name == "weekday":
        return int(moment.weekday())
    return int(getattr(moment, name))


def truncated(unit: str, moment: Any) -> Any:
    """The first day of the year, quarter, month or week; the day itself; or the whole hour."""
    if moment is None:
        return None
    moment = _in_utc(moment)
    if unit == "hour":
        return moment.replace(minute=0, second=0, microsecond=0)
    day = moment.date() if isinstance(moment, datetime) else moment
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return day - timedelta(days=day.weekday())
    return day


# Casts

_NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,9})?|[+-]?(inf|infinity)"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT = rf"({_DAY})([T ]([0-9]{{2}}:[0-9]{{2}})(:[0-9]{{2}}(\.[0-9]{{1,9}})?)?)?"


def cast(kind: str, cell: Any) -> Any:
    """The cell as another kind of value; None if it does not fit."""
    if cell is None:
        return None
    readers = {
        "integer": _as_integer,
        "number": _as_number,
        "text": _as_text,
        "date": _as_date,
        "timestamp": _as_timestamp,
        "boolean": _as_boolean,
    }
    with suppress(ValueError, OverflowError):
        return readers[kind](cell)
    return None


def _as_integer(cell: Any) -> int | None:
    if isinstance(cell, str):
        if not re.fullmatch(r"[+-]?[0-9]+(\.0*)?", cell):
            return None
        cell = Fraction(cell.rstrip("."))
    whole = int(cell)
    return whole if abs(whole) < 2**63 else None


def _as_number(cell: Any) -> float | None:
    if isinstance(cell, str) and not re.fullmatch(_NUMBER, cell, re.IGNORECASE | re.ASCII):
        return None
    return nearest(cell)


def _as_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return cell.isoformat() if isinstance(cell, date) else str(cell)


def _as_date(cell: Any) -> date | None:
    if isinstance(cell, str):
        return date.fromisoformat(cell) if re.fullmatch(_DAY, cell) else None
    cell = _in_utc(cell)
    return cell.date() if isinstance(cell, datetime) else cell


def _as_timestamp(cell: Any) -> datetime | None:
    if not isinstance(cell, str):
        return ordered(_in_utc(cell))
    found = re.fullmatch(_MOMENT, cell)
    if found is None:
        return None
    day, _, clock, seconds, _ = found.groups()
    whole, _, digits = (seconds or ":00").partition(".")
    moment = datetime.fromisoformat(f"{day}T{clock or '00:00'}{whole}")
    return moment.replace(microsecond=int(digits.ljust(6, "0")[:6]))


def _as_boolean(cell: Any) -> bool | None:
    if isinstance(cell, str):
        words = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
        return words.get(cell.lower()) if cell.isascii() else None
    return bool(cell) if cell in (0, 1) else None


# Statistics


def count(rows: Rows, where: Holds) -> int:
    """The number of rows that satisfy a predicate."""
    return sum(1 for row in rows if where(row))


def count_units(rows: Rows, unit: Operand, where: Holds) -> int:
    """The number of units with a row that satisfies a predicate."""
    return len({unit(row) for row in rows if unit(row) is not None and where(row)})


def unit_sizes(rows: Rows, unit: Operand, limits: Sequence[int], where: Holds) -> list[int]:
    """The number of units by their number of rows: up to each limit, and above the last one."""
    sizes = Counter(unit(row) for row in rows if unit(row) is not None and where(row))
    ends = [0, *limits, INF]
    return [sum(1 for size in sizes.values() if a < size <= b) for a, b in pairwise(ends)]


class Lattice:
    """Numbers clipped to bounds, in whole units."""

    def __init__(self, lower: Any, upper: Any, unit: Any = 1) -> None:
        self.lower, self.upper, self.unit = Fraction(lower), Fraction(upper), Fraction(unit)
        self.low, self.high = int(self.lower / self.unit), int(self.upper / self.unit)
        self.center = (self.low + self.high) // 2
        self.radius = max(self.high - self.center, self.center - self.low, 1)

    def units(self, number: Any) -> int:
        """The whole units of a number; a float stands for its shortest decimal."""
        if isinstance(number, float) and abs(number) == INF:
            return self.high if number > 0 else self.low
        exact = Fraction(repr(number) if isinstance(number, float) else number)
        return int(min(max(exact, self.lower), self.upper) / self.unit)


def unit_values(
    rows: Rows, unit: Operand, how: str, operand: Operand | None, lattice: Lattice, where: Holds
) -> list[Row]:
    """A row for each unit with a row that satisfies a predicate: its number of rows, or the sum,
    the mean, the least or the largest of its cells in units, as the cell `value`.
    """
    kept: dict[Any, list[Row]] = {}
    for row in rows:
        if unit(row) is not None and where(row):
            kept.setdefault(unit(row), []).append(row)

    def value(of_unit: list[Row]) -> Fraction | None:
        if operand is None:
            return Fraction(lattice.units(len(of_unit)))
        most = max(abs(lattice.lower), abs(lattice.upper))
        each = Lattice(-most, most, lattice.unit) if how == "sum" else lattice
        cells = [each.units(cell) for cell in _numbers(of_unit, operand, lambda row: True)]
        if how == "sum":
            return lattice.unit * min(max(sum(cells), lattice.low), lattice.high)
        if not cells:
            return None
        return lattice.unit * {"mean": sum(cells) // len(cells), "min": min(cells)}.get(
            how, max(cells)
        )

    return [{"value": value(of_unit)} for of_unit in kept.values()]


def _numbers(rows: Rows, operand: Operand, where: Holds) -> list[Any]:
    cells = (operand(row) for row in rows if where(row))
    return [cell for cell in cells if cell is not None]


def total(rows: Rows, operand: Operand, lattice: Lattice, where: Holds) -> int:
    """The sum of the units."""
    return sum(lattice.units(cell) for cell in _numbers(rows, operand, where))


def mean(rows: Rows, operand: Operand, lattice: Lattice, where: Holds) -> list[int]:
    """The sums of (r, units - c)."""
    units = [lattice.units(cell) for cell in _numbers(rows, operand, where)]
    return [lattice.radius * len(units), sum(each - lattice.center for each in units)]


def variance(rows: Rows, operand: Operand, lattice: Lattice, where: Holds) -> list[int]:
    """The sums of (r^2, r d, 2 d^2 - r^2), where d is units - c."""
    r = lattice.radius
    away = [lattice.units(cell) - lattice.center for cell in _numbers(rows, operand, where)]
    return [r * r * len(away), sum(r * d for d in away), sum(2 * d * d - r * r for d in away)]


def products(
    rows: Rows,
    operands: Sequence[Operand],
    lattices: Sequence[Lattice],
    factors: Sequence[int],
    pairs: Sequence[tuple[int, int]],
    where: Holds,
) -> list[int]:
    """The sums of (R^2; R z_j; z_i z_j, or 2 z_j^2 - R^2), with z_j = factor (units - center)."""
    radius, vectors = 2**28, []
    for row in rows:
        cells = [operand(row) for operand in operands]
        if not where(row) or None in cells:
            continue
        numbers = zip(cells, lattices, factors, strict=True)
        z = [factor * (lattice.units(cell) - lattice.center) for cell, lattice, factor in numbers]
        squares = [z[i] * z[j] if i != j else 2 * z[i] ** 2 - radius**2 for i, j in pairs]
        vectors.append([radius**2, *(radius * each for each in z), *squares])
    width = 1 + len(operands) + len(pairs)
    return [sum(vector[place] for vector in vectors) for place in range(width)]


def histogram(rows: Rows, operand: Operand, categories: Sequence[Any], where: Holds) -> list[int]:
    """The number of rows whose cell equals each category, as Python values are equal."""
    places = {category: place for place, category in enumerate(categories)}
    counts = [0] * len(categories)
    for cell in _numbers(rows, operand, where):
        if cell in places:
            counts[places[cell]] += 1
    return counts


def in_bin(cell: Any, low: Any, high: Any) -> bool:
    """Whether a cell is in the half-open interval."""
    return compared(">=", cell, low) and compared("<", cell, high)


def binned(rows: Rows, operand: Operand, edges: Sequence[Any], where: Holds) -> list[int]:
    """The number of rows in each half-open interval between neighbouring edges."""
    cells = _numbers(rows, operand, where)
    return [sum(1 for cell in cells if in_bin(cell, low, high)) for low, high in pairwise(edges)]


def quantile(
    rows: Rows, operand: Operand, level: Fraction, grid: Sequence[Any], where: Holds
) -> list[int]:
    """The score of each candidate t: -|(b - a) #(cell < t) - a #(cell > t)| at the level a/b."""
    a, b = level.as_integer_ratio()
    cells = _numbers(rows, operand, where)

    def score(candidate: Any) -> int:
        below = sum(1 for cell in cells if compared("<", cell, candidate))
        above = sum(1 for cell in cells if compared(">", cell, candidate))
        return -abs((b - a) * below - a * above)

    return [score(candidate) for candidate in grid]


def around(rows: Rows, operand: Operand, grid: Sequence[Any], where: Holds) -> list[int]:
    """The number of cells below the first candidate, at it, up to the next one, and so on."""
    cells = _numbers(rows, operand, where)

    def place(cell: Any) -> int:
        return sum(compared(symbol, cell, each) for each in grid for symbol in (">=", ">"))

    places = Counter(map(place, cells))
    return [places[place] for place in range(2 * len(grid) + 1)]


def joined(
    left: Rows, right: Rows, on: dict[str, str], added: Sequence[str], *, inner: bool
) -> list[Row]:
    """Each row with each row of the other side that has equal keys; a missing key has none."""
    rows = []
    for row in left:
        matches = [
            other
            for other in right
            if all(row[a] is not None and row[a] == other[b] for a, b in on.items())
        ]
        if not matches and not inner:
            matches = [dict.fromkeys(added)]
        rows += [row | {name: match[name] for name in added} for match in matches]
    return rows


def flat(value: Any) -> list[int]:
    """The integers of a nested list, in order."""
    if isinstance(value, int):
        return [value]
    return [number for each in value for number in flat(each)]


def moved(one: Iterable[int], other: Iterable[int]) -> tuple[int, int, int]:
    """The L1 norm, the squared L2 norm and the largest entry of the difference of two values."""
    change = [abs(a - b) for a, b in zip(one, other, strict=True)]
    return sum(change), sum(each**2 for each in change), max(change, default=0)
