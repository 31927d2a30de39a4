"""Fixed children: answers, faults, and a claim that is known before they run."""

from fractions import Fraction
from typing import Any

import pytest

from composition import ConComp, ExPost, FiltCon, OdomCon, Parallel, Partition
from composition.compositors.fixed import known
from composition.compositors.fixed.known import KnownMap
from composition.rules.optimal import optimal_epsilon
from mechanisms import Count, Gaussian, Laplace
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    Failed,
    Launch,
    Launched,
    Loss,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    SeededCoins,
    UnknownQueryError,
    UnprovenCompositionError,
)
from queryable.effort import is_quick, within_effort
from queryable.losses import total
from tests.strategies import LOSSES, TENTH, WORD, Faulty, RandomBits, RandomWord, Toy, raising

COINS = SeededCoins(1)


def test_all_start_at_once() -> None:
    """The opening has each one's `Launched`, in order, each with coins of its own."""
    _, opening = ConComp([RandomBits(), RandomWord(), RandomBits()]).init(None, COINS)
    assert [each.child for each in opening] == [0, None, 2]
    assert [each.answer for each in opening] == [COINS.spawn(n, 0).draw(WORD) for n in range(3)]
    # Its answer in the opening is `Failed()`; the others start.
    bad = Faulty(raising(RuntimeError("secret")), at_launch=True, guarded=False)
    mechanism = ConComp([RandomBits(), bad, RandomBits()])
    state, opening = mechanism.init(None, COINS)
    assert [type(each) is Failed for each in opening] == [False, True, False]
    assert mechanism.step(state, Ask(2, "bits"), COINS)[1]
    # Interactive approximate zCDP with delta > 0 may not interleave here either.
    with pytest.raises(UnprovenCompositionError):
        ConComp([Toy(), Toy(ApproxZCDP(1, "1e-6"))])
    ConComp([Toy(), RandomWord(ApproxZCDP(1, "1e-6"))])


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
    assert ConComp([RandomWord(loss) for loss in losses]).privacy_map(1) == composed


def test_a_measure_may_be_asked_for() -> None:
    composed = ConComp([Toy(), Toy()])
    assert composed.privacy_map(1, ApproxDP) == ApproxDP("0.2", 0)
    with pytest.raises(ValueError, match="no theorem"):
        ConComp([Toy(ZCDP(1))]).privacy_map(1, PureDP)
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
    plan: Any = ConComp([Toy(loss)] * 10, delta="1e-6").privacy_map(1)
    alone = [loss.to(ApproxDP, "1e-7")] * 10
    assert plan == total([loss] * 10, loss.measure).to(ApproxDP, "1e-6")
    assert plan.epsilon < optimal_epsilon(alone, "1e-6")


def test_it_nests() -> None:
    q = Queryable(FiltCon(PureDP(1)), None)
    child = q(ConComp([Toy(), FiltCon(PureDP("0.5"))]))
    assert q.privacy_loss() == PureDP("0.6")
    leaf, filtered = child.opening
    assert filtered(RandomWord())
    assert leaf.ask("bits") == 0
    assert leaf.privacy_loss() == TENTH
    assert isinstance(filtered.ask(Launch(Toy())), Queryable)
    assert Launched(0, None) == q.view[0].answer.answer[0]


FIXED = (
    ConComp([RandomBits(), RandomWord()]),
    Parallel(Partition("k", ["a", "b"]), {"a": RandomBits(), "b": RandomWord()}),
)
DATA = [{"k": "a"}]
both = pytest.mark.parametrize("mechanism", FIXED, ids=["ConComp", "Parallel"])


@both
@pytest.mark.parametrize("query", [Launch(Toy()), "bits", None, ("a", "bits"), 3])
def test_nothing_can_be_launched(mechanism: Any, query: Any) -> None:
    """The children are fixed; only Ask and PrivacyLossQuery are answered."""
    state, _ = mechanism.init(DATA, COINS)
    with pytest.raises(UnknownQueryError, match="Ask and PrivacyLossQuery"):
        mechanism.step(state, query, COINS)


@both
def test_reading_the_loss_changes_nothing(mechanism: Any) -> None:
    """The very state comes back, from the whole and from a child."""
    state, opening = mechanism.init(DATA, COINS)
    for query in (PrivacyLossQuery(), Ask(opening[0].child, PrivacyLossQuery())):
        assert mechanism.step(state, query, COINS)[0] is state


@both
def test_depth_is_bounded(mechanism: Any) -> None:
    """A query nested deeper than the public bound is refused before anything else is looked at."""
    query: Any = "bits"
    for _ in range(101):
        query = Ask(0, query)
    state, _ = mechanism.init(DATA, COINS)
    with pytest.raises(QueryError, match="max_depth=100"):
        mechanism.step(state, query, COINS)


EVEN = Partition(lambda record: record % 2, (0, 1))


class Asked(Toy):
    """A mechanism that counts how often its privacy map is evaluated."""

    times = 0

    def loss(self, d_in: int) -> Loss:
        """The loss, counted."""
        Asked.times += 1
        return super().loss(d_in)


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: ConComp([inner]),
        lambda inner: ConComp([inner, Laplace(Count(), scale=9)], delta="1e-6"),
        lambda inner: Parallel(EVEN, {0: inner, 1: inner}),
    ],
    ids=["ConComp", "ConComp with delta", "Parallel"],
)
def test_levels_evaluate_the_innermost_map_as_often_as_one_level(
    around: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for levels in (4, 12):
        monkeypatch.setattr(Asked, "times", 0)
        mechanism: Any = Asked(PureDP("1/100"))
        for _ in range(levels):
            mechanism = around(mechanism)
        mechanism.privacy_map(3)
        counts.append(Asked.times)
    assert counts[0] > 0
    assert counts[0] == counts[1]


def test_what_is_known_tells_measures_and_records_apart() -> None:
    both = ConComp([Laplace(Count(), scale=1), Gaussian(Count(), scale=1)])
    told = []
    for _ in range(3):
        with pytest.raises(ValueError, match="PureDP") as refused:
            both.privacy_map(1, PureDP)
        told.append((refused.type, str(refused.value)))
    assert len(set(told)) == 1
    composed = ConComp([Laplace(Count(), scale=1)])
    composed.privacy_map(1)
    with pytest.raises(Exception, match=r"d_in|records"):
        composed.privacy_map(1.0)  # type: ignore[arg-type]
    composed = ConComp([Laplace(Count(), scale=1)])
    stated = [(1, None), (2, None), (1, ZCDP), (1, ApproxDP)]
    first = [composed.privacy_map(*each) for each in stated]
    assert first == [composed.privacy_map(*each) for each in stated]
    assert len({repr(each) for each in first}) == len(stated)


def test_an_unexpected_error_is_raised_each_time_and_not_kept() -> None:
    asked = []

    def stated(d_in: int, measure: Any) -> Loss:
        asked.append(d_in)
        raise ZeroDivisionError

    kept = KnownMap()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            kept.at(1, None, stated)
    assert asked == [1, 1]


def test_few_losses_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who asks for ever other records fills no memory."""
    monkeypatch.setattr(known, "_MOST", 4)
    kept = KnownMap()
    for d_in in range(1, 20):
        assert kept.at(d_in, None, lambda at, _: PureDP(at)) == PureDP(d_in)
    assert len(kept._known) <= 4


def test_what_is_known_is_no_part_of_the_value() -> None:
    asked, other = (ConComp([Laplace(Count(), scale=1)]) for _ in range(2))
    asked.privacy_map(5)
    assert asked == other
    assert hash(asked) == hash(other)
    assert repr(asked) == repr(other)
    with pytest.raises((PrivacyClaimError, ValueError)):
        asked.privacy_map(-1)


def test_what_takes_too_long_in_a_message_is_stated_elsewhere() -> None:
    def stated(d_in: int, measure: Any) -> Loss:
        if is_quick():
            raise ValueError("too much work")
        return PureDP(d_in)

    kept = KnownMap()
    with within_effort(), pytest.raises(ValueError, match="too much work"):
        kept.at(1, None, stated)
    assert kept.at(1, None, stated) == PureDP(1)


def test_losses_are_stated_in_a_measure_that_one_of_them_has() -> None:
    """Gaussian noise has a loss in Gaussian DP too, which is the measure beside that only."""
    noise = Gaussian(Count(), scale=5)
    assert ConComp([noise, Toy(PureDP("0.1"))]).privacy_map(1).measure is ZCDP
    assert ConComp([noise, Toy(GDP("0.1"))]).privacy_map(1).measure is GDP


def test_the_claim_does_not_depend_on_who_asks() -> None:
    """A ledger is replayed without the limits of an analyst's message, so both have one claim."""
    mixed = [Gaussian(Count(), rho="1/10"), Laplace(Count(), epsilon="1/2")]
    tight, simple = (ConComp(mixed, delta="1e-6", grid=grid) for grid in (True, False))
    with within_effort(True):
        with pytest.raises(QueryError, match="grid=False"):
            tight.privacy_map(1, ApproxDP)
        quick = simple.privacy_map(1, ApproxDP)
        assert tight.guarantee().theorem
        responses = ConComp([RandomBits(PureDP(1))] * 2, delta="1e-6")
        assert responses.privacy_map(1, ApproxDP).epsilon < 2
    assert quick == simple.privacy_map(1, ApproxDP)
    assert tight.privacy_map(1, ApproxDP).epsilon < quick.epsilon
    root = Queryable(FiltCon(ApproxDP(9, "1e-5")), {"age": [1]})
    with within_effort(True), pytest.raises(QueryError, match="grid=False"):
        root.launch(tight)
    assert root.privacy_loss() == ApproxDP(0, 0)
