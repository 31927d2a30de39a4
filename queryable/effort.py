"""How much work the public checks of a query may take.

Responsible for a switch: while it is on, computations on public parameters that take long are
refused, each by a limit that it states. A server turns it on for queries of people whom it does not
trust. It does not know which computations there are.

The limits are counts of steps, never times. So a refusal depends on the query and on the mechanism
that it is sent to, and on no data and no clock. Some are limits of one computation. What may be
asked for many times in one message takes its steps from those of the whole message.
"""

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

STEPS = 1_000_000
"""Steps of one message. A step is about a microsecond."""


class _Left:
    """The steps that are left to a message."""

    def __init__(self) -> None:
        self.steps, self.once = STEPS, set[Hashable]()


_LEFT: ContextVar[_Left | None] = ContextVar("left", default=None)


@contextmanager
def quickly(quick: bool = True) -> Iterator[None]:
    """Refuse long computations while the block runs, which is one message."""
    token = _LEFT.set(_Left() if quick else None)
    try:
        yield
    finally:
        _LEFT.reset(token)


def is_quick() -> bool:
    """Whether long computations are refused."""
    return _LEFT.get() is not None


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
        return False
    left.steps -= steps
    if once is not None:
        left.once.add(once)
    return True
