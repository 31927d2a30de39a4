"""Leaves: how one step of a conversation is run, in the only lines of the kernel that read data.

Responsible for the order: a leaf is marked as lost, what stands then is told, and only then data
are read for it. What a person in the middle says is kept too, so that it says it once. Does not
know which conversation asked for a step, or which one is told.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from queryable.conversation.frames import Frame
from queryable.conversation.outcomes import NEW, Outcomes
from queryable.conversation.recalling import Unplayed
from queryable.conversation.standing import Standing
from queryable.conversation.steps import (
    LOST,
    Moved,
    Pass,
    Ready,
    Say,
    Start,
    UnlikeError,
    Wrong,
    with_records,
)
from queryable.data.ahead import read_ahead
from queryable.data.growing import launched_on
from queryable.data.later import Later, made
from queryable.effort import LEFT, admit
from queryable.errors import MechanismFault, QueryError
from queryable.faults import interrupted, is_interrupt, raise_interrupt
from queryable.messages import AskMany, Query, Update, entries_of
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic

Before = Callable[[Moved | None], object]
"""Is told what stands from the first leaf on."""


class Executor(Outcomes, ABC):
    """What runs the steps of one message.

    Attributes:
        atomic: whether the message is a batch, which has no answer and comes through as a whole.
        faults: what was raised and does not reach the analyst.
        stopped: whether a leaf was interrupted. The message came to its end, with the rest lost.
        live: whether leaves run in the present pass.
        unkept: what `before` raised.
    """

    __slots__ = (
        *("_before", "_begun", "_says", "_standing", "atomic", "faults", "live", "stopped"),
        "unkept",
    )

    _before: Before | None
    _begun: int
    _says: bool
    _standing: Standing | None
    atomic: bool
    faults: list[BaseException]
    live: bool
    stopped: bool
    unkept: BaseException | None

    @abstractmethod
    def again(self) -> Moved | None:
        """Hold the conversation again, with what is not known `LOST`."""

    def announce(self, before: Before) -> None:
        """Call a function once, before the first leaf runs, with what stands from then on.

        If it raises, no leaf runs, and nothing has changed.
        """
        self._before = before

    @property
    def has_read(self) -> bool:
        """Whether data may have been read."""
        return self._before is None and self.read

    def standing(self) -> tuple[Moved | None] | None:
        """What stands if the message ends here, in a tuple; None while the old state stands."""
        return (self.again(),) if self.has_read and not self.atomic else None

    def withheld(self) -> Moved | None:
        """What stands if the answer cannot be kept: all that read data has failed."""
        self.give_up()
        return self.again()

    def admit(self) -> None:
        """What follows was paid for, so that no steps are refused any more."""
        if self._standing is None:
            admit()

    def leaf(self, frame: Frame, step: Any, mechanism: Any, held: Any, number: int) -> Any:
        """Run a leaf. It is marked as lost before `read` reads data for it."""
        ran = frame.ran
        if self._standing is not None:
            moved: Any = self._standing.came(
                step, mechanism, held, lambda: frame.coins.spawn(step.identity, number)
            )
            frame.ran = True
            return moved
        if not self.live:
            outcome = self.recorded(frame, step)
            if outcome is NEW:
                outcome = self.logged(frame, step, mechanism, held, number)
            if outcome is LOST and type(step) is Ready and self.atomic:
                raise MechanismFault  # as when it was run
            frame.ran = True
            return outcome
        frame.ran = True
        if self.stopped:
            self.mark(step, frame, held)
            return LOST
        spoilt = None
        state = held
        if type(step) is Pass and type(held) in LATE:
            state, spoilt = paid_for(held)  # an interrupt here changes nothing
        coins = frame.coins.spawn(step.identity, number)
        self.mark(step, frame, held)  # from here on what stands says that it is lost
        if self._before is not None and not self.atomic:
            self._announce()
        moved, fault = (
            (LOST, spoilt) if spoilt else self.reading(frame, step, mechanism, state, coins)
        )
        if LEFT.get() is not None:
            self.admit()
        if fault is None:
            if moved.state is state and state is not held:
                moved = Moved(held, moved.answer)
            self.note(moved, step, frame, held)
            return moved
        try:
            passes = spoilt is None and (self.atomic or type(step) is Pass)
            if passes and isinstance(fault, QueryError):
                frame.ran = ran
                self.note(Wrong(without_context(fault)), step, frame, held)
                raise fault
            return self._failed(step, fault)
        finally:
            del fault, spoilt  # their tracebacks have this frame

    def reading(self, frame: Frame, step: Any, mechanism: Any, state: Any, coins: Coins) -> Any:
        """What came of a leaf, or what it raised. The owner's checks look at it here."""
        return read(step, mechanism, state, coins)

    def mark(self, step: Any, frame: Frame, held: Any) -> None:
        """Note, before a leaf runs, that it is lost."""
        self.at += 1
        self.entries.append((LOST, step, frame.path, frame.number, held))

    def note(self, outcome: Any, step: Any, frame: Frame, held: Any) -> None:
        """Note what came of the step that was marked last."""
        self.entries[-1] = (outcome, step, frame.path, frame.number, held)
        self.kept += 1

    def _failed(self, step: Any, fault: BaseException) -> None:
        """A leaf has failed."""
        if self.atomic and type(step) is Ready and not is_interrupt(fault):
            raise fault  # there is no child that it could break
        self.fault(fault)
        if is_interrupt(fault) or interrupted():
            self.stopped = True
            if self.atomic:
                raise_interrupt(list(self.faults))
                raise KeyboardInterrupt

    def spoilt(self, frame: Frame, step: Any, spoilt: Exception) -> None:
        """A compositor is lost, because its state cannot be made again."""
        frame.ran = True
        if self.live:
            self.mark(step, frame, None)
        else:
            self.recorded(frame, step)
        self.fault(spoilt)

    def said(self, frame: Frame, step: Say, person: Any, state: Any, messages: int) -> Any:
        """Let a person in the middle speak. It is pure, so that a replay hears it again.

        After an interrupt of a leaf, no leaf runs, and the person hears what is lost.
        """
        frame.spoke = True
        if not self.live:
            known = self.recorded(frame, step)
            if known is not NEW:
                return known
        if self.lost or not self._says:
            return LOST
        coins = frame.coins.spawn(step.identity, messages)
        try:
            if self._standing is None:
                after, reply = person.step(state, step.message, coins)
                word: Any = Moved(after, reply)
            else:
                word = self._standing.said(person, state, step.message, coins)
        except Exception as error:
            word = Wrong(error)
        self.heard(word, step, frame, state)
        if type(word) is Wrong:
            self.stopped |= interrupted()
            raise word.error
        return word

    def _announce(self) -> None:
        """Tell what stands, before the first leaf runs."""
        here = self.place, self.live, self._says, self._begun
        assert self._before is not None
        try:
            self._before(self.again())
        except BaseException as error:
            self.unkept = error
            raise
        place, self.live, self._says, self._begun = here
        self.back(place)
        self._before = None

    def fault(self, error: BaseException) -> None:
        """Note what was raised, for the curator."""
        if (self.live or type(error) is UnlikeError) and not isinstance(error, MechanismFault):
            self.faults.append(error)


def read(step: Any, mechanism: Any, state: Any, coins: Coins) -> Any:
    """Run a leaf, and return what came of it or what it raised: the only place that reads data."""
    try:
        if type(step) is Start:
            data = launched_on(state, grows=mechanism.growth is not None)
            after, answer = mechanism.init(data, coins)
        elif type(step) is Pass:
            query = step.query
            if type(query) is Update:
                query = with_records(query)
            after, answer = mechanism.step(state, query, coins)
        else:
            with np.errstate(all="ignore"):  # numpy's warnings would say something about the data
                made(state)
            after = answer = None
        return tuple.__new__(Moved, (after, answer, ())), None
    except BaseException as raised:
        return LOST, raised


LATE = frozenset({Later, Unplayed})
"""What stands for a state that a log knows the answers of."""


def paid_for(state: Any) -> tuple[Any, Exception | None]:
    """The state of a child that a log knows the answers of, or why it cannot be made.

    Raises:
        KeyboardInterrupt: or another interrupt. Nothing new was read for it.
    """
    spoilt = None
    try:
        if type(state) is Unplayed:
            return state.played(_ahead), None
        return made(state), None
    except Exception as raised:
        spoilt = raised
    if interrupted():
        raise KeyboardInterrupt
    return None, spoilt


def _ahead(dataset: Any, queries: Sequence[Query]) -> None:
    """Let the data read at once for the statistics among queries that are run again."""
    entries = (entries_of(each) if isinstance(each, AskMany) else (each,) for each in queries)
    found = [each for several in entries for each in several]
    read_ahead(dataset, [each for each in found if isinstance(each, IntegerStatistic)])


def without_context(error: Any) -> Any:
    """An error without traceback, cause and context, which may show data."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)
