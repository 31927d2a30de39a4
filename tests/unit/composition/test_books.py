"""Books kept from outside equal what the running compositor says, under every rule."""

from contextlib import suppress
from random import Random
from typing import Any

import pytest

from composition import (
    ConComp,
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
from composition.adaptive import AdaptiveComposition
from composition.rules import Additive
from mechanisms import RandomizedResponse
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    Launch,
    Loss,
    PureDP,
    Queryable,
    QueryRefusedError,
    Refused,
)
from tests.strategies import Toy

BUDGET = ApproxDP(1, "1e-6")


class Bell(Toy):
    """A toy that claims Gaussian DP."""

    def loss(self, d_in: int) -> Loss:
        return GDP("1/10").group(d_in)


CASES = {
    "pure": (FiltCon(PureDP(1)), RandomizedResponse(bool, odds=2)),
    "approx": (FiltCon(BUDGET), RandomizedResponse(bool, epsilon="0.1", delta="1e-7")),
    "zcdp": (FiltCon(ZCDP(1)), RandomizedResponse(bool, odds=2)),
    "gdp": (FiltCon(GDP(1)), Bell()),
    "rdp": (FiltCon(RDP(8, 1)), Toy()),
    "Whitehouse2023": (FiltCon(BUDGET, Whitehouse2023()), Toy()),
    "Rogers2016": (
        FiltCon(ApproxDP(1, "1e-6"), Rogers2016()),
        RandomizedResponse(bool, odds="1.01"),
    ),
    "ViaZCDP": (FiltCon(BUDGET, ViaZCDP("5e-7")), RandomizedResponse(bool, odds="1.1")),
    "ViaGDP": (FiltCon(BUDGET, ViaGDP()), Bell()),
    "GDPResidue": (FiltCon(BUDGET, GDPResidue()), Bell()),
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


def root_books(q: Queryable) -> Any:
    return q._root.history().root.books


@pytest.mark.parametrize("case", CASES)
def test_every_rule(case: str) -> None:
    """Launches until some are refused; after each, the ledger's total is the report."""
    compositor, mechanism = CASES[case]
    q, random = Queryable(compositor, True), Random(1)
    refused = 0
    for _ in range(25):
        remaining, launched = root_books(q).remaining(), 0
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
    share = q._root.history().root.share
    assert share is None if isinstance(compositor, OdomCon) else 0 < share <= 1


def test_a_d_out_is_what_was_claimed() -> None:
    q = Queryable(FiltCon(ZCDP(1)), True)
    q.launch(Toy(), d_out=PureDP("0.5"))
    (row,) = q.ledger()
    assert row.claim == PureDP("0.5")
    assert row.loss == row.total == q.privacy_loss()


def test_an_odometer_with_a_d_out_is_the_filter_that_it_runs_as() -> None:
    q = Queryable(FiltCon(ZCDP(1)), True)
    child = q.launch(OdomCon(ZCDP), d_out=ZCDP("1/4"))
    child.launch(Toy())
    assert [row.mechanism for row in q.ledger()] == ["FiltCon", "Toy"]
    assert child.ledger()[0].total == child.privacy_loss()


class Charging(FiltCon):
    """A filter that charges nothing."""

    def _launch(self, state: Any, launch: Launch, coins: Any) -> Any:
        return state, None


def test_who_charges_in_its_own_way_has_no_books_of_ours() -> None:
    """Or a ledger would tell what was not charged."""
    assert Charging(PureDP(1)).books() is None
    assert AdaptiveComposition.books(FiltCon(PureDP(1))) is not None


def test_what_is_fixed_has_no_launches() -> None:
    q = Queryable(ConComp([Toy(), RandomizedResponse(bool, odds=2)]), True)
    assert len(q.ledger()) == 0
    assert [node.status for node in q._root.history().root.children] == ["live", "answered"]
