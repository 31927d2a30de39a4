"""A conversation that is being held: what it asked for, what it was told, and its children.

Responsible for the children of a compositor: they are set, counted, retired and dropped in
`Frame.take` alone. Does not run anything but the conversation itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from queryable.conversation.recalling import Unplayed
from queryable.conversation.steps import (
    BROKEN,
    LOST,
    NO_CHILDREN,
    STEPS,
    Child,
    Children,
    Drop,
    Moved,
    Node,
    Pass,
    Say,
    Start,
    Talk,
)
from queryable.data.later import PLAIN, holds_later
from queryable.faults import called
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import READS, Answer, Ask, Launched, Query
from queryable.randomness.coins import ChildId, Coins

MOST_TURNS = 1_000_000
"""How often a conversation about one message may yield."""

TALKING: Any = object()
"""In place of an outcome: there is none yet, because a conversation goes on."""

NOTHING = Moved(None, None)

_tuple = tuple.__new__

Path = tuple[Any, ...]
"""The ids on the way to a frame, innermost first, as a linked list."""

Receipts = Sequence[tuple[tuple[ChildId, ...], Any]]
"""Receipts, each with the ids on the way to the compositor that gave it."""


class Live(Mapping[ChildId, Any]):
    """The live children of a compositor, as it sees them: their mechanisms, by id."""

    __slots__ = ("_children",)

    _children: Children

    @classmethod
    def of(cls, children: Children) -> "Live":
        """The mechanisms of these children."""
        live = cls()
        live._children = children
        return live

    def __getitem__(self, identity: ChildId) -> Any:
        return self._children[identity].mechanism

    def __contains__(self, identity: object) -> bool:
        return identity in self._children

    def __iter__(self) -> Iterator[ChildId]:
        return iter(self._children)

    def __len__(self) -> int:
        return len(self._children)


class Frame:
    """A conversation, and the compositor's children so far.

    Attributes:
        talk: the conversation; None if the compositor only passes a query on.
        number: how many conversations began in this message up to it.
        ran: whether it was told what came of a leaf.
        spoke: whether a person spoke in it. All that it asks is counted then.
    """

    steps: Sequence[Any] = ()
    told: list[Moved | None] | None = None
    place = turns = 0
    one = ran = spoke = False
    receipts: Receipts = ()

    def __init__(
        self, talk: Talk | None, coins: Coins, node: Node | None, path: Path, number: int
    ) -> None:
        self.talk, self.coins, self.node, self.path, self.number = talk, coins, node, path, number
        self.children = NO_CHILDREN if node is None else node.children

    @property
    def started(self) -> bool:
        """Whether it is the one with which its compositor starts."""
        return self.node is None

    def resumed(self) -> Any:
        """Tell what came of the steps, and take the next ones; or give the result."""
        told = self.told
        assert self.talk is not None
        self.turns += 1
        if self.turns > MOST_TURNS:
            raise RuntimeError(f"a conversation yields at most {MOST_TURNS} times a message")
        try:
            asked = self.talk.send(told[0] if self.one and told else told)
        except StopIteration as end:
            result = end.value
        else:
            self.one = type(asked) in STEPS
            if not self.one and type(asked) is not list and type(asked) is not tuple:
                raise TypeError(f"a conversation yields steps, not {called(type(asked))}")
            self.steps = (asked,) if self.one else asked
            self.place, self.told = 0, []
            return TALKING
        moved = ended(result, self.node, self.children)
        if moved is not LOST and moved.receipts:
            self.receive([((), each) for each in moved.receipts])
        return moved

    def receive(self, receipts: Receipts) -> None:
        """Note receipts. Those made under a person are not shown."""
        if not self.spoke:
            self.receipts = [*self.receipts, *receipts]

    def settle(self, moved: Moved | None, *, atomic: bool) -> None:
        """Set what came of the present step, and tell the conversation.

        Args:
            atomic: whether the message is a batch. It has no answer, so that a child failed shows
                when it is next asked.
        """
        assert self.told is not None
        told = moved
        if moved is not LOST:
            told = NOTHING if moved.answer is None else Moved(None, moved.answer)
        self.told.append(told)
        self.take(self.steps[self.place - 1], moved, atomic=atomic)

    def take(self, step: Any, moved: Moved | None, *, atomic: bool) -> None:
        """Set what came of a step."""
        kind = type(step)
        if moved is LOST:
            if kind is Pass:
                self._retire(step.identity, atomic)
            return
        state = moved.state
        if kind is Start:
            mechanism = step.mechanism
            if not isinstance(mechanism, Measurement):
                count = step.number + 1 if isinstance(mechanism, InteractiveMechanism) else 0
                child = Child(mechanism, state, count)
                self.children = self.children.set(step.identity, child)
        elif kind is Pass or kind is Say:
            mechanism, before, messages = self.children[step.identity]
            if (
                self.spoke
                or (state is not before and type(before) is not Unplayed)  # most messages
                or moves(before, state, step.query)
            ):
                child = _tuple(Child, (mechanism, state, messages + 1))
                self.children = self.children.set(step.identity, child)
        elif kind is Drop:
            self._drop(step)

    def _retire(self, identity: ChildId, atomic: bool) -> None:
        child = self.children.get(identity)
        if child is None or (atomic and child.state is BROKEN):
            return
        if atomic:
            broken = Child(child.mechanism, BROKEN, child.messages + 1)
            self.children = self.children.set(identity, broken)
        else:
            self.children = self.children.delete(identity)

    def _drop(self, step: Drop) -> None:
        if step.identities is None:
            self.children = NO_CHILDREN if self.children else self.children
            return
        children = self.children
        for each in step.identities:
            if each in children:
                children = children.delete(each)
        self.children = children


def ended(result: Any, node: Node | None, children: Children) -> Any:
    """The outcome of a conversation; its state is the old `Node` if nothing has changed.

    Raises:
        TypeError: it is no result of a conversation.
    """
    if result is LOST:
        return LOST
    if type(result) is not Moved:
        raise TypeError(f"a conversation ends with Moved or LOST, not {called(type(result))}")
    own, answer, receipts = result
    kind = type(answer)
    if kind not in PLAIN and not (kind is Launched and type(answer.answer) in PLAIN):
        require_no_later(answer)
    if node is None or own is not node.own or children is not node.children:
        node = Node(own, children)
    return Moved(node, answer, receipts)


def require_no_later(answer: Answer) -> None:
    """Check that no value of the data stands in an answer, which may not have been looked at.

    Raises:
        TypeError: one does.
    """
    inner = answer.answer if type(answer) is Launched else answer
    if type(inner) not in PLAIN and holds_later(inner):
        raise TypeError("a conversation may not look at data; it answers with a Later")


def ids(path: Path) -> tuple[ChildId, ...]:
    """The ids of a path, outermost first."""
    found: list[ChildId] = []
    while path:
        identity, path = path
        found.append(identity)
    return tuple(reversed(found))


def moves(before: Any, state: Any, query: Query) -> bool:
    """Whether a query is counted: it changed the state of the child, or asked for no report."""
    if state is not before and not (type(before) is Unplayed and before.stands_for(state)):
        return True
    return not only_reads(query)


def only_reads(query: Query) -> bool:
    """Whether a query only asks for a report, at whatever depth."""
    while isinstance(query, Ask):
        query = query.query
    return isinstance(query, READS)
