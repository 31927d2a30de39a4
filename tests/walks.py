"""Exact chances that the realised privacy loss ever passes a bound, by dynamic programming.

The loss moves on a lattice; chances are floats, good to 1e-10. A bound may be passed at any moment,
and that is what an adversary waits for who picks the moment to stop. Knows no odometer.
"""

from collections.abc import Callable, Sequence
from itertools import product
from math import ceil, exp

import attrs
import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Counts = tuple[int, ...]
"""How many children were launched, by kind; or how many are open, by what they can be asked."""


def crossing(bounds: Sequence[float], epsilon: float) -> float:
    """The chance that some number of randomized responses loses more than the bound of then."""
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


# Children that answer at launch, and once more when they are asked.


@attrs.frozen
class Answer:
    """Its chance under x, the steps that it moves the loss, and what can be asked after it."""

    chance: float
    move: int
    then: int | None = None

    def swapped(self, step: float) -> "Answer":
        """Seen from x'."""
        return Answer(self.chance * exp(-step * self.move), -self.move, self.then)


@attrs.frozen
class Leak:
    """An ask that moves the loss up by any gain g that is named, with chance delta/(1 - e^-g).

    That is (0, delta)-DP. What the loss falls by otherwise is left out: the adversary gains.
    """

    delta: float

    def swapped(self, step: float) -> "Leak":
        """The same; this direction is the worse."""
        return self

    def passing(self, gaps: Values) -> Values:
        """The chance of passing a bound that is so far away."""
        far = np.maximum(gaps, 1e-12)
        return np.where(gaps > 0, np.minimum(1.0, self.delta / -np.expm1(-far)), 1.0)


Asked = tuple[Answer, ...] | Leak


@attrs.frozen
class Child:
    """An interactive mechanism: its opening, and the asks that answers lead to."""

    opening: tuple[Answer, ...]
    asks: tuple[Asked, ...] = ()

    def swapped(self, step: float) -> "Child":
        """The same with x and x' exchanged."""

        def from_there(asked: Asked) -> Asked:
            if isinstance(asked, Leak):
                return asked
            return tuple(answer.swapped(step) for answer in asked)

        opening = tuple(answer.swapped(step) for answer in self.opening)
        return Child(opening, tuple(map(from_there, self.asks)))


def response(step: float, size: int = 1) -> Child:
    """Randomized response at epsilon = size * step."""
    truth = 1 / (1 + exp(-size * step))
    return Child((Answer(truth, size), Answer(1 - truth, -size)))


def hidden_bit(step: float) -> Child:
    """Keeps a randomized response at epsilon = 2*step; reads it through noise, and then plainly.

    The noise has the odds with which the first reading moves the loss by one step, up or down.
    """
    odds, noise = exp(2 * step), exp(step) + 1 + exp(-step)
    yes = (odds * noise + 1) / ((odds + 1) * (noise + 1))
    sure = odds * noise / (odds * noise + 1)  # of what a yes said
    mended = odds / (odds + noise)  # the chance that a no was wrong
    return Child(
        (Answer(yes, 1, then=0), Answer(1 - yes, -1, then=1)),
        (
            (Answer(sure, 1), Answer(1 - sure, -3)),
            (Answer(mended, 3), Answer(1 - mended, -1)),
        ),
    )


def two_rounds(step: float) -> Child:
    """A randomized response at epsilon = step, and after a yes another."""
    truth = 1 / (1 + exp(-step))
    again = (Answer(truth, 1), Answer(1 - truth, -1))
    return Child((Answer(truth, 1, then=0), Answer(1 - truth, -1)), (again,))


def leak(delta: float) -> Child:
    """Says nothing at launch, and leaks when asked."""
    return Child((Answer(1.0, 0, then=0),), (Leak(delta),))


# The game.


def worst_crossing(
    kinds: Sequence[Child],
    most: Counts,
    bound: Callable[[Counts], float],
    step: float,
    at_once: int = 3,
) -> float:
    """The chance that the loss ever passes the bound, for the best adversary; at or above it.

    It chooses the kind of each launch by what was answered, keeps up to `at_once` children open and
    asks them in whatever order suits it. What it has no room for is never asked. Losses far below
    zero count as less far.

    Args:
        most: of launches, by kind.
        bound: on the loss, after so many launches of each kind.
        step: what the loss moves by.
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
    """What can be open, and what launches and asks make of values at every loss so far."""

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
        """By what is open: the chance of passing the bound, now, by an ask or after a launch."""
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
    """At the loss so many steps further; past the upper edge the bound is passed."""
    if steps >= 0:
        return np.concatenate([values[steps:], np.ones(steps)])
    return np.concatenate([np.full(-steps, values[0]), values[:steps]])
