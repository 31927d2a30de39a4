"""Classes of a site, by the entry points that its configuration names."""

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from curator.codec import CODEC, CodecError, sites, with_site
from curator.codec.sites import GROUP
from queryable import Launch
from tests.strategies import RandomBits

POINTS = EntryPoints(
    [
        EntryPoint("acme.bits/1", "tests.strategies:RandomBits", GROUP),
        EntryPoint("acme.broken/1", "tests.no_such_module:Broken", GROUP),
        EntryPoint("bits/1", "tests.strategies:RandomBits", GROUP),
    ]
)


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry_points(*, group: str) -> Any:
        return POINTS.select(group=group)

    monkeypatch.setattr(sites, "entry_points", entry_points)


def test_a_named_entry_point_joins_the_schema() -> None:
    """The others are not even imported."""
    codec, launch = with_site(["acme.bits/1"]), Launch(RandomBits())
    assert b'"@":"acme.bits/1"' in codec.encode(launch)
    assert codec.decode(codec.encode(launch)) == launch
    with pytest.raises(CodecError, match="unknown tag"):
        CODEC.decode(codec.encode(launch))


def test_a_tag_of_a_site_has_a_dot() -> None:
    """So it never takes the place of one of ours."""
    with pytest.raises(ValueError, match=r'name it "yoursite\.name/1", with a dot'):
        with_site(["bits/1"])


def test_an_entry_point_that_is_not_installed() -> None:
    with pytest.raises(ValueError, match=r"install 'acme.median/1'.* are acme.bits/1, acme.broken"):
        with_site(["acme.median/1"])
