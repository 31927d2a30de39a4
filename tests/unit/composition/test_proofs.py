"""Compositions without a row in the table of theorems are refused, with advice in the message."""

from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import (
    Basic,
    ConComp,
    Filt,
    FiltCon,
    FiltSeq,
    LinearOdometer,
    OdomCon,
    Parallel,
    Partition,
    Universal,
    ViaZCDP,
    accumulator_of,
    filter_of,
)
from composition.proofs import ask, require_known
from composition.rules import Additive
from composition.validity import COIN
from composition.verdicts import CompositionKind, Proven
from queryable import (
    FDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Launch,
    Launched,
    Loss,
    PrivacyClaimError,
    PureDP,
    Queryable,
    UnprovenCompositionError,
    explain,
)
from queryable.losses import AdditiveLoss, Parts
from tests.strategies import LOSSES, Courier, RandomWord, Toy

UNCOINED = Toy(ApproxZCDP("0.1", "1e-9"))


@attrs.frozen(order=False)
class Bits(AdditiveLoss):
    """A user's measure whose losses add, without a theorem that they do."""

    amount: Fraction = Fraction(1)

    @property
    def measure(self) -> Any:
        return Bits

    @property
    def parts(self) -> Parts:
        return (self.amount,)

    def of_parts(self, parts: Parts) -> "Bits":
        return Bits(*parts)

    def room(self, parts: Parts) -> "Bits":
        return Bits(*parts)

    @classmethod
    def from_loss(cls, loss: Loss) -> Loss | None:
        return Bits(loss.epsilon) if isinstance(loss, PureDP) else None

    def _group(self, size: int) -> "Bits":
        return Bits(size * self.amount)

    def _to(self, measure: Any, delta: Any) -> Loss | None:
        return None


class Lenient(PureDP):
    """A subclass of `PureDP` that claims to be within every loss."""

    def implies(self, other: Any) -> bool:
        return True


class Mine(Basic):
    """A user's rule: a subclass of `Basic` that states no theorem."""


class Vouched(Basic):
    """A user's rule that states a theorem."""

    vouched_for = "Theorem 7 of Somebody 2025"


class Heir(Vouched):
    """A subclass of a rule that states a theorem."""


@attrs.frozen
class Stated(Basic):
    """A user's rule whose instances each state a theorem."""

    vouched_for: Any = ""  # type: ignore[misc]


class OwnOdometer(LinearOdometer):
    """A subclass of a time-uniform odometer of the library."""


PARTS = Partition("k", ["a"])
INVENTED = [
    lambda: FiltCon(Bits()),
    lambda: FiltSeq(Bits()),
    lambda: Filt(Bits()),
    lambda: FiltCon(Bits(), filter_of(Additive(Bits))),
    lambda: OdomCon(Bits),
    lambda: OdomCon(ZCDP, LinearOdometer("1e-6", 1)) and OdomCon(Bits, Additive(Bits)),
    lambda: Universal(Bits()),
    lambda: ConComp([Toy(Bits())]),
    lambda: Parallel(PARTS, {"a": Toy(Bits())}),
    lambda: ConComp([Toy()]).privacy_map(1, Bits),
    lambda: Parallel(PARTS, {"a": Toy()}).privacy_map(1, Bits),
    lambda: Universal(Lenient(1)),
    lambda: FiltCon(Bits(), Vouched()),
]


@pytest.mark.parametrize("made", INVENTED)
def test_a_users_measure_does_not_compose(made: Any) -> None:
    """No theorem is registered for it; the error lists the measures that have one."""
    with pytest.raises(UnprovenCompositionError, match=r"state (them|the budget)"):
        made()


RULES_OF_ONES_OWN = [
    lambda: FiltCon(PureDP(1), Mine()),
    lambda: FiltSeq(PureDP(1), Mine()),
    lambda: FiltCon(PureDP(1), Heir()),
    lambda: FiltCon(PureDP(1), Stated()),
    lambda: FiltCon(PureDP(1), Stated(" ")),
    lambda: FiltCon(PureDP(1), Stated(True)),
    lambda: OdomCon(PureDP, accumulator_of(Mine(), PureDP)),
    lambda: FiltCon(PureDP(1), filter_of(accumulator_of(Mine(), PureDP))),
    lambda: OdomCon(ZCDP, OwnOdometer("1e-6", 1)),
    lambda: FiltCon(ApproxDP(1, "1e-6"), filter_of(OwnOdometer("1e-6", 1))),
]


@pytest.mark.parametrize("made", RULES_OF_ONES_OWN)
def test_a_users_rule_needs_a_stated_theorem(made: Any) -> None:
    """This holds for subclasses of library rules; a base class's theorem is not inherited."""
    with pytest.raises(UnprovenCompositionError, match="vouched_for"):
        made()


@pytest.mark.parametrize("rule", [Vouched(), Stated("Theorem 7 of Somebody 2025")])
def test_a_rule_with_a_stated_theorem_is_accepted(rule: Any) -> None:
    filtered = FiltCon(PureDP(1), rule)
    state, _ = filtered.init(None)
    assert isinstance(filtered.step(state, Launch(Toy()))[1], Launched)
    text = " ".join(explain(filtered).split())
    assert f"Theorem 7 of Somebody 2025 (the word of the author of {type(rule).__name__}" in text


def test_a_stated_theorem_does_not_settle_open_problems() -> None:
    """A child without a coin is refused under a user's rule too, and so is a nested one."""
    filtered = FiltCon(ApproxZCDP(1, "1e-6"), Vouched())
    state, _ = filtered.init(None)
    with pytest.raises(UnprovenCompositionError, match="is open"):
        filtered.step(state, Launch(UNCOINED))
    assert not filtered.coin_at_launch
    assert FiltCon(ApproxZCDP(1, "1e-6")).coin_at_launch
    assert isinstance(FiltSeq(ApproxZCDP(1, "1e-6"), Vouched()).proof.cell, Proven)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_basic_composition_of_each_measure_is_proven(loss: Loss) -> None:
    """`FiltCon` admits it by default, and `ConComp` adds such losses."""
    for column in CompositionKind:
        assert ask(Basic(), loss.measure, column).theorem
    require_known(loss)


def test_only_the_open_case_is_refused() -> None:
    """The open case is an interactive child known only as approximate zCDP with delta > 0."""
    filtered = FiltCon(ApproxZCDP(1, "1e-6"))
    state, _ = filtered.init(None)
    for open_case in (UNCOINED, Courier() @ UNCOINED):
        with pytest.raises(UnprovenCompositionError, match="is open") as caught:
            filtered.step(state, Launch(open_case))
        assert COIN.otherwise.problem in str(caught.value)
        assert COIN.otherwise.instead in str(caught.value)
    for taken in (RandomWord(ApproxZCDP("0.1", "1e-9")), Toy(ApproxDP("0.1", "1e-9"))):
        assert isinstance(filtered.step(state, Launch(taken))[1], Launched)


@pytest.mark.parametrize("made", [FiltCon, Universal])
def test_the_open_case_is_admitted_by_its_declared_conversion(made: Any) -> None:
    """It is admitted where it is charged its conversion to (epsilon, delta)-DP."""
    compositor = made(ApproxZCDP(5, "1e-3"))
    state, _ = compositor.init(None)
    with pytest.raises(UnprovenCompositionError, match="is open"):
        compositor.step(state, Launch(UNCOINED))
    with pytest.raises(UnprovenCompositionError, match="is open"):
        compositor.step(state, Launch(UNCOINED, ApproxZCDP(1, "1e-4")))
    state, _ = compositor.step(state, Launch(UNCOINED, ApproxDP(3, "1e-6")))
    if made is FiltCon:
        assert state.own.account.total() == ApproxDP(3, "1e-6").to(ApproxZCDP)


def test_noninteractive_children_compose_as_sequential_ones() -> None:
    """The theorems on sequential composition are about noninteractive mechanisms."""
    assert Filt(ZCDP(1)).proof.column is CompositionKind.SEQUENTIAL
    assert FiltCon(ZCDP(1)).proof.column is CompositionKind.ADAPTIVE
    # By Lemma 2.19 a filter made of an accumulator is valid if the accumulator is.
    odometer = LinearOdometer("1e-6", 1)
    assert FiltCon(ApproxDP(1, "1e-6"), filter_of(odometer)).proof.cell == (
        OdomCon(ZCDP, odometer).proof.cell
    )
    assert ask(
        accumulator_of(ViaZCDP(), ApproxDP, "1e-6"), ApproxZCDP, CompositionKind.ADAPTIVE
    ).cell == (ask(ViaZCDP(), ApproxZCDP, CompositionKind.ADAPTIVE).cell)


def test_advice_names_what_the_table_admits() -> None:
    """The advice for a curve is `ConComp`, as FDP has no budget; for zCDP it is a zCDP budget."""
    curve = Toy(FDP.of_profile([("0.1", "1e-3"), ("0.2", "1e-6")]))
    with pytest.raises(PrivacyClaimError) as caught:
        Queryable(FiltCon(PureDP(1)), None).launch(curve)
    assert "ConComp" in str(caught.value)
    assert "budget of FDP" not in str(caught.value)
    with pytest.raises(PrivacyClaimError, match=r"FiltCon\(ZCDP\(\.\.\)\)"):
        Queryable(FiltCon(PureDP(1)), None).launch(Toy(ZCDP(1)))
    with pytest.raises(PrivacyClaimError) as open_case:
        Queryable(FiltCon(PureDP(1)), None).launch(UNCOINED)
    assert "budget of ApproxZCDP" not in str(open_case.value)


@attrs.frozen
class FromTwoRecords(Toy):
    """Its zCDP has a delta, and no coin that pays it, from two records on."""

    def loss(self, d_in: int) -> Loss:
        return ZCDP("0.01") if d_in < 2 else ApproxZCDP("0.04", "1e-9")


@pytest.mark.parametrize(
    "launch",
    [Launch(FromTwoRecords()), Launch(FromTwoRecords(), ApproxDP(2, "1e-7"))],
    ids=["charged as zCDP", "charged as (epsilon, delta)-DP"],
)
def test_a_report_at_another_d_in_meets_the_condition_there(launch: Launch) -> None:
    """At one record the child is covered, at two it is the open case, except sequentially."""
    for budget, rule in ((ApproxZCDP(3, "1e-6"), Basic()), (ApproxDP(20, "1e-5"), ViaZCDP("5e-6"))):
        q = Queryable(FiltCon(budget, rule), None)
        q.ask(launch)
        assert q.privacy_loss() <= budget
        with pytest.raises(UnprovenCompositionError, match="is open"):
            q.privacy_loss(2)
        sequential = Queryable(FiltSeq(budget, rule), None)
        sequential.ask(launch)
        assert isinstance(sequential.privacy_loss(2), type(budget))
