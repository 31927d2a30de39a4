"""Filters and odometers, concurrent and sequential."""

from typing import Any

import pytest

from composition import FiltCon, FiltSeq, Odom, OdomCon, OdomSeq, Rule, budget
from composition.rules import Account
from mechanisms import Gaussian
from queryable import (
    FDP,
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    CanAfford,
    Halted,
    Launch,
    Launched,
    Loss,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Refused,
    SeededCoins,
    Statistic,
    UnprovenCompositionError,
)
from queryable.errors import RetiredChildError
from queryable.losses import AdditiveLoss, total, zero_of
from queryable.messages import Query
from tests.strategies import LOSSES, TENTH, Courier, RandomWord, Toy


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_every_measure_has_an_additive_filter(loss: AdditiveLoss) -> None:
    """A budget of three equal losses admits three, exactly, and reports the sum."""
    q = Queryable(FiltCon(loss.of_parts(tuple(3 * part for part in loss.parts))), None)
    for _ in range(3):
        q(RandomWord(loss))
    assert total([loss] * 3, loss.measure) <= q.privacy_loss()
    with pytest.raises(QueryRefusedError, match="insufficient budget"):
        q(RandomWord(loss))


def test_halt_is_algorithm_3() -> None:
    filtered = FiltCon(PureDP("0.25"), on_exceed="halt")
    state, _ = filtered.init(None)
    state, _ = filtered.step(state, Launch(Toy()))
    state, answer = filtered.step(state, Launch(Toy(PureDP("0.2"))))
    assert answer == Halted("insufficient budget")
    for query in (Launch(Toy(PureDP(0))), Ask(0, "bits"), "nonsense"):
        after, answer = filtered.step(state, query)
        assert after is state
        assert answer == Halted("insufficient budget")
    assert filtered.step(state, CanAfford(Launch(Toy(PureDP(0))))) == (state, False)
    assert filtered.step(state, PrivacyLossQuery())[1] == TENTH
    # At k = K a launch halts, with the paper's message, whatever it costs.
    filtered = FiltCon(PureDP(1), on_exceed="halt", max_mechanisms=1)
    state, _ = filtered.init(None)
    state, _ = filtered.step(state, Launch(Toy()))
    state, word = filtered.step(state, Ask(0, "bits"))
    assert word == 0
    state, answer = filtered.step(state, Launch(Toy(PureDP(0))))
    assert answer == Halted("at mechanism count limit")
    assert filtered.step(state, Ask(0, "bits"))[1] == Halted("at mechanism count limit")


def test_halt_does_not_come_early() -> None:
    """Wrong queries and false claims do not halt: Halt is for exceeding alone."""
    q = Queryable(FiltCon(PureDP("0.1"), on_exceed="halt"), None)
    for wrong in ("nonsense", Launch(Toy(), PureDP("0.01")), Launch(None), Ask(5, "bits")):
        with pytest.raises(QueryError):
            q.ask(wrong)
    assert q.can_afford(Toy(PureDP("0.2"))) is False
    assert q(Toy()).ask("bits") == 0
    # A nested filter's Halt is an answer: its parent goes on, the handle raises.
    q = Queryable(FiltCon(PureDP(1)), None)
    inner = q(FiltCon(PureDP("0.1"), on_exceed="halt"))
    with pytest.raises(QueryRefusedError, match="insufficient budget"):
        inner(Toy(PureDP("0.2")))
    with pytest.raises(QueryRefusedError, match="insufficient budget"):
        inner(Toy(PureDP(0)))
    assert q(Toy()).ask("bits") == 0


@pytest.mark.parametrize("on_exceed", ["refuse", "halt"])
@pytest.mark.parametrize("most", [0, 1, 3])
def test_max_mechanisms_counts_every_launch(on_exceed: str, most: int) -> None:
    """Measurements count; the limit is a refusal, or Halt; a dry run says so in advance."""
    q = Queryable(FiltCon(PureDP(1), max_mechanisms=most, on_exceed=on_exceed), None)
    for _ in range(most):
        assert q.can_afford(RandomWord())
        q(RandomWord())
    assert not q.can_afford(RandomWord())
    with pytest.raises(QueryRefusedError, match="count limit"):
        q(RandomWord())


def test_a_filter_is_charged_its_budget_and_its_groups() -> None:
    """The parent is charged the whole budget at launch, in its own measure, and no more."""
    q = Queryable(FiltCon(ApproxZCDP(1, 0)), None)
    inner = q(FiltCon(PureDP(1)))
    charged = q.privacy_loss()
    assert charged == PureDP(1).to(ApproxZCDP)
    inner(RandomWord())
    assert q.privacy_loss() == charged
    assert inner.privacy_loss() == TENTH
    filtered = FiltCon(ZCDP("0.5"), d_in=2)
    assert filtered.privacy_map(0) == ZCDP(0)
    assert filtered.privacy_map(1) == filtered.privacy_map(2) == ZCDP("0.5")
    assert filtered.privacy_map(4) == ZCDP(2)
    with pytest.raises(ValueError, match="no group bound"):
        FiltCon(RDP(8, 1)).privacy_map(2)


def test_mixed_children_of_an_approximate_zcdp_budget() -> None:
    q = Queryable(FiltCon(ApproxZCDP(1, "1e-6")), None)
    losses: list[Loss] = [TENTH, ApproxDP("0.1", "1e-8"), ZCDP("0.01")]
    for loss in losses:
        q(Toy(loss))
    q(RandomWord(ApproxZCDP("0.01", "1e-8")))
    q(FiltCon(ApproxZCDP("0.01", "1e-8")))
    q(Courier() @ RandomWord(ApproxZCDP("0.01", "1e-8")))
    with pytest.raises(UnprovenCompositionError, match="launch a noninteractive version"):
        q(Toy(ApproxZCDP("0.01", "1e-8")))
    with pytest.raises(UnprovenCompositionError):
        q(Courier() @ Toy(ApproxZCDP("0.01", "1e-8")))
    with pytest.raises(UnprovenCompositionError):
        q(FiltSeq(ApproxZCDP("0.01", "1e-8")))


class Curves(Rule):
    """A rule of a user's own, for trade-off curves."""

    vouched_for = "nothing: the test is about how it refuses"

    def child_measure(self, budget: Loss) -> Any:
        return FDP

    def open(self, budget: Loss) -> Any:
        return Untouched()


class Untouched(Account):
    """An account that admits no launch."""

    within = False

    def add(self, loss: Any) -> "Untouched":
        return self

    def total(self) -> FDP:
        return FDP.of_approx(0)

    def remaining(self) -> FDP:
        return FDP.of_approx("0.1")


def test_a_refusal_under_a_rule_of_curves_is_a_refusal() -> None:
    """The hint about float sums does not apply to curves, which have no coordinates."""
    filtered = FiltCon(FDP.of_approx(1), Curves())
    account: Any = Untouched()
    refused = filtered._exceeds(account, account, FDP.of_approx(1))
    assert isinstance(refused, Refused)
    assert refused.reason == "insufficient budget"


@pytest.mark.parametrize(
    ("made", "fits"),
    [
        (FiltCon(PureDP("2/3")), "epsilon up to 0.666;"),
        (FiltCon(ZCDP("1/7")), "rho up to 0.142 or epsilon up to 0.54;"),
        (FiltCon(ApproxDP("2/3", "1e-6")), "epsilon up to 0.666, and delta up to 1e-6;"),
        (budget(1, "1e-6"), "rho up to 0.0241 or epsilon up to 0.22, and delta up to 1e-7;"),
        (FiltCon(GDP("1/3")), "mu up to 0.333;"),
        (FiltCon(RDP(8, "1/30")), "with more noise"),
    ],
)
def test_a_refusal_says_what_fits(made: FiltCon, fits: str) -> None:
    """The numbers are rounded down, so that a launch with them is admitted."""
    q = Queryable(made, None)
    with pytest.raises(QueryRefusedError, match=r"What fits now|more noise") as caught:
        q.launch(Toy(PureDP(9)))
    assert fits in str(caught.value)
    if "epsilon up to" in fits:
        epsilon = fits.partition("epsilon up to ")[2].rstrip(";").partition(",")[0]
        assert q.can_afford(Toy(PureDP(epsilon)))
    if "rho up to" in fits:
        rho = fits.removeprefix("rho up to ").partition(" ")[0]
        assert q.can_afford(Toy(ZCDP(rho)))


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
    # A person over an odometer runs over the filter that it becomes.
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
    # A Renyi child whose map knows no groups makes the report an error, not a guess.
    q = Queryable(OdomCon(RDP.at(8)), None)
    q(RandomWord(RDP(8, "0.1")))
    with pytest.raises(QueryError, match="no group bound"):
        q.privacy_loss(2)
    assert q.privacy_loss() == RDP(8, "0.1")


COINS = SeededCoins(1)
FREE = PureDP(0)
LARGE = PureDP(10**6)


def deep(levels: int, query: Query) -> Query:
    """The query, for what is that many levels down along first children."""
    for _ in range(levels):
        query = Ask(0, query)
    return query


def said(mechanism: Any, state: Any, *queries: Query) -> tuple[Any, list[Any]]:
    """The state after, and the answers."""
    answers = []
    for query in queries:
        state, answer = mechanism.step(state, query, COINS)
        answers.append(answer)
    return state, answers


def test_children_of_other_parents_live_on() -> None:
    """Retiring is a matter of one sequential parent, not of the tree."""
    q = Queryable(FiltCon(LARGE), None)
    sequence, other = q.launch(FiltSeq(PureDP(9))), q.launch(Toy())
    sequence.launch(Toy())
    sequence.launch(Toy())
    assert other.ask("bits") == 0
    # The open case, an interactive child known only as approximate zCDP, is taken in sequence.
    open_case = Toy(ApproxZCDP("0.1", "1e-9"))
    for kind in (FiltSeq(ApproxZCDP(1, "1e-8")), OdomSeq(ApproxZCDP)):
        q = Queryable(kind, None)
        assert [q.launch(open_case).ask("bits") for _ in range(3)] == [0, 0, 0]
        assert q.privacy_loss() == ApproxZCDP("0.3", "3e-9")


@pytest.mark.parametrize("kind", [FiltSeq(LARGE), OdomSeq(PureDP)])
def test_thousands_wide(kind: Any) -> None:
    """One after the other; the state holds the last one alone, and every charge."""
    state, _ = kind.init(None, COINS)
    for count in range(3_000):
        state, answer = kind.step(state, Launch(Toy()), COINS)
        assert answer == Launched(count, None)
    assert list(state.children) == [2_999]
    state, (first, loss) = said(kind, state, Ask(2_999, "bits"), PrivacyLossQuery())
    assert (first, loss) == (0, PureDP(300))
    for retired in (0, 1_500, 2_998):
        with pytest.raises(RetiredChildError):
            kind.step(state, Ask(retired, "bits"), COINS)


@pytest.mark.parametrize("leaf", [FiltSeq, FiltCon])
def test_a_hundred_levels_deep(leaf: Any) -> None:
    """The deepest level allowed is reached, asked, and retired from the top."""
    sequence = FiltSeq(PureDP(1))
    state, _ = sequence.init(None, COINS)
    down = [deep(level, Launch(leaf(PureDP(1)))) for level in range(99)]
    state, answers = said(sequence, state, *down)
    assert answers == [Launched(0, None)] * 99
    state, answers = said(
        sequence, state, deep(99, Launch(Toy(PureDP(1)))), *[deep(100, "bits")] * 2
    )
    assert answers == [Launched(0, None), 0, 1]
    with pytest.raises(QueryError, match="deeper"):
        sequence.step(state, deep(101, "bits"), COINS)
    state, answers = said(sequence, state, Launch(Toy(FREE)))
    assert answers == [Launched(1, None)]
    with pytest.raises(RetiredChildError):
        sequence.step(state, deep(100, "bits"), COINS)


def test_a_loss_that_is_too_large_to_report_is_not_charged() -> None:
    vast = Gaussian(Statistic(len, l1="1e400", l2="1e400"), scale="1e-400")
    table = Queryable(OdomCon(ZCDP), [1])
    with pytest.raises(PrivacyClaimError, match="too large for a report"):
        table(vast)
    assert table.privacy_loss() == ZCDP(0)
