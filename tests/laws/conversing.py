"""The table of conversations, and what the laws of conversations need: pictures, faulty leaves."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs
import numpy as np
from immutables import Map

import mechanisms
from composition import (
    Blocks,
    ConComp,
    ExPost,
    FiltCon,
    FiltSeq,
    Individual,
    OdomCon,
    Parallel,
    Partition,
)
from queryable import (
    ZCDP,
    ApproxDP,
    Ask,
    CanAfford,
    InteractiveMechanism,
    Last,
    Launch,
    LaunchOver,
    PrivacyLossQuery,
    PureDP,
    SeededCoins,
    Update,
)
from queryable.audit.views.scripts import snapshot
from queryable.conversation import Compositor, Data, Node, Pass, Ready, made
from queryable.conversation import leaves as reading
from queryable.conversation.frames import only_reads
from queryable.conversation.steps import BROKEN
from queryable.losses import Loss
from queryable.messages import CloseBlock, LaunchMany
from queryable.receipts import RunningTotal
from tests.conversations import Root
from tests.laws.subjects import SIZE
from tests.strategies import Courier, Faulty, Masker, RandomBits, RandomWord, Toy, Twice, raising

ROWS = np.arange(20)
BITS = "bits"
SMALL = PureDP("0.01")
OPEN, WORD = Launch(RandomBits(SMALL)), Launch(RandomWord(SMALL))
MUCH = Launch(Toy(PureDP(100)))
LOUD = Launch(Faulty(raising(ValueError()), good=1, charged=SMALL))
COUNTER = mechanisms.TreeCounter(SIZE, rho="1/100", horizon=9)


@attrs.frozen
class Conversation:
    """A compositor on the runner, its data, and queries that are legal in this order."""

    name: str
    mechanism: Compositor
    script: tuple[Any, ...]
    rows: Any = attrs.field(default=ROWS, repr=False)

    def __str__(self) -> str:
        return self.name

    def root(self, seed: int = 3) -> Root:
        """It, started."""
        return Root(self.mechanism, Data.of(self.rows), SeededCoins(seed))

    def messages(self) -> Iterator[tuple[Root, Any]]:
        """The root before each message, and the message; it is sent afterwards."""
        root = self.root()
        for query in self.script:
            yield root, query
            root.tell(query)


INNER = Launch(Courier() @ FiltCon(PureDP("0.1")))
MANY = LaunchMany([WORD, OPEN, MUCH, WORD])
ADAPTIVE = (
    WORD,
    PrivacyLossQuery(),
    OPEN,
    Ask(1, BITS),
    CanAfford(OPEN),
    MUCH,
    LOUD,
    Ask(2, BITS),
    INNER,
    Ask(3, OPEN),
    Ask(3, Ask(0, BITS)),
    Ask(3, MANY),
    MANY,
    Ask(2, BITS),
    Ask(3, PrivacyLossQuery()),
    PrivacyLossQuery(2),
)
SEQUENTIAL = (OPEN, Ask(0, BITS), OPEN, Ask(1, BITS), MANY, PrivacyLossQuery())
PARTITION = Partition(lambda row: "even" if row % 2 == 0 else "odd", ("even", "odd"))
COUNT = Launch(mechanisms.Gaussian(mechanisms.Count(), rho="1/150"))
GROWING = (
    Launch(COUNTER),
    Update(ROWS[:7]),
    Ask(0, mechanisms.Total()),
    Launch(Courier() @ FiltCon(ZCDP("0.1"))),
    Ask(1, Launch(COUNTER)),
    Update(ROWS[:3]),
    OPEN,
    Update(ROWS[:5]),
    Ask(1, Ask(0, mechanisms.Total())),
    Ask(0, mechanisms.Total()),
)
PARTS = {"even": RandomBits(SMALL), "odd": FiltCon(PureDP("0.1"))}
FIXED = (
    Launch(ConComp([RandomBits(SMALL), FiltCon(PureDP("0.1")), RandomWord(SMALL)])),
    Ask(0, Ask(0, BITS)),
    Ask(0, Ask(1, OPEN)),
    Launch(Parallel(PARTITION, PARTS)),
    Ask(1, Ask("odd", OPEN)),
    Ask(0, Ask(1, Ask(0, BITS))),
    Ask(0, PrivacyLossQuery()),
)
BLOCKS = (
    Update(ROWS[:4], "monday"),
    CloseBlock("monday"),
    Update(ROWS[:3], "tuesday"),
    LaunchOver(RandomBits(SMALL), ["monday"]),
    CloseBlock("tuesday"),
    LaunchOver(FiltCon(PureDP("0.1")), Last(2)),
    LaunchMany([LaunchOver(RandomWord(SMALL), Last(1)), LaunchOver(RandomBits(SMALL), Last(2))]),
    Ask(0, BITS),
    Ask(1, OPEN),
    PrivacyLossQuery(),
)
REDUCTION = mechanisms.LaplaceNoiseReduction(SIZE, scales=[100, 10, 3, 1])
CONVERSATIONS = (
    Conversation("FiltCon", FiltCon(PureDP(1)), ADAPTIVE),
    Conversation("OdomCon", OdomCon(PureDP), (*ADAPTIVE[:5], LOUD, MANY, Ask(2, BITS))),
    Conversation("FiltSeq", FiltSeq(PureDP(1)), SEQUENTIAL),
    Conversation(
        "halting FiltCon",
        FiltCon(PureDP("0.02"), on_exceed="halt"),
        (OPEN, Ask(0, BITS), LaunchMany([WORD, WORD, WORD]), Ask(0, BITS), PrivacyLossQuery()),
    ),
    Conversation(
        "ExPost",
        ExPost(PureDP("1/2")),
        (
            Launch(REDUCTION),
            Ask(0, mechanisms.Refine()),
            OPEN,
            Ask(1, BITS),
            Ask(0, mechanisms.Refine(3)),
            Ask(0, PrivacyLossQuery()),
            MUCH,
            Ask(0, mechanisms.Refine()),
        ),
    ),
    Conversation(
        "ExPost with a pool",
        ExPost(ApproxDP(1, "1e-6"), slack="1e-7"),
        (
            COUNT,
            Launch(REDUCTION),
            Launch(RandomBits(ZCDP("1/150"))),
            Ask(2, BITS),
            Ask(1, mechanisms.Refine()),
            OPEN,
            COUNT,
            MUCH,
            Ask(1, mechanisms.Refine()),
            PrivacyLossQuery(),
        ),
    ),
    Conversation("Courier of FiltCon", Courier() @ FiltCon(PureDP(1)), ADAPTIVE[:5]),
    Conversation(
        "Twice of FiltCon", Twice() @ FiltCon(PureDP(1)), (OPEN, Ask(0, BITS), WORD, MANY)
    ),
    Conversation("Masker of bits", Masker() @ RandomBits(), (BITS, BITS, BITS)),
    Conversation(
        "Parallel",
        Parallel(PARTITION, PARTS),
        (Ask("even", BITS), Ask("odd", OPEN), Ask("odd", Ask(0, BITS)), Ask("odd", MANY)),
    ),
    Conversation(
        "Individual",
        Individual("1/50"),
        (
            COUNT,
            OPEN,
            Ask(1, BITS),
            CanAfford(OPEN),
            Update(ROWS[:4]),
            COUNT,
            INNER,
            Ask(3, OPEN),
            LOUD,
            Ask(3, Ask(0, BITS)),
            COUNT,
            PrivacyLossQuery(2),
        ),
    ),
    Conversation("growing FiltCon", FiltCon(ZCDP(1)), GROWING),
    Conversation(
        "ConComp",
        ConComp([RandomBits(SMALL), FiltCon(PureDP("0.1"))]),
        (Ask(0, BITS), Ask(1, OPEN), Ask(1, Ask(0, BITS)), PrivacyLossQuery()),
    ),
    Conversation("fixed children", FiltCon(PureDP(1)), FIXED),
    Conversation("Blocks", Blocks(FiltCon(PureDP(1))), BLOCKS),
)


def picture(value: Any) -> Any:
    """A state by value, with all that a `Later` stands for. It reads data."""
    value = made(value)
    if type(value) is Node:
        children = (
            (repr(each), child.messages, picture(child.state))
            for each, child in value.children.items()
        )
        return (picture(value.own), sorted(children, key=lambda child: child[0]))
    if isinstance(value, Map | Loss | RunningTotal | InteractiveMechanism):
        return value
    if attrs.has(type(value)):
        fields = attrs.fields(type(value))
        return [(field.name, picture(getattr(value, field.name))) for field in fields]
    if isinstance(value, tuple | list):
        return list(map(picture, value))
    return snapshot(value)


Leaf = Callable[[Any, Any, Any, Any], Any]


@contextmanager
def leaves(read: Callable[[Leaf, int, Any], Any]) -> Iterator[list[int]]:
    """Let a function stand between the runner and its leaves.

    It gets the way to run a leaf, the number of the leaf in the block from 1 on, and the step.
    """
    plain, count = reading.read, [0]

    def counted(step: Any, mechanism: Any, state: Any, coins: Any) -> Any:
        count[0] += 1
        return read(lambda: plain(step, mechanism, state, coins), count[0], step)  # type: ignore[arg-type]

    reading.read = counted
    try:
        yield count
    finally:
        reading.read = plain


@contextmanager
def tossed() -> Iterator[list[tuple[tuple[Any, ...], int]]]:
    """The coins that leaves are given in the block: the ids on the way, and which message it is.

    Those of reports, which toss none, are left out.
    """
    plain = reading.read
    found: list[tuple[tuple[Any, ...], int]] = []

    def read(step: Any, mechanism: Any, state: Any, coins: Any) -> Any:
        if type(step) is not Ready and not (type(step) is Pass and only_reads(step.query)):
            found.append((coins._path, coins._message))
        return plain(step, mechanism, state, coins)

    reading.read = read  # type: ignore[assignment]
    try:
        yield found
    finally:
        reading.read = plain


def at(state: Any, path: Sequence[Any]) -> Any:
    """The state of the child at a path; None if it is not live, BROKEN if one on the way is."""
    for each in path:
        if state is BROKEN:
            break
        child = state.children.get(each) if type(state) is Node else None
        if child is None:
            return None
        state = child.state
    return state


def raising_at(place: int, fault: BaseException) -> Callable[..., Any]:
    """The leaf of this number raises, after it has run."""

    def read(run: Callable[[], Any], number: int, step: Any) -> Any:
        found = run()
        return (None, fault) if number == place else found

    return read


def breaking_at(place: int) -> Callable[..., Any]:
    """An interrupt arrives in the runner itself, when the leaf of this number has run."""

    def read(run: Callable[[], Any], number: int, step: Any) -> Any:
        found = run()
        if number == place:
            raise KeyboardInterrupt
        return found

    return read
