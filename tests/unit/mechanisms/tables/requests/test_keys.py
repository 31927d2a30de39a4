"""Public keys: intervals, combinations, and which kinds of column are refused as keys."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from composition import FiltCon
from mechanisms import (
    Count,
    CountUnits,
    Gaussian,
    GroupBy,
    Histogram,
    Keys,
    PrivacyUnit,
    Sum,
    Table,
    column,
)
from mechanisms.tables.requests.request import Bins, Combinations
from queryable import ZCDP, Queryable, QueryError
from queryable.answers.estimates import Bin

pytestmark = pytest.mark.filterwarnings("ignore::queryable.errors.PrivacyWarning")

ROWS = {"state": ["NY", "CA", "NY", None], "sex": [1, 2, 2, 1], "age": [10, 20, 30, 40]}
DAY, NOON = dt.date(2024, 1, 1), dt.datetime(2024, 1, 1, 12)  # noqa: DTZ001


def test_intervals_are_half_open() -> None:
    """A cell at an edge belongs to the interval that begins there; outside counts nowhere."""
    ages = Histogram("age", bins=[10, 20, 40])
    assert ages(ROWS).tolist() == [1, 2]
    assert ages.shape == (2,)
    assert [str(each) for [each] in ages.axes[0].values] == ["[10, 20)", "[20, 40)"]
    assert GroupBy(Keys.bins("age", [0, 25]), Sum("sex", 0, 9))(ROWS).tolist() == [3]


def test_combinations_that_occur_in_a_public_table() -> None:
    """One dimension, in the order of occurrence, without repetitions and missing cells."""
    public = {"state": ["NY", "CA", "NY", None, "TX"], "sex": [2, 2, 2, 1, 1]}
    for table in (public, pd.DataFrame(public), pl.DataFrame(public)):
        keys = Keys.of(table, "state", "sex")
        assert isinstance(keys, Combinations)
        counts = GroupBy(keys, Count())
        assert counts.axes[0].names == ("state", "sex")
        assert counts.axes[0].values == (("NY", 2), ("CA", 2), ("TX", 1))
        assert counts(ROWS).tolist() == [1, 1, 0]
    assert GroupBy(Keys.of(public, "state"), Count()) == GroupBy(
        {"state": ["NY", "CA", "TX"]}, Count()
    )


def test_many_combinations_are_one_dimension() -> None:
    """Only the combinations take memory, not all pairs of values."""
    public = {"zip": list(range(20_000)), "town": [f"t{i}" for i in range(20_000)]}
    counts = GroupBy(Keys.of(public, "zip", "town"), Count())
    assert counts.shape == (20_000,)
    assert counts({"zip": [7, 7, 8], "town": ["t7", "t8", "t8"]}).sum() == 2
    with Table(pd.DataFrame(public)) as table:
        assert counts.value(table).tolist() == [1] * 20_000


def test_months() -> None:
    """Months of a column of dates or times, also of undeclared text; across a year's end."""
    days = [dt.date(2023, 12, 31), dt.date(2024, 1, 1), dt.date(2024, 2, 29), None]
    months = GroupBy(Keys.months("day", "2023-12", dt.date(2024, 2, 29)), Count())
    assert [month for [month] in months.axes[0].values] == [
        dt.date(2023, 12, 1),
        dt.date(2024, 1, 1),
        dt.date(2024, 2, 1),
    ]
    written = [None if day is None else day.isoformat() for day in days]
    times = pd.DataFrame({"day": pd.to_datetime(pd.Series(written))})
    for rows in ({"day": days}, times):
        assert months(rows).tolist() == [1, 1, 1]
    for rows in ({"day": days}, {"day": written}, times, pl.DataFrame({"day": days})):
        with Table(rows) as table:
            table.check(months)
            assert months.value(table).tolist() == [1, 1, 1]
    for first, last in (("2024-02", "2024-01"), ("2024", "2024-01"), (None, "2024-01")):
        with pytest.raises((TypeError, ValueError), match="first"):
            Keys.months("day", first, last)


def test_a_mix_of_keys() -> None:
    by = [Keys("state", ["CA", "NY"]), {"sex": [1, 2]}, Keys.bins("age", [0, 25, 50])]
    assert GroupBy(by, Count()).shape == (2, 2, 2)
    assert [axis.names for axis in GroupBy(by, Count()).axes] == [("state",), ("sex",), ("age",)]
    assert GroupBy(by, Count()).axes[2].values[0] == (Bin(0, 25),)
    assert GroupBy(by, Count()).public_name == "Count by state, sex, age"
    assert GroupBy(by, Count())(ROWS).sum() == 3


@pytest.mark.parametrize("bounds", [{}, {"max_groups": 2}, {"max_rows_per_group": 1}])
def test_bounds_of_a_person_apply_to_combinations(bounds: dict[str, int]) -> None:
    """Combined keys are as many groups as they list, not as many as their product."""
    per = PrivacyUnit("who", max_rows=4, **bounds)
    keys = Keys.of({"a": [1, 2, 3], "b": [1, 2, 3]}, "a", "b")
    flat = GroupBy({"a": [1, 2, 3]}, Count(per=per))
    assert GroupBy(keys, Count(per=per)).l1 == flat.l1
    assert GroupBy(keys, CountUnits(per=per)).l1 == min(3, bounds.get("max_groups", 3))


def test_keys_are_not_taken_from_private_data() -> None:
    frame = pd.DataFrame(ROWS)
    Queryable(FiltCon(ZCDP(1)), frame)
    with pytest.raises(TypeError, match="give a public table"):
        Keys.of(frame, "sex")


FRAME = pd.DataFrame(
    {
        "amount": [1.5, 2.0],
        "when": [NOON, NOON],
        "flag": [1.0, 0.0],
        "n": [1, 2],
        "g": ["a", "b"],
    }
)
MONEY = pl.DataFrame({"amount": ["1.50", "2.00"]}).with_columns(
    pl.col("amount").cast(pl.Decimal(10, 2))
)


@pytest.mark.parametrize(
    ("data", "statistic", "advice"),
    [
        (FRAME, Histogram("amount", [0, 10, 20]), r"bins=.*cast\('integer'\)"),
        (FRAME, GroupBy({"amount": [1, 2]}, Count()), r"Keys\.bins"),
        (FRAME, GroupBy(Keys.of({"n": [1], "amount": [2]}, "n", "amount"), Count()), r"bins="),
        (FRAME, Histogram("when", [NOON]), r"truncate\('month'\)"),
        (FRAME, Histogram("when", [DAY]), r"truncate\('month'\)"),
        (FRAME, Histogram("n", ["1", "2"]), "give keys that cells of 'n'"),
        (Table(FRAME), Histogram("n", bins=[DAY, dt.date(2024, 2, 1)]), "compare"),
        (Table(FRAME), Histogram("amount", [0, 10, 20]), r"bins=.*cast\('integer'\)"),
        (Table(FRAME), Histogram("when", [NOON]), r"truncate\('month'\)"),
        (Table(FRAME), Histogram("n", ["1", "2"]), "give keys that cells of 'n'"),
        (Table(MONEY), Histogram("amount", [0, 10, 20]), "bins="),
        (Table({"amount": [1.5, 2]}), Histogram("amount", [0, 10, 20]), "types=.*amount"),
        (Table({"when": [NOON]}), Histogram("when", [NOON]), "bins="),
        (FRAME, Histogram("amuont", bins=[0, 10]), "no column 'amuont'.*'amount'"),
        (FRAME, Sum("when", 0, 1), "numbers"),
        (FRAME, Count(column("n") > "1"), "compare"),
        (FRAME, CountUnits(per=PrivacyUnit("n", max_rows=1)), r"Table\(\.\., privacy_unit='n'\)"),
        (ROWS, Count(column("agee") > 1), "no column 'agee'"),
        (np.zeros(2, [("x", "f8")]), Histogram("x", [0, 1]), "bins="),
        (pl.DataFrame({"x": [0.5]}), Histogram("x", [0, 1]), "bins="),
        (MONEY.to_arrow(), Histogram("nothing", [0, 1]), "no column 'nothing'"),
    ],
)
def test_what_does_not_fit_is_refused_uncharged(data: Any, statistic: Any, advice: str) -> None:
    """Numbers that are not whole and times are no keys; refused before anything is charged."""
    queryable = Queryable(FiltCon(ZCDP(1)), data)
    with pytest.raises(QueryError, match=advice):
        queryable(Gaussian(statistic, rho="1/2"))
    assert queryable.privacy_loss() == ZCDP(0)


@pytest.mark.parametrize(
    ("data", "statistic"),
    [
        (FRAME, Histogram("flag", [False, True])),
        (FRAME, Histogram("amount", bins=[0, 10, 20])),
        (FRAME, Histogram("n", [1, 2])),
        (FRAME, Count(column("amount") == 1.5)),
        (FRAME, Count(lambda frame: frame["n"] > 1)),
        (ROWS, Histogram("sex", [1, 2])),
        ([{"sex": 1}], Histogram("sex", [1, 2])),
        (Table(FRAME), Histogram("flag", [False, True])),
        (Table({"g": ["x"], "day": [DAY]}), Histogram("g", ["x", "y"])),
        (Table({"g": ["x"], "day": [DAY]}), Histogram("day", [DAY])),
        (Table({"flag": [True]}), Histogram("flag", [True, False])),
        (Table({"amount": [1.5]}), Histogram("amount", bins=[0, 1, 2])),
        (Table({"n": [1, 2]}, types={"n": "BIGINT"}), Histogram("n", [1, 2])),
        (np.zeros(3), Count()),
    ],
)
def test_what_fits_is_answered(data: Any, statistic: Any) -> None:
    Queryable(FiltCon(ZCDP(1)), data)(Gaussian(statistic, rho="1/2"))


def test_steps_of_dates_and_times_are_in_order() -> None:
    """Python does not compare a date with a time."""
    assert Bins("day", ((">=", DAY), (">=", NOON), (">", NOON))).size == 2
    assert Bins("age", ((">=", 1), (">", 1)), bounded=False).size == 3
