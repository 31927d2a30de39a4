"""Errors about columns and constants say what to write instead."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, Histogram, PrivacyUnit, Sum, Table, column
from mechanisms.tables.expressions.corrections import no_column
from queryable import ZCDP, Queryable, QueryError

PEOPLE: dict[str, Any] = {
    "age": np.array([70, 30]),
    "clinic": np.array(["Graz", "Lyon"]),
    "day": np.array(["2024-01-01", "2024-02-01"], dtype="M8[D]"),
}
FORMS = {
    "table": lambda: Table(PEOPLE),
    "dict": lambda: dict(PEOPLE),
    "structured": lambda: np.array([(70, "Graz")], dtype=[("age", int), ("clinic", "U4")]),
    "pandas": lambda: pd.DataFrame(PEOPLE),
    "polars": lambda: pl.DataFrame(PEOPLE),
    "arrow": lambda: pa.table(PEOPLE),
}


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("agee", "write 'age': there is no column 'agee'; the columns are 'age', 'clinic'"),
        ("Age", "write 'age': "),
        ("CLINIC", "write 'clinic': "),
        ("zzz", "there is no column 'zzz'; the columns are "),
    ],
)
def test_the_nearest_column_is_suggested(name: str, first: str) -> None:
    assert no_column(name, ["age", "clinic"]).startswith(first)


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_the_separator_is_suggested_for_a_file_of_one_column(mark: str) -> None:
    header = mark.join(["patient", "age"])
    assert no_column("age", [header]).startswith(f"write sep={mark!r}: ")
    assert no_column("sex", [header]).startswith("there is no column")


def test_a_wide_table_lists_its_first_columns() -> None:
    text = no_column("x", [f"column {i}" for i in range(1000)])
    assert text.endswith("'column 39' and 960 more")


@pytest.mark.filterwarnings("ignore:rows are protected:queryable.PrivacyWarning")
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize(
    "wrong",
    [Count(column("agee") >= 65), Sum("agee", 0, 9), Histogram("agee", [1])],
    ids=lambda each: type(each).__name__,
)
def test_a_wrong_column_is_not_charged(form: Any, wrong: Any) -> None:
    """Names of columns are public, so they are compared before the charge."""
    table = Queryable(FiltCon(ZCDP(1)), form())
    with pytest.raises(QueryError, match=r"^write 'age': there is no column 'agee'"):
        table.launch(Gaussian(wrong, rho="1/10"))
    assert table.privacy_loss() == ZCDP(0)
    table.launch(Gaussian(Count(column("age") >= 65), rho="1/10"))


@pytest.mark.filterwarnings("ignore:rows are protected:queryable.PrivacyWarning")
@pytest.mark.parametrize("form", [FORMS["dict"], FORMS["pandas"]])
def test_a_privacy_unit_needs_a_table(form: Any) -> None:
    table = Queryable(FiltCon(ZCDP(1)), form())
    with pytest.raises(QueryError, match=r"^put the data in a Table\(.., privacy_unit='clinic'"):
        table.launch(Gaussian(Count(per=PrivacyUnit("clinic", max_rows=1)), rho="1/10"))
    assert table.privacy_loss() == ZCDP(0)


@pytest.mark.parametrize(
    ("name", "constant", "first"),
    [
        ("day", "2024-01-31", "give a datetime.date or datetime.datetime, such as datetime.date"),
        ("age", "65", "give a number: a column of BIGINT does not compare with str"),
        ("clinic", 3, "give a text, such as 'CA': a column of VARCHAR does not compare with int"),
        ("age", dt.date(2024, 1, 1), "give a number: "),
    ],
)
def test_a_constant_of_another_kind_is_corrected(name: str, constant: Any, first: str) -> None:
    table = Queryable(FiltCon(ZCDP(1)), Table(PEOPLE))
    with pytest.raises(QueryError, match=f"^{first}"):
        table.launch(Gaussian(Count(column(name) >= constant), rho="1/10"))
    assert table.privacy_loss() == ZCDP(0)
