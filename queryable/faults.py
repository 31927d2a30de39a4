"""The boundary around all code that may touch data.

Responsible for two rules. First, an exception raised inside the boundary never reaches the analyst:
it is reported to the curator, and the caller learns only that something failed. Second, the place
of a failure decides which state stands: before any data are touched, the old state; afterwards, the
state in which the charge is made. Does no accounting.

Theory of operation: a step is pure, so it cannot log. Exceptions belong to the run, not to the
mechanism. The root opens a `Scope` for each message, boundaries report exceptions to that scope,
and the root passes the reports to `on_fault` once the new state is in place. Without a scope,
reports are dropped.

A message passes through compositors, which touch no data themselves, to one mechanism that does.
Each compositor passes its boundary a function, `after`, that computes the compositor's new state
from the child's result. The boundary of a mechanism that reads data writes the chain of these
functions to `Scope.lost` *before* the mechanism runs. If the message does not return, for example
because of an interrupt between two instructions, following the chain gives the state that stands:
the charge is made and the child has failed. While `lost` is None, the old state stands.

Children have the boundaries `contained_init` and `contained_step`; a root mechanism has those of
`advancing`.
"""

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from queryable.errors import MechanismFault, QueryError
from queryable.mechanism import InteractiveMechanism
from queryable.recalling import Ahead, Recall, Unplayed

T = TypeVar("T")
S = TypeVar("S")
A = TypeVar("A")

_INTERRUPTS = (KeyboardInterrupt, SystemExit, GeneratorExit)

Moved = tuple[Any, Any]
"""A new state and an answer."""

After = Callable[[Any], Any]
"""A compositor's `Moved` as a function of its child's; the argument is None for a failed child."""

Chain = tuple[After, Any] | None
"""The `After` of every compositor on the way, innermost first, as a linked list."""


class Scope:
    """The run of one message.

    Attributes:
        faults: the exceptions that boundaries have reported.
        after: the chain of the open boundaries.
        lost: the chain to follow if the message does not return; None before data are touched.
        reading: whether code that may touch data is running.
        before_reading: called once for a message, when what it charges is known and before code
            that may touch data runs. If it raises, that code does not run, and the old state
            stands.
        unkept: what `before_reading` raised.
        recall: the logged answer, while states are made again from a log; nothing reads data then.
    """

    __slots__ = ("after", "before_reading", "faults", "lost", "reading", "recall", "unkept")

    def __init__(self) -> None:
        self.faults: list[BaseException] = []
        self.after: Chain = None
        self.lost: Chain = None
        self.reading = False
        self.before_reading: Callable[[], object] | None = None
        self.unkept: BaseException | None = None
        self.recall: Recall | None = None

    def start(self) -> None:
        """Reset everything but the faults, for the next message."""
        self.after = self.lost = None
        self.reading = False


_scope: ContextVar[Scope | None] = ContextVar("scope", default=None)


def enter(scope: Scope) -> None:
    """Report to a scope for the rest of the current context."""
    _scope.set(scope)


def current_scope() -> Scope | None:
    """The scope of the current message; None without one, and inside code that reads data."""
    scope = _scope.get()
    return None if scope is None or scope.reading else scope


def recalling() -> Recall | None:
    """The logged answer of the current message, while states are made again from a log."""
    scope = _scope.get()
    return None if scope is None or scope.reading else scope.recall


def in_dry_run() -> Recall | None:
    """What stands for all that a compositor runs, in a dry run; None in any other."""
    recall = recalling()
    return recall if recall is not None and recall.dry else None


@contextmanager
def running_nothing(recall: Recall) -> Iterator[Scope]:
    """Let a recall stand for all that compositors run, in a scope of its own."""
    scope = Scope()
    scope.recall = recall
    token = _scope.set(scope)
    try:
        yield scope
    finally:
        _scope.reset(token)


class collecting:  # noqa: N801 (reads as a function where it is used)
    """Collect the exceptions that boundaries report while the block runs."""

    __slots__ = ("_token",)

    def __enter__(self) -> list[BaseException]:
        scope = Scope()
        self._token = _scope.set(scope)
        return scope.faults

    def __exit__(self, *raised: object) -> None:
        _scope.reset(self._token)


def report(fault: BaseException) -> None:
    """Add a fault to the scope, for the curator."""
    scope = _scope.get()
    if scope is not None and not isinstance(fault, MechanismFault):
        scope.faults.append(fault)


def what_stands(lost: Chain) -> Any:
    """The root's new state and answer after the mechanism that was reading data is given up."""
    moved: Any = None
    while lost is not None:
        after, lost = lost
        try:
            moved = after(moved)
        except Exception:  # then this compositor is lost as well
            moved = None
    return moved


def interrupted() -> bool:
    """Whether an interrupt was reported during this message, so that nothing more should run."""
    scope = _scope.get()
    return scope is not None and any(map(is_interrupt, scope.faults))


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


def contained_init(
    run: Callable[[], tuple[S, A]],
    after: After | None = None,
    mechanism: InteractiveMechanism[Any] | None = None,
) -> Any:
    """Run a child's `init`; return None if it raised, since data may have been touched.

    Args:
        after: the compositor's result as a function of the child's.
        mechanism: the child; one that is recallable reads nothing here.
    """
    return _reading(run, after, (), mechanism)


def contained_step(
    run: Callable[[], tuple[S, A]], after: After | None = None, *, composes: bool = False
) -> Any:
    """Run a child's `step`; return None if it failed. A `QueryError` is raised unchanged.

    Args:
        after: the compositor's result as a function of the child's.
        composes: whether the child touches data only through boundaries of its own. Its own
            exceptions then do not depend on the data. They are raised unchanged, and the root
            decides which state stands.
    """
    scope = _scope.get() if composes else None
    if scope is None or scope.reading or after is None:
        return _reading(run, after, QueryError)
    outer = scope.after
    scope.after = (after, outer)
    try:
        return run()
    finally:
        scope.after = outer


def contained_update(run: Callable[[], tuple[S, A]], *, composes: bool) -> Any:
    """Run a child's step on a message of the data's owner; return None if the child failed.

    No state stands until the whole message is through, so no chain is kept.

    Raises:
        QueryError: the child says that the message is wrong.
    """
    if not composes:
        return contained_step(run)
    try:
        return run()
    except MechanismFault:  # its own children have boundaries: what it holds has failed
        return None


class followed:  # noqa: N801 (reads as a function where it is used)
    """Run a block with `after` on the chain; exceptions pass through to the root."""

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


def _reading(
    run: Callable[[], tuple[S, A]],
    after: After | None,
    passing: Any,
    mechanism: InteractiveMechanism[Any] | None = None,
) -> Any:
    scope = _scope.get()
    if scope is None or scope.reading:
        return _contained(run, passing)
    require_stack()
    before = scope.lost
    if after is not None:
        scope.lost = (after, scope.after)  # from here on the charge stands
    if scope.before_reading is not None and not (mechanism and mechanism.recallable):
        try:
            scope.before_reading()
        except BaseException as error:
            scope.lost, scope.unkept = before, error
            raise
        scope.before_reading = None
    scope.reading = True
    try:
        return _contained(run, passing)
    except QueryError:
        scope.lost = before
        raise
    finally:
        scope.reading = False


def played(state: Unplayed, ahead: Ahead | None = None) -> tuple[Any] | None:
    """Run the messages of a state that was made from a log, in a tuple; None if that failed.

    They have been charged, and no new message is answered. So nothing has changed if it fails
    because of an interrupt, which is raised.

    Args:
        ahead: as in `Unplayed.played`.
    """
    scope = current_scope()
    if scope is not None:
        scope.reading = True
    try:
        return (state.played(ahead, _given_up),)
    except _INTERRUPTS:
        raise
    except BaseException as fault:
        report(fault)
    finally:
        if scope is not None:
            scope.reading = False
    if scope is not None and interrupted():  # a boundary inside has contained it
        raise_interrupt(scope.faults)
    return None


def _given_up(step: Callable[[], Moved]) -> Moved:
    """Run a step of a compositor without its children: they have failed."""
    with running_nothing(Recall(None, operator.eq, lost=True)) as scope:
        moved = step()
    raise_interrupt(scope.faults)
    return moved


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
_FOR_CHILD = 5  # frames for a child on the path, at most
_FOR_VALUE = 13  # frames for a value of a message in which there are others, at most


def require_room(path: int, nested: int) -> None:
    """Check, before a message is sent, that the stack can hold all that it runs.

    Args:
        path: how many children it is sent through.
        nested: how deep its values are nested.

    Raises:
        QueryError: Python's recursion limit is closer than that.
    """
    require_stack(_ROOM + _FOR_CHILD * path + _FOR_VALUE * nested)


def require_stack(room: int = _ROOM) -> None:
    """Check, before anything is charged, that enough stack is left to run a mechanism.

    Raises:
        QueryError: Python's recursion limit is closer than `room` frames.
    """
    try:
        sys._getframe(max(sys.getrecursionlimit() - room, 0))
    except ValueError:  # the stack is not as deep as that
        return
    raise QueryError(
        f"Python's recursion limit of {sys.getrecursionlimit()} is closer than {room} frames, too "
        "close to run a mechanism; nothing is charged. Ask from a shallower call, or raise the "
        "limit with sys.setrecursionlimit"
    )


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
