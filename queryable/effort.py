"""How much work the public checks of a query may take.

Responsible for a switch: while it is on, computations on public parameters that take long are
refused, each by a limit that it states. A server turns it on for queries of people whom it does not
trust. It does not know which computations there are.

The limits are counts of steps, never times. So a refusal depends on the query and on the mechanism
that it is sent to, and on no data and no clock.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_QUICK: ContextVar[bool] = ContextVar("quick", default=False)


@contextmanager
def quickly(quick: bool = True) -> Iterator[None]:
    """Refuse long computations while the block runs."""
    token = _QUICK.set(quick)
    try:
        yield
    finally:
        _QUICK.reset(token)


def is_quick() -> bool:
    """Whether long computations are refused."""
    return _QUICK.get()
