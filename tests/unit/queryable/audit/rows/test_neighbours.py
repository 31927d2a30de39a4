"""Neighbours of data in every form: they differ as they say, and the original stays."""

import datetime as dt
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mechanisms import Table
from queryable.audit.rows import Neighbour, neighbours_of
from queryable.audit.rows.extremes import EXTREMES, around, told_apart
from queryable.audit.rows.forms import AddedRecord, same_cell
from queryable.audit.rows.of_data import form_of_data
from queryable.data.forms import form_of
from tests.neighbouring import COLUMNS, IN_MEMORY, TABLES, Way, cases, rows_in

MANY = 60
FEW = 16
QUICK = ("csv", "parquet", "table of pandas", "grown", "ibis on sqlite", "ibis on duckdb")
TABLE_CASES = [
    *(pytest.param(TABLES[name], id=name) for name in QUICK),
    *(
        pytest.param(*each.values, id=each.id, marks=[*each.marks, pytest.mark.slow])
        for each in cases({name: way for name, way in TABLES.items() if name not in QUICK})
    ),
]


def shape(data: Any) -> Any:
    """What is public about the form of data."""
    if isinstance(data, Table):
        types = {name: (str(kind), kind.declared) for name, kind in data.columns.items()}
        return types, data.unit, data.blocks, data.seed
    form = form_of(data)
    dtype = getattr(form, "dtype", None)
    kind = dtype.kind if dtype is not None and dtype.kind in "US" else dtype
    if dtype is not None and dtype.names:  # the width of texts is no part of the form
        kind = [(name, str(dtype[name]).strip("0123456789")) for name in dtype.names]
    return type(data), getattr(form, "kind", None), kind


def require_as_stated(data: Any, each: Neighbour) -> None:
    """Whether one neighbour with one change has exactly the rows that it states."""
    before, after = rows_in(data), rows_in(each.data)
    gone, new = before - after, after - before
    assert (gone.total(), new.total()) == (each.removed, each.added), each
    assert not (each.removed and each.added)
    assert each.removed + each.added > 0


@pytest.mark.parametrize("way", [*cases(IN_MEMORY), *TABLE_CASES])
def test_a_neighbour_differs_in_one_row(way: Way) -> None:
    data = way.make()
    before = rows_in(data)
    reasons = set()
    for each in neighbours_of(data, FEW if way.is_table else MANY, constants=[50, "yes"]):
        assert shape(each.data) == shape(data)
        if not (way.is_table and data.made_of):
            require_as_stated(data, each)
            assert each.removed + each.added == 1
        reasons.add(each.reason)
    assert len(reasons) >= 4
    assert rows_in(data) == before


PERSON = {"privacy_unit": "person", "max_rows": 2}


@pytest.mark.parametrize(
    "way", [*cases({name: way for name, way in IN_MEMORY.items() if way.unit}), *TABLE_CASES]
)
def test_a_neighbour_differs_in_all_rows_of_one_unit(way: Way) -> None:
    data = way.make(**PERSON) if way.is_table else way.make()
    unit = None if way.is_table else way.unit
    owned = Counter(person_of(row) for row in rows_in(data).elements())
    del owned["missing"]
    seen: Counter[str] = Counter()
    for each in neighbours_of(data, FEW if way.is_table else MANY, unit=unit):
        assert shape(each.data) == shape(data)
        if way.is_table and data.made_of:
            continue
        require_as_stated(data, each)
        before, after = rows_in(data), rows_in(each.data)
        [person] = {person_of(row) for row in (before - after) + (after - before)}
        seen[person] += 1
        if each.removed:
            assert each.removed == owned[person]
        else:
            assert person not in {person_of(row) for row in before}
    if not (way.is_table and data.made_of):
        assert len(set(seen) & set(owned)) >= 2
        assert len(set(seen) - set(owned)) >= 3  # new ones


def person_of(row: tuple[str, ...]) -> str:
    """The person of a row, as text."""
    return "missing" if row[0] == "('person', None)" else row[0]


@pytest.mark.parametrize("d_in", [2, 3])
def test_several_units_differ(d_in: int) -> None:
    data = list(range(100, 120))
    sizes = set()
    for each in neighbours_of(data, 200, d_in=d_in):
        assert each.removed + each.added == d_in
        assert len(each.data) == 20 - each.removed + each.added
        sizes.add((each.removed, each.added))
    assert len(sizes) >= 2


def test_no_distance_has_no_neighbours() -> None:
    assert list(neighbours_of([1, 2], 10, d_in=0)) == []
    assert list(neighbours_of([1, 2], 0)) == []


def test_rows_are_chosen_where_it_hurts() -> None:
    """Of 10,000 records, 300 neighbours have each remarkable one."""
    ages = np.full(10_000, 40.0)
    ages[[17, 4_000, 9_000]] = -1e9, 1e9, np.nan
    data = {"person": np.arange(10_000) // 2, "age": ages}
    data["person"][100:150] = 7_000  # the heaviest unit
    found = list(neighbours_of(data, 300, unit="person", constants=[65]))
    reasons = {each.reason for each in found}
    assert "without a heavy unit of 50 records" in reasons
    for words in ("the largest age", "the smallest age", "a missing age"):
        assert f"without the unit of a record with {words}" in reasons
    added = {str(age) for each in found if each.added for age in each.data["age"]}
    assert {"64.0", "65.0", "66.0", "inf", "-inf", str(2.0**53), "1e+307", "-0.0"} <= added


@pytest.mark.parametrize("way", cases(IN_MEMORY))
def test_what_a_column_admits_it_holds(way: Way) -> None:
    """A cell that a type would change, such as 0.5 among integers, is not admitted."""
    form = form_of_data(way.make())
    for name in form.names:
        held = [cell for cell in EXTREMES if form.admits(name, cell)]
        assert held
        rows = [AddedRecord(0, {name: cell}) for cell in held]
        after = form_of_data(form.edited((), rows)).values(name)[form.count :]
        wrong = [pair for pair in zip(held, after, strict=True) if not same_cell(*pair)]
        assert wrong == []


def test_categories_stay() -> None:
    """A column of categories stays one, in its order, with a new category if a cell needs it."""
    kind = pd.CategoricalDtype(["low", "high"], ordered=True)
    frame = pd.DataFrame({"risk": pd.Series(["low", "high", "low"], dtype=kind)})
    seen: set[str] = set()
    for each in neighbours_of(frame, 40):
        dtype = each.data["risk"].dtype
        assert isinstance(dtype, pd.CategoricalDtype)
        assert dtype.ordered
        seen |= set(dtype.categories)
    assert {"low", "high", "NaN"} <= seen


def test_neighbours_depend_on_the_seed_alone() -> None:
    first, again, other = (
        [(each.reason, each.difference) for each in neighbours_of(COLUMNS, 200, seed=seed)]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_there_are_no_more_neighbours_than_there_are() -> None:
    found = [str(each.data) for each in neighbours_of(np.array([True]), 1000)]
    assert 2 <= len(found) <= 20
    assert "[]" in found


@pytest.mark.parametrize(
    "empty",
    [{"age": np.zeros(0, int)}, np.zeros(0), pd.DataFrame({"age": pd.Series([], dtype=int)})],
)
def test_of_no_records_one_is_added(empty: Any) -> None:
    found = list(neighbours_of(empty, 20))
    assert len(found) == 20
    assert all((each.removed, each.added) == (0, 1) for each in found)
    assert {form_of_data(each.data).count for each in found} == {1}


def test_units_that_have_rows_elsewhere_are_left_alone() -> None:
    """One in the batch and in the data before it is no unit of the batch, and no new one."""
    batch = {"person": ["a", "a", "b", "c", "C "], "age": [1, 2, 3, 4, 5]}
    before = {"person": ["b", "new 0", "1"], "age": [1, 2, 3]}
    people = set()
    for each in neighbours_of(batch, 200, unit="person", beside=[before]):
        kept = Counter(each.data["person"])
        people |= set(kept - Counter(batch["person"])) | set(Counter(batch["person"]) - kept)
    assert "a" in people
    assert not people & {"b", "c", "C ", "new 0", "1"}  # "c" and "C " may be read as one


def test_other_data_are_refused_in_words() -> None:
    class Opaque:
        pass

    with pytest.raises(TypeError, match="the records of a Opaque are not known"):
        neighbours_of(Opaque(), 1)
    with pytest.raises(ValueError, match="there is no column 'weight'; there are: 'age'"):
        neighbours_of({"age": [1]}, 1, columns=["weight"])


def test_around_a_constant_are_its_neighbours() -> None:
    assert {64, 65, 66} <= set(around([65]))
    assert {"yes ", "YES", "ye"} <= set(around(["yes"]))
    assert {dt.date(2026, 2, 28), dt.date(2026, 3, 2)} <= set(around([dt.date(2026, 3, 1)]))
    assert dt.date(9999, 12, 31) in set(around([dt.date(9999, 12, 31)]))
    assert [*around([True, None])] == [True, None]
    assert len(told_apart([0, 0.0, -0.0, False, 0])) == 4
    assert len(told_apart(EXTREMES)) == len(EXTREMES)
