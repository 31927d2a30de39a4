"""The checks of a launch that come before the rule."""

from fractions import Fraction
from typing import Any

import pytest

from composition import FiltCon, OdomCon, accumulator_of
from composition.compositors.claims import Claim, claim_of, map_at, parsed
from composition.rules import Whitehouse2023
from queryable import (
    FDP,
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Launch,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
)
from queryable.losses import Dominated
from tests.strategies import TENTH, BrokenMap, RandomWord, Toy, raising


def test_the_default_claim_is_the_map() -> None:
    """Without a d_out a launch is charged its own map, at the filter's d_in."""
    assert claim_of(Launch(Toy()), PureDP, 1) == Claim(Toy(), TENTH)
    assert claim_of(Launch(Toy()), PureDP, 3).loss == PureDP("0.3")
    assert claim_of(Launch(Toy()), ZCDP, 1).loss == TENTH.to(ZCDP)


def test_a_larger_claim_is_charged_as_claimed() -> None:
    """The analyst may pay more than the map; a d_out of a convertible measure is converted."""
    assert claim_of(Launch(Toy(), PureDP("0.5")), PureDP, 1).loss == PureDP("0.5")
    assert claim_of(Launch(Toy(), PureDP("0.5")), ApproxDP, 1).loss == ApproxDP("0.5", 0)
    assert claim_of(Launch(Toy(), TENTH), PureDP, 1).loss == TENTH


@pytest.mark.parametrize("mechanism", [None, 3, "laplace", object(), lambda data: 3])
def test_what_is_no_mechanism_is_refused(mechanism: Any) -> None:
    """Anything that is not an interactive mechanism is a `QueryError` naming its type."""
    with pytest.raises(QueryError, match=f"not .*{type(mechanism).__name__}"):
        parsed(Launch(mechanism))


def test_the_class_for_an_instance_is_explained() -> None:
    """A class in place of an instance has its own message."""
    with pytest.raises(QueryError, match=r"^write Toy\(\.\.\), with its arguments: Toy is a class"):
        parsed(Launch(Toy))


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


def test_a_d_out_that_an_odometer_cannot_run_within_is_a_claim_error() -> None:
    """An odometer whose totals are of another measure cannot be held to this d_out."""
    odometer = OdomCon(
        ApproxDP, rule=accumulator_of(Whitehouse2023("5e-7"), ApproxDP, delta="1e-6")
    )
    with pytest.raises(PrivacyClaimError, match="OdomCon"):
        claim_of(Launch(odometer, PureDP(1)), ApproxDP, 1)


def test_the_map_at_no_measure_is_the_own_loss() -> None:
    """`map_at` without a measure takes any loss."""
    assert map_at(Toy(ZCDP(1)), 2, None) == ZCDP(4)


CONVERTIBLE = [
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


def test_the_advice_never_names_a_budget_of_curves() -> None:
    """Adaptively chosen curves do not compose, so no filter has such a budget; a d_out helps."""
    with pytest.raises(PrivacyClaimError, match="charges its conversion") as caught:
        claim_of(Launch(Toy(FDP.of_gaussian("0.1"))), ApproxDP, 1)
    assert "budget of FDP" not in str(caught.value)
