"""Shifted noise: which other draws lead to a given answer.

Responsible for mechanisms each number of whose answer has one draw of integer noise. With other
data, the same answer comes of shifted draws, and of no others: so what the answer loses is what
noise of this law loses at that shift.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import inf, isfinite
from typing import Any, NamedTuple

import attrs
import numpy as np

from queryable.audit.neighbours.tapes import Draw
from queryable.losses import ZCDP, Loss, PureDP
from queryable.messages import Answer, Launched


def shifted(
    run: Callable[[Sequence[Draw]], Answer],
    draws: Sequence[Draw],
    got: Answer,
    wanted: Answer,
    is_wanted: Callable[[Answer], bool],
) -> tuple[Draw, ...] | None:
    """Draws with which the answer is the wanted one; None if there are none, or none are known.

    The last call of `run` is the one with these draws.

    Args:
        run: gives the answer with some draws.
        draws: those that lead to `got`.
    """
    now, goal, drawn = numbers(got), numbers(wanted), _noise(draws)
    if not now or not goal or not drawn or len(now) != len(goal):
        return None
    gaps = [b - a for a, b in zip(now, goal, strict=True)]
    if len(now) == len(drawn):
        found = _moved(draws, gaps)
        if found is not None and is_wanted(run(found)):
            return found
    for by in _candidates(run, draws, now, gaps):
        found = _moved(draws, by)
        if found is not None and is_wanted(run(found)):
            return found
    return None


def _candidates(
    run: Callable[[Sequence[Draw]], Answer],
    draws: Sequence[Draw],
    now: Sequence[Fraction],
    gaps: Sequence[Fraction],
) -> Iterator[list[Fraction]]:
    """Shifts of all draws that may close the gaps: found by moving them by 1, all and then each."""
    count = len(_noise(draws) or ())
    slopes = _slopes(run, draws, now, [Fraction(1)] * count)
    closing = [gap / slope for gap, slope in zip(gaps, slopes, strict=True) if slope]
    if len(closing) >= count:  # an answer may state a number twice
        yield [Fraction(round(each)) for each in closing[:count]]
    if len(closing) == count or count > _MOST_PROBED:
        return
    each_alone: list[Fraction] = []
    for place in range(count):
        slopes = _slopes(run, draws, now, [Fraction(place == other) for other in range(count)])
        alone = [gap / slope for gap, slope in zip(gaps, slopes, strict=True) if slope]
        each_alone += [Fraction(round(each)) for each in alone[:1]]
    if len(each_alone) == count:
        yield each_alone


_MOST_PROBED = 16


def _slopes(
    run: Callable[[Sequence[Draw]], Answer],
    draws: Sequence[Draw],
    now: Sequence[Fraction],
    by: Sequence[Fraction],
) -> list[Fraction]:
    """How far the numbers of the answer move with the draws."""
    probe = numbers(run(_moved(draws, by) or draws))
    if probe is None or len(probe) != len(now):
        return [Fraction(0)] * len(now)
    return [b - a for a, b in zip(now, probe, strict=True)]


class Shift(NamedTuple):
    """What shifted noise loses.

    Noise with weights exp(-|x|/b) loses |s|/b at a shift by s. Noise with weights exp(-x^2/(2 v))
    loses s^2/(2 v) in zCDP, and is not purely private. Losses of several draws add up.

    Attributes:
        pure: the epsilon of the Laplace noise.
        rho: of the Gaussian noise.
    """

    pure: Fraction
    rho: Fraction

    def over(self, claim: Loss, *, together: bool = False) -> Fraction | float | None:
        """The loss as a multiple of a claim; None if the claim is of another kind.

        Args:
            together: whether the claim is about more answers, so that those of another kind of
                noise are left out.
        """
        if isinstance(claim, PureDP):
            return inf if self.rho else _share(self.pure, claim.epsilon)
        if isinstance(claim, ZCDP) and (together or not self.pure):
            return _share(self.rho, claim.rho)
        return None


def sum_of(shifts: Iterable[Shift]) -> Shift:
    """What all of them lose."""
    pure, rho = Fraction(0), Fraction(0)
    for each in shifts:
        pure, rho = pure + each.pure, rho + each.rho
    return Shift(pure, rho)


def shift_of(before: Sequence[Draw], after: Sequence[Draw]) -> Shift:
    """What draws lose in place of others."""
    pairs = zip(before, after, strict=True)
    moved = [
        b - a
        for one, other in pairs
        for a, b in zip(_integers(one.value), _integers(other.value), strict=True)
    ]
    return _lost(before, moved)


def shift_between(draws: Sequence[Draw], moves: Sequence[int] | None) -> Shift | None:
    """What draws lose if a statistic under them moves; None if it has not as many entries."""
    drawn = _noise(draws)
    if moves is None or drawn is None or len(drawn) != len(moves):
        return None
    return _lost(draws, moves)


def _lost(draws: Sequence[Draw], moves: Sequence[int]) -> Shift:
    pure, rho, left = Fraction(0), Fraction(0), list(moves)
    for law, size, value in draws:
        count = 1 if size is None else np.size(value)
        moved, left = left[:count], left[count:]
        if (scale := law.laplace_scale) is not None:
            pure += sum(map(abs, moved)) / scale
        elif (variance := law.gaussian_variance) is not None:
            rho += Fraction(sum(each * each for each in moved)) / (2 * variance)
    return Shift(pure, rho)


def _share(lost: Fraction, claimed: Fraction) -> Fraction | float:
    if claimed:
        return lost / claimed
    return inf if lost else Fraction(0)


def numbers(answer: Answer) -> list[Fraction] | None:
    """The numbers of an answer, exactly, also in its fields; None if it is something else."""
    if isinstance(answer, Launched):
        answer = answer.answer
    if isinstance(answer, bool | np.bool_):
        return None
    if isinstance(answer, int | Fraction | np.integer):
        return [Fraction(int(answer) if isinstance(answer, np.integer) else answer)]
    if isinstance(answer, float | np.floating):
        return [Fraction(float(answer))] if isfinite(answer) else None
    if isinstance(answer, np.ndarray):
        answer = answer.ravel().tolist()
    if attrs.has(type(answer)):
        parts = [getattr(answer, field.name) for field in attrs.fields(type(answer)) if field.eq]
        return [number for part in parts for number in numbers(part) or ()]
    if not isinstance(answer, tuple | list):
        return None
    found: list[Fraction] = []
    for each in answer:
        entries = numbers(each)
        if entries is None:
            return None
        found += entries
    return found


def _noise(draws: Sequence[Draw]) -> list[int] | None:
    """The values of draws of integer noise; None if there are others."""
    found: list[int] = []
    for law, _, value in draws:
        if law.laplace_scale is None and law.gaussian_variance is None:
            return None
        found += _integers(value)
    return found


def _integers(value: Any) -> list[int]:
    return [int(each) for each in np.asarray(value, dtype=object).ravel().tolist()]


def _moved(draws: Sequence[Draw], by: Sequence[Fraction]) -> tuple[Draw, ...] | None:
    """Draws that are moved by integers."""
    if not all(each.denominator == 1 for each in by):
        return None
    left, found = [int(each) for each in by], []
    for law, size, value in draws:
        entries = _integers(value)
        moves, left = left[: len(entries)], left[len(entries) :]
        moved = [a + b for a, b in zip(entries, moves, strict=True)]
        if size is None:
            found.append(Draw(law, size, moved[0]))
        else:
            try:
                array = np.array(moved, dtype=np.int64)
            except OverflowError:
                array = np.array(moved, dtype=object)
            found.append(Draw(law, size, array.reshape(np.shape(value))))
    return tuple(found)
