import importlib.util
import json
import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

import curator
from composition import FiltCon
from curator import commands
from curator.keys import make_key
from curator.ledgers import BrokenChainError, LedgerError
from curator.owner import orders
from mechanisms import Count, Gaussian, Laplace
from queryable import ZCDP, PureDP

ROOT = Path(__file__).parents[3]
TYPER = pytest.mark.skipif(
    importlib.util.find_spec("typer") is None, reason="typer is not installed (extra `curator`)"
)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A ledger with two roots."""
    path = str(tmp_path / "ledger.db")
    for name in ("calls", "visits"):
        root = curator.open(path, FiltCon(PureDP(1)), {"age": [31] * 50}, name=name)
        root(Laplace(Count(), epsilon="1/10"))
    return path


def test_init_makes_a_folder_that_works(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    assert "as secret as the data" in commands.init(folder)
    assert stat.S_IMODE((folder / "noise.key").stat().st_mode) == 0o600
    assert {each.name for each in folder.iterdir()} == {
        *(".gitignore", "curator.toml", "ledger.db", "noise.key")
    }
    stated = str(folder / "curator.toml")
    assert commands.status(stated) == "visits: not opened yet"
    (folder / "visits.csv").write_text("patient,age\n" + "".join(f"{i},{i}\n" for i in range(50)))
    visits, table = curator.open_configured(stated, "visits")
    table.release(visits.count(), loss=ZCDP("1/50"))
    assert "visits: " in commands.status(stated)
    assert commands.status(stated) == commands.status(str(folder / "ledger.db"))
    assert commands.status(stated) == commands.status(str(folder))
    assert "laplace/1" in commands.show(stated, "visits") or "gaussian/1" in commands.show(
        stated, "visits"
    )
    assert commands.check(stated) == commands.check(stated, root="visits")
    assert commands.export(stated, "visits") == commands.export(str(folder / "ledger.db"), "visits")
    assert commands.close(stated, "visits") == (
        f"visits is closed; its key {folder / 'noise.key'} is destroyed"
    )
    assert not (folder / "noise.key").exists()


def test_a_sealed_root_is_charged(tmp_path: Path) -> None:
    """By the configuration, which names the anchor."""
    folder = tmp_path / "new"
    commands.init(folder)
    stated = folder / "curator.toml"
    (folder / "visits.csv").write_text("patient,age\n" + "".join(f"{i},{i}\n" for i in range(50)))
    with pytest.raises(LedgerError, match="names no anchor"):
        commands.charge(str(stated), "visits")
    with pytest.raises(LedgerError, match="give a configuration"):
        commands.charge(str(folder / "ledger.db"), "visits")
    (tmp_path / "other disk").mkdir()
    text = stated.read_text().replace('# anchor = "/other/disk/', 'anchor = "../other disk/')
    stated.write_text(text)
    with pytest.raises(LedgerError, match="no root 'visits'"):
        commands.charge(str(stated), "visits")
    visits, table = curator.open_configured(str(stated), "visits")
    curator.release(table)
    old = (folder / "ledger.db").read_bytes()
    visits.close()
    assert commands.charge(str(stated), "visits") == (
        "visits goes on, and nothing was charged: ZCDP(rho=0)"
    )
    visits, table = curator.open_configured(str(stated), "visits")
    table.release(visits.count(), loss=ZCDP("1/50"))
    curator.release(table)
    visits.close()
    (folder / "ledger.db").write_bytes(old)
    with pytest.raises(curator.SealedError, match="curator charge"):
        curator.open_configured(str(stated), "visits")
    assert commands.charge(str(stated), "visits") == (
        "visits goes on, and was charged ZCDP(rho=0.02): it had spent ZCDP(rho=0), and has now "
        "spent ZCDP(rho=0.02)"
    )
    assert "visits: " in commands.check(str(stated))
    assert "1 message" in commands.replay(str(stated), "visits")


@pytest.mark.parametrize("name", ["curator.toml", "ledger.db", "noise.key"])
def test_init_overwrites_nothing(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    (tmp_path / ".gitignore").write_text("mine")
    with pytest.raises(LedgerError, match=f"{name} already; nothing was changed"):
        commands.init(tmp_path)
    assert {each.name for each in tmp_path.iterdir()} == {name, ".gitignore"}
    (tmp_path / name).unlink()
    commands.init(tmp_path)
    assert (tmp_path / ".gitignore").read_text() == "mine"


def test_each_line_of_the_initial_configuration_has_a_comment(tmp_path: Path) -> None:
    """And the examples in comments can be used: each of them alone."""
    commands.init(tmp_path)
    stated = tmp_path / "curator.toml"
    lines = stated.read_text().splitlines()
    assert [line for line in lines if line and not line.startswith("[") and "#" not in line] == []
    examples = [
        (place, line.removeprefix("# ").strip())
        for place, line in enumerate(lines)
        if line.startswith("# ") and " = " in line.partition("#")[2].partition("#")[0]
    ]
    assert len(examples) > 15
    everything = "\n".join(
        line.removeprefix("# ") if " = " in line or line.startswith("# [") else line
        for line in lines
        if not line.startswith("# budget = { epsilon")
    )
    stated.write_text(everything)
    read = curator.read_configuration(stated)
    assert {*read.datasets} == {"visits", "calls", "stays"}
    assert len(read.datasets["stays"].joins) == 1
    assert read.tls is not None
    for place, example in examples:
        if example.startswith("budget"):
            visits = [line for line in lines if not line.startswith("budget = ")]
            visits[place - 1] = example
            stated.write_text("\n".join(visits))
            curator.read_configuration(stated)


def test_a_line_for_each_root_and_each_event(path: str) -> None:
    calls, spent, visits, _ = commands.status(path).splitlines()
    assert spent == "  spent PureDP(epsilon=0.1) of PureDP(epsilon=1)"
    assert calls.startswith("calls: 4 events, 1 message, 1 charge computed again, 1 compared")
    assert visits.startswith("visits: ")
    lines = commands.show(path, "visits").splitlines()
    assert [line.split()[1] for line in lines] == ["opened", "answer", "intent", "answer"]
    assert "laplace/1" in lines[2]
    assert commands.show(path, "visits", after=2).splitlines() == lines[2:]


def test_a_closed_root_says_so_and_the_last_one_destroys_the_key(path: str) -> None:
    key = Path(f"{path}.key")
    told = f"{key} was not destroyed: calls need it and can be continued"
    assert commands.close(path, "visits") == f"visits is closed; {told}"
    assert "; closed; head" in commands.status(path).splitlines()[2]
    assert key.exists()
    other = key.with_name("other.key")
    make_key(other)
    assert commands.close(path, "calls", key=str(other)).endswith("it was not destroyed")
    assert commands.close(path, "calls").endswith("is destroyed")
    assert not key.exists()
    assert commands.close(path, "calls").endswith("any more")


def test_an_export_is_checked_without_the_ledger(path: str, tmp_path: Path) -> None:
    """And every line that is missing, doubled or changed is found."""
    export = tmp_path / "visits.jsonl"
    lines = commands.export(path, "visits").splitlines()
    export.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert commands.check(str(export)) == commands.check(path, root="visits")
    for changed in (
        *([*lines[:n], *lines[n + 1 :]] for n in range(len(lines))),
        *([*lines[: n + 1], *lines[n:]] for n in range(len(lines))),
        *([*lines[:n], f" {lines[n]}", *lines[n + 1 :]] for n in range(len(lines) - 1)),
        [*lines[:2], lines[2].replace('"epoch":1', '"epoch":1.0'), *lines[3:]],
        [lines[0], "[]", *lines[1:]],
    ):
        export.write_text("\n".join(changed), encoding="utf-8")
        with pytest.raises(BrokenChainError):
            commands.check(str(export))


def test_every_flipped_bit_of_an_export_is_found(path: str, tmp_path: Path) -> None:
    """All bits of 60 bytes of it, all over the file."""
    export = tmp_path / "visits.jsonl"
    whole = commands.export(path, "visits").encode() + b"\n"
    missed = []
    for place in range(0, len(whole) - 1, len(whole) // 60):
        for bit in range(8):
            changed = bytearray(whole)
            changed[place] ^= 1 << bit
            export.write_bytes(changed)
            try:
                commands.check(str(export))
                missed.append((place, bit))
            except LedgerError:
                pass
    assert missed == []


def test_a_root_has_to_go_on_from_a_hash_that_was_seen(path: str) -> None:
    head = json.loads(commands.export(path, "visits").splitlines()[-1])["head"]
    assert commands.check(path, root="visits", head=head).endswith(head)
    with pytest.raises(BrokenChainError, match="no event has the hash"):
        commands.check(path, root="calls", head=head)
    with pytest.raises(LedgerError, match="give --root too"):
        commands.check(path, head=head)


def test_wrong_names_are_told(path: str, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no root 'none'; there are: calls, visits"):
        commands.show(path, "none")
    with pytest.raises(LedgerError, match="there is no ledger"):
        commands.status(str(tmp_path / "none.db"))
    assert not (tmp_path / "none.db").exists()


def test_a_report_says_who_asked_what_and_when(tmp_path: Path) -> None:
    """Without data and key, of a configuration with grants, and of the handle that is open."""
    folder = tmp_path / "clinic"
    commands.init(folder)
    stated = folder / "curator.toml"
    (folder / "visits.csv").write_text("patient,age\n" + "".join(f"{i},{i}\n" for i in range(50)))
    orders.add_analyst(stated, "ada")
    orders.grant(stated, "visits", "ada", zcdp="1/100")
    text = stated.read_text()
    place = text.index("[datasets.visits]")
    stated.write_text(f"{text}\n{text[place:].replace('datasets.visits', 'datasets.calls')}")
    orders.add_analyst(stated, "bo")
    orders.grant(stated, "calls", "bo", zcdp="1/100")
    visits, table = curator.open_configured(stated, "visits")
    before = int(time.time())
    table.children[0].launch(Gaussian(visits.count(), rho="1/1000"), name="=mine")
    table.release(visits.mean("age", 0, 90), loss=ZCDP("1/500"))
    told = table.report()
    assert [each.who for each in told.questions] == ["the owner", "ada", "the owner"]
    assert all(each.on is not None and each.on <= time.time() for each in told.questions)
    assert (told.questions[1].on or 0) >= before
    assert commands.report(str(folder), "visits") == told.to_markdown()
    curator.release(table)
    assert [each.who for each in table.report().questions] == ["", "", ""]
    visits.close()
    (folder / "noise.key").unlink()
    (folder / "visits.csv").unlink()
    assert commands.report(str(folder), "visits") == told.to_markdown()
    assert "Columns: age: SMALLINT, patient: written." in told.to_markdown()
    assert commands.report(str(stated), "visits", "html") == told.to_html()
    assert commands.report(str(folder / "ledger.db"), "visits", "csv") == told.to_csv()
    out = tmp_path / "report.html"
    assert commands.report(str(stated), "visits", out=str(out)).endswith("of visits: 3 questions")
    assert out.read_text(encoding="utf-8") == told.to_html()


def test_a_report_names_what_is_wrong(path: str, tmp_path: Path) -> None:
    wrong = [
        ({}, "or a data set for the report of its questions; there are: calls, visits"),
        ({"dataset": "none"}, "there is no root 'none'"),
        ({"dataset": "calls", "form": "pdf"}, "give --format md or html or csv or xlsx"),
        ({"dataset": "calls", "form": "xlsx"}, "give a file for Excel"),
        ({"dataset": "calls", "form": "md", "out": "a.csv"}, r"name the file a\.md"),
    ]
    for given, text in wrong:
        with pytest.raises(LedgerError, match=text):
            commands.report(path, **given)
    with pytest.raises(ValueError, match=r"should end in \.md"):
        commands.report(path, "calls", out=str(tmp_path / "a.pdf"))


@TYPER
def test_the_command_line(path: str, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    def run(*words: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(commands.application(), words, env={"NO_COLOR": "1"})
        return result.exit_code, result.stdout.strip(), result.stderr.strip()

    assert run("status", path) == (0, commands.status(path), "")
    checked = commands.check(path, root="visits")
    assert run("ledger", "verify", path, "--root", "visits") == (0, checked, "")
    assert run("ledger", "export", path, "visits") == (0, commands.export(path, "visits"), "")
    assert len(run("ledger", "show", path, "visits", "--after", "3")[1].splitlines()) == 1
    told = commands.report(path, "calls", "csv").strip()
    assert run("report", path, "calls", "--format", "csv") == (0, told, "")
    out = str(tmp_path / "calls.md")
    assert run("report", path, "calls", "-o", out) == (
        0,
        f"{out} has the report of calls: 1 question",
        "",
    )
    assert run("init", str(tmp_path / "third"))[0] == 0
    missing = str(tmp_path / "none.db")
    code, printed, error = run("status", missing)
    assert (code, printed) == (1, "")
    assert error.startswith(f"there is no ledger {missing}. ")
    code, printed, _ = run("--help")
    assert code == 0
    assert [word for word in ("init", "status", "close", "ledger") if word not in printed] == []


@pytest.mark.slow  # `test_serving.py` starts the program in the quick suite
@TYPER
def test_the_program_lists_its_commands() -> None:
    program = "from curator.commands import main; main()"
    run = subprocess.run(
        [sys.executable, "-c", program, "--help"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=True,
    )
    for word in ("init", "status", "close", "ledger"):
        assert word in run.stdout
