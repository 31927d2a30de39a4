"""The ex-post filter: what is charged when, and what is refused before anything is touched."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import ExPost, FiltCon, ViaZCDP
from mechanisms import (
    AbsoluteError,
    Count,
    Gaussian,
    Laplace,
    LaplaceNoiseReduction,
    RandomizedResponse,
    Refine,
    SparseVector,
    Until,
)
from mechanisms.refinement.refine_queries import Latest
from queryable import (
    SYSTEM,
    ApproxDP,
    Ask,
    CanAfford,
    Coins,
    Launch,
    MechanismFault,
    PrivacyClaimError,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    Statistic,
)
from queryable.conversation import Run
from queryable.errors import RetiredChildError, UnknownChildError
from queryable.ex_post import Expense, ExPostMechanism
from queryable.losses import ExPostBound
from tests.strategies import SECRET, RecordingDataset, raising

TABLE = {"age": np.arange(1000)}
EPSILONS = ["0.01", "0.1", "0.5", "2"]


def reduction(l1: int = 1) -> LaplaceNoiseReduction:
    return LaplaceNoiseReduction(Statistic(lambda data: 1000, l1=l1, l2=l1), epsilons=EPSILONS)


def opened(budget: Any = None, **options: Any) -> Queryable:
    filtered = ExPost(PureDP(1) if budget is None else budget, **options)
    return Queryable(filtered, TABLE, coins=SeededCoins(3), allow_seeded=True)


def spent(table: Queryable, d_in: int | None = None) -> Fraction:
    report = table.privacy_loss(d_in)
    assert isinstance(report, ExPostBound)
    return report.epsilon


def test_a_reduction_is_charged_as_it_is_refined() -> None:
    """A launch is free, each release is charged as stated, and repeating a release is free."""
    table = opened()
    one, other = table(reduction()), table(reduction())
    assert spent(table) == 0
    charges = []
    for child in (one, other, one, one, other):
        child(Refine())
        child(Latest())
        charges.append(spent(table))
    assert charges == [Fraction(x, 100) for x in (1, 2, 11, 51, 60)]
    assert one.privacy_loss() == ExPostBound("0.5", 0)
    # The rest of the schedule is not charged.
    table = opened()
    table(reduction())(Refine("10"))
    assert table(Laplace(Count(), epsilon="0.9"))
    with pytest.raises(QueryRefusedError):
        table(Laplace(Count(), epsilon="1e-9"))


def test_a_step_that_might_not_fit_is_refused_and_changes_nothing() -> None:
    """The refusal has the increase, what was realised, and what remains; the child goes on."""
    table = opened()
    one = table(reduction())
    one(Refine())
    table(Laplace(Count(), epsilon="0.7"))
    with pytest.raises(QueryRefusedError) as refusal:
        one(Refine(1 / Fraction("0.5")))
    assert refusal.value.requested == PureDP("0.49")
    assert refusal.value.spent == PureDP("0.71")
    assert refusal.value.remaining == PureDP("0.29")
    assert "coarser release" in str(refusal.value)
    assert one(Refine(10)).variance == 200
    assert spent(table) == Fraction("0.8")


def test_until_is_checked_at_its_end_and_charged_where_it_stops() -> None:
    """The whole schedule must fit, or the part that is named; what is paid is where it stopped."""
    table = opened()
    one = table(reduction())
    with pytest.raises(QueryRefusedError):
        one(Until(AbsoluteError(20)))
    assert spent(table) == 0
    stopped = one(Until(AbsoluteError(20), [100, 10, 2]))
    assert stopped.met
    assert spent(table) == Fraction("0.1")


def test_dry_runs() -> None:
    """Launches and asks can be tried; neither charges."""
    table = opened(PureDP("0.3"))
    one = table(reduction())
    vector = table(SparseVector(3, epsilon="0.1"))
    assert vector is table.children[1]
    for ask, fits in ((Refine(), True), (Refine(10), True), (Refine(2), False)):
        assert table.ask(CanAfford(Ask(0, ask))) is fits
    assert table.ask(CanAfford(Ask(1, Count()))) is True  # paid for at its launch
    assert table.can_afford(Laplace(Count(), epsilon="0.2"))
    assert not table.can_afford(Laplace(Count(), epsilon="0.21"))
    assert spent(table) == Fraction("0.1")
    for wrong in (Ask(0, "more"), Ask(7, Refine()), Ask(0, Refine(3)), "anything"):
        with pytest.raises(QueryError):
            table.ask(CanAfford(wrong))
    assert one(Refine())


def test_ordinary_children_are_charged_in_full_at_launch() -> None:
    """Interactive ones too, those with a delta, and filters; never by what they were asked."""
    table = opened(ApproxDP(2, "1e-6"))
    vector = table(SparseVector(10**6, epsilon="0.1"))
    table(RandomizedResponse(lambda data: True, epsilon="0.2", delta="1e-7"))
    team = table(FiltCon(ApproxDP("0.3", "2e-7"), rule=ViaZCDP()))
    assert table.privacy_loss() == ExPostBound("0.6", "3e-7")
    vector(Count())
    team(Gaussian(Count(), rho="0.0001"))
    assert table.privacy_loss() == ExPostBound("0.6", "3e-7")
    with pytest.raises(QueryRefusedError):
        table(RandomizedResponse(lambda data: True, epsilon="0.1", delta="1e-6"))
    # It is charged the d_out at launch, which is at least its map.
    table = opened(PureDP(3))
    with pytest.raises(PrivacyClaimError, match="below"):
        table.launch(reduction(), d_out=PureDP(1))
    child = table.launch(reduction(), d_out=PureDP("2.5"))
    assert spent(table) == Fraction("2.5")
    child(Refine())
    assert spent(table) == Fraction("2.5")


def test_other_numbers_of_records() -> None:
    """Expenses and maps at that distance, added up; the budget's own map is grouped."""
    table = opened(ApproxDP(1, "1e-6"))
    table(reduction(l1=3))(Refine())
    table(Laplace(Count(), epsilon="0.1"))
    assert [spent(table, d_in) for d_in in (0, 1, 2)] == [0, Fraction("0.11"), Fraction("0.22")]
    assert table.children[0].privacy_loss(3) == ExPostBound("0.03", 0)
    assert ExPost(PureDP(1)).privacy_map(3) == PureDP(3)
    assert ExPost(PureDP(1), d_in=2).privacy_map(2) == PureDP(1)
    # At d_in=2 a release costs twice as much.
    table = opened(d_in=2)
    child = table(reduction())
    child(Refine(10))
    assert (spent(table), spent(table, 1)) == (Fraction("0.2"), Fraction("0.1"))
    child(Refine())
    with pytest.raises(QueryRefusedError):
        child(Refine())
    assert spent(table) == 1


def test_a_failure_costs_the_worst_and_retires_the_child() -> None:
    """The worst answer is charged, and only the curator sees the error's text."""
    told: list[BaseException] = []
    broken = Statistic(raising(ValueError(SECRET)), l1=1, l2=1)
    table = Queryable(ExPost(PureDP(1)), TABLE, on_fault=told.append)
    child = table(LaplaceNoiseReduction(broken, epsilons=EPSILONS))
    with pytest.raises(MechanismFault) as caught:
        child(Refine(2))
    assert SECRET not in str(caught.value)
    assert SECRET in str(told[0])
    assert [spent(table), spent(table, 2)] == [Fraction(1, 2), 1]
    with pytest.raises(RetiredChildError):
        child(Refine())


def test_nothing_touches_the_data_before_it_is_paid_for() -> None:
    """A launch reads nothing, nor does a refused ask; a release does, once."""
    data = RecordingDataset()
    statistic = Statistic(len, l1=1, l2=1)
    table = Queryable(ExPost(PureDP("0.2")), data)
    data.touched.clear()
    child = table(LaplaceNoiseReduction(statistic, epsilons=EPSILONS))
    with pytest.raises(QueryRefusedError):
        child(Refine(2))
    assert data.touched == []
    child(Refine())
    child(Refine())
    assert data.touched == ["len"]


def test_wrong_asks_change_nothing() -> None:
    table, clean = opened(), opened()
    for each in (table, clean):
        each(reduction())(Refine())
    for wrong in (Ask(0, "more"), Ask(0, Refine(100)), Ask(0, Refine(7)), Ask(0, Launch(None))):
        with pytest.raises(QueryError):
            table.ask(wrong)
    for unknown in (1, -1, True, "0"):
        with pytest.raises(UnknownChildError):
            table.ask(Ask(unknown, Refine()))
    assert table.ask(Ask(0, Refine())) == clean.ask(Ask(0, Refine()))
    assert spent(table) == spent(clean)


class Shifty:
    """A schedule whose items differ at each reading."""

    def __init__(self, *readings: list[Any]) -> None:
        self.readings = list(readings)

    def __iter__(self) -> Any:
        return iter(self.readings.pop(0) if len(self.readings) > 1 else self.readings[0])


class Number(int):
    """An integer whose value differs at each reading."""

    readings: list[int]
    now = 0

    @classmethod
    def reading(cls, *values: int) -> "Number":
        number = cls(values[0])
        number.readings = list(values)
        return number

    def _read(self) -> int:
        self.now = self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]
        return self.now

    def __int__(self) -> int:
        return self._read()

    def __hash__(self) -> int:
        return hash(self._read())

    def __eq__(self, other: object) -> bool:
        return self.now == other


def test_a_query_is_read_once() -> None:
    """The checked value is answered and charged, even if a second reading would differ."""
    seen: list[Any] = []
    until = Until(lambda each: bool(seen.append(each.variance)), Shifty([100], ["1/2"]))
    table = opened()
    one = table(reduction())
    assert one(until).variance == 20000
    assert seen == [20000]
    assert spent(table) == Fraction("0.01")
    for first, later in ((10, 2), (2, 10)):
        table = opened()
        one = table(reduction())
        told = one(Refine(Number.reading(first, later)))
        assert told.variance == 2 * first**2
        assert spent(table) == Fraction(1, first)


class Raised(Expense):
    """Says more at each reading of its worst case."""

    def __init__(self) -> None:
        self.readings = 0

    def epsilon(self, d_in: int) -> Fraction:
        return Fraction(0)

    def at_worst(self, query: Any, d_in: int) -> Fraction:
        self.readings += 1
        return Fraction(self.readings, 10)

    def after(self, query: Any, answer: Any) -> Expense:
        return self


class Raising(ExPostMechanism[int]):
    """States a worst case that rises each time it is read, and fails at the start or when asked."""

    def __init__(self, *, at_launch: bool) -> None:
        self.stated, self.at_launch = Raised(), at_launch

    def expense(self) -> Expense:
        return self.stated

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        return (1 // 0 if self.at_launch else 0), None

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        return 1 // 0, None


@pytest.mark.parametrize("at_launch", [True, False])
def test_a_worst_case_is_read_once(at_launch: bool) -> None:
    """What stands before the run, what is charged, and what stands after an interrupt agree."""
    mechanism, stated = ExPost(PureDP(1)), Raising(at_launch=at_launch)
    state, _ = mechanism.init(TABLE)
    query: Any = Launch(stated)
    if not at_launch:
        state, _ = mechanism.step(state, query)
        query = Ask(0, "bits")
    told: list[Any] = []
    run = Run(mechanism, query, SYSTEM, state)
    run.announce(told.append)
    moved = run()
    standing = run.standing()
    assert standing is not None
    accounts = [each.state.own.account.spent() for each in (told[0], moved, standing[0])]
    assert len({*accounts}) == 1
    assert stated.stated.readings == (1 if at_launch else 2)


def test_an_id_is_a_plain_int() -> None:
    """Otherwise one child could be asked and another one charged."""
    table = opened()
    table(reduction())
    table(SparseVector(3, epsilon="0.1"))
    for readings in ([1, 1, 0], [1, 0], [0, 1], [0, 0, 1, 1, 0]):
        with pytest.raises(UnknownChildError, match="int"):
            table.ask(Ask(Number.reading(*readings), Refine()))
    assert spent(table) == Fraction("0.1")


def test_a_condition_that_raises_is_charged_where_it_did() -> None:
    """Not at the end, where it might have stopped; and in the tree as in the filter."""
    table = opened(PureDP(3))
    one = table(reduction())

    def broken(each: Any) -> bool:
        return {20000: False}[each.variance]

    with pytest.raises(QueryRefusedError, match="KeyError"):
        one(Until(broken))
    assert one(Latest()).variance == 200
    assert spent(table) == Fraction("0.1")
    with pytest.raises(QueryError, match="KeyError"):
        one(Until(broken))
    assert spent(table) == Fraction("0.1")
    assert table.node.spent == table.privacy_loss()


def test_a_limit_of_launches_and_a_halt() -> None:
    table = opened(max_mechanisms=1)
    child = table(reduction())
    assert not table.can_afford(reduction())
    with pytest.raises(QueryRefusedError, match="limit"):
        table(reduction())
    assert child(Refine())
    # With the paper's Halt a step that might not fit is the last.
    table = opened(PureDP("0.05"), on_exceed="halt")
    child = table(reduction())
    child(Refine())
    for _ in range(2):
        with pytest.raises(QueryRefusedError):
            child(Refine())
    assert spent(table) == Fraction("0.01")


def test_zcdp_children_belong_beside_it() -> None:
    """A Gaussian states no epsilon; the refusal names a compositor that admits it."""
    with pytest.raises(PrivacyClaimError, match="ViaZCDP"):
        opened(ApproxDP(1, "1e-6"))(Gaussian(Count(), rho=1))
    # In another filter, an ex-post one included, the whole budget is charged at launch.
    for outer in (FiltCon(PureDP(1)), ExPost(PureDP(1))):
        table = Queryable(outer, TABLE)
        inner = table(ExPost(PureDP("0.6")))
        child = inner(reduction())
        child(Refine())
        assert spent(inner) == Fraction("0.01")
        assert not table.can_afford(Laplace(Count(), epsilon="0.41"))
        assert table.can_afford(Laplace(Count(), epsilon="0.4"))
