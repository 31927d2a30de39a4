"""Parameters of tables, statistics and expressions that are refused before any data are read."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from mechanisms import (
    Count,
    CountUnits,
    Covariance,
    DiscoveredKeys,
    ExponentialMechanism,
    Gaussian,
    GroupBy,
    Histogram,
    Keys,
    PrivacyUnit,
    PrivateKeys,
    Quantile,
    Quantiles,
    Regression,
    Sum,
    Table,
    Top,
    UnitSizes,
    column,
    when,
)
from mechanisms.tables.engines.files.frames import as_arrow
from mechanisms.tables.engines.limits import seconds
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.expressions.operands import Literal, When
from mechanisms.tables.expressions.predicates import And, Comparison, Or, where_field
from mechanisms.tables.quantiles.choices import PrivateQuantiles
from mechanisms.tables.requests.request import Bins, Categories, Combinations
from mechanisms.tables.statistics.releases import Release
from mechanisms.tables.statistics.signed import signed
from queryable import ZCDP, PureDP, Statistic
from tests.wrong import EITHER, Row, each, named, starred

NAN, INF, ONE, ZERO = float("nan"), float("inf"), Fraction(1), Fraction(0)
DAY, NOON = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 12)  # noqa: DTZ001
x, y, age = column("x"), column("y"), column("age")
PER = PrivacyUnit("who", max_rows=4)
MONTHS = ("01.2024", "12.2024")
PUBLIC = {"state": ["NY", "CA", "NY", None], "sex": [1, 2, 2, 1], "age": [10, 20, 30, 40]}
PEOPLE = {"age": np.array([17, 30, 64])}
ONES = {"age": [1]}
STATES, SEXES = Categories("state", ["CA", "NY"]), Categories("sex", [1, 2])
XY = {"x": (0, 1), "y": (0, 1)}
MANY = range(10**4)
BY = {"state": ["CA", "NY"], "sex": [1, 2, 3]}
MEDIAN_AGE = Quantile("age", "1/2", [1])
MEDIAN = Quantiles("x", "1/2", [1])
CITY = DiscoveredKeys("city")
OF_FUNCTION = Gaussian(Statistic(len, l1=1, l2=1), scale=3)
IBIS = ibis.memtable(pa.table(ONES))
TIMEOUTS = [0, -1, NAN, INF, True, "soon", 10**12]
PARENTHESES = "put each comparison in parentheses"
MISSING = [None, NAN, np.datetime64("NaT"), pd.NaT]

table, person = named(Table, PEOPLE), named(Table, PEOPLE, privacy_unit="age")
combinations = starred(Combinations)
keys_of, private_keys = starred(Keys.of), named(PrivateKeys, CITY)
sums, quantiles, quantile = starred(Sum), starred(Quantiles), starred(Quantile)
covariance, lattice = starred(Covariance), starred(Lattice)


def at_loss(loss: Any) -> object:
    return MEDIAN.measurement(ZCDP, 1, loss=loss)


def steps(given: Any) -> object:
    return Bins("age", given)


def places(given: Any) -> object:
    return Combinations((STATES, SEXES), given)


def joined(given: Any) -> object:
    return PrivacyUnit("who", max_rows=1, joined=given)


def count_units(per: Any) -> object:
    return CountUnits(per=per)


def exponential(scores: Any) -> object:
    return ExponentialMechanism(scores, 1)


def added(given: Any) -> object:
    return x + given


def median(grid: Any) -> object:
    return Quantile("x", "1/2", grid)


def sizes(limits: Any) -> object:
    return UnitSizes(limits, per=PER)


def top(k: Any) -> object:
    return Top("city", k, ["Graz", "Lyon", "Oslo", "Rome"])


def lower(value: Any) -> object:
    return signed(value, "lower")


def months(name: Any) -> object:
    return Keys.months(name, "2024-01", "2024-02")


def histogram(edges: Any) -> object:
    return Histogram("age", bins=edges)


def then(value: Any) -> object:
    return when(x > 1).then(value)


def equals(value: Any) -> object:
    return age == value


def condition(given: Any) -> object:
    return When(((given, "age"),), None)


ROWS: list[Row] = [
    # opening
    (lambda given: Table(ONES, progress=given), TypeError, "progress", ["yes", 1, None]),
    (named(Table, IBIS), TypeError, "leave progress out", [{"progress": True}]),
    (lambda given: Table(ONES, timeout=given), EITHER, "timeout", TIMEOUTS),
    (seconds, EITHER, "timeout", TIMEOUTS),
    (as_arrow, TypeError, "source is a", [3, [1, 2], np.zeros(3), np.zeros((2, 2)), "text", None]),
    (
        Table,
        ValueError,
        "download the file first",
        ["s3://a/b.parquet", "https://example.org/a.csv"],
    ),
    (Table, ValueError, "download the file first", ["hf://datasets/a/b.parquet"]),
    (Table, ValueError, "should end in", ["people.xlsx"]),
    (Table, TypeError, "source is a list", [[1, 2]]),
    (Table, ValueError, "two have the same name, ignoring case", [{"a": [1], "A": [2]}]),
    (table, ValueError, "privacy_unit", [{"max_rows": 3}, {"keep": "age"}]),
    (table, ValueError, "max_rows", [{"privacy_unit": "age"}]),
    (table, ValueError, "'id'", [{"privacy_unit": "id", "max_rows": 3}]),
    (person, ValueError, "at least 1", [{"max_rows": 0}]),
    (person, ValueError, "max_rows", [{"max_rows": True}]),
    (person, ValueError, "groups", [{"max_rows": 1, "max_groups": 0}]),
    (person, ValueError, "weight", [{"max_rows": 1, "keep": "weight"}]),
    (table, ValueError, "weight", [{"columns": ["weight"]}]),
    (table, TypeError, "CSV", [{"types": {"age": "INT"}}]),
    (table, ValueError, "seed", [{"seed": 2**63}]),
    # units
    (lambda given: Count(per=given), TypeError, "per is (3|Column)", [3, x]),
    (named(PrivacyUnit, "id"), EITHER, "max_", [{"max_rows": n} for n in (0, 1.5, 2**63)]),
    (named(PrivacyUnit, "id"), EITHER, "max_", [{"max_rows": 1, "max_groups": -1}]),
    (joined, TypeError, "joined", [1, "no", None]),
    (count_units, TypeError, r"give per=visits\.unit.*privacy_unit", [None]),
    (lambda given: UnitSizes([1], per=given), TypeError, r"give per=visits\.unit", ["who"]),
    (Table(PUBLIC).check, TypeError, r"per=visits\.unit", [CountUnits(per=PER)]),
    (sizes, EITHER, "limit", [[], [0], [2, 2], [3, 1], "12", [1.5], [2**70], None]),
    # expressions; sensitivities are computed from the bounds and unit of a lattice
    (lattice, ValueError, "in order", [(ONE, ZERO, ONE), (ZERO, ONE, ZERO), (ZERO, ONE, -ONE)]),
    (lattice, TypeError, "should be a Fraction", [(0, ONE, ONE), (ZERO, 1.5, ONE)]),
    (lattice, TypeError, "should be a Fraction", [(ZERO, ONE, None)]),
    (added, EITHER, "a constant is", [None, {}, b"a", dt.timedelta(1), Decimal(1)]),
    (lambda given: x * given, ValueError, "a constant is", [NAN]),
    (x.contains, EITHER, "pattern", [3, "\ud800"]),
    (x.like, EITHER, "a pattern", ["a" * 1001, None]),
    (x.truncate, ValueError, "unit is", ["second", None]),
    (x.cast, ValueError, "to is", ["float", int]),
    (when, TypeError, "predicate is", [x, True]),
    (then, EITHER, "a constant is", [[1], 2**63, np.datetime64("20000-01-01")]),
    (when(x > 1).then(None).otherwise, TypeError, "give a value", [None]),
    (Column, TypeError, "column is 3", [3]),
    (lambda given: Sum(given, 0, 1), TypeError, "column is Chosen", [when(x > 1).then(1)]),
    (Count, TypeError, "parentheses", [x.is_null, x.is_not_null, x.contains, (x * 2).is_null]),
    (Count, TypeError, "comparison", [x.lower()]),
    (lambda given: x >= 1 & given < 3, TypeError, PARENTHESES, [y]),
    (lambda given: (x >= 1) & given, TypeError, PARENTHESES, [y]),
    # a text of an analyst may have anything there; it would fail when rows are read
    (condition, TypeError, "a condition is", [age, Literal(1), "age", True, None, Count()]),
    # its == makes a predicate, so a column cannot be looked up
    (hash, TypeError, "unhashable", [age]),
    # a comparison with a missing value would never hold
    (equals, ValueError, "missing", MISSING),
    (lambda given: age.is_in([1, given]), ValueError, "missing", MISSING),
    (equals, TypeError, "value is", [[1], column("state") == "NY", object(), len]),
    (age.is_in, TypeError, "should be a list", ["NY", 3]),
    (column, TypeError, "column is 3", [3]),
    (lambda given: (age == 1) & given, TypeError, "unsupported", [True]),
    (lambda given: (age == 1) | given, TypeError, "unsupported", [len]),
    (starred(Comparison), ValueError, "operator is '='", [("age", "=", 3)]),
    (starred(Comparison), TypeError, "column is 3", [(3, "==", 1)]),
    (where_field, TypeError, "where is", [age, "age >= 30", True]),
    (starred(And, age > 1), TypeError, "should be a predicate", [(len,)]),
    (starred(Or, age > 1), TypeError, "should be a predicate", [(len,)]),
    # quantiles
    (at_loss, EITHER, "loss", [PureDP(0), ZCDP(0), None, 1, "ZCDP(1)"]),
    (named(MEDIAN.measurement, ZCDP, 1), TypeError, "give loss=", [{"within": 3}]),
    (quantiles, ValueError, "levels", [("x", [], [1]), ("x", ["1/2", "0.5"], [1])]),
    (quantiles, ValueError, "level", [("x", "3/2", [1])]),
    (quantiles, ValueError, "ascending", [("x", "1/2", [2, 1])]),
    (named(Quantiles, "x", "1/2", [1]), ValueError, "categories", [{"by": {"g": []}}]),
    (named(Quantiles, "x", "1/2", MANY), ValueError, "fewer keys", [{"by": {"g": MANY}}]),
    (starred(PrivateQuantiles, MEDIAN), ValueError, "epsilon", [(0,)]),
    (starred(PrivateQuantiles, MEDIAN), ValueError, "confidence", [(1, 1)]),
    # the most frequent cell is no median
    (exponential, TypeError, r"give Quantile\(column, level, grid\)", [MEDIAN]),
    (quantile, ValueError, "level", [("x", "3/2", [1])]),
    (quantile, ValueError, "grid is empty", [("x", "1/2", [])]),
    (quantile, ValueError, "ascending", [("x", "1/2", [2, 1]), ("x", "1/2", [1, 1])]),
    (median, TypeError, "grid is .*should list the possible answers, such as", [0, "0 to 100"]),
    # keys
    (months, TypeError, "it should be a name, or column", [3, None, ["day"], np.array(1)]),
    (
        starred(Keys.months, "day"),
        TypeError,
        r"first is '01\.2024'; it should be a month",
        [MONTHS],
    ),
    (named(Histogram, "age"), TypeError, "give either bins", [{}]),
    (named(Histogram, "age", [1]), TypeError, "give either bins", [{"bins": [1, 2]}]),
    (histogram, ValueError, "ascending", [[1], [2, 1], [1, 1]]),
    (histogram, TypeError, "bins is", [["a", "b"], [False, True], [1, DAY], 5]),
    (starred(Keys, "age"), ValueError, "categories is", [([],), ([1, 1],)]),
    (keys_of, TypeError, "name the columns", [(PUBLIC,)]),
    (keys_of, ValueError, "no row without a missing cell", [({"a": [None]}, "a")]),
    (keys_of, TypeError, "give a public table", [(Table(PUBLIC), "sex")]),
    (starred(GroupBy), TypeError, "by is", [([], Count()), ({}, Count())]),
    (starred(GroupBy), TypeError, "a key is", [([Count()], Count()), ("state", Count())]),
    # a row is in one group at most, whoever writes them: sensitivities are computed from that
    (starred(Categories, "state"), EITHER, "values is", [(["CA", "CA"],), ([1, True],), ("CA",)]),
    (steps, TypeError, "steps is", [(), [(">=", 1), (">=", 2)]]),
    (steps, ValueError, "at least two", [((">=", 1),)]),
    (steps, ValueError, "ascending", [((">=", 1), (">=", 1)), ((">=", 2), (">=", 1))]),
    (steps, ValueError, "ascending", [((">", 1), (">=", 1)), ((">=", NAN), (">=", 2.0))]),
    (steps, ValueError, "ascending", [((">=", 1), (">=", NAN)), ((">=", NOON), (">=", DAY))]),
    (steps, ValueError, "each should be", [(("<", 1), ("<", 2))]),
    (steps, TypeError, "not supported", [((">=", 1), (">=", "2"))]),
    (steps, ValueError, "missing value", [((">=", 1), (">=", None))]),
    (named(Bins, "age", ((">=", 1), (">=", 2))), TypeError, "bounded", [{"bounded": 1}]),
    (combinations, TypeError, "parts is", [((), ()), ((), ((),)), (("state", SEXES), ((0, 1),))]),
    (combinations, TypeError, "parts is", [((STATES, Keys.bins("age", [0, 9])), ((0, 0),))]),
    (combinations, ValueError, "an index of each part", [((STATES,), ((2,),))]),
    (places, ValueError, "an index of each part", [((0,),)]),
    (places, ValueError, "differ", [((0, 1), (0, 1))]),
    (places, TypeError, "a tuple of indices", [((0, -1),), ((0, True),), [(0, 1)]]),
    (starred(DiscoveredKeys), EITHER, "a row has one key", [("city", 2)]),
    (starred(DiscoveredKeys), EITHER, "columns has 0 entries", [([],)]),
    (starred(DiscoveredKeys), EITHER, "at least 1", [("city", 0)]),
    (starred(DiscoveredKeys), EITHER, "should be a name", [(3,)]),
    (private_keys, EITHER, "either delta or a threshold", [{"epsilon": 1}]),
    (private_keys, EITHER, "exactly one of epsilon", [{"delta": "1e-6"}]),
    (private_keys, EITHER, "delta above 0", [{"epsilon": 1, "delta": 0}]),
    (private_keys, EITHER, "at least 1", [{"epsilon": 1, "threshold": 0}]),
    (private_keys, EITHER, "DiscreteLaplace", [{"noise": 3, "threshold": 1}]),
    (
        named(PrivateKeys, "city", epsilon=1),
        EITHER,
        "should be DiscoveredKeys",
        [{"delta": "1e-6"}],
    ),
    # statistics
    (sums, ValueError, "lower is 1.*at most upper, 0", [("x", 1, 0)]),
    (sums, ValueError, "lower", [("x", NAN, 0)]),
    (sums, ValueError, "upper", [("x", 0, INF)]),
    (named(Sum, "x", 0, 1), ValueError, "unit", [{"unit": 0}]),
    (sums, TypeError, "column is 3", [(3, 0, 1)]),
    (sums, TypeError, "upper", [("x", 0, None)]),
    (Count, TypeError, "where is", ["age"]),
    (Count, TypeError, "where is a column", [column("x")]),
    (starred(Histogram, "x"), ValueError, "at least one", [([],)]),
    (starred(Histogram, "x"), ValueError, "differ", [(["a", "b", "a"],), ([1, True],)]),
    (starred(Histogram, "x"), TypeError, "categories is 'ab'", [("ab",)]),
    (starred(Histogram, "x"), ValueError, "missing", [([None],)]),
    (starred(Histogram, "x"), TypeError, "member of categories", [([[1]],)]),
    (starred(GroupBy), TypeError, "statistic is", [(BY, GroupBy), (BY, MEDIAN_AGE)]),
    (starred(GroupBy), ValueError, "categories is empty", [({"state": []}, Count())]),
    (starred(GroupBy), ValueError, "differ", [({"state": ["NY", "NY"]}, Count())]),
    (covariance, EITHER, "give different columns", [("x", "x", {"x": (0, 1)})]),
    (covariance, EITHER, "give bounds for exactly", [("x", "y", {"x": (0, 1)})]),
    (covariance, EITHER, "give bounds for exactly", [("x", "y", {**XY, "z": (0, 1)})]),
    (covariance, EITHER, "give the lower one first", [("x", "y", {"x": (1, 0), "y": (0, 1)})]),
    (covariance, EITHER, "should be two numbers", [("x", "y", {"x": 3, "y": (0, 1)})]),
    (covariance, EITHER, "should be like", [("x", "y", [(0, 1)])]),
    (covariance, EITHER, "too wide", [("x", "y", {"x": (0, "1e300"), "y": (0, 1)})]),
    (covariance, EITHER, "too narrow", [("x", "y", {"x": (0, "1e-300"), "y": (0, 1)})]),
    (starred(Regression), EITHER, "give different columns", [("y", [], {"y": (0, 1)})]),
    (starred(Regression), EITHER, "10 at most", [("y", list("abcdefghijkl"), XY)]),
    (Release, TypeError, "should be a", [None, Count(), Gaussian, Release, OF_FUNCTION]),
    (lower, ValueError, "lower", [NAN, -INF, Decimal("-Infinity"), "--1", "-", "x", True]),
    (lower, TypeError, "lower", [None]),
    (top, EITHER, "k is", [0, 5, -1, True, 1.5]),
]


@pytest.mark.parametrize(("call", "given", "error", "says"), each(ROWS))
def test_wrong_parameters(call: Any, given: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        call(given)
