"""One record that is meant to make a reader fail: nothing fails, and other rows are unaffected.

A naive reader gives columns a common type, asks a library to convert them as a whole, or compares
cells, and fails when one record holds a signalling NaN: an analyst who sees the failure knows that
the record is there. Here random pairs of tables differ in one hostile record.
"""

import datetime as dt
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from math import prod
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon, Parallel, Partition
from mechanisms import (
    Correlation,
    Count,
    DiscoveredKeys,
    GroupBy,
    Histogram,
    Keys,
    Laplace,
    Mean,
    Quantile,
    Sum,
    Table,
    Variance,
    column,
)
from mechanisms.linear_queries import Weighted
from mechanisms.synthetic.domain import domain_of
from mechanisms.synthetic.scores import ComparedMarginal, Distances, Marginal
from mechanisms.tables.expressions.comparisons import OPERATORS
from mechanisms.tables.expressions.predicates import Comparison
from mechanisms.tables.requests.keys import groups_of
from queryable import MechanismFault, PureDP, Queryable
from queryable.faults import touching_data
from queryable.statistics import IntegerStatistic
from tests.attacks.hostile_tables import AWARE, FORMS, NAIVE, Form

CONSTANTS: list[Any] = [2, 0.5, 2**63, -1e300, True, "a", b"a", NAIVE, AWARE, NAIVE.date()]
CONSTANTS += [dt.timedelta(1), np.datetime64("2020-01-01T00:00:00.000000001")]
GRIDS: list[list[Any]] = [[0, 1, 2.5], ["a", "b"], [NAIVE, NAIVE + dt.timedelta(1)], [b"a"]]
LATTICE = np.array([1, 2, 3, 4, 5]) << 17


def modelled(names: list[str], random: Random) -> list[IntegerStatistic]:
    """What a `Synthetic` launches: a marginal of some columns, and distances from a model."""
    cuts: list[Any] = []
    for name in names:
        bins = Keys.bins(name, random.choice([GRIDS[0], GRIDS[2]]))
        cuts.append(random.choice([bins, {name: random.choice(GRIDS)}]))
    domain = domain_of(groups_of(cuts))
    whole = Marginal(domain.counts(tuple(range(len(names))), None), tuple(names))
    alone = Marginal(domain.counts((0,), None), tuple(names[:1]))
    counts = np.array([random.randrange(300) for _ in range(prod(whole.shape))])
    zero = np.zeros(alone.shape, dtype=np.int64)
    compared = (
        ComparedMarginal(whole, counts.reshape(whole.shape), 3, 40),
        ComparedMarginal(alone, zero, 1, 0),
    )
    return [whole, Distances(compared)]


def statistics(form: Form, random: Random) -> list[IntegerStatistic]:
    """One of each kind, over some of the columns and against some constant."""
    one, other = (random.choice(sorted(form.columns)) for _ in range(2))
    constants = random.sample(CONSTANTS, 2)
    compare = Comparison(one, random.choice(sorted(OPERATORS)), constants[0])
    keys = {other: random.choice(GRIDS)}
    return [
        Count(),
        Count(compare),
        Count(~column(one).is_in(constants) | compare),
        Count(column(one).contains("a") | column(other).like("%b") | (column(one) < column(other))),
        Count(column(one).cast("text").is_null() | (column(other).cast("number") * 2 > 1)),
        Count(lambda table: form.entries(table, one)),
        Sum(one, -5, 10),
        Sum(one, "0.1", 1, where=compare, unit="0.1"),
        Sum(one, -1, 2**70, unit=Fraction(1, 4)),
        Mean(one, -1, 3),
        Variance(one, 0, 2),
        *([Correlation(one, other, {one: (-1, 3), other: (0, 2)})] if one != other else []),
        Histogram(one, constants, where=lambda table: form.entries(table, other)),
        Quantile(one, "1/3", random.choice(GRIDS)),
        GroupBy(keys, Sum(one, 0, 3)),
        GroupBy(keys, Variance(one, 0, 3)),
        GroupBy(keys, Histogram(one, [2, "a"])),
        Weighted(lambda table: form.entries(table, one), LATTICE),
        *modelled(sorted({one, other}), random),
    ]


def outcome(statistic: IntegerStatistic, table: Any) -> Any:
    """The value without noise as an array, None where it failed."""
    try:
        return np.atleast_1d(np.asarray(statistic(table), dtype=object))
    except MechanismFault:
        return None


def discovered(form: Form, random: Random) -> list[DiscoveredKeys]:
    """Keys of one column, of two, and of expressions."""
    one, other = (random.choice(sorted(form.columns)) for _ in range(2))
    return [
        DiscoveredKeys(one),
        DiscoveredKeys([one, other], where=column(other) != random.choice(CONSTANTS)),
        DiscoveredKeys([column(one).cast("text"), column(other).cast("integer")]),
        DiscoveredKeys(column(one).truncate("month"), where=lambda t: form.entries(t, other)),
    ]


def found(keys: DiscoveredKeys, table: Any) -> Counter[Any] | None:
    """The exact counts of the keys, with the types of these; None where it failed."""
    counts: Counter[Any] = Counter()
    try:
        for batch in touching_data(lambda: list(keys.found(table))):
            values = batch.keys(np.arange(len(batch.counts)))
            for value, count in zip(values, batch.counts.tolist(), strict=True):
                counts[tuple((type(each), each) for each in value)] += count
    except MechanismFault:
        return None
    return counts


def hold_apart(form: Form, random: Random, seed: object) -> None:
    """Check one pair of tables that differ in one record."""
    form = form.narrowed(random)
    rows = [form.row(random, 0.3) for _ in range(random.randrange(4))]
    place = random.randrange(len(rows) + 1)
    more = [*rows[:place], form.row(random, 0.8), *rows[place:]]
    small, large = form.table(rows), form.table(more)
    for statistic in statistics(form, random):
        before, after = outcome(statistic, small), outcome(statistic, large)
        told = f"{statistic!r} of records {seed}"
        assert (before is None) == (after is None), told
        if before is not None:
            moved = abs(after - before)
            assert moved.sum() <= statistic.l1, told
            assert (moved**2).sum() <= statistic.l2**2, told
            if isinstance(statistic, Marginal):
                assert moved.sum() == 1, told  # it is in one cell, whatever it is
            if isinstance(statistic, Distances):
                assert moved.max() <= statistic.linf, told
    for keys in discovered(form, random):
        shown = [found(keys, table) for table in (small, large)]
        assert (shown[0] is None) == (shown[1] is None), f"{keys!r} of records {seed}"
        if shown[0] is not None and shown[1] is not None:
            shown[1].subtract(shown[0])
            assert set(shown[1].values()) <= {0, 1}, f"{keys!r} of records {seed}"
            assert sum(shown[1].values()) <= 1, f"{keys!r} of records {seed}"
    name = random.choice(sorted(form.columns))
    for key in (name, lambda record: record[name]):
        partition = Partition(key, ["a", 1, 2])
        parts = [partition.split(table, partition.parts) for table in (small, large)]
        grown = [length(parts[1][part]) - length(parts[0][part]) for part in partition.parts]
        assert sorted(grown) == [0, 0, 0, 1], f"parts of {name} of records {seed}"


def length(table: Any) -> int:
    """How many rows."""
    return len(next(iter(table.values()))) if isinstance(table, dict) else len(table)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("pairs", [10, pytest.param(2_000, marks=pytest.mark.slow)])
def test_one_hostile_record_breaks_nothing(form: str, pairs: int) -> None:
    """Failures are equal on both sides, and no value moves by more than its sensitivity.

    The slow ones are 20,000 pairs over the ten forms.
    """
    for seed in range(pairs):
        hold_apart(FORMS[form], Random(f"{form} {seed}"), seed)


@pytest.mark.parametrize("form", FORMS)
def test_some_of_it_is_read(form: str) -> None:
    """What fails by the type of a column always fails; if all did, the test above would be idle."""
    random, answered = Random(form), set()
    table = FORMS[form].table([FORMS[form].row(random, 0.3) for _ in range(4)])
    for _ in range(100):
        for statistic in statistics(FORMS[form], random):
            if type(statistic) not in answered and outcome(statistic, table) is not None:
                answered.add(type(statistic))
        if len(answered) == 11:
            return
    raise AssertionError(answered)


ROWS = [{"state": "CA", "age": 31}, {"state": "NY", "age": 29}]
LATER = [{"state": "CA"}, {"age": 40}, {"state": None, "age": None}, {"state": Decimal("sNaN")}]


@pytest.mark.parametrize("record", [None, *LATER], ids=str)
def test_every_part_answers_whoever_is_there(record: Any) -> None:
    """Parts of a list of records, one of them empty: an analyst cannot tell them from failures."""
    rows = ROWS if record is None else [*ROWS, record]
    older = Count(lambda part: [row.get("age") == 31 or row.get("age") for row in part])
    parts = Partition("state", ["CA", "NY", "TX"])
    counts = {name: Laplace(older, epsilon=10**6) for name in parts.parts}
    q = Queryable(FiltCon(PureDP(10**6)), rows)
    opening = q.launch(Parallel(parts, counts)).opening
    assert list(opening) == [1, 0, 0, 0]


def opened(table: Any) -> Table | None:
    """A table on DuckDB, None for a column that it does not take."""
    try:
        return Table(table, threads=1)
    except TypeError as error:
        if not str(error).startswith("convert column "):
            raise
        return None


def result(statistic: IntegerStatistic, table: Table) -> Any:
    """As `outcome`; None where the check refuses it, without looking at rows."""
    try:
        table.check(statistic)
    except (TypeError, ValueError):
        return None
    return np.atleast_1d(np.asarray(statistic.value(table), dtype=object))


def hold_apart_on_duckdb(form: Form, random: Random, seed: object) -> None:
    """Check one pair of tables of one column."""
    name = random.choice(sorted(form.columns))
    form = attrs.evolve(form, columns={name: form.columns[name]})
    rows = [form.row(random, 0.3) for _ in range(random.randrange(4))]
    small, large = opened(form.table(rows)), opened(form.table([*rows, form.row(random, 0.8)]))
    assert (small is None) == (large is None), f"{name} of records {seed}"
    if small is None or large is None:
        return
    assert small.columns == large.columns, f"{name} of records {seed}"
    constants = random.sample(CONSTANTS, 2)
    compare = Comparison(name, random.choice(sorted(OPERATORS)), constants[0])
    for statistic in (
        Count(compare),
        Count(~column(name).is_in(constants) | compare),
        Sum(name, -5, 10),
        Sum(name, "0.1", 1, where=compare, unit="0.1"),
        Histogram(name, constants),
        Quantile(name, "1/3", random.choice(GRIDS)),
        GroupBy({name: random.choice(GRIDS)}, Mean(name, 0, 3)),
        *modelled([name], random),
    ):
        before, after = result(statistic, small), result(statistic, large)
        told = f"{statistic!r} of {name} of records {seed}"
        assert (before is None) == (after is None), told
        assert before is None or abs(after - before).sum() <= statistic.l1, told
        if isinstance(statistic, Marginal) and before is not None:
            assert abs(after - before).sum() == 1, told
    small.close()
    large.close()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", [name for name in FORMS if name != "records"])
@pytest.mark.parametrize("pairs", [3, pytest.param(500, marks=pytest.mark.slow)])
def test_one_hostile_record_breaks_no_table(form: str, pairs: int) -> None:
    """The same where DuckDB reads a frame: types, refusals and values of others stay."""
    for seed in range(pairs):
        hold_apart_on_duckdb(FORMS[form], Random(f"{form} {seed}"), seed)
