"""Subjects of the laws: every mechanism and compositor, with a script of legal queries."""

import inspect
import warnings
from collections.abc import Iterator
from importlib import import_module
from itertools import takewhile
from typing import Any

import attrs
import numpy as np

import mechanisms
from composition import (
    AtMostADay,
    Blocks,
    ConComp,
    ExPost,
    Filt,
    FiltCon,
    FiltSeq,
    Individual,
    Odom,
    OdomCon,
    OdomSeq,
    Whitehouse2023,
)
from mechanisms.first_good import FirstGood
from mechanisms.refinement.refine_queries import Latest
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import Literal
from queryable import (
    ZCDP,
    ApproxDP,
    Ask,
    Bit,
    CanAfford,
    InteractiveMechanism,
    Last,
    Launch,
    LaunchOver,
    PrivacyLossQuery,
    PureDP,
    Update,
    UserLevel,
)
from queryable.errors import AccuracyWarning
from queryable.messages import AskMany, CloseBlock, LaunchMany, RemainingQuery, is_owners
from queryable.streams.blocks import BlockLossQuery, BlocksQuery
from tests.instances import CALLS, DATA, QUERIES
from tests.instances.functions import SIZE, TALLY, odd
from tests.instances.of_mechanisms import COUNTED, SEEN
from tests.strategies import (
    Courier,
    Faulty,
    HiddenBit,
    Masker,
    RandomBits,
    RandomWord,
    RationalResponse,
    Toy,
    Twice,
    raising,
)

ONE = mechanisms.Keys(Column(Literal(1)), (1, 2))
"""Groups of rows that need no column."""
BITS = "bits"
OPEN = Launch(RandomBits(PureDP("0.01")))
WORD = Launch(RandomWord(PureDP("0.01")))

warnings.filterwarnings("ignore", category=AccuracyWarning)  # a plugin imports this first


@attrs.frozen
class Subject:
    """A mechanism, and queries that are legal in this order."""

    name: str
    mechanism: InteractiveMechanism[Any]
    script: tuple[Any, ...] = ()
    random: bool = True

    def __str__(self) -> str:
        return self.name


def compositor(name: str, mechanism: InteractiveMechanism[Any]) -> Subject:
    """A compositor of interactive mechanisms, with a script that launches, asks and nests."""
    nested = 3 if "Odom" in name else 2  # an odometer admits the overspending launch
    script = (
        WORD,
        PrivacyLossQuery(),
        OPEN,
        Ask(1, BITS),
        CanAfford(OPEN),
        Ask(1, BITS),
        Launch(Toy(PureDP(100))),
        Launch(Courier() @ FiltCon(PureDP("0.1"))),
        Ask(nested, OPEN),
        Ask(1, BITS),
        Ask(nested, Ask(0, BITS)),
        LaunchMany([WORD, OPEN, Launch(Toy(PureDP(100))), WORD]),
        Ask(nested, LaunchMany([WORD, OPEN])),
        PrivacyLossQuery(2),
    )
    return Subject(name, mechanism, script)


def refining(name: str, person: Any, schedule: Any) -> Subject:
    """Two estimates and other launches, interleaved, with a refusal."""
    script = (
        mechanisms.Open(SIZE, schedule),
        mechanisms.Open(TALLY, schedule),
        Ask("estimate 0", mechanisms.Refine()),
        WORD,
        Ask("estimate 1", mechanisms.Refine()),
        OPEN,
        Ask("estimate 0", mechanisms.Until(mechanisms.AbsoluteError(14))),
        Ask(3, BITS),
        Ask("estimate 1", mechanisms.Refine()),
        Ask("estimate 1", CanAfford(mechanisms.Refine())),
        Ask("estimate 0", PrivacyLossQuery()),
        Ask("estimate 1", Latest()),
    )
    return Subject(name, person @ FiltCon(ZCDP(1)), script)


def over_blocks(name: str, mechanism: InteractiveMechanism[Any]) -> Subject:
    """Launches over blocks, with batches in between; a person sends several one by one."""
    many = LaunchMany([over(WORD, "a"), over(OPEN, "a", "b"), over(Launch(Toy(PureDP(9))), "b")])
    script = (
        Update(DATA[:3], "a"),
        Update(DATA[:2], "a"),
        CloseBlock("a"),
        over(OPEN, "a"),
        Ask(0, BITS),
        Update(DATA, "b"),
        Ask(0, BITS),
        CloseBlock("b"),
        CanAfford(LaunchOver(Toy(PureDP(9)), Last(1))),
        over(Launch(Toy(PureDP(9))), "b"),
        over(Launch(Courier() @ FiltCon(PureDP("0.1"))), "a", "b"),
        Ask(1, OPEN),
        Ask(1, Ask(0, BITS)),
        LaunchOver(RandomWord(PureDP("0.01")), Last(2)),
        *(() if "AtMostADay" in name else (many,)),
        PrivacyLossQuery(),
        BlockLossQuery("b"),
        BlocksQuery(),
    )
    return Subject(name, mechanism, script)


def over(launch: Launch, *blocks: str) -> LaunchOver:
    return LaunchOver(launch.mechanism, blocks, launch.d_out)


TOYS = (
    Subject("Toy", Toy(), (BITS, BITS), random=False),
    Subject("RandomBits", RandomBits(), (BITS, BITS, BITS)),
    Subject("RandomWord", RandomWord()),
    Subject("RationalResponse", RationalResponse()),
    Subject("HiddenBit", HiddenBit(), (BITS,) * 8),
)
COMPOSITORS = (
    compositor("FiltCon", FiltCon(PureDP(1))),
    compositor("FiltCon Whitehouse2023", FiltCon(ApproxDP(1, "1e-6"), rule=Whitehouse2023())),
    compositor("ExPost, no reductions", ExPost(PureDP(1))),
    Subject(
        "ExPost",
        ExPost(PureDP("1/2")),
        (
            Launch(mechanisms.LaplaceNoiseReduction(SIZE, scales=[100, 10, 3, 1])),
            Launch(mechanisms.LaplaceNoiseReduction(SIZE, scales=[50, 20])),
            Ask(0, mechanisms.Refine()),
            Ask(1, mechanisms.Refine(20)),
            OPEN,
            Ask(0, mechanisms.Refine(3)),
            Ask(0, mechanisms.Refine()),
            Ask(0, PrivacyLossQuery()),
            WORD,
            Launch(Toy(PureDP(100))),
            Ask(2, BITS),
            CanAfford(Ask(0, mechanisms.Refine())),
            PrivacyLossQuery(2),
        ),
    ),
    Subject(
        "ExPost with a pool",
        ExPost(ApproxDP(1, "1e-6"), slack="1e-7"),
        (
            Launch(mechanisms.Gaussian(SIZE, rho="1/1000")),
            Launch(FiltCon(ZCDP("1/1000"))),
            Ask(1, Launch(mechanisms.Gaussian(SIZE, rho="1/2000"))),
            Launch(mechanisms.LaplaceNoiseReduction(SIZE, scales=[100, 10, 3, 1])),
            Ask(2, mechanisms.Refine()),
            WORD,
            Launch(RandomWord(PureDP("1/10")), ZCDP("1/200")),
            Launch(mechanisms.Gaussian(SIZE, rho=1)),
            Ask(2, mechanisms.Refine()),
            CanAfford(Launch(mechanisms.Gaussian(SIZE, rho="1/1000"))),
            LaunchMany([Launch(mechanisms.Gaussian(SIZE, rho="1/1000"))] * 2),
            RemainingQuery(),
            PrivacyLossQuery(2),
        ),
    ),
    compositor("OdomCon", OdomCon(PureDP)),
    compositor("OdomCon zCDP", OdomCon(ZCDP)),
    compositor("FiltSeq", FiltSeq(PureDP(1))),
    compositor("OdomSeq", OdomSeq(PureDP)),
    Subject("Filt", Filt(PureDP("0.025")), (WORD, LaunchMany([WORD, WORD]), PrivacyLossQuery())),
    Subject("Odom", Odom(PureDP), (WORD, LaunchMany([WORD, WORD]), PrivacyLossQuery(3))),
    Subject(
        "ConComp",
        ConComp([RandomBits(), RandomWord(), FiltCon(PureDP(1))]),
        (Ask(0, BITS), Ask(2, OPEN), Ask(2, Ask(0, BITS)), Ask(0, BITS), PrivacyLossQuery()),
    ),
    Subject(
        "Individual",
        Individual("1/50"),
        (
            PrivacyLossQuery(),
            Launch(mechanisms.Gaussian(mechanisms.Count(), rho="1/150")),
            OPEN,
            Ask(1, BITS),
            CanAfford(OPEN),
            Launch(mechanisms.Gaussian(SIZE, rho="1/100")),
            Launch(Courier() @ FiltCon(PureDP("0.1"))),
            Ask(3, OPEN),
            Ask(1, BITS),
            Ask(3, Ask(0, BITS)),
            Launch(mechanisms.Gaussian(mechanisms.Count(), rho="1/150")),
            WORD,
            PrivacyLossQuery(2),
        ),
    ),
    over_blocks("Blocks", Blocks(FiltCon(PureDP(1)))),
    over_blocks("Blocks, zCDP", Blocks(FiltCon(ZCDP(1)))),
    over_blocks("AtMostADay of Blocks", AtMostADay(PureDP("1/2")) @ Blocks(FiltCon(PureDP(1)))),
    Subject("Courier", Courier() @ RandomBits(), (BITS, BITS)),
    Subject("Masker", Masker() @ RandomBits(), (BITS, BITS)),
    Subject("Twice", Twice() @ RandomBits(), (BITS, BITS)),
    Subject("Masker of Twice", Masker() @ (Twice() @ RandomBits()), (BITS, BITS)),
    compositor("Courier of FiltCon", Courier() @ FiltCon(PureDP(1))),
    Subject(
        "FiltCon with failures",
        FiltCon(PureDP(1)),
        (
            Launch(Faulty(raising(ValueError()), at_launch=True)),
            Launch(Faulty(raising(ValueError()), good=1)),
            OPEN,
            Ask(1, BITS),
            Ask(1, BITS),
            Ask(2, BITS),
        ),
    ),
    Subject(
        "halting FiltCon",
        FiltCon(PureDP("0.02"), on_exceed="halt"),
        (OPEN, Ask(0, BITS), LaunchMany([WORD, WORD, WORD]), Ask(0, BITS), PrivacyLossQuery()),
    ),
)


def of_the_library() -> Iterator[Subject]:
    """The instance of each mechanism of the library, with the queries that it answers.

    Of rooms those that answer queries: others are of data of their own.
    """
    for room, calls in CALLS.items():
        for name, arguments in calls.items():
            kind = getattr(import_module(room), name)
            shown = room == "mechanisms" or name in QUERIES
            if shown and inspect.isclass(kind) and issubclass(kind, InteractiveMechanism):
                yield Subject(name, kind(**arguments), QUERIES.get(name, ()))


MECHANISMS = (
    *of_the_library(),
    Subject(
        "RandomizedResponse delta", mechanisms.RandomizedResponse(Bit(odd), odds=3, delta="1/10")
    ),
    Subject(
        "SparseVector, several at once",
        mechanisms.SparseVector(20, epsilon="1/10", cutoff=3),
        (AskMany([SIZE] * 3), SIZE, AskMany((SIZE,) * 8), AskMany([SIZE])),
    ),
    Subject(
        "TreeCounter, Laplace",
        mechanisms.TreeCounter(TALLY, epsilon="1/10"),
        (*COUNTED, mechanisms.Total()),
    ),
    Subject(
        "TreeCounter of users",
        mechanisms.TreeCounter(mechanisms.Count(), epsilon=1, neighbours=UserLevel("who", 2)),
        (
            Update({"who": np.array([1, 1, 2])}),
            mechanisms.Total(),
            Update({"who": np.ones(3, dtype=int)}),
        ),
    ),
    Subject(
        "ToeplitzCounter, unbounded",
        mechanisms.ToeplitzCounter(TALLY, rho="1/100"),
        (*COUNTED, *SEEN),
    ),
    Subject(
        "Best, Poisson",
        mechanisms.Best(mechanisms.Laplace(SIZE, scale=9), "smallest", mechanisms.Poisson(3)),
    ),
    Subject(
        "ExPost, FirstGood",
        ExPost(PureDP(1)),
        (
            Launch(FirstGood(1, mechanisms.TruncatedNegativeBinomial(0, "1/9"), 3)),
            Ask(0, QUERIES["FirstGood"][0]),
            WORD,
            Ask(0, PrivacyLossQuery()),
            CanAfford(Ask(0, QUERIES["FirstGood"][1])),
            *(Ask(0, each) for each in QUERIES["FirstGood"]),
            PrivacyLossQuery(2),
        ),
    ),
    Subject(
        "Best, Threshold",
        mechanisms.Best(
            [
                mechanisms.Scripted(
                    FiltCon(ZCDP(1)), [WORD, Launch(mechanisms.Gaussian(SIZE, scale=9))]
                ),
                mechanisms.Gaussian(SIZE, scale=9),
            ],
            "largest",
            mechanisms.Threshold(25, "1/9"),
        ),
    ),
    refining("BrownianNoiseReduction", mechanisms.BrownianNoiseReduction(), (900, 300, 30)),
    refining("Doubling", mechanisms.Doubling(500), None),
    refining("Doubling Laplace", mechanisms.Doubling(500, noise="laplace"), None),
    Subject(
        "Frugal",
        mechanisms.Frugal() @ FiltCon(ZCDP(1)),
        (
            mechanisms.Estimate(mechanisms.Count(), 5, fixed_in_advance=True),
            WORD,
            mechanisms.Estimate(mechanisms.Count(), 5, fixed_in_advance=True),
            mechanisms.Estimate(mechanisms.Count(), 3, "0.9"),
            OPEN,
            mechanisms.Estimate(mechanisms.Count(), 1),
            PrivacyLossQuery(),
        ),
    ),
    compositor("Frugal of FiltCon", mechanisms.Frugal() @ FiltCon(PureDP(1))),
    Subject(
        "Synthetic",
        mechanisms.Synthetic(ONE, rounds=1) @ FiltCon(ZCDP(1)),
        (
            mechanisms.Fit("1/10", rounds=1),
            WORD,
            mechanisms.FromModel(mechanisms.Count()),
            mechanisms.SampleRows(5),
            OPEN,
            mechanisms.Fit(2, rounds=1),
            mechanisms.Measurements(),
            PrivacyLossQuery(),
        ),
    ),
    compositor(
        "BrownianNoiseReduction of FiltCon",
        mechanisms.BrownianNoiseReduction() @ FiltCon(PureDP(1)),
    ),
)


def growing(subject: Subject) -> Subject:
    """The subject, with batches after its first query and after every third."""
    script = [
        each
        for place, query in enumerate(subject.script)
        for each in ((query, Update(DATA[: place + 1])) if place % 3 == 0 else (query,))
    ]
    return attrs.evolve(subject, name=f"{subject.name}, growing", script=(*script, Update(DATA)))


GROWING = tuple(
    growing(each)
    for each in (*COMPOSITORS, *MECHANISMS)
    if each.mechanism.growth and not any(map(is_owners, each.script))  # counters have batches
)
SUBJECTS = (*TOYS, *COMPOSITORS, *MECHANISMS, *GROWING)


def asked(subject: Subject) -> Subject:
    """The subject up to its first batch."""
    script = tuple(takewhile(lambda query: not is_owners(query), subject.script))
    return subject if script == subject.script else attrs.evolve(subject, script=script)


ASKED = tuple(
    asked(each)
    for each in (*TOYS, *COMPOSITORS, *MECHANISMS)
    if each.name != "TreeCounter of users"  # no launch in a filter: DATA have no column of users
)
"""The subjects as they are where messages come from analysts only."""
