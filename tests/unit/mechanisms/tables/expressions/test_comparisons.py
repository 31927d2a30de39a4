"""Steps that cells have reached, by bisection, beside comparisons with every step."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from math import inf, nextafter
from random import Random
from typing import Any

import numpy as np
import pytest

from mechanisms.tables.expressions.comparisons import compared, reached


class Odd:
    """A cell that compares as it likes."""

    def __init__(self, number: float) -> None:
        self.number = number

    def __le__(self, other: Any) -> bool:
        raise KeyError(other)

    def __lt__(self, other: Any) -> bool:
        return bool(self.number < other)

    def __gt__(self, other: Any) -> bool:
        return len(str(other)) % 2 == 1

    def __ge__(self, other: Any) -> Any:
        return "yes" if self.number > other else ""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class Whole(int):
    """An integer whose order is another one."""

    def __lt__(self, other: Any) -> bool:
        return True


MOMENT, DAY = datetime(2020, 2, 3, 4), date(2020, 2, 3)  # noqa: DTZ001 (naive, as the cells are)
CONSTANTS: dict[str, Callable[[Random], Any]] = {
    "whole": lambda random: random.randint(-9, 9),
    "numbers": lambda random: random.choice([random.randint(-9, 9) / 4, True, -inf, 2**60, 0]),
    "text": lambda random: random.choice(["", "a", "b", "é", "1"]),
    "bytes": lambda random: bytes([random.randint(0, 3)]),
    "days": lambda random: DAY + timedelta(random.randint(0, 9)),
    "times": lambda random: MOMENT + timedelta(hours=random.randint(0, 99)),
    "mixed times": lambda random: random.choice([DAY, MOMENT, datetime(2020, 2, 3, tzinfo=UTC)]),
    "durations": lambda random: timedelta(random.randint(0, 9)),
    "of numpy": lambda random: np.datetime64("2020-02-03", "D") + random.randint(0, 9),
}
CELLS: list[Any] = [
    *(0, 1, -3, True, False, 2**70, 2**60, 0.5, -0.0, inf, -inf, nextafter(0.25, 1), "a", "", "1"),
    *(b"\x01", DAY, MOMENT, datetime(2020, 2, 4, tzinfo=UTC), timedelta(3), Decimal("0.25")),
    *(Fraction(1, 3), Decimal("-Infinity"), np.float32(0.5), np.int8(3), np.longdouble(0.25)),
    *(np.datetime64("2020-02-05"), Odd(3), Whole(4), 1j, (1,), None, np.str_("b"), bytearray(b"a")),
]
TYPED = [
    "i1",
    "i8",
    "u1",
    "u8",
    "f2",
    "f4",
    "f8",
    "?",
    "M8[D]",
    "M8[ns]",
    "m8[s]",
    "U2",
    "S2",
    "M8[h]",
]


def steps_of(random: Random, name: str) -> list[tuple[str, Any]]:
    """Steps in the order of their constants."""
    found = [(CONSTANTS[name](random), random.choice([">=", ">"])) for _ in range(12)]

    def order(step: tuple[Any, str]) -> Any:
        value, operator = step
        if isinstance(value, datetime):
            value = value.replace(tzinfo=UTC).timestamp()
        elif name == "mixed times":
            value = datetime(*value.timetuple()[:3], tzinfo=UTC).timestamp()
        return value, operator == ">"

    return [(operator, value) for value, operator in sorted(found, key=order)]


def outcome(count: Callable[[], Any]) -> Any:
    try:
        return count().tolist()
    except TypeError as error:
        return str(error)


def require_the_same(values: Any, steps: list[tuple[str, Any]]) -> Any:
    """Bisection and comparisons count alike, or fail of the same."""
    one_by_one = outcome(lambda: sum(compared(values, *step).astype(int) for step in steps))
    assert outcome(lambda: reached(values, steps)) == one_by_one, (values, steps)
    return one_by_one


@pytest.mark.parametrize("name", CONSTANTS)
def test_objects(name: str) -> None:
    """Cells of every sort, alone and among others; no cell decides about another one."""
    random, counted = Random(name), 0
    for _ in range(20):
        steps = steps_of(random, name)
        for some in (CELLS, *([cell] * 2 for cell in CELLS)):
            values = np.fromiter(some, dtype=object, count=len(some))
            counted += sum(require_the_same(values, steps))
    assert counted


@pytest.mark.parametrize("name", CONSTANTS)
@pytest.mark.parametrize("dtype", TYPED)
def test_arrays(dtype: str, name: str) -> None:
    """Of every type: the same counts, or the same error, which depends on types alone."""
    random = Random(f"{name} {dtype}")
    whole = np.array([random.randint(0, 99) for _ in range(40)])
    values = whole.astype(str).astype(dtype) if dtype[0] in "US" else whole.astype(dtype)
    if dtype == "M8[D]":
        values += np.timedelta64(18_290, "D")
    if dtype[0] == "f":
        values = np.append(values / 4 - 3, np.array([inf, -inf, -0.0], dtype))
    for _ in range(20):
        steps = steps_of(random, name)
        require_the_same(values, steps)
        require_the_same(values[:0], steps)
