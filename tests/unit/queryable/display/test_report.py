"""Reports: what they say, and that no text in them is markup or a formula."""

import csv
import re
from fractions import Fraction
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from composition import FiltCon, OdomCon
from mechanisms import (
    AbsoluteError,
    BrownianNoiseReduction,
    Count,
    Gaussian,
    GroupBy,
    Histogram,
    Laplace,
    Mean,
    Open,
    Refine,
    RelativeError,
    SparseVector,
    Table,
    TreeCounter,
    Until,
    column,
    even_schedule,
)
from mechanisms.refinement.estimate import Refined, Stopped
from queryable import ZCDP, PureDP, Queryable, QueryRefusedError, SeededCoins, UserLevel
from queryable.checks.protection import ROW
from queryable.data.forms import layout_of
from queryable.display.asked import brief, table_of
from queryable.display.markdown import as_markdown_table, markdown_text
from queryable.display.paragraphs import sections_of
from queryable.display.report import UsageReport
from queryable.display.spreadsheet import as_csv, write_excel

ROWS = {"patient": [f"p{i % 30}" for i in range(120)], "sex": ["F", "M"] * 60}
HOSTILE = (
    "=1+1|<img src=x onerror=alert(1)>\n# `*x*` [y](http://z) www.z.org ~~a~~ &lt; $x$ a@b.org"
)


def asked() -> Queryable:
    """A table with a launch, a search, a filter in it and a refusal."""
    visits = Table(ROWS, privacy_unit="patient", max_rows=4)
    table = Queryable(FiltCon(ZCDP("1/10")), visits)
    by_sex = visits.group_by({"sex": ["F", HOSTILE]}).count()
    table.release(by_sex, loss=ZCDP("1/50"), name=HOSTILE)
    search = table.launch(SparseVector(100, epsilon="1/10", sensitivity=4))
    search(visits.count(column("sex") == "F"))
    table.launch(FiltCon(ZCDP("1/50")), name="team").launch(Gaussian(visits.count(), rho="1/100"))
    with pytest.raises(QueryRefusedError):
        table.launch(Gaussian(visits.count(), rho=9))
    return table


TABLE = asked()
REPORT = TABLE.report()


def sentences(handle: Queryable) -> str:
    return "\n".join(text for each in handle.report().sections for text in each.sentences)


def test_every_question_is_there_with_its_cost() -> None:
    rows = [each.row for each in REPORT.questions]
    assert [(row.sequence, row.path, row.outcome) for row in rows] == [
        (1, (), "charged"),
        (2, (), "charged"),
        (3, (1,), "answered"),
        (4, (), "charged"),
        (5, (2,), "charged"),
        (6, (), "refused"),
    ]
    launches = [row for row in rows if row.loss is not None]
    assert [row.loss for row in launches] == [row.loss for row in TABLE.ledger()]
    assert [row.total for row in launches] == [row.total for row in TABLE.ledger()]
    assert rows[2].asked == "Count where sex == 'F', at most 4 rows per patient"
    assert REPORT.questions[2].answer in ("True", "False")
    assert repr(REPORT) == "<UsageReport of 6 questions>"


def test_polls_are_no_questions() -> None:
    before = len(TABLE.report().questions)
    TABLE.can_afford(FiltCon(ZCDP(1)))
    TABLE.privacy_loss()
    assert len(TABLE.report().questions) == before


def test_a_child_reports_what_is_below_it() -> None:
    child = TABLE.children[2].report()
    assert [each.row.path for each in child.questions] == [(2,)]
    assert "paid for all of it in advance" in child.to_markdown()
    assert "paid for all of it in advance" not in REPORT.to_markdown()


def test_protection_in_plain_words() -> None:
    text = sentences(TABLE)
    assert "Columns: patient: written, sex: written." in text
    assert "Protected is one patient: at most 4 of their rows are counted." in text
    assert "whether one certain patient with all its rows is in them, and" in text
    assert "in at most 62 of 100." in text  # of rho = 1/10
    assert "answers so far" not in text  # when the last was asked may depend on answers
    pure = Queryable(FiltCon(PureDP(1)), ROWS)
    pure.launch(Laplace(Count(), epsilon="1/10"))
    assert "From the answers so far they are right in at most 53 of 100" in sentences(pure)
    assert "1 refused, which cost nothing" in text
    assert "Spent ZCDP" in text
    assert not re.search("Theorem|Lemma|et al|p17", text)


def test_how_answers_were_made_is_told_by_their_documentation() -> None:
    lines = sentences(TABLE).splitlines()
    made = "A statistic with Gaussian or Laplace noise, whose answer is an estimate with intervals."
    assert f"Release, 1 time: {made}" in lines
    assert any(line.startswith("SparseVector, 1 time: Tells for each statistic") for line in lines)
    count = "Gaussian, 1 time: An integer statistic with exact discrete Gaussian noise on each"
    assert count in sentences(TABLE.children[2])
    assert count in sentences(TABLE)  # the filter of the team is a mechanism of its own
    titles = [each.title for each in Queryable(FiltCon(PureDP(1)), ROWS).report().sections]
    assert "How answers were made" not in titles


def test_mechanisms_of_several_filters_are_counted_together() -> None:
    table = Queryable(FiltCon(PureDP(1)), ROWS)
    for _ in range(2):
        team = table.launch(FiltCon(PureDP("1/4")))
        for _ in range(3):
            team.launch(Laplace(Count(), epsilon="1/100"))
    table.launch(Laplace(Count(), epsilon="1/100"))
    lines = sentences(table).splitlines()
    assert [line.partition(":")[0] for line in lines if " times: " in line] == [
        "Laplace, 7 times",
        "FiltCon, 2 times",
    ]


def test_other_claims_in_plain_words() -> None:
    pairs = sentences(Queryable(FiltCon(PureDP(1), d_in=2), ROWS))
    assert "whether one certain row is in them or another one in its place" in pairs
    assert "74 of 100" in pairs
    assert "a factor of at most 2.72" in pairs
    many = sentences(Queryable(FiltCon(PureDP(1), d_in=3), ROWS))
    assert "two possible data sets they are, that differ by 3 rows" in many
    open_ended = sentences(Queryable(OdomCon(PureDP), ROWS))
    assert "No bound was fixed in advance." in open_ended
    assert "A budget bounds" not in open_ended


def test_a_mechanism_that_protects_nobody_says_so() -> None:
    counter = TreeCounter(Count(), epsilon=1, horizon=8)
    assert "Protected is one row" in sentences(Queryable(counter, {"a": []}))
    once = TreeCounter(Count(), epsilon=1, horizon=8, neighbours=UserLevel("a", 1))
    mixed = Queryable(FiltCon(PureDP(1)), {"a": []})
    assert "Protected is one row" in sentences(mixed)
    assert "Protected is one a" in sentences(Queryable(once, {"a": []}))


def test_layouts_have_names_and_types_and_nothing_of_rows() -> None:
    frame = pd.DataFrame({"a": [1], "b": pd.Categorical(["secret"])})
    assert layout_of(frame) == "a: int64, b: category"
    assert layout_of(pl.DataFrame({"a": [1], "b": pl.Series(["s"], dtype=pl.Enum(["s"]))})) == (
        "a: Int64, b: Enum"
    )
    assert layout_of(pa.table({"a": [1], "b": pa.array(["s"]).dictionary_encode()})) == (
        "a: int64, b: dictionary"
    )
    arrays = {"a": np.array([1]), "b": np.array(["secret"]), "c": ["x"], "d": np.array([{}])}
    assert layout_of(arrays) == "a: integers, b: texts, c, d"
    for other in ([1], np.array([1]), 3, None):
        assert layout_of(other) == ""
    unknown = sections_of(TABLE.node, ROW, "")[0].sentences
    assert unknown[0] == "The columns of the data are not recorded here."


def test_markdown_shows_hostile_texts_as_they_are() -> None:
    """A reader of Markdown renders each cell to its own text."""
    reader = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    page = reader.render(REPORT.to_markdown())
    assert not re.search("<(img|a|em|code|del|s|strong)[ >]", page)
    cells = re.findall("<td>(.*?)</td>", reader.render(as_markdown_table(["a"], [[HOSTILE]])))
    shown = cells[0].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert shown == HOSTILE.replace("\n", " ")
    assert page.count("<tr>") == 1 + len(REPORT.questions)


@pytest.mark.parametrize("text", ["http://a.b", "www.a.b", "a@b.c", "<b>", "a|b", "~~a~~", "$a$"])
def test_markdown_has_no_character_that_extensions_read(text: str) -> None:
    shown = markdown_text(text)
    assert not re.search(r"[<>|~$@]|://|www\.", shown)
    assert shown != text


def test_html_escapes_every_text() -> None:
    page = REPORT.to_html()
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page
    assert "<script" not in page
    assert "<th>sex</th><th>estimate</th><th>low</th><th>high</th>" in page
    columns = UsageReport(sections_of(TABLE.node, ROW, "<b>: text"), ())
    assert "Columns: &lt;b&gt;: text." in columns.to_html()
    assert "Columns: &#60;b&#62;: text." in columns.to_markdown()
    assert "Nothing was asked." in Queryable(FiltCon(PureDP(1)), ROWS).report().to_html()


def test_csv_has_a_row_for_each_question_and_no_formula() -> None:
    rows = list(csv.DictReader(StringIO(REPORT.to_csv())))
    assert len(rows) == len(REPORT.questions)
    assert rows[0]["name"].startswith("'=1+1|<img")
    assert rows[0]["total_rho"] == "0.02"
    assert rows[2]["loss"] == ""
    assert not any(cell.startswith(("=", "+", "@")) for row in rows for cell in row.values())


@pytest.mark.parametrize("separator", [";", "\t", "\n", "; ", ";'", ';"', "; \u200b"])
@pytest.mark.parametrize("sign", [*"=+-@", "\N{FULLWIDTH EQUALS SIGN}"])
def test_no_part_of_a_cell_is_a_formula(separator: str, sign: str) -> None:
    """Excel takes other characters for separators in some countries."""
    text = as_csv({"a": [f"F: 1{separator}{sign}1+1", f"{separator}{sign}1"]})
    for part in re.split("[;\t\n,]", text):
        assert not part.lstrip(' "\u200b').startswith(sign), text
    assert as_csv({"a": ["F: 1 (-2 to 3); M: -4 (-5 to 6)", "a-b"]}) == (
        "a\nF: 1 (-2 to 3); M: -4 (-5 to 6)\na-b\n"
    )


def test_names_of_columns_are_on_one_line() -> None:
    """In reports, pages and terminals."""
    name = "=H\u202e\x1b[31m<b>|\n"
    table = Queryable(FiltCon(PureDP(9)), {name: ["a", "b"]})
    answer = table.release(GroupBy({name: ["a", "b"]}, Count()), within=5)
    for text in (str(answer), answer._repr_html_(), table.report().to_html(), brief(answer)):
        assert not re.search("[\u202e\x1b]", text)
    assert str(answer).splitlines()[1].startswith("=H  [31m<b>| ")
    assert name in answer.to_pandas()
    one = table.release(Count(column(name) == "a"), within=5)
    assert not re.search("[\u202e\x1b\n]", str(one))


def test_files_are_written_by_their_suffix(tmp_path: Path) -> None:
    for suffix, start in (("md", "# Report"), ("html", "<!doctype"), ("CSV", "number,time")):
        path = tmp_path / f"report.{suffix}"
        REPORT.write(path)
        assert path.read_text(encoding="utf-8").startswith(start)
    with pytest.raises(ValueError, match=r"should end in \.md, \.html, \.csv, \.xlsx"):
        REPORT.write(str(tmp_path / "report.pdf"))


def test_excel_has_texts_and_numbers_and_no_formula(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    REPORT.write(tmp_path / "report.xlsx")
    book = openpyxl.load_workbook(tmp_path / "report.xlsx")
    assert book.sheetnames == ["Report", "Questions"]
    head, *rows = ([*row] for row in book["Questions"].iter_rows())
    columns = {cell.value: place for place, cell in enumerate(head)}
    assert len(rows) == len(REPORT.questions)
    name = rows[0][columns["name"]]
    assert (name.value[:5], name.data_type, name.quotePrefix) == ("=1+1|", "s", True)
    assert rows[0][columns["total_rho"]].value == 0.02
    kinds = {cell.data_type for sheet in book for row in sheet.iter_rows() for cell in row}
    assert "f" not in kinds


def test_excel_takes_what_it_can_hold(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    path, long = tmp_path / "a.xlsx", "x" * 40_000
    write_excel(path, {"a": {"t": ["\x00\x1b\ud800", long], "n": [float("inf"), None]}})
    rows = list(openpyxl.load_workbook(path)["a"].iter_rows(values_only=True))
    assert rows == [("t", "n"), ("   ", "inf"), (long[:32_767], None)]
    with pytest.raises(ValueError, match="more than Excel opens"):
        write_excel(path, {"a": {"t": [1] * 2**20}})


def test_answers_on_a_line() -> None:
    """Each key stands before its number."""
    launched: Any = next(each.answer for each in TABLE.view if table_of(each.answer) is not None)
    table = table_of(launched)
    assert table is not None
    assert (table.head, table.keys) == (("sex", "estimate", "low", "high"), 1)
    text = brief(launched)
    assert re.match(r"F: -?\d+ \(-?\d+ to -?\d+\); =1\+1", text)
    short = table_of(launched, 1)
    assert short is not None
    assert (len(short.rows), short.left_out) == (1, 1)
    assert brief(launched, 20).endswith("...")
    ages = Queryable(FiltCon(PureDP(9)), {"age": [1, 2, 3]})
    one = ages.release(Count(), within=5)
    assert brief(one) == str(one).removeprefix("Count: ")
    noisy = brief(ages(Laplace(Histogram("age", [1, 2]), epsilon=1)))
    assert re.fullmatch(r"\[-?\d+(, -?\d+)*\] \(with noise\)", noisy)


def test_notes_of_an_answer_are_told() -> None:
    """Of tables and of single answers, on a line and in a page."""
    data = {"age": [0] * 50, "g": ["a"] * 50}
    table = Queryable(FiltCon(PureDP(9)), data, coins=SeededCoins(1), allow_seeded=True)
    one = table.release(Mean("age", 0, 100), loss=PureDP(4))
    [note] = one.notes
    assert brief(one, 1000).endswith(f"); note: {note}")
    many = table.release(GroupBy({"g": ["b", "c"]}, Count()), within=5)
    assert len(many.notes) == 1
    assert brief(many, 1000).endswith(f"; note: {many.notes[0]}")
    assert f"<div>note: {escape(many.notes[0])}</div>" in table.report().to_html()


def test_a_refinement_is_in_words() -> None:
    answer = Refined(Fraction(10263, 1), Fraction(2224))
    assert brief(answer) == "10263 with variance 2224"
    assert brief(Stopped(Fraction(1, 2), Fraction(3), True)) == "0.5 with variance 3"


def test_a_report_says_what_refinements_reach_and_what_they_cost_together() -> None:
    flu = Queryable(BrownianNoiseReduction() @ FiltCon(ZCDP(1)), {"age": [1] * 900})
    estimate = flu(Open(Count(), even_schedule(1000, 10, 20)))
    estimate(Until(RelativeError("1/20")))
    estimate(Refine())
    estimate(Refine(5))
    text = flu.report().to_markdown()
    for asked in ("Until: an error of 5% at 1 standard deviation", "Refine", "Refine: variance 5"):
        assert f"| {asked} | answered |" in text
    assert "What single answers cost is not recorded here." in text
    assert "together" not in text
    flu.privacy_loss()
    assert f"they had cost {flu.privacy_loss()} together" in flu.report().to_markdown()
    assert Until(lambda each: True).target == "<lambda>"
    assert str(AbsoluteError(4, 2)) == "an error of 4 at 2 standard deviations"
