"""Time-uniform odometers in a compositor: what they report, refuse, and stop at as filters."""

from fractions import Fraction
from typing import Any

import pytest

from composition import (
    FiltCon,
    LinearOdometer,
    MixtureOdometer,
    Odom,
    OdomCon,
    OdomSeq,
    OneSidedMixtureOdometer,
    RenyiOdometer,
    Rogers2016Odometer,
    StitchedOdometer,
    TimeUniform,
    Whitehouse2023,
    filter_of,
)
from composition.rules import Account
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Launch,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryRefusedError,
    UnprovenCompositionError,
    truncated_view,
)
from queryable.losses import RenyiCurve, TimeUniformBound
from queryable.losses.numbers import round_up
from tests.strategies import RandomBits, RandomWord, Toy

F = Fraction
DELTA = F(1, 10**6)
LINEAR = LinearOdometer(DELTA, 1)
SHARED = LinearOdometer(DELTA, 1, deltas="1e-7", margin="0.1")
EVERY: tuple[TimeUniform, ...] = (
    LINEAR,
    MixtureOdometer(DELTA, "0.1"),
    OneSidedMixtureOdometer(DELTA, "0.1"),
    StitchedOdometer(DELTA, "0.01"),
    Rogers2016Odometer(DELTA, 1000),
    RenyiOdometer(DELTA, [2, 8, 32]),
)
every = pytest.mark.parametrize("rule", EVERY, ids=[type(rule).__name__ for rule in EVERY])


@every
def test_an_odometer_reports_the_bound(rule: TimeUniform) -> None:
    """`OdomCon` and `.bound` agree; the report says at which delta it is."""
    q = Queryable(OdomCon(rule.measure, rule), None)
    assert q.privacy_loss() == TimeUniformBound(0, 0)
    q(RandomBits(PureDP("0.1")))
    q(RandomWord(GDP("0.2")))
    report = q.privacy_loss()
    assert report == TimeUniformBound(rule.bound([PureDP("0.1"), GDP("0.2")]), DELTA)
    assert isinstance(report, TimeUniformBound)


def test_all_of_a_child_is_charged_when_it_is_launched() -> None:
    """Asks are not charged; tests/attacks/test_false_claims.py shows why."""
    q = Queryable(OdomCon(ZCDP, LINEAR), None)
    child = q(RandomBits(ZCDP("0.01")))
    before = q.privacy_loss()
    child("bits")
    assert q.privacy_loss() == before
    q = Queryable(OdomCon(ZCDP, LINEAR), None)
    q(RandomWord(ZCDP(0)))
    assert q.privacy_loss() == TimeUniformBound(0, 0)


@pytest.mark.parametrize("kind", [OdomCon, Odom, OdomSeq])
def test_every_odometer_takes_the_rule(kind: Any) -> None:
    q = Queryable(kind(ZCDP, LINEAR), None)
    q(RandomWord(ZCDP("0.01")))
    assert q.privacy_loss() == TimeUniformBound(LINEAR.bound([ZCDP("0.01")]), DELTA)


def test_the_measure_is_the_rules() -> None:
    """zCDP, Renyi privacy at the rule's orders, or approximate zCDP with a share for deltas."""
    assert LINEAR.measure == ZCDP
    assert RenyiOdometer(DELTA, [2, 8]).measure == RDP.at(2, 8)
    assert SHARED.measure == ApproxZCDP
    with pytest.raises(ValueError, match="takes losses in ZCDP"):
        OdomCon(PureDP, LINEAR)
    # Launches state approximate zCDP, and each order takes alpha*rho of it.
    rule = RenyiOdometer(DELTA, [2, 8, 32], deltas="1e-8", margin="0.1")
    plain = RenyiOdometer(DELTA, [2, 8, 32])
    assert rule.bound([ZCDP("0.1")]) == plain.bound([ZCDP("0.1")])
    assert rule.bound([ApproxDP(0, "1e-8"), ZCDP("0.1")]) == plain.bound([ZCDP("0.1")]) + F(1, 10)


def test_the_report_is_no_budget_and_no_threshold() -> None:
    with pytest.raises(TypeError, match="budget"):
        FiltCon(TimeUniformBound("0.5", DELTA))
    # Algorithm 5 is about the other kind of odometer, and a `Loss` as threshold says so.
    with pytest.raises(TypeError, match="not a privacy loss"):
        truncated_view(OdomCon(ZCDP, LINEAR), None, lambda view: Launch(RandomWord()), ZCDP(1))


# Children with a delta of their own.


def test_total_delta_with_a_share() -> None:
    """delta + deltas/(1 - e^-margin), rounded up."""
    price = round_up(lambda d, m: d / (1 - (-m).exp()), F(1, 10**7), F(1, 10))
    assert SHARED.total_delta >= DELTA + price * (1 - F(1, 10**20))
    assert float(SHARED.total_delta) == pytest.approx(1e-6 + 1e-7 / 0.09516258196404048)
    # Before it, the bound is what it would be without the share.
    q = Queryable(OdomCon(ApproxZCDP, SHARED), None)
    q(RandomWord(ZCDP("0.01")))
    assert q.privacy_loss() == TimeUniformBound(LINEAR.bound([ZCDP("0.01")]), SHARED.total_delta)
    q(RandomBits(ApproxDP("0.1", "1e-8")))
    pure = LINEAR.bound([ZCDP("0.01"), PureDP("0.1")])
    assert q.privacy_loss() == TimeUniformBound(pure + F(1, 10), SHARED.total_delta)


def test_deltas_beyond_their_share_are_refused() -> None:
    """Nothing changes, the dry run agrees, and what has no delta goes on."""
    q = Queryable(OdomCon(ApproxZCDP, SHARED), None)
    for _ in range(2):
        q(RandomWord(ApproxDP("0.1", "5e-8")))
    before = q.privacy_loss()
    more = RandomWord(ApproxDP("0.1", "1e-20"))
    assert not q.can_afford(more)
    with pytest.raises(QueryRefusedError, match="more than their share, 1e-07"):
        q(more)
    assert q.privacy_loss() == before
    q(RandomWord(PureDP("0.1")))
    # The deltas of groups are larger: the report there has delta 1.
    q = Queryable(OdomCon(ApproxZCDP, SHARED), None)
    q(RandomWord(ApproxDP("0.1", "1e-7")))
    assert q.privacy_loss().delta == SHARED.total_delta
    assert q.privacy_loss(2).delta == 1


def test_what_cannot_be_stated_is_refused() -> None:
    """By the odometer and by `.bound`, both naming the two keywords."""
    child = RandomWord(ApproxDP("0.1", "1e-8"))
    with pytest.raises(PrivacyClaimError, match="deltas and margin"):
        Queryable(OdomCon(ZCDP, LINEAR), None).launch(child)
    with pytest.raises(ValueError, match=r"deltas=\.\.\. and margin"):
        LINEAR.bound([child.charged])
    with pytest.raises(ValueError, match="share"):
        SHARED.bound([ApproxDP("0.1", "1e-7"), ApproxDP("0.1", "1e-9")])
    with pytest.raises(ValueError, match="no theorem"):
        LINEAR.bound([RDP(8, "0.1")])
    with pytest.raises(TypeError, match="not a privacy loss"):
        LINEAR.bound([0.1])  # type: ignore[list-item]
    with pytest.raises(UnprovenCompositionError, match="open"):
        Queryable(OdomCon(ApproxZCDP, SHARED), None)(Toy(ApproxZCDP("0.01", "1e-8")))


# As a filter.


@every
def test_launched_with_a_d_out_it_stops_in_time(rule: TimeUniform) -> None:
    budget = ApproxDP(2, DELTA)
    q = Queryable(FiltCon(ApproxDP(3, "1e-5")), None)
    inner = q(OdomCon(rule.measure, rule), budget)
    assert q.privacy_loss() == budget
    child, admitted = RandomWord(ZCDP("0.002")), 0
    while inner.can_afford(child):
        inner(child)
        admitted += 1
    with pytest.raises(QueryRefusedError, match="insufficient budget"):
        inner(child)
    assert rule.bound([child.charged] * admitted) <= 2
    assert rule.bound([child.charged] * (admitted + 1)) > 2
    assert inner.privacy_loss() == ApproxDP(rule.bound([child.charged] * admitted), DELTA)


def test_the_line_is_whitehouses_filter() -> None:
    """At its own target it admits as many as Theorem 2, in zCDP."""
    line = FiltCon(ApproxDP(1, DELTA), filter_of(LinearOdometer(DELTA, 1)))
    published = FiltCon(ApproxDP(1, DELTA), Whitehouse2023())
    line_account, published_account = line.rule.open(line.budget), published.rule.open(line.budget)
    count = 0
    while published_account.within:
        count += 1
        line_account = line_account.add(ZCDP("0.00005"))
        published_account = published_account.add(ApproxDP("0.01", 0))
        assert line_account.within == published_account.within
    assert count == 350


@every
def test_remaining_is_admitted(rule: TimeUniform) -> None:
    """What a refusal says remains is admitted, and a little more is not."""
    account: Account = filter_of(rule).open(ApproxDP(3, DELTA))
    account = account.add(ZCDP("0.01").to(rule.measure))
    remaining = account.remaining()
    assert account.add(remaining).within
    assert not account.add(remaining).add(ZCDP("1e-9").to(rule.measure)).within


def test_remaining_with_a_share() -> None:
    """Room for deltas is told while there is any and the margin fits."""
    account = filter_of(SHARED).open(ApproxDP(1, SHARED.total_delta))
    left = account.remaining()
    assert left.delta == F(1, 10**7)
    assert account.add(left).within
    tight = filter_of(SHARED).open(ApproxDP("0.05", SHARED.total_delta))
    assert tight.remaining() == ApproxZCDP(0, 0)
    assert tight.add(tight.remaining()).within
    # A Renyi odometer whose prices pass epsilon admits nothing but what loses nothing.
    account = filter_of(RenyiOdometer(DELTA, [2, 3])).open(ApproxDP(1, DELTA))
    assert account.remaining() == RenyiCurve([2, 3], [0, 0])
    assert account.add(account.remaining()).within
    assert not account.add(RenyiCurve([2, 3], ["1e-9", "1e-9"])).within


def test_a_filter_refuses_deltas_beyond_the_share() -> None:
    """Also where the budget's own delta would have room; the refusal says which it was."""
    rule = LinearOdometer(DELTA, 1, deltas="1e-7", margin="0.1")
    q = Queryable(FiltCon(ApproxDP(1, "0.1"), filter_of(rule)), None)
    q(RandomWord(ApproxDP("0.01", "1e-7")))
    with pytest.raises(QueryRefusedError, match="deltas of the launches would sum to more"):
        q(RandomWord(ApproxDP("0.01", "1e-9")))
    q(RandomWord(PureDP("0.01")))


@pytest.mark.parametrize(
    ("budget", "named"),
    [
        (ApproxDP(1, DELTA / 2), "needs at least its own, 1e-06"),
        (ZCDP(1), "ApproxDP budgets, not ZCDP"),
        (PureDP(1), "ApproxDP budgets, not PureDP"),
    ],
    ids=str,
)
def test_a_filter_needs_an_epsilon_and_the_delta(budget: Any, named: str) -> None:
    """At construction, and as a claim where the odometer is launched with a d_out."""
    with pytest.raises(ValueError, match=named):
        FiltCon(budget, filter_of(LINEAR))
    with pytest.raises(PrivacyClaimError, match=named):
        Queryable(OdomCon(ZCDP, LINEAR), None).launch(OdomCon(ZCDP, LINEAR), budget)


# Other numbers of records: fixed in advance, and every child is converted there.


@every
def test_an_odometer_for_two_records(rule: TimeUniform) -> None:
    """Its report is at d_in=2, by the children's own maps there: 2*epsilon, 4*rho."""
    for_two = Queryable(OdomCon(rule.measure, rule, d_in=2), None)
    for_one = Queryable(OdomCon(rule.measure, rule), None)
    for q in (for_two, for_one):
        q(RandomBits(PureDP("0.1")))
        q(RandomWord(GDP("0.2")))
    at_two = TimeUniformBound(rule.bound([PureDP("0.2"), GDP("0.4")]), DELTA)
    assert for_two.privacy_loss() == for_one.privacy_loss(2) == at_two
    assert for_two.privacy_loss(1) == for_one.privacy_loss()
    assert for_one.privacy_loss().epsilon < at_two.epsilon
    assert for_two.privacy_loss(0) == TimeUniformBound(0, 0)


@every
def test_a_filter_for_three_records(rule: TimeUniform) -> None:
    """It admits what its bound at d_in=3 allows; its map is its budget, and beyond that groups."""
    budget, child = ApproxDP(2, DELTA), RandomWord(ZCDP("0.0005"))
    filtered = FiltCon(budget, filter_of(rule), d_in=3)
    assert [filtered.privacy_map(d_in) for d_in in (1, 3)] == [budget, budget]
    assert filtered.privacy_map(4) == filtered.privacy_map(6) == budget.group(2)
    q, admitted = Queryable(filtered, None), 0
    while q.can_afford(child):
        q(child)
        admitted += 1
    assert admitted > 0
    for_three = [ZCDP("0.0045")] * admitted
    assert q.privacy_loss() == ApproxDP(rule.bound(for_three), DELTA)
    assert rule.bound(for_three) <= 2 < rule.bound([*for_three, for_three[0]])
    for_six = ApproxDP(rule.bound([ZCDP("0.018")] * admitted), DELTA)
    assert q.privacy_loss(6) == for_six
    assert q.privacy_loss(1) <= q.privacy_loss()


@every
def test_launched_in_a_parent_for_two_records(rule: TimeUniform) -> None:
    parent = Queryable(FiltCon(ApproxDP(3, "1e-5"), d_in=2), None)
    inner = parent(OdomCon(rule.measure, rule), ApproxDP(2, DELTA))
    inner(RandomWord(PureDP("0.05")))
    assert inner.privacy_loss() == ApproxDP(rule.bound([PureDP("0.1")]), DELTA)
    assert parent.privacy_loss() == ApproxDP(2, DELTA)


def test_deltas_at_two_records_are_the_groups() -> None:
    """(epsilon, delta) for one record is (2 epsilon, delta (1 + e^epsilon)) for two."""
    q = Queryable(OdomCon(ApproxZCDP, SHARED, d_in=2), None)
    q(RandomWord(ApproxDP("0.1", "4e-8")))
    pair = ApproxDP("0.1", "4e-8").group(2)
    assert q.privacy_loss().epsilon == LINEAR.bound([PureDP("0.2")]) + F(1, 10)
    assert pair.delta > F(8, 10**8)
    with pytest.raises(QueryRefusedError, match="more than their share"):
        q(RandomWord(ApproxDP(0, "8e-9")))
    q(RandomWord(ApproxDP(0, "7e-9")))
    # What is known at one order only has no group bound: refused, and nothing is lost.
    rule = RenyiOdometer(DELTA, [8])
    q = Queryable(OdomCon(rule.measure, rule, d_in=2), None)
    with pytest.raises(PrivacyClaimError):
        q(RandomWord(RDP(8, "0.01")))
    q(RandomWord(PureDP("0.1")))
    assert q.privacy_loss() == TimeUniformBound(rule.bound([PureDP("0.2")]), DELTA)
