"""Limits on a text: they are checked before any value is built from it.

Responsible for bytes, depth, digits, and numbers with one hash. The length of lists is checked
where a list is read.

Python's hash of a number is its residue modulo 2**61 - 1, so anybody can write numbers that all
have the same one. Sets and dicts of these take quadratic time.
"""

import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import accumulate
from typing import Any

import attrs

from queryable.errors import CodecError
from queryable.losses.numbers import natural

DIGITS = 4000
"""The largest number of digits of an integer; Python converts 4300 at most by default."""

# Possessive, and with an optional last quote, so that the time is linear for every text.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_STEP = {"[": 1, "{": 1, "]": -1, "}": -1}
_LONG_NUMBER = re.compile(rf"(?<![0-9])[0-9]{{{DIGITS + 1}}}")  # tried once a number
_NUMBER = re.compile(r"[0-9./]++(?:E[+-]?[0-9]++)?+")
_LONG = 100
_SHORT = 9  # numerals of at most so many characters have different hashes if their values differ


def _bytes(value: Any) -> int:
    return natural(value, "bytes")


def _depth(value: Any) -> int:
    return natural(value, "depth")


def _items(value: Any) -> int:
    return natural(value, "items")


def _parts(value: Any) -> int:
    return natural(value, "parts")


def _alike(value: Any) -> int:
    return natural(value, "alike")


def _long(value: Any) -> int:
    return natural(value, "long")


def _digits(value: Any) -> int:
    return natural(value, "digits")


def _commas(value: Any) -> int:
    return natural(value, "commas")


@attrs.frozen
class Limits:
    """The largest text that is written or read.

    Attributes:
        bytes: its length.
        depth: how many lists and objects may be open at once. A message of `held.MOST_NESTED`
            levels is within 250, with an expression at its own limit in it, and so is its answer.
            It takes 3 frames of Python's stack to write one of them.
        items: the length of a list.
        parts: how many lists and objects there are; brackets in strings count too.
        alike: how many different numbers of the text may have the same hash; None for any number.
        long: how many digits its numbers of over a hundred digits may have together; None for any.
        digits: how many characters a number may have; None for as many as are ever written.
        commas: how many there are, also in strings; None for any number. All entries of lists and
            fields of objects together are about as many.
    """

    bytes: int = attrs.field(default=2**28, converter=_bytes)
    depth: int = attrs.field(default=250, converter=_depth)
    items: int = attrs.field(default=2 * 10**7, converter=_items)
    parts: int = attrs.field(default=2 * 10**7, converter=_parts)
    alike: int | None = attrs.field(default=None, converter=attrs.converters.optional(_alike))
    long: int | None = attrs.field(default=None, converter=attrs.converters.optional(_long))
    digits: int | None = attrs.field(default=None, converter=attrs.converters.optional(_digits))
    commas: int | None = attrs.field(default=None, converter=attrs.converters.optional(_commas))

    def check(self, text: str) -> None:
        """Check the length of a text, and its lists and objects.

        Raises:
            CodecError: it is too long, has too many of them, or is nested too deep.
        """
        if not len(text) <= self.bytes:
            raise CodecError(f"the text has {len(text)} bytes; {self.bytes} is the most")
        parts = text.count("[") + text.count("{")
        if not parts <= self.parts:
            raise CodecError(f"the text has {parts} lists and objects; {self.parts} is the most")
        commas = 0 if self.commas is None else text.count(",")
        if self.commas is not None and not commas <= self.commas:
            raise CodecError(f"the text has {commas} commas; {self.commas} is the most")
        if parts > self.depth:
            depth = depth_of(text)
            if not depth <= self.depth:
                raise CodecError(f"the text is nested {depth} deep; {self.depth} is the most")
        if (self.alike, self.long, self.digits) != (None, None, None):
            self._check_numbers(_NUMBER.findall(text))

    def _check_numbers(self, numerals: list[str]) -> None:
        long = sum(len(each) for each in numerals if len(each) > _LONG)
        if self.long is not None and not long <= self.long:
            raise CodecError(
                f"its numbers of over {_LONG} digits have {long} together; {self.long} is the most"
            )
        longest = max(map(len, numerals), default=0)
        if self.digits is not None and not longest <= self.digits:
            raise CodecError(f"a number has {longest} characters; {self.digits} is the most")
        hashed = {each for each in numerals if len(each) > _SHORT}
        if self.alike is not None and not alike(map(_hash, hashed)) <= self.alike:
            raise CodecError(f"more than {self.alike} numbers of the text have the same hash")

    def check_items(self, count: int) -> None:
        """Check the length of a list.

        Raises:
            CodecError: it is too long.
        """
        if not count <= self.items:
            raise CodecError(f"a list has {count} items; {self.items} is the most")


def depth_of(text: str) -> int:
    """How many brackets and braces are open at once, those in strings left out."""
    brackets = _BRACKET.findall(_STRING.sub("", text))
    return max(accumulate(map(_STEP.__getitem__, brackets)), default=0)


def has_long_numbers(text: str) -> bool:
    """Whether more than `DIGITS` digits follow each other, perhaps in a string."""
    return len(text) > DIGITS and _LONG_NUMBER.search(text) is not None


def alike(hashes: Iterable[int]) -> int:
    """How many values at most have the same hash."""
    return max(Counter(hashes).values(), default=0)


def _hash(numeral: str) -> int:
    try:
        return hash(Fraction(numeral) if "/" in numeral else Decimal(numeral))
    except (ArithmeticError, ValueError):  # it is no number, and is refused where it is read
        return hash(numeral)
