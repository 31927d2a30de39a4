"""The boundary around everything that may touch data.

Responsible for one rule: what is raised inside never reaches the analyst. It goes to the curator,
and the caller learns only *that* something failed. Knows no mechanism and no accounting.

Theory of operation: a step is pure, so it cannot log; but which exceptions a run met is not part
of the mechanism, it is about the machine that runs it. The handle opens a `collecting()` scope,
boundaries inside it report to that scope, and the handle hands the reports to `on_fault` once the
new state is safe. Without a scope reports are dropped.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

import numpy as np

from queryable.errors import MechanismFault, QueryError

T = TypeVar("T")
S = TypeVar("S")
A = TypeVar("A")

_INTERRUPTS = (KeyboardInterrupt, SystemExit, GeneratorExit)

_scope: ContextVar[list[BaseException] | None] = ContextVar("faults", default=None)


class collecting:  # noqa: N801 (reads as a function where it is used)
    """Collect what boundaries report while the block runs."""

    __slots__ = ("_token",)

    def __enter__(self) -> list[BaseException]:
        faults: list[BaseException] = []
        self._token = _scope.set(faults)
        return faults

    def __exit__(self, *raised: object) -> None:
        _scope.reset(self._token)


def _report(fault: BaseException) -> None:
    faults = _scope.get()
    if faults is not None and not isinstance(fault, MechanismFault):
        faults.append(fault)


def touching_data(run: Callable[[], T]) -> T:
    """Run code that reads data; whatever it raises becomes a bare `MechanismFault`.

    Mechanisms wrap every evaluation of a user's function in this, so that a `QueryError` raised
    by the function is not mistaken for one about the query.
    """
    try:
        with np.errstate(all="ignore"):  # numpy's warnings would say something about the data
            return run()
    except BaseException as fault:
        _report(fault)
    raise MechanismFault  # outside the handler, so that it has no __context__


def contained_init(run: Callable[[], tuple[S, A]]) -> tuple[S, A] | None:
    """Run a child's `init`: None when it raised anything, since data may have been touched."""
    try:
        state, answer = run()  # unpacked here: a broken mechanism may return no pair
        return state, answer
    except BaseException as fault:
        _report(fault)
        return None


def contained_step(run: Callable[[], tuple[S, A]]) -> tuple[S, A] | None:
    """Run a child's `step`: None when it failed; a `QueryError` is about the query and passes."""
    try:
        state, answer = run()
        return state, answer
    except QueryError:
        raise
    except BaseException as fault:
        _report(fault)
        return None


def raise_interrupt(faults: list[BaseException]) -> None:
    """Forget the faults; raise anew the interrupt among them, if any, such as `KeyboardInterrupt`.

    By its builtin class and bare, because an instance or a subclass may carry data; the
    faults are forgotten, because a traceback shows the locals of its frames.
    """
    if not faults:
        return
    raised = next((kind for kind in _INTERRUPTS if any(isinstance(f, kind) for f in faults)), None)
    faults.clear()
    if raised is not None:
        raise raised from None
