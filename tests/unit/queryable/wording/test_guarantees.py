import pytest

import composition
import mechanisms
from queryable import InteractiveMechanism
from queryable.wording.guarantees import Guarantee, documented


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


def test_missing_parts_come_from_the_base_class() -> None:
    assert documented(Derived) == Guarantee(
        "Another.", "a claim that goes on.", "Another 2002.", "things."
    )
    assert documented(Silent).theorem == "Another 2002."


def test_a_class_without_a_docstring_has_an_empty_guarantee() -> None:
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
