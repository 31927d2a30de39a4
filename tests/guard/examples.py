"""Valid values about the guard's tables, beside the examples of the codec.

Each tag has one in the examples of the codec. These are about columns of every type, per row and
per unit, and have the mechanisms that analysts use most.
"""

import datetime as dt
from fractions import Fraction
from typing import Any

import numpy as np

import composition as c
import mechanisms as m
import queryable as q
from composition.rules import Additive
from mechanisms import column, when
from mechanisms.first_good import FirstGood
from mechanisms.linear_queries import LATTICE, Weighted
from mechanisms.multiplicative_weights import _same
from mechanisms.refinement.gaussian_reduction import GaussianNoiseReduction
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import PerUnit
from mechanisms.tables.spans.ranges import Ranges
from queryable.losses import RenyiCurve
from queryable.messages import AskMany, LaunchMany
from tests.guard.rows import table

AGE, B, CITY, PRICE = map(column, ("age", "b", "city", "price"))
UNIT = m.PrivacyUnit("who", max_rows=2)
GROUPS = m.PrivacyUnit("who", max_rows=3, max_groups=2, max_rows_per_group=1)
ROWS = {name: [row[name] for row in table(4)] for name in ("city", "age", "a")}

PREDICATES = (
    AGE >= 30,
    ~(CITY == "a") | (column("flag") == True),  # noqa: E712
    CITY.is_in(["a", "b"]) & (B * 2 < 3),
    column("day") >= dt.date(2024, 2, 29),
    CITY.lower().like("a%"),
    PRICE > 1,
)
COLUMNS = (
    AGE * 2 - 1,
    B / AGE,
    CITY.strip().cast("number"),
    column("day").month(),
    when(AGE >= 40).then(B).otherwise(None),
)
KEYS = (
    {"city": ["a", "b", "c"]},
    m.Keys.bins("age", [0, 30, 60]),
    m.Keys.of(ROWS, "city", "a"),
    m.Keys.months("day", "2024-01", "2024-04"),
)


def statistics(per: Any) -> list[Any]:
    """Statistics of rows, or of units."""
    bounds = {"age": (0, 9), "b": ("-1/2", 1)}
    return [
        m.Count(per=per),
        *(m.Count(where, per=per) for where in PREDICATES),
        m.Sum("age", 0, 100, per=per),
        m.Sum("b", -5, "-1/2", AGE > 3, unit="1/4", per=per),
        m.Sum("price", 0, 10, unit="1/100", per=per),
        *(m.Sum(each, -3, 5, per=per) for each in COLUMNS),
        m.Mean("hours", 0, 20, unit="1/10", per=per),
        m.Mean("age", 0, 100, per=per),
        m.Variance("a", 0, 9, per=per),
        m.Std("price", 0, 9, unit="1/4", per=per),
        m.Histogram("city", ["a", "b"], AGE > 3, per=per),
        m.Histogram("age", bins=[0, 30, 60], per=per),
        m.Quantile("age", "1/2", [20, 30, 40], per=per),
        m.Quantiles("b", ["1/4", "1/2"], [0, 1, 2], per=per),
        m.Covariance("age", "b", bounds, per=per),
        m.Correlation("age", "b", bounds, per=per),
        m.Regression("age", ["b"], bounds, per=per),
        *(m.GroupBy(keys, m.Count(per=per)) for keys in KEYS),
        m.GroupBy(KEYS[0], m.Sum("age", 0, 50, per=per)),
        m.GroupBy([KEYS[1], KEYS[0]], m.Mean("b", 0, 2, unit="1/4", per=per)),
        Ranges({"city": ["a", "b"]}, m.Sum("age", 0, 50, per=per)),
        m.Top("city", 2, ["a", "b", "c"], per=per),
        m.DiscoveredKeys("city", None if per is None else 2, per=per),
    ]


OF_ROWS, OF_UNITS = statistics(None), [*statistics(UNIT), *statistics(GROUPS)]
OF_UNITS += [m.CountUnits(AGE > 3, per=UNIT), m.UnitSizes([1, 2, 5], per=UNIT)]
OF_UNITS += [m.GroupBy(KEYS[0], m.CountUnits(per=GROUPS))]
VALUES = (
    PerUnit("count", None, Fraction(0), Fraction(3), where=AGE > 3),
    PerUnit("sum", "b", Fraction(-3), Fraction(9), Fraction(1, 4)),
    PerUnit("mean", "age", Fraction(0), Fraction(99), Fraction(1, 10), CITY == "a"),
    PerUnit("min", AGE * 2, Fraction(-3), Fraction(50)),
)
OF_UNITS += [m.Mean(each, -2, 9, unit="1/10", per=GROUPS) for each in VALUES]
OF_UNITS += [m.Count(Column(each) > 2.5, per=UNIT) for each in VALUES]
OF_UNITS += [m.GroupBy(KEYS[0], m.Histogram(VALUES[1], bins=[0, 2, 5], per=GROUPS))]
OF_UNITS += [m.Quantiles(VALUES[2], "1/2", [1, 20, 40], by=KEYS[0], per=GROUPS)]
HISTOGRAM = m.Histogram("city", ["a", "b", "c"])
MEASUREMENTS = (
    *(m.Gaussian(each, variance=25) for each in (OF_ROWS[1], OF_ROWS[7], OF_UNITS[0], HISTOGRAM)),
    *(m.Laplace(each, scale=5) for each in (OF_ROWS[2], OF_ROWS[7], OF_UNITS[1], HISTOGRAM)),
    m.ExponentialMechanism(HISTOGRAM, "1/2"),
    m.PermuteAndFlip(HISTOGRAM, "1/2", monotone=True),
    m.TopK(HISTOGRAM, "1/2", k=2),
    m.LaplaceNoiseReduction(m.Count(AGE > 3), scales=[20, 10, 5]),
    GaussianNoiseReduction(m.Count(AGE > 3), variances=[20, 10, 5], missed="1/9"),
    m.PrivateKeys(m.DiscoveredKeys("city"), epsilon=1, delta="1/1000"),
    m.Best([m.Laplace(m.Count(), scale=9)], "largest", m.TruncatedNegativeBinomial(1, "1/3")),
    m.Best(m.Gaussian(m.Count(), scale=9), "smallest", m.Poisson(3)),
    FirstGood(1, m.TruncatedNegativeBinomial(0, "1/3"), 3),
)
LAUNCHES = tuple(q.Launch(each) for each in MEASUREMENTS)
COUNTERS = (
    m.TreeCounter(m.Count(), rho="1/10", horizon=8),
    m.TreeCounter(m.Sum("age", 0, 9), epsilon=1),
    m.ToeplitzCounter(HISTOGRAM, rho="1/10", horizon=9),
    m.TreeCounter(m.Count(), rho="1/10", neighbours=q.UserLevel("who", 2)),
)
ODOMETERS = (
    (q.RDP.at(8), c.accumulator_of(c.Basic(), q.RDP.at(8))),
    (q.RDP.at(2, 8), None),
    (q.ZCDP, c.LinearOdometer("1e-6", 1)),
    (q.ZCDP, c.StitchedOdometer("1e-6", 1)),
    (q.RDP.at(2, 8), c.RenyiOdometer("1e-6", [2, 8])),
    (q.ApproxDP, c.accumulator_of(c.Whitehouse2023(), q.ApproxDP, "1e-6")),
)
COMPOSITORS = (
    c.FiltCon(q.ZCDP("1/10")),
    c.Filt(q.PureDP(1)),
    c.FiltSeq(q.ApproxZCDP("1/10", "1e-6")),
    c.FiltCon(q.ApproxDP(1, "1e-6"), rule=c.ViaZCDP()),
    c.FiltCon(q.RDP(8, 1)),
    c.FiltCon(RenyiCurve([2, 8], [1, 3]), rule=c.filter_of(Additive(q.RDP.at(2, 8)))),
    c.FiltCon(q.ZCDP(1), rule=c.filter_of(c.accumulator_of(c.Basic(), q.ZCDP))),
    c.FiltCon(q.GDP(1)),
    c.OdomCon(q.ZCDP),
    *(c.OdomCon(*each) for each in ODOMETERS),
    c.Blocks(c.FiltCon(q.ZCDP("1/10"))),
    c.Parallel(c.Partition("city", ["a", "b"]), {"a": c.FiltCon(q.PureDP(1))}),
    c.ConComp([m.Gaussian(m.Count(), scale=3), c.FiltCon(q.ZCDP("1/10"))]),
    c.Universal(q.ZCDP("1/10")),
    c.Individual("1/10"),
    m.BrownianNoiseReduction() @ c.FiltCon(q.ZCDP("1/10")),
    m.Frugal(axes={"city": ["a", "b"]}) @ c.FiltCon(q.ZCDP("1/10")),
    m.Synthetic([KEYS[0], KEYS[1]], rounds=1) @ c.FiltCon(q.ZCDP("1/10")),
    m.Scripted(c.FiltCon(q.ZCDP(1)), [*LAUNCHES[:2], q.PrivacyLossQuery()]),
)
MESSAGES = (
    *LAUNCHES,
    *(q.Launch(each) for each in COMPOSITORS),
    *(q.Launch(each, d_out=q.ZCDP("1/10")) for each in COMPOSITORS if isinstance(each, c.OdomCon)),
    LaunchMany(list(LAUNCHES[:3])),
    q.CanAfford(LAUNCHES[0]),
    q.LaunchOver(MEASUREMENTS[0], q.Last(1)),
    m.Estimate(m.Count(AGE > 3), 5),
    m.Estimate(m.GroupBy(KEYS[0], m.Count()), 9),
    m.Open(m.Count(AGE > 3), (900, 100, 9)),
    m.FromModel(m.Count(CITY == "a")),
    m.LinearQuery.where(CITY == "a"),
    m.LinearQuery(np.array([1, 0.5, 0])),
    AskMany([m.Count(AGE > 3), m.Count(CITY == "a")]),
)
_ALL = np.array([LATTICE], dtype=np.int64)
WEIGHTED = (
    Weighted(_same, _ALL, m.Histogram("city", ["a"])),
    Weighted(_same, np.array([LATTICE, LATTICE // 2, 0]), HISTOGRAM),
)
EXAMPLES: tuple[Any, ...] = (
    *WEIGHTED,
    *OF_ROWS,
    *OF_UNITS,
    *MEASUREMENTS,
    *COUNTERS,
    *COMPOSITORS,
    *MESSAGES,
)
"""All of them."""
