"""A report as Markdown, HTML or JSON, each of which carries the whole document, and back.

Responsible for layout and for escaping: names of data sets, analysts and columns are texts of other
people. The pages are functions of the document. Whoever has a page can make it again from the
document that it carries, and compare: so no word of a page can differ from its data.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from curator.ledgers import LedgerError
from queryable.display.markdown import as_markdown_table, markdown_text

Document = Mapping[str, Any]
Row = Sequence[str]

FORMAT = "queryable report/1"
"""What a document states as its format. Pages of this format stay as they are."""

FORMS = ("markdown", "html", "json")

_FENCE, _END = "\n```json\n", "\n```\n"
_OPEN, _SHUT = '<script type="application/json" id="document">', "</script>"
_UNSAFE = str.maketrans({each: f"\\u{ord(each):04x}" for each in "<>&`"})
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;font-size:.85em;margin:.5rem 0}"
    "th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0;"
    "border-top:1px solid #8888;overflow-wrap:anywhere}small{color:#555}"
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class ReportError(LedgerError):
    """A report cannot be made, or does not hold."""


def canonical(document: Document) -> str:
    """The one text of a document: ASCII on one line, which ends no block of a page."""
    text = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.translate(_UNSAFE)


def page(document: Document, form: str) -> str:
    """A document in one of `FORMS`.

    Raises:
        ReportError: it is no document of this format.
    """
    if not isinstance(document, Mapping) or document.get("format") != FORMAT:
        raise ReportError(f"this is no report in the format {FORMAT!r}")
    made = {"markdown": _markdown, "html": _html, "json": _json}[form]
    try:
        return made(json.loads(canonical(document)))
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise ReportError(f"this report lacks a part, or has a wrong one: {error!r}") from error


def carried(text: str) -> Document:
    """The document that a page carries, once the page was made again and is the same.

    Raises:
        ReportError: it carries none, or differs from the page that the document makes.
    """
    form, inner = _inside(text)
    try:
        document = json.loads(inner)
    except (ValueError, RecursionError) as error:
        raise ReportError("this is no report: it carries no document") from error
    if page(document, form) != text:
        raise ReportError("the text is not that of the document in it: one of them was changed")
    found: Document = document
    return found


def _inside(text: str) -> tuple[str, str]:
    """The form of a page, and the text of its document."""
    if text.startswith("{"):
        return "json", text
    form, before, after = "markdown", _FENCE, _END
    if text.startswith("<!doctype html>"):
        form, before, after = "html", _OPEN, _SHUT
    return form, text.rpartition(before)[2].partition(after)[0]


def _json(document: Document) -> str:
    return json.dumps(document, sort_keys=True, indent=2) + "\n"


def _topics(document: Document) -> Iterator[tuple[str, list[Any]]]:
    """The questions by topic, both in their order."""
    topics: dict[str, list[Any]] = {}
    for each in document["questions"]:
        topics.setdefault(each["topic"], []).append(each)
    yield from topics.items()


def _signed(document: Document) -> str:
    signature = document["signature"]
    if signature is None:
        return "This report is not signed."
    return f"Signed by the {signature['algorithm']} key {signature['public_key']}."


def _tables(document: Document) -> Iterator[tuple[str, Row, Sequence[Row]]]:
    """The tables after the questions: fields of the registry, and heads."""
    for name, fields in document["registry"].items():
        rows = [(each["field"], each["value"] or "not stated", each["source"]) for each in fields]
        yield f"Registry: {name}", ("Field", "Value", "Source"), rows
    heads = document["heads"].items()
    rows = [(root, str(head["event"]), head["hash"]) for root, head in heads]
    yield "Heads of the ledger", ("Root", "Event", "Hash"), rows


def _markdown(document: Document) -> str:
    plain = markdown_text
    lines = [f"# {plain(document['title'])}", ""]
    lines += [f"Made {plain(document['made'])} by {plain(document['software'])}.", ""]
    lines += [_item(each) for each in [*document["preface"], _signed(document)]]
    for topic, asked in _topics(document):
        lines += ["", f"## {plain(topic)}"]
        for each in asked:
            lines += ["", f"### {plain(each['asked'])}", ""]
            lines += [_item(sentence) for sentence in each["answer"]]
            if each["rows"]:
                lines += ["", as_markdown_table(each["head"], each["rows"])]
            lines += ["", f"Sources: {plain('; '.join(each['sources']))}."]
    for title, head, rows in _tables(document):
        lines += ["", f"## {plain(title)}", "", as_markdown_table(head, rows)]
    return "\n".join([*lines, "", "## Document", _FENCE]) + canonical(document) + _END


def _item(text: str) -> str:
    """An item of a list; nothing at the beginning of the text makes a title or another list."""
    line = markdown_text(text).lstrip()
    if line[:1] not in {"", "&", "\\"} and not line[:1].isalpha():
        line = f"&#{ord(line[0])};{line[1:]}"
    return f"- {line}"


def _html(document: Document) -> str:
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>{_plain(document['title'])}</title><style>{_STYLE}</style></head><body><main>",
        f"<h1>{_plain(document['title'])}</h1>",
        f"<p>Made {_plain(document['made'])} by {_plain(document['software'])}.</p>",
        _list([*document["preface"], _signed(document)]),
    ]
    for topic, asked in _topics(document):
        parts.append(f"<h2>{_plain(topic)}</h2>")
        for each in asked:
            parts += [f"<h3>{_plain(each['asked'])}</h3>", _list(each["answer"])]
            if each["rows"]:
                parts.append(_table(each["head"], each["rows"]))
            parts.append(f"<p><small>Sources: {_plain('; '.join(each['sources']))}.</small></p>")
    for title, head, rows in _tables(document):
        parts += [f"<h2>{_plain(title)}</h2>", _table(head, rows)]
    return "\n".join([*parts, f"</main>{_OPEN}"]) + canonical(document) + f"{_SHUT}</body></html>\n"


def _plain(text: str) -> str:
    """A text in which nothing is markup, and nothing changes the direction of writing."""
    return escape("".join(each if each.isprintable() else " " for each in text))


def _list(sentences: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{_plain(each)}</li>' for each in sentences)}</ul>"


def _table(head: Row, rows: Sequence[Row]) -> str:
    heads = "".join(f'<th scope="col">{_plain(each)}</th>' for each in head)
    lines = ("".join(f"<td>{_plain(each)}</td>" for each in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
