"""Functions of text, letter by letter, the same on every engine.

Each function is defined here on Python's strings. Engines compile equal expressions.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from queryable.data.cells import Array, Mask
from queryable.data.guarded import safely
from queryable.wording.quoting import quoted

MOST_CHARACTERS = 1_000
"""The largest length of a pattern."""

WHITE_SPACE = " \t\n\v\f\r"
"""What `strip` removes."""

_SPANS = ((0x00, 0x17F), (0x386, 0x3CE), (0x400, 0x52F))  # Latin, Greek, Cyrillic


def _pairs() -> tuple[tuple[str, str], ...]:
    """The letters with exactly one other case, both within the spans."""
    letters = [chr(code) for first, last in _SPANS for code in range(first, last + 1)]
    lowered = ((each, each.lower()) for each in letters)
    return tuple(
        (upper, lower)
        for upper, lower in lowered
        if upper != lower and lower in letters and lower.upper() == upper
    )


PAIRS = _pairs()
UPPER, LOWER = ("".join(letters) for letters in zip(*PAIRS, strict=True))
"""The letters that change: the i-th of `UPPER` and of `LOWER` are a pair."""


def _folded_alike() -> str:
    """A class of characters, as a regular expression, that every engine's functions change alike.

    Those of the spans that are in a pair or have no case in Unicode, and scripts without case.
    """
    alike = [
        code
        for first, last in _SPANS
        for code in range(first, last + 1)
        if chr(code) in UPPER + LOWER or chr(code).lower() == chr(code).upper()
    ]
    starts = [code for code in alike if code - 1 not in alike]
    ends = [code for code in alike if code + 1 not in alike]
    spans = [*zip(starts, ends, strict=True), *_WITHOUT_CASE]
    return "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in spans)


_WITHOUT_CASE: tuple[tuple[int, int], ...]
_WITHOUT_CASE = ((0x2010, 0x2027), (0x20A0, 0x20BF), (0x3040, 0x9FFF), (0xAC00, 0xD7A3))
_WITHOUT_CASE += ((0x1F300, 0x1FAFF),)
FOLDED_ALIKE = _folded_alike()
"""A class of characters that the functions of every engine change as `PAIRS` say."""

_TO = {"lower": str.maketrans(UPPER, LOWER), "upper": str.maketrans(LOWER, UPPER)}


def function_of_text(function: str, text: str) -> str:
    """The text in lower or upper case, or without white space at its ends."""
    return text.strip(WHITE_SPACE) if function == "strip" else text.translate(_TO[function])


def pattern_of(value: Any) -> str:
    """Check the constant of a predicate about text.

    Raises:
        TypeError, ValueError: it is no text, or one that no engine can hold, or too long.
    """
    if not isinstance(value, str):
        raise TypeError(f"a pattern is {quoted(value)}; it should be a text")
    pattern = str.__str__(value)
    if any("\ud800" <= each <= "\udfff" for each in pattern):
        raise ValueError("leave lone surrogates (half characters) out of a pattern")
    if not len(pattern) <= MOST_CHARACTERS:
        raise ValueError(f"a pattern has {len(pattern)} characters; {MOST_CHARACTERS} is the most")
    return pattern


def expression_of(pattern: str, *, atomic: bool) -> str:
    """A `like` pattern as a regular expression that is to match the whole text.

    Args:
        atomic: for engines that backtrack. Each part after a `%` is then matched where it is found
            first and nowhere else, which decides the same question in linear time.
    """
    first, *rest = (
        "".join("." if each == "_" else _escaped(each) for each in part)
        for part in re.sub("%+", "%", pattern).split("%")
    )
    if not rest:
        return first
    if not atomic:
        return ".*".join([first, *rest])
    *middle, last = rest
    return f"{first}{''.join(f'(?>.*?{part})' for part in middle)}.*{last}"


def _escaped(character: str) -> str:
    if character.isascii() and not character.isalnum():
        return f"\\x{ord(character):02x}"
    return character


def matcher(how: str, pattern: str) -> Any:
    """A function that says whether a text contains, starts with, ends with or is like a pattern."""
    match how:
        case "contains":
            return lambda text: pattern in text
        case "starts with":
            return lambda text: text.startswith(pattern)
        case "ends with":
            return lambda text: text.endswith(pattern)
    compiled = re.compile(expression_of(pattern, atomic=True), re.DOTALL)
    return lambda text: compiled.fullmatch(text) is not None


def matches(values: Array, how: str, pattern: str) -> Mask:
    """Whether each cell is a text that matches.

    Raises:
        TypeError: the array's type is not text.
    """
    if values.dtype.kind not in "OU":
        raise TypeError(f"give a column of text: a column of {values.dtype} is not searched")
    match = matcher(how, pattern)
    found = (_holds(match, each) for each in values.tolist())
    return np.fromiter(found, dtype=bool, count=len(values))


def _holds(match: Callable[[str], bool], cell: Any) -> bool:
    return issubclass(type(cell), str) and safely(match, str.__str__(cell)) is True
