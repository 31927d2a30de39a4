"""Values that the codec writes: one of each class at least, and what mechanisms answer.

`TESTED` is the codec with the tests' own mechanisms, which join it as those of a site do.
"""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import import_module
from random import Random
from typing import Any

import numpy as np

import composition as c
import mechanisms as m
import queryable as q
from composition.rules import Additive
from composition.rules.menus.costs import fitted
from curator.codec import CODEC, Entry, entry_of
from curator.lost import Lost
from mechanisms import column, when
from mechanisms.first_good import FirstGood, Try
from mechanisms.frugal.combined import Combined
from mechanisms.frugal.joint_launch import GaussiansTogether
from mechanisms.frugal.spread import Spread, Spreads
from mechanisms.linear_queries import Weighted
from mechanisms.multiplicative_weights import SyntheticHistogram, _same
from mechanisms.refinement.gaussian_reduction import GaussianNoiseReduction
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.synthetic.fit_queries import PassedOver
from mechanisms.synthetic.scores import ComparedMarginal, Distances, Marginal
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.expressions.operands import PerUnit
from mechanisms.tables.statistics.releases import Release
from queryable import Ask, Launch, PureDP, SeededCoins
from queryable.answers.noisy import Noise
from queryable.audit.views.scripts import Script
from queryable.losses import (
    Dominated,
    ExPostBound,
    RenyiCurve,
    RenyiOrder,
    RenyiOrders,
    TimeUniformBound,
)
from queryable.messages import AskMany, LaunchMany, MeasureQuery, RemainingQuery, Stated, is_owners
from queryable.randomness.laws import UniformBelow
from queryable.receipts import AskReceipt, Receipt
from queryable.streams.levels import DataLevel, EventLevel
from queryable.view import View
from tests import instances
from tests import strategies as toys
from tests.instances import BUDGET
from tests.laws import subjects
from tests.messy_tables import Types
from tests.random_statistics import Maker

_FUNCTIONS: list[Any] = []
"""Statistics of the tests that hold Python functions; a site would declare classes."""


def _of_function(value: Any) -> tuple[Any, ...]:
    if value not in _FUNCTIONS:
        _FUNCTIONS.append(value)
    return (_FUNCTIONS.index(value),)


OWN = (
    *(
        entry_of(f"tests.{kind.__name__.lower()}/1", kind)
        for kind in (
            *(toys.Toy, toys.RandomBits, toys.RandomWord, toys.RationalResponse, toys.HiddenBit),
            *(toys.Courier, toys.Masker, toys.Twice, m.RandomizedResponse),
        )
    ),
    Entry(
        "tests.function/1",
        (q.Statistic, q.Bit),
        {"place": int},
        _of_function,
        lambda place: _FUNCTIONS[place],
    ),
)
TESTED = CODEC.joined(OWN)

ROWS = {"age": [20, 30, 40, 50], "city": ["a", "b", "a", "c"], "who": [1, 1, 2, 3]}
AGE = column("age")
CITIES = Marginal(m.GroupBy({"city": ["a", "b"]}, m.Count()), ("city",))
UNIT = m.PrivacyUnit("who", max_rows=2, max_groups=1)
PREDICATES = (
    (AGE >= 30) & ~(column("city") == "a") | column("city").is_in(["a", "b"]),
    AGE.is_null() | (column("hours") * 2.5 - 1 > AGE),
    column("city").lower().like("a%") & column("city").strip().upper().contains("B"),
    column("day") >= dt.date(2024, 2, 29),
    column("day").truncate("month") == dt.datetime(2024, 2, 1, 12, 30, tzinfo=dt.UTC),
    column("day").month() + column("day").year() / 2 > 3,
    column("wait") < dt.timedelta(days=2, microseconds=7),
    column("time") <= np.datetime64("2024-01-01T00:00:00.123456789", "ns"),
    column("code") == b"\x00\xff",
    when(AGE >= 65).then("old").when(AGE.is_null()).then(None).otherwise(column("city")) == "old",
    column("name").cast("integer") != 2**62,
    column("name") == 'é"\\\n\x7f\U0001f30d',
    column("share") > float("inf"),
    column("share") != 1e-320,
)
VISITS = PerUnit("count", None, Fraction(0), Fraction(9), where=AGE > 3)
COST = PerUnit("mean", AGE * 2, Fraction(-1, 3), Fraction(90), Fraction(1, 100))
STATISTICS = (
    *(m.Count(where) for where in PREDICATES),
    m.Count(per=UNIT),
    m.CountUnits(AGE > 3, per=UNIT),
    m.UnitSizes([1, 5, 20], per=UNIT),
    m.Mean(VISITS, 0, 9, per=UNIT),
    m.Count(Column(COST) > 2, per=UNIT),
    m.GroupBy({"city": ["a", "b"]}, m.Histogram(COST, bins=[0, 9], per=UNIT)),
    m.Sum("age", "-1/3", 100, unit="0.01"),
    m.Mean(AGE * 2, 0, 100, AGE > 3),
    m.Variance("age", 0, 100),
    m.Std("age", 0, 100),
    m.Histogram("city", ["a", "b", True, 3, 2.5, dt.date(2024, 1, 1)]),
    m.Histogram("age", bins=range(0, 100, 10)),
    m.Quantile("age", "1/2", [1, 2.5, 3]),
    m.Quantiles("age", ["1/4", "3/4"], [dt.date(2024, 1, 1), dt.date(2024, 2, 1)], by={"who": [1]}),
    m.Quantiles("age", "1/2", [1, 2]),
    m.Covariance("age", "who", {"age": (0, 9), "who": ("-1/2", 9)}),
    m.Correlation("age", "who", {"age": (0, 9), "who": (0, 9)}),
    m.Regression("age", ["who"], {"age": (0, 9), "who": (0, 9)}, per=UNIT),
    m.GroupBy({"city": ["a", "b"]}, m.Count()),
    m.GroupBy([m.Keys("city", ["a"]), m.Keys.months("day", "2024-01", "2024-03")], m.Count()),
    m.GroupBy(m.Keys.bins(AGE, [0, 18, 65]), m.Sum("age", 0, 9)),
    m.GroupBy(m.Keys.of(ROWS, "city", "who"), m.Count()),
    m.Top("city", 1, ["a", "b"]),
    m.DiscoveredKeys("city"),
    m.DiscoveredKeys(["city", AGE * 2], 3, AGE > 3, per=UNIT),
    m.Keys("city", ["a"]),
    m.Keys.of(ROWS, "city", "who"),
    AGE,
)
RULES = (
    *map(instances.rule_for, instances.RULES),
    c.Menu("0.1", [1, 2], [1, 4], "5e-7"),
    c.ViaRenyi([2, 8, 32]),
    c.filter_of(Additive(q.ApproxDP)),
    c.filter_of(c.LinearOdometer("1e-7", 1)),
)
ODOMETERS = (
    (PureDP, None),
    (q.RDP.at(8), None),
    (q.RDP.at(2, 8), None),
    (Dominated, None),
    *instances.odometers(),
    (q.ApproxDP, c.accumulator_of(c.Whitehouse2023(), q.ApproxDP, "1e-6")),
    (PureDP, c.accumulator_of(c.Basic(), PureDP)),
)
WORD = Launch(toys.RandomWord(PureDP("0.01")))
SCRIPTS = (
    *((c.FiltCon(BUDGET, rule), (WORD, WORD, Launch(toys.Toy(PureDP(100))))) for rule in RULES),
    *((c.OdomCon(*odometer), (WORD, WORD, q.PrivacyLossQuery())) for odometer in ODOMETERS),
    (m.Gaussian(m.GroupBy({"city": ["a", "b"]}, m.Count()), scale=3), ()),
    (m.Gaussian(m.Count(AGE > 20), scale=3), ()),
    (m.ExponentialMechanism(m.Quantile("age", "1/2", [20, 30]), 1), ()),
    (
        c.FiltCon(q.ZCDP(1)),
        tuple(
            Launch(each.measurement(q.ZCDP, 1, loss=q.ZCDP("1/100")))
            for each in (
                m.Count(AGE > 3),
                m.Mean("age", 0, 100),
                m.GroupBy({"city": ["a", "b"]}, m.Sum("age", 0, 100)),
                m.Quantiles("age", ["1/4", "1/2"], [20, 30, 40]),
                m.Top("city", 2, ["a", "b", "c"]),
            )
        ),
    ),
    (
        m.PrivateKeys(m.DiscoveredKeys(["city", "age"]), noise=DiscreteLaplace("1/9"), threshold=1),
        (),
    ),
    (
        c.FiltCon(q.ApproxZCDP(9, "1e-3")),
        (Launch(m.PrivateKeys(m.DiscoveredKeys("city"), rho=1, delta="1e-6")),),
    ),
    (
        m.PrivateMultiplicativeWeights(4, records=4, epsilon=1, threshold=1, updates=2)
        @ c.FiltCon(PureDP(1)),
        (SyntheticHistogram(),),
    ),
    (
        m.Frugal() @ c.FiltCon(q.ZCDP(9)),
        (
            m.Estimate(m.Count(AGE > 3), 5, fixed_in_advance=True),
            m.Estimate(m.Count((AGE > 3) & (column("city") == "a")), 5, fixed_in_advance=True),
            m.Estimate(m.Histogram("city", ["a", "b"]), 9),
        ),
    ),
    (
        m.Synthetic([{"city": ["a", "b"]}], rounds=1) @ c.FiltCon(q.ZCDP(9)),
        (
            m.Fit(1),
            m.FromModel(m.Histogram("city", ["a", "b"])),
            m.FromModel(m.Count(column("city") == "a")),
            m.Measurements(),
            m.SampleRows(2),
        ),
    ),
    (
        c.Parallel(c.Partition("city", ["a", "b"]), {"a": c.FiltCon(PureDP(1)), "b": toys.Toy()}),
        (Ask("a", WORD), Ask("b", "bits")),
    ),
    (c.Universal(PureDP(1)), (WORD,)),
    (
        m.BrownianNoiseReduction() @ c.ExPost(q.ApproxDP(1, "1e-6"), slack="1e-7", lines=2),
        (
            m.Open(m.Count(), (900, 90)),
            Ask("estimate 0", m.Refine()),
            WORD,
            Ask("estimate 0", m.Refine()),
            q.PrivacyLossQuery(),
        ),
    ),
    (
        c.Individual("1/10"),
        (
            Launch(m.Gaussian(m.Count(AGE > 20), rho="1/20")),
            Launch(m.Count().measurement(q.ZCDP, 1, loss=q.ZCDP("1/30"))),
            Launch(toys.Toy(PureDP("1/10"))),
            Ask(2, "bits"),
            q.PrivacyLossQuery(),
        ),
    ),
)
"""Mechanisms over `ROWS`, with queries."""

OTHERS = (
    *(None, True, False, 0, -1, 2**53, -(2**53) - 1, 10**300, "", "\ud800", "a\u2028"),
    *(0.1, -0.0, 1e22, 1e-7, float("inf"), float("-inf"), 5e-324),
    *(Fraction(-1, 3), Decimal("0.10"), Decimal("-1E+5"), b"", b"\x00\xfe"),
    *(dt.date(2024, 2, 29), dt.datetime(2024, 1, 1, 1, 2, 3, 4), dt.timedelta(-1)),  # noqa: DTZ001
    dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=-3, minutes=-30))),
    *((), (1, (2.5, "x", None)), [], [1, [2, (3,)]], {}, {"b": [1], 2: None}, range(3, 100, 7)),
    *(np.int8(-3), np.uint64(2**64 - 1), np.float32(0.1), np.bool_(True), np.float64("inf")),
    *(np.datetime64("2024-01-01", "D"), np.timedelta64(5, "25us")),
    np.arange(6).reshape(2, 3),
    np.array([2**63 - 1, -(2**63)]),
    np.array([0.5, np.inf, -0.0]),
    np.zeros((0, 3), dtype=np.float16),
    np.array(7, dtype=np.uint8),
    np.array([True, False]),
    np.array([None, (1, 2), "a", 2**70, [1]], dtype=object),
    *(PureDP, q.FDP, q.ZCDP, q.RDP.at(8), q.RDP.at(2, 8), m.Neighbours.SUBSTITUTE),
    *(q.FDP.of_approx(1, "1e-6"), q.FDP.of_gaussian("1/2", 8), q.RDP(8, "1/3")),
    RenyiCurve([2, 8], [1, "4/3"]),
    TimeUniformBound(1, "1e-6"),
    ExPostBound("1/3", 0),
    Lattice(Fraction(0), Fraction(9), Fraction(1, 100)),
    Noise(DiscreteGaussian("9/4"), (2, 3)),
    UniformBelow(2**64),
    AskReceipt(0, 1, PureDP(1), c.Basic().open(PureDP(1))),
    q.Failed(receipt=Receipt(toys.Toy(), None, 1, None, c.Basic().open(PureDP(1)))),
    DataLevel(),
    EventLevel(),
    q.UserLevel("patient", 4),
    q.Halted("no"),
    q.Launched("part", None),
    MeasureQuery(),
    RemainingQuery(q.Last(2)),
    Stated(q.RDP.at(8), 2),
    m.Until(m.RelativeError("1/10"), (Fraction(9), Fraction(3))),
    View(None, (q.view.Exchange((0, "part"), q.PrivacyLossQuery(2), PureDP(1)),)),
    Release(m.Laplace(m.Count(), scale="1/3")),
    m.Laplace(Weighted(_same, np.arange(4)), scale=1),
    Combined(m.GroupBy({"city": ["a", "b"]}, m.Count()), [[[1, -1]]]),
    GaussiansTogether([m.Gaussian(Combined(m.Count(), [[[3]]]), variance=9)]),
    Spreads.of(
        [Spread(Fraction(2), Fraction(1, 3), 1, Fraction(0), Fraction(4), ((Fraction(1), 1, 1),))]
        * 2
    ),
    m.Laplace(Weighted(_same, np.arange(2), m.Histogram("city", ["a", "b"])), scale=1),
    m.LinearQuery.where(column("city") == "a"),
    PassedOver(Fraction(3), Fraction(1, 2), Fraction(5), 3, 1, Fraction(0)),
    Distances((ComparedMarginal(CITIES, np.array([64, 0]), 3, 5),)),
    m.Synthetic([m.Keys.bins("age", [0, 9])], {("age",): 2}, rounds=3, per=None),
    m.Frugal([m.Count(AGE > 3)], axes={"city": ["a", "b"]}, patience=3),
    m.PrivateMultiplicativeWeights(
        m.Histogram("city", ["a", "b"]), records=4, epsilon=1, threshold=1, updates=2
    ),
    m.PrivateMultiplicativeWeights(4, records=4, epsilon=1, threshold=1, updates=2),
    m.SparseVector(10, "1/2", cutoff=3, monotone=True, gap=True, refresh=True),
    LaunchMany([Launch(m.Gaussian(m.Count(), scale=3))] * 2),
    AskMany((m.Count(), m.Count(AGE > 3))),
    c.recommend(BUDGET, [PureDP("1/10")] * 5),
    fitted(BUDGET, "1/10", {1: 3}),
    m.LaplaceNoiseReduction(m.Count(), scales=[9, "1/3"]),
    GaussianNoiseReduction(m.Count(), variances=[9, "1/3"], missed="1/9"),
    FirstGood(1, m.TruncatedNegativeBinomial(0, "1/9"), 3),
    Try(m.Laplace(m.Count(), scale=9), "largest", Fraction(7, 2)),
    Try([m.Laplace(m.Mean("age", 0, 9), scale=9)] * 2, "smallest", of=0),
    m.PermuteAndFlip(m.Histogram("city", ["a", "b"]), "1/2"),
    m.TopK(m.Histogram("city", ["a", "b"]), "1/2", k=2, monotone=True),
    m.Open(m.Count(), (Fraction(9), Fraction(3))),
    c.ConComp([m.Gaussian(m.Count(), scale=3), m.Laplace(m.Count(), scale=3)], delta="1e-6"),
    c.Parallel(c.Partition("city", ["a"]), {"a": m.Gaussian(m.Count(), scale=3)}),
    c.ExPost(q.ApproxDP(1, "1e-6"), slack="1e-7").account().add(q.ZCDP("1/99")),  # type: ignore[union-attr]
    Lost(q.ZCDP("1/50"), 2, retires_others=False),
    RenyiOrder(Fraction(8)),
    RenyiOrders((2, 8)),
)


def run(mechanism: Any, queries: Any, dataset: Any) -> Iterator[Any]:
    """Yield a mechanism, its queries and its answers; an illegal query ends the run."""
    yield mechanism
    yield from (each for each in queries if not is_owners(each))
    try:
        for _, _, answer in Script(mechanism, dataset, queries).run(SeededCoins(3)):
            yield answer
    except q.QueryError:
        return


@cache
def values() -> tuple[Any, ...]:
    """Many values, among them one of each class that has a tag."""
    found = [*OTHERS, *STATISTICS, *RULES, *PREDICATES]
    for module in ("queryable", "mechanisms", "composition", *instances.ROOMS):
        for name, arguments in instances.CALLS[module].items():
            kind = getattr(import_module(module), name)
            if isinstance(kind, type) and TESTED.tag_of(kind):
                found.append(kind(**arguments))
    for mechanism, queries in SCRIPTS:
        found += run(mechanism, queries, ROWS)
    for subject in subjects.SUBJECTS:
        if "failures" not in subject.name:  # these hold functions that raise
            found += run(subject.mechanism, subject.script, subjects.DATA)
    return (*found, *releases())


def releases() -> Iterator[Any]:
    """Yield released answers, with their evidence."""
    table = m.Table(ROWS, privacy_unit="who", max_rows=2)
    handle = q.Queryable(c.FiltCon(q.ZCDP(1)), table, coins=SeededCoins(1), allow_seeded=True)
    one, other = (
        handle.release(table.count(column("age") > age), loss=q.ZCDP("1/9")) for age in (1, 2)
    )
    sizes = handle.release(m.UnitSizes([1, 5], per=table.unit), loss=q.ZCDP("1/9"))
    cities = handle.release(table.group_by({"city": ["a", "b"]}).count(), loss=q.ZCDP("1/9"))
    computed = one - 2 * other, one / other, cities["a"], cities["a"] / cities["b"]
    yield from (one, *computed, *(each.evidence for each in computed))
    ranges = handle.release(table.ranges(m.Keys.bins("age", range(0, 90, 9))), loss=q.ZCDP("1/9"))
    spanned = ranges[9:36]
    yield from (ranges, spanned, spanned.evidence, spanned - ranges.total(18))
    margin = cities.margin()
    yield from (margin, margin.evidence, margin / cities["a"])
    yield from (sizes, sizes.share_over(1), handle.view)


def statistics(count: int, seed: int) -> Iterator[Any]:
    """Yield random statistics of columns of all kinds."""
    types: Types = {
        "i": "integer", "f": "float", "t": "text", "d": "date", "s": "timestamp", "b": "boolean",
    }  # fmt: skip
    maker = Maker(Random(seed), types, per=UNIT)
    for _ in range(count):
        yield maker.case().statistic()
