"""The tree counter: what it answers, what it keeps, and its claim against exact laws."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon, Parallel, Partition
from mechanisms import (
    Count,
    Histogram,
    Laplace,
    Mean,
    PrivacyUnit,
    Quantile,
    Table,
    ToeplitzCounter,
    Total,
    TreeCounter,
    Window,
)
from mechanisms.counters import counter, tree
from mechanisms.counters.epochs import Epoch
from mechanisms.counters.sums import GaussianSum, LaplaceSum
from mechanisms.sampling.laws import DiscreteGaussian
from queryable import (
    ZCDP,
    Ask,
    InteractiveMechanism,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Refused,
    SeededCoins,
    Statistic,
    Update,
    UserLevel,
)
from queryable.audit import MaxDivergence, Pair, every_outcome, worst_case
from queryable.display.explanation import explain
from queryable.messages import CloseBlock
from queryable.randomness.laws import FairBits, Law
from queryable.streams.levels import EventLevel, Growth
from tests.strategies import NotedCoins

EXACT = 10**8
"""A loss at which noise is zero."""


def fed(mechanism: Any, sizes: Sequence[int], coins: Any = None) -> Any:
    """The state after batches of these sizes."""
    coins = coins or SeededCoins(1)
    state, opening = mechanism.init("not read", coins)
    assert opening is None
    for size in sizes:
        state, answer = mechanism.step(state, Update([0] * size), coins)
        assert answer is None
    return state


def asked(mechanism: Any, state: Any, query: Any) -> Any:
    after, answer = mechanism.step(state, query, SeededCoins(99))
    assert after is state
    return answer


MAKERS: dict[str, Callable[..., Any]] = {
    "tree": lambda **given: TreeCounter(Count(), rho=EXACT, past=None, **given),
    "tree, some past": lambda **given: TreeCounter(Count(), rho=EXACT, past=9, **given),
    "tree, Laplace": lambda **given: TreeCounter(Count(), epsilon=EXACT, past=5, **given),
    "toeplitz": lambda **given: ToeplitzCounter(Count(), rho=EXACT, **given),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("horizon", [37, 40, 64, None])
def test_answers_are_sums_of_batches(make: Callable[..., Any], horizon: int | None) -> None:
    """Totals and windows, at every step, as far back as they reach."""
    mechanism, coins = make(horizon=horizon), SeededCoins(3)
    sizes = [step * step % 7 for step in range(37)]
    state, _ = mechanism.init(None, coins)
    for time in range(1, 38):
        state, _ = mechanism.step(state, Update([0] * sizes[time - 1]), coins)
        reach = time if mechanism.reach is None else min(time, mechanism.reach)
        for back in range(reach + 1):
            upto = asked(mechanism, state, Total(at=time - back))
            assert upto == sum(sizes[: time - back])
            assert asked(mechanism, state, Window(last=back)) == sum(sizes[time - back : time])
        assert asked(mechanism, state, Total()) == sum(sizes[:time])


def test_data_at_the_launch_and_closed_blocks_do_not_count() -> None:
    """What is counted arrives later. Without a batch the answer is exactly zero."""
    mechanism = TreeCounter(Count(), rho=1)
    state, _ = mechanism.init([1, 2, 3], SeededCoins(1))
    assert asked(mechanism, state, Total()).interval() == (0, 0)
    mechanism = TreeCounter(Count(), rho=1)
    state = fed(mechanism, [1])
    assert mechanism.step(state, CloseBlock("monday"), SeededCoins(1)) == (state, None)


def test_noise_is_drawn_once() -> None:
    """An answer stays the same, asked again and after more batches."""
    for mechanism in (
        TreeCounter(Count(), rho="1/100", past=None),
        ToeplitzCounter(Count(), rho="1/100", horizon=50),
    ):
        early = fed(mechanism, [1] * 11)
        first = asked(mechanism, early, Total())
        late, coins = early, SeededCoins(7)
        for _ in range(9):
            late, _ = mechanism.step(late, Update([0]), coins)
        assert asked(mechanism, early, Total()) == first == asked(mechanism, late, Total(at=11))
    # Two continuations of one state share its past, and no more.
    mechanism = ToeplitzCounter(Count(), rho=EXACT, horizon=9)
    state = fed(mechanism, [1, 2])
    one, _ = mechanism.step(state, Update([0] * 5), SeededCoins(1))
    other, _ = mechanism.step(state, Update([0]), SeededCoins(1))
    again, _ = mechanism.step(one, Update([]), SeededCoins(1))
    assert [asked(mechanism, each, Total()) for each in (one, other, again)] == [8, 4, 8]


def test_a_histogram_is_counted_by_category() -> None:
    """The answer has the statistic's shape, and intervals."""
    counted = Histogram("kind", ["a", "b"])
    for mechanism in (
        TreeCounter(counted, rho=EXACT, past=3),
        TreeCounter(counted, epsilon=EXACT, past=3),
        ToeplitzCounter(counted, rho=EXACT),
    ):
        state, _ = mechanism.init(None, SeededCoins(1))  # type: ignore[attr-defined]
        for batch in (["a", "b", "a"], [], ["b", "c"]):
            state, _ = mechanism.step(state, Update({"kind": np.array(batch, str)}), SeededCoins(1))
        assert asked(mechanism, state, Total()).tolist() == [2, 2]
        low, high = asked(mechanism, state, Window(last=2)).interval()
        assert (low <= [0, 1]).all()
        assert (high >= [0, 1]).all()
    # One node for each binary digit; more of the past for more nodes, however long the stream.
    for past, most in ((0, 12), (5, 40)):
        mechanism = TreeCounter(Count(), rho=1, past=past, horizon=4000)
        state, coins = fed(mechanism, []), SeededCoins(2)
        for time in range(1, 1100):
            state, _ = mechanism.step(state, Update([]), coins)
            assert len(state.nodes) <= most
            if not past:
                assert len(state.nodes) == len(state.open) == time.bit_count()


def test_after_the_horizon_the_present_is_refused() -> None:
    """Batches do not count then; earlier totals stay."""
    for make in MAKERS.values():
        mechanism = make(horizon=3)
        state = fed(mechanism, [1, 1, 1])
        assert asked(mechanism, state, Total()) == 3
        state, answer = mechanism.step(state, Update([0]), SeededCoins(1))
        assert answer is None
        assert isinstance(asked(mechanism, state, Total()), Refused)
        assert isinstance(asked(mechanism, state, Window(last=1)), Refused)
        assert asked(mechanism, state, Total(at=3)) == 3
        assert mechanism.step(state, Update([0]), SeededCoins(1)) == (state, None)


@pytest.mark.parametrize(
    "query",
    [
        *(Total(at=4), Total(at=-1), Total(at=True), Total(at="3"), Window(last=4)),
        *(Window(last=None), Window(last="1"), Window(last=2), Total(at=1), Count(), "total", None),
    ],
    ids=str,
)
def test_wrong_questions(query: Any) -> None:
    """They change nothing; with past=1 neither window nor total reaches two steps back."""
    mechanism = TreeCounter(Count(), rho=1, past=1)
    state = fed(mechanism, [1, 1, 1])
    with pytest.raises(QueryError):
        mechanism.step(state, query, SeededCoins(1))


def test_a_statistic_that_fails_is_a_fault() -> None:
    """Whatever it raised, and nothing is drawn."""
    mechanism = TreeCounter(Statistic(lambda batch: batch["x"], l1=1, l2=1), rho=1)
    state, _ = mechanism.init(None, SeededCoins(1))
    with pytest.raises(MechanismFault):
        mechanism.step(state, Update([0]), SeededCoins(1))


# Units.


def test_only_the_first_records_of_a_unit_count() -> None:
    """Over all batches, in order; records without a unit never."""
    level = UserLevel("who", 2)
    for make in MAKERS.values():
        mechanism, coins = make(neighbours=level), SeededCoins(1)
        state, _ = mechanism.init(None, coins)
        for batch, total in (
            ([{"who": 1}, {"who": 2}, {"who": None}], 2),
            ([{"who": 1}, {"who": 1}, {}, {"who": [1]}], 3),
            ([{"who": 1}, {"who": 2}, {"who": 2}, {"who": 3}], 5),
        ):
            state, _ = mechanism.step(state, Update(batch), coins)
            assert asked(mechanism, state, Total()) == total
    assert level.max_records == max(state.seen.values())
    # Arrays too; what is kept is in their order.
    mechanism = TreeCounter(
        Histogram("kind", ["a", "b"]), rho=EXACT, neighbours=UserLevel("who", 1)
    )
    state, _ = mechanism.init(None, SeededCoins(1))
    batch = {"who": np.array([7, 7, 8]), "kind": np.array(["b", "a", "a"])}
    state, _ = mechanism.step(state, Update(batch), SeededCoins(1))
    assert asked(mechanism, state, Total()).tolist() == [1, 1]


def test_a_unit_is_charged_for_all_its_records() -> None:
    """The map is that of d_in * max_records records; rho and epsilon are those of one unit."""
    makers: tuple[Callable[..., Any], ...] = (
        lambda level: TreeCounter(Count(), scale=9, horizon=9, neighbours=level),
        lambda level: TreeCounter(Count(), scale=9, horizon=9, noise="laplace", neighbours=level),
        lambda level: ToeplitzCounter(Count(), scale=9, horizon=9, neighbours=level),
    )
    for make in makers:
        unit, event = make(UserLevel("who", 3)), make(EventLevel())
        for measure in (None, ZCDP):
            assert unit.privacy_map(2, measure) == event.privacy_map(6, measure)
    for kind in (TreeCounter, ToeplitzCounter):
        unit = kind(Count(), rho="1/10", neighbours=UserLevel("who", 3))
        assert unit.privacy_map(1) == ZCDP("1/10")
    unit = TreeCounter(Count(), epsilon="1/10", neighbours=UserLevel("who", 3))
    assert unit.privacy_map(1) == PureDP("1/10")


def test_a_statistic_of_units_counts_their_first_rows() -> None:
    """Its bound on rows is enforced over all batches, so a table's own statistics fit."""
    per = PrivacyUnit("who", max_rows=2)
    for kind in (TreeCounter, ToeplitzCounter):
        mechanism: Any = kind(Count(per=per), rho=EXACT)
        assert mechanism.neighbours == UserLevel("who", 2)
        assert mechanism == kind(Count(per=per), rho=EXACT, neighbours=UserLevel("who", 2))
        assert mechanism.privacy_map(1) == ZCDP(EXACT)
        state, _ = mechanism.init(None, SeededCoins(1))
        for _ in range(3):
            state, _ = mechanism.step(state, Update({"who": [1, 2]}), SeededCoins(1))
        assert asked(mechanism, state, Total()) == 4
        with pytest.raises(ValueError, match="per"):
            kind(Count(per=per), rho=1, neighbours=UserLevel("person", 2))
        with pytest.raises(ValueError, match="joined"):
            kind(Count(per=PrivacyUnit("who", max_rows=2, joined=True)), rho=1)


def test_a_table_protects_units() -> None:
    """A counter of single records is refused; one of the table's unit is launched."""
    table = Table({"who": [1, 2], "age": [3, 4]}, privacy_unit="who", max_rows=2)
    root = Queryable(FiltCon(ZCDP(1)), table)
    with pytest.raises(QueryError, match="per"):
        root.launch(TreeCounter(Count(), rho="1/10"))
    child = root.launch(TreeCounter(Count(per=table.unit), rho="1/10"))
    assert child(Total()) == 0
    assert root.privacy_loss() == ZCDP("1/10")
    text = explain(TreeCounter(Count(), rho="1/10", neighbours=UserLevel("patient", 4)))
    assert "the first 4 records" in " ".join(text.split())


# Claims.


@pytest.mark.parametrize(
    ("horizon", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), (1023, 10), (1024, 11)]
)
def test_every_level_is_charged(horizon: int, levels: int) -> None:
    """L u^2 / (2 sigma^2) and L u / scale, exactly; rho and epsilon are their inverses."""
    wide = Statistic(len, l1=6, l2=5)
    gaussian = TreeCounter(wide, scale=3, horizon=horizon)
    assert gaussian.privacy_map(2) == ZCDP(Fraction(levels * 10**2, 2 * 9))
    laplace = TreeCounter(wide, scale=3, horizon=horizon, noise="laplace")
    assert laplace.privacy_map(2) == PureDP(Fraction(levels * 12, 3))
    assert TreeCounter(wide, rho=Fraction(levels * 25, 18), horizon=horizon).unit == gaussian.unit
    assert TreeCounter(wide, epsilon=2 * levels, horizon=horizon).unit == laplace.unit


def test_laplace_noise_in_zcdp_is_the_smaller_bound() -> None:
    """At most what pure loss converts to, and for one level that of one Laplace mechanism."""
    tree_of_8 = TreeCounter(Count(), epsilon=1, horizon=8)
    own: Any = tree_of_8.privacy_map(1, ZCDP)
    converted: Any = PureDP(1).to(ZCDP)
    assert own.rho < converted.rho
    one = TreeCounter(Count(), epsilon=1, horizon=1)
    assert one.privacy_map(1, ZCDP) == Laplace(Count(), epsilon=1).privacy_map(1, ZCDP)
    # Ten nodes with eleven levels of noise: 110 over 2 rho.
    mechanism, rho = TreeCounter(Count(), rho="1/50", horizon=1024), Fraction(1, 50)
    coins = SeededCoins(1)
    state, worst = fed(mechanism, []), Fraction(0)
    for _ in range(1024):
        state, _ = mechanism.step(state, Update([]), coins)
        law = asked(mechanism, state, Total()).noise
        assert isinstance(law, GaussianSum)
        worst = max(worst, sum(law.variances, Fraction(0)) * 2 * rho)
    assert worst == 110
    # One, two, four batches: one, two, three levels.
    mechanism = TreeCounter(Count(), epsilon=1, past=None)
    law = asked(mechanism, fed(mechanism, [1] * 8), Total()).noise
    assert law == LaplaceSum([1, 2, 3, 4])
    law = asked(mechanism, fed(mechanism, [1] * 14), Window(last=3)).noise
    assert law == LaplaceSum([4, 4])


def test_neighbours_are_checked() -> None:
    """They are one of two classes; a constant has no noise that a loss implies."""
    for kind in (TreeCounter, ToeplitzCounter):
        wrong: Any = "who"
        with pytest.raises(TypeError, match="neighbours"):
            kind(Count(), rho=1, neighbours=wrong)
        constant = Statistic(lambda batch: 0, l1=0, l2=0)
        with pytest.raises(ValueError, match="l2 is 0"):
            kind(constant, rho=1)
        assert kind(constant, scale=1, horizon=4).privacy_map(3) == ZCDP(0)


@pytest.mark.parametrize("kind", [TreeCounter, ToeplitzCounter])
def test_a_total_is_of_all_batches(kind: Any) -> None:
    """What is computed from several sums follows from their totals; scores of a quantile do not."""
    quantile = Quantile("age", "1/2", range(0, 100, 10))
    with pytest.raises(TypeError, match=r"^give Histogram.*: Quantile\(age\) has scores"):
        kind(quantile, rho=1)
    mean = Mean("age", 0, 100)
    stream = Queryable(FiltCon(ZCDP(10**9)), {"age": []})
    total = stream(kind(mean, rho=10**8))
    for ages in ([40, 30] * 5, [60, 70] * 5, [50] * 3):
        stream.feed({"age": ages})
    assert mean.estimate(total(Total())) == pytest.approx(50, abs=1)


# Exact laws. Noise and sums are modulo 3, so that losses are exact and states are few.


@attrs.frozen
class Cyclic(Law[int]):
    """0 with weight `odds`, 1 and 2 with weight 1: a shift by one changes odds by that factor."""

    odds: int

    def sample(self, source: FairBits) -> int:
        raise AssertionError

    def outcomes(self) -> tuple[tuple[int, Fraction], ...]:
        whole = self.odds + 2
        return tuple((value, Fraction(1 if value else self.odds, whole)) for value in range(3))


ODDS = {1: 4, 2: 2, 3: 2}


@pytest.fixture(name="cyclic")
def _cyclic(monkeypatch: pytest.MonkeyPatch) -> None:
    def law(self: TreeCounter, epoch: Epoch) -> Cyclic:
        levels = epoch.length.bit_length()
        return Cyclic(2 if self.horizon else ODDS[levels])

    monkeypatch.setattr(TreeCounter, "_law", law)
    monkeypatch.setattr(tree, "plus", lambda one, other: (one + other) % 3)


NOTHING, ONE = Update([]), Update([0])
ARRIVES = Pair(ONE, NOTHING)


TOTAL = (Total(),)


def largest(
    mechanism: Any, moves: Sequence[Any], pattern: str, questions: Any = TOTAL, differing: int = 1
) -> float:
    """The largest loss of an adversary who sends batches (u) and asks questions (q)."""

    def alphabet(view: Any) -> Sequence[Any]:
        return moves if pattern[len(view)] == "u" else questions

    found = worst_case(
        mechanism,
        None,
        None,
        queries=alphabet,
        horizon=len(pattern),
        divergence=MaxDivergence(),
        differing=differing,
    )
    return float(found.value)


BOTH = (Total(), Window(last=1))


@pytest.mark.usefixtures("cyclic")
@pytest.mark.parametrize(
    ("options", "pattern", "questions", "differing", "loss"),
    [
        ({"horizon": 1}, "uq", TOTAL, 1, log(2)),  # log 2 for each level
        ({"horizon": 2}, "uquq", TOTAL, 1, 2 * log(2)),
        ({"horizon": 3}, "uququq", TOTAL, 1, 2 * log(2)),
        ({"horizon": 4}, "uquququq", TOTAL, 1, 3 * log(2)),
        ({"horizon": 2, "past": 1}, "uquqq", BOTH, 1, 2 * log(2)),  # right nodes count too
        ({}, "uququq", TOTAL, 1, log(4)),  # each epoch has the whole budget
        ({}, "uququq", TOTAL, 2, 2 * log(4)),
    ],
)
def test_the_worst_adversary_reaches_the_loss_of_all_levels(
    options: Any, pattern: str, questions: Any, differing: int, loss: float
) -> None:
    mechanism = TreeCounter(Count(), epsilon=1, **options)
    worst = largest(mechanism, (NOTHING, ARRIVES), pattern, questions, differing)
    assert worst == pytest.approx(loss)


def drawn_at_each_question(monkeypatch: pytest.MonkeyPatch) -> None:
    real = TreeCounter.step

    def step(self: Any, state: Any, query: Any, coins: Any = None) -> Any:
        if isinstance(query, Total) and state.nodes:
            fresh = {node: coins.draw(self._law(Epoch(0, 4))) for node in state.nodes}
            exact = dict(zip(sorted(state.nodes, reverse=True), state.open, strict=True))
            nodes = {node: (exact[node] + fresh[node]) % 3 for node in fresh}
            _, answer = real(self, attrs.evolve(state, nodes=nodes), query, coins)
            return state, answer
        return real(self, state, query, coins)

    monkeypatch.setattr(TreeCounter, "step", step)
    monkeypatch.setattr(TreeCounter, "growth", Growth())


def a_unit_is_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        counter, "contribution", lambda statistic, level, seen, batch: (statistic(batch), seen)
    )


def a_node_is_released_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A level that is not charged: leaves have a second noisy value."""
    real = TreeCounter.advanced

    def advanced(self: Any, state: Any, value: Any, seen: Any, coins: Any) -> Any:
        after = real(self, state, value, seen, coins)
        extra = (value + coins.draw(self._law(Epoch(0, 4)))) % 3
        return attrs.evolve(after, nodes=after.nodes.set((-1, after.time), extra))

    noisy = TreeCounter.noisy
    monkeypatch.setattr(TreeCounter, "advanced", advanced)
    monkeypatch.setattr(
        TreeCounter,
        "noisy",
        lambda self, state, span: (
            noisy(self, state, span) if span.now else (state.nodes[-1, span.end], GaussianSum([1]))
        ),
    )


@pytest.mark.usefixtures("cyclic")
def test_noise_drawn_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two questions about one batch then lose twice as much."""
    mechanism = TreeCounter(Count(), epsilon=1, horizon=4)
    queries = (ARRIVES, Total())

    def loss() -> float:
        return float(
            worst_case(mechanism, None, None, queries=queries, horizon=4,
                       divergence=MaxDivergence(), differing=1).value
        )  # fmt: skip

    assert loss() == pytest.approx(log(2))
    drawn_at_each_question(monkeypatch)
    assert loss() > 2.9 * log(2)


@pytest.mark.usefixtures("cyclic")
def test_a_level_that_is_not_charged_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more noisy value of a leaf is one more level."""
    mechanism = TreeCounter(Count(), epsilon=1, horizon=2, past=None)
    a_node_is_released_twice(monkeypatch)
    worst = largest(mechanism, (NOTHING, ARRIVES), "uquqq", (Total(), Total(at=1)))
    assert worst > 2.9 * log(2)


@pytest.mark.usefixtures("cyclic")
def test_a_unit_loses_no_more_than_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its records differ in four batches, and one of them counts; more records lose more."""
    mechanism = TreeCounter(Count(), epsilon=1, horizon=4, neighbours=UserLevel("who", 1))
    moves = (Update([{"who": 2}]), Pair(Update([{"who": 1}]), NOTHING))
    assert largest(mechanism, moves, "uq" * 4, differing=4) == pytest.approx(3 * log(2))
    a_unit_is_not_cut(monkeypatch)
    assert largest(mechanism, moves, "uq" * 4, differing=4) > 3.5 * log(2)


def test_the_noise_of_a_node_is_what_the_claim_is_about() -> None:
    """Each node that a total uses is drawn from the law whose variance is claimed, once."""

    coins = NotedCoins()
    fed(TreeCounter(Count(), scale=3, horizon=8), [1] * 8, coins)
    assert coins.laws == [DiscreteGaussian(9)] * 8


@attrs.frozen
class Onwards(InteractiveMechanism[Any]):
    """A mechanism from one of its states on."""

    mechanism: Any
    state: Any

    growth = Growth()

    def init(self, dataset: Any, coins: Any = None) -> tuple[Any, None]:
        return self.state, None

    def step(self, state: Any, query: Any, coins: Any = None) -> tuple[Any, Any]:
        moved: tuple[Any, Any] = self.mechanism.step(state, query, coins)
        return moved

    @property
    def past(self) -> Any:
        return self.mechanism.past


def states_after(mechanism: Any, updates: int) -> set[Any]:
    """Every state that batches without a difference may lead to."""

    def run(coins: Any) -> Any:
        state, _ = mechanism.init(None, coins)
        for _ in range(updates):
            state, _ = mechanism.step(state, NOTHING, coins)
        return state

    return {state for _, state in every_outcome(run)}


@pytest.mark.usefixtures("cyclic")
@pytest.mark.parametrize("updates", [0, 1, 2, 3])
def test_the_claim_holds_from_any_history(updates: int) -> None:
    """Given any state that equal batches lead to, whatever differs later loses no more."""
    mechanism = TreeCounter(Count(), epsilon=1, horizon=4)
    assert mechanism.growth.from_any_history
    pattern = "uq" * (4 - updates)
    losses = {
        largest(Onwards(mechanism, state), (NOTHING, ARRIVES), pattern)
        for state in states_after(mechanism, updates)
    }
    levels = (3, 2, 2, 1)[updates]  # nodes that are open, or will be
    assert max(losses) == pytest.approx(levels * log(2))


# Under compositors.


def test_counters_interleave_with_other_mechanisms() -> None:
    """Below a filter, one is fed with everything else, and is charged once."""
    root = Queryable(FiltCon(ZCDP(4 * EXACT)), [1, 2, 3])
    one, other = (root.launch(make(horizon=4)) for make in (MAKERS["tree"], MAKERS["toeplitz"]))
    root.feed([7, 7])
    late = root.launch(MAKERS["tree, some past"]())
    root.feed([7])
    assert [each(Total()) for each in (one, other, late)] == [3, 3, 1]
    assert one.ask_many([Total(at=1), Window(last=1)]) == (2, 1)
    for _ in range(4):
        root.feed([])
    with pytest.raises(QueryRefusedError, match="horizon"):
        one(Total())
    assert root.privacy_loss() == ZCDP(3 * EXACT)
    # In zCDP too: their claims hold from any history.
    parts = {"a": TreeCounter(Count(), rho=EXACT), "b": ToeplitzCounter(Count(), rho=EXACT)}
    root = Queryable(Parallel(Partition("ward", ["a", "b"]), parts), {"ward": ["a"]})
    root.feed({"ward": ["a", "b", "b"]})
    root.feed({"ward": ["b", "c"]})
    assert [root.ask(Ask(name, Total())) for name in "ab"] == [1, 3]


# What docs/growing.md says of least squares.


@pytest.mark.slow
def test_what_least_squares_would_leave_of_the_noise() -> None:
    """The figures of the guide, from the matrix of nodes; the recursion of the proof agrees."""
    levels, steps = 11, 1024
    best = [2.0**level / (2 ** (level + 1) - 1) for level in range(levels)]

    def digits(time: int) -> list[int]:
        return [level for level, _ in tree.cover(0, time)]

    now = [levels * sum(best[level] for level in digits(time)) for time in range(1, steps + 1)]
    assert (np.mean(now), max(now)) == pytest.approx((31.9, 63.8), abs=0.05)
    added = [levels * len(digits(time)) for time in range(1, steps + 1)]
    assert (np.mean(added), max(added)) == pytest.approx((55.0, 110), abs=0.05)
    after = totals_by_least_squares(steps)
    variances = levels * np.diag(after)[1:]
    assert (variances.mean(), variances.max()) == pytest.approx((13.6, 19.7), abs=0.05)
    ends = np.arange(7, steps + 1)
    windows = after[ends, ends] + after[ends - 7, ends - 7] - 2 * after[ends, ends - 7]
    assert levels * windows.mean() == pytest.approx(12.3, abs=0.05)
    for time in (7, 100, 127):
        early = totals_by_least_squares(time)
        assert early[time, time] * levels == pytest.approx(now[time - 1])


def totals_by_least_squares(steps: int) -> Any:
    """The covariances of totals from all nodes that are complete, each with variance 1."""
    nodes = [
        (start, start + (1 << level))
        for level in range(steps.bit_length())
        for start in range(0, steps - (1 << level) + 1, 1 << level)
    ]
    batches = np.arange(steps)
    rows = np.array([(batches >= start) & (batches < end) for start, end in nodes], float)
    found = np.zeros((steps + 1, steps + 1))
    found[1:, 1:] = np.linalg.inv(rows.T @ rows).cumsum(0).cumsum(1)
    return found
