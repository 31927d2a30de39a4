"""What a conversation yields, what it is sent, and the state that it leaves.

Plain values without behaviour. Does not know how anything runs.
"""

from collections.abc import Generator
from typing import Any, Final, NamedTuple

from immutables import Map

from queryable.data.facts import Data
from queryable.data.later import Later, made
from queryable.messages import Answer, Query, Update
from queryable.randomness.coins import ChildId

LOST: Final = None
"""What came of a step that failed, was interrupted, or was never run."""


class Moved(NamedTuple):
    """A new state and an answer. What a conversation is sent has no state: it may hold data."""

    state: Any
    answer: Answer
    receipts: tuple[Any, ...] = ()


class Start(NamedTuple):
    """Start a mechanism, or a person in the middle, as a child whose id was never used.

    `number` selects the coins: 0, or more for a mechanism that is chosen late.
    """

    identity: ChildId
    mechanism: Any
    data: Data | None = None
    number: int = 0


class Pass(NamedTuple):
    """Pass a query to a child."""

    identity: ChildId
    query: Query


class Say(NamedTuple):
    """Let a person in the middle, which is a child too, hear a message: the answer is its reply."""

    identity: ChildId
    message: Any


class Reported(NamedTuple):
    """What is understood of a query that is answered at once: nothing runs and nothing changes."""

    answer: Answer


class Drop(NamedTuple):
    """Retire children; None: all that there are now."""

    identities: tuple[ChildId, ...] | None = None


class Ready(NamedTuple):
    """Make a value now, such as a batch, which is then refused now and not at the next launch."""

    identity: ChildId
    later: Later


Step = Start | Pass | Say | Drop | Ready
STEPS = frozenset({Start, Pass, Say, Drop, Ready})
Talk = Generator[Any, Any, Moved | None]
"""A conversation: yields a step or a list of them, is sent what came of it, ends with `Moved`."""


class Child(NamedTuple):
    """A live child: what runs, its state, and how many messages it got, which selects its coins."""

    mechanism: Any
    state: Any
    messages: int = 1

    def __repr__(self) -> str:
        return f"Child({self.mechanism!r}, messages={self.messages})"


Children = Map[ChildId, Child]
NO_CHILDREN: Children = Map()


class Node(NamedTuple):
    """The state of a compositor: its own part, and the children, which only the runner changes."""

    own: Any
    children: Children = NO_CHILDREN


class BrokenChild(NamedTuple):
    """The state of a child that failed at a batch: its next answer is lost, and it is retired."""


BROKEN = BrokenChild()


class Wrong(NamedTuple):
    """What came of a leaf that said that the query is wrong, or of a person that failed."""

    error: Any


class LeafOutcome(NamedTuple):
    """What came of a leaf, for a log.

    Attributes:
        path: the ids from the root on.
        step: what was run; it holds the query that a person sent. None if a log does not keep it.
        outcome: a `Moved` without state, `LOST`, or a `Wrong`.
        hidden: whether a person in the middle kept the answer to itself.
        unmoved: whether the state of the leaf stayed what it was.
    """

    path: tuple[ChildId, ...]
    step: Step | None
    outcome: Any
    hidden: bool = False
    unmoved: bool = False


def with_records(query: Query) -> Query:
    """A batch with its records; any other query as it is. This reads data."""
    if type(query) is Update and type(query.records) is Later:
        return Update(made(query.records), query.block)
    return query


class UnlikeError(Exception):
    """A conversation asks for other steps when it is held again. It has to be deterministic."""


class OtherVersionError(Exception):
    """What is run again differs from its log: the data or the code are not the same."""
