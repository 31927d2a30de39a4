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
from mechanisms.tables.requests.signed import signed
from mechanisms.tables.statistics.releases import Release
from queryable import ZCDP, PureDP, Statistic
from tests.wrong import EITHER, Row, named, rows, starred

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


def cases(given: Any) -> object:
    return When(given, "age")


ROWS: list[Row] = [
    # opening
    (TypeError, "progress", lambda given: Table(ONES, progress=given), ["yes", 1, None]),
    (TypeError, "leave progress out", named(Table, IBIS), [{"progress": True}]),
    (EITHER, "timeout", lambda given: Table(ONES, timeout=given), TIMEOUTS),
    (EITHER, "timeout", seconds, TIMEOUTS),
    (TypeError, "source is a", as_arrow, [3, [1, 2], np.zeros(3), np.zeros((2, 2)), "text", None]),
    (
        ValueError,
        "download the file first",
        Table,
        ["s3://a/b.parquet", "https://example.org/a.csv"],
    ),
    (ValueError, "download the file first", Table, ["hf://datasets/a/b.parquet"]),
    (ValueError, "should end in", Table, ["people.txt"]),
    (TypeError, "source is a list", Table, [[1, 2]]),
    (
        ValueError,
        "two have the same name, ignoring case: 'a' and 'A'",
        Table,
        [{"a": [1], "A": [2]}],
    ),
    (ValueError, "of one length: they have {'a': 1, 'b': 2}", Table, [{"a": [1], "b": [1, 2]}]),
    (ValueError, "privacy_unit", table, [{"max_rows": 3}, {"keep": "age"}]),
    (ValueError, "max_rows", table, [{"privacy_unit": "age"}]),
    (ValueError, "'id'", table, [{"privacy_unit": "id", "max_rows": 3}]),
    (ValueError, "at least 1", person, [{"max_rows": 0}]),
    (ValueError, "max_rows", person, [{"max_rows": True}]),
    (ValueError, "groups", person, [{"max_rows": 1, "max_groups": 0}]),
    (ValueError, "weight", person, [{"max_rows": 1, "keep": "weight"}]),
    (ValueError, "weight", table, [{"columns": ["weight"]}]),
    (TypeError, "CSV", table, [{"types": {"age": "INT"}}]),
    (ValueError, "seed", table, [{"seed": 2**63}]),
    # units
    (TypeError, "per is (3|Column)", lambda given: Count(per=given), [3, x]),
    (EITHER, "max_", named(PrivacyUnit, "id"), [{"max_rows": n} for n in (0, 1.5, 2**63)]),
    (EITHER, "max_", named(PrivacyUnit, "id"), [{"max_rows": 1, "max_groups": -1}]),
    (TypeError, "joined", joined, [1, "no", None]),
    (TypeError, r"give per=visits\.unit.*privacy_unit", count_units, [None]),
    (TypeError, r"give per=visits\.unit", lambda given: UnitSizes([1], per=given), ["who"]),
    (TypeError, r"per=visits\.unit", Table(PUBLIC).check, [CountUnits(per=PER)]),
    (EITHER, "limit", sizes, [[], [0], [2, 2], [3, 1], "12", [1.5], [2**70], None]),
    # expressions; sensitivities are computed from the bounds and unit of a lattice
    (ValueError, "in order", lattice, [(ONE, ZERO, ONE), (ZERO, ONE, ZERO), (ZERO, ONE, -ONE)]),
    (TypeError, "should be a Fraction", lattice, [(0, ONE, ONE), (ZERO, 1.5, ONE)]),
    (TypeError, "should be a Fraction", lattice, [(ZERO, ONE, None)]),
    (EITHER, "a constant is", added, [None, {}, b"a", dt.timedelta(1), Decimal("NaN")]),
    (ValueError, "a constant is", lambda given: x * given, [NAN]),
    (EITHER, "pattern", x.contains, [3, "\ud800"]),
    (EITHER, "a pattern", x.like, ["a" * 1001, None]),
    (ValueError, "unit is", x.truncate, ["second", None]),
    (ValueError, "to is", x.cast, ["float", int]),
    (TypeError, "predicate is", when, [x, True]),
    (EITHER, "a constant is", then, [[1], 2**63, np.datetime64("20000-01-01")]),
    (TypeError, "give a value", when(x > 1).then(None).otherwise, [None]),
    (TypeError, "column is 3", Column, [3]),
    (TypeError, "column is Chosen", lambda given: Sum(given, 0, 1), [when(x > 1).then(1)]),
    (TypeError, "parentheses", Count, [x.is_null, x.is_not_null, x.contains, (x * 2).is_null]),
    (TypeError, "comparison", Count, [x.lower()]),
    (TypeError, PARENTHESES, lambda given: x >= 1 & given < 3, [y]),
    (TypeError, PARENTHESES, lambda given: (x >= 1) & given, [y]),
    # a text of an analyst may have anything there; it would fail when rows are read
    (ValueError, "cases is empty", cases, [(), []]),
    (TypeError, "a condition is", condition, [age, Literal(1), "age", True, None, Count()]),
    # its == makes a predicate, so a column cannot be looked up
    (TypeError, "unhashable", hash, [age]),
    # a comparison with a missing value would never hold
    (ValueError, "missing", equals, MISSING),
    (ValueError, "missing", lambda given: age.is_in([1, given]), MISSING),
    (TypeError, "value is", equals, [[1], column("state") == "NY", object(), len]),
    (TypeError, "should be a list", age.is_in, ["NY", 3]),
    (TypeError, "column is 3", column, [3]),
    (TypeError, "unsupported", lambda given: (age == 1) & given, [True]),
    (TypeError, "unsupported", lambda given: (age == 1) | given, [len]),
    (ValueError, "operator is '='", starred(Comparison), [("age", "=", 3)]),
    (TypeError, "column is 3", starred(Comparison), [(3, "==", 1)]),
    (TypeError, "where is", where_field, [age, "age >= 30", True]),
    (TypeError, "should be a predicate", starred(And, age > 1), [(len,)]),
    (TypeError, "should be a predicate", starred(Or, age > 1), [(len,)]),
    # quantiles
    (EITHER, "loss", at_loss, [PureDP(0), ZCDP(0), None, 1, "ZCDP(1)"]),
    (TypeError, "give loss=", named(MEDIAN.measurement, ZCDP, 1), [{"within": 3}]),
    (ValueError, "levels", quantiles, [("x", [], [1]), ("x", ["1/2", "0.5"], [1])]),
    (ValueError, "level", quantiles, [("x", "3/2", [1])]),
    (ValueError, "ascending", quantiles, [("x", "1/2", [2, 1])]),
    (ValueError, "categories", named(Quantiles, "x", "1/2", [1]), [{"by": {"g": []}}]),
    (ValueError, "fewer keys", named(Quantiles, "x", "1/2", MANY), [{"by": {"g": MANY}}]),
    (ValueError, "epsilon", starred(PrivateQuantiles, MEDIAN), [(0,)]),
    (ValueError, "confidence", starred(PrivateQuantiles, MEDIAN), [(1, 1)]),
    # the most frequent cell is no median
    (TypeError, r"give Quantile\(column, level, grid\)", exponential, [MEDIAN]),
    (ValueError, "level", quantile, [("x", "3/2", [1])]),
    (ValueError, "grid is empty", quantile, [("x", "1/2", [])]),
    (ValueError, "ascending", quantile, [("x", "1/2", [2, 1]), ("x", "1/2", [1, 1])]),
    (TypeError, "grid is .*should list the possible answers, such as", median, [0, "0 to 100"]),
    # keys
    (TypeError, "it should be a name, or column", months, [3, None, ["day"], np.array(1)]),
    (
        TypeError,
        r"first is '01\.2024'; it should be a month",
        starred(Keys.months, "day"),
        [MONTHS],
    ),
    (TypeError, "first is .*a year", starred(Keys.years, "day"), [("x", 1), (0, 1), (True, 1)]),
    (TypeError, "last is .*a date", starred(Keys.weeks, "day"), [("2024-01-01", "2024")]),
    (ValueError, "not be after last", starred(Keys.years, "day"), [(2, 1)]),
    (ValueError, "nearer to last", starred(Keys.weeks, "day"), [("0001-01-01", "9999-01-01")]),
    (TypeError, "give either edges", starred(Keys.bins, "x"), [(5,), (5, 0), ([0, 1], 0, 1)]),
    (ValueError, "lower should be below upper", starred(Keys.bins, "x"), [(5, 1, 0), (5, 1, 1)]),
    (ValueError, "bins at most", starred(Keys.bins, "x"), [(10**6, 0, 1)]),
    (TypeError, "give either bins", named(Histogram, "age"), [{}]),
    (TypeError, "give either bins", named(Histogram, "age", [1]), [{"bins": [1, 2]}]),
    (ValueError, "ascending", histogram, [[1], [2, 1], [1, 1]]),
    (TypeError, "bins is", histogram, [["a", "b"], [False, True], [1, DAY], 5, "x"]),
    (ValueError, "categories is", starred(Keys, "age"), [([],), ([1, 1],)]),
    (TypeError, "name the columns", keys_of, [(PUBLIC,)]),
    (ValueError, "no row without a missing cell", keys_of, [({"a": [None]}, "a")]),
    (TypeError, "give a public table", keys_of, [(Table(PUBLIC), "sex")]),
    (TypeError, "by is", starred(GroupBy), [([], Count()), ({}, Count())]),
    (TypeError, "a key is", starred(GroupBy), [([Count()], Count()), ("state", Count())]),
    # a row is in one group at most, whoever writes them: sensitivities are computed from that
    (EITHER, "values is", starred(Categories, "state"), [(["CA", "CA"],), ([1, True],), ("CA",)]),
    (TypeError, "steps is", steps, [(), [(">=", 1), (">=", 2)]]),
    (ValueError, "at least two", steps, [((">=", 1),)]),
    (ValueError, "ascending", steps, [((">=", 1), (">=", 1)), ((">=", 2), (">=", 1))]),
    (ValueError, "ascending", steps, [((">", 1), (">=", 1)), ((">=", NAN), (">=", 2.0))]),
    (ValueError, "ascending", steps, [((">=", 1), (">=", NAN)), ((">=", NOON), (">=", DAY))]),
    (ValueError, "each should be", steps, [(("<", 1), ("<", 2))]),
    (TypeError, "not supported", steps, [((">=", 1), (">=", "2"))]),
    (ValueError, "missing value", steps, [((">=", 1), (">=", None))]),
    (TypeError, "bounded", named(Bins, "age", ((">=", 1), (">=", 2))), [{"bounded": 1}]),
    (TypeError, "parts is", combinations, [((), ()), ((), ((),)), (("state", SEXES), ((0, 1),))]),
    (TypeError, "parts is", combinations, [((STATES, Keys.bins("age", [0, 9])), ((0, 0),))]),
    (ValueError, "an index of each part", combinations, [((STATES,), ((2,),))]),
    (ValueError, "an index of each part", places, [((0,),)]),
    (ValueError, "differ", places, [((0, 1), (0, 1))]),
    (TypeError, "a tuple of indices", places, [((0, -1),), ((0, True),), [(0, 1)]]),
    (EITHER, "a row has one key", starred(DiscoveredKeys), [("city", 2)]),
    (EITHER, "columns has 0 entries", starred(DiscoveredKeys), [([],)]),
    (EITHER, "at least 1", starred(DiscoveredKeys), [("city", 0)]),
    (EITHER, "should be a name", starred(DiscoveredKeys), [(3,)]),
    (EITHER, "either delta or a threshold", private_keys, [{"epsilon": 1}]),
    (EITHER, "exactly one of epsilon", private_keys, [{"delta": "1e-6"}]),
    (EITHER, "delta above 0", private_keys, [{"epsilon": 1, "delta": 0}]),
    (EITHER, "at least 1", private_keys, [{"epsilon": 1, "threshold": 0}]),
    (EITHER, "DiscreteLaplace", private_keys, [{"noise": 3, "threshold": 1}]),
    (
        EITHER,
        "should be DiscoveredKeys",
        named(PrivateKeys, "city", epsilon=1),
        [{"delta": "1e-6"}],
    ),
    # statistics
    (ValueError, "lower is 1.*at most upper, 0", sums, [("x", 1, 0)]),
    (ValueError, "lower", sums, [("x", NAN, 0)]),
    (ValueError, "upper", sums, [("x", 0, INF)]),
    (ValueError, "unit", named(Sum, "x", 0, 1), [{"unit": 0}]),
    (TypeError, "column is 3", sums, [(3, 0, 1)]),
    (TypeError, "upper", sums, [("x", 0, None)]),
    (TypeError, "where is", Count, ["age"]),
    (TypeError, "where is a column", Count, [column("x")]),
    (ValueError, "at least one", starred(Histogram, "x"), [([],)]),
    (ValueError, "differ", starred(Histogram, "x"), [(["a", "b", "a"],), ([1, True],)]),
    (TypeError, "categories is 'ab'", starred(Histogram, "x"), [("ab",)]),
    (ValueError, "missing", starred(Histogram, "x"), [([None],)]),
    (TypeError, "member of categories", starred(Histogram, "x"), [([[1]],)]),
    (TypeError, "statistic is", starred(GroupBy), [(BY, GroupBy), (BY, MEDIAN_AGE)]),
    (ValueError, "categories is empty", starred(GroupBy), [({"state": []}, Count())]),
    (ValueError, "differ", starred(GroupBy), [({"state": ["NY", "NY"]}, Count())]),
    (EITHER, "give different columns", covariance, [("x", "x", {"x": (0, 1)})]),
    (EITHER, "give bounds for exactly", covariance, [("x", "y", {"x": (0, 1)})]),
    (EITHER, "give bounds for exactly", covariance, [("x", "y", {**XY, "z": (0, 1)})]),
    (EITHER, "give the lower one first", covariance, [("x", "y", {"x": (1, 0), "y": (0, 1)})]),
    (EITHER, "should be two numbers", covariance, [("x", "y", {"x": 3, "y": (0, 1)})]),
    (EITHER, "should be like", covariance, [("x", "y", [(0, 1)])]),
    (EITHER, "too wide", covariance, [("x", "y", {"x": (0, "1e300"), "y": (0, 1)})]),
    (EITHER, "too narrow", covariance, [("x", "y", {"x": (0, "1e-300"), "y": (0, 1)})]),
    (EITHER, "give different columns", starred(Regression), [("y", [], {"y": (0, 1)})]),
    (EITHER, "10 at most", starred(Regression), [("y", list("abcdefghijkl"), XY)]),
    (TypeError, "should be a", Release, [None, Count(), Gaussian, Release, OF_FUNCTION]),
    (ValueError, "lower", lower, [NAN, -INF, Decimal("-Infinity"), "--1", "-", "x", True]),
    (TypeError, "lower", lower, [None]),
    (EITHER, "k is", top, [0, 5, -1, True, 1.5]),
]


@pytest.mark.parametrize(("error", "words", "call"), rows(*ROWS))
def test_a_wrong_parameter_is_named(error: Any, words: Any, call: Any) -> None:
    with pytest.raises(error, match=words):
        call()
