"""The review of a real folder: every question is answered, from public facts and the ledger."""

import importlib.metadata
import json
import re
import sqlite3
import tomllib
from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest

import curator
from composition import ConComp, FiltCon
from curator import commands
from curator.ledgers import BrokenChainError
from curator.reports.facts import gathered, snapshot_of
from curator.reports.pages import ReportError, carried, page
from curator.reports.past import COMMANDS, past_checks
from curator.reports.questions import questions, texts
from curator.reports.registry import fields_of
from curator.reports.reviewing import document_of
from curator.reports.snapshot import LedgerSnapshot
from curator.settings.configuration import REPORTED, read_configuration
from curator.settings.sections import ConfigurationError
from queryable import ZCDP
from tests.reporting import EXAMPLE, NOW, clinic, example, record
from tests.stored import KEY, MemoryLedger

ROOT = Path(__file__).parents[4]
PAGE = (ROOT / "docs" / "threats.md").read_text(encoding="utf-8")
TOPICS = ["Summary", "Privacy", "Parameters", "Trust", "Utility", "Checks"]
FIELDS = {
    "basic": "name data_curators description intended_use data_product_type data_product_region "
    "data_product_sector publication_date",
    "dp_variant": "variant_name data_domain unprotected_quantities",
    "privacy_loss": "privacy_unit privacy_unit_details number_of_privacy_units "
    "privacy_parameters.epsilon privacy_parameters.delta privacy_parameters.rho "
    "privacy_parameters_details",
    "deployment_model": "model_name model_name_details trust_assumptions actors release_type "
    "release_type_details data_source_type data_source_type_details access_type "
    "access_type_details",
    "implementation": "preprocessing_and_hyperparameter_tuning mechanisms composition "
    "post_processing justification utility additional_information",
    "administrative": "evidence_sources registry_authors",
}
"""The fields of the registry's template of 2026, without the status and tier of an entry."""


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration with four data sets and two analysts. Tests only read its ledger."""
    return clinic(tmp_path_factory.mktemp("owner") / "clinic")


@pytest.fixture(scope="module")
def document(stated: Path) -> Mapping[str, Any]:
    return document_of(read_configuration(stated), NOW)


def answer(document: Mapping[str, Any], name: str) -> Any:
    """One question, with its answer."""
    (found,) = (each for each in document["questions"] if each["id"] == name)
    return {**found, "rows": [*map(tuple, found["rows"])]}


def test_every_question_has_an_answer_with_sources(document: Mapping[str, Any]) -> None:
    assert [*dict.fromkeys(each["topic"] for each in document["questions"])] == TOPICS
    for each in document["questions"]:
        assert each["asked"].endswith("?")
        assert all(sentence.endswith(".") for sentence in each["answer"]), each["id"]
        assert each["answer"]
        assert each["sources"]
        assert {len(row) for row in each["rows"]} <= {len(each["head"])}
        assert all(type(cell) is str for row in each["rows"] for cell in row)
        assert bool(each["head"]) == bool(each["rows"]), each["id"]


def test_every_source_is_there(document: Mapping[str, Any]) -> None:
    """Code by import, so that a renamed function is missed."""
    for each in document["questions"]:
        for source in each["sources"]:
            kind, _, name = source.partition(": ")
            if kind == "code":
                assert resolve_name(name) is not None
            elif source.startswith("docs/"):
                assert (ROOT / source).exists(), source
            else:
                assert kind in {
                    "the configuration",
                    "the ledger",
                    "checks.jsonl beside the ledger",
                }


@pytest.mark.parametrize("each", texts()["enforced"], ids=lambda each: each["code"])
def test_what_enforces_a_promise_is_there_and_tested(each: Mapping[str, str]) -> None:
    found = resolve_name(each["code"])
    assert callable(found) or each["code"].endswith(":VALIDITY")
    assert (ROOT / each["test"]).exists()


def test_a_name_that_is_gone_is_missed() -> None:
    with pytest.raises(AttributeError):
        resolve_name("curator.verify:verify_no_more")


def points(title: str) -> list[str]:
    """The points of a section of docs/threats.md, by their bold words."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    bold = re.findall(r"^- \*\*(.+?)\*\*", section, flags=re.MULTILINE)
    return [each.rstrip(".,") for each in bold]


@pytest.mark.parametrize(
    ("title", "table"), [("What is left over", "left_over"), ("Time", "times")]
)
def test_what_is_not_protected_is_that_of_the_page(title: str, table: str) -> None:
    """A new point of docs/threats.md has to be told to reviewers too."""
    assert points(title)
    assert [*texts()[table]] == points(title)


def test_budgets_and_what_is_spent(document: Mapping[str, Any]) -> None:
    assert answer(document, "spent")["rows"] == [
        ("calls", "ApproxDP(epsilon=1, delta=0)", "ApproxDP(epsilon=1, delta=1e-06)", "2", "2"),
        ("earlier", "ZCDP(rho=1)", "ZCDP(rho=1)", "1", "1"),
        ("visits", "ZCDP(rho≈0.037)", "ZCDP(rho=0.1)", "8", "7"),
    ]
    assert answer(document, "analysts")["rows"] == [
        ("bo", "calls", "PureDP(epsilon=0.1)", "PureDP(epsilon=0)", "no"),
        ("ada", "visits", "ZCDP(rho=0.02)", "ZCDP(rho=0.02)", "yes"),
        ("ada", "visits/2", "ZCDP(rho=0.01)", "ZCDP(rho=0.001)", "yes"),
    ]
    configured = {row[0]: row[-1] for row in answer(document, "definition")["rows"]}
    assert configured == {
        "calls": "yes",
        "earlier": "not configured",
        "surveys": "yes",
        "visits": "yes",
    }


def test_the_spent_amount_is_that_of_the_handle(stated: Path) -> None:
    seen = curator.view(stated.parent / "ledger.db", "visits")
    facts = gathered(read_configuration(stated), snapshot_of(read_configuration(stated)))
    assert facts["data_sets"]["visits"]["spent"]["exact"] == repr(seen.privacy_loss())
    told = [each["spent"]["exact"] for each in facts["data_sets"]["visits"]["grants"]]
    assert told == [repr(seen.children[child].privacy_loss()) for child in (0, 1)]


def test_a_budget_that_was_changed_in_the_configuration_is_told(tmp_path: Path) -> None:
    stated = clinic(tmp_path / "clinic", rows=20)
    stated.write_text(stated.read_text().replace('zcdp = "1/10"', "zcdp = 9"))
    document = document_of(read_configuration(stated), NOW)
    rows = {row[0]: row[1:] for row in answer(document, "definition")["rows"]}
    assert rows["visits"][0] == "ZCDP(rho=0.1)"
    assert rows["visits"][-1] == "no"


def test_conversions_are_rounded_against_the_analyst(document: Mapping[str, Any]) -> None:
    from fractions import Fraction

    from queryable import ApproxDP

    for said in document["facts"]["data_sets"]["visits"]["approximate"]:
        exact = ZCDP("1/10").to(ApproxDP, Fraction(said["delta"]))
        assert isinstance(exact, ApproxDP)
        assert exact.epsilon < Fraction(said["epsilon"]) < exact.epsilon + Fraction(1, 100)


def test_the_fields_of_the_registry(document: Mapping[str, Any]) -> None:
    facts = document["facts"]
    wanted = [f"{part}.{name}" for part, names in FIELDS.items() for name in names.split()]
    for name in facts["data_sets"]:
        assert [each.field for each in fields_of(facts, name)] == wanted
    fields = {each.field: each for each in fields_of(facts, "visits")}
    assert fields["basic.data_curators"].value == "A clinic"
    assert fields["basic.data_curators"].source == "the configuration: report.data_curator"
    assert fields["implementation.justification"].value is None
    assert fields["privacy_loss.privacy_parameters.rho"].value == "1/10"
    assert fields["dp_variant.variant_name"].value == "Zero-concentrated DP"
    assert fields["deployment_model.data_source_type"].value == "Static"
    assert "filt-con/1 (2), gaussian/1 (4), release/1 (1), sparse-vector/1 (1)" in str(
        fields["implementation.mechanisms"].value
    )
    told = {each.source.partition("report.")[2] for each in fields.values()} - {""}
    assert told == set(REPORTED)
    page = (ROOT / "docs" / "report.md").read_text(encoding="utf-8")
    assert [name for name in REPORTED if f"\n{name} = " not in page] == []


def test_checks_are_told_with_what_they_saw(stated: Path, document: Mapping[str, Any]) -> None:
    told = answer(document, "history")
    assert [*told["answer"][1:]] == [
        "Never recorded: curator ledger verify of calls, earlier, visits.",
        "Never recorded: curator replay of calls, earlier.",
        "Never recorded: curator check of earlier, visits.",
    ]
    assert told["rows"] == [
        ("2026-03-01 12:00:00", "replay", "passed", "visits: 15 of 15", "6 messages"),
        ("2026-03-01 12:00:00", "check", "failed", "calls: 5 of 5", "1000 neighbours"),
    ]


def test_what_stands_out_is_told_first(document: Mapping[str, Any]) -> None:
    assert document["questions"][0]["id"] == "first"
    assert [*answer(document, "first")["answer"][1:]] == [
        "earlier: it is in the ledger and not in the configuration.",
        "earlier: the budget allows right guesses in 86 of 100 cases.",
        "surveys: there is no tick, so the times of replies are seen.",
        "visits: there is no tick, so the times of replies are seen.",
        "There is no anchor: nothing finds that an old copy of the ledger is used.",
        "The last curator check that was recorded has not passed.",
        "Never recorded: curator ledger verify of calls, earlier, visits.",
        "Never recorded: curator replay of calls, earlier.",
        "Never recorded: curator check of earlier, visits.",
    ]


def test_other_things_that_stand_out(document: Mapping[str, Any]) -> None:
    facts = json.loads(json.dumps(document["facts"]))
    facts["curator"] |= {"anchor": True, "site_mechanisms": ["acme.median/1"]}
    facts["data_sets"] = {"calls": facts["data_sets"]["calls"]}
    facts["data_sets"]["calls"] |= {
        "budget_as_configured": False,
        "budget": None,
        "charges_not_computed": 3,
    }
    facts["checks"][1] |= {"result": "passed", "strange_heads": 1}
    for each in COMMANDS:
        seen = {"calls": {"event": 5, "of": 5}}
        facts["checks"].append({**facts["checks"][0], "command": each, "saw": seen})
    assert [*questions(facts)[0].answer[1:]] == [
        "calls: the configuration states another budget than the ledger.",
        "calls: no bound is fixed in advance.",
        "calls: 3 charges are of kinds that are not computed.",
        "There are mechanisms of the site's own: whether their claims hold is open.",
        "A check saw a head that is not in this ledger: it was another history.",
    ]
    facts["curator"]["site_mechanisms"] = []
    facts["checks"][1]["strange_heads"] = 0
    facts["data_sets"] = {"calls": document["facts"]["data_sets"]["calls"]}
    assert [*questions(facts)[0].answer[1:]] == ["Nothing."]


def test_a_key_of_the_report_that_does_not_exist_is_named(tmp_path: Path) -> None:
    commands.init(tmp_path / "new")
    stated = tmp_path / "new" / "curator.toml"
    for line, words in (
        ('purpose = "x"', "there is no key 'purpose'"),
        ("description = 1", "text"),
    ):
        stated.write_text(f'ledger = "ledger.db"\nkey = "noise.key"\n[report]\n{line}\n')
        with pytest.raises(ConfigurationError, match=words):
            read_configuration(stated)


def test_without_a_file_nothing_was_ever_checked(tmp_path: Path) -> None:
    stated = clinic(tmp_path / "clinic", rows=20)
    (stated.parent / "checks.jsonl").unlink()
    document = document_of(read_configuration(stated), NOW)
    told = answer(document, "history")
    assert told["rows"] == []
    assert [*told["answer"][1:]] == [
        f"Never recorded: curator {command} of calls, earlier, visits."
        for command in ("ledger verify", "replay", "check")
    ]


def test_a_new_folder_has_a_review(tmp_path: Path) -> None:
    commands.init(tmp_path / "new")
    document = document_of(read_configuration(tmp_path / "new"), NOW)
    assert document["heads"] == {}
    assert [*answer(document, "history")["answer"][1:]] == []
    assert [row[0] for row in answer(document, "definition")["rows"]] == ["visits"]
    assert page(document, "html")


def test_a_check_tells_no_text_that_may_quote_data(tmp_path: Path) -> None:
    """The text of a difference has answers that were never given."""
    path = tmp_path / "checks.jsonl"
    secret = "the answer was 31, and is 47"
    facts = {"messages": 6, "events": secret, "charges": True, "worst": secret}
    record(tmp_path, "replay", {"visits": "a" * 64}, result=secret, **facts)
    with path.open("a") as lines:
        lines.write("no json\n[]\n{}\n\n")
    record(tmp_path, secret, {}, result="passed")
    (check, other), wrong = past_checks(path)
    assert wrong == 3
    assert (check.command, check.result) == ("replay", "unknown")
    assert check.counts == (("messages", 6),)
    assert (other.command, other.result) == ("unknown", "passed")
    assert "47" not in repr(other)
    assert "47" not in repr(check)


def test_a_head_that_is_not_in_the_ledger_is_told(tmp_path: Path) -> None:
    stated = clinic(tmp_path / "clinic", rows=20)
    record(stated.parent, "ledger verify", "0" * 64, result=True)
    (*_, last) = answer(document_of(read_configuration(stated), NOW), "history")["rows"]
    assert last[3] == "a head that is not in this ledger"


def without_hashes(document: Mapping[str, Any]) -> str:
    return re.sub("[0-9a-f]{64}", "", json.dumps(document))


def test_nothing_depends_on_the_rows(tmp_path: Path) -> None:
    """Two clinics whose data differ in their numbers of rows and in every cell."""
    documents = [
        document_of(read_configuration(clinic(tmp_path / name, rows, first)), NOW)
        for name, rows, first in (("one", 40, 0), ("other", 5000, 1000))
    ]
    one, other = map(without_hashes, documents)
    assert one == other


def test_neither_data_nor_key_are_needed(tmp_path: Path) -> None:
    stated = clinic(tmp_path / "clinic", rows=20)
    before = document_of(read_configuration(stated), NOW)
    for each in stated.parent.glob("*.csv"):
        each.unlink()
    (stated.parent / "noise.key").unlink()
    assert document_of(read_configuration(stated), NOW) == before


def test_a_password_of_a_database_is_not_told(tmp_path: Path) -> None:
    commands.init(tmp_path / "new")
    stated = tmp_path / "new" / "curator.toml"
    stated.write_text(
        'ledger = "ledger.db"\nkey = "env:HIDDEN"\n[datasets.calls]\n'
        'source = "postgresql://me:verysecret@db.example.org/clinic"\ntable = "calls"\n'
        "budget = { epsilon = 1 }\n"
    )
    text = json.dumps(document_of(read_configuration(stated), NOW))
    assert [word for word in ("verysecret", "example.org", "HIDDEN") if word in text] == []
    assert "a table of a database" in text


@pytest.mark.parametrize(("old", "new"), [("1/50", "1/60"), ("ada", "eve")])
def test_a_ledger_that_contradicts_itself_has_no_review(tmp_path: Path, old: str, new: str) -> None:
    """A changed charge, and a changed name in the root of the analysts."""
    stated = clinic(tmp_path / "clinic", rows=20)
    with sqlite3.connect(stated.parent / "ledger.db") as ledger:
        ledger.execute("DROP TRIGGER events_are_not_changed")
        where = "root = '@access'" if old == "ada" else "root = 'visits'"
        ledger.execute(f"UPDATE events SET body = replace(body, '{old}', '{new}') WHERE {where}")
    with pytest.raises(BrokenChainError):
        document_of(read_configuration(stated), NOW)


def test_a_root_that_was_not_opened_to_the_end(stated: Path) -> None:
    """A crash at the first opening leaves one event. What its mechanism answers is not known."""
    configuration = read_configuration(stated)
    table = curator.open(
        ledger := MemoryLedger(), ConComp([FiltCon(ZCDP(1))]), [1], name="cut", key=KEY
    )
    curator.release(table)
    whole = snapshot_of(configuration)
    cut = {"cut": tuple(ledger.events["cut"][:1]), "visits": whole.events["visits"][:1]}
    facts = gathered(configuration, LedgerSnapshot({**whole.events, **cut}))
    assert "not opened to the end" in facts["data_sets"]["cut"]["opening"]
    rows = {row[0]: row[1:] for each in questions(facts) if each.id == "spent" for row in each.rows}
    assert rows["cut"] == ("not known", "ZCDP(rho=1)", "0", "0")
    assert rows["visits"] == ("ZCDP(rho=0)", "ZCDP(rho=0.1)", "0", "0")


def test_the_example_in_the_docs_is_that_of_the_code() -> None:
    assert EXAMPLE.read_text(encoding="utf-8") == example(), "python -m tests.reporting"


def test_the_software_is_named(document: Mapping[str, Any]) -> None:
    assert document["software"] == f"queryable-dp {importlib.metadata.version('queryable-dp')}"


def test_the_words_are_read_from_the_package() -> None:
    path = ROOT / "curator" / "reports" / "texts.toml"
    assert tomllib.loads(path.read_text(encoding="utf-8")) == texts()


def test_a_page_of_another_format_is_refused(document: Mapping[str, Any]) -> None:
    for wrong in ({**document, "format": "queryable report/2"}, {}, []):
        with pytest.raises(ReportError):
            page(wrong, "markdown")  # type: ignore[arg-type]
    for name in document:
        if name not in {"facts", "format"}:
            less = {key: value for key, value in document.items() if key != name}
            with pytest.raises(ReportError):
                page(less, "html")
    for text in ("", "{", "no report", "<!doctype html>", "[" * 100_000):
        with pytest.raises(ReportError):
            carried(text)
