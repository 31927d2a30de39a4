"""`Effect`: what a message did to its root, as a word in the body of its answer.

Responsible for the word when an answer is written. A message of several launches or questions has
one for each. At an opening, `curator.logs.skimming` makes the state again from these words, the
charges and the places of messages. `curator.verification` checks them against queries and answers.
"""

from enum import StrEnum

from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import READS, Answer, Ask, Failed, Launch, Launched, Refused, is_many
from queryable.running.journal import Message, Told
from queryable.running.telling import is_poll, tells
from queryable.streams.blocks import LaunchOver
from queryable.view import Exchange


class Effect(StrEnum):
    """What a launch or a question did. The text is what a body has."""

    MEASURED = "measured"
    """A launch of a measurement was charged and has answered."""

    FAILED = "failed"
    """A launch of a measurement has failed; it was charged, if its charge is in the body."""

    STARTED = "started"
    """A launch of a child was charged, and the child is alive."""

    REFUSED = "refused"
    """A launch was refused."""

    ASKED = "asked"
    """A question was answered, and that is all."""

    TOLD = "told"
    """A question was answered, and the answer may tell more about the mechanism."""

    POLLED = "polled"
    """A question was answered with what follows from the rest of the view. It is no entry."""

    OTHER = "other"
    """Anything else, such as a launch that retires other children."""


def effects_of(message: Message, told: Told, *, still: bool) -> Effect | list[Effect]:
    """What a message did; a list for one of several launches or questions.

    Args:
        still: whether no state has changed.
    """
    if not is_many(message.query):
        return _effect_of(told[0], still=still)
    return [
        Effect.OTHER if each.path != message.path else _effect_of(each, still=still)
        for each in told
    ]


def _effect_of(told: Exchange, *, still: bool) -> Effect:
    query, answer = told.query, told.answer
    if type(query) is Launch:
        return _effect_of_launch(query, answer)
    if still and is_poll(told):
        return Effect.POLLED
    if isinstance(query, (Ask, LaunchOver, *READS)) or _has_child(answer):
        return Effect.OTHER
    kind: type = type(answer)
    return Effect.TOLD if tells(kind) else Effect.ASKED


def _effect_of_launch(launch: Launch, answer: Answer) -> Effect:
    mechanism = launch.mechanism
    if isinstance(answer, Refused):
        return Effect.REFUSED
    if not isinstance(mechanism, InteractiveMechanism) or mechanism.retires_others is not False:
        return Effect.OTHER
    measures = isinstance(mechanism, Measurement)
    if isinstance(answer, Failed) and measures:
        return Effect.FAILED
    if isinstance(answer, Launched) and measures is (answer.child is None):
        return Effect.MEASURED if measures else Effect.STARTED
    return Effect.OTHER


def _has_child(answer: Answer) -> bool:
    """Whether an answer to a question has a new child, such as one of a person in the middle."""
    if isinstance(answer, tuple):
        return any(map(_has_child, answer))
    return isinstance(answer, Launched) and answer.child is not None


def entries_in(effects: Effect | list[Effect]) -> int:
    """How many entries of the log a message with these effects has."""
    each = effects if isinstance(effects, list) else [effects]
    return len(each) - each.count(Effect.POLLED)
