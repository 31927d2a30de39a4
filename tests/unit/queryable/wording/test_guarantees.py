"""Guarantees in words, and quoted values."""

from fractions import Fraction
from typing import Any

import pytest

import composition
import mechanisms
from queryable import InteractiveMechanism
from queryable.wording.guarantees import Guarantee, documented
from queryable.wording.quoting import an_instance, one_of, quoted
from tests.hostile import MAKERS


class Base:
    """What it is,
    in two lines.

    More.

    Privacy:
        Claim: a `claim` that
            goes on.
        Theorem: Somebody 2001, Theorem 3. The proof: long.
        Assumes: things.
        Checked by: tests/nothing
    Args:
        Claim: not this one.
    """


class Derived(Base):
    """Another.

    Privacy:
        Theorem: Another 2002.
    """


class Silent(Derived):
    pass


def test_the_privacy_section_is_read() -> None:
    assert documented(Base) == Guarantee(
        "What it is, in two lines.", "a claim that goes on.", "Somebody 2001, Theorem 3.", "things."
    )
    assert documented(Derived) == Guarantee(
        "Another.", "a claim that goes on.", "Another 2002.", "things."
    )
    assert documented(Silent).theorem == "Another 2002."
    assert documented(type("Blank", (), {})) == Guarantee()
    assert documented(InteractiveMechanism).theorem == ""


@pytest.mark.parametrize("module", [mechanisms, composition], ids=lambda each: each.__name__)
def test_every_public_mechanism_documents_its_claim_and_theorem(module: object) -> None:
    """The classes alone: what a compositor's theorem is depends on its rule."""
    kinds = [getattr(module, name) for name in module.__all__]  # type: ignore[attr-defined]
    found = [
        kind for kind in kinds if isinstance(kind, type) and issubclass(kind, InteractiveMechanism)
    ]
    assert found
    for kind in found:
        words = documented(kind)
        assert words.summary, kind
        assert words.claim, kind
        assert words.theorem, kind


@pytest.mark.parametrize("label", MAKERS)
def test_any_value_is_quoted_briefly(label: str) -> None:
    said = quoted(MAKERS[label]())
    assert type(said) is str
    assert 0 < len(said) <= 60


def test_what_is_quoted_is_readable() -> None:
    assert quoted(Fraction(1, 3)) == "1/3"
    assert quoted("x") == "'x'"
    assert quoted(10**5000) == "<int>"

    class Field:
        name = "rule"

    one: Any = None
    an_instance(int)(one, Field, 3)
    one_of("a", "b")(one, Field, "b")
    with pytest.raises(TypeError, match="rule is 'x'; it should be a int"):
        an_instance(int)(one, Field, "x")
    for label in ("raising repr", "lying text", "deep tuple"):
        with pytest.raises(ValueError, match="it should be 'a' or 'b'"):
            one_of("a", "b")(one, Field, MAKERS[label]())
