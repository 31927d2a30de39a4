"""The children of a compositor: start one, ask one, and the checks before that.

Pure functions on frozen values, used by every compositor. Each run of a child is inside the fault
boundary (`queryable.faults`). A child that failed or was retired is dropped together with its
state, which includes all its descendants. Budgets and rules are no concern of this file.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import attrs
from immutables import Map

from composition.compositors.claims import loss_at, map_at
from queryable.data.growing import Grown
from queryable.data.later import Data, Later
from queryable.datasets import read_ahead
from queryable.errors import QueryError, RetiredChildError, UnknownChildError
from queryable.faults import (
    called,
    contained_init,
    contained_step,
    contained_update,
    interrupted,
    played,
    recalling,
)
from queryable.losses import Loss
from queryable.losses.numbers import natural
from queryable.mechanism import InteractiveMechanism, Measurement, launched_on
from queryable.messages import (
    OWNERS,
    READS,
    Answer,
    Ask,
    AskMany,
    Failed,
    Launched,
    PrivacyLossQuery,
    Query,
    d_in_of,
    entries_of,
    not_the_owner,
)
from queryable.randomness.coins import ChildId, Coins
from queryable.recalling import Unplayed
from queryable.statistics import IntegerStatistic


@attrs.define(unsafe_hash=True)  # never changed; to freeze it would take most of making it
class Child:
    """A running interactive child, and the number of messages it got, which selects its coins."""

    mechanism: InteractiveMechanism[Any]
    claim: Loss | None
    state: Any = attrs.field(repr=False)
    messages: int = 1


@attrs.frozen
class Broken:
    """The state of a child that failed at a batch. Its next answer is `Failed()`, and it is gone.

    Batches have no answers, so that a child failed is seen when it is next asked.
    """


BROKEN = Broken()
Children = Map[ChildId, Child]
NO_CHILDREN: Children = Map()

After = Callable[[Children, Answer], tuple[Any, Answer]]
"""What a compositor does with a child's answer: gives its own new state and answer."""

_MADE = frozenset({Grown, Data, Later})
_LARGE = 10**12
_DEEPEST = 150


def max_depth_field(value: Any) -> int:
    """Read a `max_depth`, at most 150, so that nested steps fit on Python's stack."""
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


def start_child(
    children: Children,
    identity: ChildId,
    mechanism: InteractiveMechanism[Any],
    claim: Loss | None,
    dataset: Any,
    coins: Coins,
    after: After | None = None,
    number: int = 0,
) -> tuple[Children, Answer]:
    """Run a mechanism whose cost has been charged.

    A mechanism that fails answers `Failed()` and becomes no child; neither does a measurement.

    Args:
        number: of the message, which selects its coins.
        after: what the compositor does with the answer. The fault boundary keeps it, so that an
            interrupt at any moment leaves the state in which the charge is made.
    """

    def settled(started: Any) -> tuple[Children, Answer]:
        if started is None:
            return children, Failed()
        state, answer = started
        if isinstance(mechanism, Measurement):
            return children, Launched(None, answer)
        return children.set(identity, Child(mechanism, claim, state)), Launched(identity, answer)

    def begun() -> tuple[Any, Answer]:
        kind = type(dataset)
        data = launched_on(mechanism, dataset) if kind in _MADE else dataset
        return mechanism.init(data, coins.spawn(identity, number))

    recall = recalling()
    if recall is not None:
        return settled(recall.started(mechanism, dataset, lambda: coins.spawn(identity, number)))
    return settled(
        contained_init(
            begun,
            None if after is None else lambda started: after(*settled(started)),
            mechanism,
        )
    )


class Parent:
    """A state with children."""

    __slots__ = ()

    children: Children

    def among(self, children: Children) -> Self:
        """The state with these children; itself, if they are its own."""
        return self if children is self.children else attrs.evolve(self, children=children)  # type: ignore[misc]


def ask_within(
    state: Any,
    identity: ChildId,
    query: Query,
    d_in: int,
    coins: Coins,
    shown: Callable[[Answer], Answer] | None = None,
) -> tuple[Any, Answer]:
    """As `ask_child`, for a compositor whose state changes by its children alone.

    Args:
        state: a `Parent`.
        shown: what the compositor shows of the child's answer.
    """

    def after(children: Children, answer: Answer) -> tuple[Any, Answer]:
        return state.among(children), answer if shown is None else shown(answer)

    return after(*ask_child(state.children, identity, query, d_in, coins, after))


def ask_child(
    children: Children,
    identity: ChildId,
    query: Query,
    d_in: int,
    coins: Coins,
    after: After | None = None,
) -> tuple[Children, Answer]:
    """Pass a query to a live child; returns the same `children` object if nothing has changed.

    Args:
        d_in: the records that the children's claims are stated for.
        after: what the compositor does with the answer, as in `start_child`.

    Raises:
        QueryError: the child says the query is wrong, or it is a message of the data's owner.
    """
    child = children[identity]
    if type(query) is not Ask:
        if issubclass(type(query), OWNERS):
            raise not_the_owner(query)
        if isinstance(query, PrivacyLossQuery) and not child.mechanism.reports_loss:
            return children, _reported_loss(child, query.d_in, d_in)
    mechanism, state, messages = child.mechanism, child.state, child.messages
    recall = recalling()

    def settled(moved: Any) -> tuple[Children, Answer]:
        if moved is None:
            return children.delete(identity), Failed()
        if moved[0] is state and _only_reads(query):
            return children, moved[1]
        advanced = Child(mechanism, child.claim, moved[0], messages + 1)
        return children.set(identity, advanced), moved[1]

    if state is BROKEN:
        return settled(None)
    if recall is not None:
        if recall.retires():
            return settled(None)
        if recall.dry or not mechanism.recallable:
            return settled(recall.asked(state, query, lambda: coins.spawn(identity, messages)))
    if type(state) is Unplayed:
        now = played(state, _read_ahead)
        if now is None:
            return settled(None)
        state = now[0]
    return settled(
        contained_step(
            lambda: mechanism.step(state, query, coins.spawn(identity, messages)),
            None if after is None else lambda moved: after(*settled(moved)),
            composes=mechanism.composes,
        )
    )


def continual_among(children: Children, identities: Iterable[ChildId]) -> tuple[ChildId, ...]:
    """The live continual children among these."""
    living = ((each, children.get(each)) for each in identities)
    return tuple(each for each, child in living if child and child.mechanism.continual)


def pass_on(
    children: Children, identities: Iterable[ChildId], message: Query, coins: Coins
) -> Children:
    """Pass a message of the data's owner to children, one after the other.

    A child that fails is `BROKEN`. After an interrupt the rest is left out, because the message
    then changes nothing.

    Raises:
        QueryError: a child says that the message is wrong.
    """
    for identity in identities:
        child = children.get(identity)
        if child is not None and child.state is not BROKEN:
            told = _told(identity, child, message, coins)
            if told.state is BROKEN and interrupted():
                break
            children = children.set(identity, told)
    return children


def _told(identity: ChildId, child: Child, message: Query, coins: Coins) -> Child:
    mechanism, state, messages = child.mechanism, child.state, child.messages

    def toss() -> Coins:
        return coins.spawn(identity, messages)

    if type(state) is Unplayed:
        now: Any = state.asked(message, toss, None)
    else:
        moved = contained_update(
            lambda: mechanism.step(state, message, toss()), composes=mechanism.composes
        )
        now = BROKEN if moved is None else moved[0]
    return Child(mechanism, child.claim, now, messages + 1)


def _read_ahead(dataset: Any, queries: Sequence[Query]) -> None:
    """Let the data read at once for the statistics among queries that are run again."""
    entries = (entries_of(each) if isinstance(each, AskMany) else (each,) for each in queries)
    found = [each for several in entries for each in several]
    read_ahead(dataset, [each for each in found if isinstance(each, IntegerStatistic)])


def require_live(
    children: Children, identity: Any, launched: Callable[[Any], InteractiveMechanism[Any] | None]
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
    if known in children:
        return known
    mechanism = launched(known)
    if mechanism is not None and not isinstance(mechanism, Measurement):
        raise RetiredChildError(
            f"child {known!r} has been retired, because it failed or a later launch ended it; to "
            "go on, launch it again, which is charged again"
        )
    shown = "of so large an id" if isinstance(known, int) and abs(known) > _LARGE else repr(known)
    raise UnknownChildError(f"there is no interactive child {shown}")


def _reported_loss(child: Child, d_in: Any, unit: int) -> Loss:
    at = d_in_of(d_in, unit)
    if child.claim is None:
        return map_at(child.mechanism, at, None)
    return child.claim if at == unit else loss_at(child.mechanism, child.claim, unit, at)


def _only_reads(query: Query) -> bool:
    while type(query) is Ask or isinstance(query, Ask):
        query = query.query
    return isinstance(query, READS)
