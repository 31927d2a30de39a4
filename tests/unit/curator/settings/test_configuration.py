"""Configurations: what is read, and the errors, which name file, key and what would be right."""

import sqlite3
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import composition
import curator
from composition import FiltCon, budget
from curator.codec import encode
from curator.keys import make_key
from curator.settings.budgets import RULES
from curator.settings.configuration import Configuration, read_configuration
from curator.settings.sections import ConfigurationError
from mechanisms import Count, Gaussian
from queryable import GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, PureDP
from queryable.losses import Dominated, RenyiCurve

VISITS = '[datasets.visits]\nsource = "visits.csv"\nbudget = { zcdp = "1/10" }\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a key and rows of 40 patients."""
    make_key(tmp_path / "noise.key")
    rows = "".join(f"p{i % 40},{i}\n" for i in range(200))
    (tmp_path / "visits.csv").write_text(f"patient,age\n{rows}")
    return tmp_path


def read(folder: Path, text: str, head: str = 'ledger = "l.db"\nkey = "noise.key"\n') -> Any:
    (folder / "curator.toml").write_text(head + text)
    return read_configuration(folder / "curator.toml")


def visits(folder: Path, *lines: str) -> Configuration:
    """The configuration of a data set with these lines."""
    given = {line.partition(" ")[0] for line in lines}
    default = ['source = "visits.csv"', 'budget = { zcdp = "1/10" }']
    kept = [line for line in default if line.partition(" ")[0] not in given]
    return read(folder, "\n".join(["[datasets.visits]", *kept, *lines]))


def test_everything_is_read(folder: Path) -> None:
    whole = """
    anchor = "/elsewhere/anchor"
    mechanisms = []
    listen = "[::1]:8443"
    tick = 0.1
    deadline = 30
    lease = "15/2"
    [tls]
    certificate = "server.pem"
    key = "server.key"
    [datasets.visits]
    source = "visits.csv"
    privacy_unit = "patient"
    max_rows = 4
    max_groups = 2
    budget = { zcdp = 0.1, max_mechanisms = 9, on_exceed = "halt" }
    neighbours = "substitute"
    columns = ["patient", "age"]
    types = { age = "SMALLINT" }
    deadline = 5
    key = "env:VISITS_KEY"
    """
    found = read(folder, whole)
    assert found.ledger == str(folder / "l.db")
    assert found.key == str(folder / "noise.key")
    assert found.anchor == Path("/elsewhere/anchor")
    assert found.listen == "[::1]:8443"
    assert found.lease == Fraction(15, 2)
    assert found.tls.certificate == folder / "server.pem"
    dataset = found.dataset("visits")
    assert (dataset.tick, dataset.deadline) == (Fraction(1, 10), 5)
    assert (found.key_of("visits"), found.key_of("else")) == ("env:VISITS_KEY", found.key)
    assert dataset.budget == FiltCon(ZCDP("1/10"), d_in=2, max_mechanisms=9, on_exceed="halt")
    table, root = found.open_dataset("visits")
    assert table.unit.column == "patient"
    assert (table.unit.max_rows, table.unit.max_groups) == (4, 2)
    assert table.columns["age"].declared == "SMALLINT"
    assert root == dataset.budget
    table.close()


BUDGETS = [
    ("{ zcdp = 0.1 }", FiltCon(ZCDP("1/10"))),
    ('{ zcdp = "1/10", delta = 1e-6 }', FiltCon(ApproxZCDP("1/10", "1e-6"))),
    ("{ epsilon = 1 }", FiltCon(PureDP(1))),
    ('{ epsilon = 1, delta = "1e-6" }', budget(1, "1e-6")),
    ('{ epsilon = 1, delta = "1e-6", launch_share = 0 }', budget(1, "1e-6", launch_share=0)),
    ('{ epsilon = 1, delta = "1e-6", rule = "basic" }', FiltCon(ApproxDP(1, "1e-6"))),
    ('{ gdp = "1/2" }', FiltCon(GDP("1/2"))),
    ('{ renyi = { 8 = "1/10" } }', FiltCon(RDP(8, "1/10"))),
    ("{ renyi = { 32 = 2, 8 = 1 } }", FiltCon(RenyiCurve([8, 32], [1, 2]))),
    ('{ dominated = { epsilon = 1, mu = "1/2", delta = 0 } }', FiltCon(Dominated(1, "1/2", 0))),
]
RULED = {
    '"basic"': composition.Basic(),
    '"gdp-residue"': composition.GDPResidue(),
    '{ name = "gdp-residue", slack = "5e-7" }': composition.GDPResidue("5e-7"),
    '{ name = "menu", unit = "1/10", menu = [1, "1/5"], costs = [1, 3] }': composition.Menu(
        "0.1", [1, 2], [1, 3]
    ),
    '"rogers-2016"': composition.Rogers2016(),
    '"rogers-2023"': composition.Rogers2023(),
    '"via-gdp"': composition.ViaGDP(),
    '{ name = "via-renyi", orders = [2, 8], weights = ["1/3", "2/3"] }': composition.ViaRenyi(
        [2, 8], ["1/3", "2/3"]
    ),
    '"via-zcdp"': composition.ViaZCDP(),
    '{ name = "via-zcdp", slack = 9e-7 }': composition.ViaZCDP("9e-7"),
    '"whitehouse-2023"': composition.Whitehouse2023(),
}


BUDGETS += [
    (f'{{ epsilon = 1, delta = "1e-6", rule = {text} }}', FiltCon(ApproxDP(1, "1e-6"), rule))
    for text, rule in RULED.items()
]


@pytest.mark.parametrize(("text", "wanted"), BUDGETS, ids=[text for text, _ in BUDGETS])
def test_budgets(folder: Path, text: str, wanted: FiltCon) -> None:
    found = visits(folder, f"budget = {text}").dataset("visits").budget
    assert encode(found) == encode(wanted)


@pytest.mark.parametrize(
    "text", ["qqq = 1", VISITS + "qqq = 1", "[datasets.x]\nbudget = {qqq = 1}"]
)
def test_the_owners_guide_has_every_key(folder: Path, text: str) -> None:
    page = (Path(__file__).parents[4] / "docs" / "serving.md").read_text("utf-8")
    with pytest.raises(ConfigurationError) as error:
        read(folder, text.replace("[datasets.x]", '[datasets.x]\nsource = "x.csv"'))
    keys = str(error.value).partition("Possible are ")[2].split(", ")
    assert len(keys) > 5
    assert [key for key in keys if key not in page] == []
    if "[" not in text:  # the others stand in words that are easily there
        assert [key for key in keys if f"`{key}`" not in page and f"[{key}" not in page] == []


def test_a_folder_is_its_configuration(folder: Path) -> None:
    stated = read(folder, VISITS)
    assert read_configuration(folder) == stated
    assert stated.file == folder / "curator.toml"


def test_every_rule_has_a_name_and_a_test() -> None:
    exported = {
        kind
        for name in composition.__all__
        if isinstance(kind := getattr(composition, name), type)
        and issubclass(kind, composition.Rule)
        and kind is not composition.Rule
    }
    assert exported == {*RULES.values()} == {type(rule) for rule in RULED.values()}


WRONG = [
    ("ledgr = 1", "there is no key 'ledgr'; write ledger. Possible are anchor, "),
    ("tick = 0", "tick: it is 0; it should be greater than zero"),
    ("tick = nan", "tick: it is 'NaN'; it should be a finite number"),
    ("lease = 4.9", "lease: it is 4.9; it should be 5 seconds at least"),
    ("deadline = true", "deadline: it is the boolean True"),
    ('listen = "0.0.0.0:80"', 'listen is "0.0.0.0:80", which other machines reach: add [tls]'),
    ('page = "0.0.0.0:80"', 'page is "0.0.0.0:80", which other machines reach: add [tls]'),
    ('page = "unix:here"', 'page: it is "unix:here"; it should be "HOST:PORT"'),
    ('listen = "here"', 'listen: it is "here"; it should be "unix:PATH" or "HOST:PORT"'),
    ('listen = "localhost:65536"', 'listen: it is "localhost:65536"; it should'),
    ('[tls]\ncertificate = "a"', "tls: key is missing"),
    ('mechanisms = "a/1"', "mechanisms: it is 'a/1'; it should be a list of texts"),
    ("datasets = 3", "datasets: it is 3; it should be a table"),
    ("[datasets.visits]", "datasets.visits: source is missing"),
    (VISITS + "max_row = 4", "datasets.visits: there is no key 'max_row'; write max_rows."),
    (VISITS + "max_rows = 4", "datasets.visits: privacy_unit is missing: max_rows says"),
    (VISITS + 'privacy_unit = "patient"', "datasets.visits: max_rows is missing: write max_rows"),
    (VISITS + "max_rows = 0", "datasets.visits.max_rows: it is 0; it should be at least 1"),
    (VISITS + "max_rows = 1.5", "datasets.visits.max_rows: it is 1.5; it should be a whole"),
    (VISITS + "source_ = 1", "datasets.visits: there is no key 'source_'; write source."),
    (VISITS + 'table = "t"', "datasets.visits: leave table and schema out"),
    (VISITS + 'neighbours = "both"', "visits.neighbours: it is 'both'; it should be \"add-or-r"),
    (VISITS + "columns = [1]", "datasets.visits.columns: it is [1]; it should be a list of texts"),
    (VISITS + "types = { age = 3 }", "datasets.visits.types: it is 3; it should be a text, as in"),
    (VISITS.replace("visits]", "'a b']"), "datasets.a b: name a data set with letters, digits"),
    (VISITS.replace('"visits.csv"', "3"), 'visits.source: it is 3; it should be a text, as in "3'),
    (VISITS.replace('"visits.csv"', '"postgresql://h/d"'), "visits: table is missing: a database"),
]
WRONG_BUDGETS = [
    ("0.1", 'datasets.visits.budget: it is 0.1; it should be a table, as { zcdp = "1/10" }'),
    ("{}", "datasets.visits.budget: give one of the measures epsilon, zcdp"),
    ("{ zcdp = 1, gdp = 1 }", "budget: give one of the measures"),
    ("{ fdp = 1 }", "budget: there is no key 'fdp'; write gdp."),
    ("{ rho = 1 }", "budget: there is no key 'rho'. Possible are delta, "),
    ("{ zcdp = -1 }", "datasets.visits.budget: rho is -1, negative"),
    ('{ zcdp = "much" }', "budget: rho is 'much'; it should be a finite number"),
    ("{ zcdp = 1, launch_share = 0 }", "leave launch_share out"),
    ("{ gdp = 1, delta = 0 }", "leave delta out: gdp has none"),
    ("{ epsilon = 1, delta = 2 }", "delta is 2; it should be a probability"),
    ("{ renyi = {} }", "orders is empty"),
    ("{ renyi = { 1 = 1 } }", "budget: alpha is 1"),
    ("{ dominated = { epsilon = 1 } }", "budget.dominated: mu is missing"),
    ('{ zcdp = 1, rule = "via-zcdp" }', "budget: "),
    ('{ epsilon = 1, rule = "menu" }', "budget: "),
    ('{ epsilon = 1, delta = 0.1, rule = "zcdp" }', "rule: there is no rule 'zcdp'; write via-z"),
    ("{ epsilon = 1, delta = 0.1, rule = { slack = 1 } }", "budget.rule: name is missing"),
    ('{ epsilon = 1, delta = 0.1, rule = { name = "basic", slack = 1 } }', "slack"),
    ('{ epsilon = 1, delta = 0.1, rule = { name = "menu", orders = [2] } }', "orders"),
    ("{ epsilon = 1, delta = 0.1, rule = 3 }", "budget.rule: there is no rule 3. Possible are"),
    ("{ zcdp = 1, on_exceed = 'stop' }", "on_exceed is 'stop'; it should be 'refuse' or 'halt'"),
]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *WRONG,
        *((VISITS.replace('{ zcdp = "1/10" }', text), words) for text, words in WRONG_BUDGETS),
    ],
)
def test_errors_name_file_key_and_what_would_be_right(folder: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        read(folder, text)
    assert str(error.value).startswith(f"{folder / 'curator.toml'}: ")
    assert words in str(error.value)
    assert not (folder / "l.db").exists()


def test_the_head_is_needed(folder: Path) -> None:
    for head, words in (
        ('key = "noise.key"\n', "ledger is missing"),
        ('ledger = "l.db"\n', "key is missing"),
        ('ledger = "mysql://h"\nkey = "k"\n', "ledger: it is a mysql:// address"),
        ('ledger = "env:NOWHERE"\nkey = "k"\n', "set the environment variable NOWHERE"),
        ("ledger = [", "this is no TOML: "),
        ('ledger = "\0"', "this is no TOML: "),
    ):
        with pytest.raises(ConfigurationError, match=words):
            read(folder, "", head)
    (folder / "curator.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="this is no TOML"):
        read_configuration(folder / "curator.toml")
    with pytest.raises(FileNotFoundError, match="curator init FOLDER"):
        read_configuration(folder / "none.toml")


def test_a_password_is_not_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGER", "postgresql://ada:secret@h/d")
    text = VISITS.replace('"visits.csv"', '"postgresql://ada:secret@h/d"') + 'table = "t"'
    found = read(folder, text, 'ledger = "env:LEDGER"\nkey = "k"\n')
    assert found.ledger == "postgresql://ada:secret@h/d"
    assert "secret" not in repr(found)


def test_a_data_set_goes_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    curator.SQLiteLedger(folder / "l.db").close()
    """From another folder, and the ledger and the key are where the file says."""
    path = folder / "curator.toml"
    visits(folder, 'privacy_unit = "patient"', "max_rows = 2")
    monkeypatch.chdir("/")
    rows, table = curator.open_configured(path, "visits")
    noisy = table.launch(Gaussian(Count(per=rows.unit), rho="1/50"), name="first")
    rows, table = curator.open_configured(path, "visits")
    assert table.launch(Gaussian(Count(per=rows.unit), rho="1/50"), name="first") == noisy
    assert table.privacy_loss() == ZCDP("1/50")
    assert (folder / "l.db").exists()
    with pytest.raises(ConfigurationError, match="no data set 'calls'; there are: visits"):
        curator.open_configured(path, "calls")


def test_a_changed_budget_is_refused(folder: Path) -> None:
    curator.SQLiteLedger(folder / "l.db").close()
    visits(folder).open("visits")
    with pytest.raises(curator.LedgerError, match="another budget or mechanism"):
        visits(folder, 'budget = { zcdp = "1/5" }').open("visits")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (['source = "none.csv"'], "visits: .*none.csv"),
        (['source = "none-*.csv"'], "visits: no file matches the pattern"),
        (['source = "curator.toml"'], "it should end in .csv"),
        (['privacy_unit = "person"', "max_rows = 1"], "there is no column 'person'"),
        (['types = { age = "NUMBER" }'], "visits: "),
        (['columns = ["ages"]'], "write 'age'"),
        (['source = "env:NOWHERE"', 'table = "t"'], "set the environment variable NOWHERE"),
        (['source = "sqlite://new.db"', 'table = "t"', "threads = 1"], "visits: "),
    ],
)
def test_data_that_cannot_be_opened(folder: Path, lines: list[str], words: str) -> None:
    sqlite3.connect(folder / "new.db").execute("CREATE TABLE t (x BIGINT)")
    found = visits(folder, *lines)
    with pytest.raises(ConfigurationError, match=words):
        found.open("visits")
    assert not (folder / "l.db").exists()


def test_what_to_install_for_data_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra `curator` has no engine of tables; the commands print this in one line."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ConfigurationError, match=r"visits: .*pip install '\.\[table\]'"):
        visits(folder).open("visits")


def test_patterns_and_databases(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative to the file, even if its folder's name looks like a pattern."""
    odd = folder / "a[1]"
    odd.mkdir()
    for name in ("part-1.csv", "part-2.csv", "odd[1].csv"):
        (odd / name).write_text("age\n31\n47\n")
    with sqlite3.connect(odd / "clinic.db") as connection:
        connection.execute("CREATE TABLE visits (age BIGINT)")
        connection.execute("INSERT INTO visits VALUES (31)")
    monkeypatch.setenv("CLINIC", f"sqlite://{odd / 'clinic.db'}")
    make_key(odd / "noise.key")
    for source, rows in (
        ('"part-*.csv"', 4),
        ('"part-1.csv"', 2),
        ('"odd[1].csv"', 2),
        ('"sqlite://clinic.db"\ntable = "visits"', 1),
        ('"env:CLINIC"\ntable = "visits"', 1),
    ):
        table, _ = visits(odd, f"source = {source}").open_dataset("visits")
        assert table.totals(Count().request) == [rows]
        table.close()
