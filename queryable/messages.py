"""Queries and answers of compositors, as data. Knows nothing of how they are answered.

A query is one frozen class each, told apart by `match`, and validated by the step that receives
it, never at construction: an analyst may say anything, and gets a `QueryError` for nonsense.
"""

from typing import Any

import attrs

from queryable.errors import QueryError
from queryable.losses.numbers import natural
from queryable.mechanism import Answer as Answer  # noqa: PLC0414 (modules that know no mechanism)
from queryable.mechanism import Query as Query  # noqa: PLC0414 (import both from here)
from queryable.receipts import AskReceipt, Receipt


@attrs.frozen
class Launch:
    """Start a mechanism: the paper's (M', d'). `d_out` defaults to the mechanism's own map."""

    mechanism: Any
    d_out: Any = None


@attrs.frozen
class Ask:
    """Pass a query to a child: the paper's (j, q). `Ask(0, Ask(2, q))` reaches a grandchild."""

    child: Any
    query: Any


@attrs.frozen
class PrivacyLossQuery:
    """The paper's privacy_loss, for data that differ in `d_in` records (default: the budget's)."""

    d_in: Any = None


def records(d_in: Any, default: int) -> int:
    """The d_in of a privacy-loss query.

    Raises:
        QueryError: not a count.
    """
    if d_in is None:
        return default
    try:
        return natural(d_in, "d_in")
    except (TypeError, ValueError) as error:
        raise QueryError(str(error)) from None


@attrs.frozen
class CanAfford:
    """A dry run of a launch: answers a bool, charges nothing, changes nothing."""

    launch: Any


@attrs.frozen
class Launched:
    """A launch went through.

    `child` is the new child's id, or None for a measurement, which is no child. `answer` is the
    measurement's answer, or the child's opening. `receipt` says what was charged; receipts are no
    part of what is compared or printed, here and below.
    """

    child: int | str | None
    answer: Any
    receipt: Receipt | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)


@attrs.frozen
class Refused:
    """The mechanism declined and is otherwise unchanged; the amounts are losses, or None.

    `instead` says what to do now, in words, and is no part of what is compared.
    """

    reason: str
    requested: Any = None
    spent: Any = None
    remaining: Any = None
    instead: str = attrs.field(default="", eq=False)
    receipt: Receipt | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)


@attrs.frozen
class Halted:
    """The mechanism has stopped for good (`on_exceed="halt"`, Haney et al. 2023, Algorithm 3)."""

    reason: str
    receipt: Receipt | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)


@attrs.frozen
class Failed:
    """A mechanism failed while data may have been touched: one constant message, no cause.

    Of a launch that was charged and failed, `receipt` says what was charged.
    """

    receipt: Receipt | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)


@attrs.frozen
class Answered:
    """What a child answered, from a compositor that charges by what children answer.

    Handles, views and persons take the answer out; only other compositors pass it on as it is.
    """

    answer: Any
    receipt: AskReceipt | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)


def plain(answer: Any) -> Any:
    """An answer without what compositors wrapped around it."""
    while isinstance(answer, Answered):
        answer = answer.answer
    return answer
