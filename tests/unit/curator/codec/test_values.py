"""Numbers, dates, lists and measures; arrays and scalars of numpy."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from math import copysign, isnan
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from curator.codec import CodecError, decode, encode
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable import FDP, RDP, InteractiveMechanism, PureDP
from queryable.answers.noisy import NoisyArray, NoisyInt, noisy_array
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


@pytest.mark.parametrize("code", "?bhilqBHILQefd")
def test_arrays_of_numbers_come_back(code: str) -> None:
    """Of every dtype, with its extremes, in every shape and layout."""
    dtype = np.dtype(code)
    if dtype.kind == "f":
        ends = [np.finfo(dtype).min, np.finfo(dtype).max, 0.1, np.nan, -np.inf, -0.0]
    else:
        whole = np.iinfo("u1" if dtype.kind == "b" else dtype)
        ends = [whole.min, whole.max, 0, 1, 2, 3]
    array = np.array(ends, dtype=dtype)
    for given in (array, array.reshape(2, 3).T, array[::2], array[:0], array[0:1].reshape(())):
        read = decode(encode(given))
        assert (read.dtype, read.shape) == (given.dtype, given.shape)
        assert read.tobytes() == given.tobytes()
        with pytest.raises(ValueError, match="read-only"):
            read[...] = 1


def test_the_byte_order_is_no_part_of_a_value() -> None:
    assert encode(np.array([1, 2], dtype=">i4")) == encode(np.array([1, 2], dtype="<i4"))


def test_objects_come_back() -> None:
    """With their types: tuples are items, not dimensions."""
    array = np.empty((2, 2), dtype=object)
    array[0, 0], array[0, 1], array[1, 0] = (1, 2), [3], 2**70
    read = decode(encode(array))
    assert read.tolist() == array.tolist()
    assert [type(each) for each in read.flat] == [type(each) for each in array.flat]


def test_scalars_come_back() -> None:
    """Of the same type; missing times too."""
    for value in (
        np.int8(-3),
        np.uint64(2**64 - 1),
        np.float16(0.1),
        np.bool_(True),
        np.float32(1),
    ):
        read = decode(encode(value))
        assert (type(read), read) == (type(value), value)
    for time in (np.datetime64("2024-01-01T01", "h"), np.timedelta64(-5, "25us")):
        assert decode(encode(time)).dtype == time.dtype
        assert decode(encode(time)) == time
    assert np.isnat(decode(encode(np.datetime64("NaT", "s"))))


def test_released_numbers_have_their_noise() -> None:
    """So that an interval is the same as in process."""
    one = decode(encode(NoisyInt(3, DiscreteLaplace("7/3"))))
    assert type(one) is NoisyInt
    assert one.interval(0.9) == NoisyInt(3, DiscreteLaplace("7/3")).interval(0.9)
    given = noisy_array(np.array([[1, -2]]), DiscreteGaussian(4))
    several = decode(encode(given))
    assert type(several) is NoisyArray
    assert several.noise == given.noise
    assert np.array_equal(several.interval(0.9), given.interval(0.9))
