"""Mechanisms on neighbours: what they claim, against the loss of the noise that they draw.

A mechanism is run on both data with `Silent` coins: all noise is 0, so its answers are the exact
values, and the laws that it draws from are recorded. A choice among candidates is made by the test,
the same one on both data, and its probability is computed from the scores. So the loss of one view
is known, without any formula of the mechanism. The claim has to be at least that.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from math import exp, inf, log
from random import Random
from typing import Any

import attrs
import numpy as np

import mechanisms as m
import queryable as q
from mechanisms.refinement.gaussian_reduction import GaussianNoiseReduction
from mechanisms.sampling.choices import PermuteAndFlipLaw, Softmax
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.tables.quantiles.choices import PrivateQuantiles
from mechanisms.tables.statistics.releases import Release
from mechanisms.tables.statistics.top import PrivateTop
from queryable.checks.fit import require_answerable
from queryable.errors import MechanismFault, QueryError
from queryable.losses.numbers import BeyondReachError
from queryable.messages import Update
from queryable.randomness.laws import Law
from queryable.statistics import IntegerStatistic
from tests.guard.findings import Fault, short
from tests.guard.moves import differences
from tests.guard.worlds import IN_MEMORY, Star, centre, in_memory, neighbour, places

_LARGEST_CHOICE = 9
_SLACK = 1 + 1e-9


@attrs.define
class Silent:
    """Coins whose noise is 0, and whose choices are those of a seed.

    Attributes:
        drawn: the laws with the number of draws, in their order.
        loss: the logarithms of the probabilities of the choices.
    """

    seed: int
    drawn: list[tuple[Any, int]] = attrs.Factory(list)
    choices: list[list[float]] = attrs.Factory(list)
    chosen: list[int] = attrs.Factory(list)

    def spawn(self, child: Any, message: int) -> "Silent":
        """The same coins."""
        return self

    def draw(self, law: Law[Any], size: Any = None) -> Any:
        """0, or a choice."""
        if isinstance(law, Softmax | PermuteAndFlipLaw):
            chances = probabilities(law)
            index = Random(f"{self.seed} {len(self.chosen)}").randrange(len(chances))
            self.choices.append(chances)
            self.chosen.append(index)
            return index
        count = 1 if size is None else int(np.prod(size, dtype=object))
        self.drawn.append((law, count))
        if isinstance(law, DiscreteGaussian | DiscreteLaplace):
            return 0 if size is None else np.zeros(size, dtype=np.int64)
        raise UnknownLawError

    @property
    def loss(self) -> float:
        """The logarithm of the probability of all choices."""
        chances = (all_[i] for all_, i in zip(self.choices, self.chosen, strict=True))
        return sum(log(each) if each else -inf for each in chances)


class UnknownLawError(Exception):
    """A mechanism draws from another law."""


def probabilities(law: Any) -> list[float]:
    """Of each candidate, from its gap to the best score."""
    weights = [exp(-min(float(law.rate * int(gap)), 700.0)) for gap in law.gaps]
    if isinstance(law, Softmax):
        return [each / sum(weights) for each in weights]
    if len(weights) > _LARGEST_CHOICE:
        raise UnknownLawError
    # Each arrives at a uniform time t; it is taken at its time if no earlier one was.
    found = []
    for place, weight in enumerate(weights):
        product = np.polynomial.Polynomial([1.0])
        for other in weights[:place] + weights[place + 1 :]:
            product *= np.polynomial.Polynomial([1.0, -other])
        whole = product.integ()
        found.append(max(weight * float(whole(1.0) - whole(0.0)), 0.0))
    return found


@attrs.frozen
class Lost:
    """What one view loses: of choices and Laplace noise together, and of Gaussian noise."""

    pure: float
    rho: float


def faults_of(
    mechanism: Any, form: str, star: Star, random: Random, count: int
) -> Iterator[Fault | int]:
    """Yield what is wrong with a mechanism's claim; last on how many neighbours it was compared."""
    check = next((each for kinds, each in _CHECKS if isinstance(mechanism, kinds)), None)
    compared = 0
    if check is not None:
        data = centre(form, star)
        try:
            require_answerable(data, mechanism)
            for place in places(form, star, count, random):
                seed = random.randrange(2**32)
                told = check(mechanism, data, neighbour(form, star, place), (form, star, seed))
                compared += 1
                if told:
                    what = short(star.neighbours[place].what, 120)
                    yield Fault("claim", f"{told} at {what}", f"{form}, {star.name}")
        except (QueryError, MechanismFault, UnknownLawError, OverflowError, BeyondReachError):
            pass  # other checks tell of a failure; what states no claim is not launched
    yield compared


def _measurement(mechanism: Any, one: Any, other: Any, context: Any) -> str:
    coins = Silent(context[2]), Silent(context[2])
    before, after = (
        mechanism.release(each, silent) for each, silent in zip((one, other), coins, strict=True)
    )
    shapes = [([each[1] for each in c.drawn], list(map(len, c.choices))) for c in coins]
    if shapes[0] != shapes[1]:
        return f"the draws differ: {short(shapes)}"
    pure = abs(coins[0].loss - coins[1].loss)
    rho = 0.0
    noisy = list(zip(_noisy(before), _noisy(after), strict=True)) if coins[0].drawn else []
    for mine, theirs in noisy:
        law = mine.noise
        moved = differences(_entries(mine), _entries(theirs))
        if isinstance(law, DiscreteGaussian):
            rho += float(Fraction(sum(each * each for each in moved)) / (2 * law.variance))
        else:
            pure += float(sum(map(abs, moved)) / law.scale)
    return _below(mechanism, Lost(pure, rho)) or _of_choice(mechanism, coins)


def _noisy(answer: Any) -> list[Any]:
    if isinstance(answer, tuple):
        return [each for part in answer for each in _noisy(part)]
    noisy = getattr(getattr(answer, "evidence", None), "noisy", None)
    return [answer if noisy is None else noisy]


def _entries(answer: Any) -> list[int]:
    return [int(each) for each in np.asarray(answer, dtype=object).reshape(-1)]


def _below(mechanism: Any, lost: Lost) -> str:
    claim = mechanism.privacy_map(1)
    if lost.rho and isinstance(claim, q.ZCDP) and lost.rho > float(claim.rho) * _SLACK:
        return f"rho is {lost.rho:.6g}, claimed {claim}"
    epsilon = getattr(claim, "epsilon", None)
    if lost.pure and epsilon is not None and lost.pure > float(epsilon) * _SLACK + 1e-9:
        return f"epsilon is {lost.pure:.6g}, claimed {claim}"
    return ""


def _of_choice(mechanism: Any, coins: tuple[Silent, Silent]) -> str:
    """The zCDP of a single choice."""
    if coins[0].drawn or len(coins[0].choices) != 1:
        return ""
    rho = float(mechanism.privacy_map(1, q.ZCDP).rho)
    one, other = coins[0].choices[0], coins[1].choices[0]
    for alpha in (1.25, 2.0, 8.0):
        pairs = zip(one, other, strict=False)
        terms = [alpha * log(p) + (1 - alpha) * log(r) for p, r in pairs if p and r]
        top = max(terms)
        moment = top + log(sum(exp(each - top) for each in terms))
        if moment / (alpha - 1) / alpha > rho * _SLACK + 1e-12:
            return f"the divergence of order {alpha} is above rho={rho:.6g}"
    return ""


def _reduction(mechanism: Any, one: Any, other: Any, context: Any) -> str:
    before, after = _entries(mechanism.statistic(one)), _entries(mechanism.statistic(other))
    moved = sum(map(abs, differences(before, after)))
    return _below(mechanism, Lost(float(moved / mechanism.scales[-1]), 0.0))


def _gaussian_reduction(mechanism: Any, one: Any, other: Any, context: Any) -> str:
    before, after = _entries(mechanism.statistic(one)), _entries(mechanism.statistic(other))
    squares = Fraction(sum(each * each for each in differences(before, after)))
    return _below(mechanism, Lost(0.0, float(squares / (2 * mechanism.variances[-1]))))


def _private_keys(mechanism: Any, one: Any, other: Any, context: Any) -> str:
    from tests.guard.moves import entries

    before, after = (entries(mechanism.keys, each) for each in (one, other))
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return ""
    common = before.keys() & after.keys()
    moved = [after[key] - before[key] for key in common]
    alone = [counts for mine, counts in _alone(before, after) for counts in [mine]]
    law, claim = mechanism.noise, mechanism.privacy_map(1)
    if isinstance(law, DiscreteLaplace):
        lost = Lost(float(sum(map(abs, moved)) / law.scale), 0.0)
    else:
        squares = Fraction(sum(each * each for each in moved))
        lost = Lost(0.0, float(squares / (2 * law.variance)))
    unseen = 1.0
    for count in alone:
        unseen *= 1 - _tail(law, mechanism.threshold - count)
    if 1 - unseen > float(claim.delta) * 1.000001 + 1e-15:
        return f"a key is shown with probability {1 - unseen:.6g}, claimed {claim}"
    if isinstance(claim, q.ApproxZCDP) and lost.rho > float(claim.rho) * _SLACK:
        return f"rho is {lost.rho:.6g}, claimed {claim}"
    return _below(mechanism, lost)


def _alone(before: dict[Any, int], after: dict[Any, int]) -> Iterator[tuple[int, None]]:
    """The counts of keys that only one of both has."""
    for mine, theirs in ((before, after), (after, before)):
        for key in mine.keys() - theirs.keys():
            yield mine[key], None


def _tail(law: Any, least: int) -> float:
    """The probability that noise is at least this."""
    if isinstance(law, DiscreteLaplace):
        p = exp(-float(min(1 / law.scale, Fraction(700))))
        most = 10**6 if law.scale < 10**4 else 10**9
        if abs(least) > most:
            return 0.0 if least > 0 else 1.0
        return float(p**least / (1 + p)) if least > 0 else 1 - float(p ** (1 - least) / (1 + p))
    variance = float(law.variance)
    reach = int(40 * variance**0.5) + 40
    if reach > 10**5 or abs(least) > 10**6:
        raise UnknownLawError
    weights = {z: exp(-z * z / (2 * variance)) for z in range(-reach, reach + 1)}
    return sum(w for z, w in weights.items() if z >= least) / sum(weights.values())


def _counter(mechanism: Any, one: Any, other: Any, context: Any) -> str:
    """Batches that differ in the records of one unit, or in one record."""
    form, star, seed = context
    random = Random(seed)
    near = random.choice(star.neighbours)
    rows = [dict(row) for row in star.centre[:6]]
    whole = isinstance(mechanism.neighbours, q.UserLevel)
    more = [dict(row) for row in near.what] * (2 if whole else 1)
    more = more if whole else more[:1]
    if whole and any(mechanism.neighbours.column not in row for row in more):
        return ""
    last = min(mechanism.horizon or 6, 6)
    there = [random.randrange(last) for _ in more]
    if whole:
        who = mechanism.neighbours.column
        rows = [row for row in rows if row[who] not in {each[who] for each in more}]
    plainly = [rows[n::last] for n in range(last)]
    with_it = [
        [*batch, *(row for row, at in zip(more, there, strict=True) if at == place)]
        for place, batch in enumerate(plainly)
    ]
    sums, laws = zip(*(_fed(mechanism, form, each) for each in (plainly, with_it)), strict=True)
    moved = [
        np.array(differences(_entries(b), _entries(a)), dtype=object)
        for b, a in zip(*sums, strict=True)
    ]
    steps = [moved[0], *(after - before for before, after in pairwise(moved))]
    tree = isinstance(mechanism, m.TreeCounter)
    return _below(mechanism, (_of_tree if tree else _of_toeplitz)(steps, laws[0], mechanism))


def _fed(mechanism: Any, form: str, batches: Any) -> tuple[list[Any], list[list[Any]]]:
    """The exact sums after each batch, and the laws that were drawn with each."""
    silent = Silent(0)
    state, _ = mechanism.init(in_memory(form, []), silent)
    sums, laws = [], []
    for batch in batches:
        silent.drawn = []
        state, _ = mechanism.step(state, Update(in_memory(form, batch)), silent)
        laws.append([law for law, _ in silent.drawn])
        sums.append(mechanism.step(state, m.Total(), silent)[1])
    return sums, laws


def _epoch(time: int, horizon: int | None) -> tuple[int, int]:
    """The base and the length of the epoch of a batch, counted from 1."""
    if horizon is not None:
        return 0, horizon
    length = 1 << (time.bit_length() - 1)
    return length - 1, length


def _of_tree(steps: list[Any], laws: list[list[Any]], mechanism: Any) -> Lost:
    pure = rho = 0.0
    for time, drawn in enumerate(laws, 1):
        base, _ = _epoch(time, mechanism.horizon)
        place = time - base
        top, past = (place & -place).bit_length() - 1, mechanism.past
        kept = [n for n in range(top + 1) if n == top or past is None or 1 << n <= past]
        for level, law in zip(kept, drawn, strict=time <= (mechanism.horizon or time)):
            moved = sum(steps[time - (1 << level) : time]).tolist()
            if isinstance(law, DiscreteGaussian):
                rho += float(Fraction(sum(e * e for e in moved)) / (2 * law.variance))
            else:
                pure += float(sum(map(abs, moved)) / law.scale)
    return Lost(pure, rho)


def _of_toeplitz(steps: list[Any], laws: list[list[Any]], mechanism: Any) -> Lost:
    """Step t releases the sum of c_(t-s) x_s with noise on a lattice of 2^-20."""
    rho, coefficient = 0.0, [1.0]
    for k in range(1, len(steps)):
        coefficient.append(coefficient[-1] * (2 * k - 1) / (2 * k))
    if mechanism.horizon is None:  # divided by the series with 1, 1/8, 1/12, 1/16, ...
        for k in range(1, len(steps)):
            coefficient[k] -= sum(coefficient[k - n] / (4 * n + 4) for n in range(1, k + 1))
    for time, drawn in enumerate(laws, 1):
        for law in drawn[:1]:
            mine = steps[:time]
            moved = sum(
                float(c) * each for c, each in zip(coefficient, reversed(mine), strict=False)
            )
            square = sum(Fraction(float(each)) ** 2 for each in np.asarray(moved).tolist())
            rho += float(square * 2**40 / (2 * law.variance))
    return Lost(0.0, rho * (1 - 1e-5))  # the coefficients are rounded


def _sparse_vector(mechanism: Any, one: Any, other: Any, context: Any) -> str:
    """Lyu, Su, Li 2017, Theorem 2: what the noise on the threshold and on the answers costs."""
    if mechanism.refresh:
        return ""
    silent = Silent(0)
    state, _ = mechanism.init(one, silent)
    kinds: tuple[IntegerStatistic, ...] = (m.Count(), m.Mean("age", 0, 9))
    try:
        mechanism.step(state, kinds[0], silent)
    except QueryError:
        return ""
    threshold, answer = (law.scale for law, _ in silent.drawn)
    both = 2 if mechanism.monotone is False else 1
    cost = mechanism.sensitivity * (1 / threshold + both * mechanism.cutoff / answer)
    return _below(mechanism, Lost(float(cost), 0.0))


_MEASUREMENTS = (
    *(m.Gaussian, m.Laplace, m.ExponentialMechanism, m.PermuteAndFlip, m.TopK),
    *(PrivateTop, PrivateQuantiles, Release),
)
_CHECKS: tuple[tuple[Any, Callable[..., str]], ...] = (
    (_MEASUREMENTS, _measurement),
    ((m.LaplaceNoiseReduction,), _reduction),
    ((GaussianNoiseReduction,), _gaussian_reduction),
    ((m.PrivateKeys,), _private_keys),
    ((m.TreeCounter, m.ToeplitzCounter), _counter),
    ((m.SparseVector,), _sparse_vector),
)
CHECKED: tuple[type, ...] = tuple(kind for kinds, _ in _CHECKS for kind in kinds)
"""The mechanisms whose claims are compared."""

__all__ = ["CHECKED", "IN_MEMORY", "faults_of", "probabilities"]
