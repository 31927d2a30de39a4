"""The runner: it holds the conversation about one message, and runs what it asks for.

Responsible for the way through a conversation: which steps are its turn, which children they
concern, with which coins, and what stands after a message that did not end. How one step runs is in
`leaves`. Does no accounting, keeps no log, and knows no handles.

Theory of operation: with equal outcomes a conversation does the same again. So what stands when it
is cut short is the conversation held again with the outcomes so far, and with `LOST` for the rest.
Each leaf is marked as lost, in one assignment, before it runs. So there is no moment at which data
were read and the charge does not stand; no handler of an exception is needed for that, and none is
relied on. docs/theory/objects.md has the proof.
"""

from collections.abc import Sequence
from types import GeneratorType
from typing import Any

from queryable.conversation import leaves
from queryable.conversation.frames import (
    NOTHING,
    TALKING,
    Frame,
    Live,
    Path,
    Receipts,
    ended,
    ids,
    require_no_later,
)
from queryable.conversation.late import close, late, missing, unlike_end
from queryable.conversation.outcomes import NEW
from queryable.conversation.standing import Standing
from queryable.conversation.steps import (
    BROKEN,
    LOST,
    NO_CHILDREN,
    STEPS,
    Drop,
    LeafOutcome,
    Moved,
    Node,
    Pass,
    Ready,
    Reported,
    Start,
    Wrong,
)
from queryable.data.facts import Data
from queryable.data.later import Later
from queryable.effort import within_effort
from queryable.faults import called
from queryable.mechanism import InteractiveMechanism
from queryable.messages import OWNERS, Failed, Update, addressed, not_the_owner
from queryable.randomness.coins import ChildId, Coins

_IDS = frozenset({int, str})
_made, _tuple = object.__new__, tuple.__new__


class Run(leaves.Executor):
    """One message to a compositor.

    A batch, a message of the data's owner, is atomic: until it is through the old state stands, a
    fault breaks the child alone, and a `QueryError` or an interrupt changes nothing.

    Args:
        mechanism: a `Compositor`.
        message: a query; or, without a node, the `Data` to start on.
        way: the children that it is for, one in the other; () for the compositor itself.
        coins: those of this message.
        standing: stands in for the leaves, of which none runs then.
        known: what came of leaves, from a log.

    Attributes:
        receipts: those of all compositors, each with the ids on the way to it. Those made under a
            person in the middle are not among them.
        memo: what was understood, by where it was; `reads` is the place that is being read.
    """

    __slots__ = ("_coins", "_mechanism", "_message", "_way", "memo", "node", "reads", "receipts")

    def __init__(
        self,
        mechanism: Any,
        message: Any,
        coins: Coins,
        node: Node | None = None,
        *,
        way: tuple[ChildId, ...] = (),
        standing: Standing | None = None,
        known: Sequence[LeafOutcome] = (),
    ) -> None:
        self._mechanism, self._message, self._coins, self.node = mechanism, message, coins, node
        self._way, self._standing, self._known = way, standing, known
        self.entries, self._before = [], None
        self.memo: dict[Any, Any] = {}
        self.reads: Any = None
        self.unkept = None
        self.faults = []
        self.receipts: Receipts = []
        self.stopped = self.lost = self.live = False
        self.atomic = node is not None and not way and issubclass(type(message), OWNERS)
        if self.atomic and isinstance(message, Update):
            self._message = Update(Later.of(message.records), message.block)

    def again(self) -> Moved | None:
        """Hold it again, with what is not known `LOST`."""
        with within_effort(False):  # its steps were counted the first time
            return self(live=False, says=False)

    def __call__(  # noqa: PLR0912 (one loop, which most messages pass in few calls)
        self, *, live: bool = True, says: bool = True
    ) -> Moved | None:
        """Hold the conversation. The result is `LOST` if the compositor is lost.

        Args:
            live: whether leaves run.
            says: whether persons speak.

        Raises:
            QueryError: nothing has changed. What `before` raises, and an interrupt between leaves,
                is raised too; `standing` says what stands then.
        """
        frames: list[Frame] = []  # so that nesting takes no stack
        self.live, self._says = live, says
        self._begun = self.at = self.kept = 0
        self.lost, self.reads = False, None
        moved: Any = NEW
        error: BaseException | None = None
        try:
            while True:
                try:
                    if moved is NEW:
                        given = self._mechanism, self.node, self._message, self._coins
                        moved = self._begin(frames, *given, (), self._way)
                    elif moved is not TALKING:
                        if not frames:
                            result: Moved | None = moved
                            return result
                        frame = frames[-1]
                        if frame.talk is None:
                            moved = self._passed_on(frames, moved)
                        else:
                            frame.settle(moved, atomic=self.atomic)
                            moved = TALKING
                    else:
                        frame = frames[-1]
                        if frame.place < len(frame.steps):
                            frame.place += 1
                            moved = self._taken(frames, frame, frame.steps[frame.place - 1])
                        else:
                            moved = frame.resumed()
                            if moved is not TALKING:
                                self._end(frames)
                except BaseException as raised:
                    error = raised
                if error is not None:  # outside the handler, so that nothing gets a `__context__`
                    late(self, frames, error)
                    moved = error = LOST
        finally:
            error = None
            while frames:
                close(self, frames.pop())

    def _begin(  # noqa: PLR0912 (one loop, which every message passes at each level)
        self,
        frames: list[Frame],
        mechanism: Any,
        node: Node | None,
        message: Any,
        coins: Coins,
        path: Path,
        way: tuple[ChildId, ...] = (),
    ) -> Any:
        """Begin a conversation, or give its result. What is only passed on goes on, on its way."""
        at, left = 0, len(way)
        while node is not None:
            self._begun = number = self._begun + 1
            children = node.children
            passed: Any = None
            if left:
                identity = way[at]
                child = children.get(identity) if type(identity) in _IDS else None
                if child is not None and mechanism.passes(node.own, identity, message, left):
                    passed = _tuple(Pass, (identity, message))
                    at, left = at + 1, left - 1
                else:
                    message, left = addressed(way[at:], message), 0
            if passed is None:
                live = _made(Live)
                live._children = children
                key = number, self.at, self.kept
                passed = self.memo.get(key, NEW)  # it is read once, however often this is held
                if passed is NEW:
                    self.reads = key
                    passed = self.memo[key] = mechanism.understood(node.own, message, live)
                    self.reads = None
                elif type(passed) is Wrong:
                    raise passed.error
                if type(passed) is not Pass:
                    if type(passed) is Reported:
                        require_no_later(passed.answer)
                        return Moved(node, passed.answer)
                    talk = mechanism.converse(node.own, passed, live)
                    break
                identity, message = passed
                child = children.get(identity) if type(identity) in _IDS else None
            frame = Frame(None, coins, node, path, number)
            frame.steps = (passed,)
            frames.append(frame)
            if (
                child is None
                or self._standing is not None
                or not child.mechanism.converses
                or type(child.state) is not Node
                or issubclass(type(message), OWNERS)
            ):
                step = Pass(identity, addressed(way[at:], message)) if left else passed
                return self._asked(frames, frame, step)
            mechanism, node, messages = child
            coins = coins.spawn(identity, messages)
            path = (identity, path)
        else:
            self._begun = number = self._begun + 1
            talk, children = mechanism.open(message), NO_CHILDREN
        if type(talk) is GeneratorType:
            frames.append(Frame(talk, coins, node, path, number))
            return TALKING
        moved = ended(talk, node, children)
        if moved is not LOST and moved.receipts:
            self._receive(frames, [(path[:1], each) for each in moved.receipts])
        return moved

    def _passed_on(self, frames: list[Frame], moved: Moved | None) -> Any:
        """The results of compositors that have passed a query on: what came of it is the answer."""
        while frames and frames[-1].talk is None:
            frame = frames[-1]
            frame.take(frame.steps[0], moved, atomic=self.atomic)
            node: Any = frame.node
            if frame.children is not node.children:
                node = _tuple(Node, (node.own, frame.children))
            self._end(frames)
            moved = _tuple(Moved, (node, Failed() if moved is LOST else moved.answer, ()))
        return moved

    def _end(self, frames: list[Frame]) -> None:
        """A conversation has its result."""
        frame = frames[-1]
        if not self.live and self.left_in(frame.number, self._begun):
            raise unlike_end()
        frames.pop()
        if frames:
            frames[-1].ran |= frame.ran
        if frame.receipts and not frame.spoke:
            self._receive(frames, [((*frame.path[:1], *on), it) for on, it in frame.receipts])

    def _receive(self, frames: list[Frame], receipts: Receipts) -> None:
        if frames:
            frames[-1].receive(receipts)
        else:
            self.receipts = receipts

    def _taken(self, frames: list[Frame], frame: Frame, step: Any) -> Any:
        """Run one step, or begin the conversation that it is."""
        kind = type(step)
        if kind is Drop:
            return NOTHING
        if kind not in STEPS:
            raise TypeError(f"a conversation yields steps, not {called(kind)}")
        identity = step.identity
        if type(identity) not in _IDS:
            raise missing(identity)
        if kind is Start:
            return self._start(frames, frame, step)
        if kind is Ready:
            return self.leaf(frame, step, None, step.later, 0)
        if kind is Pass:
            return self._asked(frames, frame, step)
        if identity not in frame.children:
            raise missing(identity)
        return self.said(frame, step, *frame.children[identity])

    def _asked(self, frames: list[Frame], frame: Frame, step: Pass) -> Any:
        """Ask a child."""
        identity, query = step
        child = frame.children.get(identity) if type(identity) in _IDS else None
        if child is None:
            raise missing(identity)
        mechanism, state, messages = child
        if not self.atomic and issubclass(type(query), OWNERS):
            raise not_the_owner(query)
        if state is BROKEN:
            return LOST
        standing = self._standing
        if standing is not None and standing.retires(1 + len(ids(frame.path))):
            return LOST
        if not mechanism.converses or (standing is not None and not standing.holds(mechanism)):
            return self.leaf(frame, step, mechanism, state, messages)
        if type(state) in leaves.LATE:
            state, spoilt = leaves.paid_for(state)
            if spoilt:
                self.spoilt(frame, step, spoilt)
                del spoilt  # its traceback has this frame
                return LOST
        coins = frame.coins.spawn(identity, messages)
        return self._begin(frames, mechanism, state, query, coins, (identity, frame.path))

    def _start(self, frames: list[Frame], frame: Frame, step: Start) -> Any:
        identity, mechanism, data, number = step
        if identity in frame.children:
            raise LookupError(f"child {identity!r} is live; a second one would toss its coins")
        if not isinstance(mechanism, InteractiveMechanism):
            return Moved(mechanism.init(), None)  # a person in the middle: no data and no coins
        if type(data) is not Data or type(data.rows) is not Later:
            raise TypeError("a Start takes Data, the rows of which are a Later")
        standing = self._standing
        if not mechanism.converses or (standing is not None and not standing.holds(mechanism)):
            held = data if mechanism.converses else data.rows  # the former stands for a unit
            return self.leaf(frame, step, mechanism, held, number)
        if standing is not None and not standing.starts(mechanism):
            return LOST
        self.admit()
        try:
            coins = frame.coins.spawn(identity, number)
            return self._begin(frames, mechanism, None, data, coins, (identity, frame.path))
        except Exception as error:
            self.fault(error)
        return LOST
