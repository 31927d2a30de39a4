"""Reports for a data protection officer: which data, who is protected and how, and who asked what.

Responsible for gathering public facts and recorded exchanges into a `UsageReport`, a value that is
written as Markdown, HTML, CSV or Excel. It has no row of the data. `paragraphs` has its sentences.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from pathlib import Path as FilePath
from typing import Any

import attrs

from queryable.checks.protection import Protected
from queryable.display.asked import AnswerTable, brief, row_of_any, table_of
from queryable.display.ledger import LedgerRow
from queryable.display.markdown import as_markdown_table, markdown_text
from queryable.display.nodes import TreeNode
from queryable.display.paragraphs import ReportSection, sections_of
from queryable.display.spreadsheet import as_csv, as_html, write_excel
from queryable.optional import one_line
from queryable.randomness.coins import ChildId
from queryable.running.log import Path, Record
from queryable.wording.quoting import quoted

OWNER = "the owner"
_LONGEST = 2000
_TITLE = "Report on the use of protected data"
_FORMATS = ("md", "html", "csv", "xlsx")
_STYLE = """<style>
.queryable-report{font:15px/1.5 system-ui,sans-serif;max-width:75rem}
.queryable-report table{font-size:13px;border-collapse:collapse}
.queryable-report th,.queryable-report td{text-align:left;vertical-align:top;
padding:2px .8em 2px 0;border-top:1px solid #8884;overflow-wrap:anywhere}
.queryable-report td table td,.queryable-report td table th{border:0;padding:0 .8em 0 0}
.queryable-report caption{text-align:left;font-size:12px}
</style>"""


@attrs.frozen
class ReportedQuestion:
    """A message and what came of it: a launch, or a query that reads or changes something.

    Attributes:
        on: the second, since 1970, in which it came; None if it is unknown.
        who: who asked; empty if it is unknown.
        row: its number, from 1; what was asked, what it was charged, and the total after it.
        answer: the answer on one line; empty where nothing was released.
        table: the first rows of an answer with several numbers; None for others.
    """

    on: int | None
    who: str
    row: LedgerRow
    answer: str
    table: AnswerTable | None

    @property
    def time(self) -> str:
        """When it came, in UTC; empty if it is unknown."""
        if self.on is None:
            return ""
        try:
            return f"{datetime.fromtimestamp(self.on, UTC):%Y-%m-%d %H:%M:%S}"
        except (ValueError, OverflowError, OSError):
            return ""

    def cells(self) -> dict[str, str]:
        """Its texts, as pages show them."""
        row = self.row
        name = "" if row.name is None else f"{one_line(row.name)}: "
        return {
            "No.": str(row.sequence),
            "When (UTC)": self.time,
            "Who": self.who,
            "Where": "/" + "/".join(map(str, row.path)),
            "Asked": f"{name}{row.asked}",
            "Outcome": row.outcome,
            "Answer": self.answer,
            "Cost": "" if row.loss is None else str(row.loss),
            "Total": "" if row.total is None else str(row.total),
        }


@attrs.frozen(repr=False)
class UsageReport:
    """What happened to protected data, in plain words and as a list of questions.

    It depends on the view and on public facts only. `print` shows it as Markdown.

    Attributes:
        sections: the sentences about the data, the protection and the budget.
        questions: every question, oldest first. Polls, which ask what is left, are not among them.
    """

    sections: tuple[ReportSection, ...]
    questions: tuple[ReportedQuestion, ...]

    def columns(self) -> dict[str, list[Any]]:
        """The questions by column, all of one length; losses as texts, and as numbers rounded up.

        `total` is that of the compositor that was asked, which `path` names.
        """
        columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        for place, each in enumerate(self.questions):
            flat = each.row.as_flat_record()
            flat |= {"time": each.time or None, "who": each.who or None, "answer": each.answer}
            flat["number"] = flat.pop("sequence")
            columns |= {name: [None] * place for name in flat if name not in columns}
            for name, column in columns.items():
                column.append(flat.get(name))
        return columns

    def to_markdown(self) -> str:
        """The report as Markdown. Texts of questions and answers are escaped."""
        lines = [f"# {_TITLE}"]
        for section in self.sections:
            lines += ["", f"## {section.title}", ""]
            lines += [f"- {markdown_text(each)}" for each in section.sentences]
        lines += ["", "## Questions", ""]
        head, rows = self._table()
        if not rows:
            return "\n".join([*lines, "Nothing was asked.", ""])
        return "\n".join([*lines, as_markdown_table(head, rows), ""])

    def to_html(self) -> str:
        """The report as a page of HTML, which loads nothing. All texts are escaped."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            f"<title>{_TITLE}</title></head><body>{self._repr_html_()}</body></html>\n"
        )

    def _repr_html_(self) -> str:
        parts = [f'<div class="queryable-report">{_STYLE}<h1>{_TITLE}</h1>']
        for section in self.sections:
            items = "".join(f"<li>{escape(each)}</li>" for each in section.sentences)
            parts.append(f"<h2>{escape(section.title)}</h2><ul>{items}</ul>")
        head, rows = self._table()
        place = head.index("Answer")
        cells = [
            "".join(
                f"<td>{_as_html_answer(each) if at == place else escape(cell)}</td>"
                for at, cell in enumerate(row)
            )
            for each, row in zip(self.questions, rows, strict=True)
        ]
        heads = "".join(f"<th>{escape(each)}</th>" for each in head)
        body = "".join(f"<tr>{row}</tr>" for row in cells)
        table = f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"
        parts.append(f"<h2>Questions</h2>{table if rows else '<p>Nothing was asked.</p>'}</div>")
        return "".join(parts)

    def to_csv(self) -> str:
        """The questions as CSV with a header; no cell is run as a formula."""
        return as_csv(self.columns())

    def write(self, path: str | FilePath) -> None:
        """Write the report to a file, in the format of its suffix: .md, .html, .csv or .xlsx.

        Excel needs openpyxl (extra `excel`). Its second sheet has the questions; no cell is a
        formula.

        Raises:
            ValueError: it has another suffix.
            ImportError: openpyxl is not installed.
        """
        path = FilePath(path)
        suffix = path.suffix.removeprefix(".").lower()
        if suffix not in _FORMATS:
            raise ValueError(
                f"path is {quoted(str(path))}; its name should end in .{', .'.join(_FORMATS)}"
            )
        if suffix == "xlsx":
            about = [(each.title, text) for each in self.sections for text in each.sentences]
            subjects, texts = zip(*about, strict=True)
            write_excel(
                path,
                {"Report": {"about": subjects, "text": texts}, "Questions": self.columns()},
            )
            return
        written = {"md": self.to_markdown, "html": self.to_html, "csv": self.to_csv}
        path.write_text(written[suffix](), encoding="utf-8")

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """The questions as texts; a column of times or names is there if any of them is known."""
        cells = [each.cells() for each in self.questions]
        head = [name for name in _HEAD if name not in _OPTIONAL or any(c[name] for c in cells)]
        return head, [[each[name] for name in head] for each in cells]

    def __str__(self) -> str:
        return self.to_markdown()

    def __repr__(self) -> str:
        count = len(self.questions)
        return f"<UsageReport of {count:,} question{'s' * (count != 1)}>"


_HEAD = ("No.", "When (UTC)", "Who", "Where", "Asked", "Outcome", "Answer", "Cost", "Total")
_OPTIONAL = ("When (UTC)", "Who")
_COLUMNS = (
    *("number", "time", "who", "path", "name", "mechanism", "outcome", "asked", "answer"),
    *("claim", "loss", "total"),
)


def _as_html_answer(question: ReportedQuestion) -> str:
    table = question.table
    if table is None:
        return escape(question.answer)
    rows: list[tuple[str, ...] | None] = [*table.rows, *([None] if table.left_out else [])]
    caption = f"<div>{escape(table.about)}</div>"
    notes = "".join(f"<div>note: {escape(each)}</div>" for each in table.notes)
    return caption + as_html(table.head, rows, f"{table.left_out:,} more", styled=False) + notes


def report_of(
    node: TreeNode,
    protects: Protected,
    record: Record,
    names: Mapping[int, str],
    *,
    layout: str,
    people: Mapping[ChildId, str],
    time_of: Callable[[int], int | None],
    path: Path = (),
) -> UsageReport:
    """The report of the mechanism at a path, and of what is below it.

    Args:
        node: its tree.
        protects: who is protected.
        record, names: the log, and the names of launches by sequence number.
        layout: the columns of the data, in words.
        people: who has which child of the root.
        time_of: the second in which the message of an entry came.
    """
    questions = _questions(record, names, people, time_of, path)
    return UsageReport(sections_of(node, protects, layout), tuple(questions))


def _questions(
    record: Record,
    names: Mapping[int, str],
    people: Mapping[ChildId, str],
    time_of: Callable[[int], int | None],
    path: Path,
) -> Iterator[ReportedQuestion]:
    log, number = record.log, 0
    for place in range(record.count):
        where = log.path(place)
        if where[: len(path)] != path:
            continue
        exchange, name = log.exchange(place), names.get(log.sequence(place))
        number += 1
        who = people.get(where[0], "") if where else OWNER
        row, answer = row_of_any(number, name, exchange), brief(exchange.answer, _LONGEST)
        table = table_of(exchange.answer)
        yield ReportedQuestion(time_of(place), who if people else "", row, answer, table)
