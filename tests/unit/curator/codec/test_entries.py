"""Entries: made from an attrs class, or by hand."""

from fractions import Fraction
from typing import Any

import attrs
import pytest

from curator.codec import CODEC, Entry, entry_of
from queryable import PureDP


@attrs.frozen(init=False)
class Halved:
    """Its constructor takes another field, and its own is checked."""

    value: Fraction

    def __init__(self, *, value: Fraction) -> None:
        self.__attrs_init__(max(value, Fraction(0)))


def test_a_constructor_of_its_own_is_called() -> None:
    """With the names of the fields."""
    codec = CODEC.joined([entry_of("tests.halved/1", Halved)])
    assert codec.decode('{"@":"tests.halved/1","value":"2"}') == Halved(value=Fraction(2))


def test_derived_fields_are_not_written() -> None:
    """What the class computes from the others."""

    @attrs.frozen
    class Derived:
        value: int
        twice: int = attrs.field(init=False)

        @twice.default
        def _twice(self) -> int:
            return 2 * self.value

    entry = entry_of("tests.derived/1", Derived)
    assert list(entry.fields) == ["value"]
    codec = CODEC.joined([entry])
    assert codec.decode(codec.encode(Derived(3))).twice == 6


@pytest.mark.parametrize("tag", ["gaussian", "Gaussian/1", "gaussian/0", "/1", "a b/1", "a/1/2", 7])
def test_tags_are_a_name_and_a_version(tag: Any) -> None:
    with pytest.raises(ValueError, match='it should be a name and a version: "gaussian/1"'):
        entry_of(tag, PureDP)


def test_only_attrs_classes_have_fields() -> None:
    with pytest.raises(TypeError, match="is no attrs class: write an Entry"):
        entry_of("tests.int/1", int)


@pytest.mark.parametrize("name", ["@", "Name", "", 'a"', "_a"])
def test_names_of_fields_are_in_lower_case(name: str) -> None:
    """They need no escapes, and follow the tag in the order of a text."""
    with pytest.raises(ValueError, match="write it in lower case"):
        Entry("tests.a/1", (int,), {name: int}, lambda value: (value,), int)
