"""What compositors check of a query to a child, and what they answer for it.

Responsible for ids, nesting, and reports about children that do not report themselves. The children
belong to the runner (`queryable.conversation`): a compositor sees which are live. Budgets and rules
are no concern of this file.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from composition.compositors.claims import loss_at, map_at
from queryable.conversation import Live, Reported
from queryable.errors import QueryError, RetiredChildError, UnknownChildError
from queryable.faults import called
from queryable.losses import Loss
from queryable.losses.numbers import at_least_one, natural
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import Ask, PrivacyLossQuery, Query, d_in_of
from queryable.randomness.coins import ChildId

_LARGE = 10**12
_DEEPEST = 150


class Asked(NamedTuple):
    """A query to a child whose answer, or failure, the compositor does something about."""

    child: ChildId
    query: Query


def d_in_field(value: Any) -> int:
    """Read a `d_in`, the number of records that a budget is stated for: at least 1."""
    return at_least_one(value, "d_in")


def max_mechanisms_field(value: Any) -> int | None:
    """Read a `max_mechanisms`; None if the number of launches is not bounded."""
    return None if value is None else natural(value, "max_mechanisms")


def max_depth_field(value: Any) -> int:
    """Read a `max_depth`, at most 150, so that nested queries can be written and shown."""
    depth = natural(value, "max_depth")
    if depth > _DEEPEST:
        raise ValueError(f"max_depth is {depth}; it should be at most {_DEEPEST}")
    return depth


def require_depth(query: Query, max_depth: int) -> None:
    """Check that a query consists of at most `max_depth` nested `Ask`s.

    Raises:
        QueryError: it is nested deeper.
    """
    depth = 0
    while type(query) is Ask or isinstance(query, Ask):  # every level walks the rest
        query, depth = query.query, depth + 1
        if depth > max_depth:
            raise QueryError(f"the query is nested deeper than max_depth={max_depth}")


def require_live(
    live: Live, identity: Any, launched: Callable[[Any], InteractiveMechanism[Any] | None]
) -> ChildId:
    """The id of a live child, as a plain int or string.

    Args:
        launched: gives the mechanism that was launched under an id, or None.

    Raises:
        UnknownChildError: no interactive child ever had this id.
        RetiredChildError: the child failed, or a later launch ended it.
    """
    if isinstance(identity, bool) or not isinstance(identity, int | str):
        raise UnknownChildError(f"a child's id is an int or a name, not {called(type(identity))}")
    # An instance of a subclass of int may compare equal to one id here and to another there.
    known: ChildId = int.__index__(identity) if isinstance(identity, int) else str.__str__(identity)
    if known in live:
        return known
    mechanism = launched(known)
    if mechanism is not None and not isinstance(mechanism, Measurement):
        raise RetiredChildError(
            f"child {known!r} has been retired, because it failed or a later launch ended it; to "
            "go on, launch it again, which is charged again"
        )
    shown = "of so large an id" if isinstance(known, int) and abs(known) > _LARGE else repr(known)
    raise UnknownChildError(f"there is no interactive child {shown}")


def report_about(claim: Any, query: Query, unit: int) -> Reported | None:
    """The report about a child that does not report itself; None if none is asked for.

    Args:
        unit: the number of records that the claim is stated for.

    Raises:
        QueryError: the query is wrong, or the child states no loss at this number of records.
    """
    if not isinstance(query, PrivacyLossQuery) or claim.mechanism.reports_loss:
        return None
    return reported(claim.mechanism, claim.loss, query, unit)


def reported(
    mechanism: InteractiveMechanism[Any], charged: Loss | None, query: PrivacyLossQuery, unit: int
) -> Reported:
    """The answer for a child that does not report its loss: its claim.

    Args:
        charged: what it was charged at `unit` records; None if nothing, for its privacy map.

    Raises:
        QueryError: the query is wrong, or the child states no loss at this number of records.
    """
    at = d_in_of(query.d_in, unit)
    if charged is None:
        return Reported(map_at(mechanism, at, None))
    return Reported(charged if at == unit else loss_at(mechanism, charged, unit, at))


def left_for_a_launch(
    own: Any, blocks: Any, most: int | None, requested: Loss | None = None
) -> Loss:
    """The largest loss of a launch that the account admits now; zero if none is admitted at all.

    Args:
        own: the state, with an account and the claims of its launches.
        blocks: the blocks that were named; None where there are none.
        most: how many launches there may be; None if their number is not bounded.
        requested: a loss of the measure to state it in, if launches may state several.

    Raises:
        QueryError: blocks are named, or there is no budget.
    """
    if blocks is not None:
        raise QueryError("leave blocks out: nothing here has blocks")
    account = own.account
    left: Loss | None = account.remaining() if requested is None else account.left_for(requested)
    if left is None:
        raise QueryError(
            "ask privacy_loss() instead: an odometer has no budget, so nothing limits what is "
            "left; launch FiltCon(budget) in it for a limit"
        )
    ended = own.halted is not None or (most is not None and len(own.claims) >= most)
    return left.zero() if ended else left
