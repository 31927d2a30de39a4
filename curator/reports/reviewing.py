"""The review of a curator: made from its configuration and ledger, and checked later.

Responsible for the document: facts, answers, the registry's fields and the heads of the ledger, at
one moment. Reads the ledger as `curator ledger verify` does: no lease, no data, no key.
"""

from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import attrs

from curator.ledgers import Ledger
from curator.reports.facts import gathered, snapshot_of
from curator.reports.pages import FORMAT, FORMS, Document, ReportError, carried, page
from curator.reports.questions import questions
from curator.reports.registry import fields_of
from curator.reports.signing import public_key, signed, signer_of
from curator.reports.snapshot import LedgerSnapshot
from curator.settings.configuration import Configuration
from queryable.installed import DISTRIBUTION

_SUFFIXES = {".md": "markdown", ".html": "html", ".json": "json"}
_TITLE = "Review of a curator"
_PREFACE = (
    (
        "For the owner, and for reviewers whom the owner chooses. Not for analysts: it says what "
        "each of them was granted and has spent."
    ),
    (
        "It has no row, no number of rows, no answer and no key. It is made of the configuration "
        "and of what the ledger holds."
    ),
    (
        'The questions cover what the W3C draft note "Considerations for Reviewing Differential '
        'Privacy Systems (for Non-Differential Privacy Experts)" of February 2026 says that it is '
        "about. Its full text was not available when they were written, so they are in other words."
    ),
    (
        "The fields of the DP Deployments Registry (arXiv 2509.13509) have the names of its "
        "template of 2026. What only the owner can tell is in the table [report] of the "
        "configuration."
    ),
)


def document_of(stated: Configuration, now: datetime, software: str = "") -> Document:
    """The document of a curator as it is now.

    Args:
        now: the time that it states.
        software: the name and version that it states; by default those that are installed.

    Raises:
        LedgerError: there is no ledger, or it contradicts itself.
    """
    snapshot = snapshot_of(stated)
    facts = gathered(stated, snapshot)
    return {
        "format": FORMAT,
        "title": _TITLE,
        "made": f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "software": software or _software(),
        "preface": list(_PREFACE),
        "heads": snapshot.heads(),
        "facts": facts,
        "questions": [attrs.asdict(each) for each in questions(facts)],
        "registry": {
            name: [attrs.asdict(each) for each in fields_of(facts, name)]
            for name in facts["data_sets"]
        },
        "signature": None,
    }


def review(stated: Configuration, form: str = "", out: str = "", key: str = "") -> str:
    """The review as text; or where it was written, if `out` names a file.

    Args:
        form: one of `FORMS`; "" for that of the file's name, or Markdown.
        key: the file of a private key in PEM that signs it; "" for no signature.

    Raises:
        LedgerError: it cannot be made or signed.
    """
    form = _form(form, out)
    document = document_of(stated, datetime.now(UTC))
    if key:
        document = signed(document, Path(key))
    text = page(document, form)
    if not out:
        return text.removesuffix("\n")
    Path(out).write_text(text, encoding="utf-8", newline="")
    count = len(document["questions"])
    return f"{out} has the review: {count} questions, {'signed' if key else 'not signed'}"


def check_review(file: str, ledger: Ledger | None = None, signer: str = "") -> str:
    """Check a review: its signature, its text, and that the ledger goes on from its heads.

    Args:
        ledger: the ledger that it is about; None to check the file alone.
        signer: the owner's public key, as 64 hexadecimal digits or a file in PEM; "" for any.

    Raises:
        ReportError: something does not hold.
    """
    document = carried(Path(file).read_bytes().decode("utf-8", errors="replace"))
    found = signer_of(document)
    if signer and public_key(signer) != found:
        raise ReportError(f"{file} is signed by another key than the owner's: {found}")
    lines = [
        f"{file}: made {document['made']}; the text is that of its document",
        f"signed by the key {found}"
        + ("" if signer else ": compare it with the owner's, or give --signer"),
    ]
    if ledger is not None:
        lines += _goes_on(document, LedgerSnapshot.of(ledger))
    return "\n  ".join(lines)


def _goes_on(document: Document, now: LedgerSnapshot) -> list[str]:
    """For each head of a document, that the ledger has its event still.

    Raises:
        ReportError: it has not.
    """
    lines = []
    for root, head in document["heads"].items():
        events, number = now.events.get(root, ()), head["event"]
        if not 0 < number <= len(events) or events[number - 1].hash != head["hash"]:
            raise ReportError(
                f"the ledger does not go on from event {number} of {root!r} with the hash "
                f"{head['hash']}: it is an old copy, or another one"
            )
        later = len(events) - number
        lines.append(f"{root}: the ledger has event {number}, and {later} after it")
    return lines


def _form(form: str, out: str) -> str:
    form = {"md": "markdown"}.get(form, form)
    named = _SUFFIXES.get(Path(out).suffix.lower()) if out else form or "markdown"
    if form and form not in FORMS:
        raise ReportError(f"give --format {' or '.join(FORMS)}: it is {form!r}")
    if named is None or (form and form != named):
        raise ReportError(f"name the file with {' or '.join(_SUFFIXES)}, as the format is: {out}")
    return named


def _software() -> str:
    try:
        return f"{DISTRIBUTION} {version(DISTRIBUTION)}"
    except PackageNotFoundError:
        return f"{DISTRIBUTION} of unknown version"
