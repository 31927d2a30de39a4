"""What fits the data, and is refused before the charge if it does not."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from composition import Blocks, FiltCon, OdomCon
from mechanisms import Count, Gaussian, Histogram, SparseVector, Table, TreeCounter, column
from queryable import (
    ZCDP,
    PureDP,
    Queryable,
    QueryError,
    Statistic,
    UserLevel,
)
from queryable.checks.datasets import Described
from queryable.checks.fit import require_answerable
from tests.strategies import Recorder


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
            "visits.count.., or give per=visits.unit": Count(),
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


def test_a_description_is_asked_and_a_list_has_none() -> None:
    """A list of records says nothing publicly, and user functions are not checked."""
    described = Narrow(KeyError("no"))
    require_answerable(described, Gaussian(Statistic(len, l1=1, l2=1), rho=1))
    require_answerable(described, Recorder([]))
    require_answerable(described, "no mechanism")
    assert described.asked == []
    require_answerable([1, 2], Gaussian(Count(column("a") > 1), rho=1))
    with pytest.raises(QueryError, match=r"^no\. .* does not fit the table"):
        require_answerable(described, Gaussian(Histogram("a", [1]), rho=1))
    with pytest.raises(QueryError):
        require_answerable(described, Count())


def test_an_error_of_the_description_is_left_to_the_launch() -> None:
    """Such an error does not end the tree."""
    queryable = Queryable(FiltCon(PureDP(1)), Narrow(RuntimeError("engine")))
    require_answerable(Narrow(RuntimeError("engine")), Count())
    assert queryable.privacy_loss() == PureDP(0)


@pytest.mark.parametrize(
    "data", [{"who": []}, pd.DataFrame({"who": []}), pa.table({"who": []}), np.zeros(0)]
)
@pytest.mark.parametrize(
    "mechanism",
    [
        TreeCounter(Count(), epsilon=1, neighbours=UserLevel("whom", 2)),
        Blocks(FiltCon(ZCDP("1/2")), unit="whom", unit_blocks=2, unit_rows=2),
    ],
    ids=["counter", "blocks"],
)
@pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
def test_a_column_of_units_that_is_not_there_is_not_charged(data: Any, mechanism: Any) -> None:
    """Names of columns are public. A list of records states none, so it is not checked."""
    table = Queryable(FiltCon(ZCDP(1)), data)
    with pytest.raises(QueryError, match="no column 'whom' that names units; the columns are"):
        table.launch(mechanism)
    assert table.privacy_loss() == ZCDP(0)
    table.feed(data)
    with pytest.raises(QueryError, match="Nothing is charged"):
        table.launch(mechanism)
    assert isinstance(Queryable(FiltCon(ZCDP(1)), []).launch(mechanism), Queryable)
