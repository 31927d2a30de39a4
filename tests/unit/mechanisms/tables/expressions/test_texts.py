"""Functions of text against Python's own, for every character."""

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mechanisms.tables.expressions.texts import (
    LOWER,
    UPPER,
    expression_of,
    function_of_text,
    matcher,
)

CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code <= 0xDFFF]


def test_letters_have_exactly_one_other_case() -> None:
    """What changes, changes as in Python, and back."""
    assert len(set(UPPER + LOWER)) == 2 * len(UPPER)
    assert "".join(each.lower() for each in UPPER) == LOWER
    assert "".join(each.upper() for each in LOWER) == UPPER
    assert {"A", "Z", "\u00c4", "\u0160", "\u03a9", "\u042f"} <= set(UPPER)
    assert not {"\u00df", "\u0130", "\u0131", "\u03c2", "\u017f", "\u00b5"} & set(UPPER + LOWER)


def test_all_other_characters_stay() -> None:
    for function, given_letters, wanted in (("lower", UPPER, LOWER), ("upper", LOWER, UPPER)):
        changed = function_of_text(function, "".join(CHARACTERS))
        pairs = {(a, b) for a, b in zip(CHARACTERS, changed, strict=True) if a != b}
        assert pairs == set(zip(given_letters, wanted, strict=True))


def test_strip() -> None:
    assert function_of_text("strip", " \t\n\v\f\r a \u00a0 ") == "a \u00a0"


def like(text: str, pattern: str) -> bool:
    """The definition, by recursion."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(like(text[i:], pattern[1:]) for i in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and like(text[1:], pattern[1:])


@given(st.text("ab\n\\.", max_size=7), st.text("ab\n\\.%_", max_size=6))
def test_like(text: str, pattern: str) -> None:
    """With atomic groups and without."""
    assert matcher("like", pattern)(text) == like(text, pattern)
    plain = re.compile(expression_of(pattern, atomic=False), re.DOTALL)
    assert (plain.fullmatch(text) is not None) == like(text, pattern)


@pytest.mark.parametrize(
    ("how", "expected"), [("contains", 3), ("starts with", 2), ("ends with", 2)]
)
def test_parts_of_texts(how: str, expected: int) -> None:
    assert sum(map(matcher(how, "a%"), ["a%", "a%b", "ba%", "ab"])) == expected
