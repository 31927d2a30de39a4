"""Judging leaves beyond what they read: whether noise covers the change of an answer.

Responsible for three questions. Does a number with noise lose no more than its mechanism claims?
Has a mechanism of the user's own, of which that cannot be told, a law that keeps its claim? And do
all answers together lose no more than the queryables report? The first and the third are about
answers each number of which has a draw of its own; of mechanisms of these packages that answer
otherwise, theorems and tests say that what they read covers what they lose.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from queryable.audit.neighbours.courses import Told
from queryable.audit.neighbours.exact import exact_law
from queryable.audit.neighbours.findings import Findings
from queryable.audit.neighbours.leaves import Leaf, hold, run_leaf, same_answer, same_outcome
from queryable.audit.neighbours.movements import (
    Distance,
    all_moves,
    moved_entries,
    named,
)
from queryable.audit.neighbours.readings import CountedKeys, Failure, Reader, Reading
from queryable.audit.neighbours.recording import Recording
from queryable.audit.neighbours.shifts import (
    Shift,
    numbers,
    shift_between,
    shift_of,
    shifted,
    sum_of,
)
from queryable.audit.neighbours.tapes import Draw, Roll, Tape
from queryable.conversation import LOST
from queryable.data.growing import launched_on
from queryable.losses import Loss
from queryable.messages import Launch, Launched, PrivacyLossQuery, Query, Update
from queryable.randomness.coins import SeededCoins
from queryable.statistics import Bit
from queryable.streams.blocks import LaunchOver
from queryable.streams.levels import BlockLevel

Note = Callable[[str, Any, str, float, bool, str], None]
"""Notes a finding: what, the path, the measure, the ratio, whether it is beyond, the text."""

_OURS = frozenset({"queryable", "mechanisms", "composition", "curator"})
_EXACT = 8
"""On how many neighbours the exact law of one leaf is computed: each moves what it reads in another
way, or how it differs is not known."""


class Judgement(NamedTuple):
    """What is known of a leaf.

    Attributes:
        shift: of its noise, if the same answer came of shifted noise.
        outcome: the outcome of that run.
        moves: how what it reads moved, if it did and its law is still to be computed.
    """

    shift: Shift | None = None
    outcome: Any = None
    moves: str = ""


_NOTHING = Judgement()


class Judged:
    """What is known of the leaves of a recording, over all neighbours."""

    def __init__(self, recording: Recording, findings: Findings) -> None:
        self._recording, self._findings = recording, findings
        self._plain: set[int] = set()
        self._computed: dict[int, list[str]] = {}
        self._claims: dict[int, list[tuple[Any, str, Loss]]] = {}
        named_blocks = ((path, each.neighbours) for path, each in _compositors(recording))
        self._blocks = [(at, level) for at, level in named_blocks if isinstance(level, BlockLevel)]

    def leaf(
        self,
        leaf: Leaf,
        state: Any,
        readings: Sequence[Reading],
        differs: str | None,
        memory: dict[Any, Any],
        distance: Distance,
        note: Note,
    ) -> Judgement:
        """Judge a leaf on one neighbour.

        Args:
            state: what it is held with there.
            readings: what it read there.
            differs: how it differed, though it got the values and the draws of before.
        """
        if leaf.mechanism is None or leaf.outcome is LOST:
            if differs is not None:
                note(*_about(leaf), "outcome", float("inf"), True, differs)
            return _NOTHING
        moves, moved = _moved(leaf.readings, readings)
        if differs is None and not moves:
            return _NOTHING
        if leaf.measures:
            if id(leaf) in self._plain and differs is None:
                shift = shift_between(leaf.draws, moved)
                self._noted(leaf, shift, distance, note)
                return Judgement(shift)
            found = _coupled(leaf, state, memory)
            if found is not None:
                shift, outcome = found
                if differs is None and shift == shift_between(leaf.draws, moved):
                    self._plain.add(id(leaf))
                self._noted(leaf, shift, distance, note)
                return Judgement(shift, outcome)
            if not leaf.draws and not _answers_the_same(leaf, state, memory):
                text = "the answer is another one, and nothing is drawn for it"
                note(*_about(leaf), "noise", float("inf"), True, text)
                return _NOTHING
            if is_own(leaf.mechanism):
                self.law(leaf, state, moves, differs, distance, note)
                return _NOTHING
        if is_own(leaf.mechanism):  # its law is compared when all of it was held
            return Judgement(None, None, moves)
        if differs is not None:
            note(*_about(leaf), "outcome", float("inf"), True, differs)
        return _NOTHING

    def _noted(self, leaf: Leaf, shift: Shift | None, distance: Distance, note: Note) -> None:
        if shift is None:
            return
        try:
            claim = leaf.mechanism.privacy_map(distance.d_in)
        except Exception:
            return
        share = shift.over(claim)
        if share is not None:
            text = f"the answer loses {float(share):.6g} times what is claimed, {claim}"
            note(*_about(leaf), "noise", float(share), not share <= 1, text)
        elif is_own(leaf.mechanism):
            self._findings.leave_out(_about(leaf)[0], f"its noise is not compared with {claim}")

    def law(
        self,
        start: Leaf,
        rows: Any,
        moves: str,
        differs: str | None,
        distance: Distance,
        note: Note,
        queries: Sequence[Query] = (),
    ) -> None:
        """Compute the exact law of a mechanism of the user's own, if it differs in a new way.

        Args:
            start: the leaf that started it.
            rows: its data on the neighbour.
            moves: how what it reads moved.
            queries: what it was asked.
        """
        name, path = _about(start)
        known = self._computed.setdefault(id(start), [])
        if differs is None and moves in known:
            return
        if len(known) >= _EXACT:
            self._findings.leave_out(name, f"its exact law is compared on {_EXACT} neighbours only")
            return
        known.append(moves)
        if any(isinstance(each, Update) for each in queries):
            self._findings.leave_out(name, "it is a mechanism of your own that takes batches")
            return
        grows = start.mechanism.growth is not None
        own, other = (launched_on(each, grows=grows) for each in (start.state, rows))
        found = exact_law(start.mechanism, own, other, distance.d_in, queries)
        if found.holds is None:
            why = differs or "its answer is no number with noise"
            self._findings.leave_out(name, f"{why}, and {found.why}")
        else:
            text = f"the exact law of its answers is {found.why or 'within its claim'}"
            note(name, path, "law", found.ratio, not found.holds, text)

    def blocks(self, path: Any) -> BlockLevel | None:
        """The level of the blocks that the mechanism at a path runs on; None if it runs on none."""
        found = (level for at, level in self._blocks if path[: len(at)] == at)
        return next(found, None)

    def account(self, lost: Sequence[tuple[Any, Shift]], distance: Distance, note: Note) -> None:
        """Compare what answers lose together with what the queryables report.

        Privacy:
            Theorem: the largest log-ratio of independent answers is the sum of theirs, and so is
            their Renyi divergence. So no smaller sum can be claimed in PureDP or ZCDP.
        """
        d_in = distance.d_in
        if d_in not in self._claims:
            self._claims[d_in] = list(self._claimed(d_in))
        for path, name, claim in self._claims[d_in]:
            if distance.records is not None and path not in [at for at, _ in self._blocks]:
                continue  # it protects records, of which others differ
            below = [shift for at, shift in lost if at[: len(path)] == path]
            share = sum_of(below).over(claim, together=True)
            if share:
                text = f"the answers together lose {float(share):.6g} times {claim}"
                note(name, path, "account", float(share), not share <= 1, text)

    def _claimed(self, d_in: int) -> Iterator[tuple[Any, str, Loss]]:
        recording = self._recording
        course, last = recording.course, recording.held[-1]
        if course.mechanism.reports_loss:
            asked = Told((), PrivacyLossQuery(d_in))
            told = hold(course, asked, course.dataset, last.state, SeededCoins(0), _unasked)
            if isinstance(told.answer, Loss):
                yield (), "privacy_loss", told.answer
        elif (claim := claim_of(course.mechanism, d_in)) is not None:
            yield (), named(course.mechanism), claim
        for path, mechanism in _compositors(recording):
            if path and (claim := claim_of(mechanism, d_in)) is not None:
                yield path, named(mechanism), claim


def _compositors(recording: Recording) -> Iterator[tuple[Any, Any]]:
    """The mechanism of the root and those that were launched and may be asked, by their paths."""
    yield (), recording.course.mechanism
    for held in recording.held:
        query, told = held.message.query, held.answer
        launched = isinstance(query, Launch | LaunchOver) and isinstance(told, Launched)
        if launched and told.child is not None:
            yield (*held.message.path, told.child), query.mechanism


def claim_of(mechanism: Any, d_in: int) -> Loss | None:
    """What a mechanism claims; None if it claims nothing."""
    try:
        return mechanism.privacy_map(d_in)  # type: ignore[no-any-return]
    except Exception:
        return None


def is_own(mechanism: Any) -> bool:
    """Whether a mechanism is the user's own, so that no test of these packages is about it."""
    return type(mechanism).__module__.partition(".")[0] not in _OURS


def _unasked(*_: Any) -> Any:
    raise AssertionError("a report reads no data")


def _about(leaf: Leaf) -> tuple[str, Any]:
    what = leaf.mechanism if leaf.mechanism is not None else leaf.step
    return named(what), leaf.path


def _moved(before: Sequence[Reading], after: Sequence[Reading]) -> tuple[str, list[int] | None]:
    """How what is read moved, and the moves of all entries if it is one statistic."""
    said, moves = list[str](), None
    for place, (one, other) in enumerate(zip(before, after, strict=False)):
        if isinstance(one.value, Failure) or isinstance(other.value, Failure):
            continue
        if isinstance(one.value, CountedKeys):
            if one.value.counts != other.value.counts:
                said.append(f"{place}: {sorted(map(repr, other.value.counts.items()))}")
            continue
        if moved_entries(one.value, other.value):
            said.append(f"{place}: {all_moves(one.value, other.value)}")
        if len(before) == 1 and not isinstance(one.what, Bit):
            moves = all_moves(one.value, other.value)
    return "; ".join(said), moves


def _answers_the_same(leaf: Leaf, state: Any, memory: dict[Any, Any]) -> bool:
    """Whether a leaf answers the same with the values of the neighbour."""
    coins = Tape(leaf.coins, Roll(leaf.draws))
    outcome, _ = run_leaf(leaf.step, leaf.mechanism, state, coins, Reader(memory))
    return same_outcome(outcome, leaf.outcome)


def _coupled(leaf: Leaf, state: Any, memory: dict[Any, Any]) -> tuple[Shift, Any] | None:
    """The noise with which a measurement has the same answer on the neighbour."""
    latest: list[Any] = [None]

    def run(draws: Sequence[Draw]) -> Any:
        roll = Roll(draws)
        latest[0], _ = run_leaf(
            leaf.step, leaf.mechanism, state, Tape(leaf.coins, roll), Reader(memory)
        )
        return None if latest[0] is LOST or roll.differs else latest[0].answer

    wanted = leaf.outcome.answer
    if numbers(wanted) is None:
        return None
    found = shifted(run, leaf.draws, run(leaf.draws), wanted, lambda it: same_answer(it, wanted))
    return None if found is None else (shift_of(leaf.draws, found), latest[0])
