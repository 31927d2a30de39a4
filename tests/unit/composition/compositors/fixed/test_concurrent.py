"""ConComp: mechanisms fixed in advance, all started at once."""

from fractions import Fraction
from typing import Any

import pytest

from composition import ConComp, ExPost, FiltCon, OdomCon
from composition.rules.optimal import optimal_epsilon
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    Launch,
    Launched,
    Loss,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    SeededCoins,
    UnprovenCompositionError,
)
from queryable.errors import UnknownChildError
from queryable.losses import total
from tests.strategies import (
    ILLEGAL,
    LOSSES,
    TENTH,
    WORD,
    RandomBits,
    RandomWord,
    Toy,
)

COINS = SeededCoins(1)


def test_all_start_at_once() -> None:
    """The opening has each one's `Launched`, in order, each with coins of its own."""
    _, opening = ConComp([RandomBits(), RandomWord(), RandomBits()]).init(None, COINS)
    assert [each.child for each in opening] == [0, None, 2]
    assert [each.answer for each in opening] == [COINS.spawn(n, 0).draw(WORD) for n in range(3)]


def test_children_interleave() -> None:
    """Each child counts its own messages."""
    q = Queryable(ConComp([Toy(), Toy()]), None)
    first, second = q.opening
    assert [each.ask("bits") for each in (first, second, first, first, second)] == [0, 0, 1, 2, 1]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_losses_of_one_measure_compose_in_it(loss: Loss) -> None:
    """The map adds up, at every d_in that the mechanisms know."""
    composed = ConComp([RandomWord(loss)] * 3)
    assert composed.privacy_map(1) == loss + loss + loss
    assert composed.privacy_map(0) == loss.zero()
    assert Queryable(composed, None).privacy_loss() == loss + loss + loss


MIXED = [
    ([TENTH, ApproxDP("0.1", "1e-8")], ApproxDP("0.2", "1e-8")),
    ([TENTH, ZCDP("0.1")], ZCDP(TENTH.to(ZCDP).rho + ZCDP("0.1").rho)),
    ([TENTH, GDP("0.1")], TENTH.to(GDP) + GDP("0.1")),
    ([GDP(1), ZCDP("0.5")], ZCDP(1)),
    (
        [ApproxDP("0.1", "1e-8"), ZCDP("0.1")],
        ApproxZCDP(TENTH.to(ZCDP).rho + ZCDP("0.1").rho, "1e-8"),
    ),
]


@pytest.mark.parametrize(("losses", "composed"), MIXED, ids=str)
def test_mixed_losses_meet_in_the_first_measure_that_takes_them(
    losses: list[Loss], composed: Loss
) -> None:
    """The common measure is one that theorems take every loss to."""
    assert ConComp([RandomWord(loss) for loss in losses]).privacy_map(1) == composed


def test_a_measure_may_be_asked_for() -> None:
    """In a given measure every map is stated in it."""
    composed = ConComp([Toy(), Toy()])
    assert composed.privacy_map(1, ApproxDP) == ApproxDP("0.2", 0)
    with pytest.raises(ValueError, match="no theorem"):
        ConComp([Toy(ZCDP(1))]).privacy_map(1, PureDP)


def test_an_empty_composition_loses_nothing() -> None:
    """No mechanisms, no loss."""
    assert ConComp([]).privacy_map(1) == PureDP(0)


def test_with_an_odometer_there_is_no_claim() -> None:
    """An odometer among the mechanisms makes the composition one: no loss of its own."""
    composed = ConComp([Toy(), OdomCon(PureDP)])
    with pytest.raises(PrivacyClaimError):
        composed.privacy_map(1)
    q = Queryable(composed, None)
    with pytest.raises(QueryError):
        q.privacy_loss()
    odometer = q.opening[1]
    odometer(RandomWord())
    assert odometer.privacy_loss() == TENTH


def test_a_free_delta_is_what_the_others_leave() -> None:
    """Rogers 2023, Theorem 2, with a zCDP filter: epsilons add, at the sum of the deltas.

    The optimal composition of the two takes off less than a thousandth.
    """
    beside = ConComp([ExPost(ApproxDP(1, "1e-7")), FiltCon(ZCDP("1/10"))], delta="1e-6")
    loss: Any = beside.privacy_map(1)
    alone: Any = ZCDP("1/10").to(ApproxDP, "9e-7")
    assert loss.delta == Fraction("1e-6")
    assert Fraction(999, 1000) < loss.epsilon / (1 + alone.epsilon) <= 1
    shared: Any = ConComp(
        [FiltCon(ZCDP(1)), FiltCon(GDP(1)), Toy(ApproxDP("0.1", "1e-6"))], delta="5e-6"
    )
    each = [loss.to(ApproxDP, "2e-6") for loss in (ZCDP(1), GDP(1))]
    apart = sum((loss.epsilon for loss in each), start=Fraction(1, 10))
    together = ApproxZCDP(Fraction(3, 2), 0) + ApproxDP("0.1", "1e-6").to(ApproxZCDP)
    assert shared.privacy_map(1) == together.to(ApproxDP, "5e-6")
    assert shared.privacy_map(1).epsilon < apart
    assert "mixed children" in shared.guarantee().theorem
    assert beside.privacy_map(0) == ApproxDP(0, 0)
    with pytest.raises(ValueError, match="it should be larger"):
        ConComp([ExPost(ApproxDP(1, "1e-6")), FiltCon(ZCDP(1))], delta="1e-6").privacy_map(1)


@pytest.mark.parametrize(
    "loss", [RDP.at(2, 8, 32).from_loss(ZCDP("1/50")), ZCDP("1/50"), GDP("1/5"), RDP(20, "1/3")]
)
def test_a_plan_is_converted_once(loss: Any) -> None:
    """Declared in advance, losses are composed in their measure, and the total is converted."""
    plan: Any = ConComp([Toy(loss)] * 10, delta="1e-6").privacy_map(1)
    alone = [loss.to(ApproxDP, "1e-7")] * 10
    assert plan == total([loss] * 10, loss.measure).to(ApproxDP, "1e-6")
    assert plan.epsilon < optimal_epsilon(alone, "1e-6")


def test_the_open_problem_is_refused_at_construction() -> None:
    """Interactive approximate zCDP with delta > 0 may not interleave here either."""
    with pytest.raises(UnprovenCompositionError):
        ConComp([Toy(), Toy(ApproxZCDP(1, "1e-6"))])
    ConComp([Toy(), RandomWord(ApproxZCDP(1, "1e-6"))])


def test_wrong_queries_change_nothing() -> None:
    """Nonsense, launches and unknown children are `QueryError`s."""
    composed = ConComp([Toy(), RandomWord()])
    state, _ = composed.init(None, COINS)
    wrong = [
        *ILLEGAL,
        Launch(Toy()),
        *[Ask(0, each) for each in ILLEGAL],
        *[Ask(each, "bits") for each in (*ILLEGAL, 1, 2, -1, "0")],
        PrivacyLossQuery(True),
    ]
    for query in wrong:
        with pytest.raises(QueryError):
            composed.step(state, query, COINS)
    assert composed.step(state, Ask(0, "bits"), COINS)[1] == 0
    with pytest.raises(UnknownChildError):
        composed.step(state, Ask(1, "bits"), COINS)


def test_it_nests() -> None:
    """A ConComp in a filter is charged its sum; a filter in it takes launches."""
    q = Queryable(FiltCon(PureDP(1)), None)
    child = q(ConComp([Toy(), FiltCon(PureDP("0.5"))]))
    assert q.privacy_loss() == PureDP("0.6")
    leaf, filtered = child.opening
    assert filtered(RandomWord())
    assert leaf.ask("bits") == 0
    assert leaf.privacy_loss() == TENTH
    assert isinstance(filtered.ask(Launch(Toy())), Queryable)
    assert Launched(0, None) == q.view[0].answer.answer[0]
