"""Entries: made from an attrs class, by hand, or by the entry points of a site."""

from fractions import Fraction
from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import attrs
import pytest

from curator.codec import CODEC, CodecError, entry_of, sites, with_site
from curator.codec.sites import GROUP
from queryable import Launch
from tests.strategies import RandomBits


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


POINTS = EntryPoints(
    [
        EntryPoint("acme.bits/1", "tests.strategies:RandomBits", GROUP),
        EntryPoint("acme.broken/1", "tests.no_such_module:Broken", GROUP),
        EntryPoint("bits/1", "tests.strategies:RandomBits", GROUP),
    ]
)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry_points(*, group: str) -> Any:
        return POINTS.select(group=group)

    monkeypatch.setattr(sites, "entry_points", entry_points)


@pytest.mark.usefixtures("installed")
def test_a_named_entry_point_joins_the_schema() -> None:
    """The others are not even imported."""
    codec, launch = with_site(["acme.bits/1"]), Launch(RandomBits())
    assert b'"@":"acme.bits/1"' in codec.encode(launch)
    assert codec.decode(codec.encode(launch)) == launch
    with pytest.raises(CodecError, match="unknown tag"):
        CODEC.decode(codec.encode(launch))


@pytest.mark.usefixtures("installed")
def test_entry_points_that_are_no_classes_of_a_site() -> None:
    """A tag without a dot could take the place of one of ours."""
    with pytest.raises(ValueError, match=r'name it "yoursite\.name/1", with a dot'):
        with_site(["bits/1"])
    with pytest.raises(ValueError, match=r"install 'acme.median/1'.* are acme.bits/1, acme.broken"):
        with_site(["acme.median/1"])
