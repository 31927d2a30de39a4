"""Limits: checked in linear time, before anything is built from a text."""

import json
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from curator.codec import CODEC, QUERIES, CodecError, Limits, decode, encode
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


SIDES = ",".join(["9"] * 33)


@pytest.mark.parametrize(
    ("limits", "fits", "text", "told"),
    [
        (Limits(parts=3), ((), 1), "[[],[],[]]", "4 lists and objects; 3 is the most"),
        (Limits(commas=2), (1, 2, 9999), "[1,2,3,4]", "3 commas; 2 is the most"),
        (Limits(digits=3), (1, 999), "[1,1000]", "a number has 4 characters; 3 is the most"),
        (Limits(bytes=20), "[{" * 8, f'"{"a" * 20}"', "the text has 22 bytes; 20 is the most"),
        (Limits(depth=3), "[{" * 8, "[[[[]]]]", "nested 4 deep; 3 is the most"),
        # the product of many sides would be a number of very many digits
        (
            Limits(),
            (),
            f'{{"@":"array/1","dtype":"<i8","items":[],"shape":[{SIDES}]}}',
            "as many items as its shape says",
        ),
    ],
)
def test_texts_beyond_a_limit_are_refused(limits: Limits, fits: Any, text: str, told: str) -> None:
    narrow = CODEC.within(limits)
    assert narrow.decode(narrow.encode(fits)) == fits
    with pytest.raises(CodecError, match=told):
        narrow.decode(text)


def test_what_is_written_is_within_the_limits() -> None:
    narrow = CODEC.within(Limits(bytes=20, depth=3))
    for value, told in (("a" * 20, "22 bytes; 20 is the most"), (((((),),),), "4 deep; 3 is")):
        with pytest.raises(CodecError, match=told):
            narrow.encode(value)


@pytest.mark.parametrize(
    "name", ["bytes", "depth", "items", "parts", "alike", "long", "digits", "commas"]
)
def test_limits_are_counts(name: str) -> None:
    optional = name in {"alike", "long", "digits", "commas"}
    for wrong in (-1, True, 1.5, "9") if optional else (-1, True, 1.5, "9", None):
        with pytest.raises((TypeError, ValueError), match=f"{name} is"):
            Limits(**{name: wrong})


def test_depth_is_checked_before_the_text_is_parsed() -> None:
    """JSON's parser would raise a RecursionError, at a depth that its caller decides."""
    for body in ("[" * 10**6, '{"a":' * 10**5, '[{"@":' * 10**5):
        with pytest.raises(CodecError, match="250 is the most"):
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


_MODULUS = 2**61 - 1  # of Python's hashes of numbers


@pytest.mark.parametrize(
    "made",
    [
        lambda place: place * _MODULUS,
        lambda place: -7 - place * _MODULUS,
        lambda place: Fraction(1 + place * _MODULUS, 3),
        lambda place: Fraction(5, 1 + place * _MODULUS),
        lambda place: Decimal(pow(10, -place, _MODULUS)) * Decimal(f"1E+{place}"),
    ],
    ids=["integers", "negative integers", "fractions", "denominators", "decimals"],
)
def test_numbers_with_one_hash_are_refused(made: Any) -> None:
    """A set or a dict of these would take quadratic time."""
    values = tuple(made(place) for place in range(40, 151))
    assert len(set(map(hash, values))) == 1
    assert len(set(values)) > 100
    text = encode(values)
    assert decode(text) == values
    with pytest.raises(CodecError, match="more than 100 numbers of the text have the same hash"):
        QUERIES.decode(text)
    assert QUERIES.decode(encode(values[:100])) == values[:100]


def test_keys_with_one_hash_are_refused_written_and_read() -> None:
    """A dict that could be stored and not be read would be lost."""
    fits = {place * _MODULUS: 1 for place in range(1, 101)}
    assert decode(encode(fits)) == fits
    with pytest.raises(CodecError, match="100 keys with the same hash"):
        encode(fits | {0: 1})
    items = [[{"@": "int/1", "value": str(each)}, 1] for each in range(_MODULUS, 2**68, _MODULUS)]
    text = json.dumps({"@": "dict/1", "items": items[:101]}, separators=(",", ":"))
    with pytest.raises(CodecError, match="100 keys with the same hash"):
        decode(text)


def test_many_numbers_of_other_hashes_are_read() -> None:
    values = tuple(Fraction(place, 10**12 + 39) for place in range(1, 900))
    assert QUERIES.decode(encode(values)) == values
    assert (
        QUERIES.decode(encode("1/0 1/2/3 1.2.3 9999999999E99999999999999999999 ..........")) != ""
    )


def test_long_numbers_are_limited_together() -> None:
    """The time to read a number grows with the square of its digits."""
    values = tuple(10**399 + place for place in range(20))
    assert QUERIES.decode(encode(values)) == values
    with pytest.raises(CodecError, match="over 100 digits have 8400 together; 8192 is the most"):
        QUERIES.decode(encode((*values, values[0])))
