"""What the data are asked: noisy marginals, and how far marginals are from those of the model."""

from fractions import Fraction
from math import isqrt
from typing import Any

import attrs
import numpy as np

from mechanisms.synthetic.graphical import GRID
from mechanisms.tables.requests.request import Request
from mechanisms.tables.statistics.counts import Count
from mechanisms.tables.statistics.group_by import GroupBy
from queryable.data.cells import Array
from queryable.losses.numbers import at_least_one, natural
from queryable.statistics import IntegerStatistic, Monotone
from queryable.wording.quoting import quoted

_MOST = 2.0**61
"""The sum of a model's counts is below this, so that no distance from it is beyond 64 bits."""


def _counts(value: Any) -> GroupBy:
    if type(value) is not GroupBy or type(value.statistic) is not Count:
        raise TypeError(f"counts is {quoted(value)}; it should be a GroupBy of a Count")
    return value


def _names(value: Any) -> tuple[str, ...]:
    if type(value) is not tuple or any(type(each) is not str for each in value):
        raise TypeError(f"names is {quoted(value)}; it should be a tuple of texts")
    return value


@attrs.frozen
class Marginal(IntegerStatistic):
    """The number of rows in each cell of some columns, under the names of the columns.

    Args:
        counts: groups in which every row is once.
        names: of the columns, one for each dimension.
    """

    counts: GroupBy = attrs.field(converter=_counts)
    names: tuple[str, ...] = attrs.field(converter=_names)

    def __attrs_post_init__(self) -> None:
        """Check that each dimension has a name.

        Raises:
            ValueError: there are more of them, or fewer.
        """
        if len(self.names) != len(self.counts.by):
            raise ValueError(
                f"names has {len(self.names)} entries; it should name {len(self.counts.by)} columns"
            )

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """The numbers of cells of the columns."""
        return self.counts.shape

    @property
    def l1(self) -> Fraction:  # type: ignore[override]
        """A row, or the rows of a unit that are counted."""
        return self.counts.l1

    @property
    def l2(self) -> Fraction:  # type: ignore[override]
        """A row, or the rows of a unit that are counted, in the L2 norm."""
        return self.counts.l2

    @property
    def linf(self) -> Fraction:
        """What one count moves."""
        return self.counts.linf

    @property
    def monotone(self) -> Monotone | None:  # type: ignore[override]
        """As for the counts."""
        return self.counts.monotone

    @property
    def request(self) -> Request:
        """The counts'."""
        return self.counts.request

    def value(self, dataset: Any) -> Any:
        """The exact counts."""
        return self.counts.value(dataset)

    @property
    def public_name(self) -> str:
        """`Marginal of` and the columns."""
        return f"Marginal of {', '.join(self.names)}"


def _weight(value: Any) -> int:
    return at_least_one(value, "weight")


def _less(value: Any) -> int:
    return natural(value, "less")


@attrs.frozen
class ComparedMarginal:
    """A marginal and what the model says about it.

    Attributes:
        marginal: of the data.
        modelled: the model's counts in units of 1 / GRID, int64, of the marginal's shape.
        weight: a positive integer.
        less: what is subtracted from the score, in its units, from 0 on: public.
    """

    marginal: Marginal
    modelled: Array = attrs.field(repr=False, eq=lambda each: each.tobytes())
    weight: int = attrs.field(converter=_weight)
    less: int = attrs.field(converter=_less)

    def __attrs_post_init__(self) -> None:
        """Check what the sensitivity relies on: an analyst may have written all of it.

        Raises:
            TypeError, ValueError: counts of another type or shape, or too large.
        """
        if type(self.marginal) is not Marginal:
            raise TypeError(f"marginal is {quoted(self.marginal)}; it should be a Marginal")
        modelled = self.modelled
        if type(modelled) is not np.ndarray or modelled.dtype != np.int64:
            raise TypeError("modelled should be an array of int64")
        if modelled.shape != self.marginal.shape:
            raise ValueError(
                f"modelled has shape {modelled.shape}; it should be {self.marginal.shape}"
            )
        if not abs(modelled.astype(float)).sum() < _MOST:
            raise ValueError("modelled has too large counts; their sum should be below 2**61")

    @property
    def sensitivity(self) -> Fraction:
        """How far the score moves at most."""
        return self.weight * GRID * self.marginal.l1

    def score(self, dataset: Any) -> int:
        """weight * the L1 distance in units of 1 / GRID, less `less`."""
        counts = np.asarray(self.marginal.value(dataset))
        return self.weight * int(abs(counts * GRID - self.modelled).sum()) - self.less


def _compared(value: Any) -> tuple[ComparedMarginal, ...]:
    given = tuple(value) if isinstance(value, list | tuple) else ()
    if not given or any(type(each) is not ComparedMarginal for each in given):
        raise TypeError(f"compared is {quoted(value)}; it should be a list of Compared")
    if len({each.marginal.counts.statistic for each in given}) > 1:
        raise ValueError("compared should count the same rows in each marginal")
    return given


@attrs.frozen
class Distances(IntegerStatistic):
    """A score for each of several marginals: its weighted L1 distance from the model's.

    Privacy:
        Claim: `linf` is the largest weight, times GRID, times the rows of a unit.
        Theorem: docs/theory/proofs/synthetic.md: an L1 distance from something public moves by no
            more than the L1 norm of the change of the marginal.
        Checked by: tests/audit/test_mechanisms.py

    Args:
        compared: the marginals with the model's counts. All count the same rows.
    """

    compared: tuple[ComparedMarginal, ...] = attrs.field(converter=_compared)

    public_name = "Distances from a model"

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """One score for each marginal."""
        return (len(self.compared),)

    @property
    def linf(self) -> Fraction:
        """The most that one score moves."""
        return max(each.sensitivity for each in self.compared)

    @property
    def l1(self) -> Fraction:  # type: ignore[override]
        """All scores may move."""
        return sum((each.sensitivity for each in self.compared), Fraction(0))

    @property
    def l2(self) -> Fraction:  # type: ignore[override]
        """All scores may move; rounded up to an integer."""
        squares = sum(each.sensitivity**2 for each in self.compared)
        return Fraction(isqrt(int(squares.__ceil__())) + 1)

    @property
    def request(self) -> Request:
        """One request with the columns of all; their rows and their privacy unit are the same."""
        requests = [each.marginal.request for each in self.compared]
        by = dict.fromkeys(each for request in requests for each in request.by)
        return attrs.evolve(requests[0], by=tuple(by))

    def value(self, dataset: Any) -> Any:
        """The scores: Python integers."""
        return np.array([each.score(dataset) for each in self.compared], dtype=object)
