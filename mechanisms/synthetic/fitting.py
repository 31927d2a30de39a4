"""The graphical model of noisy marginals: the most likely one. Reads no data.

Mirror descent on the likelihood of the measurements (McKenna, Sheldon, Miklau 2019), from the last
model on. It draws nothing at random, and takes a number of steps that depends on the measurements
alone. On another processor, or with another version of numpy, the last bits of a model may differ.
Counts of a model are therefore rounded to a grid.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import prod
from typing import Any

import attrs
import numpy as np

from mechanisms.synthetic.domain import Columns
from mechanisms.synthetic.fit_queries import Measured
from mechanisms.synthetic.graphical import MOST_ROWS, CliqueOrder, Model, tree_of
from queryable.data.cells import Array

STEPS = 2_000
"""The most steps of a fit."""
_LEAST_STEPS = 64
_WORK = 1 << 24  # cells times steps, which take about a second
_CELLS_OF_COLUMN = 500  # a table takes at least as long as so many cells
MOST_VARIANCE = Fraction(1 << 64)
"""The largest variance of a measurement. Floats add up its counts exactly."""
LEAST_VARIANCE = Fraction(1, 1 << 30)
"""The least variance of a measurement."""
_PATIENCE = 25
_GAIN = 1e-4
_LONGER = 1.25


def total_of(measured: Sequence[Measured]) -> float:
    """The number of rows by the measurements: weighted by their precision, and at least 1."""
    precisions = [1 / float(each.variance * each.counts.size) for each in measured]
    sums = [float(each.counts.sum()) for each in measured]
    total = sum(p * s for p, s in zip(precisions, sums, strict=True)) / sum(precisions)
    return min(max(total, 1.0), float(MOST_ROWS))


def together(
    places: Sequence[Columns], measured: Sequence[Measured]
) -> dict[Columns, tuple[Array, float]]:
    """The mean of all measurements of the same columns, weighted by precision, and its precision.

    It is as likely under every model, up to a constant.
    """
    sums: dict[Columns, tuple[Array, float]] = {}
    for columns, each in zip(places, measured, strict=True):
        precision = float(1 / each.variance)
        before, more = sums.get(columns, (np.zeros(each.counts.shape), 0.0))
        sums[columns] = before + precision * each.counts.astype(float), more + precision
    return {columns: (total / more, more) for columns, (total, more) in sums.items()}


@attrs.frozen(eq=False)
class Misfit:
    """How far a model is from what was measured.

    Attributes:
        logs: the model's factors.
        errors: its count less the measured one, for each cell of each set.
        loss: half the sum of the squared errors, each divided by its variance.
    """

    logs: list[Array]
    errors: list[Array]
    loss: float


@attrs.frozen(eq=False)
class Likelihood:
    """The likelihood of models with one factor for each measured set of columns."""

    tree: CliqueOrder
    total: float
    targets: tuple[Array, ...]
    precisions: tuple[float, ...]

    def at(self, logs: list[Array]) -> Misfit:
        """The misfit of a model."""
        shares = self.tree.shares(logs)
        errors = [self.total * s - y for s, y in zip(shares, self.targets, strict=True)]
        squares = (p * _dot(e, e) for p, e in zip(self.precisions, errors, strict=True))
        return Misfit(logs, errors, sum(squares) / 2)

    def stepped(self, now: Misfit, length: float) -> Misfit | None:
        """One step of mirror descent; None if it is too long to lower the loss enough."""
        slopes = [p * e for p, e in zip(self.precisions, now.errors, strict=True)]
        then = self.at([log - length * s for log, s in zip(now.logs, slopes, strict=True)])
        both = zip(slopes, now.errors, then.errors, strict=True)
        expected = sum(_dot(slope, before - after) for slope, before, after in both)
        return then if now.loss - then.loss >= expected / 2 else None


def _dot(one: Any, other: Any) -> float:
    return float((one * other).sum())  # no BLAS: its sums depend on the number of threads


def steps_of(tree: CliqueOrder) -> int:
    """The most steps of a fit with these tables: fewer where each takes longer."""
    cells = sum(prod(each.shape) + _CELLS_OF_COLUMN for each in tree.cliques)
    return max(min(STEPS, _WORK // cells), _LEAST_STEPS)


def fitted(model: Model, places: Sequence[Columns], measured: Sequence[Measured]) -> Model:
    """The most likely model of the noisy marginals.

    Args:
        model: where the search starts.
        places: the columns of each marginal.
        measured: the noisy marginals.

    Raises:
        ArithmeticError: the numbers are too large for floats.
    """
    total, wanted, known = total_of(measured), together(places, measured), dict(model.factors)
    sets = tuple(wanted)
    targets, precisions = zip(*wanted.values(), strict=True)
    likelihood = Likelihood(tree_of(sets, model.sizes), total, targets, precisions)
    starts = [
        known.get(each, np.zeros(target.shape)) for each, target in zip(sets, targets, strict=True)
    ]
    best = likelihood.at(starts)
    length, taken, before = 1 / (total * sum(precisions)), 0, best.loss
    for _ in range(steps_of(likelihood.tree)):
        further = likelihood.stepped(best, length)
        if further is None:
            length /= 2
            continue
        best, taken, length = further, taken + 1, length * _LONGER
        if taken % _PATIENCE == 0:
            if not before - best.loss > _GAIN * best.loss:
                break
            before = best.loss
    if not np.isfinite(best.loss):
        raise ArithmeticError("the likelihood of the measurements is not finite")
    return Model(model.sizes, tuple(zip(sets, best.logs, strict=True)), total)
