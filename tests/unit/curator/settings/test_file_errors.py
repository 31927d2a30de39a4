"""Errors of the system as sentences, and what the command line says of them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from curator import commands
from curator.owner import orders
from curator.settings.file_errors import in_words


def run(*arguments: object) -> str:
    """What a command that fails says."""
    found = CliRunner().invoke(commands.application(), [*map(str, arguments)])
    assert found.exit_code
    return found.stderr.removesuffix("\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One of `curator init`, without data."""
    commands.init(tmp_path / "clinic")
    orders.add_analyst(tmp_path / "clinic" / "curator.toml", "ada")
    return tmp_path / "clinic"


@pytest.mark.parametrize(
    ("cause", "text"),
    [
        (lambda at: (at / "none.csv").read_bytes(), "there is no file {}/none.csv"),
        (lambda at: (at / "none/a.csv").read_bytes(), "there is no folder {}/none"),
        (lambda at: (at / "none/b/a.csv").write_text(""), "there is no folder {}/none/b"),
        (lambda at: (at / "file/a.csv").read_bytes(), "{}/file is no folder"),
        (lambda at: at.read_bytes(), "{} is a folder; name a file"),
        (lambda at: at.mkdir(), "there is a {} already"),
        (lambda at: (at / "none").rename(at / "two"), "there is no file {}/none"),
        (lambda at: (at / ("a" * 300)).read_bytes(), "{}/" + "a" * 300 + ": file name too long"),
    ],
)
def test_what_the_system_says_is_said_in_words(
    cause: Callable[[Path], object], text: str, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"\[Errno") as caught:
        cause(tmp_path)
    assert in_words(caught.value) == text.format(tmp_path)


def test_other_errors_say_what_they_say() -> None:
    assert in_words(PermissionError(13, "Permission denied", "a")) == (
        "this account has no right to use a"
    )
    assert in_words(ConnectionRefusedError(111, "Connection refused")) == "connection refused"
    assert in_words(FileNotFoundError("there is no file a: make one")) == (
        "there is no file a: make one"
    )
    assert in_words(ValueError("it is 0")) == "it is 0"


def test_the_command_line_quotes_no_number_of_the_system(folder: Path) -> None:
    stated, nowhere = folder / "curator.toml", folder / "nowhere"
    assert run("init", stated) == f"{stated} is a file; name a folder"
    assert run("init", stated / "new") == f"{stated} is no folder"
    report = run("report", folder, "-o", nowhere / "review.html")
    assert report == f"there is no folder {nowhere}"
    assert run("ledger", "verify", nowhere / "export.json") == f"there is no folder {nowhere}"
    assert run("grant", folder, "visits", "ada", "--zcdp", "1/50") == (
        f"{stated}: datasets.visits: there is no file {folder}/visits.csv; paths start at the "
        f"folder of this configuration"
    )
    assert run("check", folder, "--neighbours", "0") == (
        "the check could not run: neighbours is 0; it should be at least 1"
    )
