"""SQL over a served curator: the command line, the PEP 249 driver, pandas, the owner's bounds."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from curator import dbapi
from curator.agents.tools import AgentTools
from curator.client.in_sql import name_of
from curator.owner import orders
from mechanisms.tables.in_sql.refusals import SqlError
from queryable import ZCDP
from tests.curator.serving import Served, served, written
from tests.serving import typed

pytest.importorskip("sqlglot")

_STATED = """
ledger = "ledger.db"
key = "noise.key"
[datasets.visits]
source = "visits.csv"
privacy_unit = "patient"
max_rows = 1
budget = { zcdp = "1000" }
types = { patient = "integer", age = "integer", day = "date" }
columns.age = { lower = 0, upper = 100 }
columns.clinic = { keys = ["Graz", "Lyon"] }
columns.day = { lower = 2024-01-01, upper = 2024-02-29 }
[datasets.stays]
source = "visits.csv"
privacy_unit = "patient"
max_rows = 1
budget = { zcdp = "1000" }
types = { patient = "integer", age = "integer", day = "date" }
columns.age = { lower = 0, upper = 100 }
columns.sum = { lower = 0, upper = 9 }
columns.country = { keys = ["AT", "FR"] }
[datasets.stays.joins.clinics]
source = "clinics.csv"
on = { clinic = "name" }
columns = { name = "clinic_name", country = "country" }
[datasets.stays.joins.visits]
name = "bills"
source = "bills.csv"
on = ["patient"]
columns = { patient = "payer", sum = "sum" }
types = { patient = "integer", sum = "integer" }
privacy_unit = "patient"
max_rows = 2
[datasets.calls]
source = "visits.csv"
budget = { zcdp = "1/10" }
"""
_BY_CLINIC = (
    "SELECT clinic, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY clinic ORDER BY clinic"
)


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    folder = tmp_path_factory.mktemp("c")
    stated = written(folder, _STATED.replace("columns.day", "columns.day"))
    lines = [f"{n},{n % 90},{('Graz', 'Lyon')[n % 2]},2024-0{n % 2 + 1}-03" for n in range(500)]
    (folder / "visits.csv").write_text("\n".join(["patient,age,clinic,day", *lines]) + "\n")
    (folder / "clinics.csv").write_text("name,country\nGraz,AT\nParis,FR\n")
    bills = "".join(f"{n % 250},{n % 7}\n" for n in range(500))
    (folder / "bills.csv").write_text(f"patient,sum\n{bills}")
    with served(stated) as running:
        token = orders.add_analyst(stated, "ada").split()[-1]
        orders.grant(stated, "visits", "ada", zcdp="900")
        orders.grant(stated, "calls", "ada", zcdp="1/20")
        orders.grant(stated, "stays", "ada", zcdp="900")
        yield running, token


def url(curator: tuple[Served, str]) -> str:
    return f"unix:{curator[0].folder / 'curator.sock'}"


def test_a_handle_of_a_served_table_answers_with_the_owners_bounds_and_keys(curator: Any) -> None:
    visits = curator[0].connect(curator[1])["visits"]
    answer = visits.sql(_BY_CLINIC, loss=ZCDP(50))
    assert answer["clinic"] == ["Graz", "Lyon"]
    assert answer["n"] == pytest.approx([250, 250], abs=5)
    assert answer["a"] == pytest.approx([44, 45], abs=3)
    months = visits.sql(
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m", loss=ZCDP(50)
    )
    assert [str(each) for each in months["m"]] == ["2024-01-01", "2024-02-01"]
    with pytest.raises(SqlError, match="there is no table calls here"):
        visits.sql("SELECT COUNT(*) FROM calls", loss=ZCDP(1))


_STAYS = "stays LEFT JOIN bills b ON stays.patient = b.patient"


def test_a_served_table_is_joined_as_its_owner_joined_it(curator: Any) -> None:
    with curator[0].connect(curator[1]) as connection:
        stays = connection["stays"]
        answer = stays.sql(
            "SELECT country, COUNT(*) AS n, COUNT(DISTINCT stays.patient) AS k, AVG(sum) AS a"
            f" FROM {_STAYS} JOIN clinics c ON clinic = c.name WHERE age >= 0 GROUP BY country",
            loss=ZCDP(200),
        )
        assert answer["country"] == ["AT", "FR"]
        assert answer["n"] == pytest.approx([375, 0], abs=9)  # of 250 stays 125 have two bills
        assert answer["k"] == pytest.approx([250, 0], abs=9)
        told = {each["name"]: each for each in AgentTools(connection).describe()["data_sets"]}
        assert told["stays"]["joins"] == [
            "LEFT JOIN clinics ON stays.clinic = clinics.name",
            "LEFT JOIN bills ON stays.patient = bills.patient",
        ]
        columns = {each["name"]: each for each in told["stays"]["columns"]}
        assert columns["payer"]["in_sql"] == "bills.patient"
        assert "in_sql" not in columns["age"]
        before = stays.privacy_loss()
        for text, why in (
            (
                "SELECT COUNT(*) FROM stays",
                "write LEFT JOIN bills ON stays.patient = bills.patient",
            ),
            (f"SELECT COUNT(*) FROM {_STAYS}, clinics", "not joined so"),
            ("SELECT COUNT(*) FROM bills", "write FROM stays LEFT JOIN bills ON stays.patient"),
        ):
            with pytest.raises(SqlError, match=why):
                stays.sql(text, loss=ZCDP(1))
        assert stays.privacy_loss() == before


def test_the_driver_finds_the_data_set_among_the_tables_of_a_join(curator: Any) -> None:
    text = f"SELECT COUNT(*) AS n FROM {_STAYS} WHERE age < 50"
    with dbapi.connect(url(curator), curator[1], loss=ZCDP(10)) as connection:
        assert connection.cursor().execute(text).fetchall()
        for wrong in (text.replace("bills", "visits"), text.replace("bills", "nowhere")):
            with pytest.raises(dbapi.NotSupportedError):
                connection.cursor().execute(wrong)


def test_the_driver_keeps_to_pep_249_and_answers_again_for_nothing(curator: Any) -> None:
    with dbapi.connect(url(curator), curator[1], loss=ZCDP(10)) as connection:
        cursor = connection.cursor()
        with pytest.raises(dbapi.InterfaceError):
            cursor.fetchone()
        query = "SELECT clinic, COUNT(*) AS n FROM visits WHERE age >= ? GROUP BY clinic"
        rows = cursor.execute(query, (40,)).fetchall()
        assert [column[0] for column in cursor.description] == ["clinic", "n", "n_low", "n_high"]
        assert [column[1] for column in cursor.description] == ["STRING", *["NUMBER"] * 3]
        assert cursor.rowcount == len(rows) == 2
        visits = curator[0].connect(curator[1])["visits"]
        spent = visits.privacy_loss()
        again = connection.cursor().execute(query, [40])
        assert list(again) == rows
        assert again.fetchone() is None
        assert visits.privacy_loss() == spent
        [line, *_] = cursor.execute("EXPLAIN " + query, (41,)).fetchall()
        assert "cost" in line[0]
        assert visits.privacy_loss() == spent
        connection.commit()
        wrong = [
            ("SELECT * FROM visits", dbapi.NotSupportedError),
            ("DROP TABLE visits", dbapi.NotSupportedError),
            ("SELECT COUNT(*) FROM nowhere", dbapi.NotSupportedError),
            ("SELECT AVG(age) FROM visits WHERE age >= ?", dbapi.NotSupportedError),
        ]
        for text, error in wrong:
            with pytest.raises(error):
                cursor.execute(text)
        with pytest.raises(dbapi.NotSupportedError):
            connection.rollback()
        cursor.loss = ZCDP(10**6)
        with pytest.raises(dbapi.OperationalError):
            cursor.execute("SELECT COUNT(*) AS n FROM visits")
        assert visits.privacy_loss() == spent
    with pytest.raises(connection.InterfaceError):
        connection.cursor()
    with pytest.raises(dbapi.OperationalError):
        dbapi.connect(url(curator), "qy_wrong").cursor().execute("SELECT COUNT(*) FROM visits")


@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy")
def test_pandas_reads_a_query(curator: Any) -> None:
    pandas = pytest.importorskip("pandas")
    with dbapi.connect(url(curator), curator[1], loss=ZCDP(10)) as connection:
        frame = pandas.read_sql(_BY_CLINIC, connection)
    assert list(frame.columns) == ["clinic", "n", "n_low", "n_high", "a", "a_low", "a_high"]
    assert (frame["n_low"] <= frame["n"]).all()


def test_the_command_asks_and_explains(curator: Any, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(curator[1])
    where = ("--token", str(token))
    asked = ("sql", url(curator), _BY_CLINIC, *where, "--zcdp", "20")
    rows = json.loads(typed(*asked, "--form", "json"))
    assert [row["clinic"] for row in rows] == ["Graz", "Lyon"]
    assert json.loads(typed(*asked, "--form", "json")) == rows
    assert typed(*asked, "--form", "csv").startswith("clinic,n,n_low,n_high,a,")
    assert "95% intervals" in typed(*asked)
    within = typed(
        "sql", url(curator), "SELECT COUNT(*) AS n FROM visits", *where, "--within", "30"
    )
    assert "n_low" in within
    assert "nothing was charged" in typed("sql", url(curator), "EXPLAIN " + _BY_CLINIC, *where)


def test_queries_of_almost_equal_prices_have_different_names() -> None:
    """The text of a loss is rounded: a name by it would be that of another query."""
    names = {name_of("q", (), {"loss": ZCDP(rho)}) for rho in ("1/300", "10/3001", "1/301")}
    assert len(names) == 3
    assert name_of("q", (), {"loss": ZCDP("0.5")}) == name_of("q", (), {"loss": ZCDP("1/2")})
