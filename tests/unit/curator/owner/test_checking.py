"""The command `curator check`: analyses of a ledger on neighbours of their data, for the owner."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from curator import commands, open_configured, release
from curator.ledgers import BrokenChainError
from curator.owner.checking import check, checked
from curator.owner.checks import NAME, folder_of, record_check
from mechanisms import column
from mechanisms.tables.table import Table
from queryable import ZCDP
from tests.curator.serving import growing, served, written

SMALL = """
ledger = "ledger.db"
key = "noise.key"
[datasets.visits]
source = "visits.csv"
privacy_unit = "patient"
max_rows = 2
budget = { zcdp = "1/10" }
types = { age = "integer" }
"""


@pytest.fixture
def stated(tmp_path: Path) -> Path:
    """A folder with an analysis of a small table."""
    stated = written(tmp_path / "curator", SMALL)
    rows = "".join(f"p{number % 12},{number}\n" for number in range(30))
    (stated.parent / "visits.csv").write_text(f"patient,age\n{rows}")
    visits, handle = open_configured(stated, "visits")
    handle.release(visits.count(where=column("age") >= 18), loss=ZCDP("1/100"))
    handle.release(visits.sum("age", 0, 20), loss=ZCDP("1/100"))
    release(handle)
    visits.close()
    return stated


def run(*arguments: str) -> Result:
    """The command as it is typed."""
    return CliRunner().invoke(commands.application(), ["check", *arguments])


def notes(stated: Path) -> list[dict[str, Any]]:
    """What was noted, line by line."""
    return [*map(json.loads, (stated.parent / NAME).read_text().splitlines())]


def exceeding(patch: pytest.MonkeyPatch) -> None:
    """Let sums on tables be three times too large, so that they move by more than they claim."""
    totals = Table.totals

    def wrong(self: Table, request: Any) -> Any:
        found = totals(self, request)
        return 3 * found if "Total" in repr(request) or "age" in repr(request) else found

    patch.setattr(Table, "totals", wrong)


def test_an_analysis_that_holds(stated: Path) -> None:
    before = {each.name: each.read_bytes() for each in stated.parent.iterdir()}
    found = run(str(stated.parent), "--neighbours", "12")
    assert found.exit_code == 0, found.output
    assert "No claim is exceeded on 12 neighbours of the data." in found.output
    assert "without a charge" in found.output or "free of charge" in found.output
    after = {each.name: each.read_bytes() for each in stated.parent.iterdir()}
    assert after.pop(NAME)
    assert after == before
    [note] = notes(stated)
    assert note["command"] == "check"
    assert note["result"] == "passed"
    assert note["facts"]["neighbours"] == 12
    shown = commands.check(str(stated))
    assert note["head"]["visits"] in shown


def test_a_claim_that_is_exceeded(stated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statistic that moves by more than it says: exit code 1, and the smallest example."""
    fresh = written(stated.parent.parent / "other", SMALL)
    (fresh.parent / "visits.csv").write_text((stated.parent / "visits.csv").read_text())
    with monkeypatch.context() as patch:
        exceeding(patch)
        visits, handle = open_configured(fresh, "visits")
        handle.release(visits.sum("age", 0, 20), loss=ZCDP("1/100"))
        release(handle)
        found = run(str(fresh), "--neighbours", "12")
        written_out = run(str(fresh), "--neighbours", "12", "--json")
    assert found.exit_code == 1, found.output
    assert "CLAIMS ARE EXCEEDED" in found.output
    assert "Smallest example" in found.output
    assert written_out.exit_code == 1
    [told] = json.loads(written_out.stdout)
    assert told["holds"] is False
    assert told["smallest"]["ratio"] > 1
    assert max(each["ratio"] for each in told["worst"] if each["measure"] == "l1") > 1
    neighbour = told["smallest"]["neighbour"]
    assert neighbour["removed"] + neighbour["added"] >= 1
    assert [each["result"] for each in notes(fresh)] == ["failed", "failed"]
    assert "p1" not in (fresh.parent / NAME).read_text()  # no record


def test_the_result_as_json(stated: Path) -> None:
    found = run(str(stated), "visits", "--neighbours", "3", "--seed", "7", "--json")
    assert found.exit_code == 0
    [told] = json.loads(found.stdout)
    assert (told["dataset"], told["holds"], told["seed"]) == ("visits", True, 7)
    assert told["smallest"] is None
    assert told["neighbours"] == 3
    assert {each["measure"] for each in told["worst"]} >= {"l1"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--neighbours", "0"), "neighbours"),
        (("calls",), "there is no data set 'calls'"),
        (("--seed", "-1"), "seed"),
    ],
)
def test_a_check_that_cannot_run_has_another_code(
    stated: Path, arguments: tuple[str, ...], text: str
) -> None:
    found = run(str(stated), *arguments)
    assert found.exit_code == 2
    assert "the check could not run" in found.stderr
    assert text in found.stderr
    assert not (stated.parent / NAME).exists()


def test_other_data_than_the_log_s_are_not_checked(stated: Path) -> None:
    rows = stated.parent / "visits.csv"
    rows.write_text(rows.read_text() + "p1,3\n")
    found = run(str(stated), "--neighbours", "3")
    assert found.exit_code == 2
    assert "the data are others" in found.stderr


def test_nothing_was_asked(tmp_path: Path) -> None:
    found = run(str(written(tmp_path / "curator", SMALL)))
    assert found.exit_code == 2
    assert "nothing was asked" in found.stderr


def test_all_data_sets_of_a_curator_that_serves(tmp_path: Path) -> None:
    """The check needs no lease, and the curator goes on."""
    stated = written(tmp_path / "curator")
    with served(stated) as running:
        connection = running.connect(None)
        visits = connection["visits"]
        from mechanisms import Count, Gaussian

        first = visits(Gaussian(Count(), rho="1/100"))
        connection["calls"](Gaussian(Count(column("age") >= 18), rho="1/100"))
        found = run(str(stated), "--neighbours", "4")
        assert found.exit_code == 0, found.output + found.stderr
        assert "visits\n" in found.output
        assert "calls\n" in found.output
        assert first is not None
        assert visits(Gaussian(Count(), rho="1/100")) is not None
    assert [each["head"].keys() for each in notes(stated)] == [{"visits"}, {"calls"}]


@pytest.mark.parametrize("unit", ["", 'privacy_unit = "patient"\nmax_rows = 2\n'])
def test_batches_are_held_again(unit: str, tmp_path: Path) -> None:
    stated = growing(tmp_path / "curator")
    stated.write_text(stated.read_text() + unit)
    visits, handle = open_configured(stated, "visits")
    release(handle)
    visits.close()
    (tmp_path / "more.csv").write_text("patient,age\n1,30\n900,31\n")
    commands.feed(stated, "visits", tmp_path / "more.csv")
    visits, handle = open_configured(stated, "visits")
    handle.release(visits.count(), loss=ZCDP("1/100"))
    release(handle)
    visits.close()
    [found] = checked(str(stated), neighbours=10)
    assert found.report.holds
    assert found.report.neighbours == 10


def test_replay_and_verify_note_their_results(stated: Path) -> None:
    commands.replay(str(stated))
    commands.check(str(stated))
    commands.check(str(stated.parent / "ledger.db"))
    found = [(each["command"], each["result"]) for each in notes(stated)]
    assert found == [("replay", "passed"), *[("ledger verify", "passed")] * 2]
    assert len({each["head"]["visits"] for each in notes(stated)}) == 1
    assert (stated.parent / NAME).stat().st_mode & 0o777 == 0o600
    with pytest.raises(BrokenChainError):
        commands.check(str(stated), "visits", "0" * 64)
    rows = stated.parent / "visits.csv"
    rows.write_text(rows.read_text() + "p1,3\n")
    with pytest.raises(commands.ReplayError):
        commands.replay(str(stated))
    assert [each["result"] for each in notes(stated)[3:]] == ["failed", "failed"]


def test_a_note_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    told = record_check(tmp_path / "nowhere", "check", True, head={"visits": "ab"}, steps=1)
    assert told == f"\nThis check is not noted: there is no folder {tmp_path / 'nowhere'}"
    assert record_check(None, "check", True, head={}) == ""
    assert folder_of("postgresql://host/name", None) is None
    assert folder_of("postgresql://host/name", tmp_path / "curator.toml") == tmp_path
    assert folder_of(str(tmp_path / "ledger.db"), None) == tmp_path


def test_a_check_tells_no_analyst_anything(stated: Path) -> None:
    """The view, the ledger and what a curator shows are the same after it."""
    before = commands.show(str(stated), "visits"), commands.status(str(stated))
    text, holds = check(str(stated), neighbours=3)
    assert holds
    assert "quotes records" in text
    assert (commands.show(str(stated), "visits"), commands.status(str(stated))) == before
