"""Arithmetic over answers, with intervals, and HAVING; no data are read.

Sums, differences and quotients of answers have the intervals of `Released`. Other functions take
what an interval of each answer lets them be; the probability to miss is shared by these answers.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from math import ceil, floor, inf, isfinite, nan, nextafter, sqrt
from operator import eq, ge, gt, le, lt, ne
from typing import Any, NamedTuple, TypeAlias

import attrs
import numpy as np

from mechanisms.tables.in_sql.functions import moment
from mechanisms.tables.in_sql.refusals import refusal, shown
from mechanisms.tables.in_sql.values import only
from queryable.answers.released import Released


class OfAnswer(NamedTuple):
    """An answer, by its place among the statistics of a query."""

    place: int


class Number(NamedTuple):
    """A constant."""

    value: Any


class OfNumbers(NamedTuple):
    """A function of numbers that are computed before it."""

    function: str
    parts: tuple[Any, ...]


Tree: TypeAlias = OfNumbers | OfAnswer | Number


class Ranged(NamedTuple):
    """A number for each group, and the ends of its intervals. None is NULL."""

    estimates: list[Any]
    low: list[Any]
    high: list[Any]


def places(tree: Any) -> frozenset[int]:
    """The answers that a number is computed from."""
    match tree:
        case OfAnswer(place):
            return frozenset({place})
        case OfNumbers(_, parts):
            return frozenset[int]().union(*map(places, parts))
    return frozenset()


def count(tree: Any) -> int:
    """How often answers occur in a number: at most so many share what its interval may miss."""
    match tree:
        case OfAnswer():
            return 1
        case OfNumbers(_, parts):
            return sum(map(count, parts))
    return 0


def ranged(tree: Tree, answers: Sequence[Released], confidence: Fraction, groups: int) -> Ranged:
    """The numbers of all groups, with their intervals.

    Args:
        answers: of each statistic, with an entry for each group.
        groups: how many there are.
    """
    exact = _released(tree, answers)
    if isinstance(exact, Released) and exact.evidence.most is not None:
        estimates = _entries(exact.estimate)
        low, high = map(_entries, exact.interval(confidence))
        return Ranged(estimates, low, high)
    read = sorted(places(tree))
    each = 1 - (1 - confidence) / max(len(read), 1)
    ends = {place: tuple(map(_entries, answers[place].interval(each))) for place in read}
    known = {place: _entries(answers[place].estimate) for place in read}
    estimates, lows, highs = [], list[Any](), list[Any]()
    for at in range(groups):
        estimate = _estimate(tree, {place: known[place][at] for place in read})
        missing = estimate is None or estimate != estimate  # noqa: PLR0124
        found = {place: (ends[place][0][at], ends[place][1][at]) for place in read}
        interval = (None, None) if missing else _ends(tree, found)
        estimates.append(None if missing else estimate)
        lows.append(interval[0])
        highs.append(interval[1])
    return Ranged(estimates, lows, highs)


def _entries(value: Any) -> list[Any]:
    return [each.item() if isinstance(each, np.generic) else each for each in np.ravel(value)]


def _estimate(tree: Any, known: Mapping[int, Any]) -> Any:
    match tree:
        case Number(value):
            return value
        case OfAnswer(place):
            return known[place]
    given = [_estimate(each, known) for each in tree.parts]
    if any(each is None or each != each for each in given):  # noqa: PLR0124
        return None
    return FUNCTIONS[tree.function].value(*given)


def _released(tree: Any, answers: Sequence[Released]) -> Any:
    """The answer that it is, as far as answers compute with each other; else None."""
    match tree:
        case OfAnswer(place):
            return answers[place]
        case Number(value):
            return value
        case OfNumbers("+" | "-" | "*" | "/" | "neg" as function, parts):
            given = [_released(each, answers) for each in parts]
            if not any(isinstance(each, Released) for each in given) or any(
                each is None for each in given
            ):
                return None
            try:
                found = FUNCTIONS[function].value(*given)
            except (TypeError, ValueError, ArithmeticError):
                return None
            return found if isinstance(found, Released) else None
    return None


@attrs.frozen
class Function:
    """A function of numbers, and the ends of its values over intervals."""

    value: Callable[..., Any]
    ends: Callable[..., tuple[float, float]]


def _ends(tree: Any, ends: Mapping[int, Any]) -> tuple[float, float]:
    match tree:
        case Number(value):
            return float(value), float(value)
        case OfAnswer(place):
            low, high = ends[place]
            return float(low), float(high)
    low, high = FUNCTIONS[tree.function].ends(*(_ends(each, ends) for each in tree.parts))
    if low != low or high != high:  # noqa: PLR0124 (infinity minus infinity)
        return -inf, inf
    return nextafter(low, -inf), nextafter(high, inf)


def _corners(operation: Callable[[float, float], float]) -> Callable[..., tuple[float, float]]:
    def ends(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
        found = [operation(a, b) for a in one for b in other]
        if any(each != each for each in found):  # noqa: PLR0124
            return -inf, inf
        return min(found), max(found)

    return ends


def _quotient(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    if other[0] <= 0 <= other[1]:
        return -inf, inf
    return _corners(lambda a, b: a / b)(one, other)


def _divided(a: Any, b: Any) -> Any:
    return a / b if isinstance(b, Released) or b else nan


def _rising(function: Callable[..., Any]) -> Callable[..., tuple[float, float]]:
    def ends(one: tuple[float, float], *more: tuple[float, float]) -> tuple[float, float]:
        constants = [int(low) for low, _ in more]
        low, high = (float(function(each, *constants)) if isfinite(each) else each for each in one)
        return low, high

    return ends


def _size(one: tuple[float, float]) -> tuple[float, float]:
    low = 0.0 if one[0] <= 0 <= one[1] else min(map(abs, one))
    return low, max(map(abs, one))


def _root(value: Any) -> Any:
    return sqrt(value) if value >= 0 else nan


def _root_ends(one: tuple[float, float]) -> tuple[float, float]:
    return sqrt(max(one[0], 0.0)), sqrt(max(one[1], 0.0))


def _extremes(choose: Callable[..., float]) -> Callable[..., tuple[float, float]]:
    def ends(*given: tuple[float, float]) -> tuple[float, float]:
        return choose(low for low, _ in given), choose(high for _, high in given)

    return ends


def _sampled(value: Any, rows: Any) -> Any:
    """What was divided by the number of rows, divided by one less."""
    return value * rows / (rows - 1) if rows > 1 else nan


def _factor(rows: tuple[float, float]) -> tuple[float, float]:
    """n / (n - 1), of at least two rows."""
    low, high = (max(each, 2.0) for each in rows)
    return 1.0 if high == inf else high / (high - 1), low / (low - 1)


def _sampled_ends(one: tuple[float, float], rows: tuple[float, float]) -> tuple[float, float]:
    return _corners(lambda a, b: a * b)(one, _factor(rows))


def _root_sampled(value: Any, rows: Any) -> Any:
    return value * sqrt(rows / (rows - 1)) if rows > 1 else nan


def _root_sampled_ends(one: tuple[float, float], rows: tuple[float, float]) -> tuple[float, float]:
    low, high = map(sqrt, _factor(rows))
    return _corners(lambda a, b: a * b)(one, (nextafter(low, 0), nextafter(high, inf)))


def _rounded(value: Any, digits: int = 0) -> float:
    return float(round(float(value), int(digits)))


FUNCTIONS: Mapping[str, Function] = {
    "+": Function(lambda a, b: a + b, _corners(lambda a, b: a + b)),
    "-": Function(lambda a, b: a - b, _corners(lambda a, b: a - b)),
    "*": Function(lambda a, b: a * b, _corners(lambda a, b: a * b)),
    "/": Function(_divided, _quotient),
    "neg": Function(lambda a: -a, lambda one: (-one[1], -one[0])),
    "abs": Function(abs, _size),
    "sqrt": Function(_root, _root_ends),
    "round": Function(_rounded, _rising(_rounded)),
    "floor": Function(floor, _rising(floor)),
    "ceil": Function(ceil, _rising(ceil)),
    "greatest": Function(max, _extremes(max)),
    "least": Function(min, _extremes(min)),
    "sample": Function(_sampled, _sampled_ends),
    "sample root": Function(_root_sampled, _root_sampled_ends),
}


Row: TypeAlias = Callable[[Any], Any]
"""Gives the value of an output in one row."""
Condition: TypeAlias = Callable[[Row], bool | None]
"""Whether a row is shown; None is unknown."""

_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "EQ": eq,
    "NEQ": ne,
    "LT": lt,
    "LTE": le,
    "GT": gt,
    "GTE": ge,
}


def condition_of(node: Any, output: Callable[[Any], Any]) -> Condition:
    """A condition of HAVING.

    Args:
        output: reads a number or a key.

    Raises:
        SqlError: it is not answered.
    """
    kind = type(node).__name__
    if kind == "Paren":
        return condition_of(node.this, output)
    if kind == "Not":
        inner = condition_of(node.this, output)
        return lambda row: None if (found := inner(row)) is None else not found
    if kind in ("And", "Or"):
        parts = [condition_of(each, output) for each in node.flatten()]
        decides = kind == "Or"
        return lambda row: _joined([each(row) for each in parts], decides)
    if kind == "Between":
        only(node, "this", "low", "high")
        value, low, high = (_term(node.args[name], output) for name in ("this", "low", "high"))
        ends = ((ge, low), (le, high))
        return lambda row: _joined([_compare(op, value(row), end(row)) for op, end in ends], False)
    if kind in _COMPARED:
        only(node, "this", "expression")
        compare = _COMPARED[kind]
        left, right = _term(node.this, output), _term(node.expression, output)
        return lambda row: _compare(compare, left(row), right(row))
    raise refusal(f"HAVING {shown(node)} is not answered", "compare answers with numbers")


def _term(node: Any, output: Callable[[Any], Any]) -> Callable[[Row], Any]:
    if type(node).__name__ == "Literal" and node.is_string:
        text = str(node.this)
        return lambda _: text
    found = output(node)
    return lambda row: row(found)


def _joined(found: list[bool | None], decides: bool) -> bool | None:
    if decides in found:
        return decides
    return None if None in found else not decides


def _compare(compare: Callable[[Any, Any], bool], one: Any, other: Any) -> bool | None:
    if one is None or other is None:
        return None
    try:
        return bool(compare(_as_date(one, other), _as_date(other, one)))
    except (TypeError, ValueError):  # a key of another type
        return None


def _as_date(value: Any, other: Any) -> Any:
    """A text that is compared with a date, as a date."""
    if isinstance(value, str) and isinstance(other, date):
        return moment(value, whole=not isinstance(other, datetime))
    return value
