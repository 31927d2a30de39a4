"""Odometers: they admit everything, report what was lost, and become filters at a d_out."""

from typing import Any

import pytest

from composition import FiltCon, Odom, OdomCon, OdomSeq
from queryable import (
    RDP,
    ZCDP,
    ApproxDP,
    Loss,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
)
from queryable.losses import zero_of
from tests.strategies import LOSSES, TENTH, Courier, RandomWord


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_report_is_the_sum(loss: Loss) -> None:
    """In every additive measure: zero at first, then the composition of the claims."""
    q = Queryable(OdomCon(loss.measure), None)
    assert q.privacy_loss() == zero_of(loss.measure)
    q(RandomWord(loss))
    q(RandomWord(loss))
    assert q.privacy_loss() == loss + loss


def test_an_odometer_admits_everything() -> None:
    """It has no budget: astronomic launches go through and are reported."""
    q = Queryable(OdomCon(PureDP), None)
    q(RandomWord(PureDP(10**6)))
    assert q.can_afford(RandomWord(PureDP(10**9)))
    assert q.privacy_loss() == PureDP(10**6)


def test_an_odometer_has_no_loss_of_its_own() -> None:
    """In no measure, at no d_in; the message says how to launch one."""
    for measure in (None, PureDP, ZCDP):
        with pytest.raises(PrivacyClaimError, match="d_out"):
            OdomCon(PureDP).privacy_map(1, measure)


def test_groups_are_refused_where_no_theorem_bounds_them() -> None:
    """A Renyi child whose map knows no groups makes the report an error, not a guess."""
    q = Queryable(OdomCon(RDP.at(8)), None)
    q(RandomWord(RDP(8, "0.1")))
    with pytest.raises(QueryError, match="no group bound"):
        q.privacy_loss(2)
    assert q.privacy_loss() == RDP(8, "0.1")


def test_launched_with_a_d_out_it_is_a_filter() -> None:
    """Lemma 2.19: at a threshold fixed at launch it admits up to it, and refuses beyond."""
    q = Queryable(OdomCon(PureDP), None)
    inner = q(OdomCon(PureDP, max_mechanisms=5), PureDP("0.25"))
    assert q.privacy_loss() == PureDP("0.25")
    inner(RandomWord())
    inner(RandomWord())
    with pytest.raises(QueryRefusedError) as caught:
        inner(RandomWord())
    assert caught.value.remaining == PureDP("0.05")
    assert inner.privacy_loss() == PureDP("0.2")


def test_a_postprocessed_odometer_is_one_too() -> None:
    """A person over an odometer runs over the filter that it becomes."""
    q = Queryable(FiltCon(PureDP(1)), None)
    with pytest.raises(PrivacyClaimError):
        q(Courier() @ OdomCon(PureDP))
    inner = q(Courier() @ OdomCon(PureDP), PureDP("0.15"))
    inner(RandomWord())
    with pytest.raises(QueryRefusedError):
        inner(RandomWord())


@pytest.mark.parametrize("kind", [OdomCon, Odom, OdomSeq])
def test_within_keeps_what_kind_it_is(kind: Any) -> None:
    """The filter of a noninteractive odometer refuses interactive children, and so on."""
    odometer = kind(PureDP, max_mechanisms=3, max_depth=7)
    filtered = odometer.as_filter(PureDP(1), 2)
    assert filtered.noninteractive is odometer.noninteractive
    assert filtered.interleaves is odometer.interleaves
    assert (filtered.max_mechanisms, filtered.max_depth, filtered.d_in) == (3, 7, 2)


def test_the_unit_may_be_a_group() -> None:
    """At d_in=3 claims are checked and reported for three records."""
    q = Queryable(OdomCon(ApproxDP, d_in=3), None)
    q(RandomWord())
    assert q.privacy_loss() == ApproxDP("0.3", 0)
    assert q.privacy_loss(1) == TENTH.to(ApproxDP)
