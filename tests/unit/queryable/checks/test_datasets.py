import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, Table
from queryable import ZCDP, PrivacyWarning, PureDP, Queryable, QueryError, rehearse
from queryable.checks.datasets import is_private, protected, remember
from tests.strategies import Recorder


def test_arrays_are_read_through_views() -> None:
    data = {"a": np.arange(3), "b": [1, 2]}
    seen = protected(data)
    with pytest.raises(ValueError, match="read-only"):
        seen["a"][0] = 7
    data["a"][0] = 7  # type: ignore[index]
    assert seen["a"][0] == 7


def test_registered_datasets_are_private() -> None:
    array, frame = np.arange(5), pd.DataFrame({"a": [1]})
    assert not is_private(array)
    for data in (array, frame, {"a": array}):
        remember(data)
        assert is_private(data)
    assert is_private({"other": array[1:]})
    assert not is_private(array.copy())
    assert not is_private([1, 2, 3])
    remember([1, 2, 3])
    remember(None)
    assert not is_private(None)


def test_a_registered_dataset_is_not_kept_alive() -> None:
    """A later object at the same address is not private."""
    array = np.arange(1000)
    alive = weakref.ref(array)
    remember({"a": array})
    del array
    assert alive() is None
    assert not any(is_private(np.arange(1000)) for _ in range(100))


@pytest.mark.parametrize("path", ["visits.csv", "data/VISITS.CSV", "s3://a/b.parquet", Path("v")])
def test_a_path_is_refused_as_a_dataset(path: Any) -> None:
    """A count of a string would count its characters."""
    with pytest.raises(TypeError, match="open it"):
        Queryable(FiltCon(ZCDP(1)), path)
    assert protected("some text") == "some text"


PEOPLE = {"patient": [1, 1, 2], "age": [70, 70, 30]}
FRAMES = {
    "pandas": lambda: pd.DataFrame(PEOPLE),
    "polars": lambda: pl.DataFrame(PEOPLE),
    "arrow": lambda: pa.table(PEOPLE),
    "batch": lambda: pa.RecordBatch.from_pydict(PEOPLE),
}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_bare_frame_is_warned_about(frame: Any) -> None:
    """The text depends on the class of the data alone."""
    with pytest.warns(PrivacyWarning, match="rows are protected here, not persons") as caught:
        Queryable(FiltCon(ZCDP(1)), frame())
    assert [Path(each.filename).name for each in caught] == ["test_datasets.py"]
    with pytest.warns(PrivacyWarning) as again:
        Queryable(FiltCon(ZCDP(1)), frame()[:0])
    assert [str(each.message) for each in again] == [str(each.message) for each in caught]


@pytest.mark.parametrize(
    "data",
    [
        PEOPLE,
        [1, 2],
        [{"age": 1}],
        np.arange(3),
        {"age": np.arange(3)},
        np.zeros(2, dtype=[("age", int)]),
        None,
    ],
    ids=str,
)
def test_other_data_are_not_warned_about(data: Any) -> None:
    Queryable(FiltCon(ZCDP(1)), data)  # warnings are errors here


@pytest.mark.parametrize("bounds", [{}, {"privacy_unit": "patient", "max_rows": 2}])
def test_a_table_says_what_is_meant(bounds: Any) -> None:
    Queryable(FiltCon(ZCDP(1)), Table(pd.DataFrame(PEOPLE), **bounds))


@pytest.mark.parametrize(
    "wrap",
    [Table, lambda data: data["age"], lambda data: data],
    ids=["a table", "a column", "the data"],
)
def test_a_second_queryable_over_the_same_data_is_warned_about(wrap: Any) -> None:
    data = wrap({name: np.array(values) for name, values in PEOPLE.items()})
    first = Queryable(FiltCon(ZCDP(1)), data)
    with pytest.warns(PrivacyWarning, match="a budget of its own: what both reveal adds up"):
        Queryable(FiltCon(ZCDP(1)), data)
    alive = weakref.ref(first)
    del first
    assert alive() is None  # nothing is left to the collector
    with pytest.warns(PrivacyWarning):  # what was answered remains known
        Queryable(FiltCon(ZCDP(1)), data)


def test_children_and_rehearsals_do_not_warn() -> None:
    table = Queryable(FiltCon(ZCDP(1)), Table(PEOPLE))
    table.launch(FiltCon(ZCDP("1/2"))).launch(Gaussian(Count(), rho="1/10"))
    assert len(table.children) == 1
    frame = pd.DataFrame(PEOPLE)
    for _ in range(2):
        assert rehearse(Gaussian(Count(), rho=1), frame).values == {"statistic": 3}
    runs: list[str] = []
    with pytest.raises(PrivacyWarning, match="rows are protected"):  # warnings are errors here
        Queryable(Recorder(runs), pd.DataFrame(PEOPLE))
    assert runs == []


def patients() -> Table:
    return Table(PEOPLE, privacy_unit="patient", max_rows=4, max_groups=2)


WHOM: list[tuple[Any, str]] = [
    (patients, "one patient: at most 4 of their rows are counted in at most 2 groups"),
    (lambda: Table(PEOPLE), "one row: each row on its own, even if several belong to one person"),
    (lambda: PEOPLE, "one row: each row on its own, even if several belong to one person"),
    (lambda: [1, 2], "one record: each record on its own, even if several belong to one person"),
]


@pytest.mark.parametrize(("data", "whom"), WHOM, ids=range(len(WHOM)))
def test_displays_say_whom_the_budget_protects(data: Any, whom: str) -> None:
    table = Queryable(FiltCon(ZCDP(1)), data())
    assert f"protects {whom}" in table.tree()
    assert f"protects {whom}" in table._repr_html_()
    assert f"Protected: {whom}." in " ".join(table.explain().split())
    unit = whom.partition(":")[0]
    assert f"adding or removing {unit}" in " ".join(table.explain().split())
    assert unit == "one record" or "one record" not in table.explain()


@pytest.mark.parametrize(
    ("d_in", "step"),
    [
        (2, "replacing one patient with all its rows by another (or adding or removing two)"),
        (3, "adding or removing 3 patients"),
    ],
)
def test_displays_say_which_neighbours_a_budget_is_for(d_in: int, step: str) -> None:
    table = Queryable(FiltCon(PureDP(1), d_in=d_in), patients())
    assert f"the budget is for {step}" in table.tree()
    assert f"{step} changes the probability" in " ".join(table.explain().split())


def test_the_name_of_a_unit_is_shown_as_text() -> None:
    table = Table({"a<b>\n": [1], "x": [2]}, privacy_unit="a<b>\n", max_rows=1)
    shown = Queryable(FiltCon(ZCDP(1)), table)
    assert "protects one a<b>: at most 1" in shown.tree()
    assert "<b>:" not in shown._repr_html_()


def test_a_missing_file_is_named() -> None:
    table = Queryable(FiltCon(ZCDP(1)), Table({"who": ["ann"]}))
    with pytest.raises(QueryError, match=r"'nowhere\.csv'; nothing has changed"):
        table.feed("nowhere.csv")
