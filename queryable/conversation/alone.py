"""`Alone`: what a root runs. It holds one mechanism, so that every root is a conversation."""

from typing import Any

import attrs

from queryable.conversation import LOST, Compositor, Data, Live, Moved, Node, Pass, Start, Talk
from queryable.conversation.stepping import ROOT, spawned
from queryable.conversation.steps import NO_CHILDREN, Child
from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Query
from queryable.randomness.coins import Coins


@attrs.frozen
class Alone(Compositor):
    """One mechanism, and nothing beside it: each message is its message, with the same coins."""

    mechanism: InteractiveMechanism[Any]

    recallable = True

    def loss(self, d_in: int) -> Loss:
        """The mechanism's."""
        return self.mechanism.privacy_map(d_in)

    def open(self, data: Data) -> Talk:
        """Start it."""
        moved = yield Start(ROOT, self.mechanism, data)
        return LOST if moved is LOST else Moved(None, moved.answer)

    def understood(self, own: None, query: Query, live: Live) -> Query:  # type: ignore[override]
        """The query. A measurement, which is no child any more, refuses it."""
        return query if live else self.mechanism.understood(query)

    def converse(self, own: None, understood: Query, live: Live) -> Talk:
        """Pass it on."""
        moved = yield Pass(ROOT, understood)
        return LOST if moved is LOST else Moved(None, moved.answer)


def only(state: Any) -> Child | None:
    """The mechanism of an `Alone`, with its state; None for the state of another compositor."""
    found = type(state) is Node and state.own is None
    return state.children.get(ROOT) if found else None


def around(child: Child) -> Node:
    """The state of an `Alone`, with this one mechanism."""
    return Node(None, NO_CHILDREN.set(ROOT, child))


class Same:
    """The coins of the one mechanism of an `Alone`, which are those of the message."""

    __slots__ = ("_coins",)

    def __init__(self, coins: Coins) -> None:
        self._coins = coins

    def spawn(self, child: Any, message: int) -> Coins:
        """The coins."""
        return self._coins


def run_as_root(mechanism: InteractiveMechanism[Any]) -> Compositor:
    """What the root of a tree runs: the mechanism itself if a log of answers makes it again."""
    if isinstance(mechanism, Compositor) and mechanism.converses and mechanism.recallable:
        return mechanism
    return Alone(mechanism)


def coins_of(runs: Compositor, coins: Coins, number: int) -> Any:
    """The coins of the n-th message to a root, and of its start for 0."""
    mine = spawned(coins, number)
    return Same(mine) if type(runs) is Alone else mine
