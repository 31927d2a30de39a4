import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from composition import FiltCon, OdomCon
from mechanisms import Count, Gaussian, Histogram, SparseVector, Table, column
from queryable import ZCDP, PureDP, Queryable, QueryError, Statistic
from queryable.datasets import Described, is_private, protected, remember, require_answerable
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


def test_a_registered_dataset_is_not_kept_alive() -> None:
    """A later object at the same address is not private."""
    array = np.arange(1000)
    alive = weakref.ref(array)
    remember({"a": array})
    del array
    gc.collect()
    assert alive() is None
    assert not any(is_private(np.arange(1000)) for _ in range(100))


def test_values_without_weak_references_are_not_registered() -> None:
    remember([1, 2, 3])
    remember(None)
    assert not is_private(None)


@pytest.mark.parametrize("path", ["visits.csv", "data/VISITS.CSV", "s3://a/b.parquet", Path("v")])
def test_a_path_is_refused_as_a_dataset(path: Any) -> None:
    """A count of a string would count its characters."""
    with pytest.raises(TypeError, match="open it"):
        Queryable(FiltCon(ZCDP(1)), path)
    assert protected("some text") == "some text"


class Narrow(Described):
    """Takes one statistic, and says that it is asked."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.asked: list[Any] = []

    def check(self, statistic: Any) -> None:
        self.asked.append(statistic)
        raise self.error


def test_a_statistic_that_does_not_fit_is_an_error_and_not_charged() -> None:
    """Wrong names, wrong types and a forgotten unit; the table goes on."""
    rows = {"person": [1, 1, 2], "city": ["Lyon", "Graz", None]}
    with Table(rows, privacy_unit="person", max_rows=2) as table:
        per = table.unit
        wrong = {
            "no column 'town'": Count(column("town") == "Lyon", per=per),
            "per=table.unit": Count(),
            "does not compare": Count(column("city") == b"3", per=per),
        }
        for parent in (FiltCon(ZCDP(1)), OdomCon(ZCDP)):
            queryable = Queryable(parent, table)
            inner = queryable(FiltCon(ZCDP("1/2")))
            search = queryable(SparseVector(1, 1, sensitivity=2))
            before = queryable.privacy_loss()
            for why, statistic in wrong.items():
                for handle in (queryable, inner):
                    with pytest.raises(QueryError, match=why):
                        handle(Gaussian(statistic, rho="1/100"))
                with pytest.raises(QueryError, match=why):
                    search(statistic)
            assert queryable.privacy_loss() == before
            assert not inner.privacy_loss().rho
            assert isinstance(inner(Gaussian(Count(per=per), rho="1/100")), int)
            assert isinstance(search(Count(per=per)), bool)


def test_only_datasets_with_a_description_are_checked() -> None:
    """Other data are not touched, and user functions are not checked."""
    described = Narrow(KeyError("no"))
    require_answerable(described, Gaussian(Statistic(len, l1=1, l2=1), rho=1))
    require_answerable(described, Recorder([]))
    require_answerable(described, "no mechanism")
    assert described.asked == []
    require_answerable([1, 2], Gaussian(Count(column("a") > 1), rho=1))
    with pytest.raises(QueryError, match="does not fit the table: no"):
        require_answerable(described, Gaussian(Histogram("a", [1]), rho=1))
    with pytest.raises(QueryError):
        require_answerable(described, Count())


def test_an_error_of_the_description_is_left_to_the_launch() -> None:
    """Such an error does not end the tree."""
    queryable = Queryable(FiltCon(PureDP(1)), Narrow(RuntimeError("engine")))
    require_answerable(Narrow(RuntimeError("engine")), Count())
    assert queryable.privacy_loss() == PureDP(0)
