"""Watching what mechanisms read of the data, for the owner's checks.

Responsible for the places at which a mechanism evaluates a function of the data: each passes
through `watched`. Nobody watches an analysis that runs for an analyst: `WATCHER` is None then, and
the function is evaluated. Does not know who watches.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class Watcher(Protocol):
    """Sees each function of the data with its value, and says with which value to go on."""

    def read(self, what: Any, dataset: Any, evaluate: Callable[[], Any]) -> Any:
        """The value to go on with.

        Args:
            what: a statistic, or other keys that are counted; it states its sensitivity.
            dataset: what it is a function of.
            evaluate: gives its value, or raises.
        """


WATCHER: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


def watched(what: Any, dataset: Any, evaluate: Callable[[], Any]) -> Any:
    """A value of the data, which the watcher sees if there is one."""
    watcher = WATCHER.get()
    return evaluate() if watcher is None else watcher.read(what, dataset, evaluate)


@contextmanager
def watching(watcher: Watcher) -> Iterator[None]:
    """Let a watcher see what is read while the block runs."""
    token = WATCHER.set(watcher)
    try:
        yield
    finally:
        WATCHER.reset(token)
