"""Laplace noise reduction and doubling: schedules, releases, and what they cost."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import FiltCon
from mechanisms import (
    AbsoluteError,
    Count,
    Doubling,
    Histogram,
    Laplace,
    LaplaceNoiseReduction,
    Open,
    Refine,
    RelativeError,
    SparseVector,
    Until,
)
from mechanisms.refinement.estimate import Refined, Stopped, Undecided
from mechanisms.refinement.reducing import ReductionExpense
from mechanisms.refinement.refine_queries import Latest
from queryable import (
    RDP,
    ZCDP,
    CanAfford,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    Statistic,
    UnknownQueryError,
)
from queryable.ex_post import Opening
from tests.strategies import SECRET, RecordingDataset, raising

TABLE = {"age": np.arange(40), "town": np.arange(40) % 3}
WIDE = Statistic(len, l1=3, l2=3)
SCALES = (10, 5, "5/2", "1/1000")


def running(mechanism: LaplaceNoiseReduction, seed: int = 1) -> Queryable:
    """A handle whose noise is replayed."""
    return Queryable(mechanism, TABLE, coins=SeededCoins(seed), allow_seeded=True)


def test_releases_down_to_hardly_any_noise() -> None:
    """Each release is another, the last at a scale where noise is all but surely 0."""
    reduction = running(LaplaceNoiseReduction(Count(), scales=SCALES))
    answers = [reduction(Refine()) for _ in SCALES]
    assert reduction.opening is None
    assert answers[-1] == Refined(40, Fraction(2, 10**6)) == reduction(Latest())
    assert [answer.variance for answer in answers[:3]] == [200, 50, Fraction(25, 2)]
    assert len({answer.value for answer in answers}) > 1
    # Scales may be skipped, and the noise does not depend on which ones were.
    mechanism = LaplaceNoiseReduction(Count(), scales=SCALES)
    every = running(mechanism)
    answers = [every(Refine()) for _ in SCALES]
    some = running(mechanism)
    assert [some(Refine("5/2")), some(Refine())] == answers[2:]
    # A histogram is released as a read-only array of its shape, its noise drawn by coordinate.
    reduction = running(LaplaceNoiseReduction(Histogram("town", range(3)), scales=SCALES))
    answers = [reduction(Refine()) for _ in SCALES]
    assert np.array_equal(answers[-1].value, [14, 13, 13])
    assert not answers[0].value.flags.writeable
    assert len({int(noise) for noise in answers[0].value - answers[-1].value}) > 1


@pytest.mark.parametrize("statistic", [Count(), Histogram("town", range(3))])
def test_refinements_know_their_noise(statistic: Any) -> None:
    """A release has the interval of `Laplace`; one that was stopped at by its value has none."""
    reduction = running(LaplaceNoiseReduction(statistic, scales=SCALES))
    single = Laplace(statistic, scale=10).release(TABLE, SeededCoins(1))
    low, high = reduction(Refine()).value.interval(0.95)
    one, other = single.interval(0.95)
    assert np.all(high - low == other - one)
    reduction(Until(AbsoluteError(8)))
    for query in (Latest(), Refine(), Until(AbsoluteError(1)), Latest()):
        assert not hasattr(reduction(query).value, "interval")


def test_what_is_not_in_the_schedule_is_refused() -> None:
    reduction = running(LaplaceNoiseReduction(Count(), scales=[2, 1]))
    reduction(Refine(1))
    for _ in range(2):
        with pytest.raises(QueryRefusedError, match="used up"):
            reduction(Refine())
    with pytest.raises(QueryError, match="nothing has been released"):
        running(LaplaceNoiseReduction(Count(), scales=SCALES))(Latest())
    with pytest.raises(UnknownQueryError, match="Refine"):
        running(LaplaceNoiseReduction(Count(), scales=SCALES))("more")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (Refine(10), "not finer"),
        (Refine(5), "not finer"),
        (Refine(3), "not in the schedule"),
        (Refine("1/100000"), "not in the schedule"),
        (Refine(11), "not in the schedule"),
        (Refine(0), "greater than zero"),
        (Refine(-1), "negative"),
        (Refine(True), "boolean"),
        (Refine(float("nan")), "nan"),
        (Refine(object()), "scale is"),
        (Until(3), "function"),
        (Until(AbsoluteError(1), [3, 1]), "not in the schedule"),
        (Until(AbsoluteError(1), [10, 5]), "below the last release"),
        (Until(AbsoluteError(1), ["1/1000", "5/2"]), "fall"),
        (Until(AbsoluteError(1), 7), "list of numbers"),
        (Until(AbsoluteError(1), iter([1, "1/1000"])), "list of numbers"),
    ],
)
def test_a_wrong_refinement_changes_nothing(query: Any, message: str) -> None:
    """A wrong refinement is the analyst's fault, and the next answer is as if it was never sent."""
    mechanism = LaplaceNoiseReduction(Count(), scales=SCALES)
    reduction, clean = running(mechanism), running(mechanism)
    assert reduction(Refine(5)) == clean(Refine(5))
    with pytest.raises(QueryError, match=message):
        reduction(query)
    assert reduction(Refine()) == clean(Refine())


def test_until_stops_at_the_first_scale_where_the_condition_holds() -> None:
    """Coarser answers are passed over, and what it stopped at is the release that stays."""
    mechanism = LaplaceNoiseReduction(Count(), scales=SCALES)
    each = running(mechanism)
    answers = [each(Refine()) for _ in SCALES]
    reduction = running(mechanism)
    stopped = reduction(Until(AbsoluteError(8)))
    assert stopped == Stopped(answers[1].value, Fraction(50), True)
    assert reduction(Until(AbsoluteError(8))) == stopped  # as it stands
    assert reduction(Refine()) == answers[2]
    relative = reduction(Until(RelativeError("1/100")))
    assert (relative.value, relative.met) == (40, True)
    # At the last scale it stops all the same; at one where a condition raises, it is refused.
    mechanism = LaplaceNoiseReduction(Count(), scales=SCALES)
    never = running(mechanism)(Until(lambda estimate: False))
    assert (never.variance, never.met) == (Fraction(2, 10**6), False)

    def broken(estimate: Any) -> bool:
        if estimate.variance < 100:
            raise RuntimeError("no such thing")
        return False

    for condition in (broken, lambda estimate: estimate.variance < 100 and None):
        reduction = running(mechanism)
        with pytest.raises(QueryRefusedError, match=r"condition .*paid for"):
            reduction(Until(condition))
        assert reduction(Latest()).variance == 50
        assert reduction(Refine()).variance == Fraction(25, 2)


def test_until_along_some_scales() -> None:
    """The last of them bounds what it may cost; what is behind is passed over."""
    mechanism = LaplaceNoiseReduction(WIDE, scales=SCALES)
    never = Until(lambda estimate: False, [10, 5])
    expense = mechanism.expense()
    assert expense.at_worst(never, 1) == Fraction(3, 5)
    reduction = running(mechanism)
    stopped = reduction(never)
    assert (stopped.variance, stopped.met) == (50, False)
    assert expense.after(never, stopped).epsilon(1) == Fraction(3, 5)
    assert reduction(Until(AbsoluteError(4), [10, 5, "5/2"])).variance == Fraction(25, 2)
    tried: list[Any] = []
    reduction(Until(lambda estimate: bool(tried.append(estimate.variance)), ["1/1000"]))
    assert tried == [Fraction(25, 2), Fraction(2, 10**6)]


def test_schedules_by_epsilon() -> None:
    """Rising epsilons are scales of l1 over them."""
    by_epsilon = LaplaceNoiseReduction(WIDE, epsilons=["0.1", "0.3", 3])
    assert by_epsilon == LaplaceNoiseReduction(WIDE, scales=[30, 10, 1])
    for epsilons, message in (([], "epsilons is empty"), ([2, 1], "rise"), ([1, 1], "rise")):
        with pytest.raises(ValueError, match=message):
            LaplaceNoiseReduction(WIDE, epsilons=epsilons)
    for both in ({}, {"scales": [1], "epsilons": [1]}):
        with pytest.raises(ValueError, match="exactly one"):
            LaplaceNoiseReduction(WIDE, **both)
    constant = Statistic(len, l1=0, l2=0)
    with pytest.raises(ValueError, match="l1 is 0"):
        LaplaceNoiseReduction(constant, epsilons=[1])
    assert LaplaceNoiseReduction(constant, scales=[1]).privacy_map(3) == PureDP(0)
    # A launch costs nothing ex post, so it reads nothing; later releases need the value only.
    data = RecordingDataset()
    mechanism = LaplaceNoiseReduction(WIDE, scales=[2, 1])
    state: Any
    state, _ = mechanism.init(data)
    assert data.touched == []
    state, _ = mechanism.step(state, Refine())
    assert state.dataset is None
    read = list(data.touched)
    mechanism.step(state, Refine())
    assert data.touched == read == ["len"]


@pytest.mark.parametrize("measure", [None, ZCDP, RDP.at(3)])
@pytest.mark.parametrize("d_in", [0, 1, 3])
def test_the_claim_in_advance_is_that_of_the_last_scale(d_in: int, measure: Any) -> None:
    """Its map is that of a single answer at the finest scale, in every measure."""
    mechanism = LaplaceNoiseReduction(WIDE, scales=["7/2", "5/2"])
    single = Laplace(WIDE, scale="5/2")
    assert mechanism.privacy_map(d_in, measure) == single.privacy_map(d_in, measure)


def test_the_expense_is_that_of_the_last_release() -> None:
    """Nothing before the first release; then l1 * d_in over the scale, known before the answer."""
    expense = LaplaceNoiseReduction(WIDE, scales=[10, 5, 2]).expense()
    assert isinstance(expense, ReductionExpense)
    assert expense.at_worst(Opening(), 1) == expense.epsilon(1) == 0
    assert expense.after(Opening(), None) == expense
    assert expense.at_worst(Refine(), 1) == Fraction(3, 10)
    expense = expense.after(Refine(5), 77)
    assert (expense.epsilon(1), expense.epsilon(2)) == (Fraction(3, 5), Fraction(6, 5))
    assert expense.at_worst(Refine(), 2) == 3
    with pytest.raises(QueryError, match="not finer"):
        expense.at_worst(Refine(5), 1)
    expense = expense.after(Refine(), 78)
    assert expense.at_worst(Refine(), 1) == expense.epsilon(1) == Fraction(3, 2)
    assert expense.after(Refine(), "declined") == expense.after(Latest(), 78) == expense
    # Its expense depends on the answer, through the scale alone.
    expense = LaplaceNoiseReduction(WIDE, scales=[10, 5, 2]).expense()
    until = Until(AbsoluteError(1))
    assert expense.at_worst(until, 1) == Fraction(3, 2)
    stopped = expense.after(until, Stopped(7, Fraction(50), True))
    assert stopped.epsilon(1) == Fraction(3, 5)
    assert expense.after(until, "nonsense").epsilon(1) == Fraction(3, 2)
    stuck = Undecided("raised", estimate=Refined(7, Fraction(50)))
    assert expense.after(until, stuck).epsilon(1) == Fraction(3, 5)
    assert expense.after(Refine(), Refined(7, Fraction(8))).epsilon(1) == Fraction(3, 2)


def test_a_failing_statistic_says_nothing() -> None:
    """What it raised is hidden, and in a filter the charge stays."""
    broken = Statistic(raising(ValueError(SECRET)), l1=1, l2=1)
    table = Queryable(FiltCon(PureDP(1)), TABLE)
    reduction = table(LaplaceNoiseReduction(broken, scales=[4, 2]))
    with pytest.raises(MechanismFault) as caught:
        reduction(Refine())
    assert SECRET not in str(caught.value)
    assert table.privacy_loss() == PureDP("1/2")
    # Without ex-post accounting the whole schedule is paid for at launch.
    table = Queryable(FiltCon(PureDP(1)), TABLE)
    with pytest.raises(QueryRefusedError):
        table(LaplaceNoiseReduction(Count(), scales=[10, "1/2"]))
    reduction = table(LaplaceNoiseReduction(Count(), scales=[10, 2]))
    reduction(Refine())
    assert table.privacy_loss() == PureDP("1/2")


FIVE_HUNDRED = Statistic(lambda dataset: 500, l1=2, l2=2)


def over(person: Doubling, budget: Any) -> Queryable:
    return Queryable(person @ FiltCon(budget), [1, 2], coins=SeededCoins(5), allow_seeded=True)


@pytest.mark.parametrize("factor", [2, "3/2", 10])
def test_every_gaussian_release_is_paid(factor: Any) -> None:
    """The sum of l2^2 / (2 variance), below factor/(factor - 1) times the last."""
    table = over(Doubling(1000, factor), ZCDP(10**6))
    estimate = table(Open(FIVE_HUNDRED))
    paid = Fraction(0)
    for release in range(7):
        variance = 1000 / Fraction(factor) ** release
        assert estimate(Refine()).variance == variance
        paid += 2 / variance
        assert table.privacy_loss() == estimate.privacy_loss() == ZCDP(paid)
    ratio = Fraction(factor)
    assert paid < ratio / (ratio - 1) * 2 / variance
    assert estimate.privacy_loss(2) == ZCDP(4 * paid)


def test_laplace_releases_double_epsilon() -> None:
    """Over a pure filter; the variance told is twice the scale squared."""
    table = over(Doubling(64, noise="laplace"), PureDP(100))
    estimate = table(Open(FIVE_HUNDRED))
    assert [estimate(Refine()).variance for _ in range(3)] == [2 * 64**2, 2 * 32**2, 2 * 16**2]
    assert table.privacy_loss() == estimate.privacy_loss() == PureDP(Fraction(14, 64))
    assert estimate.privacy_loss(2) == PureDP(Fraction(14, 32))
    # Each is the launch that it costs, and no mean of several.
    table = over(Doubling(50, noise="laplace"), PureDP(100))
    plain = over(Doubling(50, noise="laplace"), PureDP(100))
    estimate = table(Open(FIVE_HUNDRED))
    plain(Open(FIVE_HUNDRED))
    for scale in (50, 25, Fraction(25, 2)):
        assert estimate(Refine()).value == plain(Laplace(FIVE_HUNDRED, scale=scale))
    assert estimate(Latest()).variance == Fraction(625, 2)


def test_until_goes_on_to_the_condition_or_the_last_release() -> None:
    """It stops at the first release that is near enough, and charges nothing to look again."""
    table = over(Doubling(10**6), ZCDP(10))
    estimate = table(Open(FIVE_HUNDRED))
    stopped = estimate(Until(RelativeError("1/10")))
    assert stopped.met
    assert stopped.variance <= (500 / 21) ** 2 * 4
    spent = table.privacy_loss()
    assert estimate(Until(RelativeError("1/10"))) == stopped
    assert table.privacy_loss() == spent
    estimate = over(Doubling(1000, releases=3), ZCDP(10))(Open(FIVE_HUNDRED))
    stopped = estimate(Until(lambda _: False))
    assert (stopped.met, stopped.variance) == (False, 250)
    with pytest.raises(QueryError, match="ends at 250"):
        estimate(Refine())
    # What was released before stays, and the refusal says what would have come next.
    table = over(Doubling(1000), ZCDP("7/500"))
    estimate = table(Open(FIVE_HUNDRED))
    with pytest.raises(
        QueryRefusedError, match=r"paid for.*the next release would have variance 125"
    ):
        estimate(Until(lambda _: False))
    assert estimate(Latest()).variance == 250
    assert table.privacy_loss() == ZCDP("7/500")
    assert not estimate(CanAfford(Refine()))


def test_it_interleaves() -> None:
    table = over(Doubling(1000, noise="laplace"), PureDP(10))
    one, other = table(Open(FIVE_HUNDRED)), table(Open(Count()))
    one(Refine())
    search = table(SparseVector(1, epsilon=1))
    other(Refine())
    assert search(Count()) in {True, False}
    one(Refine())
    assert table.privacy_loss() == PureDP(1 + Fraction(2 + 1 + 4, 1000))


@pytest.mark.parametrize(
    "wrong", [Refine(10), Until(lambda _: True, [10]), Until(None), "refine", CanAfford(Refine(3))]
)
def test_the_schedule_is_its_own(wrong: Any) -> None:
    """What comes next is fixed by the factor."""
    estimate = over(Doubling(1000), ZCDP(1))(Open(FIVE_HUNDRED))
    with pytest.raises(QueryError):
        estimate(wrong)


@pytest.mark.parametrize("wrong", [Open(Count(), [3, 2]), Open(len)])
def test_wrong_openings(wrong: Any) -> None:
    with pytest.raises(QueryError):
        over(Doubling(1000), ZCDP(1))(wrong)
