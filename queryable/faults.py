"""Faults: exceptions of code that may have touched data, and interrupts.

Responsible for one rule: an exception raised where data are read never reaches the analyst. It is
reported to the curator, and the caller learns only that something failed. Which state stands then
is decided by the runner (`queryable.conversation.running`). Does no accounting.

Theory of operation: a step is pure, so it cannot log. Exceptions belong to the run, not to the
mechanism. The root opens a list for each message, and passes what was reported to `on_fault` once
the new state is in place. Without a list, reports are dropped.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

import numpy as np

from queryable.errors import MechanismFault

T = TypeVar("T")

_INTERRUPTS = (KeyboardInterrupt, SystemExit, GeneratorExit)

FAULTS: ContextVar[list[BaseException] | None] = ContextVar("faults", default=None)
"""Where faults of the present message are reported."""


def enter(faults: list[BaseException]) -> None:
    """Report to a list for the rest of the current context."""
    FAULTS.set(faults)


class collecting:  # noqa: N801 (reads as a function where it is used)
    """Collect the exceptions that are reported while the block runs, in a list or a new one."""

    __slots__ = ("_list", "_token")

    def __init__(self, faults: list[BaseException] | None = None) -> None:
        self._list: list[BaseException] = [] if faults is None else faults

    def __enter__(self) -> list[BaseException]:
        self._token = FAULTS.set(self._list)
        return self._list

    def __exit__(self, *raised: object) -> None:
        FAULTS.reset(self._token)


def report(fault: BaseException) -> None:
    """Add a fault to the list, for the curator."""
    faults = FAULTS.get()
    if faults is not None and not isinstance(fault, MechanismFault):
        faults.append(fault)


def interrupted() -> bool:
    """Whether an interrupt was reported during this message, so that nothing more should run."""
    faults = FAULTS.get()
    return faults is not None and any(map(is_interrupt, faults))


def touching_data(run: Callable[[], T]) -> T:
    """Run code that reads data, and replace any exception by a bare `MechanismFault`.

    Mechanisms evaluate every user's function through this, so that a `QueryError` raised by the
    function is not mistaken for an error in the query.
    """
    try:
        with np.errstate(all="ignore"):  # numpy's warnings would say something about the data
            return run()
    except BaseException as fault:
        report(fault)
    raise MechanismFault  # outside the handler, so that it has no __context__


def is_interrupt(fault: BaseException) -> bool:
    """Whether it is `KeyboardInterrupt`, `SystemExit` or `GeneratorExit`."""
    return isinstance(fault, _INTERRUPTS)


def called(kind: type) -> str:
    """The name of a class; a metaclass cannot override it."""
    name: str = type.__dict__["__name__"].__get__(kind)
    return name


def named(value: object) -> str:
    """What an analyst sent, for an error message: the name of its class; contains no data."""
    name = called(value if isinstance(value, type) else type(value))
    return f"the class {name}" if isinstance(value, type) else name


def raise_interrupt(faults: list[BaseException]) -> None:
    """Clear the faults, and raise the interrupt among them, if any, such as `KeyboardInterrupt`.

    The builtin class is raised without arguments, because an instance or a subclass may carry
    data. The faults are cleared because a traceback shows the local variables of its frames.
    """
    if not faults:
        return
    raised = next((kind for kind in _INTERRUPTS if any(isinstance(f, kind) for f in faults)), None)
    faults.clear()
    if raised is not None:
        raise raised from None
