"""Random analyses of a root: messages to every kind of mechanism, some wrong, refused or failing.

An `Author` writes an analysis while it is run: it sees which children the answers have launched.
The messages that it wrote are told again after a crash, so nothing else is random.
"""

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any, ClassVar

import attrs

import mechanisms as m
from composition import ConComp, FiltCon, OdomCon, Parallel, Partition
from curator.codec import entry_of
from mechanisms.refinement.refine_queries import Latest
from queryable import ZCDP, Ask, CanAfford, InteractiveMechanism, Launch, PrivacyLossQuery, PureDP
from queryable.messages import AskMany, Launched, LaunchMany
from queryable.statistics import IntegerStatistic
from tests.stored import STORED
from tests.strategies import Courier, Faulty, RandomBits, RandomWord

DATA = {"part": ["a", "b"] * 20, "value": list(range(40))}

SEEN: list[Callable[["Watched"], None]] = []
"""What is called with each statistic before it reads the data."""


@attrs.frozen
class Watched(IntegerStatistic):
    """How many values are at least `number` modulo 40; or an exception about the data."""

    number: int
    fails: bool = False

    l1: ClassVar = Fraction(1)  # type: ignore[misc]
    l2: ClassVar = Fraction(1)  # type: ignore[misc]
    shape: ClassVar = None  # type: ignore[misc]

    def value(self, dataset: Any) -> Any:
        for look in SEEN:
            look(self)
        if self.fails:
            raise ValueError(dataset["value"][0])
        return sum(value >= self.number % 40 for value in dataset["value"])


WATCHED = STORED.joined([entry_of("tests.watched/1", Watched)])
"""The codec of these analyses."""


def _raises(dataset: Any) -> Any:
    raise ValueError(dataset["value"][0])


SMALL = PureDP("1/100")
FAULTY = Faulty(_raises, good=1, charged=SMALL)
FAULTY_AT_LAUNCH = Faulty(_raises, at_launch=True, charged=SMALL)


@attrs.frozen
class Message:
    """A message of an analysis: its path, and the names of its launches."""

    path: tuple[Any, ...]
    query: Any
    names: tuple[str | None, ...] = ()


def roots(chance: Random) -> InteractiveMechanism[Any]:
    """A mechanism for the root: mostly a filter."""
    filters = FiltCon(ZCDP(chance.choice(("1/10", 1, 3))))
    match chance.randrange(8):
        case 0:
            return OdomCon(ZCDP)
        case 1:
            return Courier() @ filters
        case 2:
            return parts()
        case 3:
            return ConComp([m.SparseVector(20, epsilon="1/10", cutoff=3), filters])
        case _:
            return filters


def parts() -> Parallel:
    """Parts of the data: a sparse vector and a filter."""
    vector = m.SparseVector(9, epsilon="1/10", cutoff=2)
    parts = {"a": vector, "b": FiltCon(PureDP("1/2"))}
    return Parallel(Partition("part", ["a", "b"]), parts)


class Author:
    """Writes the messages of one analysis.

    Args:
        mechanism: that of the root.
        first: the number of the first statistic.
    """

    def __init__(self, mechanism: InteractiveMechanism[Any], chance: Random, first: int) -> None:
        self.chance, self.count = chance, first
        self.alive: list[tuple[tuple[Any, ...], InteractiveMechanism[Any]]] = [((), mechanism)]
        self._inside((), mechanism)
        self.named: list[Message] = []

    def next(self) -> Message:
        """The next message."""
        if self.named and self.chance.randrange(12) == 0:
            return self.chance.choice(self.named)
        path, mechanism = self.chance.choice(self.alive)
        if self.chance.randrange(12) == 0:
            return Message(path, self._wrong())
        if self.chance.randrange(8) == 0:
            path, mechanism = self.alive[-1]
        message = Message(path, self._query(mechanism))
        if isinstance(message.query, Launch) and self.chance.randrange(4) == 0:
            message = attrs.evolve(message, names=(f"name {self.chance.randrange(20)}",))
            self.named.append(message)
        return message

    def answered(self, message: Message, answer: Any) -> None:
        """Take note of the children that an answer has launched."""
        query, path = message.query, message.path
        launches, answers = (query,), (answer,)
        if isinstance(query, LaunchMany) and isinstance(answer, tuple):
            launches, answers = query.launches, answer
        for launch, each in zip(launches, answers, strict=True):
            if isinstance(each, Launched) and each.child is not None:
                place = (*path, each.child)
                mechanism = getattr(launch, "mechanism", launch)  # an `Open` launches too
                if place not in [known for known, _ in self.alive]:
                    self.alive.append((place, mechanism))
                    self._inside(place, mechanism)

    def _inside(self, path: tuple[Any, ...], mechanism: InteractiveMechanism[Any]) -> None:
        if isinstance(mechanism, ConComp):
            self.alive += [((*path, i), each) for i, each in enumerate(mechanism.mechanisms)]
        if isinstance(mechanism, Parallel):
            self.alive += [((*path, name), each) for name, each in mechanism.mechanisms.items()]

    def _statistic(self) -> Watched:
        self.count += 1
        return Watched(self.count, fails=self.chance.randrange(12) == 0)

    def _query(self, mechanism: Any) -> Any:
        match mechanism:
            case m.SparseVector():
                if self.chance.randrange(3):
                    return self._statistic()
                return AskMany([self._statistic() for _ in range(3)])
            case m.LaplaceNoiseReduction() | m.Open():
                return self.chance.choice((m.Refine(), m.Refine(), Latest(), CanAfford(m.Refine())))
            case RandomBits() | Faulty():
                return "bits"
            case ConComp() | Parallel():
                return PrivacyLossQuery()
        person = getattr(mechanism, "person", None)
        if isinstance(person, m.BrownianNoiseReduction) and self.chance.randrange(2):
            return m.Open(self._statistic(), (900, 300, 30))
        pure = "PureDP" in repr(mechanism)
        match self.chance.randrange(12):
            case 0:
                return PrivacyLossQuery()
            case 1:
                return CanAfford(self._launch(pure))
            case 2:
                return Launch(m.Laplace(self._statistic(), epsilon=9))  # above most budgets
            case 3 | 4:
                return LaunchMany([self._launch(pure) for _ in range(self.chance.randint(1, 3))])
        return self._launch(pure)

    def _launch(self, pure: bool) -> Launch:
        """A launch that fits a filter of this measure, where the budget is large enough."""
        makers: list[Callable[[], Any]] = [
            lambda: m.Laplace(self._statistic(), epsilon="1/50"),
            lambda: RandomBits(SMALL),
            lambda: RandomWord(SMALL),
            lambda: m.SparseVector(20, epsilon="1/10", cutoff=2),
            lambda: m.LaplaceNoiseReduction(self._statistic(), scales=[900, 300, 100, 30]),
            lambda: FiltCon(PureDP("1/20")),
            lambda: Courier() @ FiltCon(PureDP("1/20")),
            lambda: Launch(OdomCon(PureDP), PureDP("1/20")),
            lambda: ConComp([RandomBits(SMALL), FiltCon(PureDP("1/20"))]),
            parts,
            lambda: FAULTY,
            lambda: FAULTY_AT_LAUNCH,
        ]
        if not pure:
            makers += [
                lambda: m.Gaussian(self._statistic(), rho="1/200"),
                lambda: m.BrownianNoiseReduction() @ FiltCon(ZCDP("1/40")),
                lambda: FiltCon(ZCDP("1/30")),
                lambda: Launch(OdomCon(ZCDP), ZCDP("1/30")),
            ]
        made = self.chance.choice(makers)()
        return made if isinstance(made, Launch) else Launch(made)

    def _wrong(self) -> Any:
        return self.chance.choice(("nonsense", Ask(999, "bits"), Launch("no mechanism"), 3, None))
