"""Numbers, dates, lists and measures."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from math import copysign, isnan
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from curator.codec import CodecError, decode, encode
from queryable import FDP, RDP, InteractiveMechanism, PureDP
from queryable.running.sameness import difference, mark
from tests import encoded


def test_floats_have_their_shortest_text() -> None:
    """And words where JSON has no number."""
    assert encode(0.1) == b"0.1"
    assert encode(1e22) == b"1e+22"
    assert encode(float("inf")) == b'{"@":"float/1","value":"inf"}'
    assert isnan(decode(encode(float("nan"))))
    assert copysign(1, decode(encode(-0.0))) == -1


def test_integers_beyond_2_53_are_text() -> None:
    """Readers in other languages have floats only."""
    assert encode(2**53) == b"9007199254740992"
    assert encode(2**53 + 1) == b'{"@":"int/1","value":"9007199254740993"}'


@pytest.mark.parametrize(
    "value", [1, 1.0, True, "1", Fraction(1), Decimal(1), Decimal("1.0"), b"1", (1,), [1]]
)
def test_types_stay_apart(value: Any) -> None:
    """Values that are equal in Python are of different types."""
    read = decode(encode(value))
    assert (type(read), repr(read)) == (type(value), repr(value))


def test_texts_are_ascii() -> None:
    """Every character comes back."""
    for text in ('é\u2028\x00\\"', "\U0001f30d"):
        assert decode(encode(text)) == text
        assert encode(text).isascii()


def test_times_at_a_fixed_offset_come_back() -> None:
    """A time zone has rules that change, so it is no part of a constant."""
    offset = dt.timezone(dt.timedelta(hours=5, minutes=45, seconds=3))
    for zone in (offset, dt.UTC):
        value = dt.datetime(2024, 2, 29, 1, 2, 3, 4, zone)
        assert decode(encode(value)).isoformat() == value.isoformat()
    with pytest.raises(CodecError, match="a fixed offset, such as UTC"):
        encode(dt.datetime(2024, 1, 1, tzinfo=ZoneInfo("Europe/Vienna")))


def test_measures_are_named() -> None:
    """A family of measures, and classes that are none, have no name."""
    assert decode(encode(FDP)) is FDP
    for kind in (RDP, int, type):
        with pytest.raises(CodecError, match="is no measure with a tag"):
            encode(kind)


def test_subclasses_are_refused() -> None:
    """They may hold more than the value."""

    class Text(str):
        __slots__ = ()

    class Loss(PureDP):
        pass

    for value in (Text("a"), Loss(1)):
        with pytest.raises(CodecError):
            encode(value)


def test_what_is_read_back_has_the_same_name() -> None:
    """A named launch is known again after a restart: its mechanism equals the one in the log."""
    mechanisms = [each for each in encoded.values() if isinstance(each, InteractiveMechanism)]
    for each in mechanisms:
        read = encoded.TESTED.decode(encoded.TESTED.encode(each))
        assert difference(mark(each), mark(read)) == ""
    assert len({type(each) for each in mechanisms}) > 20
