"""The analyst's handle on a running mechanism.

Responsible for holding the one mutable thing, the current state, and for turning answers into
Python: `Launched` into a child handle, `Refused` and `Failed` into exceptions. Knows no compositor
and does no accounting: it folds `step` over an opaque state.

Theory of operation: one `_Root` owns state, log and lock; a `Queryable` is a root and a path. A
query at path (0, 2) travels as `Ask(0, Ask(2, query))`, so every parent sees it and may refuse.
The new state is committed before faults are told to the curator and before anything is raised.
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Never

import numpy as np

from queryable.coins import SYSTEM, ChildId, Coins, SystemCoins
from queryable.errors import (
    HandleError,
    MechanismFault,
    QueryError,
    QueryRefusedError,
    ReentrantQueryError,
)
from queryable.faults import collecting, raise_interrupt
from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism, advance, begin
from queryable.messages import (
    Answer,
    Ask,
    CanAfford,
    Failed,
    Halted,
    Launch,
    Launched,
    PrivacyLossQuery,
    Query,
    Refused,
    records,
)
from queryable.reports import Report
from queryable.view import Exchange, View, exchange

Path = tuple[ChildId, ...]


class _Root:
    """State, log and lock of one running tree."""

    def __init__(
        self,
        mechanism: InteractiveMechanism[Any],
        dataset: Any,
        coins: Coins,
        on_fault: Callable[[BaseException], object] | None,
    ) -> None:
        self.mechanism = mechanism
        self.coins = coins
        self.on_fault = on_fault
        self.log: list[Exchange] = []
        self.children: dict[Path, dict[ChildId, Queryable]] = {}
        self._messages = 0
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._holder: int | None = None
        self._state: Any = None
        with self._exclusively(), collecting() as faults:
            self._state, answer = begin(mechanism, dataset, coins)
            self.opening = _read_only(answer)
        self._tell_curator(faults)

    @contextmanager
    def _exclusively(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise HandleError("this queryable belongs to another process; it does not survive fork")
        if self._holder == threading.get_ident():
            raise ReentrantQueryError("a queryable cannot be asked while it answers")
        with self._lock:
            self._holder = threading.get_ident()
            try:
                yield
            finally:
                self._holder = None

    def tell(self, path: Path, query: Query) -> Answer:
        """Send a query to the mechanism at `path`, commit the new state, return the answer."""
        message = query
        for child in reversed(path):
            message = Ask(child, message)
        wrong: QueryError | None = None
        answer: Answer = None
        with self._exclusively(), collecting() as faults:
            self._messages += 1
            try:
                self._state, answer = advance(
                    self.mechanism, self._state, message, self.coins, self._messages
                )
            except QueryError as error:
                wrong = error
            else:
                answer = _read_only(answer)
                self.log.append(exchange(message, answer))
        self._tell_curator(faults)
        if wrong is not None:
            wrong.__cause__ = wrong.__context__ = None
            raise wrong.with_traceback(None)
        return answer

    def _tell_curator(self, faults: list[BaseException]) -> None:
        if self.on_fault is not None:
            _told(self.on_fault, faults)
        raise_interrupt(faults)


class Queryable:
    """A running interactive mechanism.

    Args:
        mechanism: what to run.
        dataset: the data, opaque to everything but the mechanism. It must not change while the
            queryable lives; arrays are seen through read-only views.
        coins: `SeededCoins` are taken only with `allow_seeded=True`: whoever knows the seed knows
            the noise.
        on_fault: the curator's callback for what was raised while data may have been touched.
            It is told data-dependent things, so it must not print where the analyst reads.

    A queryable refuses to be copied, pickled, used in a forked process or asked from inside one
    of its own queries. Threads may share it: queries are answered one at a time.
    """

    __slots__ = ("_path", "_root", "opening")

    opening: Any
    """The mechanism's first answer; queryables where it launched children itself."""

    def __init__(
        self,
        mechanism: InteractiveMechanism[Any],
        dataset: Any,
        *,
        coins: Coins = SYSTEM,
        allow_seeded: bool = False,
        on_fault: Callable[[BaseException], object] | None = None,
    ) -> None:
        if not isinstance(mechanism, InteractiveMechanism):
            raise TypeError(
                f"mechanism is {_named(mechanism)}; it should be an InteractiveMechanism"
            )
        if not (allow_seeded or isinstance(coins, SystemCoins)):
            raise ValueError(
                f"coins are {coins!r}: their noise can be recomputed. Pass allow_seeded=True for "
                "tests; leave coins out for a real analysis"
            )
        root = _Root(mechanism, _protected(dataset), coins, on_fault)
        self._root = root
        self._path: Path = ()
        self.opening = self._delivered((), root.opening)

    @classmethod
    def _at(cls, root: _Root, path: Path, opening: Answer) -> "Queryable":
        handle = cls.__new__(cls)
        handle._root, handle._path = root, path
        root.children.setdefault(path[:-1], {})[path[-1]] = handle
        handle.opening = handle._delivered(path, opening)
        return handle

    def ask(self, query: Query) -> Any:
        """Ask a query and return the answer.

        Raises:
            QueryError: the query is wrong; nothing has changed.
            QueryRefusedError: declined, with what was requested, spent and remains.
            MechanismFault: the mechanism failed; its charge is kept.
        """
        answer = self._root.tell(self._path, query)
        path = self._path
        while isinstance(query, Ask):
            path, query = (*path, query.child), query.query
        return self._delivered(path, answer)

    def launch(self, mechanism: InteractiveMechanism[Any], d_out: Loss | None = None) -> Any:
        """Launch a mechanism: a measurement gives its answer, any other a child `Queryable`.

        Args:
            d_out: the loss to charge, by default the mechanism's own; never below it.

        Raises: as `ask`.
        """
        return self.ask(Launch(mechanism, d_out))

    def __call__(self, query: Any, d_out: Loss | None = None) -> Any:
        """`launch` for a mechanism, `ask` for anything else."""
        if isinstance(query, InteractiveMechanism):
            return self.launch(query, d_out)
        return self.ask(query)

    def privacy_loss(self, d_in: int | None = None) -> Report:
        """The loss so far, for data that differ in `d_in` records (default: the budget's unit).

        A `Loss`, or of a time-uniform odometer a `TimeUniformBound`.
        """
        mechanism = self._root.mechanism
        if not self._path and not mechanism.reports_loss:
            return mechanism.privacy_map(records(d_in, 1))
        report: Report = self.ask(PrivacyLossQuery(d_in))
        return report

    def can_afford(self, mechanism: InteractiveMechanism[Any], d_out: Loss | None = None) -> bool:
        """Whether a launch would be admitted now. Charges nothing and runs nothing."""
        affordable: bool = self.ask(CanAfford(Launch(mechanism, d_out)))
        return affordable

    @property
    def children(self) -> "MappingProxyType[ChildId, Queryable]":
        """The handles of the children launched here, by id."""
        return MappingProxyType(self._root.children.get(self._path, {}))

    @property
    def view(self) -> View:
        """Every exchange at or below this queryable, in order."""
        depth = len(self._path)
        below = (each for each in list(self._root.log) if each.path[:depth] == self._path)
        return View(self.opening, tuple(below))

    def _delivered(self, path: Path, answer: Answer) -> Any:
        match answer:
            case Launched(child=None, answer=given):
                return given
            case Launched(child=int() | str() as child, answer=opening):
                return Queryable._at(self._root, (*path, child), opening)
            case Refused(reason, requested, spent, remaining):
                raise QueryRefusedError(reason, requested, spent, remaining)
            case Halted(reason):
                raise QueryRefusedError(reason)
            case Failed():
                raise MechanismFault
            case tuple() if any(isinstance(entry, Launched | Failed) for entry in answer):
                return tuple(
                    entry if isinstance(entry, Failed) else self._delivered(path, entry)
                    for entry in answer
                )
        return answer

    def __repr__(self) -> str:
        where = "".join(f"/{child}" for child in self._path)
        return f"<Queryable {type(self._root.mechanism).__name__}{where}>"

    def _uncopyable(self, *_: object) -> Never:
        raise HandleError("a queryable cannot be copied or pickled: its budget would be copied too")

    __copy__ = __deepcopy__ = __reduce_ex__ = __reduce__ = __getstate__ = _uncopyable


def _told(on_fault: Callable[[BaseException], object], faults: list[BaseException]) -> None:
    for fault in list(faults):
        try:
            on_fault(fault)
        except BaseException as error:  # its text, too, would be about the data
            faults.append(error)


def _protected(dataset: Any) -> Any:
    if isinstance(dataset, Iterator):
        raise TypeError("the dataset is a one-shot iterator; pass a list or an array")
    if isinstance(dataset, np.ndarray):
        view = dataset.view()
        view.flags.writeable = False
        return view
    if type(dataset) is dict:
        return {name: _protected(column) for name, column in dataset.items()}
    return dataset


def _read_only(answer: Answer) -> Answer:
    if isinstance(answer, np.ndarray):
        answer.flags.writeable = False
    elif isinstance(answer, Launched):
        _read_only(answer.answer)
    elif isinstance(answer, tuple):
        for entry in answer:
            _read_only(entry)
    return answer


def _named(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__
