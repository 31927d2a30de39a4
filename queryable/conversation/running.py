"""The runner: it holds the conversation about one message, and runs what it asks for.

Responsible for all that concerns running: coins, faults, interrupts, what stands after a message
that did not end, and known outcomes. Does no accounting, keeps no log, and knows no handles.

Theory of operation: with equal outcomes a conversation does the same again. So what stands when it
is cut short is the conversation held again with the outcomes so far, and with `LOST` for the rest.
Each leaf is marked as lost, in one assignment, before it runs. So there is no moment at which data
were read and the charge does not stand; no handler of an exception is needed for that, and none is
relied on. docs/theory/objects.md has the proof.
"""

from collections.abc import Callable, Sequence
from operator import eq
from types import GeneratorType
from typing import Any

from queryable.conversation import leaves
from queryable.conversation.frames import (
    NOTHING,
    TALKING,
    Frame,
    Path,
    Receipts,
    ended,
)
from queryable.conversation.outcomes import NEW, Outcomes
from queryable.conversation.steps import (
    BROKEN,
    LOST,
    NO_CHILDREN,
    STEPS,
    Drop,
    Live,
    Moved,
    Node,
    OtherVersionError,
    Pass,
    Ready,
    Say,
    Start,
    Told,
    UnlikeError,
    Wrong,
)
from queryable.data.later import Data, Later
from queryable.errors import MechanismFault, QueryError
from queryable.faults import called, interrupted, is_interrupt, raise_interrupt, report
from queryable.mechanism import InteractiveMechanism
from queryable.messages import OWNERS, Answer, Update, not_the_owner
from queryable.randomness.coins import Coins

Before = Callable[[Moved | None], object]
"""Is told what stands from the first leaf on."""


class Run:
    """One message to a compositor.

    A batch, a message of the data's owner, is atomic: until it is through the old state stands, a
    fault breaks the child alone, and a `QueryError` or an interrupt changes nothing.

    Args:
        mechanism: a `Compositor`.
        message: a query; or, without a node, the `Data` to start on.
        coins: those of this message.
        before: called once, before the first leaf runs, with what stands from then on. If it
            raises, no leaf runs, and nothing has changed.
        known: what came of leaves, from a log; `replayed` runs none.
        same: whether a leaf that runs again gives the answer of the log.

    Attributes:
        faults: what was raised and does not reach the analyst.
        receipts: those of all compositors, each with the ids on the way to it. Those made under a
            person in the middle are not among them.
        stopped: whether a leaf was interrupted. The message came to its end, with the rest lost.
    """

    __slots__ = (
        *("_before", "_begun", "_coins", "_live", "_mechanism", "_memo", "_message", "_node"),
        *("_outcomes", "_says", "_unkept", "atomic", "faults", "receipts", "stopped"),
    )

    def __init__(
        self,
        mechanism: Any,
        message: Any,
        coins: Coins,
        node: Node | None = None,
        *,
        before: Before | None = None,
        known: Sequence[Told] = (),
        same: Callable[[Answer, Answer], bool] = eq,
    ) -> None:
        self._mechanism, self._message, self._coins, self._node = mechanism, message, coins, node
        self._before, self._outcomes = before, Outcomes(known, same)
        self._memo: dict[Any, Any] = {}
        self._unkept: BaseException | None = None
        self.faults: list[BaseException] = []
        self.receipts: Receipts = []
        self.stopped = False
        self.atomic = node is not None and issubclass(type(message), OWNERS)
        if self.atomic and isinstance(message, Update):
            self._message = Update(Later.of(message.records), message.block)

    def __call__(self) -> Moved | None:
        """Hold the conversation; leaves run. The result is `LOST` if the compositor is lost.

        Raises:
            QueryError: nothing has changed. What `before` raises, and an interrupt between leaves,
                is raised too; `standing` says what stands then.
        """
        return self._held(live=True, says=True)

    def whole(self) -> tuple[Node, Answer]:
        """The new state and the answer, of a step that is run as a leaf.

        Raises:
            QueryError: the query is wrong; nothing has changed.
            MechanismFault: the compositor is lost.
            KeyboardInterrupt: or another interrupt, of one of its leaves.
        """
        try:
            moved = self()
        finally:
            for fault in self.faults:
                report(fault)
        if self.stopped:
            raise_interrupt(list(self.faults))
            raise KeyboardInterrupt
        if moved is LOST:
            raise MechanismFault
        return moved.state, moved.answer

    def standing(self) -> tuple[Moved | None] | None:
        """What stands if the message ends here, in a tuple; None while the old state stands."""
        if self.atomic or self._before is not None or not self._outcomes.read:
            return None
        return (self._held(live=False, says=False),)

    def replayed(self) -> Moved | None:
        """What the known outcomes come to; what is not known is `LOST`. No leaf runs.

        Raises:
            OtherVersionError: they are about other steps.
        """
        moved = self._held(live=False, says=True)
        self._outcomes.require_all_known()
        return moved

    def log(self) -> list[Told]:
        """What came of each leaf, in order."""
        return self._outcomes.log()

    def _held(self, *, live: bool, says: bool) -> Moved | None:
        """One pass over the conversation. Frames are a list, so that nesting takes no stack."""
        frames: list[Frame] = []
        self._live, self._says, self._begun = live, says, 0
        self._outcomes.begin()
        error: BaseException | None = None
        try:
            while True:
                try:
                    if not frames:
                        moved = self._begin(
                            frames, self._mechanism, self._node, self._message, self._coins, ()
                        )
                    else:
                        frame = frames[-1]
                        if frame.place < len(frame.steps):
                            frame.place += 1
                            moved = self._taken(frames, frame, frame.steps[frame.place - 1])
                        else:
                            moved = frame.resumed()
                            if moved is not TALKING:
                                self._end(frames, frame)
                except BaseException as raised:
                    error = raised
                if error is not None:  # outside the handler, so that nothing gets a `__context__`
                    self._late(frames, error)
                    moved = error = LOST
                if moved is not TALKING:
                    if not frames:
                        result: Moved | None = moved
                        return result
                    frames[-1].settle(moved, atomic=self.atomic)
        finally:
            error = None
            while frames:
                self._close(frames.pop())

    def _begin(
        self,
        frames: list[Frame],
        mechanism: Any,
        node: Node | None,
        message: Any,
        coins: Coins,
        path: Path,
    ) -> Any:
        """Begin a conversation, or give its result at once."""
        self._begun = number = self._begun + 1
        if node is None:
            talk = mechanism.open(message)
        else:
            own, live = node.own, Live(node.children)
            key = number, self._outcomes.at, self._outcomes.kept
            understood = self._memo.get(key, NEW)  # it is read once, however often this is held
            if understood is NEW:
                try:
                    understood = mechanism.understood(own, message, live)
                except Exception as error:
                    understood = Wrong(error)
                self._memo[key] = understood
            if type(understood) is Wrong:
                raise understood.error
            talk = mechanism.converse(own, understood, live)
        if type(talk) is GeneratorType:
            frames.append(Frame(talk, coins, node, path, number))
            return TALKING
        moved = ended(talk, node, NO_CHILDREN if node is None else node.children)
        if moved is not LOST and moved.receipts:
            self._receive(frames, [(path[:1], each) for each in moved.receipts])
        return moved

    def _end(self, frames: list[Frame], frame: Frame) -> None:
        """A conversation has its result."""
        if not self._live and self._outcomes.left_in(frame.number, self._begun):
            raise UnlikeError("a conversation has to be deterministic; held again, it ends early")
        frames.pop()
        if frames:
            frames[-1].ran |= frame.ran
        if frame.receipts and not frame.spoke:
            here = frame.path[:1]
            self._receive(frames, [((*here, *ids), each) for ids, each in frame.receipts])

    def _receive(self, frames: list[Frame], receipts: Receipts) -> None:
        if frames:
            frames[-1].receipts += receipts
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
        if type(identity) is not int and type(identity) is not str:
            raise TypeError(f"the id of a child is an int or a name, not {called(type(identity))}")
        if kind is Start:
            return self._start(frames, frame, step)
        if kind is Ready:
            return self._leaf(frame, step, None, step.later, 0)
        if identity not in frame.children:
            raise LookupError(f"a conversation passes a message to {identity!r}, which is not live")
        mechanism, state, messages = frame.children[identity]
        if kind is Say:
            return self._said(frame, step, mechanism, state, messages)
        query = step.query
        if not self.atomic and issubclass(type(query), OWNERS):
            raise not_the_owner(query)
        if state is BROKEN:
            return LOST
        if getattr(type(mechanism), "converses", False):
            coins = frame.coins.spawn(identity, messages)
            return self._begin(frames, mechanism, state, query, coins, (identity, frame.path))
        return self._leaf(frame, step, mechanism, state, messages)

    def _start(self, frames: list[Frame], frame: Frame, step: Start) -> Any:
        identity, mechanism, data, number = step
        if identity in frame.children:
            raise LookupError(f"child {identity!r} is live; a second one would toss its coins")
        if not isinstance(mechanism, InteractiveMechanism):
            return Moved(mechanism.init(), None)  # a person in the middle: no data and no coins
        if type(data) is not Data or type(data.rows) is not Later:
            raise TypeError("a Start takes Data, the rows of which are a Later")
        if not getattr(type(mechanism), "converses", False):
            return self._leaf(frame, step, mechanism, data.rows, number)
        try:
            coins = frame.coins.spawn(identity, number)
            return self._begin(frames, mechanism, None, data, coins, (identity, frame.path))
        except Exception as error:
            fault = error
        self._fault(fault)
        return LOST

    def _leaf(self, frame: Frame, step: Any, mechanism: Any, held: Any, number: int) -> Any:
        """Run a leaf. It is marked as lost before `leaves.read` reads data for it."""
        outcomes, ran = self._outcomes, frame.ran
        if not self._live:
            outcome = outcomes.recorded(frame, step)
            if outcome is NEW:
                outcome = outcomes.logged(frame, step, mechanism, held, number)
            frame.ran = True
            return outcome
        frame.ran = True
        if self.stopped:
            outcomes.mark(step, frame, held)
            return LOST
        spoilt = None
        state = held
        if type(step) is Pass and type(held) is Later:
            state, spoilt = leaves.paid_for(held)  # an interrupt here changes nothing
        coins = frame.coins.spawn(step.identity, number)
        outcomes.mark(step, frame, held)  # from here on what stands says that it is lost
        if self._before is not None and not self.atomic:
            self._announce()
        moved: Any
        moved, fault = (LOST, spoilt) if spoilt else leaves.read(step, mechanism, state, coins)
        if fault is None:
            if moved.state is state and state is not held:
                moved = Moved(held, moved.answer)
            outcomes.note(moved, step, frame, held)
            return moved
        passes = self.atomic or type(step) is Pass
        if passes and spoilt is None and isinstance(fault, QueryError):
            frame.ran = ran
            outcomes.note(Wrong(leaves.bare(fault)), step, frame, held)
            raise fault
        if is_interrupt(fault) or interrupted():
            self._fault(fault)
            self.stopped = True
            if self.atomic:
                raise KeyboardInterrupt
        elif self.atomic and type(step) is Ready:
            raise fault  # there is no child that it could break
        else:
            self._fault(fault)
        return LOST

    def _said(self, frame: Frame, step: Say, person: Any, state: Any, messages: int) -> Any:
        """Let a person in the middle speak. It is pure, so that a replay hears it again.

        After an interrupt of a leaf, no leaf runs, and the person hears what is lost.
        """
        frame.spoke = True
        outcomes = self._outcomes
        if not self._live:
            known = outcomes.recorded(frame, step)
            if known is not NEW:
                return known
        if outcomes.lost or not self._says:
            return LOST
        coins = frame.coins.spawn(step.identity, messages)
        try:
            after, reply = person.step(state, step.message, coins)
            word: Any = Moved(after, reply)
        except Exception as error:
            word = Wrong(error)
        outcomes.heard(word, step, frame, state)
        if type(word) is Wrong:
            self.stopped |= interrupted()
            raise word.error
        return word

    def _announce(self) -> None:
        """Tell what stands, before the first leaf runs."""
        here = self._outcomes.place, self._live, self._says, self._begun
        assert self._before is not None
        try:
            self._before(self._held(live=False, says=False))
        except BaseException as error:
            self._unkept = error
            raise
        place, self._live, self._says, self._begun = here
        self._outcomes.back(place)
        self._before = None

    def _late(self, frames: list[Frame], error: BaseException) -> None:
        """Take an error outward, to the first conversation that was told an outcome: it is lost.

        Raises:
            QueryError: none was. Nothing has changed.
        """
        if error is self._unkept or is_interrupt(error) or type(error) is OtherVersionError:
            raise error
        if type(error) is UnlikeError and frames:
            frames[-1].ran = self._outcomes.lost = True
        lost = self._node is None and not frames
        while frames and not lost:
            frame = frames.pop()
            self._close(frame)
            lost = (frame.ran or frame.started) and not self.atomic
        wrong = isinstance(error, QueryError)
        if wrong:
            leaves.bare(error)
        if lost or not wrong:
            self._fault(error)
        try:
            if not lost:
                self._outcomes.entries.clear()  # nothing has changed; what is kept holds the error
                self._memo.clear()
                raise error if wrong else self._unclear(error)
        finally:
            del error  # its traceback has this frame
        if frames:
            frames[-1].ran = True

    def _unclear(self, error: BaseException) -> QueryError:
        what, read = ("batch", "") if self.atomic else ("query", "nothing was read, and ")
        kind = called(type(error))
        return QueryError(f"this {what} cannot be worked out ({kind}); {read}nothing has changed")

    def _close(self, frame: Frame) -> None:
        try:
            frame.talk.close()
        except Exception as error:  # it yields when it is closed, or raises
            self._fault(error)

    def _fault(self, error: BaseException) -> None:
        if (self._live or type(error) is UnlikeError) and not isinstance(error, MechanismFault):
            self.faults.append(error)
