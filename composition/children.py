"""The children of a compositor: started, asked and retired, each within the fault boundary.

Responsible for what every compositor does alike, as pure functions on frozen values. Knows no
budget and no rule.
"""

from typing import Any

import attrs
from immutables import Map

from composition.launching import map_at, records
from queryable.coins import ChildId, Coins
from queryable.errors import RetiredChildError, UnknownChildError
from queryable.faults import contained_init, contained_step
from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import Answer, Ask, CanAfford, Failed, Launched, PrivacyLossQuery, Query


@attrs.frozen
class Child:
    """A running interactive child, and how often it has been spoken to (for its coins)."""

    mechanism: InteractiveMechanism[Any]
    claim: Loss | None
    state: Any = attrs.field(repr=False)
    messages: int = 1
    retired: bool = False


Children = Map[ChildId, Child]
NONE: Children = Map()


def start(
    children: Children,
    identity: ChildId,
    mechanism: InteractiveMechanism[Any],
    claim: Loss | None,
    dataset: Any,
    coins: Coins,
) -> tuple[Children, Answer]:
    """Run a paid-for mechanism. A measurement answers and is no child; a failure is retired."""
    started = contained_init(lambda: mechanism.init(dataset, coins.spawn(identity, 0)))
    if isinstance(mechanism, Measurement):
        return children, Failed() if started is None else Launched(None, started[1])
    if started is None:
        return children.set(identity, Child(mechanism, claim, None, retired=True)), Failed()
    state, opening = started
    return children.set(identity, Child(mechanism, claim, state)), Launched(identity, opening)


def ask(
    children: Children, identity: Any, query: Query, d_in: int, coins: Coins
) -> tuple[Children, Answer]:
    """Pass a query to a child; the same children back when nothing at all has changed.

    Args:
        d_in: the records that the children's claims are stated for.

    Raises:
        QueryError: no such child, it is retired, or it says the query is wrong.
    """
    child = find(children, identity)
    if isinstance(query, PrivacyLossQuery) and not child.mechanism.reports_loss:
        return children, claimed_loss(child, query.d_in, d_in)
    mechanism, state, messages = child.mechanism, child.state, child.messages
    moved = contained_step(lambda: mechanism.step(state, query, coins.spawn(identity, messages)))
    if moved is None:
        return children.set(identity, retired(child)), Failed()
    if moved[0] is state and _only_reads(query):
        return children, moved[1]
    advanced = Child(mechanism, child.claim, moved[0], messages + 1)
    return children.set(identity, advanced), moved[1]


def find(children: Children, identity: Any) -> Child:
    """The child with this id, if it still answers."""
    if isinstance(identity, bool) or not isinstance(identity, int | str):
        raise UnknownChildError(f"a child's id is an int or a name, not {type(identity).__name__}")
    child = children.get(identity)
    if child is None:
        raise UnknownChildError(f"there is no interactive child {identity!r}")
    if child.retired:
        raise RetiredChildError(f"child {identity!r} has been retired and answers no more")
    return child


def claimed_loss(child: Child, d_in: Any, unit: int) -> Loss:
    """What a child may lose: its frozen claim, or its map where other data sets are asked about."""
    at = records(d_in, unit)
    if child.claim is None:
        return map_at(child.mechanism, at, None)
    return child.claim if at == unit else map_at(child.mechanism, at, child.claim.measure)


def retired(child: Child) -> Child:
    """The child without its state: it answers no more."""
    return attrs.evolve(child, state=None, retired=True)


def _only_reads(query: Query) -> bool:
    while isinstance(query, Ask):
        query = query.query
    return isinstance(query, PrivacyLossQuery | CanAfford)
