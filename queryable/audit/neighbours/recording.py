"""Holding an analysis again on its own data, so that the answers of its log come out.

Responsible for the outcomes that no log has: those of leaves that only a conversation sees, and the
noise. Where the coins are not known, coins are looked for with which the answer is the logged one:
noise on a number is shifted, and otherwise other coins are tossed. If no coins are found, the
message has the answer of new noise. All that follows is then held as the analyst asked it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from queryable.audit.neighbours.courses import Recalled, Told, Tosses
from queryable.audit.neighbours.leaves import Held, Leaf, hold, run_leaf, same_answer
from queryable.audit.neighbours.movements import named
from queryable.audit.neighbours.readings import Failure, Reader
from queryable.audit.neighbours.shifts import numbers, shifted
from queryable.audit.neighbours.tapes import Draw, Roll, Tape
from queryable.errors import HandleError
from queryable.messages import Failed
from queryable.optional import tosses_elsewhere
from queryable.randomness.coins import Coins


@attrs.frozen(eq=False)
class Recording:
    """An analysis as it was held on its own data.

    Attributes:
        held: its messages; the first one is the start.
        renewed: how many messages have another answer than their log.
    """

    course: Recalled
    held: tuple[Held, ...]
    renewed: int


def recorded(course: Recalled, seed: int) -> Recording:
    """Hold an analysis again on its own data.

    Raises:
        HandleError: the data cannot be read as they were, or coins do not decide all noise.
    """
    tosses, memory = Tosses(course, seed), dict[Any, Any]()
    found: list[Held] = []
    renewed, state = 0, None
    for place, message in enumerate(course.messages):
        held, same, ahead = _with_its_answer(course, message, state, tosses, place, memory)
        if any(tosses_elsewhere(leaf.mechanism) for leaf in held.leaves):
            raise HandleError(
                "it launched a mechanism whose noise is drawn by another library, so the analysis "
                "cannot be held again with the same noise"
            )
        tosses.take(message, ahead)
        renewed += not same
        found.append(held)
        state = held.state
    recording = Recording(course, tuple(found), renewed)
    _require_data(recording)
    return recording


def _require_data(recording: Recording) -> None:
    """Check that the data are read as they were when the analysis was made.

    Raises:
        HandleError: what was answered is refused, or cannot be evaluated any more.
    """
    for held in recording.held:
        if held.wrong is not None:  # a log has no messages that were wrong
            raise HandleError(
                "the data cannot be read as they were: a message was answered, and now "
                f"{held.wrong}"
            )
        for leaf in held.leaves:
            for each in leaf.readings:
                answered = not isinstance(held.message.answer, Failed | None)
                if answered and isinstance(each.value, Failure):
                    raise HandleError(
                        f"the data cannot be read as they were: {named(each.what)} was answered, "
                        f"and now {each.value.cause}"
                    )


def _with_its_answer(
    course: Recalled,
    message: Told,
    state: Any,
    tosses: Tosses,
    place: int,
    memory: dict[Any, Any],
) -> tuple[Held, bool, int | None]:
    first: tuple[Held, bool, int | None] | None = None
    for coins, ahead in tosses.of(place, message):
        held = _held(course, message, state, coins, memory)
        if _fits(held):
            return held, True, ahead
        if ahead is None and _draws(held):  # it is a shift away at the most
            again = _shifted(course, message, state, held, memory)
            if again is not None:
                return again, True, None
        if first is None or first[2] is not None:
            first = held, False, None
        if ahead is None and (isinstance(message.answer, Failed) or not _may_come_out(held)):
            break
    assert first is not None
    return first


def _fits(held: Held) -> bool:
    if held.message.is_owners:
        return held.wrong is None
    return held.wrong is None and same_answer(held.answer, held.message.answer)


def _may_come_out(held: Held) -> bool:
    """Whether other coins may lead to the logged answer: it is no number with noise."""
    laws = [draw.law for draw in _draws(held)]
    noisy = any(each.laplace_scale or each.gaussian_variance for each in laws)
    return bool(laws) and not (noisy and numbers(held.answer))


def _draws(held: Held) -> tuple[Draw, ...]:
    return tuple(draw for leaf in held.leaves for draw in leaf.draws)


def _held(
    course: Recalled,
    message: Told,
    state: Any,
    coins: Coins,
    memory: dict[Any, Any],
    draws: Sequence[Draw] | None = None,
) -> Held:
    """Hold a message, with these draws if there are any."""
    roll, found = Roll(draws), list[Leaf]()

    def observe(path: Any, step: Any, mechanism: Any, held: Any, tossed: Coins) -> Any:
        reader, before = Reader(memory), len(roll.draws)
        outcome, raised = run_leaf(step, mechanism, held, Tape(tossed, roll), reader)
        drawn, read = tuple(roll.draws[before:]), tuple(reader.readings)
        found.append(Leaf(path, step, mechanism, held, tossed, read, drawn, outcome, raised))
        return outcome, raised

    held = hold(course, message, course.dataset, state, coins, observe)
    return attrs.evolve(held, leaves=tuple(found))


def _shifted(
    course: Recalled, message: Told, state: Any, held: Held, memory: dict[Any, Any]
) -> Held | None:
    """The message with shifted noise, so that its answer is the logged one."""
    latest = [held]

    def run(draws: Sequence[Draw]) -> Any:
        latest[0] = _held(course, message, state, held.coins, memory, draws)
        return latest[0].answer

    wanted = message.answer
    answers: Callable[[Any], bool] = lambda answer: same_answer(answer, wanted)  # noqa: E731
    found = shifted(run, _draws(held), held.answer, wanted, answers)
    return None if found is None else latest[0]
