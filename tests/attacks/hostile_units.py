"""Cells that name units, with the unit that each of them names, written down by hand.

Two cells of one label name the same unit, and cells of None name none. Nothing here is computed by
the code under test. Some cells have a class that lies about equality, raises, or says that it is
another one.
"""

import datetime as dt
import enum
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd

from tests.attacks.hostile_tables import (
    AWARE,
    COMPARED,
    CONVERTED,
    NAIVE,
    Ambiguous,
    NoClass,
    hostile,
    nested,
)
from tests.hostile import LyingFloat, LyingFraction, LyingInt, LyingText

SAME_HASH = [2**100 + (place << 32) + ((128 + place) ^ 128) for place in range(1000)]
"""Different integers that `numpy.float64(2**100)` equals, all with its hash in 32 bits."""


class Stop(BaseException):
    """No interrupt, and no `Exception` either."""


class Stopping:
    """A cell whose comparison and hash raise what is no `Exception`."""

    def __eq__(self, other: object) -> bool:
        raise Stop

    def __hash__(self) -> int:
        raise Stop


class Alike:
    """Equal to whatever it meets, with the hash of 1."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


class Near(float):
    """A number that equals those within one of it: `==` is not transitive."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, float | int) and abs(float(self) - float(other)) <= 1

    def __hash__(self) -> int:
        return 1


class Fickle(int):
    """An integer that equals another one every second time."""

    asked = 0

    def __eq__(self, other: object) -> bool:
        Fickle.asked += 1
        return Fickle.asked % 2 == 0

    def __hash__(self) -> int:
        return 1


class Loud:
    """A cell that raises when it meets one of its hash."""

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        raise RuntimeError("the patient is 47")

    def __hash__(self) -> int:
        return 1


class NoHash(type):
    """A class of classes that have no hash and equal each other."""

    def __eq__(cls, other: object) -> bool:
        return True

    def __hash__(cls) -> int:
        raise Stop


class OfNoHash(metaclass=NoHash):
    """A cell whose class cannot be looked up."""


class Number(int):
    """An integer with a class of its own."""


class Word(str):
    """A text with a class of its own, and another text for people."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another"


class Grade(enum.IntEnum):
    """An integer of an enumeration."""

    ONE = 1


class Shade(enum.StrEnum):
    """A text of an enumeration."""

    GREY = "1"


class Eternal(dt.tzinfo):
    """A time zone that raises."""

    def utcoffset(self, moment: object) -> Any:
        raise Stop


LATER = AWARE.astimezone(dt.timezone(dt.timedelta(hours=1)))
DAY, SPAN = NAIVE.date(), dt.timedelta(days=1)
NANO = np.datetime64("2020-01-01T00:00:00.000000001")
TENTH = 0.1
ID = uuid.UUID(int=7)

LABELLED: dict[Any, list[Any]] = {
    1: [1, 1.0, True, np.True_, np.int8(1), np.uint64(1), np.float16(1), np.float64(1)],
    0: [0, -0.0, 0.0, False, np.float32(-0.0), Decimal("-0"), Decimal("0E+999999"), Fraction(0)],
    2**53: [2**53, 2.0**53, np.float64(2**53), Decimal(2**53)],
    2**53 + 1: [2**53 + 1, Decimal(2**53 + 1), Fraction(2**53 + 1)],
    2**100: [2**100, 2.0**100, np.float64(2**100), Decimal(2**100), np.longdouble(2) ** 100],
    2**64 - 1: [2**64 - 1, np.uint64(2**64 - 1)],
    10**400: [10**400, Fraction(10**400), Decimal(10**400), Decimal("1e400")],
    "1e999999": [Decimal("1e999999"), Decimal("10e999998")],
    "1e-999999": [Decimal("1e-999999"), Decimal("10e-1000000")],
    "1/2": [0.5, np.float16(0.5), Decimal("0.50"), Fraction(1, 2), np.longdouble(0.5)],
    "0.1": [0.1, np.float64(0.1), Decimal(TENTH), Fraction(TENTH)],
    "1/10": [Decimal("0.1"), Fraction(1, 10), Decimal("0.1" + "0" * 6000)],
    "single 0.1": [np.float32(0.1), float(np.float32(0.1))],
    "1/3": [Fraction(1, 3)],
    "infinity": [float("inf"), np.float32("inf"), Decimal("Infinity"), np.longdouble("inf")],
    "-infinity": [float("-inf"), Decimal("-Infinity")],
    "text 1": ["1", np.str_("1"), Shade.GREY, Word("1")],
    "text": ["", np.str_("")],
    "composed": ["é"],
    "decomposed": ["e\u0301"],
    "half": ["\ud800"],
    "a and nothing": ["a\0"],
    "a": ["a"],
    "bytes 1": [b"1", np.bytes_(b"1"), bytearray(b"1")],
    "no bytes": [b""],
    "id": [ID, str(ID)],
    "day": [DAY, np.datetime64("2020-01-01"), np.datetime64("2020", "Y"), dt.date(2020, 1, 1)],
    "midnight": [NAIVE, np.datetime64("2020-01-01T00:00"), pd.Timestamp(NAIVE)],
    "nanosecond": [NANO, pd.Timestamp(NANO)],
    "year 20000": [np.datetime64("20000-01-01T00", "s"), pd.Timestamp(np.datetime64("20000", "s"))],
    "zone": [AWARE, LATER, pd.Timestamp(AWARE), pd.Timestamp(LATER)],
    "24 hours": [SPAN, np.timedelta64(24, "h"), np.timedelta64(1, "D"), pd.Timedelta(SPAN)],
    "a month": [np.timedelta64(1, "M")],
    "one o'clock": [dt.time(1)],
    None: [
        *(None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT")),
        *(np.timedelta64("NaT"), Decimal("NaN"), Decimal("sNaN"), np.longdouble("nan")),
        *([1], (1,), {}, {1}, frozenset([1]), nested(tuple), range(1), np.zeros(1), np.array(1)),
        *(1j, 1 + 0j, np.complex64(1), object(), int, len, ..., NotImplemented, memoryview(b"1")),
        *(pd.Period("2020"), pd.Interval(0, 1), pd.Series([1]), NoClass(), Ambiguous()),
        *(Stopping(), Alike(), Near(1.0), Near(2.0), Fickle(1), Fickle(2), Loud(), Loud()),
        *(OfNoHash(), LyingInt(1), LyingText("1"), dt.time(1, tzinfo=dt.UTC)),
        *(NAIVE.replace(tzinfo=Eternal()), np.array([(1, 2)], "i4,i4")[0]),
        *(hostile(kind, *COMPARED)() for kind in (object, int, float, str, Decimal, Fraction)),
        *(hostile(object, *CONVERTED)(), hostile(dict, "__getitem__")()),
    ],
}
LABELLED[1] += [Decimal("1.00"), Fraction(1), Grade.ONE, Number(1), np.longdouble(1)]
LABELLED[0] += [hostile(kind, *CONVERTED)() for kind in (int, float, Decimal, Fraction)]
LABELLED["1/2"] += [LyingFloat(0.5)]
LABELLED["1/10"] += [LyingFraction(1, 10)]
LABELLED |= {each: [each] for each in SAME_HASH[1:20]}

POOL: list[tuple[Any, Any]] = [(label, cell) for label, cells in LABELLED.items() for cell in cells]
"""Labels and cells."""
