"""What instances are made of: data, and functions of them that can be pickled."""

from fractions import Fraction
from typing import Any

import numpy as np

from mechanisms import RandomizedResponse
from queryable import Bit, Statistic
from queryable.view import View

DATA = np.arange(20)
"""The data that mechanisms are tried on: twenty small integers."""


def size(dataset: Any) -> int:
    """The number of records."""
    return len(dataset)


def odd(dataset: Any) -> bool:
    """A boolean function of the data."""
    return bool(len(dataset) % 2)


def tally(dataset: Any) -> Any:
    """The counts of even and of odd records, padded to four entries."""
    return np.bincount(np.asarray(dataset) % 2, minlength=4)


def nothing(view: View) -> None:
    """An adversary that asks nothing."""


NUMBER = Fraction(1, 2)
SIZE = Statistic(size, l1=1, l2=1)
TALLY = Statistic(tally, l1=1, l2=1, shape=4)
RESPONSE = RandomizedResponse(Bit(bool), odds=3)
REFUSAL = {"reason": "no"}
