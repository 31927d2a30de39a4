"""The events of the rows of a ledger: of each launch that was charged, what it draws from.

Responsible for the way from a row with its receipt to a charge. It asks mechanisms for public facts
alone.
"""

from collections.abc import Iterable
from typing import Any

from queryable.display.nodes import REFUSED, about_of
from queryable.events.charge import Charge
from queryable.events.charges import Events
from queryable.optional import events


def events_of(rows: Iterable[Any]) -> Events:
    """Return the charges among the rows of a ledger."""
    return Events([charge_of(row) for row in rows if row.outcome != REFUSED])


def charge_of(row: Any) -> Charge:
    """Return the charge of a row."""
    receipt = row.receipt
    return Charge(
        row.sequence,
        row.path,
        row.name,
        "" if receipt is None else type(receipt.mechanism).__name__,
        row.asked,
        row.outcome,
        1 if receipt is None else receipt.d_in,
        None if receipt is None else events(receipt.mechanism),
        row.claim,
        row.loss,
        row.total,
        about_of(receipt),
    )
