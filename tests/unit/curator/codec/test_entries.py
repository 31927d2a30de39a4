"""Entries: made from an attrs class, or by hand."""

from fractions import Fraction

import attrs

from curator.codec import CODEC, entry_of


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
