"""Records of tables: what each adds, against a table of that record alone, and of some of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from composition import FiltCon, Individual
from mechanisms import Count, Gaussian, Sum, Table, UnitSizes, column
from mechanisms.tables import records as module
from queryable import ZCDP, Queryable, QueryError
from tests.attacks.test_individual import Silent

ROWS, PEOPLE = 60, 9
RANDOM = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "who": pd.array(RANDOM.integers(0, PEOPLE, ROWS), dtype="Int64"),
        "age": RANDOM.integers(0, 90, ROWS),
        "cost": RANDOM.integers(-50, 50, ROWS) / 4,
        "city": RANDOM.choice(["a", "b", "c"], ROWS),
    }
)
FRAME.loc[::13, "who"] = pd.NA
UNITS = {
    "rows": {},
    "units": {"privacy_unit": "who", "max_rows": 4},
    "units in groups": {
        "privacy_unit": "who",
        "max_rows": 5,
        "max_groups": 2,
        "max_rows_per_group": 2,
    },
}
OLD = column("age") >= 40


def statistics(table: Any) -> list[Any]:
    """Statistics that know what a record adds, of all sorts of plans."""
    found = [
        table.count(),
        table.count(OLD),
        table.sum("age", 0, 50, OLD),
        Sum("cost", -5, 5, unit="1/8", per=table.unit),
        table.sum("age", 0, 2**62),
        table.histogram("city", categories=["a", "c"]),
        table.histogram("age", bins=[0, 30, 60]),
        table.group_by({"city": ["b", "a"]}).count(OLD),
        table.group_by({"city": ["a", "b"], "age": [1, 2, 3, 40, 50]}).count(),
        table.group_by({"city": ["a", "b", "c"]}).sum("cost", -5, 5),
        table.group_by({"city": ["a", "b", "c"]}).histogram("age", bins=[0, 30, 60]),
    ]
    if table.unit is not None:
        found += [
            table.count_units(),
            table.count_units(OLD),
            UnitSizes([1, 3], per=table.unit),
            table.group_by({"city": ["a", "b", "c"]}).count_units(OLD),
            table.per_unit("sum", "age", 0, 50, OLD).sum(),
            table.per_unit("max", "cost", -5, 5, unit="1/8").histogram(bins=[-5, 0, 3]),
            table.group_by({"city": ["a", "b", "c"]}).per_unit("mean", "age", 0, 50).sum(),
        ]
    return found


@pytest.fixture(params=UNITS)
def options(request: pytest.FixtureRequest) -> Any:
    return UNITS[request.param]


def opened(rows: Any, options: Any) -> Table:
    return Table(rows, seed=7, **options)


def parts_of(frame: Any, options: Any) -> list[Any]:
    """The rows of each record, in some order."""
    if not options:
        return [frame.iloc[[i]] for i in range(len(frame))]
    return [rows for _, rows in frame.groupby("who")]


def identity(rows: Any, table: Any) -> list[Any]:
    """A record's own values of all statistics."""
    return [np.ravel(each(table)).tolist() for each in statistics(table)]


def test_squares_are_those_of_each_record(options: Any) -> None:
    """As multisets: how records are numbered is private, but the same for all statistics."""
    frame = FRAME[FRAME["who"].isna() | (FRAME["who"] < 4)] if options else FRAME[:4]
    with opened(frame, options) as table:
        records = table.records()
        asked = statistics(table)
        found = np.column_stack(
            [each.contributions(records).squares.astype(object) for each in asked]
        )
        assert all(each.by_record for each in asked)
        assert [max(row) <= each.l2**2 for row, each in zip(found.T, asked, strict=True)]
    alone = []
    for rows in parts_of(frame, options):
        with opened(rows, options) as one:
            alone.append([sum(entry**2 for entry in each) for each in identity(rows, one)])
    assert records.count == len(alone)
    assert sorted(found.tolist()) == sorted(alone)


def test_sums_of_more_than_64_bits_are_exact() -> None:
    """Also those of the other records: numpy makes an array of them floats."""
    rows = pd.DataFrame({"who": [0, 0, 0, 1, 2], "paid": [2**62 - 1, 2**62 - 3, 2**62 - 5, -5, 7]})
    with Table(rows, privacy_unit="who", max_rows=4) as table:
        paid = Sum("paid", -(2**62), 2**62, per=table.unit)
        added = paid.contributions(table.records())
        assert sorted(added.squares.tolist()) == [25, 49, (3 * 2**62 - 9) ** 2]
        assert paid.value(added.among(np.ones(3, dtype=bool))) == 3 * 2**62 - 7
    # A unit of 64 characters or more is compared by its digest.
    names = ["x" * 63, "x" * 64, "x" * 64 + "y", "é" * 40]
    table = Table({"who": names, "age": [1] * 4}, privacy_unit="who", max_rows=2)
    records = table.records()
    later = table.append({"who": [*names, "new"], "age": [2] * 5}).records(records)
    assert (records.count, later.count) == (4, 5)
    added = Count(per=table.unit).contributions(later)
    assert sorted(added.squares.tolist()) == [1, 4, 4, 4, 4]


def test_sums_of_some_records_are_those_of_a_table_of_them(options: Any) -> None:
    """The totals of a table of the active records' rows, which is what children get."""
    with opened(FRAME, options) as table:
        records = table.records()
        for seed in range(1):
            active = np.random.default_rng(seed).random(records.count) < 0.6
            some = records.among(active)
            assert some.unit == table.unit
            assert some.protects == table.protects
            for each in statistics(table):
                added = each.contributions(records)
                assert np.array_equal(each(added.among(active)), each(some))
        nobody, everybody = np.zeros(records.count, bool), np.ones(records.count, bool)
        for each in statistics(table):
            added = each.contributions(records)
            assert np.array_equal(each(added.among(everybody)), each(table))
            assert not np.any(each(added.among(nobody)))
            assert np.array_equal(each(records), each(table))


def test_one_group_alone_keeps_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of so many groups that only those which occur have numbers; or if none occurs."""
    monkeypatch.setattr(module, "_FEW", 2)
    with opened(FRAME[FRAME["city"] == "c"], UNITS["units"]) as table:
        records = table.records()
        for each in statistics(table):
            added = each.contributions(records)
            assert np.array_equal(each(added.among(np.ones(records.count, bool))), each(table))


def test_children_read_the_rows_of_their_records(options: Any) -> None:
    """Also statistics that every record pays for in full, with the same choice of rows."""
    quiet: dict[str, Any] = {"coins": Silent(), "allow_seeded": True}
    with opened(FRAME, options) as table:
        child = Queryable(Individual(10), table, **quiet).launch(FiltCon(ZCDP(5)))
        whole = Queryable(FiltCon(ZCDP(10)), opened(FRAME, options), **quiet)
        found = [
            each.release(table.mean("age", 0, 90), loss=ZCDP(4)).estimate for each in (child, whole)
        ]
        assert found[0] == found[1]
    # A rare predicate costs only those who satisfy it.
    with opened(FRAME, options) as table:
        mine = Queryable(Individual("1/1000"), table)
        for age in range(30):
            mine.launch(Gaussian(table.count(column("age") == age), scale=150))
        assert mine.privacy_loss() == ZCDP("1/1000")
        assert "could pay" in mine.release(table.count(OLD), loss=ZCDP("1/2000")).title


@pytest.fixture
def csv(tmp_path: Path) -> Iterator[Path]:
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


@pytest.mark.parametrize("kind", ["csv", "grown", "chosen"])
def test_other_sources(kind: str, csv: Path, options: Any) -> None:
    """Columns without a type, rows that arrived later, and rows that were chosen before."""
    table = opened(csv if kind == "csv" else FRAME.iloc[:40], options)
    if kind == "grown":
        table = table.append(FRAME.iloc[40:])
    if kind == "chosen":
        table.choose_rows()
    records = table.records()
    active = np.arange(records.count) % 3 > 0
    some = records.among(active)
    for each in (table.count(OLD), table.histogram("city", categories=["a", "b"])):
        added = each.contributions(records)
        assert np.array_equal(each(added.among(np.ones(records.count, bool))), each(table))
        assert np.array_equal(each(added.among(active)), each(some))
    assert records.step("age") == table.step("age")


def test_sums_longer_than_64_bits(options: Any) -> None:
    """Of units with several rows near the ends of 64 bits, of both signs."""
    large = FRAME.assign(age=np.where(FRAME["age"] > 40, 2**62, -(2**62)))
    with opened(large, options) as table:
        records = table.records()
        asked = Sum("age", -(2**62), 2**62, per=table.unit)
        added = asked.contributions(records)
        active = np.arange(records.count) % 2 > 0
        assert asked(added.among(active)) == asked(records.among(active))
        assert all(type(each) is int and each % 2**124 == 0 for each in added.squares.tolist())
    with opened(FRAME.iloc[:0], options) as table:
        records = table.records()
        assert records.count == 0
        for each in statistics(table):
            assert not np.any(each(each.contributions(records).among(np.zeros(0, bool))))


def test_joined_tables_do_not_give_records() -> None:
    cities = pd.DataFrame({"city": ["a", "b", "c"], "size": [1, 2, 3]})
    joined = Table(FRAME).join(public=cities, on="city")
    mine = Queryable(Individual(1), joined)
    with pytest.raises(QueryError, match="in a database or joined"):
        mine.launch(Gaussian(joined.count(), rho=1))
    with pytest.raises(TypeError, match="told apart"):
        joined.records()
    with pytest.raises(TypeError, match=r"per=visits\.unit"):
        Table(FRAME, privacy_unit="who", max_rows=2).check(Count())


def test_records_keep_their_numbers_when_rows_arrive(options: Any) -> None:
    """Rows of known units join these; new records come after all others."""
    parts = [FRAME.iloc[:20], FRAME.iloc[20:25], FRAME.iloc[25:25], FRAME.iloc[25:]]
    with opened(parts[0], options) as table:
        grown, records, seen = table, table.records(), dict[int, Any]()
        for place, part in enumerate(parts):
            if place:
                grown = grown.append(part)
                records = grown.records(records)
            numbers = records.recorded.copied.root.fetch(
                f'SELECT "{records.recorded.rows.columns.record}", who, age, cost '
                f'FROM "{records.recorded.rows.view}" ORDER BY ALL'
            )
            now = {number: who if options else row for number, who, *row in numbers}
            assert {number: now[number] for number in seen} == seen
            assert sorted(now) == list(range(records.count))
            seen = now
            fresh = grown.records()
            for each in (table.count(OLD), table.sum("age", 0, 50)):
                mine, other = each.contributions(records), each.contributions(fresh)
                assert sorted(mine.squares.tolist()) == sorted(other.squares.tolist())
                everybody = np.ones(records.count, dtype=bool)
                assert each(mine.among(everybody)) == each(grown)
                assert each(records.among(everybody)) == each(grown)
        assert grown.records(records).recorded.parts == records.recorded.parts
        with pytest.raises(ValueError, match="does not go on"):
            table.records(records)
