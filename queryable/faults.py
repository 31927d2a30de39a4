"""The boundary around everything that may touch data.

Responsible for two rules. What is raised inside never reaches the analyst: it goes to the curator,
and the caller learns only *that* something failed. And what stands after a failure is decided by
where it happened: before any data were touched nothing has changed, afterwards the charge stands.
Knows no mechanism and no accounting.

Theory of operation: a step is pure, so it cannot log; but which exceptions a run met is not part
of the mechanism, it is about the machine that runs it. The handle opens a `Scope` for a message,
boundaries inside it report to that scope, and the handle hands the reports to `on_fault` once the
new state is safe. Without a scope reports are dropped.

A message passes through compositors, which touch no data themselves, to one mechanism that does.
Each compositor says at its boundary how it goes on once the child has come back. The boundary of a
mechanism that reads data writes this chain to `Scope.lost` *before* it runs. Whatever happens
afterwards, be it an interrupt between any two instructions, the chain tells which state stands: the
one in which the charge is made and the child has failed. While `lost` is None the old state stands.
"""

import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from queryable.errors import MechanismFault, QueryError

T = TypeVar("T")
S = TypeVar("S")
A = TypeVar("A")

_INTERRUPTS = (KeyboardInterrupt, SystemExit, GeneratorExit)

Moved = tuple[Any, Any]
"""A new state and an answer."""

After = Callable[[Any], Any]
"""How a compositor goes on: from what its child `Moved` to, None if it is lost, to its own."""

Chain = tuple[After, Any] | None
"""How every compositor goes on, innermost first."""


class Scope:
    """What one message meets.

    Attributes:
        faults: what boundaries have reported.
        after: the open boundaries' chain.
        lost: the chain to follow if the message does not come back; None before data are touched.
        reading: whether code runs that may touch data.
    """

    __slots__ = ("after", "faults", "lost", "reading")

    def __init__(self) -> None:
        self.faults: list[BaseException] = []
        self.start()

    def start(self) -> None:
        """Forget the last message."""
        self.after: Chain = None
        self.lost: Chain = None
        self.reading = False


_scope: ContextVar[Scope | None] = ContextVar("scope", default=None)


def enter(scope: Scope) -> None:
    """Report to a scope for the rest of the current context."""
    _scope.set(scope)


def current_scope() -> Scope | None:
    """The scope of the message under way; None without one, and within what reads data."""
    scope = _scope.get()
    return None if scope is None or scope.reading else scope


class collecting:  # noqa: N801 (reads as a function where it is used)
    """Collect what boundaries report while the block runs."""

    __slots__ = ("_token",)

    def __enter__(self) -> list[BaseException]:
        scope = Scope()
        self._token = _scope.set(scope)
        return scope.faults

    def __exit__(self, *raised: object) -> None:
        _scope.reset(self._token)


def report(fault: BaseException) -> None:
    """Note a fault for the curator."""
    scope = _scope.get()
    if scope is not None and not isinstance(fault, MechanismFault):
        scope.faults.append(fault)


def what_stands(lost: Chain) -> Any:
    """What a root has moved to once the mechanism that was reading data is given up."""
    moved: Any = None
    while lost is not None:
        after, lost = lost
        try:
            moved = after(moved)
        except Exception:  # then this compositor is lost as well
            moved = None
    return moved


def touching_data(run: Callable[[], T]) -> T:
    """Run code that reads data; whatever it raises becomes a bare `MechanismFault`.

    Mechanisms wrap every evaluation of a user's function in this, so that a `QueryError` raised
    by the function is not mistaken for one about the query.
    """
    try:
        with np.errstate(all="ignore"):  # numpy's warnings would say something about the data
            return run()
    except BaseException as fault:
        report(fault)
    raise MechanismFault  # outside the handler, so that it has no __context__


def contained_init(run: Callable[[], tuple[S, A]], after: After | None = None) -> Any:
    """Run a child's `init`: None when it raised anything, since data may have been touched.

    Args:
        after: how the compositor goes on.
    """
    return _reading(run, after, passing=())


def contained_step(
    run: Callable[[], tuple[S, A]], after: After | None = None, *, composes: bool = False
) -> Any:
    """Run a child's `step`: None when it failed; a `QueryError` is about the query and passes.

    Args:
        after: how the compositor goes on.
        composes: the child touches no data but through boundaries of its own. What it raises by
            itself is not about the data, and whoever sent the message decides what stands.
    """
    scope = current_scope() if composes else None
    if scope is None or after is None:
        return _reading(run, after, passing=QueryError)
    with followed(after):
        return run()


class followed:  # noqa: N801 (reads as a function where it is used)
    """An open boundary: what is raised in the block passes, for whoever sent the message."""

    __slots__ = ("_after", "_outer", "_scope")

    def __init__(self, after: After) -> None:
        self._after = after
        self._scope = current_scope()

    def __enter__(self) -> None:
        if self._scope is not None:
            self._outer = self._scope.after
            self._scope.after = (self._after, self._outer)

    def __exit__(self, *raised: object) -> None:
        if self._scope is not None:
            self._scope.after = self._outer


def _reading(run: Callable[[], tuple[S, A]], after: After | None, passing: Any) -> Any:
    scope = current_scope()
    if scope is None:
        return _contained(run, passing)
    require_stack()
    before = scope.lost
    if after is not None:
        scope.lost = (after, scope.after)  # from here on the charge stands
    scope.reading = True
    try:
        return _contained(run, passing)
    except QueryError:
        scope.lost = before
        raise
    finally:
        scope.reading = False


def _contained(run: Callable[[], tuple[S, A]], passing: Any) -> tuple[S, A] | None:
    try:
        state, answer = run()  # unpacked here: a broken mechanism may return no pair
        return state, answer
    except passing:
        raise
    except BaseException as fault:
        report(fault)
        return None


_ROOM = 150


def require_stack() -> None:
    """Check, before anything is charged, that a mechanism has stack enough to run.

    Raises:
        QueryError: Python's recursion limit is closer than 150 frames.
    """
    try:
        sys._getframe(max(sys.getrecursionlimit() - _ROOM, 0))
    except ValueError:  # the stack is not as deep as that
        return
    raise QueryError(
        f"Python's recursion limit of {sys.getrecursionlimit()} is closer than {_ROOM} frames, too "
        "close to run a mechanism; nothing is charged. Ask from a shallower call, or raise the "
        "limit with sys.setrecursionlimit"
    )


def is_interrupt(fault: BaseException) -> bool:
    """Whether it is `KeyboardInterrupt` or its like."""
    return isinstance(fault, _INTERRUPTS)


def called(kind: type) -> str:
    """The name of a class, whatever its metaclass says."""
    name: str = type.__dict__["__name__"].__get__(kind)
    return name


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
