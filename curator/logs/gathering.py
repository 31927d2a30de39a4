"""`Gathered`: what was skimmed from a log and is not in the state of its root yet.

Responsible for the tree of what messages reach, and for putting the new accounts, claims, children,
entries and names in place together. Reads no bodies.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import attrs

from composition import ExPost, Filt, FiltCon, Odom, OdomCon
from composition.compositors.adaptive import AdaptiveComposition
from composition.compositors.claims import Claim
from composition.compositors.logged import with_logged
from composition.compositors.state import CompositionState
from composition.rules import RunningAccount
from curator.codec import Codec
from curator.logs.person_states import Keeping
from curator.logs.reading import MessageReader, entry_of
from curator.logs.story import LoggedMessage, coins_of
from curator.logs.targets import Adaptive, Target, Unit, Where
from queryable.conversation import Node
from queryable.conversation.alone import around, only
from queryable.conversation.recalling import Unplayed
from queryable.conversation.steps import Child
from queryable.messages import Launched
from queryable.randomness.sealed import SealedCoins
from queryable.running.folding import other_versions
from queryable.running.handles import Path
from queryable.running.log import StoredPart
from queryable.running.names import StoredName
from queryable.running.root import MemoryRoot
from queryable.running.telling import Tells

_PLAIN = (Filt, FiltCon, Odom, OdomCon, ExPost)
"""Compositors whose launches of measurements do nothing but charge."""

Names = Sequence[str | None]
"""The name of each entry; () if none has one."""


class Gathered:
    """Gathers messages over a root, and puts them in place.

    Args:
        root: with the state after the last message that was folded.
        coins: those of the root, at any history.
        keeping: may have states of units.
    """

    def __init__(
        self,
        root: MemoryRoot,
        reader: MessageReader,
        coins: SealedCoins,
        codec: Codec,
        keeping: Keeping | None = None,
    ) -> None:
        self._keeping = keeping
        self._root, self._reader, self._coins, self._codec = root, reader, coins, codec
        self._where: dict[Path, Where] = {}
        self._nodes: dict[Path, Target | None] = {}
        self._entries: list[StoredPart] = []
        self._places: list[int] = []
        self._named: dict[int, tuple[Path, str, int | None]] = {}

    # Messages

    def add(self, where: Where, place: int, told: Sequence[Tells], names: Names = ()) -> None:
        """Add the entries of a message.

        Args:
            told: what each entry tells.
        """
        for entry, tells in enumerate(told):
            at = entry_of(place, entry)
            name = names[entry] if names else None
            if name is not None:
                answered = None if tells is Tells.REFUSED else at
                self._named[len(self._places)] = (where.path, name, answered)
            self._entries.append(where.stored[tells])
            self._places.append(at)

    def start(
        self, where: Where, node: Adaptive, claim: Claim, answer: Launched, state: Any
    ) -> None:
        """Add the child that a launch started; its entry is added apart."""
        assert type(answer.child) is int
        node.children[answer.child] = Child(claim.mechanism, state)
        node.claims[answer.child] = claim
        self._root.handles.register(where.path, answer)

    # What they reach

    def at(self, path: Path) -> Where:
        """What a message to a path reaches."""
        where = self._where.get(path)
        if where is None:
            where = self._where[path] = Where(self._reached(path), path, self._reader)
        return where

    def _reached(self, path: Path) -> Target | None:
        """The compositor or unit that a message to a path changes; None if it has to be folded."""
        if () not in self._nodes:
            root = self._root
            state = root.settled().state
            self._nodes[()] = _made(None, (), only(state) or Child(root.mechanism, state))
        target = self._nodes[()]
        for depth in range(1, len(path) + 1):
            if not isinstance(target, Adaptive):
                break
            below = path[:depth]
            if below not in self._nodes:
                child = target.child(below[-1])
                self._nodes[below] = None if child is None else _made(target, below, child)
            target = self._nodes[below]
        return target

    # Putting in place

    def settle(self, last: LoggedMessage) -> None:
        """Put in place what was gathered.

        Args:
            last: the last message of it.

        Raises:
            HandleError: an account is none of its compositor.
        """
        root, now = self._root, self._root.settled()
        state = now.state
        for path in sorted(self._nodes, key=len, reverse=True):
            target = self._nodes[path]
            if target is None or not target.touched:
                continue
            after = self._after(target)
            if target.parent is not None:
                child = target.parent.child(path[-1])
                assert child is not None
                child = Child(child.mechanism, after, target.messages)
                target.parent.children[path[-1]] = child
            elif isinstance(target, Unit):
                state = around(Child(root.mechanism, after, target.messages + len(target.asked)))
            else:
                state = after
        called, named = now.names.mutate(), now.named.mutate()
        for index, (at, name, place) in self._named.items():
            called[now.exchanges + now.polls + index] = name
            if place is not None:
                named[at, name] = StoredName(partial(self._reader.exchange, place))
        root.log.add_stored(self._entries, self._places, now.exchanges)
        coins = coins_of(last.asked, self._coins)
        root.resume(
            attrs.evolve(
                now,
                state=state,
                coins=coins.answered_with(last.answered["answer"].encode()),
                exchanges=now.exchanges + len(self._places),
                names=called.finish(),
                named=named.finish(),
            )
        )
        self._entries, self._places, self._named = [], [], {}
        self.forget()

    def forget(self) -> None:
        """Forget what messages reach, such as after one that was folded."""
        self._where.clear()
        self._nodes.clear()

    def _after(self, target: Target) -> Any:
        """The state of a compositor or a unit after all that was gathered."""
        if isinstance(target, Unit):
            kept = None if self._keeping is None else self._keeping.at(target.path)
            asked = partial(self._reader.asked, target.path)
            return target.state.logged(target.asked, asked, kept)
        assert isinstance(target, Adaptive)
        own, children = target.own, target.state.children
        account, claims, streams = own.account, own.claims, own.streams
        if target.launched:
            account = self._account(target)
            read = partial(self._reader.claim, target.mechanism)
            claims = with_logged(claims, target.launched, read)
            for identity, claim in target.claims.items():
                claims = claims.set(identity, claim)
        if target.children:
            children = children.update(target.children)
        if streams is not None:
            below = target.children
            started = (each for each in sorted(target.claims) if each in below)
            streams += tuple(each for each in started if below[each].mechanism.growth is not None)
        return Node(CompositionState(own.data, account, claims, streams=streams), children)

    def _account(self, node: Adaptive) -> RunningAccount:
        """The logged account after the last launch.

        Raises:
            HandleError: it is none of this compositor.
        """
        account = self._codec.decode(node.account)
        before: Any = node.own.account
        if type(account) is not type(before) or account.budget != before.budget:
            raise other_versions()
        if isinstance(node.mechanism, FiltCon) and not account.within:
            raise other_versions()
        assert isinstance(account, RunningAccount)
        return account


def _made(parent: Adaptive | None, path: Path, child: Child) -> Target | None:
    mechanism, state = child.mechanism, child.state
    if type(state) is Unplayed:
        return Unit(parent, path, state, child.messages)
    if not isinstance(mechanism, AdaptiveComposition) or type(mechanism) not in _PLAIN:
        return None
    if type(state) is Node and state.own.halted is None:
        return Adaptive(parent, path, state, child.messages, mechanism)
    return None
