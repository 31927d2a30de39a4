"""Test claims with samples, for views that cannot be enumerated.

This module finds an event that is more probable under one dataset than under its neighbour, and
bounds both probabilities. It does not depend on a privacy measure; it receives points
(epsilon, delta).

The samples are split in three parts:

- The first quarter builds candidate events. Each candidate contains the labels with the largest
  frequency ratio of x to x' (Neyman and Pearson). A label is a whole view, or the bin of a number
  that summarises the view: a coordinate or a linear discriminant.
- The second quarter picks one candidate. Using fresh samples avoids overfitting.
- The second half tests the event that was picked, so the bounds hold for every choice. The bounds
  are those of Clopper and Pearson (1934).

An (epsilon, delta) is refuted if the lower bound under x exceeds e^epsilon times the upper bound
under x' plus delta.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import attrs
import numpy as np

from queryable.audit.divergences import factor_above
from queryable.audit.views.keys import hashable
from queryable.losses.numbers import round_down
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.coins import Coins
from queryable.view import Adversary, interact

Point: TypeAlias = tuple[Fraction, Fraction]
"""(epsilon, delta)."""
Seen: TypeAlias = Hashable
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

_BINS = 40
_CUTS = 60
_LARGEST = 10**30
_OUTWARD = 1e-9  # far beyond the error of the incomplete beta function


@attrs.frozen
class ViewEvent:
    """A set of views: those whose label is in `chosen`."""

    label: Callable[[Seen], Hashable] = attrs.field(repr=False)
    chosen: frozenset[Hashable] = attrs.field(repr=False)
    text: str

    def __contains__(self, seen: Seen) -> bool:
        return self.label(seen) in self.chosen

    def __str__(self) -> str:
        return self.text


@attrs.frozen
class Separation:
    """An event with a lower bound under x, an upper bound under x', and the point most violated."""

    event: ViewEvent
    at_least: Fraction
    at_most: Fraction
    point: Point

    @property
    def delta(self) -> Fraction:
        """A lower bound on delta at the point's epsilon."""
        factor = factor_above(self.point[0])
        if self.at_most * factor >= self.at_least:
            return Fraction(0)
        return self.at_least - Fraction(factor) * self.at_most

    @property
    def epsilon(self) -> Fraction:
        """A lower bound on epsilon at the point's delta."""
        left = self.at_least - self.point[1]
        if not left > self.at_most:
            return Fraction(0)
        return round_down(lambda ratio: ratio.log(), left / self.at_most)


def clopper_pearson(count: int, trials: int, level: float) -> tuple[Fraction, Fraction]:
    """Return bounds on a probability; each bound fails with probability at most `level`."""
    below, above = _clopper_pearson(np.array([count]), trials, level)
    return Fraction(float(below[0])), Fraction(float(above[0]))


def _clopper_pearson(
    counts: np.ndarray[Any, Any], trials: int, level: float
) -> tuple[Floats, Floats]:
    from scipy.special import betaincinv

    inside, outside = np.maximum(counts, 1), np.maximum(trials - counts, 1)
    below = betaincinv(inside, trials - inside + 1, level) * (1 - _OUTWARD)
    above = betaincinv(trials - outside + 1, outside, 1 - level) * (1 + _OUTWARD)
    return np.where(counts > 0, below, 0.0), np.where(counts < trials, np.minimum(above, 1.0), 1.0)


def sampled(
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    adversary: Adversary,
    coins: Iterable[Coins],
) -> list[Seen]:
    """Return the adversary's view as a hashable value, one for each element of `coins`."""
    views = (interact(mechanism, dataset, adversary, each) for each in coins)
    return [hashable((view.opening, *view.answers)) for view in views]


def separate(
    p: Sequence[Seen], q: Sequence[Seen], points: Sequence[Point], level: float
) -> Separation:
    """Choose an event that separates p from q on half of the samples; test it on the other half.

    Args:
        p: the views under x, one for each independent run; q: the views under x'.
        points: the points (epsilon, delta) of the claim; the event is chosen to violate one.
        level: the largest probability that at least one of the two bounds fails.
    """
    half, other = len(p) // 2, len(q) // 2
    event = choose(p[:half], q[:other], points, level / 2)
    count, against = (sum(seen in event for seen in tested) for tested in (p[half:], q[other:]))
    at_least, _ = clopper_pearson(count, len(p) - half, level / 2)
    _, at_most = clopper_pearson(against, len(q) - other, level / 2)
    found = [Separation(event, at_least, at_most, point) for point in points]
    return max(found, key=lambda each: each.delta - each.point[1])


def choose(
    p: Sequence[Seen], q: Sequence[Seen], points: Sequence[Point], level: float
) -> ViewEvent:
    """Return the event that violates a point most.

    Half of these samples build the candidates; the other half picks one.
    """
    learnt, against_learnt = p[: len(p) // 2], q[: len(q) // 2]
    p, q = p[len(p) // 2 :], q[len(q) // 2 :]
    factors = np.array([float(min(factor_above(epsilon), 1e300)) for epsilon, _ in points])
    deltas = np.array([float(delta) for _, delta in points])
    best, most = ViewEvent(_itself, frozenset(), "no view"), -np.inf
    for label, name in _labels(learnt, against_learnt):
        under_p, under_q = Counter(map(label, learnt)), Counter(map(label, against_learnt))
        ranked = sorted(
            under_p.keys() | under_q.keys(),
            key=lambda each: (-(under_p[each] + 0.5) / (under_q[each] + 0.5), repr(each)),
        )
        cuts = _cuts(len(ranked))
        picking, against_picking = Counter(map(label, p)), Counter(map(label, q))
        counts = np.cumsum([picking[each] for each in ranked])[cuts - 1]
        against = np.cumsum([against_picking[each] for each in ranked])[cuts - 1]
        below, _ = _clopper_pearson(counts, len(p), level)
        _, above = _clopper_pearson(against, len(q), level)
        strain = (below[:, None] - factors * above[:, None] - deltas).max(axis=1)
        place = int(strain.argmax())
        if strain[place] > most:
            chosen = frozenset(ranked[: cuts[place]])
            best = ViewEvent(label, chosen, _text(name, chosen, len(ranked)))
            most = float(strain[place])
    return best


def _cuts(count: int) -> np.ndarray[Any, Any]:
    """Return the candidate numbers of top-ranked labels, geometrically spaced."""
    return np.unique(np.geomspace(1, count, min(count, _CUTS)).round().astype(int))


def _text(name: str, chosen: frozenset[Hashable], count: int) -> str:
    if len(chosen) <= 4:
        return f"{name} in {{{', '.join(sorted(map(repr, chosen)))}}}"
    return f"{name} in {len(chosen)} of {count} values"


def _labels(
    p: Sequence[Seen], q: Sequence[Seen]
) -> Iterator[tuple[Callable[[Seen], Hashable], str]]:
    """Yield functions that summarise a view by a label with few values, each with a name."""
    yield _itself, "view"
    rows = [_numbers(seen) for seen in (*p, *q)]
    width = len(rows[0])
    if not width or any(len(row) != width for row in rows):
        return
    table = np.array(rows)
    if not np.isfinite(table).all():
        return
    directions = [*np.eye(width)[:32]]
    names = [f"number {place}" for place in range(len(directions))]
    if width > 1:
        directions.append(_discriminant(table[: len(p)], table[len(p) :]))
        names.append("discriminant")
    for direction, name in zip(directions, names, strict=True):
        scores = table @ direction
        edges = np.unique(np.quantile(scores, np.linspace(0, 1, _BINS + 1)[1:-1]))
        yield _Binned(direction, edges), f"bin of {name}"


def _itself(seen: Seen) -> Hashable:
    return seen


@attrs.frozen(eq=False)
class _Binned:
    """Maps a view to the bin that contains its projection on `direction`."""

    direction: Floats
    edges: Floats

    def __call__(self, seen: Seen) -> int:
        row = np.array(_numbers(seen))
        if len(row) != len(self.direction):
            return -1
        return int(np.searchsorted(self.edges, row @ self.direction, side="right"))


def _discriminant(p: Floats, q: Floats) -> Floats:
    """Fisher's linear discriminant: the whitened difference of the means."""
    spread = np.cov(p, rowvar=False) + np.cov(q, rowvar=False)
    ridge = 1e-9 * (1 + np.trace(spread)) * np.eye(len(spread))
    direction: Floats = np.linalg.solve(spread + ridge, p.mean(axis=0) - q.mean(axis=0))
    return direction


def _numbers(seen: Any) -> tuple[float, ...]:
    """Return every number in a view, in order."""
    if isinstance(seen, tuple):
        return tuple(number for part in seen for number in _numbers(part))
    if isinstance(seen, bool | int | float | Fraction | np.number):
        return (float(max(min(seen, _LARGEST), -_LARGEST)),)
    if attrs.has(type(seen)):
        fields = attrs.fields(type(seen))
        return tuple(x for field in fields for x in _numbers(getattr(seen, field.name)))
    return ()
