"""The analyst's handle on a running mechanism.

Responsible for translating answers: `Launched` becomes a child handle or a plain answer, `Refused`
and `Failed` become exceptions. A `Queryable` consists of a root, which runs the tree of mechanisms,
and a path in that tree. It does no accounting.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Never, TypeVar, overload

from queryable.checks.datasets import protected, protects, remember, warn
from queryable.checks.fit import require_opening
from queryable.errors import HandleError, MechanismFault, QueryError, QueryRefusedError
from queryable.faults import called, named
from queryable.losses import Loss, Report
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.messages import (
    MANY,
    OWNERS,
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
    d_in_of,
    not_the_owner,
    unnested,
)
from queryable.postprocessing import PersonInTheMiddle
from queryable.randomness.coins import SYSTEM, ChildId, Coins, SystemCoins
from queryable.running.handles import Children, Path
from queryable.running.names import checked_name
from queryable.running.root import MemoryRoot
from queryable.running.roots import Root
from queryable.streams.blocks import BlockName, Last, LaunchOver
from queryable.verbs.displayed import Displayed
from queryable.verbs.feeding import Feed
from queryable.verbs.in_sql import InSql
from queryable.wording.quoting import quoted, truth

A = TypeVar("A")

_AFTER_HALT = "launch in another filter: this one has halted for good and answers only privacy_loss"


class Queryable(InSql, Displayed):
    """A running interactive mechanism.

    Args:
        mechanism: the mechanism to run.
        dataset: the data, which only the mechanism reads. It must not change while the queryable
            lives. Mechanisms see arrays through read-only views.
        coins: the source of randomness. `SeededCoins` need `allow_seeded=True`, because the seed
            determines the noise.
        on_fault: the curator's callback for exceptions that were raised while data may have been
            touched. They may depend on the data, so the callback must not print where the analyst
            reads.

    A queryable cannot be copied, pickled, used in a forked process, or asked from inside one of its
    own queries. Threads may share it; queries are answered one at a time.

    Examples:
        >>> from composition import FiltCon
        >>> from mechanisms import Count, Laplace, SparseVector, column
        >>> from queryable import PureDP
        >>> table = Queryable(FiltCon(PureDP(1)), {"age": [31, 47, 62]})
        >>> noisy = table(Laplace(Count(column("age") >= 40), epsilon="1/2"))  # a number
        >>> search = table(SparseVector(threshold=2, epsilon="1/4"))  # a queryable
        >>> yes = search(Count(column("age") < 50))
        >>> table.privacy_loss()
        PureDP(epsilon='3/4')
    """

    __slots__ = ("__weakref__", "_path", "_root", "opening")

    opening: Any
    """The mechanism's opening answer; children that it launched are queryables."""

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
                f"{_without_mechanism(mechanism)}; mechanism should be an InteractiveMechanism"
            )
        if not (truth(allow_seeded, "allow_seeded") or isinstance(coins, SystemCoins)):
            raise ValueError(
                "leave coins out for a real analysis, or pass allow_seeded=True for tests: coins "
                f"are {quoted(coins)}, and their noise can be recomputed"
            )
        require_opening(dataset, mechanism)
        warn(dataset)
        root = MemoryRoot(mechanism, protected(dataset), coins, on_fault, protects(dataset))
        remember(dataset)
        self._set(root)

    def _set(self, root: Root) -> None:
        self._root = root
        self._path: Path = ()
        self.opening = self._delivered((), root.opening)

    @classmethod
    def _over(cls, root: Root) -> "Queryable":
        """The handle of a tree that runs already, wherever its root is."""
        handle = cls.__new__(cls)
        handle._set(root)
        return handle

    @classmethod
    def _at(cls, root: Root, path: Path, opening: Answer) -> "Queryable":
        known: Queryable | None = root.handles.find(path, opening)
        if known is not None:
            return known
        handle = cls.__new__(cls)
        handle._root, handle._path = root, path
        root.handles.add(path, opening, handle)
        handle.opening = handle._delivered(path, opening)
        return handle

    def ask(self, query: Query) -> Any:
        """Ask a query and return the answer.

        Raises:
            QueryError: the query is wrong; nothing has changed.
            QueryRefusedError: the query was declined; states what was requested, spent and remains.
            MechanismFault: the mechanism failed; its charge is kept.
        """
        path = self._path
        if isinstance(query, Ask):
            asked, query = unnested(query)
            path = (*path, *asked)
        if issubclass(type(query), OWNERS):
            raise not_the_owner(query)
        if isinstance(query, MANY):
            return self._outcomes(path, query, ())
        return self._delivered(path, self._root.tell(path, query))

    @overload
    def launch(
        self, mechanism: Measurement[A], d_out: Loss | None = None, *, name: str | None = None
    ) -> A: ...
    @overload
    def launch(
        self,
        mechanism: InteractiveMechanism[Any],
        d_out: Loss | None = None,
        *,
        name: str | None = None,
    ) -> Any: ...
    def launch(
        self,
        mechanism: InteractiveMechanism[Any],
        d_out: Loss | None = None,
        *,
        name: str | None = None,
    ) -> Any:
        """Launch a mechanism: return a measurement's answer, or a child `Queryable` otherwise.

        A launch with a name happens once. Launching an equal mechanism under the same name again
        returns the same answer or child and is not charged. Mechanisms compare by value, functions
        by identity: a lambda that is defined again is another one, a column expression is not. A
        launch that failed was charged, so it fails again; a refused launch may be tried again.

        Args:
            d_out: the loss to charge, at least the mechanism's own, which is the default.
            name: a public name, shown in `tree` and `ledger`.

        Raises: as `ask`, and
            QueryError: the name belongs to another mechanism or another d_out here.
        """
        names = () if name is None else (checked_name(name),)
        told = self._root.tell(self._path, Launch(mechanism, d_out), names)
        return self._delivered(self._path, told)

    def _launched(self, launch: Launch | LaunchOver, name: str | None) -> Any:
        names = () if name is None else (checked_name(name),)
        told = self._root.tell(self._path, launch, names)
        return self._delivered(self._path, told)

    @overload
    def __call__(
        self, query: Measurement[A], d_out: Loss | None = None, *, name: str | None = None
    ) -> A: ...
    @overload
    def __call__(
        self, query: Query, d_out: Loss | None = None, *, name: str | None = None
    ) -> Any: ...
    def __call__(self, query: Query, d_out: Loss | None = None, *, name: str | None = None) -> Any:
        """`launch` a mechanism, `ask` any other query."""
        if isinstance(query, InteractiveMechanism):
            return self.launch(query, d_out, name=name)
        if name is not None or d_out is not None:
            raise QueryError(f"only launches have a name or a d_out, not {named(query)}")
        return self.ask(query)

    def privacy_loss(self, d_in: int | None = None) -> Report:
        """The loss so far, for data that differ in `d_in` records (default: the budget's unit).

        Returns:
            A `Loss`; for a time-uniform odometer a `TimeUniformBound`.
        """
        mechanism = self._root.mechanism
        if not self._path and not mechanism.reports_loss:
            return mechanism.privacy_map(d_in_of(d_in, 1))
        told = self._root.tell(self._path, PrivacyLossQuery(d_in))
        report: Report = self._delivered(self._path, told)
        return report

    def can_afford(
        self,
        mechanism: InteractiveMechanism[Any],
        d_out: Loss | None = None,
        *,
        blocks: Sequence[BlockName] | Last | None = None,
    ) -> bool:
        """Whether a launch would be admitted now. Nothing is charged or run.

        Args:
            blocks: the blocks of the data to launch on, as for `launch_over`.
        """
        launch = Launch(mechanism, d_out)
        over = launch if blocks is None else LaunchOver(mechanism, blocks, d_out)
        affordable: bool = self.ask(CanAfford(over))
        return affordable

    @property
    def feed(self) -> Feed:
        """The owner's handle, which gives the running mechanisms further records.

        Only the handle of a root in this process has it. An analyst gets a child's handle, or one
        over a socket.

        Raises:
            HandleError: this is another handle.
        """
        if self._path or not isinstance(self._root, MemoryRoot):
            raise HandleError("only the owner's handle, of the root in its process, feeds records")
        return Feed(self._root)

    @property
    def children(self) -> "Mapping[ChildId, Queryable]":
        """The handles of the children launched here, by id."""
        return Children(
            self._root.handles.openings(self._path),
            lambda child, opening: Queryable._at(self._root, (*self._path, child), opening),
        )

    def _delivered(self, path: Path, answer: Answer) -> Any:
        match answer:
            case Launched(child=None, answer=given):
                return given
            case Launched(child=int() | str() as child, answer=opening):
                return Queryable._at(self._root, (*path, child), opening)
            case Refused(reason, requested, spent, remaining, instead):
                raise QueryRefusedError(reason, requested, spent, remaining, instead)
            case Halted(reason):
                raise QueryRefusedError(reason, instead=_AFTER_HALT)
            case Failed():
                raise MechanismFault
            case tuple() if any(isinstance(each, Launched | Failed) for each in answer):
                return tuple(self._outcome(path, each) for each in answer)
        return answer

    def __repr__(self) -> str:
        where = "".join(f"/{child}" for child in self._path)
        return f"<Queryable {type(self._root.mechanism).__name__}{where}>"

    def _uncopyable(self, *_: object) -> Never:
        raise HandleError("a queryable cannot be copied or pickled: its budget would be copied too")

    __copy__ = __deepcopy__ = __reduce_ex__ = __reduce__ = __getstate__ = _uncopyable


def _without_mechanism(value: object) -> str:
    """What to write instead of a value that is no mechanism, and what the value is."""
    kind = value if isinstance(value, type) else type(value)
    name = called(kind)
    if issubclass(kind, PersonInTheMiddle):
        return f"write {name}(..) @ FiltCon(budget): {name} alone is a postprocessor"
    if isinstance(value, Loss):
        return f"write FiltCon({value!r}): a budget alone answers nothing"
    if issubclass(kind, InteractiveMechanism):
        return f"write {name}(..), with its arguments: {name} is a class"
    return f"give a mechanism, such as FiltCon(budget): it is {named(value)}"
