"""An account for each record: exact shares of one budget, as 64-bit integers.

`RecordAccount` is what is public about them. Knows nothing of mechanisms. Each record's account
depends on the shares that were asked for, which are public, and on that record's own contributions.
"""

from fractions import Fraction
from math import lcm
from typing import Any

import attrs
import numpy as np

from composition.rules.checks.account import Accountable
from composition.rules.checks.compare import Verdict
from queryable.data.cells import Array, Mask
from queryable.losses import ZCDP, Parts
from queryable.receipts import RunningTotal
from queryable.wording.quoting import an_instance

_LARGEST = 2**61
"""The most units that a budget is divided into: twice as many fit into 64 bits."""
_FEW = 8
"""If at most one record in so many is counted, these are charged one by one."""


@attrs.frozen
class Accounts:
    """What each record has lost, in units of 1 / `units` of the budget. Private, except `units`.

    Charges are exact while the least common denominator of all of them is at most 2**61. From then
    on what a record pays is rounded up, by less than 2**-60 of the budget.
    """

    spent: Array = attrs.field(repr=False, eq=lambda spent: spent.tobytes())
    units: int = 1

    @classmethod
    def of(cls, records: int) -> "Accounts":
        """Empty accounts."""
        return cls(np.zeros(records, dtype=np.int64))

    def among(self, records: int) -> "Accounts":
        """The accounts of so many records: these, and empty ones of those that have arrived."""
        more = records - len(self.spent)
        if not more:
            return self
        return Accounts(np.concatenate([self.spent, np.zeros(more, dtype=np.int64)]), self.units)

    def charged(self, share: Fraction, squares: Any = 1) -> tuple[Mask, "Accounts"]:
        """The records that can pay, and the accounts after these have paid.

        A record pays `share` of the budget, times its own square. One that cannot pay is left out,
        and pays nothing. The same instructions run whoever can pay. They run on all records, or on
        those with a square other than 0 if these are few.

        Args:
            squares: an integer, or True or False, for each record; or one for all.
        """
        units = self._divided(share.denominator)
        each = min(share * units, Fraction(units + 1))
        active = np.ones(len(self.spent), dtype=bool)
        if not each:
            return active, self
        factor = units // self.units
        spent = self.spent * factor if factor > 1 else self.spent.copy()
        squares = np.asarray(squares)
        if squares.ndim and _FEW * np.count_nonzero(squares) < len(squares):
            places = np.flatnonzero(squares)
            costs, before = _costs(squares[places], each, units), spent[places]
            active[places] = pays = before <= units - costs
            spent[places] = before + costs * pays
        elif squares.dtype == bool:  # one cost: fewer passes over all records
            cost = np.int64(each.__ceil__())
            pays = (spent <= units - cost) & squares
            active = pays | ~squares
            spent += pays * cost
        else:
            costs = _costs(squares, each, units)
            active = spent <= units - costs
            spent += costs * active
        return active, Accounts(spent, units)

    def without(self, share: Fraction) -> "Accounts":
        """The accounts after every record has paid a share of the budget, or what it has left."""
        if not share:
            return self
        units = self._divided(share.denominator)
        cost = min(share * units, Fraction(units)).__ceil__()
        return Accounts(np.minimum(self.spent * (units // self.units) + cost, units), units)

    def _divided(self, denominator: int) -> int:
        """How many units the budget has, so that a share of this denominator is a whole number."""
        units = lcm(self.units, denominator)
        return units if units <= _LARGEST else self.units * (_LARGEST // self.units)


def _costs(squares: Array, each: Fraction, units: int) -> Array:
    """Squares times `each`, rounded up. A cost above `units` is some number above it, below 2**63.

    Rounding `each` alone would multiply what it adds by the square.
    """
    if squares.dtype == bool:
        return squares * np.int64(each.__ceil__())
    if squares.dtype.itemsize < 8:  # numpy would not compare them with a larger number
        squares = squares.astype(np.int64)
    most = units // each + 1
    if squares.dtype == object or most < _LARGEST * 2:
        squares = np.minimum(squares, most)
    if each.denominator == 1:
        return squares.astype(np.int64, copy=False) * np.int64(each.numerator)
    costs = -(-squares.astype(object) * each.numerator // each.denominator)
    return np.asarray(costs, dtype=object).astype(np.int64)


@attrs.frozen
class RecordAccount(Accountable, RunningTotal):
    """What is public about the accounts of records: the budget of each, and if one may have paid.

    Attributes:
        budget: of each record.
        launched: whether anything was launched.
    """

    budget: ZCDP = attrs.field(validator=an_instance(ZCDP))
    launched: bool = attrs.field(default=False, validator=an_instance(bool))

    marks = ("launched",)

    def amounts(self) -> Parts:
        """The budget, once anything was launched."""
        return self.total().parts

    def added(self, loss: object) -> Parts:
        """None: what launches cost does not add up."""
        return ()

    def check(self, amounts: Parts) -> Verdict:
        """The total is the budget."""
        return True

    def wrong_step(self, loss: object, after: "RecordAccount", *, least: bool) -> str:
        """That nothing was launched."""
        return "" if after.launched else "has an account without a launch after one"

    def total(self) -> ZCDP:
        """The most that a record may have lost."""
        return self.budget if self.launched else self.budget.zero()

    @property
    def about(self) -> str:
        """That losses are those of one record, and do not add up."""
        return "(per record that could pay; these do not add up)" if self.launched else ""

    @property
    def remark(self) -> str:
        """What the total is about."""
        return "the most that one record may have lost, and what remains of each is private"
