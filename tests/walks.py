"""Exact probabilities that the realised privacy loss ever exceeds a bound, by dynamic programming.

The loss moves on a lattice. Probabilities are floats with an error below 1e-10. An adversary that
chooses its stopping time succeeds if the loss exceeds the bound after any step.
"""

from collections.abc import Callable, Sequence
from itertools import product
from math import ceil, exp

import attrs
import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Counts = tuple[int, ...]
"""Numbers of launched children by kind, or numbers of open children by the ask they still allow."""


def crossing(bounds: Sequence[float], epsilon: float) -> float:
    """The probability that n randomized responses lose more than bounds[n-1] for some n."""
    truth, most = 1 / (1 + exp(-epsilon)), len(bounds)
    losses = np.arange(-most, most + 1) * epsilon
    law, crossed = np.zeros(losses.size), 0.0
    law[most] = 1.0
    for bound in bounds:
        moved = np.zeros_like(law)
        moved[1:] = truth * law[:-1]
        moved[:-1] += (1 - truth) * law[1:]
        over = losses > bound
        crossed += moved[over].sum()
        moved[over] = 0.0
        law = moved
    return float(crossed)


# Children that answer at launch and may answer one more ask.


@attrs.frozen
class Answer:
    """The probability of an answer under x, the steps it adds to the loss, and the next ask."""

    chance: float
    move: int
    then: int | None = None

    def swapped(self, step: float) -> "Answer":
        """Return the same answer with x and x' exchanged."""
        return Answer(self.chance * exp(-step * self.move), -self.move, self.then)


@attrs.frozen
class Leak:
    """An ask that adds a gain g of the adversary's choice with probability delta/(1 - e^-g).

    It is (0, delta)-DP. The decrease of the loss in the other case is ignored, which favors the
    adversary.
    """

    delta: float

    def swapped(self, step: float) -> "Leak":
        """Return this leak itself, which is the worse of the two directions."""
        return self

    def passing(self, gaps: Values) -> Values:
        """Return the probability of exceeding a bound that is `gaps` above the loss."""
        far = np.maximum(gaps, 1e-12)
        return np.where(gaps > 0, np.minimum(1.0, self.delta / -np.expm1(-far)), 1.0)


Asked = tuple[Answer, ...] | Leak


@attrs.frozen
class Child:
    """An interactive mechanism: its opening answers, and the asks that `Answer.then` refers to."""

    opening: tuple[Answer, ...]
    asks: tuple[Asked, ...] = ()

    def swapped(self, step: float) -> "Child":
        """Return the same mechanism with x and x' exchanged."""

        def exchanged(asked: Asked) -> Asked:
            if isinstance(asked, Leak):
                return asked
            return tuple(answer.swapped(step) for answer in asked)

        opening = tuple(answer.swapped(step) for answer in self.opening)
        return Child(opening, tuple(map(exchanged, self.asks)))


def response(step: float, size: int = 1) -> Child:
    """Randomized response at epsilon = size * step."""
    truth = 1 / (1 + exp(-size * step))
    return Child((Answer(truth, size), Answer(1 - truth, -size)))


def hidden_bit(step: float) -> Child:
    """A hidden randomized response at epsilon = 2*step, read first through noise and then exactly.

    The noise is chosen so that the first reading changes the loss by exactly one step, up or down.
    """
    odds, noise = exp(2 * step), exp(step) + 1 + exp(-step)
    yes = (odds * noise + 1) / ((odds + 1) * (noise + 1))
    sure = odds * noise / (odds * noise + 1)  # probability that a yes was right
    mended = odds / (odds + noise)  # probability that a no was wrong
    return Child(
        (Answer(yes, 1, then=0), Answer(1 - yes, -1, then=1)),
        ((Answer(sure, 1), Answer(1 - sure, -3)), (Answer(mended, 3), Answer(1 - mended, -1))),
    )


def two_rounds(step: float) -> Child:
    """A randomized response at epsilon = step, and a second one after a yes."""
    truth = 1 / (1 + exp(-step))
    again = (Answer(truth, 1), Answer(1 - truth, -1))
    return Child((Answer(truth, 1, then=0), Answer(1 - truth, -1)), (again,))


def leak(delta: float) -> Child:
    """A child with a constant opening and a `Leak` as its ask."""
    return Child((Answer(1.0, 0, then=0),), (Leak(delta),))


# The game between the adversary and the bound.


def worst_crossing(
    kinds: Sequence[Child],
    most: Counts,
    bound: Callable[[Counts], float],
    step: float,
    at_once: int = 3,
) -> float:
    """Return an upper bound on the probability that the best adversary exceeds the bound.

    The adversary chooses the kind of each launch by the earlier answers, keeps up to `at_once`
    children open, and asks them in any order. A child beyond `at_once` is never asked. A loss below
    the lower edge of the lattice is replaced by the edge, which increases the probability.

    Args:
        kinds: the mechanisms that may be launched.
        most: the largest number of launches of each kind.
        bound: the bound on the loss, given the number of launches of each kind.
        step: the width of the lattice.
        at_once: the largest number of open children.
    """
    forest = _Forest(kinds, at_once)
    bounds = {counts: bound(counts) for counts in product(*(range(n + 1) for n in most))}
    high = ceil(max(bounds.values()) / step) + 1
    losses = np.arange(-2 * high, high + 1) * step
    later: dict[Counts, dict[Counts, Values]] = {}
    for total in reversed(range(sum(most) + 1)):
        later = {
            launched: forest.values(
                bounds[launched] - losses,
                [later.get(_changed(launched, kind, 1)) for kind in range(len(kinds))],
            )
            for launched in bounds
            if sum(launched) == total
        }
    return float(later[(0,) * len(kinds)][forest.nothing_open][2 * high])


def _changed(counts: Counts, place: int, by: int) -> Counts:
    return (*counts[:place], counts[place] + by, *counts[place + 1 :])


class _Forest:
    """The possible sets of open children, and the backward step of the dynamic program."""

    def __init__(self, kinds: Sequence[Child], at_once: int) -> None:
        self.openings: list[tuple[tuple[Answer, ...], int]] = []
        self.asks: list[Asked] = []
        for kind in kinds:
            self.openings.append((kind.opening, len(self.asks)))
            self.asks += kind.asks
        self.at_once = at_once
        every = product(range(at_once + 1), repeat=len(self.asks))
        self.open = sorted((counts for counts in every if sum(counts) <= at_once), key=sum)
        self.nothing_open = self.open[0]

    def values(
        self, gaps: Values, launched: Sequence[dict[Counts, Values] | None]
    ) -> dict[Counts, Values]:
        """Return the probability of exceeding the bound, by open children and loss."""
        now = np.where(gaps < 0, 1.0, 0.0)
        found: dict[Counts, Values] = {}
        for opened in self.open:
            best = now
            for place, asked in enumerate(self.asks):
                if opened[place]:
                    closed = found[_changed(opened, place, -1)]
                    best = np.maximum(best, _asked(asked, closed, gaps))
            for (opening, first), later in zip(self.openings, launched, strict=True):
                if later is not None:
                    terms = (
                        each.chance * _moved(later[self._with(opened, each, first)], each.move)
                        for each in opening
                    )
                    best = np.maximum(best, sum(terms))
            found[opened] = best
        return found

    def _with(self, opened: Counts, answer: Answer, first: int) -> Counts:
        if answer.then is None or sum(opened) == self.at_once:
            return opened
        return _changed(opened, first + answer.then, 1)


def _asked(asked: Asked, closed: Values, gaps: Values) -> Values:
    if isinstance(asked, Leak):
        passing = asked.passing(gaps)
        return np.asarray(passing + (1 - passing) * closed)
    return np.asarray(sum(answer.chance * _moved(closed, answer.move) for answer in asked))


def _moved(values: Values, steps: int) -> Values:
    """Return the values at the loss moved by `steps`; beyond the upper edge they are 1."""
    if steps >= 0:
        return np.concatenate([values[steps:], np.ones(steps)])
    return np.concatenate([np.full(-steps, values[0]), values[:steps]])
