"""What receipts say equals what the running compositor says, under every rule."""

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from composition import (
    ConComp,
    ExPost,
    Filt,
    FiltCon,
    FiltSeq,
    GDPResidue,
    Menu,
    OdomCon,
    OneSidedMixtureOdometer,
    Rogers2016,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    filter_of,
)
from composition.rules import Additive
from mechanisms import Count, Laplace, LaplaceNoiseReduction, RandomizedResponse
from mechanisms.refinement.refine_queries import Refine
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    Ask,
    FromMechanism,
    InteractiveError,
    Launch,
    Launched,
    PureDP,
    Queryable,
    QueryRefusedError,
    Refused,
    interact,
)
from queryable.display.history import TreeHistory
from queryable.errors import RetiredChildError
from queryable.losses import ExPostBound
from queryable.receipts import own_loss
from tests.audit.toys import script
from tests.strategies import Courier, Faulty, Toy, raising

BELL = Toy(GDP("1/10"))
BUDGET = ApproxDP(1, "1e-6")
CASES = {
    "pure": (FiltCon(PureDP(1)), RandomizedResponse(bool, odds=2)),
    "approx": (FiltCon(BUDGET), RandomizedResponse(bool, epsilon="0.1", delta="1e-7")),
    "zcdp": (FiltCon(ZCDP(1)), RandomizedResponse(bool, odds=2)),
    "gdp": (FiltCon(GDP(1)), BELL),
    "rdp": (FiltCon(RDP(8, 1)), Toy()),
    "Whitehouse2023": (FiltCon(BUDGET, Whitehouse2023()), Toy()),
    "Rogers2016": (
        FiltCon(ApproxDP(1, "1e-6"), Rogers2016()),
        RandomizedResponse(bool, odds="1.01"),
    ),
    "ViaZCDP": (FiltCon(BUDGET, ViaZCDP("5e-7")), RandomizedResponse(bool, odds="1.1")),
    "ViaGDP": (FiltCon(BUDGET, ViaGDP()), BELL),
    "GDPResidue": (FiltCon(BUDGET, GDPResidue()), BELL),
    "ViaRenyi": (FiltCon(BUDGET, ViaRenyi([4, 16, 64])), Toy()),
    "Menu": (FiltCon(BUDGET, Menu("0.1", [1, 2])), Toy()),
    "filter_of": (FiltCon(ZCDP(1), filter_of(Additive(ZCDP))), Toy()),
    "sequential": (FiltSeq(PureDP(1)), Toy()),
    "noninteractive": (Filt(PureDP(1)), RandomizedResponse(bool, odds=2)),
    "odometer": (OdomCon(ZCDP), Toy()),
    "time-uniform": (OdomCon(ZCDP, OneSidedMixtureOdometer("1e-6", 1)), Toy()),
    "time-uniform filter": (
        FiltCon(ApproxDP(3, "1e-6"), filter_of(OneSidedMixtureOdometer("1e-6", "1/10"))),
        Toy(),
    ),
    "d_in": (FiltCon(PureDP(1), d_in=3), Toy()),
}


def root_account(q: Queryable) -> Any:
    return q.node.account


@pytest.mark.parametrize("case", CASES)
def test_every_rule(case: str) -> None:
    """Launches until some are refused; after each, the ledger's total is the report."""
    compositor, mechanism = CASES[case]
    q, random = Queryable(compositor, True), Random(1)
    refused = 0
    for _ in range(25):
        remaining, launched = root_account(q).remaining(), 0
        with suppress(QueryRefusedError):
            q.launch(mechanism)
            launched = 1
        refused += 1 - launched
        answer = q.view[-1].answer
        if isinstance(answer, Refused) and remaining is not None:
            assert remaining == answer.remaining
        if random.random() < 0.4:
            assert q.ledger()[-1].total == q.privacy_loss()
    rows = q.ledger()
    assert rows[-1].total == q.privacy_loss()
    assert [row.outcome for row in rows].count("refused") == refused
    assert len(rows) == 25
    share = q.node.share
    assert share is None if isinstance(compositor, OdomCon) else 0 < share <= 1


def test_a_d_out_is_what_was_claimed() -> None:
    q = Queryable(FiltCon(ZCDP(1)), True)
    q.launch(Toy(), d_out=PureDP("0.5"))
    (row,) = q.ledger()
    assert row.claim == PureDP("0.5")
    assert row.loss == row.total == q.privacy_loss()
    q = Queryable(FiltCon(ZCDP(1)), True)
    child = q.launch(OdomCon(ZCDP), d_out=ZCDP("1/4"))
    child.launch(Toy())
    assert [row.mechanism for row in q.ledger()] == ["FiltCon", "Toy"]
    assert child.ledger()[0].total == child.privacy_loss()


class Charging(FiltCon):
    """A filter that charges nothing."""

    def _launch(self, state: Any, launch: Launch, coins: Any) -> Any:
        return state, None


def test_what_has_no_account_no_launches_or_no_loss() -> None:
    """A tree would otherwise show charges that were not made."""
    assert Charging(PureDP(1)).account() is None
    assert FiltCon(PureDP(1)).account() is not None
    q = Queryable(ConComp([Toy(), RandomizedResponse(bool, odds=2)]), True)
    assert len(q.ledger()) == 0
    assert [node.status for node in q.node.children] == ["live", "answered"]
    assert own_loss(OdomCon(PureDP)) is None
    assert own_loss(Toy(), 2) == PureDP("0.2")


# What is realised.

DATA = [0] * 100


def reduction(last: str = "0.5") -> LaplaceNoiseReduction:
    return LaplaceNoiseReduction(Count(), epsilons=["0.1", "0.2", last])


@pytest.mark.parametrize("budget", [PureDP("1.2"), ApproxDP("1.2", "1e-6")], ids=str)
@pytest.mark.parametrize("nested", [False, True])
def test_receipts_follow_realised_charges(budget: Any, nested: bool) -> None:
    """Reductions, ordinary children and refusals, interleaved at random; three sessions."""
    for seed in range(3):
        random = Random(seed)
        root = Queryable(FiltCon(budget) if nested else ExPost(budget), DATA)
        q = root.launch(ExPost(budget)) if nested else root
        children: list[Any] = []
        for _ in range(20):
            with suppress(QueryRefusedError, RetiredChildError):
                step = random.random()
                if step < 0.25:
                    children.append(q.launch(reduction(random.choice(["0.3", "0.5"]))))
                elif step < 0.35:
                    q.launch(Laplace(Count(), epsilon="0.05"))
                elif children:
                    random.choice(children).ask(Refine())
            assert q.node.account is not None
            assert q.node.account.total() == q.privacy_loss()
        for child in children:
            with suppress(InteractiveError):
                assert child.node.reported in (None, child.privacy_loss())


def test_what_is_refused_halted_or_failed_is_charged_as_told() -> None:
    q = Queryable(ExPost(PureDP("0.15")), DATA)
    child = q.launch(reduction())
    child.ask(Refine())
    with pytest.raises(QueryRefusedError):
        child.ask(Refine())
    assert q.node.account is not None
    assert q.node.account.total() == q.privacy_loss()
    assert "last reported ExPostBound(loss <= 0.1" in q.tree()
    # Also for launches that would have fitted the budget.
    q = Queryable(ExPost(PureDP("0.3"), on_exceed="halt"), DATA)
    child = q.launch(reduction())
    child.ask(Refine())
    for scale in ("2", None):
        with pytest.raises(QueryRefusedError, match="halted"):
            child.ask(Refine(scale))
        assert q.node.spent == q.privacy_loss() == ExPostBound("0.1", 0)
    q = Queryable(ExPost(PureDP(1)), DATA)
    with pytest.raises(InteractiveError):
        q.launch(Faulty(raising(ValueError()), at_launch=True))
    (row,) = q.ledger()
    assert (row.outcome, row.loss) == ("failed", PureDP("0.1"))
    assert row.total == q.privacy_loss()


# Where receipts are, and where not.


def test_receipts_are_neither_compared_nor_printed() -> None:
    q = Queryable(FiltCon(PureDP(1)), True)
    q.launch(Toy())
    (exchange,) = q.view
    assert exchange.answer.receipt.charged == PureDP("0.1")
    assert exchange.answer == Launched(0, None)
    assert hash(exchange.answer) == hash(Launched(0, None))
    assert repr(exchange.answer) == "Launched(child=0, answer=None)"


def test_views_have_plain_answers_with_receipts_beside_them() -> None:
    """As in `interact`, whose views show the same tree."""
    q = Queryable(FiltCon(PureDP(1)), DATA)
    child = q.launch(ExPost(PureDP("0.5"))).launch(reduction())
    value = child.ask(Refine())
    assert q.view[-1].answer == value
    (receipt,) = q.view[-1].receipts
    assert (receipt.child, receipt.realised, receipt.nested) == (0, ExPostBound("0.1", 0), 0)
    queries = [Launch(reduction()), Ask(0, Refine())]
    view = interact(ExPost(PureDP(1)), DATA, script(*queries))
    root = TreeHistory(ExPost(PureDP(1)), view.opening, enumerate(view), {}).root
    assert root.spent == root.children[0].spent == ExPostBound("0.1", 0)


def test_a_person_gets_plain_answers() -> None:
    heard: list[Any] = []

    class Listening(Courier):
        def step(self, state: Any, message: Any, coins: Any) -> Any:
            if isinstance(message, FromMechanism):
                heard.append(message.answer)
            return super().step(state, message, coins)

    q = Queryable(Listening() @ ExPost(PureDP(1)), DATA)
    q.launch(reduction()).ask(Refine())
    assert len(heard) == 3
    assert q.view[-1].receipts == ()


def test_a_refusal_in_a_halted_filter_shows_its_total() -> None:
    q = Queryable(FiltCon(PureDP("0.1"), on_exceed="halt"), None)
    q.launch(Toy())
    for _ in range(2):
        with pytest.raises(QueryRefusedError, match="halted"):
            q.launch(Toy())
    tenth = PureDP("0.1")
    assert [(row.loss, row.total) for row in q.ledger()] == [
        (tenth, tenth),
        (tenth, tenth),
        (None, tenth),
    ]


def test_a_count_limit_is_refused_alike_by_every_filter() -> None:
    errors = []
    for filtered in (FiltCon, ExPost):
        q = Queryable(filtered(PureDP(1), max_mechanisms=0), DATA)
        with pytest.raises(QueryRefusedError) as error:
            q.launch(Toy())
        errors.append((str(error.value), error.value.instead))
    assert errors[0] == errors[1]
