"""Sparse vector: what it answers, what it reads, and its claim against exact laws."""

import warnings
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp
from typing import Any

import attrs
import pytest

from mechanisms import Above, Count, Histogram, Laplace, SparseVector, Sum
from mechanisms.sampling.laws import DiscreteLaplace
from mechanisms.sparse_vector import SparseVectorState
from queryable import (
    ZCDP,
    Failed,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    Refused,
    SeededCoins,
    Statistic,
    accuracy,
)
from queryable.checks.datasets import Described
from queryable.errors import AccuracyWarning
from queryable.messages import AskMany


class Noise:
    """Coins whose draws are given, and noted."""

    def __init__(self, *draws: int) -> None:
        self.draws, self.laws = list(draws), []  # type: ignore[var-annotated]

    def draw(self, law: Any, size: Any = None) -> Any:
        self.laws.append(law)
        return self.draws.pop(0)

    def spawn(self, child: Any, message: int) -> "Noise":
        return self


def value_of(index: int) -> Statistic:
    return Statistic(lambda dataset: dataset[index], l1=1, l2=1)


def run(mechanism: SparseVector, dataset: Any, start: int, *queries: tuple[int, ...]) -> list[Any]:
    """The answers when the noise is `start`, and then what each query says it is."""
    state, opening = mechanism.init(dataset, Noise(start))
    assert opening is None
    answers = []
    for index, *draws in queries:
        state, answer = mechanism.step(state, value_of(index), Noise(*draws))
        answers.append(answer)
    return answers


def worst(noises: Any, distance: int, questions: int) -> float:
    """The chance that an answer is wrong, of an adversary who knows the noise on the threshold."""
    x, y = (exp(-1 / float(each.scale)) for each in noises)
    chance = 0.0
    for noise in range(int(40 * noises[0].scale)):
        left = distance - noise
        one = y**left / (1 + y) if left > 0 else 1 - y ** (1 - left) / (1 + y)
        weight = (1 - x) / (1 + x) * x**noise * (2 if noise else 1)
        chance += weight * (1 - (1 - one) ** questions)
    return chance


@pytest.mark.parametrize("questions", [1, 7, 500])
@pytest.mark.parametrize("epsilon", ["1/10", 1, 30])
@pytest.mark.parametrize("monotone", [True, False, None])
def test_answers_at_a_distance_are_right(questions: int, epsilon: Any, monotone: Any) -> None:
    """At the distance that is stated, by the exact chance, and not at four fifths of it."""
    for confidence in ("0.5", "0.95", "0.999"):
        for cutoff in (1, 3):
            vector = SparseVector(10**6, epsilon, cutoff, sensitivity=2, monotone=monotone)
            distance = accuracy(vector, confidence, questions=questions)
            noises = vector.noises[0], vector.noises[1 if monotone else 2]
            missed = 1 - float(confidence)
            assert worst(noises, int(distance), questions) <= missed
            if confidence != "0.5":
                assert worst(noises, int(distance * 0.8) - 1, questions) > missed
    fresh = SparseVector(10**6, epsilon, 3, monotone=monotone, refresh=True)
    noises = fresh.noises[0], fresh.noises[1 if monotone else 2]
    far = int(accuracy(fresh, "0.95", questions=questions))
    assert min(3, questions) * worst(noises, far, questions) <= 0.05


def test_released_answers_are_as_right_as_stated() -> None:
    """Of 200 sparse vectors with ten values at the distance, 95% are right; false alarm 1e-4."""
    search = SparseVector(1000, "1/10", 10, monotone=True)
    distance = int(accuracy(search, questions=10))

    def wrong(away: int) -> int:
        values = [1000 + (away if place % 2 else -away) for place in range(10)]
        questions = [
            Statistic(lambda values, at=at: values[at], l1=1, l2=1, monotone="up")
            for at in range(10)
        ]
        count = 0
        for seed in range(200):
            queryable = Queryable(search, values, coins=SeededCoins(seed), allow_seeded=True)
            count += queryable.ask_many(questions) != tuple(place % 2 == 1 for place in range(10))
        return count

    assert wrong(distance) <= 23
    assert wrong(distance // 3) > 60


def test_noise_as_large_as_the_threshold_is_said() -> None:
    """At its construction, where it is written; not of a threshold of 0, nor of a larger one."""
    with pytest.warns(AccuracyWarning, match="deviation of 40, and its threshold is 30") as said:
        SparseVector(30, "1/10")
    assert said[0].filename == __file__
    with pytest.warns(AccuracyWarning, match="threshold is -30"):
        SparseVector(-30, "1/10")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for threshold in (0, 41, -41):
            SparseVector(threshold, "1/10")


def test_compares_noisy_values_with_a_noisy_threshold() -> None:
    """True where value and noise reach threshold and noise; equality is True."""
    mechanism = SparseVector(10, 1, cutoff=5, refresh=True)
    data = [10, 9, 11]
    assert run(mechanism, data, 0, (0, 0, 0), (1, 0), (2, 0, 0)) == [True, False, True]
    assert run(mechanism, data, 1, (0, 0), (0, 1, 1), (2, -1)) == [False, True, False]
    # The threshold is taken as written.
    assert run(SparseVector("19/2", 1), [9], 0, (0, 0)) == [False]
    assert run(SparseVector("-19/2", 1), [-9], 0, (0, 0)) == [True]
    # An answer True is the distance from the noisy threshold; False is False.
    mechanism = SparseVector("7/2", 1, cutoff=2, gap=True)
    answers = run(mechanism, [5, 2], 1, (1, 0), (0, 0), (0, 2), (0,))
    assert answers[:3] == [False, Above(Fraction(1, 2)), Above(Fraction(5, 2))]
    assert answers[3] == Refused("cutoff reached")


def laws_of(mechanism: SparseVector, statistic: Any) -> list[Any]:
    """The laws of the noise on the threshold and on one statistic that is answered True."""
    coins = Noise(0, 0, 0)
    state, _ = mechanism.init([5], coins)
    mechanism.step(state, statistic, coins)
    return coins.laws


UP, DOWN = (Statistic(lambda data, sign=sign: sign * data[0], l1=1, l2=1, monotone=moves)
            for sign, moves in ((1, "up"), (-1, "down")))  # fmt: skip


def test_scales_are_the_theorems() -> None:
    """1/e1 on the threshold, 1/e2 on a monotone query, twice that on others; e1 + c e2 = 1/2."""
    for cutoff in (1, 2, 3, 10, 10**6):
        for monotone in (None, True, False):
            mechanism = SparseVector(-9, "1/2", cutoff, monotone=monotone)
            threshold, query = mechanism.epsilons
            assert threshold + cutoff * query == Fraction(1, 2)
            best = (cutoff * (1 if monotone is not False else 2)) ** (2 / 3)
            assert abs(float(cutoff * query / threshold) - best) <= 0.001 * best
            ways = 2 if monotone is False else 1
            for each in (UP, DOWN):
                laws = laws_of(mechanism, each)
                assert laws == [DiscreteLaplace(1 / threshold), DiscreteLaplace(ways / query)]
    assert laws_of(SparseVector(0, 1), value_of(0)) == [DiscreteLaplace(2), DiscreteLaplace(4)]
    assert laws_of(SparseVector(0, 1), UP) == [DiscreteLaplace(2)] * 2
    # Each of three epochs has a third of epsilon, and a draw of its own.
    mechanism = SparseVector(0, "3/2", cutoff=3, refresh=True)
    assert mechanism.epsilons == (Fraction(1, 4), Fraction(1, 4))
    assert laws_of(mechanism, UP) == [DiscreteLaplace(4)] * 3
    # Values that move four times as far need four times the noise.
    one, four = (SparseVector(0, "1/2", cutoff=3, sensitivity=s) for s in (1, 4))
    for small, large in zip(laws_of(one, UP), laws_of(four, UP), strict=True):
        assert large.scale == 4 * small.scale


def test_monotone_statistics_move_one_way() -> None:
    """The first one decides, and one of another kind is refused before data and coins."""
    mechanism = SparseVector(10**6, 1, cutoff=5)
    state, _ = mechanism.init([5], Noise(0))
    for first, allowed, refused in (
        (UP, [UP, Count()], [DOWN, value_of(0)]),
        (DOWN, [DOWN], [UP, Count(), value_of(0)]),
        (value_of(0), [UP, DOWN, value_of(0)], []),
    ):
        begun, _ = mechanism.step(state, first, Noise(0))
        for each in allowed:
            assert mechanism.step(begun, each, Noise(0))[0] == begun
        for each in refused:
            with pytest.raises(QueryError, match="monotone=False"):
                mechanism.step(begun, each, Noise())
            with pytest.raises(QueryError, match=r"entry 1: .*monotone=False"):
                mechanism.step(state, AskMany([first, each]), Noise())
        assert mechanism.step(state, AskMany([first, *allowed]), Noise(*[0] * 9))[0] == begun
    # True refuses the first statistic already; False takes all, at twice the noise.
    strict, free = (SparseVector(10**6, 1, monotone=monotone) for monotone in (True, False))
    state, _ = strict.init([5], Noise(0))
    with pytest.raises(QueryError, match="monotone=False"):
        strict.step(state, value_of(0), Noise())
    after, _ = strict.step(state, DOWN, Noise(0))
    with pytest.raises(QueryError, match="move down"):
        strict.step(after, UP, Noise())
    state, _ = free.init([5], Noise(0))
    for each in (UP, DOWN, value_of(0), UP):
        coins = Noise(0)
        state, _ = free.step(state, each, coins)
        assert coins.laws == [DiscreteLaplace(2 / free.epsilons[1])]


@attrs.frozen
class Pretends(Count):
    """A statistic that says something else at every look."""

    @property
    def monotone(self) -> Any:  # type: ignore[override]
        LOOKS.append(1)
        return "up" if len(LOOKS) % 2 else None


LOOKS: list[int] = []


def test_a_declaration_is_read_once() -> None:
    """And what is no declaration is refused."""
    mechanism, coins = SparseVector(10**6, 1), Noise(0)
    state, _ = mechanism.init([5], Noise(0))
    after, _ = mechanism.step(state, Pretends(), coins)
    assert (len(LOOKS), after.moves, coins.laws) == (1, "up", [DiscreteLaplace(2)])
    for wrong in (True, "Up", 1, ("up",)):
        each = attrs.evolve(UP)
        object.__setattr__(each, "monotone", wrong)
        with pytest.raises(QueryError, match="monotone"):
            mechanism.step(state, each, Noise())


@pytest.mark.parametrize("monotone", [None, True, False])
def test_refreshed_thresholds_have_a_bound_in_zcdp(monotone: bool | None) -> None:
    """c e tanh(e/2) at e = d_in epsilon / c, rounded up; without refreshing the conversion."""
    one, many = (SparseVector(0, 2, 4, monotone=monotone, refresh=r) for r in (False, True))
    for d_in in (0, 1, 3):
        epoch = PureDP(Fraction(d_in, 2)).to(ZCDP)
        assert many.privacy_map(d_in, ZCDP) == ZCDP(4 * epoch.rho)  # type: ignore[attr-defined]
        assert one.privacy_map(d_in, ZCDP) == PureDP(2 * d_in).to(ZCDP)
        assert many.privacy_map(d_in) == one.privacy_map(d_in) == PureDP(2 * d_in)


def test_a_statistic_may_move_as_far_as_the_sensitivity() -> None:
    state, _ = SparseVector(0, 1, sensitivity=4).init([5], SeededCoins(1))
    for l1 in (1, "7/2", 4):
        statistic = Statistic(sum, l1=l1, l2=l1)
        assert SparseVector(0, 1, sensitivity=4).step(state, statistic, Noise(0, 0))[1] is True
    with pytest.raises(QueryError, match="at most 4"):
        SparseVector(0, 1, sensitivity=4).step(state, Statistic(sum, l1="4.01", l2=4), Noise())
    # Of a sensitivity that was meant for the sum itself, the error says what to write.
    data = {"cost": [12.5, 700.0]}
    search = Queryable(SparseVector(9, 1, sensitivity=1000), data)
    with pytest.raises(QueryError, match="unit=1: it adds up units of 1/1000, and the threshold"):
        search(Sum("cost", 0, 1000, unit="1/1000"))
    assert search(Sum("cost", 0, 1000, unit=1)) in (True, False)


def test_noise_on_the_threshold_is_drawn_once_or_after_each_true() -> None:
    answers = run(SparseVector(0, 1, cutoff=3), [0, -50], 10, (0, 9), (0, 10), (0, 9), (1, 60))
    assert answers == [False, True, False, True]
    # If it is refreshed, the next epoch compares with new noise; a False keeps the old.
    mechanism = SparseVector(0, 1, cutoff=3, refresh=True)
    answers = run(mechanism, [0, -50], 0, (1, 0), (0, 0, 100), (0, 0), (0, 100, -70), (1, 0, 0))
    assert answers == [False, True, False, True, True]
    coins = Noise(0, 0)
    mechanism = SparseVector(0, 1)
    state, _ = mechanism.init([5], coins)
    mechanism.step(state, value_of(0), coins)
    assert not coins.draws


def test_after_the_cutoff_nothing_is_read() -> None:
    """It refuses, leaves the state as it is, evaluates nothing, and has dropped the data."""
    calls = []

    def counted(dataset: Any) -> int:
        calls.append(dataset)
        return 1000

    statistic = Statistic(counted, l1=1, l2=1)
    mechanism = SparseVector(0, 10, cutoff=2)
    state, _ = mechanism.init("data", SeededCoins(1))
    for _ in range(2):
        state, answer = mechanism.step(state, statistic, SeededCoins(1))
        assert answer is True
    after, answer = mechanism.step(state, statistic, Noise())
    assert answer == Refused("cutoff reached")
    assert after is state
    assert state.dataset is None
    assert calls == ["data", "data"]
    # To the analyst the cutoff is a QueryRefusedError.
    search = Queryable(SparseVector(0, 10), [1] * 1000)
    assert search(Count()) is True
    with pytest.raises(QueryRefusedError, match="cutoff reached"):
        search(Count())


@attrs.frozen
class Undeclared(Count):
    """A statistic that does not say how sensitive it is."""

    @property
    def l1(self) -> Any:  # type: ignore[override]
        return float("nan")


@pytest.mark.parametrize(
    "query",
    [
        *(len, 3, None, Laplace(Count(), scale=1), Statistic(len, l1="1.01", l2=1)),
        *(Statistic(len, l1=1, l2=1, shape=1), Histogram("state", ["NY"]), Undeclared()),
    ],
    ids=repr,
)
@pytest.mark.parametrize("left", [0, 1])
def test_illegal_queries_touch_nothing(query: Any, left: int) -> None:
    """Anything but one integer of sensitivity at most 1 is refused before data and coins."""
    mechanism = SparseVector(0, 1)
    state, _ = mechanism.init(None, SeededCoins(1))
    with pytest.raises(QueryError):
        mechanism.step(attrs.evolve(state, left=left), query, Noise())


def test_a_failing_statistic_is_a_fault() -> None:
    """What a statistic raises, a QueryError too, does not look like an error of the query."""

    def wrong(dataset: Any) -> int:
        raise QueryError("the patient is 47")

    search = Queryable(SparseVector(0, 1), [1])
    with pytest.raises(MechanismFault):
        search(Statistic(wrong, l1=1, l2=1))


def test_state_shows_nothing_private() -> None:
    """Neither data nor threshold noise are in the state's repr."""
    state, _ = SparseVector(0, 1).init("the patient is 47", Noise(12345))
    assert repr(state) == "SparseVectorState(left=1, moves=None)"


@attrs.frozen
class TooLittleNoise(SparseVector):
    """The wrong split: the noise on queries is that on the threshold."""

    def _query_noise(self, moves: Any) -> DiscreteLaplace:
        return self._threshold_noise()


WIDE = 34


def weights(law: DiscreteLaplace) -> dict[int, float]:
    each = {x: exp(-abs(x) / float(law.scale)) for x in range(-WIDE, WIDE + 1)}
    total = sum(each.values())
    return {x: weight / total for x, weight in each.items()}


def epoch(mechanism: SparseVector, below: int, above: int) -> float:
    """The chance that 20 queries of value `below` are False and then one of `above` True.

    Found by running `step` under every noise within `WIDE`.
    """
    begun = zip(
        weights(laws_of(mechanism, value_of(0))[0]).values(),
        said(mechanism, below, False),
        said(mechanism, above, True),
        strict=True,
    )
    return sum(chance * passed**20 * found for chance, passed, found in begun)


@cache
def said(mechanism: SparseVector, value: int, answer: bool) -> list[float]:
    """The chance of this answer to a query of that value, at each noise on the threshold."""
    on_threshold, on_queries = (weights(law) for law in laws_of(mechanism, value_of(0))[:2])
    chances = []
    for start in on_threshold:
        begun, _ = mechanism.init((value,), Noise(start))
        answers = (
            (weight, mechanism.step(begun, value_of(0), Noise(noise))[1])
            for noise, weight in on_queries.items()
        )
        chances.append(sum(weight for weight, each in answers if each is answer))
    return chances


def worst_ratio(mechanism: SparseVector) -> float:
    """The largest ratio of an epoch's probabilities when values move by the sensitivity."""
    laws = {
        (below, above): epoch(mechanism, below, above)
        for below in (1, 2, 3)
        for above in (-6, -5, -4)
    }
    pairs = product(laws.items(), laws.items())
    return max(
        one / other
        for (values, one), (moved, other) in pairs
        if max(abs(values[0] - moved[0]), abs(values[1] - moved[1])) <= mechanism.sensitivity
    )


@pytest.mark.parametrize(
    ("mechanism", "epsilon"),
    [
        *(pytest.param(SparseVector(x, 4), 4, marks=pytest.mark.slow) for x in ("0", "1/2")),
        (SparseVector("-5/3", 4), 4),
        (SparseVector(0, 8, sensitivity=2), 8),
    ],
    ids=["0", "half", "negative", "sensitivity"],
)
def test_claim_holds_exactly_on_an_epoch(mechanism: SparseVector, epsilon: int) -> None:
    """Over neighbours no answers are e^epsilon times likelier, and some are nearly so."""
    assert exp(epsilon) * 0.99 < worst_ratio(mechanism) <= exp(epsilon) * (1 + 1e-9)


def test_too_little_noise_is_caught() -> None:
    """The same check refutes noise of half the scale."""
    assert worst_ratio(TooLittleNoise(0, 4)) > exp(5)


def test_several_are_compared_one_after_the_other() -> None:
    """With the same draws in the same order, until the cutoff."""
    mechanism, data = SparseVector(0, 1, cutoff=2, refresh=True), [5, -5, 5, 5]
    draws = [0, 0, 0, 0, 0, 0]
    single = run(mechanism, data, 0, (1, 0), (0, 0, 0), (2, 0), (3,))
    state, _ = mechanism.init(data, Noise(0))
    state, answers = mechanism.step(
        state, AskMany([value_of(n) for n in (1, 0, 2, 3)]), Noise(*draws)
    )
    assert list(answers) == single == [False, True, True, Refused("cutoff reached")]
    assert state == SparseVectorState(0, None, 0)
    after, refused = mechanism.step(state, AskMany([value_of(0)]), Noise())
    assert (after, refused) == (state, (Refused("cutoff reached"),))
    # By its place.
    mechanism = SparseVector(0, 1)
    state, _ = mechanism.init([5], Noise(0))
    for wrong in (3, Statistic(len, l1=2, l2=2), Statistic(len, l1=1, l2=1, shape=3)):
        with pytest.raises(QueryError, match="entry 1: ") as caught:
            mechanism.step(state, AskMany([value_of(0), wrong]), Noise())
        assert type(caught.value) is QueryError
    with pytest.raises(QueryError, match="AskMany"):
        mechanism.step(state, AskMany([]), Noise())
    # The answers before it are kept, and nothing is answered afterwards.
    q = Queryable(SparseVector(10**6, 1, cutoff=9), [5], coins=SeededCoins(1), allow_seeded=True)
    assert q.ask_many([value_of(0), value_of(7), value_of(0)]) == (False, Failed(), Failed())
    for queries in ([value_of(0)], [value_of(0)] * 2):
        assert q.ask_many(queries) == (Failed(),) * len(queries)
    with pytest.raises(MechanismFault):
        q.ask(value_of(0))


def test_a_table_prepares_them_once() -> None:
    """Not after the cutoff."""
    prepared = []

    class Rows(Described):
        def check(self, statistic: Any) -> None:
            """Every statistic fits."""

        def prepare(self, statistics: Any) -> None:
            prepared.append(len(statistics))

    mechanism = SparseVector(-(10**6), 1)
    q = Queryable(mechanism, Rows(), coins=SeededCoins(1), allow_seeded=True)
    one = Statistic(lambda dataset: 1, l1=1, l2=1)
    assert q.ask_many([one] * 3)[0] is True
    assert isinstance(q.ask_many([one] * 2)[0], Refused)
    assert prepared == [3]
