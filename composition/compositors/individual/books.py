"""The books of an `Individual`: which records can pay for a launch, and what each has lost.

Responsible for all that reads the records for it. It runs inside the fault boundary, when the
mechanism that was launched needs its rows. What a record has lost is in `accounts`.
"""

from contextlib import suppress
from fractions import Fraction
from functools import partial
from typing import Any

import attrs
import numpy as np

from composition.compositors.individual.accounts import Accounts
from composition.compositors.launching import Order
from queryable.checks.datasets import Described
from queryable.conversation import Later
from queryable.data.cells import Array
from queryable.data.facts import Facts, base_of
from queryable.data.growing import snapshot
from queryable.errors import PrivacyClaimError, QueryError
from queryable.faults import called, touching_data
from queryable.mechanism import InteractiveMechanism
from queryable.streams.contributions import Contributions, PerRecord, Records, RecordsInMemory

_FRAMES = ("iloc", "to_pylist", "lazy")
"""What pandas, Arrow and polars frames have, in this order."""


@attrs.frozen
class Books:
    """What nobody sees: who has paid what.

    Attributes:
        records: of the data as they were at the last launch that ran; None before.
        accounts: of each of these records.
    """

    records: Records | None = attrs.field(default=None, repr=False)
    accounts: Accounts = attrs.field(factory=partial(Accounts.of, 0), repr=False)


NO_BOOKS = Later.of(Books())


@attrs.define(eq=False)
class Priced(Order):
    """A launch that was checked, and what it costs in shares of the budget.

    Attributes:
        whole: what it costs a record that pays the whole loss.
        square: what it costs a record for each unit of its square; None if all pay the whole loss.
        known: what the mechanism says that single records lose; None likewise.
    """

    whole: Fraction
    square: Fraction | None
    known: PerRecord | None

    @property
    def least(self) -> Fraction:
        """The least that it costs a record that adds anything."""
        return self.whole if self.square is None else self.square


def read_by(paid: tuple[Books, Any], _: Books) -> Any:
    """What the mechanism reads; the books are made with it, so that nothing else is kept."""
    return paid[1]


def paid_for(
    books: Books, dataset: Any, priced: Priced, owed: Fraction, arrived: bool
) -> tuple[Books, Any]:
    """The books after the charge, and what the mechanism reads.

    Raises:
        MechanismFault: the data cannot be read.
    """
    records = books.records
    if records is None or arrived:
        records = touching_data(lambda: _records_of(dataset, books.records))
    accounts = books.accounts.among(records.count).without(owed)
    known = priced.known
    if priced.square is None or known is None:
        active, accounts = accounts.charged(min(priced.whole, Fraction(1)))
        data = touching_data(lambda: records.among(active))
    else:
        added, squares = touching_data(lambda: _added_by(known, records))
        active, accounts = accounts.charged(priced.square, squares)
        data = touching_data(lambda: added.among(active))
    return Books(records, accounts), data


def per_record(mechanism: InteractiveMechanism[Any]) -> PerRecord | None:
    """What a mechanism says that single records lose. It is asked once for each launch.

    Raises:
        PrivacyClaimError: it is no `PerRecord`, or has no number from 0 on.
    """
    with suppress(Exception):
        stated = mechanism.per_record
        if stated is None or type(stated) is PerRecord:
            return stated
    raise PrivacyClaimError(
        f"{called(type(mechanism))} states a per_record that is not None or a PerRecord with a "
        "loss_per_square from 0 on"
    )


def _added_by(known: PerRecord, records: Records) -> tuple[Contributions, Array]:
    """What each record adds to a mechanism's answer, and the squares, checked. Reads data.

    Raises:
        TypeError, ValueError: they are not an integer from 0 on for each record.
    """
    added = known.contributions(records.readable)
    squares = np.asarray(added.squares)
    integers = squares.dtype.kind in "biu" or (
        squares.dtype == object and all(isinstance(each, int) for each in squares.tolist())
    )
    if not integers or squares.shape != (records.count,):
        raise TypeError("squares should be an integer for each record")
    if squares.dtype != bool and (squares < 0).any():
        raise ValueError("squares should be 0 or more")
    return added, squares


def _records_of(dataset: Any, earlier: Records | None) -> Records:
    """The records of the data as of now; those that were there earlier keep their numbers."""
    dataset = snapshot(dataset)
    if not isinstance(dataset, Described):
        return RecordsInMemory.of(dataset)
    return dataset.records() if earlier is None else dataset.records(earlier)


def require_records(facts: Facts) -> None:
    """Check that records can be told apart.

    Raises:
        QueryError: the data are not rows in memory.
    """
    dataset = base_of(facts)
    if isinstance(dataset, Described):
        if not dataset.gives_rows:
            raise QueryError(
                "open the rows as a file or a frame: Individual keeps an account of each record, "
                "and these are in a database or joined. Nothing is charged"
            )
        return
    rows = isinstance(dataset, list | tuple | np.ndarray | dict)
    if not rows and not any(hasattr(dataset, each) for each in _FRAMES):
        raise QueryError(
            "give a list, an array, a dict of columns, a frame or a Table: Individual keeps an "
            f"account of each record, and the data are {called(type(dataset))}. Nothing is charged"
        )
