"""The persons of the proofs, one message at a time. Their laws are compared in tests/audit."""

from typing import Any

import pytest

from composition import Filt, FiltCon
from composition.rules import Additive
from queryable import (
    RDP,
    ZCDP,
    Ask,
    CanAfford,
    FromAnalyst,
    FromMechanism,
    Launch,
    Launched,
    MechanismFault,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Refused,
    SeededCoins,
    ToAnalyst,
    ToMechanism,
    UnknownQueryError,
)
from queryable.errors import UnknownChildError
from queryable.statistics import Bit
from tests.proofs.reductions import (
    AtOrder,
    InductionStep,
    NoninteractiveLaunches,
    WithoutPrivacyLoss,
    WithPrivacyLoss,
)
from tests.strategies import (
    ILLEGAL,
    TENTH,
    Courier,
    Faulty,
    Masker,
    RandomBits,
    RandomWord,
    Toy,
    raising,
)

COINS = SeededCoins(1)


def play(person: Any, state: Any, *messages: Any) -> tuple[Any, list[Any]]:
    """Send the messages; returns the last state and the replies."""
    replies = []
    for message in messages:
        state, reply = person.step(state, message, COINS)
        replies.append(reply)
    return state, replies


# Algorithm 11.


def test_the_measurement_alone_is_launched() -> None:
    """The person over the measurement is kept, and the d_out is forwarded."""
    launch = Launch(Masker() @ RandomWord(), TENTH)
    person = NoninteractiveLaunches()
    _, (reply,) = play(person, person.init(), FromAnalyst(launch))
    assert reply == ToMechanism(Launch(RandomWord(), TENTH))


def test_the_simulated_child_has_its_own_coins() -> None:
    """Two persons draw different coins, and so do two messages to one person."""
    q = Queryable(NoninteractiveLaunches() @ Filt(PureDP(9)), None)
    first, second = q.launch(Masker() @ RandomWord()), q.launch(Masker() @ RandomWord())
    assert first.opening != second.opening
    assert first.opening[1] != second.opening[1]


def test_a_simulated_person_may_not_query_its_measurement() -> None:
    """A measurement answers once, so a query that the person forwards is an unknown query."""
    for mechanism in (FiltCon(PureDP(9)), NoninteractiveLaunches() @ Filt(PureDP(9))):
        q = Queryable(mechanism, None)
        child = q.launch(Courier() @ RandomWord())
        with pytest.raises(UnknownQueryError, match="answers once"):
            child.ask("bits")


def test_refused_launches_make_no_child() -> None:
    """Ids count the launches that ran."""
    q = Queryable(NoninteractiveLaunches() @ Filt(PureDP("0.2")), None)
    q.launch(RandomWord())
    with pytest.raises(QueryRefusedError):
        q.launch(Masker() @ RandomWord(charged=PureDP(1)))
    child = q.launch(Masker() @ RandomWord())
    assert list(q.children) == [1]
    with pytest.raises(UnknownChildError):
        q.ask(Ask(0, "bits"))
    assert isinstance(child.opening, tuple)


def test_other_interactive_mechanisms_have_no_explicit_reduction() -> None:
    """`Filt` refuses a mechanism that is not a person over a measurement."""
    q = Queryable(NoninteractiveLaunches() @ Filt(PureDP(9)), None)
    with pytest.raises(QueryError, match="interactive"):
        q.launch(Toy())


# Algorithm 12.


def test_the_first_launch_starts_the_rest() -> None:
    """The second slot receives a filter for K - 1 with the remaining budget."""
    person = InductionStep(PureDP(1), 4)
    state, replies = play(
        person,
        person.init(),
        FromMechanism(None),
        FromAnalyst(Launch(Toy(PureDP("0.3")))),
        FromMechanism(Launched(0, "opening")),
        FromMechanism(Launched(1, None)),
    )
    assert replies == [
        ToAnalyst(None),
        ToMechanism(Launch(Toy(PureDP("0.3")))),
        ToMechanism(Launch(FiltCon(PureDP("0.7"), max_mechanisms=3))),
        ToAnalyst(Launched(0, "opening")),
    ]
    _, replies = play(person, state, FromAnalyst(Launch(Toy())), FromMechanism(Launched(0, "x")))
    assert replies == [ToMechanism(Ask(1, Launch(Toy()))), ToAnalyst(Launched(1, "x"))]


def test_children_are_renumbered() -> None:
    """Child 0 keeps its id, and child j > 0 is child j - 1 of the second slot."""
    person = InductionStep(PureDP(1), 4)
    _, replies = play(
        person, person.init(), *(FromAnalyst(Ask(child, "bits")) for child in (0, 1, 3))
    )
    assert replies == [
        ToMechanism(Ask(0, "bits")),
        ToMechanism(Ask(1, Ask(0, "bits"))),
        ToMechanism(Ask(1, Ask(2, "bits"))),
    ]


def test_reports_and_refusals_are_about_the_whole_budget() -> None:
    """The first mechanism's loss is added to reports and refusals of the second slot."""
    q = Queryable(InductionStep(PureDP(1), 4) @ FiltCon(PureDP(1), max_mechanisms=2), None)
    q.launch(Toy(PureDP("0.3")))
    q.launch(Toy(PureDP("0.2")))
    assert q.privacy_loss() == PureDP("0.5")
    assert q.privacy_loss(2) == PureDP(1)
    assert q.privacy_loss(0) == PureDP(0)
    assert q.can_afford(Toy(PureDP("0.5")))
    assert not q.can_afford(Toy(PureDP("0.6")))
    with pytest.raises(QueryRefusedError) as refused:
        q.launch(Toy(PureDP("0.6")))
    assert (refused.value.spent, refused.value.remaining) == (PureDP("0.5"), PureDP("0.5"))


def test_the_induction_needs_an_additive_budget() -> None:
    """The remaining budget must be a budget again."""
    with pytest.raises(TypeError, match="budget"):
        InductionStep("1", 3)  # type: ignore[arg-type]


# Algorithm 13.


def test_launches_are_charged_at_the_order() -> None:
    """rho becomes (alpha, rho*alpha), also for a d_out above the map and in a dry run."""
    person = AtOrder(8)
    launch, dry = Launch(Toy(ZCDP("0.1")), ZCDP("0.2")), CanAfford(Launch(Toy(ZCDP("0.1"))))
    _, replies = play(person, None, FromAnalyst(launch), FromAnalyst(dry))
    assert replies == [
        ToMechanism(Launch(Toy(ZCDP("0.1")), RDP(8, "1.6"))),
        ToMechanism(CanAfford(Launch(Toy(ZCDP("0.1")), RDP(8, "0.8")))),
    ]


def test_claims_are_made_at_the_filters_d_in() -> None:
    """For two records rho is four times that for one, in launches and in dry runs."""
    person, launch = AtOrder(8, d_in=2), Launch(Toy(ZCDP("0.1")))
    _, replies = play(person, None, FromAnalyst(launch), FromAnalyst(CanAfford(launch)))
    charged = Launch(Toy(ZCDP("0.1")), RDP(8, "3.2"))
    assert replies == [ToMechanism(charged), ToMechanism(CanAfford(charged))]
    q = Queryable(person @ FiltCon(RDP(8, 4), d_in=2), None)
    q.launch(Toy(ZCDP("0.1")))
    assert q.privacy_loss() == ZCDP("0.4")


def test_losses_come_back_as_zcdp() -> None:
    """Losses in reports and refusals are converted; other answers and orders are unchanged."""
    person = AtOrder(8)
    answers = (RDP(8, 4), RDP(4, 4), Refused("no", RDP(8, 4), None, RDP(8, 0)), "bits")
    _, replies = play(person, None, *map(FromMechanism, answers))
    assert [reply.answer for reply in replies] == [
        ZCDP("0.5"),
        RDP(4, 4),
        Refused("no", ZCDP("0.5"), None, ZCDP(0)),
        "bits",
    ]


def test_a_claim_is_checked_in_zcdp() -> None:
    """A d_out below the zCDP map is refused, though the Renyi map might be below it."""
    person = AtOrder(8)
    with pytest.raises(PrivacyClaimError, match="below the privacy map"):
        person.step(None, FromAnalyst(Launch(Toy(PureDP(3)), ZCDP("0.4"))), COINS)
    assert PureDP(3).to(RDP.at(8)) <= RDP(8, "3.2")


@pytest.mark.parametrize("alpha", [1, 0, -1, "x", None])
def test_an_order_must_be_above_one(alpha: Any) -> None:
    """The same condition holds for Renyi losses."""
    with pytest.raises((TypeError, ValueError), match="alpha"):
        AtOrder(alpha)


# Algorithms 14 and 15.


def test_the_odometer_reports_the_launches_of_the_filter() -> None:
    """The report counts launches that failed, and does not count refused ones."""
    q = Queryable(WithPrivacyLoss(Additive(PureDP)) @ FiltCon(PureDP("0.2")), None)
    assert q.privacy_loss() == PureDP(0)
    child = q.launch(Toy())
    assert q.privacy_loss() == TENTH
    with pytest.raises(QueryRefusedError):
        q.launch(Toy(PureDP(1)))
    assert q.privacy_loss() == TENTH
    with pytest.raises(MechanismFault):
        q.launch(Faulty(raising(RuntimeError()), at_launch=True))
    assert q.privacy_loss() == PureDP("0.2")
    assert child.ask("bits") == 0


def test_a_launch_inside_a_child_is_not_counted() -> None:
    """A child filter charges the launches inside it to its own budget."""
    q = Queryable(WithPrivacyLoss(Additive(PureDP)) @ FiltCon(PureDP(9)), None)
    inner = q.launch(FiltCon(PureDP(1)))
    inner.launch(Toy())
    inner.launch(RandomBits())
    assert q.privacy_loss() == PureDP(1)


def test_the_odometer_still_reports_after_halt() -> None:
    """Halt ends the interaction with the data; reports are still answered."""
    q = Queryable(
        WithPrivacyLoss(Additive(PureDP)) @ FiltCon(PureDP("0.1"), on_exceed="halt"), None
    )
    q.launch(Toy())
    with pytest.raises(QueryRefusedError):
        q.launch(Toy())
    assert q.privacy_loss() == TENTH


@pytest.mark.parametrize("query", [PrivacyLossQuery(), PrivacyLossQuery(2)])
def test_privacy_loss_of_the_whole_is_an_unknown_query(query: Any) -> None:
    """The query is invalid at the root; a child still answers for itself."""
    person = WithoutPrivacyLoss()
    with pytest.raises(UnknownQueryError):
        person.step(None, FromAnalyst(query), COINS)
    _, (reply,) = play(person, None, FromAnalyst(Ask(0, query)))
    assert reply == ToMechanism(Ask(0, query))


@pytest.mark.parametrize("query", [*ILLEGAL, Launch(Bit(bool)), Ask(0, "bits"), CanAfford(3)])
@pytest.mark.parametrize(
    "mechanism",
    [
        NoninteractiveLaunches() @ Filt(PureDP(1)),
        InductionStep(PureDP(1), 3) @ FiltCon(PureDP(1), max_mechanisms=2),
        AtOrder(8) @ FiltCon(RDP(8, 1)),
        WithPrivacyLoss(Additive(PureDP)) @ FiltCon(PureDP(1)),
        WithoutPrivacyLoss() @ FiltCon(PureDP(1)),
    ],
    ids=["11", "12", "13", "14", "15"],
)
def test_wrong_queries_are_rejected_and_change_nothing(mechanism: Any, query: Any) -> None:
    """A query that is wrong for the reduced compositor is wrong here too."""
    state, _ = mechanism.init(None, COINS)
    with pytest.raises(QueryError):
        mechanism.step(state, query, COINS)
