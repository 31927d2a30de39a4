"""Children: their ids, their claims, and what is logged of them."""

from array import array
from fractions import Fraction
from typing import Any

import pytest
from immutables import Map

from composition import FiltCon, OdomCon, accumulator_of
from composition.compositors.children import reported, require_live
from composition.compositors.claims import Claim, claim_of, map_at, parsed
from composition.compositors.logged import LoggedClaims, with_logged
from composition.rules import Whitehouse2023
from mechanisms import Gaussian
from queryable import (
    FDP,
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    Launch,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Statistic,
)
from queryable.conversation import Live
from queryable.conversation.steps import NO_CHILDREN, Child
from queryable.errors import RetiredChildError, UnknownChildError
from queryable.losses import Dominated
from tests.strategies import TENTH, BrokenMap, RandomWord, Toy, raising


@pytest.mark.parametrize("query", [PrivacyLossQuery(), PrivacyLossQuery(2)])
def test_the_loss_of_a_leaf_is_its_claim(query: PrivacyLossQuery) -> None:
    """The parent answers for a leaf, from the frozen claim; nothing is counted."""
    wide = FiltCon(PureDP(9), d_in=2)
    state, _ = wide.init("data")
    state, _ = wide.step(state, Launch(Toy()))
    same, loss = wide.step(state, Ask(0, query))
    assert same is state
    assert loss == PureDP("0.2")


def test_a_report_about_a_child_that_was_not_charged_is_its_privacy_map() -> None:
    """As in compositions that are fixed in advance."""
    for d_in, loss in ((None, PureDP("0.1")), (3, PureDP("0.3")), (0, PureDP(0))):
        assert reported(Toy(), None, PrivacyLossQuery(d_in), 1).answer == loss
    with pytest.raises(QueryError, match="d_in"):
        reported(Toy(), None, PrivacyLossQuery("1"), 1)


LIVE = Live.of(NO_CHILDREN.set(1, Child(Toy(), 0)))


@pytest.mark.parametrize("identity", [True, False, None, 1.0, (0,), [0], PureDP, object()])
def test_an_id_is_an_int_or_a_name(identity: Any) -> None:
    """`True` is not child 1, and an unhashable id is no crash."""
    with pytest.raises(UnknownChildError, match="int or a name"):
        require_live(LIVE, identity, lambda _: Toy())


def test_a_live_id_is_a_plain_one() -> None:
    """The id of a subclass of int is read once."""

    class Number(int):
        """Equals whatever it is compared with."""

        __hash__ = int.__hash__

        def __eq__(self, other: object) -> bool:
            return True

    assert type(require_live(LIVE, Number(1), lambda _: None)) is int
    with pytest.raises(UnknownChildError, match="no interactive child 0"):
        require_live(LIVE, Number(0), lambda _: None)


def test_unknown_and_retired_are_told_apart() -> None:
    """An earlier child is retired; the id of a measurement or of no launch is unknown."""
    earlier = {0: Toy(), 1: RandomWord()}
    none = Live.of(NO_CHILDREN)
    with pytest.raises(RetiredChildError):
        require_live(none, 0, earlier.get)
    for identity in (1, 2, -1, "0"):
        with pytest.raises(UnknownChildError):
            require_live(none, identity, earlier.get)


def test_a_claim_is_the_map_or_larger() -> None:
    """Without a d_out a launch is charged its own map, at the filter's d_in."""
    assert claim_of(Launch(Toy()), PureDP, 1) == Claim(Toy(), TENTH)
    assert claim_of(Launch(Toy()), PureDP, 3).loss == PureDP("0.3")
    assert claim_of(Launch(Toy()), ZCDP, 1).loss == TENTH.to(ZCDP)
    # The analyst may pay more than the map; a d_out of a convertible measure is converted.
    assert claim_of(Launch(Toy(), PureDP("0.5")), PureDP, 1).loss == PureDP("0.5")
    assert claim_of(Launch(Toy(), PureDP("0.5")), ApproxDP, 1).loss == ApproxDP("0.5", 0)
    assert claim_of(Launch(Toy(), TENTH), PureDP, 1).loss == TENTH
    assert map_at(Toy(ZCDP(1)), 2, None) == ZCDP(4)


@pytest.mark.parametrize("mechanism", [None, 3, "laplace", object(), lambda data: 3])
def test_what_is_no_mechanism_is_refused(mechanism: Any) -> None:
    with pytest.raises(QueryError, match=f"not .*{type(mechanism).__name__}"):
        parsed(Launch(mechanism))


def test_advice_for_what_cannot_be_launched() -> None:
    with pytest.raises(QueryError, match=r"^write Toy\(\.\.\), with its arguments: Toy is a class"):
        parsed(Launch(Toy))
    # Adaptively chosen curves do not compose, so no filter has such a budget; a d_out helps.
    with pytest.raises(PrivacyClaimError, match="charges its conversion") as caught:
        claim_of(Launch(Toy(FDP.of_gaussian("0.1"))), ApproxDP, 1)
    assert "budget of FDP" not in str(caught.value)


def test_a_launch_is_read_once() -> None:
    """An instance of a subclass, which may change between two reads, becomes a plain `Launch`."""

    class Shifting(Launch):
        reads = 0

        def __init__(self) -> None:
            object.__setattr__(self, "d_out", None)

        @property
        def mechanism(self) -> Any:
            Shifting.reads += 1
            return Toy() if Shifting.reads == 1 else "another"

    assert parsed(Shifting()).mechanism == Toy()


BROKEN = {
    "raises": lambda d_in, measure: raising(ZeroDivisionError("oh"))(None),
    "another measure": lambda d_in, measure: ZCDP(1),
    "the right measure's class": lambda d_in, measure: PureDP,
    "a number": lambda d_in, measure: 0.1,
    "nothing": lambda d_in, measure: None,
    "too few arguments": lambda: PureDP(0),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_map_is_a_claim_error(how: str) -> None:
    """A map that raises or gives no loss of the measure asked for is refused by name."""
    with pytest.raises(PrivacyClaimError, match="BrokenMap") as caught:
        claim_of(Launch(BrokenMap(map=BROKEN[how])), PureDP, 1)  # type: ignore[arg-type]
    assert caught.value.__cause__ is None


def test_an_odometer_needs_a_d_out() -> None:
    """Without one it has no loss; with one it is the filter at that loss (Lemma 2.19)."""
    with pytest.raises(PrivacyClaimError, match="d_out"):
        claim_of(Launch(OdomCon(PureDP)), PureDP, 1)
    claim = claim_of(Launch(OdomCon(PureDP), PureDP("0.5")), PureDP, 1)
    assert claim == Claim(FiltCon(PureDP("0.5")), PureDP("0.5"))
    # An odometer whose totals are of another measure cannot be held to this d_out.
    odometer = OdomCon(
        ApproxDP, rule=accumulator_of(Whitehouse2023("5e-7"), ApproxDP, delta="1e-6")
    )
    with pytest.raises(PrivacyClaimError, match="OdomCon"):
        claim_of(Launch(odometer, PureDP(1)), ApproxDP, 1)


CONVERTIBLE = [
    (PureDP("0.7"), ApproxDP("0.538", "0.1")),
    (ZCDP("0.01"), ApproxDP("0.65", "1e-6")),
    (ApproxZCDP("0.01", "1e-7"), ApproxDP("0.7", "1e-6")),
    (GDP("0.1"), ApproxDP("0.4", "1e-6")),
    (RDP(20, "0.1"), ApproxDP("0.7", "1e-6")),
    (FDP.of_gaussian("0.1"), ApproxDP("0.41", "1e-6")),
]


@pytest.mark.parametrize(
    ("kind", "own", "d_out"),
    [
        pytest.param(
            *(kind, own, d_out),
            marks=[pytest.mark.slow] if (kind, type(own)) == (RandomWord, FDP) else [],
        )
        for kind in (Toy, RandomWord)
        for own, d_out in CONVERTIBLE
    ],
    ids=lambda each: each.__name__ if isinstance(each, type) else str(each),
)
def test_a_declared_delta_makes_the_conversion_the_proof(kind: Any, own: Any, d_out: Any) -> None:
    """A child whose loss converts to (epsilon, delta) at the declared delta is charged just that.

    Interactive children too, whatever their own measure: for approximate zCDP with a delta there
    is no other way to interleave one.
    """
    for measure in (ApproxDP, ApproxZCDP, Dominated):
        charged = claim_of(Launch(kind(own), d_out), measure, 1).loss
        assert charged == d_out.to(measure)
    below = ApproxDP(own.to(ApproxDP, d_out.delta).epsilon * Fraction(999, 1000), d_out.delta)
    with pytest.raises(PrivacyClaimError, match="below the privacy map"):
        claim_of(Launch(kind(own), below), ApproxDP, 1)
    with pytest.raises(PrivacyClaimError):  # no budget without a delta takes it
        claim_of(Launch(kind(own), d_out), PureDP, 1)


def test_a_converted_child_is_charged_and_reported() -> None:
    """In an (epsilon, delta) filter; for other data its group bound is told."""
    q = Queryable(FiltCon(ApproxDP("1.5", "1e-5")), None)
    child = q.launch(Toy(ZCDP("0.01")), ApproxDP("0.65", "1e-6"))
    assert child.ask("bits") == 0
    assert q.privacy_loss() == child.privacy_loss() == ApproxDP("0.65", "1e-6")
    doubled = ApproxDP("0.65", "1e-6").group(2)
    assert q.privacy_loss(2) == child.privacy_loss(2) == doubled
    assert q.privacy_loss(0) == ApproxDP(0, 0)
    q.launch(FiltCon(ZCDP("0.01")), ApproxDP("0.65", "1e-6"))
    with pytest.raises(QueryRefusedError):
        q.launch(Toy(ZCDP("0.01")), ApproxDP("0.65", "1e-6"))


SIZE = Gaussian(Statistic(len, l1=1, l2=1), rho=1)


def claim(number: int) -> Claim:
    return Claim(SIZE, ZCDP(number))


def numbers(claims: LoggedClaims) -> list[int]:
    return [int(each.loss.rho) for each in claims.values()]  # type: ignore[attr-defined]


def test_known_and_logged_claims_alternate() -> None:
    known = Map({0: claim(7)})
    first = with_logged(known, [10, 11], claim)
    second = first.set(3, claim(8))
    third = with_logged(second, [12], claim)
    assert [numbers(each) for each in (first, second, third)] == [
        [7, 10, 11],
        [7, 10, 11, 8],
        [7, 10, 11, 8, 12],
    ]
    assert [len(each) for each in (first, second, third)] == [3, 4, 5]
    assert third.set(1, claim(9))[1] == claim(9)
    assert third[1] == claim(10)
    # Neither sees what the other has.
    start = with_logged(Map(), [1], claim)
    one, other = start.logged([2, 3]), start.logged([4])
    assert (numbers(one), numbers(other), numbers(start)) == ([1, 2, 3], [1, 4], [1])


def test_logged_claims_are_found_and_compared_by_value() -> None:
    claims = LoggedClaims(claim, array("q", [1]), Map())
    assert [claims.get(child) for child in (-1, 1)] == [None, None]
    with pytest.raises(KeyError):
        claims[1]
    claims = with_logged(Map({0: claim(0)}), [1, 2], claim)
    assert claims == Map({0: claim(0), 1: claim(1), 2: claim(2)})
    assert Map({0: claim(0), 1: claim(1), 2: claim(2)}) == claims
    assert claims != Map({0: claim(0), 1: claim(1), 2: claim(3)})
    assert claims != with_logged(Map(), [0, 1], claim)
