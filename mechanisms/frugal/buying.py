"""The least precision that answers questions with a given variance: a small convex program.

Precision p of a component costs p/2 in zCDP, whatever the component. With p more of it, the
variance of a question's part is sum_j b_j / (e_j + p), which is convex. The program minimises the
sum of p over the components, such that each question's variance, summed over its parts, is at most
the target. It is solved by its dual: one weight for each question. Reads no data.
"""

import attrs
import numpy as np

from mechanisms.frugal.asking import require_short
from mechanisms.frugal.combined import kron, outer
from mechanisms.frugal.ledgers import QuestionPart, ReleaseLedger
from queryable.data.cells import Array

_ROUNDS = 200
_STEPS = 50


@attrs.frozen(eq=False)
class Profile:
    """The variances of the questions' parts in one component, as functions of further precision.

    Attributes:
        known: e, the precision that is there in each direction.
        shares: b, one row for each question; 0 if it has no part here.
    """

    known: Array
    shares: Array

    def variances(self, more: float) -> Array:
        """The variance of each question's part with further precision."""
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(self.shares > 0, self.shares / (self.known + more), 0.0)
        found: Array = terms.sum(axis=1)
        return found

    def best(self, weights: Array) -> float:
        """The further precision at which one unit more gains 1 in the weighted variances."""
        total = weights @ self.shares
        if not total.any():
            return 0.0
        there = total > 0
        total, known = total[there], self.known[there]
        # gain ** -0.5 grows and is concave, so that Newton's method approaches 1 from below
        more = float((np.sqrt(total) - known).max())
        if not more > 0:
            more = 0.0
            if not float((total / known**2).sum()) > 1:
                return 0.0
        for _ in range(_STEPS):
            gains = total / (known + more) ** 2
            gain = float(gains.sum())
            step = (gain**1.5 - gain) / float((gains / (known + more)).sum())
            more += step
            if not step > 1e-12 * more:
                break
        return more


def profile_of(
    parts: list[QuestionPart | None], bought: list[ReleaseLedger], opened: ReleaseLedger
) -> Profile:
    """How the parts of questions in one component depend on further releases of `opened`.

    Args:
        bought: ledgers of the component with releases; `opened` may be among them.
    """
    require_short(len(parts) * (opened.size // 10 + 20))
    square = float(opened.square)
    pseudo = [np.linalg.pinv(matrix) for matrix in opened.floats]
    solutions = np.zeros((len(parts), opened.size))
    for row, part in zip(solutions, parts, strict=True):
        if part is not None:
            row[:] = outer([p.T @ f for p, f in zip(pseudo, part.floats(), strict=True)]).reshape(
                -1
            )
    if not bought:
        return Profile(np.zeros(1), square * (solutions**2).sum(axis=1, keepdims=True))
    if bought == [opened]:
        known = np.full(1, float(opened.precision) * square)
        return Profile(known, square * (solutions**2).sum(axis=1, keepdims=True))
    require_short((len(bought) + 2) * opened.size**3 // 1000 + len(parts) * opened.size**2 // 1000)
    inverse = kron(pseudo)
    information = np.zeros((opened.size, opened.size))
    for ledger in bought:
        lifted = kron(ledger.lifted(opened.axes)) @ inverse
        information += float(ledger.precision) * (lifted.T @ lifted)
    values, vectors = np.linalg.eigh(information)
    shares = square * (solutions @ vectors) ** 2
    shares[shares < 1e-18 * shares.sum(axis=1, keepdims=True)] = 0  # what rounding has left over
    return Profile(np.maximum(values, 0) * square, shares)


def allocation(profiles: list[Profile], targets: Array) -> list[float] | None:
    """The further precision of each component; None if no precision is enough."""
    more = [0.0] * len(profiles)
    if not bool((_reached(profiles, more) > targets).any()):
        return more
    weights = np.ones(len(targets))
    for _ in range(_ROUNDS):
        found = [profile.best(weights) for profile in profiles]
        if not any(found):  # with these weights nothing is worth its price
            if any(more):
                break
            weights *= 16
            continue
        more = found
        ratio = _reached(profiles, more) / targets
        slack = (ratio > 0.99) | (weights < 1e-6 * weights.max())
        if abs(ratio.max() - 1) < 1e-3 and bool(slack.all()):
            break
        weights = np.maximum(weights * np.clip(ratio, 1e-3, 1e6) ** 1.5, 1e-12 * weights.max())
    return _enough(profiles, more, targets)


def _reached(profiles: list[Profile], more: list[float]) -> Array:
    found: Array = np.sum([p.variances(m) for p, m in zip(profiles, more, strict=True)], axis=0)
    return found


def _enough(profiles: list[Profile], more: list[float], targets: Array) -> list[float] | None:
    """The allocation times the least factor with which every target is reached."""
    low, high = 0.0, 1.0
    while bool((_reached(profiles, [each * high for each in more]) > targets).any()):
        low, high = high, 2 * high
        if high > 1e9:
            return None
    for _ in range(40):
        middle = (low + high) / 2
        short = bool((_reached(profiles, [each * middle for each in more]) > targets).any())
        low, high = (middle, high) if short else (low, middle)
    return [each * high for each in more]
