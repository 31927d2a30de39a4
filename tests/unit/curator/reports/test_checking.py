"""What `curator report --check` finds: changes of text, document, key and ledger."""

import copy
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key

import curator
from curator import commands
from curator.ledgers import LedgerError
from curator.reports.pages import FORMS, ReportError, canonical, carried, page
from curator.reports.reviewing import check_review, document_of
from curator.reports.signing import signed, signer_of
from curator.settings.configuration import read_configuration
from queryable import ZCDP
from tests.reporting import NOW, clinic, key_file

Document = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A curator whose ledger goes on after a review of it, and its owner's key."""
    folder = tmp_path_factory.mktemp("owner")
    stated = clinic(folder / "clinic", rows=20)
    key_file(folder)
    key_file(folder, "other")
    for suffix in ("md", "html", "json"):
        said = commands.report(
            str(stated), out=str(folder / f"review.{suffix}"), sign=str(folder / "owner.pem")
        )
        assert said.endswith("questions, signed")
    (folder / "old.db").write_bytes((folder / "clinic" / "ledger.db").read_bytes())
    visits, table = curator.open_configured(stated, "visits")
    table.release(visits.count(), loss=ZCDP("1/1000"))
    curator.release(table)
    visits.close()
    return folder


@pytest.fixture(scope="module")
def document(folder: Path) -> Document:
    """The signed document."""
    found: Document = json.loads((folder / "review.json").read_text())
    return found


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values in a document that have no others in them."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for name, each in inner:
        if isinstance(each, dict | list) and each:
            yield from leaves(each, (*place, name))
        else:
            yield (*place, name)


@contextmanager
def changed(document: Document, place: tuple[Any, ...]) -> Iterator[None]:
    """Another value at a place, for a while."""
    inner: Any = document
    for name in place[:-1]:
        inner = inner[name]
    before = inner[place[-1]]
    inner[place[-1]] = other(before)
    yield
    inner[place[-1]] = before


def holds(document: Document) -> bool:
    """Whether a page is made of a document, and its signature is its own."""
    try:
        return bool(page(document, "html") and signer_of(document))
    except (ReportError, KeyError):
        return False


def other(value: Any) -> Any:
    """A value of the same kind."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case str():
            return f"{value[:-1]}{'0' if value[-1:] != '0' else '1'}"
        case _:
            return "1"


@pytest.mark.parametrize("form", FORMS)
def test_a_review_holds(folder: Path, form: str) -> None:
    file = str(folder / f"review.{'md' if form == 'markdown' else form}")
    assert "compare it with the owner's" in commands.report(check=file)
    told = commands.report(
        str(folder / "clinic"), check=file, signer=str(folder / "owner.pub")
    ).splitlines()
    assert told[2:] == [
        "  @access: the ledger has event 7, and 0 after it",
        "  calls: the ledger has event 5, and 0 after it",
        "  earlier: the ledger has event 4, and 0 after it",
        "  visits: the ledger has event 15, and 2 after it",
    ]
    assert "compare" not in told[1]
    digits = told[1].split()[-1]
    assert commands.report(check=file, signer=digits) == "\n".join(told[:2])


def test_each_change_of_the_document_is_found(document: Document) -> None:
    """All leaves, those of the signature too; a page of the changed document would fit it."""
    places = [*leaves(document)]
    assert len(places) > 500
    assert {place[0] for place in places} == set(document)
    missed = []
    for place in places:
        with changed(document, place), suppress(ReportError):
            signer_of(document)
            missed.append(place)
    assert missed == []
    assert signer_of(document)


def test_each_part_that_is_left_out_or_added_is_found(document: Document) -> None:
    for name in document:
        less = {key: value for key, value in document.items() if key != name}
        assert not holds(less), name
    with pytest.raises(ReportError, match="not that of this report"):
        signer_of({**document, "more": 1})
    for name in document["signature"]:
        signature = {key: value for key, value in document["signature"].items() if key != name}
        with pytest.raises(ReportError):
            signer_of({**document, "signature": signature})
    for more in ({"more": 1}, {"value": document["signature"]["value"].upper()}, {"value": 1}):
        with pytest.raises(ReportError):
            signer_of({**document, "signature": document["signature"] | more})


@pytest.mark.parametrize("form", FORMS)
def test_each_change_of_the_text_is_found(folder: Path, tmp_path: Path, form: str) -> None:
    """Single bits at 150 places, cut and doubled pieces; the document in the file stays or not."""
    name = f"review.{'md' if form == 'markdown' else form}"
    whole, file = (folder / name).read_bytes(), tmp_path / name
    step = len(whole) // 150
    wrong = [
        whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), step)
    ]
    wrong += [whole[:at] + whole[at + 7 :] for at in range(0, len(whole), 10 * step)]
    wrong += [whole + b"\n", whole + whole, whole[:-1], b"\n" + whole, b"", b"\xff" + whole]
    missed = []
    for number, text in enumerate(wrong):
        file.write_bytes(text)
        try:
            check_review(str(file))
            missed.append(number)
        except ReportError:
            pass
    assert missed == []


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_words_that_a_reader_sees_are_those_that_are_signed(folder: Path, form: str) -> None:
    """An honest document below another page."""
    name = f"review.{'md' if form == 'markdown' else form}"
    text = (folder / name).read_text(encoding="utf-8")
    wrong = text.replace("ZCDP(rho=0.1)", "ZCDP(rho=0.01)", 1)
    assert wrong != text
    with pytest.raises(ReportError, match="the text is not that of the document"):
        carried(wrong)


def test_a_document_with_two_values_of_one_name_is_refused(document: Document) -> None:
    """A reader of JSON may take the one or the other."""
    text = page(document, "json")
    with pytest.raises(ReportError):
        carried(text.replace('  "made":', '  "made": "2020",\n  "made":', 1))


def test_somebody_elses_signature_is_found(folder: Path, document: Document) -> None:
    """Whoever changes a review can sign it anew; only the owner's key tells."""
    with changed(document, ("facts", "data_sets", "visits", "budget", "text")):
        resigned = copy.deepcopy(signed({**document, "signature": None}, folder / "other.pem"))
    file = folder / "resigned.html"
    file.write_text(page(resigned, "html"), encoding="utf-8", newline="")
    assert commands.report(check=str(file))
    with pytest.raises(ReportError, match="signed by another key than the owner's"):
        commands.report(check=str(file), signer=str(folder / "owner.pub"))
    kept = {**resigned, "signature": document["signature"]}
    with pytest.raises(ReportError, match="not that of this report"):
        signer_of(kept)


def test_a_review_without_a_signature_is_refused(folder: Path) -> None:
    out = folder / "unsigned.md"
    assert commands.report(str(folder / "clinic"), out=str(out)).endswith("not signed")
    with pytest.raises(ReportError, match="anybody may have written it"):
        commands.report(check=str(out))


def test_an_old_ledger_and_another_one_are_found(folder: Path, tmp_path: Path) -> None:
    stated = str(folder / "clinic")
    new = tmp_path / "new.html"
    commands.report(stated, out=str(new), sign=str(folder / "owner.pem"))
    commands.report(stated, check=str(new))
    with pytest.raises(ReportError, match="does not go on from event 17 of 'visits'"):
        commands.report(str(folder / "old.db"), check=str(new))
    another = clinic(tmp_path / "another", rows=20)
    for review in (new, folder / "review.html"):  # the other one has as many events as then
        with pytest.raises(ReportError, match="an old copy, or another one"):
            commands.report(str(another), check=str(review))
    commands.init(tmp_path / "empty")
    with pytest.raises(ReportError, match="does not go on"):
        commands.report(str(tmp_path / "empty"), check=str(new))


def test_a_key_that_is_no_key_is_named(folder: Path, tmp_path: Path) -> None:
    configuration = read_configuration(folder / "clinic")
    document = document_of(configuration, NOW)
    rsa = key_file(tmp_path, "rsa", generate_private_key(65537, 2048))
    text = tmp_path / "text.pem"
    text.write_text("no key")
    text.chmod(0o600)
    for path, words in (
        (rsa, "no private key for Ed25519"),
        (text, "no private key in PEM"),
        (tmp_path / "none.pem", "there is no key file"),
    ):
        with pytest.raises(ReportError, match=words):
            signed(document, path)
    opened = key_file(tmp_path, "opened")
    opened.chmod(0o640)
    if os.name == "posix":
        with pytest.raises(ReportError, match="chmod 600"):
            signed(document, opened)
    review = str(folder / "review.md")
    for path, words in ((text, "no public key in PEM"), (tmp_path / "rsa.pub", "for Ed25519")):
        with pytest.raises(ReportError, match=words):
            commands.report(check=review, signer=str(path))


def test_without_the_library_the_extra_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, document: Document
) -> None:
    for name in [each for each in sys.modules if each.partition(".")[0] == "cryptography"]:
        monkeypatch.setitem(sys.modules, name, None)
    words = r"pip install '\.\[sign\]'"
    with pytest.raises(ReportError, match=words):
        signed(document, folder / "owner.pem")
    with pytest.raises(ReportError, match=words):
        commands.report(check=str(folder / "review.md"))
    assert commands.report(str(folder / "clinic")).startswith("# Review of a curator")


def test_wrong_options_are_named(folder: Path) -> None:
    stated, review = str(folder / "clinic"), str(folder / "review.md")
    wrong: list[tuple[Mapping[str, str], str]] = [
        ({"place": stated, "check": review, "out": "a.md"}, "nothing else"),
        ({"place": stated, "dataset": "visits", "check": review}, "nothing else"),
        ({}, "give a folder"),
        ({"place": stated, "signer": "00"}, "with --check only"),
        ({"place": stated, "dataset": "visits", "sign": "a.pem"}, "leave the data set out"),
        ({"place": stated, "form": "pdf"}, "give --format markdown or html or json"),
        ({"place": stated, "out": "review.pdf"}, "name the file with"),
        ({"place": stated, "form": "html", "out": "review.md"}, "as the format is"),
    ]
    for given, words in wrong:
        with pytest.raises(LedgerError, match=words):
            commands.report(**given)
    with pytest.raises(FileNotFoundError):
        commands.report(check=str(folder / "none.md"))
    assert commands.report(stated, form="json").startswith("{")
    assert commands.report(stated, form="md") == commands.report(stated, form="markdown")


def test_the_command_line_ends_with_1_if_a_review_does_not_hold(
    folder: Path, tmp_path: Path
) -> None:
    from typer.testing import CliRunner

    def run(*words: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(commands.application(), ("report", *words))
        return result.exit_code, result.stdout, result.stderr

    clinic, out = str(folder / "clinic"), tmp_path / "review.html"
    code, told, _ = run(clinic, "--out", str(out), "--sign", str(folder / "owner.pem"))
    assert (code, told) == (0, f"{out} has the review: 21 questions, signed\n")
    code, told, _ = run(clinic, "--check", str(out), "--signer", str(folder / "owner.pub"))
    assert (code, told.count("the ledger has event")) == (0, 4)
    out.write_text(out.read_text().replace("ada", "eve", 1))
    code, told, error = run("--check", str(out))
    assert (code, told) == (1, "")
    assert error.startswith("the text is not that of the document in it")
    code, told, _ = run(clinic, "--format", "json")
    assert carried(told)["format"] == "queryable report/1"


def test_what_is_signed_is_as_the_page_says(document: Document) -> None:
    """docs/report.md, so that a program of somebody else's can check a signature."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    plain = json.dumps({**document, "signature": None}, sort_keys=True, separators=(",", ":"))
    for each in "<>&`":
        plain = plain.replace(each, f"\\u{ord(each):04x}")
    assert plain == canonical({**document, "signature": None})
    signature = document["signature"]
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(signature["public_key"]))
    key.verify(bytes.fromhex(signature["value"]), f"queryable report/1\n{plain}".encode("ascii"))
