"""Optional members of mechanisms: a class that defines one is shown by it, others by a default."""

from typing import Any

import attrs

from composition import ConComp, FiltCon, FiltSeq
from mechanisms import Count, Laplace
from queryable import PureDP
from queryable.optional import (
    added_noise,
    empty_account,
    guarantee,
    interleaves,
    public_name,
    started_with,
)
from queryable.wording.guarantees import Guarantee, documented
from tests.strategies import Toy


def test_the_defaults_of_a_class_that_defines_none() -> None:
    toy = Toy()
    assert public_name(toy) == "Toy"
    assert guarantee(toy) == documented(Toy)
    assert (added_noise(toy), empty_account(toy), started_with(toy)) == (None, None, {})
    assert interleaves(toy) is True


def test_what_a_class_defines_is_read() -> None:
    noisy = Laplace(Count(), epsilon=1)
    assert public_name(noisy) == "Laplace of Count"
    assert added_noise(noisy) == noisy.added_noise()
    filtered = FiltCon(PureDP(1))
    assert empty_account(filtered) == filtered.account()
    assert guarantee(filtered) == filtered.guarantee()
    assert list(started_with(ConComp([Toy(), Toy()]))) == [0, 1]
    assert not interleaves(FiltSeq(PureDP(1)))


def test_a_member_that_fails_or_is_wrong_is_left_out() -> None:
    @attrs.frozen
    class Broken(Toy):
        @property
        def public_name(self) -> Any:
            return 1 / 0

        def guarantee(self) -> Any:
            return 1 / 0

    @attrs.frozen
    class Wrong(Toy):
        public_name = " "

        def guarantee(self) -> Any:
            return "safe"

    for mechanism in (Broken(), Wrong()):
        assert public_name(mechanism) == type(mechanism).__name__
        assert guarantee(mechanism) == Guarantee()


def test_what_is_no_mechanism_has_no_guarantee_and_no_noise() -> None:
    """A class is no mechanism either."""
    for value in (None, Laplace, Count()):
        assert guarantee(value) == Guarantee()
        assert added_noise(value) is None
