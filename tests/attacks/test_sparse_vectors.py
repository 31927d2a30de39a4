"""Attacks on published sparse vectors: of the six that Lyu, Su and Li (2017) compare, four leak.

Each is played as a finite mechanism with integer noise, claimed to be epsilon-DP, against its exact
worst adversary. A query is a pair: its value under x and that under x', at most 1 apart, and the
threshold is 0.

How they are made finite. The noise on a query is not drawn: the answer is a coin with the exact
chance that value and noise reach the noisy threshold. What the noise has to make up for, the gap,
is clamped to [-K, K] first. That changes the chances g(gap) of a yes only by making them flat
beyond K, so g still falls as the gap grows, and g(t) <= e^(2/scale) g(t + 2) still: the proofs that
algorithms 1 and 2 are private use nothing else. And beyond K + 1 all noise on the threshold does
the same, so that lumping it there changes nothing at all. What is private stays exactly private;
for what is not, a run can differ from the published algorithm only where the threshold's noise is
beyond K - 1, which a refutation has to exceed.
"""

from fractions import Fraction
from functools import cache
from typing import Any

import attrs
import pytest

from mechanisms import SparseVector
from queryable import SYSTEM, Coins, InteractiveMechanism, Statistic, UnknownQueryError
from queryable.audit import HockeyStick, WorstCase, hockey_stick, view_law, worst_case
from queryable.randomness.laws import Bernoulli, FairBits, Law
from tests.audit.toys import nats

F = Fraction


def at_least(ratio: Fraction, t: int) -> Fraction:
    """The chance of t or more under the discrete Laplace law whose scale is 1/log(1/ratio)."""
    return ratio**t / (1 + ratio) if t >= 1 else 1 - ratio ** (1 - t) / (1 + ratio)


@attrs.frozen
class Choice(Law[Any]):
    """Values and their chances."""

    chances: tuple[tuple[Any, Fraction], ...]

    def sample(self, source: FairBits) -> Any:
        raise NotImplementedError  # only ever enumerated

    def outcomes(self) -> Any:
        return self.chances


@cache
def lumped(ratio: Fraction, low: int, high: int) -> Choice:
    """Discrete Laplace noise, all of it below `low` and above `high` moved there."""
    below = [1 - at_least(ratio, low + 1)]
    inside = [at_least(ratio, t) - at_least(ratio, t + 1) for t in range(low + 1, high)]
    chances = [*below, *inside, at_least(ratio, high)]
    return Choice(tuple(zip(range(low, high + 1), chances, strict=True)))


@attrs.frozen
class Published(InteractiveMechanism[Any]):
    """One of the six: says whether noisy values reach one noisy threshold.

    A noise is given by its ratio e^(-1/scale): 1/4 is Laplace noise of scale 1/log(4), and 0 none.
    """

    threshold: Fraction = attrs.field(converter=F)
    query: Fraction = attrs.field(converter=F)
    cutoff: int | None = 1
    fresh: bool = False
    """Whether the threshold has new noise after each yes."""
    numbers: bool = False
    """Whether a yes is the noisy value itself."""
    reach: int = 12

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, None]:
        return (dataset, self.cutoff, coins.draw(self._noise())), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        dataset, left, noise = state
        if left == 0:
            raise UnknownQueryError("the cutoff is reached")
        answer = self._compared(query[dataset], noise, coins)
        if answer is False or left is None:
            return state, answer
        if left == 1:
            return (None, 0, 0), answer
        return (dataset, left - 1, coins.draw(self._noise()) if self.fresh else noise), answer

    def _noise(self) -> Choice:
        return lumped(self.threshold, -self.reach, self.reach)

    def _compared(self, value: int, noise: int, coins: Coins) -> Any:
        if self.numbers:
            said = lumped(self.query, noise - 1 - value, self.reach - value)
            drawn = value + coins.draw(said)
            return ("noisy", drawn) if drawn >= noise else False
        clamped = max(1 - self.reach, min(noise - value, self.reach - 1))
        return coins.draw(Bernoulli(at_least(self.query, clamped)))

    @property
    def beyond(self) -> Fraction:
        """The chance that the threshold's noise is so large that the clamp may matter."""
        return 2 * at_least(self.threshold, self.reach - 1)


# e^epsilon and the algorithm. Epsilon is 4c*log(2), which makes every ratio rational: half of it is
# spent on the threshold, in 4 a quarter. Scales, with sensitivity 1:
ALGORITHMS: dict[str, tuple[int, Published]] = {
    # threshold 2/epsilon, queries 4c/epsilon
    "1": (16, Published("1/4", "1/2")),
    "1, cutoff 2": (256, Published("1/16", "1/2", 2)),
    # threshold 2c/epsilon and drawn anew, queries 4c/epsilon
    "2": (16, Published("1/4", "1/2", fresh=True)),
    "2, cutoff 2": (256, Published("1/4", "1/2", 2, fresh=True)),
    # threshold 2/epsilon, queries 2c/epsilon, and says the noisy value
    "3": (16, Published("1/4", "1/4", numbers=True)),
    # threshold 4/epsilon, queries 4/(3 epsilon) whatever the cutoff
    "4": (16, Published("1/2", "1/8")),
    "4, cutoff 2": (256, Published("1/4", "1/64", 2)),
    # threshold 2/epsilon, queries without noise, no cutoff
    "5": (16, Published("1/4", 0, None)),
    # threshold 2/epsilon, queries 2/epsilon, no cutoff
    "6": (16, Published("1/4", "1/4", None)),
}
PRIVATE = ("1", "1, cutoff 2", "2", "2, cutoff 2")
BROKEN = {"3": 3, "4": 2, "4, cutoff 2": 2, "5": 2, "6": 3}
"""The broken algorithms, and the number of queries that refutes each."""

BOTH_WAYS = [(0, 1), (1, 0)]
ALIKE = [(0, 1), pytest.param(1, 0, marks=pytest.mark.slow)]
"""With these queries the adversaries of one way are those of the other."""
UP_AND_DOWN = ((0, 1), (1, 0))
AROUND = tuple((a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if abs(a - b) <= 1)


def worst(
    mechanism: Any,
    odds: int,
    horizon: int,
    x: int = 0,
    x_prime: int = 1,
    queries: Any = UP_AND_DOWN,
) -> WorstCase:
    """The strongest adversary against the claim that epsilon is the logarithm of the odds."""
    return worst_case(mechanism, x, x_prime, queries, horizon, HockeyStick(nats(odds)))


def assert_refuted(mechanism: Published, odds: int, found: WorstCase) -> None:
    """Replayed, the witness shows what it says, and more than being finite could have added."""
    laws = [view_law(mechanism, bit, found.adversary) for bit in (0, 1)]
    assert hockey_stick(*laws, nats(odds)) == found.value
    assert found.value > (1 + odds) * mechanism.beyond


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize(("x", "x_prime"), ALIKE)
def test_the_private_ones_are_not_refuted(name: str, x: int, x_prime: int) -> None:
    """No adversary of six questions, or of three with values all around, gains anything."""
    odds, mechanism = ALGORITHMS[name]
    near = attrs.evolve(mechanism, reach=4)  # private at any
    assert worst(near, odds, 6, x, x_prime).value == 0
    assert worst(near, odds, 3, x, x_prime, AROUND).value == 0
    assert worst(near, 4, 6, x, x_prime).value > F(1, 50)


@pytest.mark.parametrize("name", BROKEN)
def test_the_others_are_refuted_by_a_witness(name: str) -> None:
    """The claimed epsilon fails against the adversary that the check returns."""
    odds, mechanism = ALGORITHMS[name]
    found = worst(mechanism, odds, BROKEN[name])
    assert_refuted(mechanism, odds, found)
    assert "ask (" in str(found.adversary)
    assert worst(mechanism, odds, BROKEN[name] - 1).value == 0


@pytest.mark.parametrize(
    ("name", "times", "horizon"),
    [("3", 2, 5), ("3", 3, 7), ("6", 2, 6), pytest.param("6", 3, 10, marks=pytest.mark.slow)],
)
def test_no_epsilon_is_large_enough(name: str, times: int, horizon: int) -> None:
    """Twice and three times what is claimed are refuted too, by asking more."""
    odds, mechanism = ALGORITHMS[name]
    assert_refuted(mechanism, odds**times, worst(mechanism, odds**times, horizon))


def test_without_noise_on_queries_two_answers_tell_everything() -> None:
    """Algorithm 5 answers no at 0 and then yes at 1 only if the threshold's noise is 1."""
    _, mechanism = ALGORITHMS["5"]
    found = worst(mechanism, 16**20, 2)
    assert found.value == at_least(F(1, 4), 1) - at_least(F(1, 4), 2)
    law = view_law(mechanism, 1, found.adversary)
    assert view_law(mechanism, 0, found.adversary)[None, False, True] == found.value
    assert (None, False, True) not in law or law[None, False, True] == 0


@pytest.mark.parametrize(("name", "cutoff"), [("4", 1), ("4, cutoff 2", 2)])
@pytest.mark.parametrize(("x", "x_prime"), ALIKE)
def test_the_fourth_is_private_at_more(name: str, cutoff: int, x: int, x_prime: int) -> None:
    """At (1 + 6c)/4 times epsilon, as Lyu, Su and Li prove; epsilon is 4c*log(2)."""
    _, mechanism = ALGORITHMS[name]
    assert worst(mechanism, 2 ** (cutoff * (1 + 6 * cutoff)), 8, x, x_prime).value == 0
    assert worst(mechanism, 2 ** (cutoff * 6 * cutoff), 8, x, x_prime).value > 0


# Ours: the step that answers analysts, with noise that is lumped.


@attrs.frozen
class Finite(SparseVector):
    """With an even split, at odds 16 a cutoff. 2c/epsilon and 4c/epsilon make ratios 1/4 and 1/2.

    Gaps lie within reach + 1, and the noise on queries reaches 2 beyond, so that moving the gap by
    2 costs what it should. Only the threshold's noise has an end from where it cannot be moved up:
    views that begin there are worth their chance in delta, once an epoch.
    """

    monotone: bool | None = attrs.field(init=False, default=False)
    refresh: bool = attrs.field(init=False, default=True)
    reach: int = 6

    def _split(self) -> tuple[Fraction, Fraction]:
        half = self.epsilon / self.cutoff / 2
        return half, half

    def _threshold_noise(self) -> Any:
        return lumped(F(1, 4), -self.reach, self.reach)

    def _query_noise(self, moves: Any) -> Any:
        return lumped(F(1, 2), -self.reach - 3, self.reach + 3)

    @property
    def unmoved(self) -> Fraction:
        """The delta of being finite."""
        return self.cutoff * at_least(F(1, 4), self.reach)


@attrs.frozen
class HalfTheNoise(Finite):
    """The scale on queries is that on the threshold."""

    def _query_noise(self, moves: Any) -> Any:
        return lumped(F(1, 4), -self.reach - 3, self.reach + 3)


@attrs.frozen
class NoCutoff(Finite):
    """Goes on after a yes, with the same noise on the threshold."""

    def step(self, state: Any, query: Any, coins: Any = SYSTEM) -> tuple[Any, Any]:
        after, answer = super().step(state, query, coins)
        return (state if answer is True else after), answer


def asked(pairs: Any) -> list[Statistic]:
    return [Statistic(lambda bit, pair=pair: pair[bit], l1=1, l2=1) for pair in pairs]


@pytest.mark.parametrize(("cutoff", "reach"), [(1, 6), (2, 4)])
@pytest.mark.parametrize(("x", "x_prime"), ALIKE)
def test_ours_is_not_refuted(cutoff: int, reach: int, x: int, x_prime: int) -> None:
    """By five questions, though at odds 4 it would be; its noise is drawn anew after a yes."""
    odds = 16**cutoff
    sparse = Finite(0, nats(odds), cutoff, reach)
    queries = asked(UP_AND_DOWN)
    assert worst(sparse, odds, 5, x, x_prime, queries).value <= sparse.unmoved
    assert worst(sparse, 4, 5, x, x_prime, queries).value > 4 * sparse.unmoved


def test_ours_is_not_refuted_by_values_all_around() -> None:
    """Also where they do not cross the threshold."""
    sparse = Finite(0, nats(16), 1, 4)
    for x, x_prime in BOTH_WAYS:
        assert worst(sparse, 16, 3, x, x_prime, asked(AROUND)).value <= sparse.unmoved


@pytest.mark.parametrize("kind", [HalfTheNoise, NoCutoff])
def test_with_less_noise_or_no_cutoff_ours_would_be(kind: Any) -> None:
    """The same check finds both faults."""
    sparse = kind(0, nats(16))
    assert worst(sparse, 16, 6, queries=asked(UP_AND_DOWN)).value > 10 * sparse.unmoved


# Ours as it is launched today: one draw of the threshold, or one an epoch.

RATIOS = F(1, 4), F(1, 2)
"""Of the noise on the threshold and on queries. Odds are 4 a draw, and 2 or 4 an answer True."""


@attrs.frozen
class FiniteToday(SparseVector):
    """Noise of `RATIOS` where a query moves by at most one, and twice the scale for both ways."""

    reach: int = attrs.field(default=5, kw_only=True)

    def _threshold_noise(self) -> Any:
        return lumped(RATIOS[0], -self.reach, self.reach)

    def _query_noise(self, moves: Any) -> Any:
        return lumped(RATIOS[1], -self.reach - 3, self.reach + 3)

    def odds(self, price: int) -> int:
        """What it claims, if an answer True costs this factor."""
        return int((4 ** (self.cutoff if self.refresh else 1)) * price**self.cutoff)

    @property
    def unmoved(self) -> Fraction:
        """The delta of being finite; a gap also tells where the noise on queries ends."""
        draws = self.cutoff if self.refresh else 1
        ends = 2 * self.cutoff * at_least(RATIOS[1], self.reach + 2) if self.gap else F(0)
        return draws * at_least(RATIOS[0], self.reach) + ends


def declared(pairs: Any, monotone: Any = "up") -> list[Statistic]:
    return [
        Statistic(lambda bit, pair=pair: pair[bit], l1=1, l2=1, monotone=monotone) for pair in pairs
    ]


UPWARD = tuple((a, b) for a, b in AROUND if a <= b)


@pytest.mark.parametrize(("x", "x_prime"), BOTH_WAYS)
@pytest.mark.parametrize(
    "today",
    [
        FiniteToday(0, 1),
        FiniteToday(0, 1, 2, reach=4),
        FiniteToday(0, 1, 2, refresh=True, reach=3),
        pytest.param(FiniteToday(0, 1, 2, refresh=True, reach=4), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_ours_is_not_refuted_by_monotone_queries(today: Any, x: int, x_prime: int) -> None:
    """Each answer True costs half of what it costs for queries that move both ways."""
    odds = today.odds(2)
    assert worst(today, odds, 3, x, x_prime, declared(UPWARD)).value <= today.unmoved
    assert worst(today, odds, 5, x, x_prime, declared(((0, 1), (0, 0)))).value <= today.unmoved


@pytest.mark.parametrize("monotone", [None, False])
@pytest.mark.parametrize("cutoff", [1, 2])
def test_ours_is_not_refuted_by_queries_that_move_both_ways(cutoff: int, monotone: Any) -> None:
    """At twice the noise; the first query decides, or the analyst."""
    today = FiniteToday(0, 1, cutoff, monotone=monotone, reach=4)
    assert worst(today, today.odds(4), 4, queries=asked(UP_AND_DOWN)).value <= today.unmoved
    assert worst(today, 4, 4, queries=asked(UP_AND_DOWN)).value > today.unmoved


def test_the_noise_for_one_way_is_too_little_for_both() -> None:
    """Statistics that are declared wrongly refute the claim."""
    today = FiniteToday(0, 1)
    found = worst(today, today.odds(2), 6, queries=declared(UP_AND_DOWN))
    assert found.value > 10 * today.unmoved


@pytest.mark.slow
def test_refreshing_at_the_price_of_one_draw_is_refuted() -> None:
    """Each new draw of the threshold's noise costs as much as the first one."""
    today = FiniteToday(0, 1, 2, refresh=True, reach=6)
    once = attrs.evolve(today, refresh=False).odds(2)
    assert worst(today, once, 7, queries=declared(((0, 1), (0, 0)))).value > today.unmoved * 3 / 2


@pytest.mark.parametrize(("x", "x_prime"), BOTH_WAYS)
def test_gaps_above_are_free(x: int, x_prime: int) -> None:
    """The same odds, with the gap in every answer that is not False."""
    today = FiniteToday(0, 1, gap=True, reach=8)
    queries = declared(((0, 1), (0, 0)))
    assert worst(today, today.odds(2), 2, x, x_prime, queries).value <= today.unmoved
