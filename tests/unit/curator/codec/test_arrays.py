"""Arrays and scalars of numpy."""

import numpy as np
import pytest

from curator.codec import decode, encode
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable.answers.noisy import NoisyArray, NoisyInt, noisy_array


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
