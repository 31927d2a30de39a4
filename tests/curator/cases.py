"""What a ledger has to give back as memory does: a mechanism, its data, and messages to it.

The subjects of `tests/laws`, the mechanisms of `tests/encoded.py`, and those that need a table,
parts of the data, or a mechanism within another one.
"""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

import composition as c
import mechanisms as m
import queryable as q
from composition.rules import Additive
from curator.codec import entry_of
from mechanisms.first_good import FirstGood, Try
from mechanisms.multiplicative_weights import SyntheticHistogram
from mechanisms.refinement.gaussian_reduction import GaussianNoiseReduction
from mechanisms.refinement.refine_queries import Latest
from queryable import Ask, InteractiveMechanism, Launch, PureDP
from queryable.messages import AskMany, LaunchMany
from tests.encoded import ODOMETERS, ROWS, SCRIPTS
from tests.laws.subjects import ASKED, BITS, DATA, OPEN, WORD
from tests.stored import STORED
from tests.strategies import Courier, Masker, RandomBits, Toy


@attrs.frozen
class Case:
    """A mechanism, what makes its data, and messages that are legal in this order."""

    name: str
    mechanism: InteractiveMechanism[Any]
    data: Callable[[], Any]
    script: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return self.name


@attrs.frozen
class Named:
    """A launch with a name, or several with a name or None each, at a path."""

    query: Launch | LaunchMany
    names: tuple[str | None, ...]
    path: tuple[Any, ...] = ()


VISITS = {
    "who": [number % 13 for number in range(40)],
    "age": [20 + number * 7 % 60 for number in range(40)],
    "city": ["abc"[number % 3] for number in range(40)],
    "month": [number % 12 for number in range(40)],
}


def visits() -> m.Table:
    """A table of which a unit has several rows."""
    return m.Table(VISITS, privacy_unit="who", max_rows=2)


TABLE = visits()
OLD = m.column("age") >= 40
BOUNDS = {"age": (0, 100), "month": (0, 11)}
SMALL = {"loss": q.ZCDP("1/1000")}
RELEASED = (
    TABLE.count(OLD),
    TABLE.count_units(),
    TABLE.rows_per_unit([1, 2]),
    TABLE.sum("age", 0, 100),
    TABLE.mean("age", 0, 100, OLD),
    TABLE.variance("age", 0, 100),
    TABLE.std("age", 0, 100),
    TABLE.histogram("age", bins=range(0, 101, 20)),
    TABLE.histogram("city", categories=["a", "b"]),
    TABLE.quantile("age", "1/4", range(0, 100, 5)),
    TABLE.quantile("age", ["1/4", "3/4"], range(0, 100, 5)),
    TABLE.top("city", 2, ["a", "b", "c"]),
    TABLE.covariance("age", "month", bounds=BOUNDS),
    TABLE.correlation("age", "month", bounds=BOUNDS),
    TABLE.regress("age", "month", bounds=BOUNDS),
    TABLE.group_by({"city": ["a", "b"]}).count(OLD),
    TABLE.group_by(m.Keys.bins("age", [0, 30, 60, 100])).mean("month", 0, 11),
    TABLE.per_unit("count", upper=5, where=OLD).mean(),
    TABLE.group_by({"city": ["a", "b"]}).per_unit("sum", "age", 0, 300).median(range(0, 300, 50)),
)
COUNT, UNIT = TABLE.count(OLD), TABLE.unit
WEIGHTS = m.PrivateMultiplicativeWeights(
    m.Histogram("city", ["a", "b", "c"], per=UNIT), records=40, epsilon=1, threshold=5, updates=3
)
NUMBERED = m.PrivateMultiplicativeWeights(20, records=20, epsilon=2, threshold=1, updates=3)
HALVES = [m.LinearQuery([int(each % period == 0) for each in range(20)]) for period in (2, 3, 5)]
REFINED = (
    m.Open(COUNT, (900, 300, 30)),
    Ask("estimate 0", m.Refine()),
    Ask("estimate 0", m.Until(m.AbsoluteError(40))),
    Ask("estimate 0", Latest()),
)


def within(child: int, script: Any) -> tuple[Any, ...]:
    """A script, for the child of this number."""
    return tuple(Ask(child, each) for each in script)


def rows() -> Any:
    return ROWS


def numbers() -> Any:
    return DATA


def _on_tables() -> Iterator[Case]:
    zcdp = c.FiltCon(q.ZCDP(1))
    launches = [Launch(each.measurement(q.ZCDP, 1, **SMALL)) for each in RELEASED]
    yield Case("releases of a table", zcdp, visits, (*launches, LaunchMany(launches[:4])))
    mixed = (
        Launch(m.SparseVector(10, epsilon="1/10", cutoff=2, sensitivity=2)),
        Launch(m.BrownianNoiseReduction() @ c.FiltCon(q.ZCDP("1/100"))),
        Ask(0, COUNT),
        *within(1, REFINED[:2]),
        Ask(0, AskMany([COUNT] * 3)),
        Launch(WEIGHTS @ c.FiltCon(PureDP(1))),
        *within(1, REFINED[2:]),
        Ask(2, m.LinearQuery.where(m.column("city") == "a")),
        Ask(2, SyntheticHistogram()),
        Launch(m.Gaussian(COUNT, rho="1/1000")),
        Ask(0, COUNT),
        Launch(c.FiltCon(q.ZCDP("1/100"))),
        Ask(4, Launch(m.Gaussian(COUNT, rho="1/10"))),
        Ask(4, Launch(m.ExponentialMechanism(m.Quantile("age", "1/2", [30, 60], per=UNIT), "1/9"))),
        Ask(2, m.LinearQuery.where(m.column("city") == "b")),
    )
    yield Case("a table, all in turns", zcdp, visits, mixed)
    yield Case("a sparse vector on a table", mixed[0].mechanism, visits, (COUNT,) * 4)


def _of_records() -> Iterator[Case]:
    """An account for each unit of a table, with children that are asked after units have left."""
    counted = Launch(m.Gaussian(COUNT, rho="1/20"))
    everyone = Launch(m.Gaussian(m.CountUnits(per=UNIT), rho="1/40"))
    script = (
        everyone,
        Launch(m.SparseVector(10, epsilon="1/10", cutoff=2, sensitivity=2)),
        Launch(c.Individual("1/100")),
        counted,
        Ask(1, COUNT),
        Ask(2, Launch(m.Gaussian(COUNT, rho="1/150"))),
        Launch(c.FiltCon(q.ZCDP("1/100"))),
        counted,
        Ask(2, Launch(m.Gaussian(COUNT, rho="1/150"))),
        Ask(4, Launch(m.Gaussian(COUNT, rho="1/150"))),
        everyone,
        Ask(1, COUNT),
        q.PrivacyLossQuery(),
    )
    yield Case("Individual on a table", c.Individual("1/10"), visits, script)
    inner = (Launch(c.Individual("1/10")), everyone, *within(0, script), everyone)
    yield Case("Individual within FiltCon", c.FiltCon(q.ZCDP("1/2")), visits, inner)


def _of_runs() -> Iterator[Case]:
    """The best of several analyses, keys that are found, and what follows them."""
    queries = (Launch(m.Laplace(COUNT, epsilon="1/20")), Launch(m.Laplace(COUNT, epsilon="1/20")))
    analysis = m.Scripted(c.FiltCon(PureDP("1/10")), queries)
    runs = m.TruncatedNegativeBinomial(1, "1/3")
    script = (
        Launch(m.Best(analysis, "largest", runs)),
        Launch(m.Best(analysis, "smallest", m.Threshold(-1, "1/9"))),
        Launch(m.PrivateKeys(m.DiscoveredKeys("city", per=UNIT), epsilon=1, delta="1e-6")),
        Launch(m.PrivateKeys(m.DiscoveredKeys("city", per=UNIT), epsilon=9, delta="1/10")),
        Launch(c.FiltCon(q.ApproxDP(1, "1e-6"))),
        Ask(4, Launch(analysis)),
        Ask(4, Launch(m.Best([analysis, analysis], "largest", runs))),
        Launch(analysis),
    )
    yield Case("Best and PrivateKeys", c.FiltCon(q.ApproxDP(12, "1/5")), visits, script)
    search = Launch(FirstGood("1/5", runs, 3))
    tries = (Try(analysis, "largest", 10**6), Try(m.Laplace(COUNT, epsilon="1/5"), "largest", -99))
    tried = (search, Ask(0, tries[0]), WORD, Ask(0, tries[1]), search, Ask(2, tries[1]), *queries)
    yield Case("FirstGood in ExPost", c.ExPost(PureDP(3)), visits, tried)
    yield Case("FirstGood in FiltCon", c.FiltCon(PureDP(3)), visits, tried)


def _with_parts() -> Iterator[Case]:
    parts = c.Partition("city", ["a", "b"])
    inner = c.Parallel(parts, {"a": c.FiltCon(PureDP(1)), "other": RandomBits(PureDP(1))})
    script = (
        Ask("a", WORD),
        Ask("other", BITS),
        Ask("a", OPEN),
        Ask("a", Ask(1, BITS)),
        Ask("a", Launch(Toy(PureDP(9)))),
        Ask("other", BITS),
        q.PrivacyLossQuery(2),
    )
    yield Case("Parallel with a filter", inner, rows, script)
    yield Case(
        "Parallel within FiltCon",
        c.FiltCon(PureDP(3)),
        rows,
        (WORD, Launch(inner), *within(1, script), WORD),
    )


def _with_choices() -> Iterator[Case]:
    chosen = (OPEN, BITS, BITS)
    yield Case("Universal", c.Universal(PureDP(1)), numbers, chosen)
    filtered = (Launch(c.FiltCon(PureDP(1))), OPEN, Ask(0, BITS), WORD, Launch(Toy(PureDP(9))))
    yield Case("Universal of a filter", c.Universal(PureDP(1)), numbers, filtered)
    yield Case(
        "Universal within FiltCon",
        c.FiltCon(PureDP(3)),
        numbers,
        (Launch(c.Universal(PureDP(1))), Ask(0, Launch(Toy(PureDP(2)))), *within(0, filtered)),
    )


def _of_approximate() -> Iterator[Case]:
    """Compositors whose children have a delta."""
    flip = Launch(m.RandomizedResponse(q.Bit(bool_of), odds=2, delta="1e-9"))
    budget = q.ApproxDP(9, "1e-6")
    script = (
        flip,
        Launch(c.FiltCon(q.ApproxDP("1/2", "1e-7"), rule=c.Whitehouse2023())),
        Ask(1, OPEN),
        flip,
        Ask(1, Ask(0, BITS)),
        Launch(m.RandomizedResponse(q.Bit(bool_of), odds=2, delta="1/2")),
        OPEN,
        Ask(1, WORD),
        q.PrivacyLossQuery(),
    )
    yield Case("FiltCon (epsilon, delta)", c.FiltCon(budget), numbers, script)
    yield Case("OdomCon (epsilon, delta)", c.OdomCon(q.ApproxDP), numbers, script)
    half = c.Whitehouse2023("5e-7")
    yield Case("FiltCon with half the delta", c.FiltCon(budget, rule=half), numbers, script)
    pair = c.ConComp([c.FiltCon(budget), flip.mechanism, RandomBits()])
    yield Case("ConComp (epsilon, delta)", pair, numbers, (*within(0, script), Ask(2, BITS)))


def _of_odometers() -> Iterator[Case]:
    """Odometers of every kind with live children, in filters and behind persons."""
    small = q.ZCDP("1/1000")
    children = (
        Launch(RandomBits(small)),
        Ask(0, BITS),
        Launch(Courier() @ c.FiltCon(small)),
        Ask(1, Launch(RandomBits(q.ZCDP("1/9000")))),
        Ask(1, Ask(0, BITS)),
        q.PrivacyLossQuery(),
        Ask(0, BITS),
    )
    for measure, rule in ODOMETERS:
        if measure is q.ZCDP:
            name, alone = f"odometer {type(rule).__name__}", c.OdomCon(measure, rule)
            yield Case(name, alone, numbers, children)
            yield Case(f"person of {name}", Masker() @ alone, numbers, children)
    bounded = (
        Launch(c.OdomCon(q.ZCDP), q.ZCDP("1/10")),
        *within(0, children),
        Launch(RandomBits(small)),
    )
    yield Case("OdomCon as a filter", c.FiltCon(q.ZCDP(1)), numbers, bounded)
    rule = c.filter_of(Additive(q.ZCDP))
    yield Case("filter of an accumulator", c.FiltCon(q.ZCDP(1), rule), numbers, children)


def _of_persons() -> Iterator[Case]:
    weights = NUMBERED @ c.FiltCon(PureDP(2))
    asked = (*HALVES, SyntheticHistogram(), *HALVES)
    yield Case("PrivateMultiplicativeWeights", weights, numbers, asked)
    nested = (Launch(Courier() @ weights), WORD, *within(0, asked), Launch(Toy(PureDP(9))))
    yield Case("PrivateMultiplicativeWeights within", c.FiltCon(PureDP(3)), numbers, nested)
    reduction = Launch(m.LaplaceNoiseReduction(m.Count(), scales=[100, 10, 3, 1]))
    finer = Launch(GaussianNoiseReduction(m.Count(), variances=[900, 90, 9], missed="1e-6"))
    both = (finer, Ask(0, m.Refine()), WORD, reduction, Ask(2, m.Refine()), Ask(0, m.Refine(9)))
    yield Case("reductions of both kinds", c.ExPost(q.ApproxDP(4, "1e-5")), numbers, both)
    pooled = m.BrownianNoiseReduction() @ c.ExPost(q.ApproxDP(2, "1e-5"), slack="1e-6")
    refined = (
        *(m.Open(m.Count(), [900, 90, 9]), Ask("estimate 0", m.Refine()), reduction),
        *(Ask(1, m.Refine()), Ask("estimate 0", m.Refine()), WORD, q.PrivacyLossQuery()),
        *(Launch(c.FiltCon(q.ZCDP("1/900"))), Ask("estimate 0", m.Refine()), Ask(1, m.Refine())),
    )
    yield Case("Brownian reductions in a pool", pooled, numbers, refined)
    noisy = Launch(m.Gaussian(m.Count(), rho="1/900"))
    beside = (reduction, noisy, Ask(0, m.Refine()), noisy, Launch(RandomBits(q.ZCDP("1/900"))))
    beside += (
        Ask(3, BITS),
        LaunchMany([noisy, noisy]),
        Launch(m.Gaussian(m.Count(), rho=9)),
        noisy,
    )
    yield Case("a pool", c.ExPost(q.ApproxDP(2, "1e-5"), slack="1e-6", lines=2), numbers, beside)
    paid = (reduction, Ask(0, m.Refine()), WORD, reduction, Ask(0, m.Refine(3)), Ask(2, m.Refine()))
    yield Case("person of ExPost", Courier() @ c.ExPost(PureDP(2)), numbers, paid)
    inner = (Launch(c.ExPost(PureDP(1))), *within(0, paid), WORD)
    yield Case("ExPost within FiltCon", c.FiltCon(PureDP(3)), numbers, inner)


@attrs.frozen
class Lengthy(Courier):
    """Answers several launches with as many numbers as no message has entries."""

    def step(self, state: int, message: Any, coins: q.Coins) -> Any:
        if isinstance(message, q.FromMechanism) and isinstance(message.answer, tuple):
            return state + 1, q.ToAnalyst((1, 2, 3))
        return super().step(state, message, coins)


def _of_several() -> Iterator[Case]:
    """An answer that is not one of each entry is the answer to all of them, also when run again."""
    script = (LaunchMany([WORD, WORD]), OPEN, LaunchMany([WORD]), Ask(2, BITS))
    yield Case("an answer to all", Lengthy() @ c.FiltCon(PureDP(1)), numbers, script)


def _of_names() -> Iterator[Case]:
    several = LaunchMany([OPEN, WORD, WORD])
    script = (
        Named(OPEN, ("bits",)),
        Ask(0, BITS),
        Named(OPEN, ("bits",)),
        Named(several, ("bits", None, "word")),
        Launch(c.FiltCon(PureDP("1/2"))),
        Named(OPEN, ("bits",), (3,)),
        Ask(3, Ask(0, BITS)),
        Named(Launch(Toy(PureDP(9))), ("too much",)),
        Named(WORD, ("word",)),
    )
    yield Case("names", c.FiltCon(PureDP(1)), numbers, script)


def bool_of(dataset: Any) -> bool:
    """A bit of the data."""
    return len(dataset) > 3


TAGGED = STORED.joined([entry_of("tests.lengthy/1", Lengthy)])
"""The codec of all cases."""

CASES = (
    *(Case(each.name, each.mechanism, numbers, each.script) for each in ASKED),
    *(
        Case(f"{type(mechanism).__name__} {place}", mechanism, rows, queries)
        for place, (mechanism, queries) in enumerate(SCRIPTS)
    ),
    *_on_tables(),
    *_of_records(),
    *_of_runs(),
    *_with_parts(),
    *_with_choices(),
    *_of_approximate(),
    *_of_odometers(),
    *_of_persons(),
    *_of_several(),
    *_of_names(),
)
"""All cases."""


def kinds_in(value: Any) -> Iterator[type]:
    """The classes of a value and of what it holds."""
    yield type(value)
    if attrs.has(type(value)):
        for field in attrs.fields(type(value)):
            yield from kinds_in(getattr(value, field.name))
    elif isinstance(value, tuple | list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from kinds_in(each)
