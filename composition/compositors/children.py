"""The children of a compositor: started, asked and retired, each within the fault boundary.

Responsible for what every compositor does alike, as pure functions on frozen values. A child that
failed or was retired is dropped with its state, and its descendants with it. Knows no budget and
no rule.
"""

from collections.abc import Callable
from typing import Any

import attrs
from immutables import Map

from composition.compositors.launching import loss_at, map_at
from queryable.errors import RetiredChildError, UnknownChildError
from queryable.faults import called, contained_init, contained_step
from queryable.losses.measures import Loss
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import (
    Answer,
    Ask,
    CanAfford,
    Failed,
    Launched,
    PrivacyLossQuery,
    Query,
    records,
)
from queryable.randomness.coins import ChildId, Coins


@attrs.frozen
class Child:
    """A running interactive child, and how often it has been spoken to (for its coins)."""

    mechanism: InteractiveMechanism[Any]
    claim: Loss | None
    state: Any = attrs.field(repr=False)
    messages: int = 1


Children = Map[ChildId, Child]
NONE: Children = Map()

After = Callable[[Children, Answer], tuple[Any, Answer]]
"""How a compositor goes on once a child has answered: to its own new state and answer."""

_LARGE = 10**12


def start(
    children: Children,
    identity: ChildId,
    mechanism: InteractiveMechanism[Any],
    claim: Loss | None,
    dataset: Any,
    coins: Coins,
    after: After | None = None,
) -> tuple[Children, Answer]:
    """Run a paid-for mechanism. One that fails, or a measurement, becomes no child.

    Args:
        after: how the compositor goes on; what then stands is known before the mechanism runs.
    """

    def settled(started: Any) -> tuple[Children, Answer]:
        if started is None:
            return children, Failed()
        state, answer = started
        if isinstance(mechanism, Measurement):
            return children, Launched(None, answer)
        return children.set(identity, Child(mechanism, claim, state)), Launched(identity, answer)

    return settled(
        contained_init(
            lambda: mechanism.init(dataset, coins.spawn(identity, 0)),
            None if after is None else lambda started: after(*settled(started)),
        )
    )


def ask(
    children: Children,
    identity: ChildId,
    query: Query,
    d_in: int,
    coins: Coins,
    after: After | None = None,
) -> tuple[Children, Answer]:
    """Pass a query to a live child; the same children back when nothing at all has changed.

    Args:
        d_in: the records that the children's claims are stated for.
        after: how the compositor goes on, as in `start`.

    Raises:
        QueryError: the child says the query is wrong.
    """
    child = children[identity]
    if isinstance(query, PrivacyLossQuery) and not child.mechanism.reports_loss:
        return children, _claimed_loss(child, query.d_in, d_in)
    mechanism, state, messages = child.mechanism, child.state, child.messages

    def settled(moved: Any) -> tuple[Children, Answer]:
        if moved is None:
            return children.delete(identity), Failed()
        if moved[0] is state and _only_reads(query):
            return children, moved[1]
        advanced = Child(mechanism, child.claim, moved[0], messages + 1)
        return children.set(identity, advanced), moved[1]

    return settled(
        contained_step(
            lambda: mechanism.step(state, query, coins.spawn(identity, messages)),
            None if after is None else lambda moved: after(*settled(moved)),
            composes=mechanism.composes,
        )
    )


def require_live(
    children: Children, identity: Any, launched: Callable[[Any], InteractiveMechanism[Any] | None]
) -> ChildId:
    """The id of a child that still answers, as a plain int or string.

    Args:
        launched: what an id was ever used for, if at all.

    Raises:
        UnknownChildError: no interactive child ever had this id.
        RetiredChildError: it answers no more.
    """
    if isinstance(identity, bool) or not isinstance(identity, int | str):
        raise UnknownChildError(f"a child's id is an int or a name, not {called(type(identity))}")
    # What is derived from int may be one id here and another there.
    known: ChildId = int.__index__(identity) if isinstance(identity, int) else str.__str__(identity)
    if known in children:
        return known
    mechanism = launched(known)
    if mechanism is not None and not isinstance(mechanism, Measurement):
        raise RetiredChildError(
            f"child {known!r} has been retired and answers no more: it failed, or a later "
            "launch ended it; to go on launch it again, which is charged again"
        )
    shown = "of so large an id" if isinstance(known, int) and abs(known) > _LARGE else repr(known)
    raise UnknownChildError(f"there is no interactive child {shown}")


def _claimed_loss(child: Child, d_in: Any, unit: int) -> Loss:
    at = records(d_in, unit)
    if child.claim is None:
        return map_at(child.mechanism, at, None)
    return child.claim if at == unit else loss_at(child.mechanism, child.claim, unit, at)


def _only_reads(query: Query) -> bool:
    while isinstance(query, Ask):
        query = query.query
    return isinstance(query, PrivacyLossQuery | CanAfford)
