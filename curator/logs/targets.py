"""What messages of a log reach in the tree of a root, while the log is skimmed.

Responsible for what a compositor or a unit got and is not yet in its state. A unit is a child that
is not run again until it is next asked.
"""

from typing import Any

from composition.compositors.adaptive import AdaptiveComposition
from composition.compositors.claims import Claim
from composition.compositors.state import CompositionState
from curator.logs.reading import MessageReader
from queryable.conversation import Node
from queryable.conversation.recalling import Place, Unplayed
from queryable.conversation.steps import Child
from queryable.randomness.coins import ChildId
from queryable.running.handles import Path
from queryable.running.log import StoredPart
from queryable.running.telling import Tells


class Target:
    """A compositor or a unit in the tree, and what the log has for it that is not put in place.

    Attributes:
        parent: the compositor above; None for the root mechanism.
        path: the path to it.
        messages: how many it got.
        touched: whether it, or something below it, got one that is not put in place.
    """

    def __init__(self, parent: "Adaptive | None", path: Path, state: Any, messages: int) -> None:
        self.parent, self.path, self.state, self.messages = parent, path, state, messages
        self.touched = False

    def counted(self, place: int) -> Place:
        """Count a message here and on the way; its place, and the counts before it."""
        counts: list[int] = []
        target: Target = self
        target.touched = True
        while target.parent is not None:
            counts.append(target.messages)
            target.messages += 1
            target = target.parent
            target.touched = True
        counts.append(place)
        return tuple(reversed(counts))


class Adaptive(Target):
    """A filter or an odometer.

    Attributes:
        launched: the places of the launches that were charged.
        account: the text of the account after the last of them.
        children: those that were launched or asked, when they are put in place.
        claims: those of the launched children.
    """

    def __init__(
        self,
        parent: "Adaptive | None",
        path: Path,
        state: Node,
        messages: int,
        mechanism: AdaptiveComposition,
    ) -> None:
        super().__init__(parent, path, state, messages)
        self.mechanism = mechanism
        self.own: CompositionState = state.own
        self.launched: list[int] = []
        self.account = ""
        self.children: dict[ChildId, Child] = {}
        self.claims: dict[int, Claim] = {}

    @property
    def next_child(self) -> int:
        """The id of the next launch that is charged."""
        return len(self.own.claims) + len(self.launched)

    def child(self, identity: ChildId) -> Child | None:
        """A live child that is charged at its launch only, as it was when it was put in place."""
        if identity in self.children:
            return self.children[identity]
        child: Child | None = self.state.children.get(identity)
        if child is None or type(identity) is not int or not self.own.claims[identity].fixed:
            return None
        return child


class Unit(Target):
    """A child that is not run again until it is next asked, or such a root mechanism."""

    def __init__(self, parent: Adaptive | None, path: Path, state: Unplayed, messages: int) -> None:
        super().__init__(parent, path, state, messages)
        self.asked: list[Place] = []


class Where:
    """Where a message went: what it reached, and what its exchange has in common with others."""

    def __init__(self, target: Target | None, path: Path, reader: MessageReader) -> None:
        self.path, self.target = path, target
        self.compositor = target if isinstance(target, Adaptive) and target.path == path else None
        self.unit = target if isinstance(target, Unit) else None
        self.stored = {
            tells: StoredPart(path, reader.exchange, reader.kind, tells) for tells in Tells
        }
