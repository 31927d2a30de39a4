"""Laplace noise reduction: schedules, releases, and what they cost."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import FiltCon
from mechanisms import (
    AbsoluteError,
    Count,
    Histogram,
    Laplace,
    LaplaceNoiseReduction,
    Refine,
    RelativeError,
    Until,
)
from mechanisms.refinement.estimate import Refined, Stopped, Undecided
from mechanisms.refinement.laplace_reduction import LaplaceExpense
from mechanisms.refinement.messages import Latest
from queryable import (
    RDP,
    ZCDP,
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


def test_a_given_later_scale() -> None:
    """Scales may be skipped, and the noise does not depend on which ones were."""
    mechanism = LaplaceNoiseReduction(Count(), scales=SCALES)
    every = running(mechanism)
    answers = [every(Refine()) for _ in SCALES]
    some = running(mechanism)
    assert [some(Refine("5/2")), some(Refine())] == answers[2:]


def test_vectors() -> None:
    """A histogram is released as a read-only array of its shape, its noise drawn by coordinate."""
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


def test_the_end_of_the_schedule() -> None:
    """After the finest scale it declines, as often as it is asked."""
    reduction = running(LaplaceNoiseReduction(Count(), scales=[2, 1]))
    reduction(Refine(1))
    for _ in range(2):
        with pytest.raises(QueryRefusedError, match="used up"):
            reduction(Refine())


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


def test_until_stops_at_the_end_and_where_the_condition_fails() -> None:
    """At the last scale it stops all the same; at one where a condition raises, it is refused."""
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


def test_there_is_nothing_to_tell_before_the_first_release() -> None:
    """The latest release is none yet."""
    with pytest.raises(QueryError, match="nothing has been released"):
        running(LaplaceNoiseReduction(Count(), scales=SCALES))(Latest())


def test_only_refinements_are_answered() -> None:
    """Anything else is unknown."""
    with pytest.raises(UnknownQueryError, match="Refine"):
        running(LaplaceNoiseReduction(Count(), scales=SCALES))("more")


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
    assert isinstance(expense, LaplaceExpense)
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


def test_until_reserves_the_last_scale_and_is_charged_for_the_one_it_stopped_at() -> None:
    """Its expense depends on the answer, through the scale alone."""
    expense = LaplaceNoiseReduction(WIDE, scales=[10, 5, 2]).expense()
    until = Until(AbsoluteError(1))
    assert expense.at_worst(until, 1) == Fraction(3, 2)
    stopped = expense.after(until, Stopped(7, Fraction(50), True))
    assert stopped.epsilon(1) == Fraction(3, 5)
    assert expense.after(until, "nonsense").epsilon(1) == Fraction(3, 2)
    stuck = Undecided("raised", estimate=Refined(7, Fraction(50)))
    assert expense.after(until, stuck).epsilon(1) == Fraction(3, 5)
    assert expense.after(Refine(), Refined(7, Fraction(8))).epsilon(1) == Fraction(3, 2)


def test_data_are_read_at_the_first_release_and_then_forgotten() -> None:
    """A launch costs nothing ex post, so it reads nothing; later releases need the value only."""
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


def test_a_failing_statistic_says_nothing() -> None:
    """What it raised is hidden, and in a filter the charge stays."""
    broken = Statistic(raising(ValueError(SECRET)), l1=1, l2=1)
    table = Queryable(FiltCon(PureDP(1)), TABLE)
    reduction = table(LaplaceNoiseReduction(broken, scales=[4, 2]))
    with pytest.raises(MechanismFault) as caught:
        reduction(Refine())
    assert SECRET not in str(caught.value)
    assert table.privacy_loss() == PureDP("1/2")


def test_an_ordinary_filter_charges_the_worst_case() -> None:
    """Without ex-post accounting the whole schedule is paid for at launch."""
    table = Queryable(FiltCon(PureDP(1)), TABLE)
    with pytest.raises(QueryRefusedError):
        table(LaplaceNoiseReduction(Count(), scales=[10, "1/2"]))
    reduction = table(LaplaceNoiseReduction(Count(), scales=[10, 2]))
    reduction(Refine())
    assert table.privacy_loss() == PureDP("1/2")
