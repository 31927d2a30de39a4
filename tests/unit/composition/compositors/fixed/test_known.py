"""Tests of what privacy maps have given: nesting, refusals, and records that are no int."""

from typing import Any

import pytest

from composition import ConComp, Parallel, Partition
from composition.compositors.fixed import known
from composition.compositors.fixed.known import KnownMap
from mechanisms import Count, Gaussian, Laplace
from queryable import ZCDP, ApproxDP, Loss, PrivacyClaimError, PureDP
from tests.strategies import Toy

EVEN = Partition(lambda record: record % 2, (0, 1))


class Asked(Toy):
    """A mechanism that counts how often its privacy map is evaluated."""

    times = 0

    def loss(self, d_in: int) -> Loss:
        """The loss, counted."""
        Asked.times += 1
        return super().loss(d_in)


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: ConComp([inner]),
        lambda inner: ConComp([inner, Laplace(Count(), scale=9)], delta="1e-6"),
        lambda inner: Parallel(EVEN, {0: inner, 1: inner}),
    ],
    ids=["ConComp", "ConComp with delta", "Parallel"],
)
def test_levels_evaluate_the_innermost_map_as_often_as_one_level(
    around: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each level asks only the level below."""
    counts = []
    for levels in (4, 12):
        monkeypatch.setattr(Asked, "times", 0)
        mechanism: Any = Asked(PureDP("1/100"))
        for _ in range(levels):
            mechanism = around(mechanism)
        mechanism.privacy_map(3)
        counts.append(Asked.times)
    assert counts[0] > 0
    assert counts[0] == counts[1]


def test_a_refusal_is_repeated_with_its_text() -> None:
    both = ConComp([Laplace(Count(), scale=1), Gaussian(Count(), scale=1)])
    told = []
    for _ in range(3):
        with pytest.raises(ValueError, match="PureDP") as refused:
            both.privacy_map(1, PureDP)
        told.append((refused.type, str(refused.value)))
    assert len(set(told)) == 1


def test_equal_numbers_that_are_no_int_are_not_taken_for_one() -> None:
    composed = ConComp([Laplace(Count(), scale=1)])
    composed.privacy_map(1)
    with pytest.raises(Exception, match=r"d_in|records"):
        composed.privacy_map(1.0)  # type: ignore[arg-type]


def test_measures_and_records_are_told_apart() -> None:
    composed = ConComp([Laplace(Count(), scale=1)])
    stated = [(1, None), (2, None), (1, ZCDP), (1, ApproxDP)]
    first = [composed.privacy_map(*each) for each in stated]
    assert first == [composed.privacy_map(*each) for each in stated]
    assert len({repr(each) for each in first}) == len(stated)


def test_an_unexpected_error_is_raised_each_time_and_not_kept() -> None:
    asked = []

    def stated(d_in: int, measure: Any) -> Loss:
        asked.append(d_in)
        raise ZeroDivisionError

    kept = KnownMap()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            kept.at(1, None, stated)
    assert asked == [1, 1]


def test_few_losses_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who asks for ever other records fills no memory."""
    monkeypatch.setattr(known, "_MOST", 4)
    kept = KnownMap()
    for d_in in range(1, 20):
        assert kept.at(d_in, None, lambda at, _: PureDP(at)) == PureDP(d_in)
    assert len(kept._known) <= 4


def test_what_is_known_is_no_part_of_the_value() -> None:
    asked, other = (ConComp([Laplace(Count(), scale=1)]) for _ in range(2))
    asked.privacy_map(5)
    assert asked == other
    assert hash(asked) == hash(other)
    assert repr(asked) == repr(other)
    with pytest.raises((PrivacyClaimError, ValueError)):
        asked.privacy_map(-1)
