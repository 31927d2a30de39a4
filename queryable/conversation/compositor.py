"""Compositors that run nothing: each is described by its conversations."""

from abc import abstractmethod
from typing import Any, ClassVar

from queryable.conversation.frames import Live
from queryable.conversation.running import Run
from queryable.conversation.standing import GivenUp
from queryable.conversation.steps import LOST, Moved, Node, Talk
from queryable.data.facts import Data
from queryable.errors import MechanismFault
from queryable.faults import collecting, raise_interrupt, report
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Answer, Query
from queryable.randomness.coins import SYSTEM, ChildId, Coins


class Compositor(InteractiveMechanism[Node]):
    """A mechanism that reads data through others alone.

    A mechanism that reads data is a *leaf*: its `init` and `step` are functions. A compositor reads
    no data, tosses no coins and runs nothing. Its step is a *conversation*: a generator that yields
    what is to be run next (`Start`, `Pass`, `Say`, `Drop`, `Ready`, or a list of these) and is sent
    what came of it, a `Moved` or `LOST`, in the same order. It returns a `Moved` with its own state
    and its answer. No `yield` stands inside `try` or `with`. With equal outcomes a conversation
    does the same again.

    `init` and `step` follow, as Haney et al. 2023, Definition 1.4, has them: docs/theory/objects.md
    has the proof. A subclass that overrides one of them, and runs children itself, is a leaf that
    contains these.
    """

    converses: ClassVar[bool] = True
    """Whether the runner holds its conversations; otherwise it is a leaf."""

    recallable: bool = False
    """Whether its state follows from the messages and its own answers alone, because the answer to
    a message is that of the child that it went to. Such a state is made again from a log of these.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.converses = cls.init is Compositor.init and cls.step is Compositor.step
        if "understood" in cls.__dict__ and "passes" not in cls.__dict__:
            cls.passes = Compositor.passes  # type: ignore[method-assign]

    @abstractmethod
    def open(self, data: Data) -> Talk | Moved:
        """The conversation with which it starts, or its result at once."""

    def understood(self, own: Any, query: Query, live: Live) -> Any:  # type: ignore[override]
        """All that the query's objects say, and every object that is made of it. Run once.

        There is no conversation if it returns a `Reported`, which has the answer, or a `Pass`: that
        query is passed on, and what comes of it is the answer, `Failed()` if it is lost.

        Args:
            live: the live children, by id.

        Raises:
            QueryError: the query is wrong; nothing has changed.
        """
        return query

    def passes(self, own: Any, identity: ChildId, query: Query, depth: int) -> bool:
        """Whether a query to a live child is passed on as it is. It is not `understood` then.

        By default never. A subclass that overrides `understood` alone passes nothing on.

        Args:
            query: what is asked in the end, of the child or of one in it.
            depth: how many children it goes through.
        """
        return False

    @abstractmethod
    def converse(self, own: Any, understood: Any, live: Live) -> Talk | Moved:
        """The conversation about one query, or its result at once, such as for a report."""

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Node, Answer]:
        """Hold the first conversation; `dataset` may be `Data`."""
        return _whole(Run(self, Data.of(dataset), coins))

    def step(self, state: Node, query: Query, coins: Coins = SYSTEM) -> tuple[Node, Answer]:
        """Hold the conversation about a query."""
        return _whole(Run(self, query, coins, state))

    def given_up(self, state: Node, query: Query, coins: Coins) -> tuple[Node, Answer]:
        """The step of which no leaf runs: whatever would read data has failed."""
        return _whole(Run(self, query, coins, state, standing=GivenUp()))


def _whole(run: Run) -> tuple[Node, Answer]:
    """The new state and the answer, of a step that is run as a leaf.

    Raises:
        QueryError: the query is wrong; nothing has changed.
        MechanismFault: the compositor is lost.
        KeyboardInterrupt: or another interrupt, of one of its leaves.
    """
    try:
        with collecting(run.faults):
            moved = run()
    finally:
        for fault in run.faults:
            report(fault)
    if run.stopped:
        raise_interrupt(list(run.faults))
        raise KeyboardInterrupt
    if moved is LOST:
        raise MechanismFault
    return moved.state, moved.answer
