"""Tables that a configuration joins with a data set: what is read, opened and refused."""

from pathlib import Path
from typing import Any

import pytest

from curator.keys import make_key
from curator.settings.configuration import read_configuration
from curator.settings.sections import ConfigurationError
from mechanisms import Table, column
from mechanisms.tables.in_sql.planning import planned
from mechanisms.tables.named_joins import NamedJoin

_PUBLIC = 'source = "clinics.csv"\non = { clinic = "id" }'
_PRIVATE = 'source = "bills.csv"\non = ["patient"]\nprivacy_unit = "patient"\nmax_rows = 2'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_key(tmp_path / "noise.key")
    visits = "".join(f"p{i % 40},{i // 40}\n" for i in range(200))
    (tmp_path / "visits.csv").write_text(f"patient,clinic\n{visits}")
    (tmp_path / "clinics.csv").write_text("id,name,beds\n0,a,5\n1,b,7\n2,c,9\n")
    bills = "".join(f"p{i % 60},{i}\n" for i in range(180))
    (tmp_path / "bills.csv").write_text(f"patient,sum\n{bills}")
    return tmp_path


def opened(folder: Path, *joins: str, more: str = "") -> Table:
    head = 'ledger = "l.db"\nkey = "noise.key"\n[datasets.visits]\nsource = "visits.csv"\n'
    unit = 'privacy_unit = "patient"\nmax_rows = 3\nbudget = { zcdp = 1 }\n'
    (folder / "curator.toml").write_text("\n".join([head + unit + more, *joins]))
    return read_configuration(folder / "curator.toml").open_dataset("visits")[0]


def section(lines: str, name: str = "clinics") -> str:
    return f"[datasets.visits.joins.{name}]\n{lines}"


def test_a_public_file_is_joined_with_its_bounds(folder: Path) -> None:
    columns = 'columns = { id = "c_id", name = "name", beds = "beds" }\ntypes = { id = "BIGINT" }'
    stated = "columns.beds = { lower = 0, upper = 9 }\ncolumns.name = { keys = ['a', 'b'] }\n"
    table = opened(folder, section(f"{_PUBLIC}\n{columns}"), more=stated)
    names = {"id": "c_id", "name": "name", "beds": "beds"}
    assert table.joins == (NamedJoin("clinics", {"clinic": "id"}, names),)
    assert table.unit == table.made_of[0].unit
    query = (
        "SELECT name, AVG(beds) AS n FROM visits v, clinics c WHERE v.clinic = c.id GROUP BY name"
    )
    assert planned(query, table).statistics()


def test_a_private_file_of_the_same_units_is_joined_in_the_same_way_every_time(
    folder: Path,
) -> None:
    """Rows are chosen by a seed that stays: a curator that starts again counts the same ones."""
    how = ["max_joined_rows = 4", "how = 'inner'", "name = 'invoices'", "types = { sum = 'INT' }"]
    lines = "\n".join([_PRIVATE, *how])
    totals = []
    for _ in range(2):
        table = opened(folder, section(lines, "bills"))
        assert table.unit is not None
        assert table.unit.max_rows == 4
        assert [each.name for each in table.joins] == ["invoices"]
        table = table.with_seed(1)
        asked = table.sum("sum", 0, 200), table.count(column("clinic") == "0")
        totals.append([table.totals(each.request).tolist() for each in asked])
    assert totals[0] == totals[1]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            f"{_PUBLIC}\nmax_match = 2",
            "joins.clinics: there is no key 'max_match'; write max_matches",
        ),
        ('on = ["id"]', "joins.clinics: source is missing"),
        ('source = "clinics.csv"', "joins.clinics: on is missing"),
        (f"{_PUBLIC}\nhow = 'outer'", "joins.clinics.how: it is 'outer'; it should be"),
        (f"{_PUBLIC}\nmax_joined_rows = 2", "write max_rows"),
        (f"{_PUBLIC}\nname = ''", "joins.clinics.name: it is ''"),
        (f"{_PUBLIC}\ncolumns = 3", "joins.clinics.columns"),
        (_PUBLIC.replace("clinics.csv", "postgres://there"), "it is an address"),
        (_PRIVATE.replace("max_rows = 2", ""), "max_rows is missing"),
        (_PUBLIC.replace('{ clinic = "id" }', '["id"]'), "no column 'id'"),
        (_PUBLIC.replace("clinics.csv", "nowhere.csv"), "nowhere.csv"),
        (_PRIVATE.replace('"patient"\nmax', '"sum"\nmax'), "one privacy unit"),
        (f"{_PUBLIC}\nimplied = ['clinic']", "implied"),
    ],
)
def test_errors_name_the_join_and_what_would_be_right(folder: Path, lines: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        opened(folder, section(lines))
    assert words in str(raised.value)


def test_data_that_grow_are_not_joined(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="leave batches or joins out"):
        opened(folder, section(_PUBLIC), more='batches = "batches"\n')


def test_bounds_of_a_column_that_nothing_has(folder: Path) -> None:
    wrong: Any = "columns.nope = { lower = 0, upper = 9 }\n"
    with pytest.raises(ConfigurationError, match="nope"):
        opened(folder, section(_PUBLIC), more=wrong)
