"""Limits: checked in linear time, before anything is built from a text."""

import time

import pytest

from curator.codec import CODEC, CodecError, Limits, decode, encode
from curator.codec.limits import DIGITS, depth_of, has_long_numbers


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("", 0),
        ("1", 0),
        ("[]", 1),
        ('{"a":[{}]}', 3),
        ('"[[[["', 0),
        ('["\\"[[[",[]]', 2),
        ('["\\\\",[[]]]', 3),
        ("[[]][[", 2),
        ('["[[', 1),
    ],
)
def test_depth_is_counted_outside_of_strings(text: str, depth: int) -> None:
    assert depth_of(text) == depth


@pytest.mark.parametrize("part", ['"\\"', '"', "\\", '"a', '\\"', "[", '"[', "]["])
def test_depth_takes_linear_time(part: str) -> None:
    """A pattern that begins again at every quote would need hours for a million of them."""
    assert depth_of(part * 1_000_000) >= 0


def test_long_numbers_are_found_in_linear_time() -> None:
    """A pattern that begins again at every digit would look at each of these digits 4,000 times."""

    def seconds(text: str) -> float:
        began = time.process_time()
        assert not has_long_numbers(text)
        return time.process_time() - began

    numbers = ("9" * DIGITS + ",") * 500
    assert seconds(numbers) < 100 * max(seconds("a" * len(numbers)), 0.001)


def test_lists_and_objects_are_counted() -> None:
    narrow = CODEC.within(Limits(parts=3))
    assert narrow.decode(narrow.encode(((), 1))) == ((), 1)
    with pytest.raises(CodecError, match="4 lists and objects; 3 is the most"):
        narrow.decode("[[],[],[]]")


def test_texts_beyond_a_limit_are_refused() -> None:
    """In words with the limit, written or read."""
    narrow = CODEC.within(Limits(bytes=20, depth=3))
    with pytest.raises(CodecError, match="the text has 22 bytes; 20 is the most"):
        narrow.encode("a" * 20)
    with pytest.raises(CodecError, match="the text has 22 bytes"):
        narrow.decode(encode("a" * 20))
    with pytest.raises(CodecError, match="nested 4 deep; 3 is the most"):
        narrow.encode(((((),),),))
    with pytest.raises(CodecError, match="nested 4 deep"):
        narrow.decode("[[[[]]]]")
    assert narrow.decode(narrow.encode("[{" * 8)) == "[{" * 8


@pytest.mark.parametrize("name", ["bytes", "depth", "items", "parts"])
def test_limits_are_counts(name: str) -> None:
    for wrong in (-1, True, 1.5, None, "9"):
        with pytest.raises((TypeError, ValueError), match=f"{name} is"):
            Limits(**{name: wrong})


def test_depth_is_checked_before_the_text_is_parsed() -> None:
    """JSON's parser would raise a RecursionError, at a depth that its caller decides."""
    for body in ("[" * 10**6, '{"a":' * 10**5, '[{"@":' * 10**5):
        with pytest.raises(CodecError, match="400 is the most"):
            decode(body)


def test_long_integers_are_refused() -> None:
    """Also where Python's own limit is off; a long run of digits in a string is none."""
    digits = "9" * DIGITS
    assert decode(encode(int(digits))) == int(digits)
    assert decode(encode(digits * 3)) == digits * 3
    assert has_long_numbers(digits + "9")
    assert not has_long_numbers(f"{digits},{digits}")
    long = f"{digits}9"
    for body in (long, f"-{long}", f"{long}.5", f"0.{long}", f'[{long},"a"]'):
        with pytest.raises(CodecError, match="4000 digits"):
            decode(body)
    for body in (
        f'{{"@":"pure-dp/1","epsilon":"{long}"}}',
        f'{{"@":"pure-dp/1","epsilon":"1/{long}"}}',
        f'{{"@":"int/1","value":"{long}"}}',
        f'{{"@":"decimal/1","value":"{long}"}}',
    ):
        with pytest.raises(CodecError, match="4000 digits"):
            decode(body)
    with pytest.raises(CodecError, match="4000 digits"):
        encode(int(digits) * 10 + 9)
