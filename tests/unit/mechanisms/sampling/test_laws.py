"""Laws of noise: exact probabilities, and paths of Laplace noise."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import count, pairwise
from math import exp
from random import Random
from typing import Any

import attrs
import mpmath
import numpy as np
import pytest

from mechanisms.sampling import cks
from mechanisms.sampling import laws as noise
from mechanisms.sampling.laplace_path import CoarsestUnchanged, laplace_path
from mechanisms.sampling.laws import BernoulliExp, DiscreteGaussian, DiscreteLaplace, TruthfulAnswer
from queryable import SeededCoins
from queryable.audit import every_outcome
from queryable.audit.views.enumeration import CUT
from queryable.randomness.intervals import high, low
from queryable.randomness.laws import FairBits, Law
from tests.strategies import Words


class Undecided(Exception):  # noqa: N818
    """The script has ended; these are the chances of the ways to go on."""


class Restarted(Exception):  # noqa: N818
    """A rejection sampler began anew; what it then does is what it did before."""


class Scripted(FairBits):
    """Fair bits that follow a script of choices.

    Args:
        once: whether a second `below` is a restart, as where coins are tossed at once.
    """

    def __init__(self, script: tuple[int, ...], once: bool) -> None:
        self.left = list(reversed(script))
        self.once, self.started = once, False

    def choose(self, chances: Sequence[Any]) -> int:
        if not self.left:
            raise Undecided(chances)
        return self.left.pop()

    def bits(self, count: int) -> int:
        return self.choose([Fraction(1, 2**count)] * 2**count)

    def below(self, bound: int) -> Any:
        if self.once and self.started:
            raise Restarted
        self.started = True
        return Uniform(self, bound) if bound > 1 else 0


class Uniform:
    """A number below a bound that is decided no further than it is looked at."""

    def __init__(self, source: Scripted, bound: int) -> None:
        self.source, self.bound = source, bound
        self.value: int | None = None

    def __lt__(self, other: Any) -> bool:
        limit = int(other)
        if limit <= 0 or limit >= self.bound:
            return limit > 0
        chance = Fraction(limit, self.bound)
        return not self.source.choose((chance, 1 - chance))

    def __int__(self) -> int:
        if self.value is None:
            self.value = self.source.choose([Fraction(1, self.bound)] * self.bound)
        return self.value

    def __add__(self, other: int) -> int:
        return int(self) + other


def explored(law: Law[Any], runs: int, once: bool = False) -> tuple[dict[Any, float], float]:
    """The mass known to lie on each value, and the mass not yet decided; likeliest paths first.

    Restarts are left out of both, which are scaled to make up for it: rejection conditions.
    """
    known: dict[Any, Any] = defaultdict(Fraction)
    restarted, order = Fraction(0), count()
    undecided: Any = Fraction(1)
    paths: list[Any] = [(-1, next(order), undecided, ())]
    for _ in range(runs):
        if not undecided > 1e-9:
            break
        _, _, mass, script = heapq.heappop(paths)
        try:
            value = law.sample(Scripted(script, once))
        except Undecided as more:
            for choice, chance in enumerate(more.args[0]):
                path = (mass * chance, (*script, choice))
                heapq.heappush(paths, (-float(path[0]), next(order), *path))
        except Restarted:
            restarted, undecided = restarted + mass, undecided - mass
        else:
            known[value] += mass
            undecided -= mass
    left = 1 - restarted
    return {value: float(mass / left) for value, mass in known.items()}, float(undecided / left)


def tossed_at_once(numerator: Any, denominator: int, source: Any) -> bool:
    chance = exp(-int(numerator) / denominator)
    return chance == 1 or not source.choose((chance, 1 - chance))


def laplace_at_once(top: int, bottom: int, source: Any) -> int:
    source.below(1)
    chances = laplace(top / bottom)
    choice: int = source.choose([chances(x) for x in range(-200, 201)])
    return choice - 200


def normalised(weight: Callable[[int], float]) -> Callable[[int], float]:
    total = sum(weight(x) for x in range(-400, 401))
    return lambda x: weight(x) / total


def coin(chance: float) -> Callable[[bool], float]:
    return lambda value: chance if value else 1 - chance


def laplace(scale: float) -> Callable[[int], float]:
    return normalised(lambda x: exp(-abs(x) / scale))


def gaussian(variance: float) -> Callable[[int], float]:
    return normalised(lambda x: exp(-x * x / (2 * variance)))


def misplaced(
    law: Law[Any], expected: Callable[[Any], float], width: float, once: bool, runs: int = 10_000
) -> Any:
    """Values whose true probability is outside what exploration leaves possible."""
    known, undecided = explored(law, runs, once)
    assert undecided < width
    return [
        value
        for value, mass in known.items()
        if not mass - 1e-12 <= expected(value) <= mass + undecided + 1e-12
    ]


@pytest.mark.parametrize(
    ("law", "expected", "width"),
    [
        (BernoulliExp("1/2"), coin(exp(-0.5)), 1e-8),
        (BernoulliExp(1), coin(exp(-1)), 1e-8),
        (BernoulliExp("7/3"), coin(exp(-7 / 3)), 1e-8),
        (TruthfulAnswer("1/3"), coin(1 / (1 + exp(-1 / 3))), 1e-8),
        pytest.param(*(TruthfulAnswer(2), coin(1 / (1 + exp(-2))), 0.01), marks=pytest.mark.slow),
        (DiscreteLaplace(1), laplace(1), 0.005),
    ],
    ids=lambda each: repr(each) if isinstance(each, Law) else "",
)
def test_exact_law(law: Law[Any], expected: Callable[[Any], float], width: float) -> None:
    """Every probability lies between the mass decided for it and that plus the undecided mass."""
    assert not misplaced(law, expected, width, once=False)


@pytest.mark.parametrize("scale", ["1/2", "1", "3/2", "5", "7/4"])
def test_exact_laplace_given_the_coin(scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same to nine digits: a coin of chance exp(-x), shown exact above, is tossed at once."""
    monkeypatch.setattr(cks, "coin_exp_to_one", tossed_at_once)
    assert not misplaced(DiscreteLaplace(scale), laplace(float(Fraction(scale))), 1e-8, once=True)


@pytest.mark.parametrize("variance", ["1/3", "1", "5/3", "4", "10"])
def test_exact_gaussian_given_laplace(variance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same: Laplace noise, shown exact above, and the coin are drawn at once."""
    monkeypatch.setattr(noise, "coin_exp", tossed_at_once)
    monkeypatch.setattr(noise, "laplace", laplace_at_once)
    assert not misplaced(
        DiscreteGaussian(variance), gaussian(float(Fraction(variance))), 1e-8, True
    )


@attrs.frozen
class DoubledZero(Law[int]):
    """A wrong sampler: minus zero is not rejected, so zero comes twice."""

    def sample(self, source: FairBits) -> int:
        magnitude = 0
        while BernoulliExp(1).sample(source):
            magnitude += 1
        return -magnitude if source.bits(1) else magnitude


def test_exact_law_rejects_a_wrong_one() -> None:
    """The bracket is narrow enough to tell a doubled zero from the law."""
    assert 0 in misplaced(DoubledZero(), laplace(1), 0.05, once=False, runs=2_500)


def test_zero_exponent_is_certain() -> None:
    """exp(-0) is one, and epsilon zero is a fair coin."""
    assert explored(BernoulliExp(0), 10) == ({True: 1}, 0)
    known, undecided = explored(TruthfulAnswer(0), 10)
    assert (known, undecided) == ({True: 0.5, False: 0.5}, 0)


@pytest.mark.parametrize("law", [DiscreteLaplace("3/2"), DiscreteGaussian("5/3")], ids=repr)
def test_infinite_support_is_not_enumerated(law: Law[int]) -> None:
    """An audit must not take a part of the integers for all of them."""
    assert law.outcomes() is None


@pytest.mark.parametrize("law", [BernoulliExp(10**30), DiscreteLaplace("1e-30")], ids=str)
def test_extreme_parameters_end(law: Law[Any]) -> None:
    """A huge exponent, and noise that is almost surely zero, take no time."""
    assert not any(law.sample(SeededCoins(1)) for _ in range(10))


@pytest.mark.parametrize("law", [DiscreteLaplace(10**40), DiscreteGaussian(10**80)], ids=str)
def test_large_noise_is_python_integers(law: Law[int]) -> None:
    """Noise beyond 64 bits is exact, and an array of it holds Python integers."""
    many = SeededCoins(1).draw(law, (2, 3))
    assert many.shape == (2, 3)
    assert many.dtype == object
    assert {type(each) for each in many.flat} == {int}
    assert max(abs(each) for each in many.flat) > 2**64


def test_noise_is_int64_or_python_integers() -> None:
    assert SeededCoins(1).draw(DiscreteLaplace(3), 5).dtype == np.int64
    # A schedule of one entry draws one number, as `Laplace` does.
    drawn = SeededCoins(9).draw(DiscreteLaplace(F(7)))
    assert laplace_path((F(7),), None, SeededCoins(9)) == (drawn,)


@pytest.mark.parametrize(
    "law",
    [
        *(DiscreteLaplace("3/2"), DiscreteLaplace("1/50"), DiscreteGaussian("5/2")),
        *(DiscreteGaussian("1/50"), DiscreteGaussian(30)),
    ],
    ids=str,
)
def test_a_truncated_law_accounts_for_all_mass(law: Law[int]) -> None:
    """Kept values are enclosed, and what they leave out is within the tail."""
    tail = Fraction(1, 10**12)
    kept, beyond = law.truncated(tail)
    low, high = (sum(getattr(chance, end) for _, chance in kept) for end in ("low", "high"))
    assert beyond <= tail
    assert low <= 1 <= high + beyond
    assert high - low <= 2 * tail
    assert len({value for value, _ in kept}) == len(kept)


F = Fraction
SCALES = (F(3, 2), F(1), F(1, 2))


def stay(coarse: Fraction, fine: Fraction) -> Any:
    """(sinh(1/2t)/sinh(1/2u))^2, at mpmath's working precision."""
    return (mpmath.sinh(real(1 / coarse) / 2) / mpmath.sinh(real(1 / fine) / 2)) ** 2


def real(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def generating(scale: Fraction, z: Any) -> Any:
    """The mean of z^D for discrete Laplace noise, from its probabilities' closed sum."""
    p = mpmath.exp(-1 / real(scale))
    return (1 - p) ** 2 / ((1 - p * z) * (1 - p / z))


def random_scales(random: Random) -> tuple[Fraction, Fraction]:
    size = 10 ** random.randint(0, 4)
    fine = F(random.randint(1, 1000), size)
    return fine + F(random.randint(1, 1000), 10 ** random.randint(0, 4)), fine


@mpmath.workdps(70)
def test_the_increments_make_the_marginals() -> None:
    """Noise at u, plus nothing or noise at t, is noise at t: generating functions, to 60 digits.

    The chance of nothing is the code's own, enclosed to 230 bits.
    """
    random = Random(5)
    for _ in range(200):
        coarse, fine = random_scales(random)
        edges = CoarsestUnchanged((coarse, fine))._enclosed(0, 230)
        chance = mpmath.mpf(edges[0]) / 2**230
        assert abs(chance - stay(coarse, fine)) < mpmath.mpf(10) ** -65
        z = mpmath.exp(mpmath.mpf(random.uniform(-0.9, 0.9)) / real(coarse))
        climbed = generating(fine, z) * (chance + (1 - chance) * generating(coarse, z))
        assert abs(climbed / generating(coarse, z) - 1) < mpmath.mpf(10) ** -60


def test_resting_goes_on_whatever_lies_between() -> None:
    """The chances of resting multiply along the path, and rise towards its end."""
    scales = (F(10), F(7), F(3), F(1, 3))
    with mpmath.workdps(50):
        steps = [stay(*pair) for pair in pairwise(scales)]
        total = mpmath.mpf(0)
        for index, chance in CoarsestUnchanged(scales).outcomes():
            assert high(chance) - low(chance) < F(1, 2**126)
            total += real(low(chance))
            assert abs(total - mpmath.fprod(steps[index:])) < mpmath.mpf(2) ** -124


def edges_of(scales: tuple[Fraction, ...]) -> list[int]:
    """The chances of resting up to each index, times 2^128, rounded down."""
    with mpmath.workdps(80):
        return [int(mpmath.floor(stay(each, scales[-1]) * 2**128)) for each in scales[:-1]]


@pytest.mark.parametrize("many", [False, True])
def test_a_uniform_number_is_compared_exactly(many: bool) -> None:
    """Draws on either side of every edge, by 2^-128: undecided words are drawn further."""
    scales = (F(10), F(7), F(3), F(1, 3))
    law, edges = CoarsestUnchanged(scales), edges_of(scales)

    def drawn(number: int) -> int:
        words = Words(number >> 64, number % 2**64)
        return int(law.sample_many(words, 1)[0]) if many else law.sample(words)

    for index, edge in enumerate(edges):
        assert drawn(edge - 1) == index
        assert drawn(edge + 1) == index + 1
    assert drawn(0) == 0
    assert drawn(2**128 - 1) == len(edges)


def test_a_chance_is_decided_however_close() -> None:
    """Chances that 64 bits do not tell apart are decided by further ones."""
    scales = tuple(F(2) + F(k, 10**70) for k in range(4, -1, -1))
    law = CoarsestUnchanged(scales)
    words = [2**64 - 1, 0, 2**63]
    assert list(law.sample_many(Words(*words, 5), 3)) == [0, 0, 0]
    assert [law.sample(Words(word, 5)) for word in words] == [0, 0, 0]
    # A chance within 2^-64 of 1, or of 0, is still compared exactly.
    near = CoarsestUnchanged((F(10**30 + 1, 10**30), F(1)))
    assert near.sample(Words(2**64 - 1, 0)) == 0
    assert near.sample(Words(2**64 - 1, 2**64 - 1)) == 1
    assert list(near.sample_many(Words(2**64 - 1, 5, 0), 2)) == [0, 0]
    far = CoarsestUnchanged((F(10**30), F(1, 100)))
    assert far.sample(Words(0, 0, 0, 0, 0, 2**63)) == 1
    assert far.sample(Words(1)) == 1


def enumerated(shape: Any, scales: Any = SCALES) -> tuple[dict[Any, Any], Fraction]:
    """The law of whole paths, up to a mass that is given up."""
    laws: dict[Any, Any] = {}
    cut = F(0)
    for chance, path in every_outcome(lambda coins: laplace_path(scales, shape, coins), F(1, 10)):
        if path is CUT:
            cut += high(chance)
        else:
            seen = tuple(int(np.sum(noise)) for noise in path)
            laws[seen] = laws[seen] + chance if seen in laws else chance
    return laws, cut


@pytest.mark.parametrize("shape", [None, (1,)])
def test_joint_law_of_the_path(shape: Any) -> None:
    """Each path has the probability that its increments say, by the climb and step by step."""
    laws, _ = enumerated(shape)
    assert len(laws) > 100
    with mpmath.workdps(40):

        def noise(scale: Fraction, x: int) -> Any:
            rate = 1 / real(scale)
            return mpmath.tanh(rate / 2) * mpmath.exp(-abs(x) * rate)

        for path, chance in laws.items():
            expected = noise(SCALES[-1], path[-1])
            for (coarse, fine), (above, below) in zip(
                pairwise(SCALES), pairwise(path), strict=True
            ):
                rests = stay(coarse, fine)
                moved = (1 - rests) * noise(coarse, above - below)
                expected *= moved + (rests if above == below else 0)
            assert real(low(chance)) <= expected * (1 + mpmath.mpf(10) ** -30)
            assert expected <= real(high(chance)) * (1 + mpmath.mpf(10) ** -30)


def test_vectors_draw_each_coordinate_by_itself() -> None:
    """Coordinates move at scales of their own, and answers keep the statistic's shape."""
    scales = tuple(F(20, k) for k in range(1, 40))
    path = laplace_path(scales, (4, 5), SeededCoins(1))
    assert {noise.shape for noise in path} == {(4, 5)}
    assert all(noise.dtype == np.int64 for noise in path)
    moves = [np.asarray(coarse != fine) for coarse, fine in pairwise(path)]
    assert any(each.any() and not each.all() for each in moves)


@pytest.mark.parametrize("shape", [None, (3,)])
def test_scales_of_any_size(shape: Any) -> None:
    """Beyond 64 bits noise is Python integers, near zero it is zero, on one path."""
    path = laplace_path((F(10**30), F(10**29), F(1, 10**9)), shape, SeededCoins(3))
    assert np.all(np.asarray(path[-1]) == 0)
    assert np.max(np.abs(np.asarray(path[0], dtype=object))) > 2**64
