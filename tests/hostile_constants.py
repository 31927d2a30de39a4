"""Random statistics with public constants that an analyst picks at the limits of every type.

`Questions` draws them for columns of given families. A constant is 0, tiny, as large as a type, one
larger than it, or far beyond it. Bounds are often equal, and units far from their bounds.
"""

import datetime as dt
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from random import Random
from typing import Any, TypeAlias

import numpy as np

from mechanisms import (
    Correlation,
    Count,
    CountUnits,
    Covariance,
    DiscoveredKeys,
    GroupBy,
    Histogram,
    Keys,
    Mean,
    PrivacyUnit,
    Quantile,
    Quantiles,
    Regression,
    Std,
    Sum,
    UnitSizes,
    Variance,
    column,
    when,
)
from mechanisms.tables.expressions.column_types import constant
from mechanisms.tables.expressions.operands import Literal, PerUnit, operand_name, operand_of
from mechanisms.tables.expressions.predicates import Predicate
from queryable.statistics import IntegerStatistic

Question: TypeAlias = Callable[[Predicate | None], IntegerStatistic | DiscoveredKeys]
"""A statistic, or the keys, of the rows that satisfy one more predicate."""

INF, TEN, TWO = float("inf"), Fraction(10), Fraction(2)
SHORT = [0, 1, -1, 5, 2**31 - 1, -(2**31), 2**53 + 1, 2**62, 2**63 - 1, 1 - 2**63]
FLOATS = [0.0, -0.0, 0.1, 1e150, 1e-150, 1e-300, 5e-324, 1.7e308, -1e308, INF, -INF, 2.0**63]
NUMBERS: list[Any] = [*SHORT, *FLOATS, True, -(2**63), 2**63, 2**64 - 1, 2**64, 2**127 - 1, 2**127]
NUMBERS += [-(2**127), -(2**127) - 1, 2**128 - 1, 2**128, 10**18, 10**38 - 1, 10**38, 10**39]
NUMBERS += [10**307, 10**330, -(10**330)]
_US = [2**63 - 1, 2**63 - 2, 2**63 - 3, 2 - 2**63, 1 - 2**63, -9223372022400000001]
MOMENTS: list[Any] = [dt.date.min, dt.date.max, dt.date(2020, 2, 29)]
MOMENTS += [dt.datetime.min, dt.datetime.max, np.datetime64("5881580-07-10")]  # noqa: DTZ901
MOMENTS += [np.datetime64("5881580-07-11"), np.datetime64("-5877641-06-24")]
MOMENTS += [np.datetime64(each, unit) for each in _US for unit in ("us", "ns")]
MOMENTS += [np.datetime64(2**63 - 1, "s"), np.datetime64(1 - 2**63, "D")]
EAST, WEST = (dt.timezone(dt.timedelta(hours=hours)) for hours in (5, -5))
INSTANTS = [dt.datetime(1, 1, 1, tzinfo=zone) for zone in (dt.UTC, EAST)]
INSTANTS += [dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=zone) for zone in (dt.UTC, WEST)]
INSTANTS += [dt.datetime(2020, 1, 1, tzinfo=EAST)]
DURATIONS = [dt.timedelta.max, dt.timedelta.min, dt.timedelta(0), np.timedelta64(2**63 - 1, "us")]
DURATIONS += [np.timedelta64(1 - 2**63, "us"), np.timedelta64(1 - 2**63, "W")]
OF: Mapping[str, list[Any]] = {
    "number": NUMBERS,
    "boolean": [True, False, 0, 1, 2, 1e308],
    "moment": MOMENTS,
    "instant": INSTANTS,
    "duration": DURATIONS,
    "text": ["", "a", "\0", "9" * 400, "1e400", "é", "%", "\\", "'"],
    "bytes": [b"", b"a", b"\0\xff"],
}
"""Constants by the family of the columns that they compare with."""

_SIZES = [Fraction(1), TEN**-400, TEN**-30, TWO**-60, TWO**-500, TWO**30, TWO**31, TWO**53, TWO**62]
_SIZES += [TWO**63 - 1, TWO**63, TWO**64, TEN**18, TEN**38, TEN**39, TEN**75, TWO**500]
_SIZES += [TEN**306, TEN**307, TEN**308, TEN**330]
ENDS = [Fraction(0), *_SIZES, *(-size for size in _SIZES)]
"""Bounds of numbers."""
UNITS = [Fraction(1), TEN**-400, TEN**-38, TEN**-18, TEN**-2, TEN**18, TEN**19, TEN**38, TEN**39]
UNITS += [TWO**power for power in (-1000, -900, -64, -63, -62, -32, -31, -20, 20, 62, 63, 64, 900)]
UNITS += [TEN**306, TEN**307, TEN**308, TEN**330, TWO**63 - 1, Fraction(1, 3), Fraction(3)]
UNITS += [TEN**19 / TWO**64, TWO**64 / TEN**19, Fraction(7, 10**18)]
_PARTS = [1, 3, 10, 10**7, 2**20, 2**31, 2**32, 2**40, 2**62]
"""How many units there are between bounds."""

_COMPARE = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
_COMPUTE = [operator.add, operator.sub, operator.mul, operator.truediv]
_TRUNCATIONS = ["year", "quarter", "month", "week", "day", "hour"]
_DATE_PARTS = ["year", "quarter", "month", "day", "weekday", "hour"]
_DEEPEST = 3


def ascending(values: list[Any]) -> list[Any]:
    """The values in their order, without those that are equal."""
    found = sorted(values, key=lambda each: constant(each).value)
    kept = [b for a, b in pairwise(found) if constant(a).value < constant(b).value]
    return found[:1] + kept


class Questions:
    """Draws statistics.

    Args:
        families: of the columns, by name.
        per: the privacy unit of the table.
    """

    def __init__(
        self, random: Random, families: Mapping[str, str], per: PrivacyUnit | None = None
    ) -> None:
        self.random, self.families, self.per = random, families, per

    def of(self, *families: str, depth: int = 0) -> Any:
        """An operand of one of these families, mostly a column."""
        chance = self.random.random()
        if depth < _DEEPEST and chance < 0.35:
            return self._computed(self.random.choice(families), depth + 1)
        if 0 < depth < _DEEPEST and chance > 0.95:
            return column(Literal(self._constant(self.random.choice(families))))
        names = sorted(name for name, family in self.families.items() if family in families)
        return column(self.random.choice(names or sorted(self.families)))

    def _computed(self, family: str, depth: int) -> Any:
        choose = self.random.choice
        if self.random.random() < 0.2:
            first = when(self.predicate(depth)).then(self._value(family, depth))
            return first.otherwise(choose([None, self._value(family, depth)]))
        match family:
            case "number" if self.random.random() < 0.5:
                return self._arithmetic(depth)
            case "number" if self.random.random() < 0.5:
                return getattr(self.of("moment", "instant", depth=depth), choose(_DATE_PARTS))()
            case "number":
                given = self.of("number", "text", "boolean", depth=depth)
                return given.cast(choose(["integer", "number"]))
            case "text" if self.random.random() < 0.5:
                return getattr(self.of("text", depth=depth), choose(["lower", "strip"]))()
            case "text":
                return self.of("number", "boolean", "moment", depth=depth).cast("text")
            case "moment" if self.random.random() < 0.5:
                return self.of("moment", "instant", depth=depth).truncate(choose(_TRUNCATIONS))
            case "moment":
                return self.of("moment", "instant", "text", depth=depth).cast(
                    choose(["date", "timestamp"])
                )
            case "boolean":
                return self.of("number", "boolean", "text", depth=depth).cast("boolean")
        return self.of(family, depth=_DEEPEST)

    def _constant(self, family: str) -> Any:
        """One that expressions are computed with."""
        exact = bool, float, str, dt.date
        known = [it for it in OF[family] if isinstance(it, exact) or it in SHORT]
        return self.random.choice(known or SHORT)  # durations and bytes have none

    def _value(self, family: str, depth: int) -> Any:
        """An operand or a constant."""
        if self.random.random() < 0.5:
            return self._constant(family)
        return self.of(family, depth=depth)

    def _arithmetic(self, depth: int) -> Any:
        if self.random.random() < 0.1:
            return self.of("moment", depth=depth) - self.of("moment", depth=depth)
        given = self.of("number", depth=depth), self.random.choice([*SHORT, *FLOATS])
        if self.random.random() < 0.4:
            given = given[0], self.of("number", depth=depth)
        return self.random.choice(_COMPUTE)(*self.random.sample(given, 2))

    def predicate(self, depth: int = 0) -> Predicate:
        """A `where`."""
        choose, chance = self.random.choice, self.random.random()
        if depth < _DEEPEST and chance < 0.1:
            return ~self.predicate(depth + 1)
        if depth < _DEEPEST and chance < 0.2:
            return self.predicate(depth + 1) & self.predicate(depth + 1)
        family = choose(["number", "number", "number", *sorted(set(self.families.values()))])
        computes = family not in ("duration", "bytes")
        operand = self.of(family, depth=depth if computes else _DEEPEST)
        found: Any
        if chance < 0.3:
            found = operand.is_in(self.random.sample(OF[family], 3))
        elif chance < 0.4:
            found = operand.is_null()
        elif chance < 0.5 and computes:
            found = choose(_COMPARE)(operand, self.of(family, depth=depth))
        elif chance < 0.6 and family == "text":
            found = getattr(operand, choose(["contains", "like", "ends_with"]))(choose(OF["text"]))
        else:
            found = choose(_COMPARE)(operand, choose(OF[family]))
        assert isinstance(found, Predicate)
        return found

    def _bounds(self) -> tuple[Fraction, Fraction]:
        lower, upper = sorted(self.random.choices(ENDS, k=2))
        return (lower, lower) if self.random.random() < 0.25 else (lower, upper)

    def _unit(self, lower: Fraction, upper: Fraction) -> Fraction:
        """Any unit, or one of which so many are between the bounds: a power of two or of ten."""
        size = max(upper - lower, abs(upper), TEN**-399) / self.random.choice(_PARTS)
        if self.random.random() < 0.4 or not TEN**-399 < size < TEN**399:
            return self.random.choice(UNITS)
        top, bottom = size.as_integer_ratio()
        two = TWO ** (top.bit_length() - bottom.bit_length())
        return self.random.choice([two, TEN ** (len(str(top)) - len(str(bottom)))])

    def _edges(self, family: str) -> list[Any]:
        """At least two edges or candidates."""
        if family == "number" and self.random.random() < 0.2:  # many, which are a table
            powers = [10 ** self.random.randint(0, 330) for _ in range(80)]
            return ascending([self.random.choice([-1, 1]) * each for each in powers])
        found = ascending(self.random.sample(OF[family], 3))
        return found if len(found) > 1 else [0, 1]

    def _keys(self) -> Any:
        family = self._family("number", "number", "text", "moment", "boolean", "instant")
        operand, keys = self.of(family), self.random.sample(OF[family], 2)
        if self.random.random() < 0.5:
            return Keys.bins(operand, self._edges(family))
        if self.random.random() < 0.2:  # many, which are a table
            keys += [type(keys[0])(i) for i in range(600)] if type(keys[0]) in (int, str) else []
        return Keys(operand, list(dict.fromkeys(keys)))

    def _family(self, *families: str) -> str:
        """One of these families that some column is of."""
        return self.random.choice([it for it in families if it in self.families.values()])

    def question(self) -> Question:
        """A statistic.

        Raises:
            TypeError, ValueError: what was drawn is none.
        """
        makers = [self._of_numbers] * 4 + [self._count] * 3 + [self._grouped] * 2
        makers += [self._histogram, self._histogram, self._quantile, self._products, self._found]
        makers += [self._units] * (self.per is not None)
        ask = self.random.choice(makers)()
        base = self.predicate() if self.random.random() < 0.3 else None

        def asked(where: Predicate | None) -> IntegerStatistic | DiscoveredKeys:
            both = where if base is None else base if where is None else base & where
            return ask(both)

        asked(None)
        return asked

    def _of_numbers(self) -> Question:
        operand = self.of(*self.random.choice([["number"]] * 8 + [["boolean"], ["text"]]))
        kind = self.random.choice([Sum, Sum, Mean, Variance, Std])
        bounds = self._bounds()
        unit = self._unit(*bounds)
        return lambda where: kind(operand, *bounds, where, unit=unit, per=self.per)

    def _count(self) -> Question:
        mine = self.predicate()
        return lambda where: Count(mine if where is None else mine & where, per=self.per)

    def _histogram(self) -> Question:
        family = self._family("number", "number", "text", "moment", "instant", "boolean")
        operand = self.of(family)
        if self.random.random() < 0.5:
            edges = self._edges(family)
            return lambda where: Histogram(operand, None, where, bins=edges, per=self.per)
        keys = self.random.sample(OF[family], 3)
        return lambda where: Histogram(operand, keys, where, per=self.per)

    def _quantile(self) -> Question:
        family = self._family("number", "number", "moment", "instant")
        operand, grid = self.of(family), self._edges(family)
        level = self.random.choice([0, 1, "1/2", "1/997"])
        if self.random.random() < 0.5:
            return lambda where: Quantile(operand, level, grid, where, per=self.per)
        return lambda where: Quantiles(operand, [level], grid, where, per=self.per)

    def _products(self) -> Question:
        names = [self.of("number"), self.of("number", "boolean")]
        bounds = {operand_name(operand_of(each)): self._bounds() for each in names}
        kind = self.random.choice([Covariance, Correlation])
        if self.random.random() < 0.4:
            return lambda where: Regression(names[0], names[1:], bounds, where, per=self.per)
        return lambda where: kind(*names, bounds, where, per=self.per)

    def _units(self) -> Question:
        if self.random.random() < 0.5:
            return self._of_units()
        limits = self.random.choice([[1], [1, 2**62], [2**63 - 1]])
        if self.random.random() < 0.5:
            return lambda where: UnitSizes(limits, where, per=self.per)
        return lambda where: CountUnits(where, per=self.per)

    def _of_units(self) -> Question:
        """About a value of each unit."""
        how = self.random.choice(["sum", "sum", "mean", "mean", "min", "max", "count"])
        operand = None if how == "count" else self.of("number")
        bounds = self._bounds()
        unit = Fraction(1) if how == "count" else self._unit(*bounds)
        edges, mine, other = self._edges("number"), self._bounds(), self.random.choice(UNITS)
        kind = self.random.choice([Sum, Mean, Std])

        def value(where: Predicate | None) -> PerUnit:
            return PerUnit(how, operand, *bounds, unit, where)

        if self.random.random() < 0.5:
            return lambda where: kind(value(where), *mine, unit=other, per=self.per)
        return lambda where: Histogram(value(where), bins=edges, per=self.per)

    def _found(self) -> Question:
        families = ["number", "text", "moment", "boolean", "bytes"]
        operands = [self.of(self._family(*families)) for _ in range(self.random.choice([1, 1, 2]))]
        most = None if self.per is None else 2
        return lambda where: DiscoveredKeys(operands, most, where, per=self.per)

    def _grouped(self) -> Question:
        keys = [self._keys() for _ in range(self.random.choice([1, 1, 2]))]
        inner = self.random.choice([self._of_numbers, self._count, self._histogram])()
        return lambda where: GroupBy(keys, inner(where))
