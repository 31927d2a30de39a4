"""An analysis over data in every form holds on neighbours, and a wrong claim about it is found."""

from pathlib import Path
from typing import Any

import pytest

from composition import FiltCon
from mechanisms import Gaussian, Laplace, Table, column
from queryable import ZCDP, PureDP, Queryable
from queryable.audit import NeighbourReport, on_neighbours
from queryable.audit.rows.of_data import form_of_data
from queryable.errors import HandleError
from queryable.statistics import Statistic
from tests.neighbouring import IN_MEMORY, TABLES, Way, cases

QUICK = ("csv", "table of pandas", "grown", "ibis on sqlite")
TABLE_CASES = [
    *(pytest.param(TABLES[name], id=name) for name in QUICK),
    *(
        pytest.param(*each.values, id=each.id, marks=[*each.marks, pytest.mark.slow])
        for each in cases({name: way for name, way in TABLES.items() if name not in QUICK})
    ),
]
PERSON = {"privacy_unit": "person", "max_rows": 2}
FEW = 12
MANY = 40


def records(data: Any) -> int:
    """How many records there are."""
    return form_of_data(data).count


@pytest.mark.filterwarnings("ignore::queryable.errors.PrivacyWarning")
@pytest.mark.parametrize("way", cases(IN_MEMORY))
def test_in_memory(way: Way) -> None:
    found = []
    for per_record in (1, 2):
        table = Queryable(FiltCon(PureDP(2)), way.make())
        count = Statistic(lambda data, by=per_record: by * records(data), l1=1, l2=1)
        table.launch(Laplace(count, epsilon="1/2"))
        found.append(on_neighbours(table, MANY))
    right, wrong = found
    require_holds(right, MANY)
    require_found(wrong, 2)


@pytest.mark.filterwarnings("ignore::queryable.errors.PrivacyWarning")
@pytest.mark.parametrize("unit", [{}, PERSON], ids=["rows", "persons"])
@pytest.mark.parametrize("way", TABLE_CASES)
def test_tables(way: Way, unit: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def analysis() -> Queryable:
        data = way.make(**unit)
        table = Queryable(FiltCon(PureDP(2)), data)
        table.launch(Laplace(data.count(), epsilon="1/2"))
        written = data.kind("age").family != "number"  # a CSV file, or Excel, without types
        age = column("age").cast("number") if written else "age"
        table.launch(Laplace(data.sum(age, 0, 50), epsilon="1/2"))
        return table

    require_holds(on_neighbours(analysis(), FEW), FEW)
    totals = Table.totals
    monkeypatch.setattr(Table, "totals", lambda self, request: 2 * totals(self, request))
    require_found(on_neighbours(analysis(), FEW), 2)


def require_holds(report: NeighbourReport, most: int) -> None:
    """Nothing is beyond a claim, and something was compared and moved."""
    assert report.holds, str(report)
    assert 3 <= report.neighbours <= most
    assert max(each.ratio for each in report.worst if each.measure == "l1") == 1


def require_found(report: NeighbourReport, ratio: float) -> None:
    """The wrong claim is found, on one neighbour with one unit more or less."""
    assert not report.holds
    assert report.smallest is not None
    assert report.smallest.ratio > 1
    assert max(each.ratio for each in report.worst if each.measure == "l1") == ratio
    assert report.smallest.difference


@pytest.mark.parametrize("given", [False, True])
def test_a_closed_table_is_refused_and_not_held(given: bool, tmp_path: Path) -> None:
    """Its neighbours are open, so each of them would answer what the table refuses."""
    source, one_less = tmp_path / "visits.csv", tmp_path / "less.csv"
    source.write_text("age\n31\n47\n")
    one_less.write_text("age\n31\n")
    table, other = (Table(each, types={"age": "integer"}) for each in (source, one_less))
    root = Queryable(FiltCon(ZCDP(1)), table)
    root.launch(Gaussian(table.count(), rho="1/9"))
    table.close()
    with pytest.raises(HandleError, match=r"cannot be read as they were.*open the table again"):
        on_neighbours(root, [other] if given else 2)
