"""A statistic that holds a statistic claims what follows from it, whatever it was given to hold.

Each class of this kind is given each statistic of the library, with the parameters that its own
makers compute and with others. What can be constructed is compared on random neighbours with its
`l1`, `l2`, `linf` and `monotone`, and its request with those of what it holds.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from functools import cache, partial
from itertools import islice, product
from math import prod
from random import Random
from typing import Any, get_args, get_type_hints

import attrs
import numpy as np
import pytest

import mechanisms.tables.engines  # noqa: F401 (all classes)
from mechanisms import (
    Correlation,
    Count,
    CountUnits,
    Covariance,
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
    Table,
    UnitSizes,
    Variance,
    column,
)
from mechanisms.frugal.combined import Combined
from mechanisms.linear_queries import LATTICE, Gap, Weighted
from mechanisms.multiplicative_weights import _same
from mechanisms.synthetic.graphical import GRID
from mechanisms.synthetic.scores import ComparedMarginal, Distances, Marginal
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import PerUnit
from mechanisms.tables.spans.designs import DESIGNS
from mechanisms.tables.spans.ranges import Ranges
from queryable.statistics import IntegerStatistic
from tests.unit.curator.codec.test_schema import subclasses

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

UNIT = PrivacyUnit("who", max_rows=3, max_groups=2, max_rows_per_group=2)
ONE = PrivacyUnit("who", max_rows=1)
BOUNDS = {"x": (-3, 4), "y": (0, 2)}
PAIRS = 12


def statistics(per: PrivacyUnit | None) -> list[IntegerStatistic]:
    """One of each class, for rows or for units."""
    found: list[Any] = [
        *(Count(per=per), Count(column("x") > 0, per=per)),
        *(Sum("x", -3, 0, per=per), Sum("x", 0, 4, per=per), Sum("x", -3, 4, per=per)),
        *(Mean("x", -3, 4, per=per), Variance("x", -3, 4, per=per), Std("y", 0, 2, per=per)),
        Histogram("city", ["a", "b"], per=per),
        Histogram("x", bins=[-3, 0, 5], per=per),
        Ranges(Keys.bins("x", [-3, 0, 5]), Count(per=per)),
        *(Quantile("x", "1/3", [-1, 1], per=per), Quantiles("x", "1/2", [-1, 1], per=per)),
        *(Covariance("x", "y", BOUNDS, per=per), Correlation("x", "y", BOUNDS, per=per)),
        Regression("x", ["y"], BOUNDS, per=per),
    ]
    if per is not None:
        found += [CountUnits(per=per), UnitSizes([1, 2], per=per)]
        sums = PerUnit("sum", "x", Fraction(-3), Fraction(4))
        found += [Sum(sums, -3, 4, per=per), Mean(sums, 0, 4, per=per)]
        found += [Histogram(sums, bins=[-3, 0, 5], per=per), Count(Column(sums) > 0, per=per)]
        found += [Quantiles(sums, "1/2", [-1, 1], per=per)]
    return found


WEIGHTS = (0, 1, LATTICE // 3, LATTICE, LATTICE + 1, 2**40, 2**62, -1, -LATTICE)
Maker = Callable[[Any, Random], Iterator[Callable[[], Any]]]
"""Ways to construct a class that holds a statistic; each may raise."""


def grouped(statistic: Any, random: Random) -> Iterator[Callable[[], Any]]:
    for by in ({"city": ["a", "b"]}, [Keys("city", ["b"]), Keys.bins("y", [0, 1, 2])]):
        yield partial(GroupBy, by, statistic)


def weighted(statistic: Any, random: Random) -> Iterator[Callable[[], Any]]:
    entries = prod(statistic.shape or ())
    for weight in WEIGHTS:
        yield partial(Weighted, _same, np.full(entries, weight), statistic)
    for count in (entries, entries, entries - 1, entries + 1):
        weights = [random.choice(WEIGHTS[:5]) for _ in range(count)]
        yield partial(Weighted, _same, np.array(weights, dtype=np.int64), statistic)


def gaps(statistic: Any, random: Random) -> Iterator[Callable[[], Any]]:
    for inner, estimate in product(built(weighted, statistic, random), (-5, 0, 3)):
        yield partial(Gap, inner, estimate)


def combined(statistic: Any, random: Random) -> Iterator[Callable[[], Any]]:
    for rows in (1, 2, 3):
        factors = [
            [[random.randint(-9, 9) for _ in range(size)] for _ in range(rows)]
            for size in statistic.shape or (1,)
        ]
        yield partial(Combined, statistic, factors)


def marginals(statistic: Any, random: Random) -> Iterator[Callable[[], Any]]:
    for names in ((), ("city",), ("city", "y")):
        yield partial(Marginal, statistic, names)


def distances(statistic: Any, random: Random) -> Iterator[Callable[[], Any]]:
    compared = []
    for marginal, weight in product(built(marginals, statistic, random), (1, 5)):
        counts = [random.randint(-GRID, 4 * GRID) for _ in range(prod(marginal.shape))]
        compared.append(ComparedMarginal(marginal, np.reshape(counts, marginal.shape), weight, 3))
    if not compared:
        return
    yield partial(Distances, tuple(compared))
    for other in (Count(column("y") == 1), Count(per=UNIT), Count(per=ONE), Count()):
        marginal = Marginal(GroupBy({"town": ["a", "b"]}, other), ("town",))
        last = ComparedMarginal(marginal, np.zeros(2, np.int64), 1, 0)
        yield partial(Distances, (*compared, last))
        yield partial(Distances, (last, *compared))


def ranged(statistic: Any, random: Random) -> Iterator[Callable[[], Any]]:
    for by in ({"city": ["b", "a"]}, Keys.bins("y", [0, 1, 2]), Keys("x", range(-5, 6))):
        for design in DESIGNS:
            yield partial(Ranges, by, statistic, design)


WRAPPERS: dict[type, Maker] = {
    Ranges: ranged,
    GroupBy: grouped,
    Weighted: weighted,
    Gap: gaps,
    Combined: combined,
    Marginal: marginals,
    Distances: distances,
}


def built(make: Maker, statistic: Any, random: Random) -> list[Any]:
    """What a class accepts of a statistic."""
    found = []
    for construct in make(statistic, random):
        with suppress(TypeError, ValueError):
            found.append(construct())
    return found


def holds_statistics(kind: type, seen: frozenset[type] = frozenset()) -> bool:
    """Whether a field of an attrs class may be a statistic, or holds one."""
    hints = [get_type_hints(kind)[each.name] for each in attrs.fields(kind)]
    while hints:
        hint = hints.pop()
        hints += get_args(hint)
        if not isinstance(hint, type) or hint in seen:
            continue
        if issubclass(hint, IntegerStatistic) or (
            hint.__module__.startswith("mechanisms.")
            and attrs.has(hint)
            and holds_statistics(hint, seen | {kind})
        ):
            return True
    return False


def test_every_class_that_holds_a_statistic_is_tried() -> None:
    """A new one needs a maker here."""
    own = {
        each for each in subclasses(IntegerStatistic) if each.__module__.startswith("mechanisms")
    }
    assert {each for each in own if attrs.has(each) and holds_statistics(each)} == set(WRAPPERS)


Row = tuple[int, str, str, int, int]


def some_row(random: Random, who: int) -> Row:
    city, town = (random.choice("abc") for _ in range(2))
    return who, city, town, random.randint(-5, 6), random.randint(-1, 3)


def held(rows: list[Row], *, units: bool) -> Any:
    """Rows as a data set; with units as a table."""
    columns = list(zip(*rows, strict=True)) or [()] * 5
    types = (np.int64, "U1", "U1", np.int64, np.int64)
    named = zip(("who", "city", "town", "x", "y"), columns, types, strict=True)
    data = {name: np.array(cells, dtype=kind) for name, cells, kind in named}
    if not units:
        return data
    return Table(data, privacy_unit="who", max_rows=3, max_groups=2, max_rows_per_group=2, seed=1)


@cache
def neighbours(*, units: bool) -> list[tuple[Any, Any]]:
    """Random data, and the same with one row or one unit more."""
    random, found = Random(units), []
    for _ in range(PAIRS):
        rows = [some_row(random, random.randrange(5)) for _ in range(random.randrange(12))]
        many = random.randint(1, 5) if units else 1
        more = [some_row(random, 7 if units else random.randrange(5)) for _ in range(many)]
        found.append((held(rows, units=units), held([*rows, *more], units=units)))
    return found


def changes(statistic: Any, *, units: bool) -> Iterator[list[int]]:
    """By how much each entry moves when a row or a unit is added."""
    for fewer, more in neighbours(units=units):
        values = (np.asarray(statistic(data), dtype=object) for data in (more, fewer))
        one, other = values
        yield [int(each) for each in np.ravel(one - other)]


def accepted(kind: type, per: PrivacyUnit | None, random: Random) -> list[Any]:
    """What a class can be made of: of all statistics, in groups and without."""
    inner: list[Any] = statistics(per)
    inner += [each for one in inner for each in built(grouped, one, random)]
    return [each for one in inner for each in built(WRAPPERS[kind], one, random)]


TRIED = [
    *(
        pytest.param(kind, units, *((4, 2) if units else (8, PAIRS)), id=f"{kind.__name__}-{units}")
        for kind, units in product(WRAPPERS, (False, True))
        if (kind, units) != (GroupBy, True)  # the slow tests have it: analysts may send it
    ),
    *(
        pytest.param(
            *(kind, units, 40 if units else 500, PAIRS),
            id=f"all of {kind.__name__}-{units}",
            marks=pytest.mark.slow,
        )
        for kind, units in product(WRAPPERS, (False, True))
    ),
]


@pytest.mark.parametrize(("kind", "units", "most", "pairs"), TRIED)
def test_what_can_be_built_has_a_true_claim(kind: type, units: bool, most: int, pairs: int) -> None:
    """At first weights below 0 and above 1 were accepted, and sums below 0 as counts."""
    random = Random(kind.__name__)
    found = accepted(kind, UNIT if units else None, random)
    for wrapper in random.sample(found, min(most, len(found))):
        require_true(wrapper, pairs, units=units)


def require_true(statistic: Any, pairs: int, *, units: bool) -> None:
    for moved in islice(changes(statistic, units=units), pairs):
        told = statistic, moved
        assert sum(map(abs, moved)) <= statistic.l1, told
        assert sum(each**2 for each in moved) <= statistic.l2**2, told
        assert max(map(abs, moved)) <= statistic.linf, told
        assert statistic.monotone != "up" or min(moved) >= 0, told
        assert statistic.monotone != "down" or max(moved) <= 0, told


@pytest.mark.parametrize("kind", WRAPPERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("per", [None, UNIT, ONE], ids=["rows", "units", "one row"])
def test_the_request_is_that_of_all_that_is_held(kind: type, per: PrivacyUnit | None) -> None:
    """A table checks it before a charge: columns, rows, and the unit whose rows are bounded."""
    random = Random(kind.__name__)
    for statistic in statistics(per):
        for inner in (statistic, *built(grouped, statistic, random)):
            for wrapper in built(WRAPPERS[kind], inner, random):
                assert wrapper.request.per == inner.request.per == per
                assert set(inner.request.columns) <= set(wrapper.request.columns)
                assert wrapper.request.where == inner.request.where
