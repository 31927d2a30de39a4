"""How much work a query may take: its public checks, and what it runs.

Responsible for what mechanisms state about themselves, `Effort`, and for a switch: while it is on,
computations on public parameters that take long are refused, each by a limit that it states. A
server turns it on for queries of people whom it does not trust. It does not know which computations
there are.

The limits are counts of steps, never times. So a refusal depends on the query and on the mechanism
that it is sent to, and on no data and no clock. Some are limits of one computation. What may be
asked for many times in one message takes its steps from those of the whole message.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from fractions import Fraction
from functools import lru_cache, wraps
from math import inf
from typing import Any, TypeVar

import attrs

from queryable.errors import QueryError

STEPS = 2_000_000
"""Steps of one message. A step is about a microsecond."""

_STEPS_OF_QUERY = 400
_STEPS_OF_NUMBER = 12
_CHARACTERS_OF_QUERY = 200
_CHARACTERS_OF_NUMBER = 8

T = TypeVar("T")


@attrs.frozen
class Effort:
    """What one run of a mechanism takes at most, estimated from its public parameters alone.

    Attributes:
        steps: of about a microsecond, beside reading the data.
        characters: of its answer, as it is written to a ledger.
    """

    steps: int = 100
    characters: int = 100


class Left:
    """What is left to a message.

    Attributes:
        steps: those that are left; infinity if they are not limited.
        characters: of answers, as they are written to a ledger.
        taken, written: the steps and the characters that were taken.
        refused: whether some were refused.
    """

    __slots__ = ("characters", "once", "refused", "steps", "taken", "written")

    def __init__(self, steps: float, characters: float) -> None:
        self.steps, self.characters, self.taken, self.written = steps, characters, 0, 0
        self.once, self.refused = set[Hashable](), False


LEFT: ContextVar[Left | None] = ContextVar("left", default=None)


@contextmanager
def within_effort(
    quick: bool = True, steps: float | None = None, characters: float = inf
) -> Iterator[Left]:
    """Refuse long computations while the block runs, which is one message.

    Args:
        steps: those of the message; None for `STEPS`.
        characters: of its answers.
    """
    left = Left(STEPS if steps is None else steps, characters)
    token = LEFT.set(left if quick else None)
    try:
        yield left
    finally:
        LEFT.reset(token)


def admitted() -> AbstractContextManager[Left]:
    """Refuse no steps while the block runs: they were counted before what it does was paid for."""
    return within_effort(is_quick(), inf)


def admit() -> None:
    """Refuse no steps from here on, in this context: what follows was paid for."""
    if LEFT.get() is not None:
        LEFT.set(Left(inf, inf))


def is_quick() -> bool:
    """Whether long computations are refused."""
    return LEFT.get() is not None


def is_out() -> bool:
    """Whether a message was refused something because it takes too much."""
    left = LEFT.get()
    return left is not None and left.refused


def refused() -> bool:
    """Whether something that takes too long for any message is refused; it is noted if it is."""
    left = LEFT.get()
    if left is None:
        return False
    left.refused = True
    return True


def take(steps: int, once: Hashable = None) -> bool:
    """Whether a message may take so many further steps. They are counted if it may.

    Args:
        once: what is computed, if its result is kept: in one message it is counted once.
    """
    left = LEFT.get()
    if left is None:
        return True
    if once is not None and once in left.once:
        return True
    if not steps <= left.steps:
        left.refused = True
        return False
    left.steps -= steps
    left.taken += steps
    if once is not None:
        left.once.add(once)
    return True


def write(characters: int) -> bool:
    """Whether the answers of a message may have so many further characters. They are counted."""
    left = LEFT.get()
    if left is None:
        return True
    if not characters <= left.characters:
        left.refused = True
        return False
    left.characters -= characters
    left.written += characters
    return True


def require_short(effort: Effort, times: int = 1) -> None:
    """Take what a release takes, some times over; it answers once.

    Raises:
        QueryError: the message has not so many steps, or its answers not so many characters.
    """
    if not take(times * effort.steps):
        raise QueryError(
            f"this takes about {times * effort.steps} steps, which is too much for one message to "
            "this curator: ask for fewer groups or in fewer steps; the owner can allow more (steps)"
        )
    require_short_answer(effort.characters, "an answer", "ask for fewer groups")


def require_short_answer(
    characters: int, what: str, instead: str = "ask for fewer, in several messages"
) -> None:
    """Check that an answer is short enough, where long ones are not allowed.

    Raises:
        QueryError: the message's answers may not have so many characters.
    """
    if not write(characters):
        raise QueryError(
            f"about {characters} characters of {what} are too many for the answers to one message "
            f"to this curator: {instead}. The owner can allow more (growth)"
        )


def require_short_receipts(answer: Any) -> None:
    """Take what a query takes of compositors, whose accounts have many numbers or a few.

    Args:
        answer: with its receipts, or several such answers.

    Raises:
        QueryError: the message has no more steps, or its answers have too many characters.
    """
    if not is_quick():
        return
    answers = answer if isinstance(answer, tuple | list) else (answer,)
    numbers, digits = size_of([*map(_stated, answers)])
    if not take(_STEPS_OF_QUERY + _STEPS_OF_NUMBER * numbers):
        raise QueryError("this query takes too long for one message to this curator")
    characters = _CHARACTERS_OF_QUERY * len(answers) + _CHARACTERS_OF_NUMBER * numbers + digits
    require_short_answer(
        characters, "an account", "take a rule with fewer orders, or losses with shorter numbers"
    )


def require_short_reading(answer: Any) -> None:
    """Take what the answer to a question adds to a ledger that charges nothing and changes nothing.

    Raises:
        QueryError: the answers of the message have not so many characters.
    """
    if is_quick():
        instead = "ask about one child or one block, as in BlockLossQuery"
        require_short_answer(characters_of(answer), "an answer", instead)


def characters_of(value: Any) -> int:
    """About how many characters a value has that is written with a tag and the names of fields."""
    if isinstance(value, tuple | list):
        return 2 + sum(1 + characters_of(each) for each in value)
    if isinstance(value, Mapping):
        return 2 + sum(6 + len(str(key)) + characters_of(each) for key, each in value.items())
    if attrs.has(type(value)):
        names = [field.name for field in attrs.fields(type(value)) if field.init]
        return 30 + sum(4 + len(name) + characters_of(getattr(value, name)) for name in names)
    if isinstance(value, Fraction | int):
        numbers, digits = size_of(value)
        return 3 * numbers + digits
    return 2 + len(str(value))


_LOSSES = ("requested", "spent", "remaining", "charged", "realised", "account")
"""Of a refusal, and of a receipt: what is written to a ledger and may have many numbers."""


def _stated(answer: Any) -> list[Any]:
    """The losses and the account that an answer and its receipt state."""
    both = (answer, getattr(answer, "receipt", None))
    return [getattr(each, name, None) for each in both for name in _LOSSES]


def left_to_write() -> float:
    """How many characters the answers of a message may still have."""
    left = LEFT.get()
    return inf if left is None else left.characters


def size_of(value: Any) -> tuple[int, int]:
    """How many numbers a value has, and how many digits they have together.

    They are looked for in fields of attrs classes, lists and mappings.
    """
    numbers, digits, waiting = 0, 0, [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Fraction | int):
            numbers += 1
            bits = each.numerator.bit_length() + each.denominator.bit_length()
            digits += bits * 3 // 10 + 1
        elif isinstance(each, tuple | list | frozenset):
            waiting += each
        elif isinstance(each, Mapping):
            waiting += each.values()
        elif attrs.has(type(each)):
            waiting += [
                getattr(each, field.name) for field in attrs.fields(type(each)) if field.init
            ]
    return numbers, digits


def remembered(most: int) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Keep the results of a function, as `lru_cache` does.

    The steps of a result that is known are taken as those of a new one: otherwise it would depend
    on what others asked before whether a message may take the rest of its steps.
    """

    def wrapped(function: Callable[..., T]) -> Callable[..., T]:
        @lru_cache(most)
        def known(quick: bool, *arguments: Any) -> tuple[T, int]:
            outer = LEFT.get()
            with within_effort(quick, inf if outer is None else outer.steps) as inner:
                try:
                    return function(*arguments), inner.taken
                finally:
                    if outer is not None:
                        outer.refused = outer.refused or inner.refused

        @wraps(function)
        def run(*arguments: Any) -> T:
            result, steps = known(is_quick(), *arguments)
            if not take(steps, (function, arguments)):
                raise ValueError(
                    "this takes too long for a curator that others ask too, with what else is in "
                    "the message; send it in a message of its own"
                )
            return result

        return run

    return wrapped
