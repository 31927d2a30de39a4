"""Verdicts: true claims hold, false ones are refuted with a witness that can be replayed."""

import sys
from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import ConComp
from mechanisms import Gaussian, Laplace, SparseVector
from queryable import (
    FDP,
    GDP,
    RDP,
    SYSTEM,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Coins,
    InteractiveMechanism,
    Measurement,
    PrivacyClaimError,
    PureDP,
    SeededCoins,
    Statistic,
)
from queryable.audit import (
    NotEnumerable,
    Outcome,
    Renyi,
    audit,
    hockey_stick,
    view_law,
    worst_case,
    zcdp,
)
from queryable.audit.claims import DELTAS, DeltaAt, points_of
from queryable.losses.conversions import gdp_delta
from queryable.losses.numbers import shown
from queryable.randomness.laws import FairBits, Law, UniformBelow
from queryable.view import View
from tests.audit.toys import PadReveal, Response, TwoRounds, nats, reader, script

F = Fraction
BITS = [(0, 1)]
ASKS = {"queries": ("key", "sum"), "horizon": 2}
COUNT = Statistic(lambda data: data, l1=1, l2=1)
THREE = PureDP(nats(3))


def in_every_measure(scale: Fraction) -> list[Any]:
    """Claims that are true of a response at odds 3 at scale 1, and false at smaller scales."""
    rho, mu = THREE.to(ZCDP).rho, THREE.to(GDP).mu  # type: ignore[attr-defined]
    at = [RDP(a, scale * THREE.to(RDP.at(a)).epsilon) for a in (2, 4)]  # type: ignore[attr-defined]
    return [
        PureDP(scale * nats(3)),
        ApproxDP(scale * nats(3), 0),
        ZCDP(scale * rho),
        ApproxZCDP(scale * rho, 0),
        GDP(scale * mu),
        FDP.of_approx(scale * nats(3)),
        *at,
        PureDP(scale * nats(3)).to(RDP.at(2, 4)),
    ]


@pytest.mark.parametrize("claim", in_every_measure(F(1)), ids=str)
def test_a_true_claim_holds_in_every_measure(claim: Any) -> None:
    """The exact law of the measurement satisfies a tight claim."""
    verdict = audit(Response(3), BITS, claim=claim)
    assert (verdict.outcome, verdict.witness) == (Outcome.HOLDS, None)
    assert str(verdict).startswith("holds: Response(")


@pytest.mark.parametrize("claim", in_every_measure(F(9, 10)), ids=str)
def test_a_false_claim_is_refuted_in_every_measure(claim: Any) -> None:
    """A claim of nine tenths of the true loss is refuted."""
    assert audit(Response(3), BITS, claim=claim).refuted


@pytest.mark.parametrize("claim", in_every_measure(F(1)), ids=str)
def test_true_claims_hold_against_all_adversaries(claim: Any) -> None:
    """The pad reveals the same response to adversaries that ask twice."""
    assert audit(PadReveal(3), BITS, claim=claim, **ASKS).holds


@pytest.mark.parametrize("claim", in_every_measure(F(9, 10)), ids=str)
def test_false_claims_are_refuted_by_an_adversary(claim: Any) -> None:
    """Nine tenths is refuted in every measure, but only with both queries."""
    assert audit(PadReveal(3), BITS, claim=claim, **ASKS).refuted
    once = audit(PadReveal(3), BITS, claim=claim, queries=("key", "sum"), horizon=1)
    assert once.holds


def test_approximate_concentration_is_checked_by_its_profile() -> None:
    """A response that reveals the bit with probability 1/10 exceeds delta = 1/100."""
    leaky = Response(3, delta="1/10")
    assert audit(leaky, BITS, claim=ApproxDP(nats(3), F(1, 10)).to(ApproxZCDP)).holds
    assert audit(leaky, BITS, claim=ApproxZCDP(1, F(1, 100))).refuted
    assert audit(leaky, BITS, claim=ZCDP(5)).refuted


def test_the_witness_replays() -> None:
    """Its pair and adversary, run again, exceed the bound that it names."""
    verdict = audit(TwoRounds(), BITS, queries=("next",), horizon=2, claim=PureDP(nats(2)))
    witness = verdict.witness
    assert witness is not None
    assert witness.adversary is not None
    p, q = (view_law(TwoRounds(), x, witness.adversary) for x in (witness.x, witness.x_prime))
    assert hockey_stick(p, q, nats(2)) > F(1, 10)
    assert "ask 'next'" in str(verdict)
    # The least epsilon that holds is reported.
    verdict = audit(Response(3, stated=2), BITS)
    witness = verdict.witness
    assert witness is not None
    assert len(witness.views) == 1
    assert witness.epsilon == nats(3)
    assert "witness: the event that the answers are" in str(verdict)


def test_all_adversaries_directions_and_pairs_are_checked() -> None:
    verdict = audit(PadReveal(3), BITS, claim=PureDP(1), **ASKS)
    assert {finding.epsilon for finding in verdict.findings} == {nats(3)}
    assert f"the least epsilon at that delta is {shown(nats(3))}" in str(verdict)
    assert audit(PadReveal(3), BITS, claim=PureDP(nats(3)), **ASKS).holds
    # Only its view is examined: asking for the key twice reveals nothing.
    claim = PureDP("1/2")
    assert audit(PadReveal(3), BITS, claim=claim, adversary=script("key", "key")).holds
    assert audit(PadReveal(3), BITS, claim=claim, adversary=script("sum", "key")).refuted
    for pairs in ([(0, 0), (0, 1)], [(1, 0), (1, 1)]):
        verdict = audit(OneSided(), pairs)
        assert verdict.refuted
        assert (verdict.witness.x, verdict.witness.x_prime) == (1, 0)  # type: ignore[union-attr]
    assert audit(OneSided(), [(0, 0), (1, 1)]).holds


@pytest.mark.parametrize("rho", [F(1001, 1000), F(999, 1000)])
def test_zero_concentration_is_checked_over_all_orders(rho: Any) -> None:
    """A response is worst near order 1; its value at order 2 is far lower."""
    tight = THREE.to(ZCDP).rho  # type: ignore[attr-defined]
    verdict = audit(PadReveal(3), BITS, claim=ZCDP(rho * tight), **ASKS)
    assert verdict.outcome is (Outcome.HOLDS if rho > 1 else Outcome.REFUTED)
    at_two = worst_case(PadReveal(3), *BITS[0], *ASKS.values(), Renyi(2)).value  # type: ignore[arg-type]
    assert F(at_two) / 2 < F(8, 10) * tight
    if verdict.witness:
        adversary = verdict.witness.adversary
        p, q = (view_law(PadReveal(3), bit, adversary) for bit in BITS[0])  # type: ignore[arg-type]
        assert zcdp(p, q) > rho * tight


@pytest.mark.parametrize("claim", [1, "1/2", None.__class__, PureDP])
def test_a_claim_is_a_loss(claim: Any) -> None:
    """A number is ambiguous."""
    with pytest.raises(TypeError, match="should be a privacy loss"):
        audit(PadReveal(3), BITS, claim=claim, **ASKS)


@attrs.frozen
class OneSided(Measurement):
    """Answers True only if the bit is set, and then with probability 1/10."""

    def loss(self, d_in: int) -> PureDP:
        return PureDP(1)

    def release(self, dataset: Any, coins: Coins) -> Any:
        return bool(dataset) and coins.draw(UniformBelow(10)) == 0


@pytest.mark.parametrize("mechanism", [Laplace(COUNT, epsilon=1), Gaussian(COUNT, rho="1/2")])
def test_noise_holds_up_to_its_tails(mechanism: Any) -> None:
    """Tails count as delta; nine tenths of the loss is refuted despite the tails."""
    verdict = audit(mechanism, BITS)
    assert verdict.holds
    own = mechanism.privacy_map(1)
    less = own.of_parts(tuple(part * 9 / 10 for part in own.parts))
    assert audit(mechanism, BITS, claim=less).refuted


def test_noise_in_other_measures() -> None:
    """Laplace's zCDP bound is tight, and so is its check."""
    laplace = Laplace(COUNT, epsilon=1)
    stated = laplace.privacy_map(1, ZCDP)
    assert audit(laplace, BITS, claim=stated).holds
    assert audit(laplace, BITS, claim=ZCDP(stated.rho * 99 / 100)).refuted  # type: ignore[attr-defined]
    gaussian = Gaussian(COUNT, rho="1/2")
    assert audit(gaussian, BITS, claim=gaussian.privacy_map(1, RDP.at(2, 8))).holds
    assert audit(gaussian, BITS, claim=RDP(2, "0.999")).refuted
    # With a coarse tail a true claim is neither proved nor refuted; both bounds are shown.
    verdict = audit(Laplace(COUNT, epsilon=1), BITS, tail="1/100")
    assert verdict.outcome is Outcome.NOT_REFUTED
    assert "is between 0 and" in str(verdict)


@attrs.frozen
class Noisy(InteractiveMechanism[Any]):
    """Answers every query with fresh Laplace noise."""

    def loss(self, d_in: int) -> PureDP:
        return PureDP(1)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return dataset, None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return state, Laplace(COUNT, epsilon=1).release(state, coins)


def test_infinite_noise_cannot_be_searched_but_an_adversary_can_be_named() -> None:
    """One query is within the claim, two are not."""
    with pytest.raises(NotEnumerable, match="infinite support"):
        audit(Noisy(), BITS, queries=("?",), horizon=1)
    assert audit(Noisy(), BITS, adversary=script("?"), tail="1e-11").holds
    assert audit(Noisy(), BITS, adversary=script("?", "?"), tail="1e-3").refuted


@attrs.frozen
class Endless(Law[int]):
    """A fair coin that cannot be enumerated."""

    def sample(self, source: FairBits) -> int:
        return source.bits(1)


@attrs.frozen
class Opaque(Measurement):
    """The bit, flipped with probability 1/4 by coins that cannot be enumerated."""

    def loss(self, d_in: int) -> PureDP:
        return THREE

    def release(self, dataset: Any, coins: Coins) -> Any:
        return bool(dataset) ^ (coins.draw(Endless()) + coins.draw(Endless()) == 2)


def test_what_cannot_be_enumerated_is_sampled() -> None:
    options: dict[str, Any] = {"samples": 4000, "coins": SeededCoins(7)}
    true = audit(Opaque(), BITS, **options)
    assert true.outcome is Outcome.NOT_REFUTED
    assert "confidence 0.999" in str(true)
    false = audit(Opaque(), BITS, claim=PureDP("1/2"), **options)
    assert false.refuted
    event = false.witness.event  # type: ignore[union-attr]
    assert F(1, 2) < event.epsilon < nats(3)  # type: ignore[union-attr]
    assert "witness: the event [view in" in str(false)


def test_the_profile_of_every_measure_is_implied() -> None:
    for claim in (ZCDP("1/2"), RDP(4, 1), GDP(1), ApproxZCDP("1/2", F(1, 100))):
        points = points_of(claim)
        assert len(points) >= len(DELTAS)
        assert all(isinstance(point, DeltaAt) and point.bound <= 1 for point in points)
    for point in points_of(GDP(1)):
        assert gdp_delta(F(1), point.epsilon) <= point.bound <= gdp_delta(F(1), point.epsilon) * 2


def nothing(view: View) -> None:
    """Asks no query."""


def test_bad_audits_are_refused() -> None:
    """No pairs, no claim, confidence 1, or a search that is too large."""
    with pytest.raises(ValueError, match="pairs is empty"):
        audit(Response(3), [])
    with pytest.raises(PrivacyClaimError):
        audit(ConComp([Unclaimed()]), BITS, adversary=nothing)
    with pytest.raises(ValueError, match="confidence"):
        audit(Response(3), BITS, confidence=1)
    with pytest.raises(ValueError, match="beliefs"):
        audit(PadReveal(3), BITS, limit=3, **ASKS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "PadReveal is interactive; pass queries and a horizon, or an adversary"),
        ({"queries": ("key", "sum")}, "needs a horizon"),
        ({"horizon": 2}, "needs queries"),
        ({**ASKS, "adversary": nothing}, "not both"),
        ({"queries": ("keys", "sums"), "horizon": 2}, "no query is legal at any point: 'keys'"),
    ],
)
def test_an_incomplete_audit_is_refused(given: Any, message: str) -> None:
    """Otherwise a claim would hold only because no query was asked."""
    with pytest.raises(ValueError, match=message):
        audit(PadReveal(3, stated=1), BITS, **given)
    opening = audit(PadReveal(3, stated=1), BITS, adversary=nothing)
    assert opening.holds
    assert "the adversary's view" in opening.method


def test_queries_that_are_never_legal_are_reported() -> None:
    verdict = audit(PadReveal(3), BITS, queries=("key", "sums", "sum"), horizon=2)
    assert verdict.holds
    assert "3 queries, horizon 2; never legal: 'sums'" in str(verdict)
    assert "never" not in str(audit(PadReveal(3), BITS, **ASKS))
    # After the bit is revealed no query is asked; queries are not reported as illegal.
    verdict = audit(Blunt(), BITS, queries=("?",), horizon=2)
    assert verdict.refuted
    assert "never legal" not in str(verdict)


@pytest.mark.parametrize("claim", [PureDP(1), ApproxDP(1, "1/2"), ZCDP(1), RDP(2, 1), GDP(1)])
def test_noise_that_hides_nothing_is_refuted_in_every_measure(claim: Any) -> None:
    """The enumerated parts of both laws are disjoint, because the values are far apart."""
    verdict = audit(Laplace(COUNT, epsilon=1), [(0, 10**6)], claim=claim)
    assert verdict.refuted
    assert " is 0" not in str(verdict)


def test_a_sparse_vector_is_audited_with_its_infinite_noise() -> None:
    """Hidden noise is followed state by state: three queries take half a second."""
    values = [Statistic(lambda data, i=i: data[i], l1=1, l2=1) for i in (0, 1)]
    options: dict[str, Any] = {
        "adversary": script(values[0], values[1], values[0]),
        "tail": "1e-6",
        "slack": "1e-4",
    }
    verdict = audit(SparseVector(0, epsilon=4), [((0, 0), (1, 1))], **options)
    assert verdict.holds
    assert audit(
        SparseVector(0, epsilon=4), [((0, 0), (1, 1))], claim=PureDP("1/2"), **options
    ).refuted


def test_a_long_adversary_is_printed_in_part() -> None:
    """Its tree has 2**16 lines; the verdict shows the first of them."""
    liar = reader(9, stated=2)
    verdict = audit(liar, BITS, queries=("read",), horizon=16)
    assert verdict.refuted
    assert str(verdict).endswith("... and more")
    assert len(str(verdict)) < 10_000


@attrs.frozen
class Blunt(InteractiveMechanism[Any]):
    """Its opening answer is the bit."""

    def loss(self, d_in: int) -> PureDP:
        return PureDP(1)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return None, dataset

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return None, None


@attrs.frozen
class Unclaimed(InteractiveMechanism[Any]):
    """Has no privacy claim."""

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return None, None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return None, None


def test_the_progress_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off a terminal the bar is shown on request only; without tqdm the extra is named."""
    audit(PadReveal(3), BITS, **ASKS)
    assert capsys.readouterr().err == ""
    audit(PadReveal(3), BITS, progress=True, **ASKS)
    assert "steps" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    audit(PadReveal(3), BITS, **ASKS)
    with pytest.raises(ImportError, match=r"\.\[audit\]"):
        audit(PadReveal(3), BITS, progress=True, **ASKS)
