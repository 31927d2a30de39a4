"""What came of the steps of one message: kept, looked up when it is held again, and known of a log.

Responsible for alignment. Each outcome stands with its step and the conversation that asked for it,
in one entry, which is set by one assignment. A conversation that is held again is told the outcome
of an entry only if it asks for the same step. Runs no leaf, except to make a state again that a log
knows the answer of.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from queryable.conversation.frames import Frame, Path, ids
from queryable.conversation.steps import (
    LOST,
    LeafOutcome,
    Moved,
    OtherVersionError,
    Pass,
    Ready,
    Say,
    Start,
    UnlikeError,
    Wrong,
    with_records,
)
from queryable.data.growing import launched_on
from queryable.data.later import Later
from queryable.faults import called
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import Answer
from queryable.randomness.coins import Coins

NEW: Any = object()
"""In place of an outcome: the step was not run."""


Entry = tuple[Any, Any, Path, int, Any]
"""What came of a step: the outcome, the step, the ids on the way to the conversation (innermost
first), which conversation of the message it was, and the state of the child before it. The outcome
is `LOST` from before a leaf runs until it is through."""

STEP = 1


class Outcomes:
    """The entries of one message, and how far the present pass over the conversation has come.

    Attributes:
        entries: what came of the steps.
        lost: whether all that follows in this pass is `LOST`.
        at, kept: how many steps came before, and how many of them are not lost. Both together tell
            apart all that may have come before, as what is lost for want of an entry is last.
    """

    __slots__ = ("_known", "at", "entries", "kept", "lost")

    entries: list[Entry]
    _known: Sequence[LeafOutcome]

    @property
    def place(self) -> tuple[int, int, bool]:
        """Where the present pass is, for `back`."""
        return self.at, self.kept, self.lost

    def back(self, place: tuple[int, int, bool]) -> None:
        """Go on with a pass that another one interrupted."""
        self.at, self.kept, self.lost = place

    def heard(self, outcome: Any, step: Any, frame: Frame, held: Any) -> None:
        """Note what a person said."""
        self.entries.append((outcome, step, frame.path, frame.number, held))
        self.at += 1
        self.kept += 1

    @property
    def read(self) -> bool:
        """Whether a leaf ran that did not refuse its query: data may have been read."""
        return any(type(it[0]) is not Wrong and type(it[STEP]) is not Say for it in self.entries)

    def give_up(self) -> None:
        """Let the first leaf, and all that follows it, be lost."""
        first = next(n for n, it in enumerate(self.entries) if type(it[STEP]) is not Say)
        self.entries = [*self.entries[:first], (LOST, *self.entries[first][1:])]

    def left_in(self, first: int, last: int) -> bool:
        """Whether the next entry is of a conversation with one of these numbers."""
        left = not self.lost and self.at < len(self.entries)
        return left and first <= self.entries[self.at][3] <= last

    def recorded(self, frame: Frame, step: Any) -> Any:
        """What came of a step when it was run; `NEW` if none was.

        Raises:
            UnlikeError: the conversation asked for another one then; all that follows is lost.
        """
        if self.lost:
            self.at += 1
            return LOST
        if self.at >= len(self.entries):
            return NEW
        outcome, was, path, number, _ = self.entries[self.at]
        self.at += 1
        same = number == frame.number
        if not same or path != frame.path or not _alike(was, step):
            self.lost = True
            if same:
                raise UnlikeError(f"{_UNLIKE}: {called(type(step))} now")
            return LOST
        return self._kept_one(outcome)

    def logged(self, frame: Frame, step: Any, mechanism: Any, held: Any, number: int) -> Any:
        """What the log knows of a leaf; `LOST` if nothing.

        The state of the leaf is a `Later`: it is made when somebody asks the leaf again.

        Raises:
            OtherVersionError: the log is about another step.
        """
        used = sum(type(each[STEP]) is not Say for each in self.entries)
        if used >= len(self._known):
            self.lost = True
            self.at += 1
            return LOST
        told = self._known[used]
        if told.path != (*ids(frame.path), step.identity):
            raise OtherVersionError(
                f"the log has a step of {told.path}, and the code asks for another one"
            )
        outcome = told.outcome
        if type(outcome) is Moved:
            state: Any = None
            if told.unmoved:
                state = held
            elif type(step) is not Ready and not isinstance(mechanism, Measurement):
                again = _Again(mechanism, step, frame.coins, number, outcome.answer)
                state = Later(again.state, held)
            outcome = Moved(state, outcome.answer)
        self.at += 1
        self.entries.append((outcome, step, frame.path, frame.number, held))
        return self._kept_one(outcome)

    def require_all_known(self) -> None:
        """Check that the conversation asked for all that the log knows.

        Raises:
            OtherVersionError: it did not.
        """
        if sum(type(each[STEP]) is not Say for each in self.entries) < len(self._known):
            raise OtherVersionError("the log has more steps than the code asks for")

    def log(self) -> list[LeafOutcome]:
        """What came of each leaf, in order."""
        persons = {ids(path) for _, step, path, *_ in self.entries if type(step) is Say}
        found = []
        for outcome, step, path, _, held in self.entries:
            if type(step) is Say:
                continue
            here = ids(path)
            hidden = any(here[:length] in persons for length in range(len(here) + 1))
            moved = type(outcome) is Moved
            unmoved = moved and type(step) is Pass and outcome.state is held
            told = Moved(None, outcome.answer) if moved else outcome
            found.append(LeafOutcome((*here, step.identity), step, told, hidden, unmoved))
        return found

    def _kept_one(self, outcome: Any) -> Any:
        self.kept += outcome is not LOST
        if type(outcome) is Wrong:
            raise outcome.error
        return outcome


_UNLIKE = "a conversation has to be deterministic; held again, it asks for another step"


class _Again(NamedTuple):
    """A leaf that is run again, with the same coins, for its state."""

    mechanism: InteractiveMechanism[Any]
    step: Any
    coins: Coins
    number: int
    answer: Answer

    def state(self, held: Any) -> Any:
        """The state, from the data or from the state before it."""
        coins = self.coins.spawn(self.step.identity, self.number)
        if type(self.step) is Start:
            data = launched_on(held, grows=self.mechanism.growth is not None)
            state, answer = self.mechanism.init(data, coins)
        else:
            state, answer = self.mechanism.step(held, with_records(self.step.query), coins)
        if not answer == self.answer:
            raise OtherVersionError(
                f"{called(type(self.mechanism))} answers otherwise than its log says: the data, or "
                "the code, are not the same"
            )
        return state


def _alike(was: Any, now: Any) -> bool:
    """Whether a step is the one that was run. Values of the data are not compared."""
    if was is now:
        return True
    if type(was) is not type(now) or was.identity != now.identity:
        return False
    one, other = (each[1] if type(each) in (Start, Pass) else None for each in (was, now))
    try:
        return one is other or bool(one == other)
    except Exception:
        return False
