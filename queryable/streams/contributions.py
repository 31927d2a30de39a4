"""What each record adds to an answer, for filters that keep an account of each record.

Responsible for the interfaces between such a filter, the data set whose records it tells apart, and
a mechanism that knows what each of them adds.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from queryable.data.cells import Array, Mask, count_records
from queryable.data.rows import take


class Contributions(ABC):
    """What each record of a data set adds to one answer. Private.

    Attributes:
        squares: for each record the square of the L2 norm of the vector that it adds: integers, or
            True and False. An entry depends on that record alone.
    """

    squares: Array

    @abstractmethod
    def among(self, active: Mask) -> Any:
        """What the mechanism reads instead of the data set, so that only active records count."""


def _per_square(value: Any) -> Fraction:
    if type(value) not in (int, Fraction) or not value >= 0:
        raise ValueError("loss_per_square should be a Fraction or an int from 0 on")
    return Fraction(value)


@attrs.frozen
class PerRecord:
    """What single records lose to a mechanism in zCDP, where losses go by the square of a norm.

    If a record adds a vector whose L2 norm has the square s, its loss is at most s times
    `loss_per_square`.

    Args:
        loss_per_square: the zCDP loss of a record that adds a vector of norm 1. Public.
        contributions: from a data set to what each of its records adds. It reads data, so it runs
            inside the fault boundary.
    """

    loss_per_square: Fraction = attrs.field(converter=_per_square)
    contributions: Callable[[Any], Contributions] = attrs.field(repr=False)


class Records(ABC):
    """The records of a data set, numbered: rows, or privacy units with all their rows. Private.

    Attributes:
        count: how many there are.
    """

    count: int

    @property
    @abstractmethod
    def readable(self) -> Any:
        """What a mechanism's `contributions` are asked of, in the order of these records."""

    @abstractmethod
    def among(self, active: Mask) -> Any:
        """The data set with the active records alone."""


@attrs.frozen
class RecordsInMemory(Records):
    """The records of a list, an array, a dict of columns or a frame: its rows."""

    readable: Any = attrs.field(repr=False)
    count: int = attrs.field(repr=False)

    @classmethod
    def of(cls, dataset: Any) -> "RecordsInMemory":
        """The rows of a data set."""
        return cls(dataset, count_records(dataset))

    def among(self, active: Mask) -> Any:
        """A copy of the active rows, in the form of the data set."""
        return take(self.readable, np.flatnonzero(active))
