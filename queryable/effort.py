"""How much work a query may take: its public checks, and what it runs.

Responsible for what mechanisms state about themselves, `Effort`, and for a switch: while it is on,
computations on public parameters that take long are refused, each by a limit that it states. A
server turns it on for queries of people whom it does not trust. It does not know which computations
there are.

The limits are counts of steps, never times. So a refusal depends on the query and on the mechanism
that it is sent to, and on no data and no clock. Some are limits of one computation. What may be
asked for many times in one message takes its steps from those of the whole message.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import attrs

STEPS = 1_000_000
"""Steps of the checks of one message. A step is about a microsecond."""


@attrs.frozen
class Effort:
    """What one run of a mechanism takes at most, estimated from its public parameters alone.

    Attributes:
        steps: of about a microsecond, beside reading the data.
        characters: of its answer, as it is written to a ledger.
    """

    steps: int = 100
    characters: int = 100


class _Left:
    """The steps that are left to a message."""

    def __init__(self, steps: int) -> None:
        self.steps, self.once, self.refused = steps, set[Hashable](), False


_LEFT: ContextVar[_Left | None] = ContextVar("left", default=None)


@contextmanager
def quickly(quick: bool = True, steps: int | None = None) -> Iterator[None]:
    """Refuse long computations while the block runs, which is one message.

    Args:
        steps: those of the message; None for `STEPS`.
    """
    token = _LEFT.set(_Left(STEPS if steps is None else steps) if quick else None)
    try:
        yield
    finally:
        _LEFT.reset(token)


def is_quick() -> bool:
    """Whether long computations are refused."""
    return _LEFT.get() is not None


def is_out() -> bool:
    """Whether a message was refused steps."""
    left = _LEFT.get()
    return left is not None and left.refused


def take(steps: int, once: Hashable = None) -> bool:
    """Whether a message may take so many further steps. They are counted if it may.

    Args:
        once: what is computed, if its result is kept: in one message it is counted once.
    """
    left = _LEFT.get()
    if left is None:
        return True
    if once is not None and once in left.once:
        return True
    if not steps <= left.steps:
        left.refused = True
        return False
    left.steps -= steps
    if once is not None:
        left.once.add(once)
    return True
