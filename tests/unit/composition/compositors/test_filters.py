"""Filters: budgets of every measure, the paper's Halt and K, and what is refused."""

from typing import Any

import pytest

from composition import Filt, FiltCon, FiltSeq, Rule, budget
from composition.rules import Account
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
    Loss,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Refused,
    UnprovenCompositionError,
)
from queryable.losses import AdditiveLoss, total
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
    """Insufficient budget halts: every message but privacy_loss gets Halt, for ever."""
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


def test_halt_at_the_mechanism_limit() -> None:
    """At k = K a launch halts, with the paper's message, whatever it costs."""
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


def test_a_halted_child_halts_alone() -> None:
    """A nested filter's Halt is an answer: its parent goes on, the handle raises."""
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


def test_the_map_is_the_budget_and_its_groups() -> None:
    """0 for equal data, the budget up to d_in, the group bound of the budget beyond."""
    filtered = FiltCon(ZCDP("0.5"), d_in=2)
    assert filtered.privacy_map(0) == ZCDP(0)
    assert filtered.privacy_map(1) == filtered.privacy_map(2) == ZCDP("0.5")
    assert filtered.privacy_map(4) == ZCDP(2)
    with pytest.raises(ValueError, match="no group bound"):
        FiltCon(RDP(8, 1)).privacy_map(2)


def test_a_filter_in_a_filter_is_charged_its_budget() -> None:
    """The parent is charged the whole budget at launch, in its own measure, and no more."""
    q = Queryable(FiltCon(ApproxZCDP(1, 0)), None)
    inner = q(FiltCon(PureDP(1)))
    charged = q.privacy_loss()
    assert charged == PureDP(1).to(ApproxZCDP)
    inner(RandomWord())
    assert q.privacy_loss() == charged
    assert inner.privacy_loss() == TENTH


def test_mixed_children_of_an_approximate_zcdp_budget() -> None:
    """Pure, approximate and zCDP children, and noninteractive approximate zCDP, mix."""
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


def test_sequential_composition_takes_what_may_not_interleave() -> None:
    """`FiltSeq` covers the child that `FiltCon` refuses."""
    q = Queryable(FiltSeq(ApproxZCDP(1, "1e-6")), None)
    assert q(Toy(ApproxZCDP("0.01", "1e-8"))).ask("bits") == 0


@pytest.mark.parametrize("kind", [FiltCon, Filt, FiltSeq])
def test_filters_are_values(kind: Any) -> None:
    """Equal descriptions are equal and hashable: they travel in queries."""
    assert kind(PureDP(1)) == kind(PureDP("1"))
    assert len({kind(PureDP(1)), kind(PureDP(1)), kind(PureDP(2))}) == 2


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
