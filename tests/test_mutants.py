"""The tables of mutants are of the present text, and a part of them is found by its tests."""

from pathlib import Path

import attrs
import pytest

from tests.mutants.__main__ import run
from tests.mutants.tables import ROOT, Mutant, Table, complaints, room, tables

LEAST, LEAST_EACH = 150, 8
EVERY = tables()
MUTANTS = [each for one in EVERY for each in one.mutants]
SAMPLE = MUTANTS[:: len(MUTANTS) // 10]
FOUND = Mutant(
    "toy",
    "one is two",
    "queryable/toy.py",
    "ONE = 1",
    "ONE = 2",
    "tests/test_toy.py::test_one",
)
TOY = Table("toy", ("queryable",), (FOUND,))


def toy(root: Path) -> Path:
    """A project with one module and one test."""
    for name, text in {
        "queryable/toy.py": "ONE = 1\nTWO = 2\n",
        "tests/test_toy.py": "def test_one():\n    pass\n",
    }.items():
        (root / name).parent.mkdir()
        (root / name).write_text(text)
    return root


def test_the_tables_are_of_the_present_text() -> None:
    assert list(complaints(EVERY)) == []


def test_there_are_enough() -> None:
    assert len(MUTANTS) >= LEAST
    assert [one.name for one in EVERY if len(one.mutants) < LEAST_EACH] == []
    assert len({(each.table, each.name) for each in MUTANTS}) == len(MUTANTS)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"old": "THREE"}, "its old text is 0 times"),
        ({"old": " = "}, "its old text is 2 times"),
        ({"new": "ONE = 1"}, "changes nothing"),
        ({"file": "queryable/none.py"}, "its old text is 0 times"),
        ({"file": "curator/toy.py"}, "another table's room"),
        ({"test": "tests/test_toy.py::test_two"}, "there is no test"),
        ({"test": "tests/test_none.py::test_one"}, "there is no test"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, change: dict[str, str], told: str) -> None:
    root = toy(tmp_path)
    assert list(complaints([TOY], root)) == []
    wrong = attrs.evolve(TOY, mutants=(attrs.evolve(FOUND, **change),))
    assert told in "; ".join(complaints([wrong], root))


def test_a_room_and_a_mutant_are_in_one_table(tmp_path: Path) -> None:
    root = toy(tmp_path)
    again = attrs.evolve(TOY, mutants=(FOUND, attrs.evolve(FOUND, name="one is two again")))
    assert len([each for each in complaints([again], root) if "twice" in each]) == 2
    assert "queryable is in 2 tables" in list(complaints([TOY, TOY], root))
    (root / "queryable/room").mkdir()
    (root / "queryable/room/inner.py").write_text("")
    assert list(complaints([TOY], root)) == ["queryable/room is in no table"]


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("curator/root.py", "curator"),
        ("curator/logs/story.py", "curator/logs"),
        ("curator/logs/inner/one.py", "curator/logs"),
        ("curator/wire/texts.py", None),
    ],
)
def test_a_room_is_the_innermost(file: str, wanted: str | None) -> None:
    assert room(file, ["curator", "curator/logs"]) == wanted


@pytest.mark.slow
def test_a_sample_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    """A mutant that changes no behaviour is not."""
    name = "queryable/data/ahead.py"
    word = '"""' + (ROOT / name).read_text(encoding="utf-8").split('"""')[1].partition(".")[0]
    none = attrs.evolve(SAMPLE[0], name="no change", file=name, old=word, new=f"{word}, or not")
    assert run(SAMPLE) == 0
    assert run([none]) == 1
    assert "0 of 1 mutants were found" in capsys.readouterr().out
