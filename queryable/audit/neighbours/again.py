"""Holding a recorded analysis on a neighbour of its data, with the recorded outcomes.

Responsible for one neighbour. Each leaf gets the values and the draws that it had on the owner's
data, so that it answers the same, and its own values are compared. A conversation that is told the
same outcomes has to take the same steps, with the same charges.

Theory of operation: `leaves.py` is the only place that reads data. What a mechanism reads through a
statistic is replaced there, so that a leaf whose answer still differs reads the data in another
way. Then noise is looked for that leads to the same answer (`shifts`); if there is none that is
known, its exact law is compared with its claim (`exact`).
"""

from typing import Any

import attrs

from queryable.audit.neighbours.alike import same_value
from queryable.audit.neighbours.courses import Told
from queryable.audit.neighbours.findings import Example, Findings, Worst
from queryable.audit.neighbours.judged import Judged, Judgement, is_own
from queryable.audit.neighbours.leaves import (
    Held,
    Leaf,
    hold,
    run_leaf,
    same_answer,
    same_outcome,
    what_came,
)
from queryable.audit.neighbours.movements import Distance, movements, named
from queryable.audit.neighbours.readings import Substitute
from queryable.audit.neighbours.recording import Recording
from queryable.audit.neighbours.shifts import Shift
from queryable.audit.neighbours.tapes import Roll, Tape
from queryable.conversation import LOST, Moved, Pass, Start
from queryable.data.ahead import read_ahead
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic


@attrs.define(eq=False)
class _Own:
    """A mechanism of the user's own that is asked questions, on the neighbour."""

    start: Leaf
    rows: Any
    moves: str = ""
    differs: str | None = None
    queries: list[Any] = attrs.field(factory=list)


class Again:
    """A recorded analysis on one neighbour.

    Args:
        distance: how it differs; None for data that are no neighbour, of which the outcomes alone
            are compared.
        replaced: batches that differ, by the places of their messages.
    """

    def __init__(
        self,
        recording: Recording,
        dataset: Any,
        distance: Distance | None,
        example: Example,
        findings: Findings,
        judged: Judged,
        replaced: dict[int, Told] | None = None,
    ) -> None:
        self._recording, self._dataset = recording, dataset
        self._distance, self._example, self._findings = distance, example, findings
        self._judged, self._replaced = judged, replaced or {}
        self._memory: dict[Any, Any] = {}
        self._left: list[Leaf] = []
        self._unlike: str | None = None
        self._lost: list[tuple[tuple[Any, ...], Shift]] = []
        self._own: dict[tuple[Any, ...], _Own] = {}

    def hold(self) -> None:
        """Hold all messages, and note what is found."""
        state = None
        self._read_ahead()
        for place, held in enumerate(self._recording.held):
            message = self._replaced.get(place, held.message)
            now = self._held(held, message, state)
            if not self._follows(held, now):
                return
            state = now.state
        if self._distance is None:
            return
        for own in self._own.values():
            if own.moves or own.differs is not None:
                distance = self._at(own.start) or self._distance
                given = own.start, own.rows, own.moves, own.differs, distance, self._note
                self._judged.law(*given, own.queries)
        self._judged.account(self._lost, self._distance, self._note)

    def _read_ahead(self) -> None:
        """Let a data set read once for all statistics of the analysis."""
        own = self._recording.course.dataset
        asked = (
            each
            for held in self._recording.held
            for leaf in held.leaves
            for each in leaf.readings
            if each.dataset is own
        )
        wanted = {id(each.what): each.what for each in asked}
        statistics = [each for each in wanted.values() if isinstance(each, IntegerStatistic)]
        read_ahead(self._dataset, statistics)

    def _held(self, held: Held, message: Told, state: Any) -> Held:
        self._left = list(held.leaves)
        course = self._recording.course
        return hold(course, message, self._dataset, state, held.coins, self._observe)

    def _follows(self, held: Held, now: Held) -> bool:
        """Whether the message took the same steps and ended alike."""
        self._findings.steps += 1
        found = self._unlike
        if found is None and self._left:
            found = f"{len(self._left)} steps that read the data are not taken"
        if found is None and held.wrong != now.wrong:
            found = f"it is refused on one of both: {now.wrong or held.wrong}"
        if found is None and not same_answer(held.answer, now.answer):
            found = f"it is answered {now.answer!r} instead of {held.answer!r}"
        if found is None and held.receipts != now.receipts:
            found = "other losses are charged"
        if found is None:
            return True
        query = type(held.message.query).__name__ if held.message.query is not None else "the start"
        self._note(query, held.message.path, "step", float("inf"), True, found)
        return False

    def _observe(
        self, path: Any, step: Any, mechanism: Any, state: Any, coins: Coins
    ) -> tuple[Any, BaseException | None]:
        """Run a leaf as it ran on the owner's data, and compare."""
        leaf = self._left.pop(0) if self._left else None
        if self._unlike is not None:
            return LOST, None
        if leaf is None or not _alike(leaf, path, step):
            asked = "none" if leaf is None else f"{type(leaf.step).__name__} of {leaf.path}"
            self._unlike = f"{type(step).__name__} of {path} follows instead of {asked}"
            return LOST, None
        self._findings.leaves += 1
        roll, watcher = Roll(leaf.draws), Substitute(leaf.readings, self._memory)
        outcome, raised = run_leaf(step, mechanism, state, Tape(coins, roll), watcher)
        self._compare(leaf, watcher)
        differs = None
        if not same_outcome(outcome, leaf.outcome):
            differs = f"{what_came(outcome, raised)} and {what_came(leaf.outcome, leaf.raised)}"
            if outcome is not LOST and leaf.outcome is not LOST:
                differs = "it answers otherwise with the same noise"
        elif roll.differs or watcher.unlike:
            differs = roll.differs or "it evaluates other statistics"
        distance = self._at(leaf)
        if distance is None:
            return self._of_others(leaf, outcome, raised)
        judgement = self._judged.leaf(
            leaf, state, watcher.readings, differs, self._memory, distance, self._note
        )
        self._remember(leaf, state, differs, judgement)
        if judgement.outcome is not None:
            return judgement.outcome, None
        if differs is None:
            return outcome, raised
        return self._forced(leaf, outcome)

    def _remember(self, leaf: Leaf, state: Any, differs: str | None, judgement: Judgement) -> None:
        """Note what is compared when everything was held."""
        if judgement.shift is not None:
            self._lost.append((leaf.path, judgement.shift))
        if leaf.mechanism is None or leaf.measures or not is_own(leaf.mechanism):
            return
        if isinstance(leaf.step, Start):
            self._own[leaf.path] = _Own(leaf, state)
        own = self._own[leaf.path]
        own.moves += f"{judgement.moves}|" if judgement.moves else ""
        own.differs = own.differs or differs
        if isinstance(leaf.step, Pass):
            own.queries.append(leaf.step.query)

    def _of_others(self, leaf: Leaf, outcome: Any, raised: Any) -> tuple[Any, Any]:
        if (outcome is LOST) != (leaf.outcome is LOST):
            text = f"{what_came(outcome, raised)}; {what_came(leaf.outcome, leaf.raised)} on all"
            self._note(_name(leaf), leaf.path, "outcome", float("inf"), True, text)
        return self._forced(leaf, outcome)

    def _forced(self, leaf: Leaf, outcome: Any) -> tuple[Any, BaseException | None]:
        """The recorded outcome, with the state on this data set."""
        if leaf.outcome is LOST or outcome is LOST:
            return leaf.outcome, leaf.raised
        return Moved(outcome.state, leaf.outcome.answer), None

    def _at(self, leaf: Leaf) -> Distance | None:
        """The distance of what a leaf counts."""
        return self._distance and self._distance.at(leaf.mechanism, self._judged.blocks(leaf.path))

    def _compare(self, leaf: Leaf, watcher: Substitute) -> None:
        distance = self._at(leaf)
        for before, now in zip(leaf.readings, watcher.readings, strict=False):
            self._findings.readings += 1
            for each in movements(before, now.value, distance):
                self._note(named(before.what), leaf.path, *each)

    def _note(
        self, what: str, path: Any, measure: str, ratio: float, beyond: bool, text: str
    ) -> None:
        self._findings.add(Worst(what, tuple(path), measure, ratio, beyond, text, self._example))


def _alike(leaf: Leaf, path: Any, step: Any) -> bool:
    was = leaf.step
    if leaf.path != path or type(was) is not type(step):
        return False
    if isinstance(was, Start | Pass):
        return _is_batch(was[1]) or same_value(was[1], step[1])
    return True


def _is_batch(query: Any) -> bool:
    return hasattr(query, "records")


def _name(leaf: Leaf) -> str:
    return named(leaf.mechanism) if leaf.mechanism is not None else type(leaf.step).__name__
