"""Explanations and ledgers of a running mechanism."""

import csv
import json
from fractions import Fraction
from io import StringIO
from itertools import pairwise
from math import inf
from typing import Any

import pytest

from composition import (
    Blocks,
    ConComp,
    ExPost,
    FiltCon,
    FiltSeq,
    GDPResidue,
    OdomCon,
    OneSidedMixtureOdometer,
    Universal,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    filter_of,
)
from mechanisms import (
    Count,
    Gaussian,
    Histogram,
    PrivateMultiplicativeWeights,
    SparseVector,
    TreeCounter,
)
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    MechanismFault,
    Postprocessed,
    PureDP,
    Queryable,
    QueryRefusedError,
    Statistic,
    UserLevel,
    explain,
)
from queryable.display.explanation import in_words
from queryable.display.ledger import LedgerRows
from queryable.display.spreadsheet import as_csv, as_html, float_up
from queryable.losses import Dominated
from tests.laws.subjects import SUBJECTS
from tests.strategies import Courier, Faulty, Toy, raising

BUDGET = ApproxDP(1, "1e-6")
ODOMETER = OneSidedMixtureOdometer("1e-6", 1)

THEOREMS = [
    (FiltCon(PureDP(1)), "Haney et al. 2023, Theorem 1.20"),
    (FiltCon(ZCDP(1)), "Theorems 4.10 and 4.11"),
    (FiltCon(RDP(8, 1)), "Theorems 4.6 and 4.9"),
    (FiltCon(RDP(8, 1).to(RDP.at(2, 4))), "order by order"),
    (FiltCon(GDP(1)), "Smith, Thakurta 2022"),
    (FiltCon(ApproxZCDP(1, "1e-6")), "mixed children"),
    (FiltSeq(ZCDP(1)), "Feldman, Zrnic 2021"),
    (FiltSeq(ApproxZCDP(1, "1e-6")), "Whitehouse et al. 2023, Theorem 1"),
    (FiltCon(BUDGET, Whitehouse2023()), "Whitehouse et al. 2023, Theorem 2"),
    (FiltCon(BUDGET, ViaZCDP()), "mixed children"),
    (FiltCon(BUDGET, ViaRenyi([2, 4])), "weighted Renyi filter"),
    (FiltCon(BUDGET, GDPResidue()), "GDP residue filter"),
    (FiltCon(BUDGET, filter_of(ODOMETER)), "time-uniform odometers interleave"),
    (OdomCon(ZCDP), "Lemma 2.19"),
    (OdomCon(ZCDP, ODOMETER), "time-uniform odometers interleave"),
    (ConComp([Toy(), Toy()]), "Vadhan, Wang 2021"),
    (ConComp([Toy(), Toy()], delta="1e-6"), "Theorem 1.8"),
    (Universal(PureDP(1)), "Lemma 4.7"),
    (ExPost(PureDP(1)), "ex-post accounting interleaves"),
    (Postprocessed(FiltCon(PureDP(1)), Courier()), "Theorem 2.17"),
    (Gaussian(Count(), scale=10), "Canonne, Kamath, Steinke 2020, Theorem 14"),
    (SparseVector(1, 1), "Dwork, Roth 2014"),
    (
        PrivateMultiplicativeWeights(3, records=3, epsilon=1, threshold=2, updates=2)
        @ FiltCon(PureDP(1)),
        "Hardt, Rothblum 2010",
    ),
]


@pytest.mark.parametrize(("mechanism", "theorem"), THEOREMS, ids=lambda each: str(each)[:40])
def test_the_theorem_is_named(mechanism: Any, theorem: str) -> None:
    text = " ".join(explain(mechanism).split())
    assert theorem in text.split("Theorem:")[1].split("Assumes:")[0]


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_everything_can_be_explained(subject: Any) -> None:
    text = explain(subject.mechanism)
    for part in ("Guaranteed:", "Theorem:", "Assumes:"):
        assert part in text
    assert max(map(len, text.splitlines())) <= 100
    assert "`" not in text


def test_a_theorem_that_also_covers_growing_data_is_named_once() -> None:
    text = " ".join(explain(SparseVector(1, 1)).split())
    assert text.count("Dwork, Roth 2014") == 1
    assert "what is in it is not. Theorem: the same. Assumes:" in text
    assert "Theorem: docs/theory.md, data that grow." in " ".join(explain(FiltCon(ZCDP(1))).split())


def test_an_undocumented_mechanism_has_a_claim_and_no_theorem() -> None:
    text = " ".join(explain(Toy()).split())
    assert "PureDP(epsilon=0.1)" in text
    assert "no theorem is named; the author of the mechanism vouches for the claim" in text

    class Mute(Toy):
        def guarantee(self) -> Any:
            raise ValueError("no")

    assert "no theorem is named" in " ".join(explain(Mute()).split())


def test_a_running_mechanism_is_explained_with_its_account_and_children() -> None:
    q = Queryable(FiltCon(PureDP(1)), {"a": [1]})
    for _ in range(3):
        q.launch(SparseVector(1, "0.1"))
    team = q.launch(FiltCon(PureDP("0.2")), name="team")
    text = " ".join(q.explain().split())
    assert "spent PureDP(epsilon=0.5), remaining PureDP(epsilon=0.5)" in text
    assert "SparseVector (3 times)" in text
    assert "runs inside another mechanism" in " ".join(team.explain().split())
    assert team.explain().startswith("team: FiltCon.")


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (PureDP(1), "a factor of at most e^1 (about 2.718)."),
        (PureDP(0), "e^0 (about 1)"),
        (PureDP(10**5), "e^100000."),
        (ApproxDP(1, "1e-6"), "e^1 (about 2.718), plus 1e-06."),
        (ZCDP("1/2"), "means differ by about 1."),
        (GDP(1), "In particular"),
        (RDP(8, 1), "In particular"),
        (ZCDP("1/3"), "ZCDP(rho≈0.333)"),
        (PureDP("1/7"), "e^0.143 (about 1.154)."),
        (PureDP("1/8001"), "e^0.000125 (about 1)."),
        (PureDP("14712000001/10000000000"), "e^1.48 (about"),
        (ApproxDP(1, "1.2341e-6"), "plus 1.24e-06."),
        (Dominated(1, 1, 0), "Dominated("),
        (ApproxZCDP(1, "1e-6"), "ApproxZCDP("),
        (None, "no bound is fixed in advance"),
    ],
)
def test_losses_in_words(loss: Any, said: str) -> None:
    assert said in in_words(loss)


def test_explanations_name_numbers_and_conditions() -> None:
    assert "removing 3 records" in " ".join(explain(FiltCon(PureDP(1), d_in=3)).split())
    events = TreeCounter(Count(), epsilon=1, horizon=4)
    said = " ".join(explain(ConComp([COUNTER, events])).split())
    assert "Guaranteed: nothing. these data protect single records" in said
    # What one learns below a filter may be more if questions depend on other answers.
    q = Queryable(FiltCon(PureDP(1)), [1])
    words = "neither questions nor batches depend on answers about them from elsewhere"
    assert words in " ".join(q(FiltCon(PureDP("1/2"))).explain().split())
    static = " ".join(explain(Gaussian(Count(), scale=1)).split())
    assert "no question depends on answers about them from elsewhere" in static


def test_many_counts_point_to_the_guide() -> None:
    """From 20 single counts on; histograms, and numbers that may move both ways, do not count."""
    root = Queryable(FiltCon(ZCDP(1)), {"age": [31, 47]})
    for each in (Statistic(len, l1=1, l2=1), Histogram("age", bins=[0, 50, 100])):
        root.launch_many([Gaussian(each, rho="1/1000")] * 20)
    root.launch_many([Gaussian(Count(), rho="1/1000")] * 19)
    assert "choosing.md" not in root.explain()
    root(Gaussian(Count(), rho="1/1000"))
    text = " ".join(root.explain().split())
    assert "20 counts were paid for one by one; see docs/choosing.md" in text


WHO = UserLevel("who", 1)
COUNTER = TreeCounter(Count(), epsilon=1, horizon=4, neighbours=WHO)


@pytest.mark.parametrize(
    "mechanism",
    [
        COUNTER,
        Blocks(FiltCon(PureDP(1)), "who"),
        Courier() @ Blocks(FiltCon(PureDP(1)), "who"),
        ConComp([COUNTER, Blocks(FiltCon(PureDP(1)), "who", 2)]),
    ],
    ids=["counter", "blocks", "person", "composition"],
)
def test_a_root_about_units_claims_nothing_about_one_row(mechanism: Any) -> None:
    """One row more displaces another one, so two differ: the claim about one row was false."""
    q = Queryable(mechanism, {"who": []})
    for said in (q.explain(), explain(mechanism), q.tree()):
        assert "one row" not in said
        assert "one who" in said
    assert "one who with all its rows changes" in " ".join(q.explain().split())


def test_what_is_launched_is_explained_for_what_it_was_charged_for() -> None:
    """In blocks of units, a launch is charged for all rows of a unit that count."""
    blocks = Queryable(Blocks(FiltCon(PureDP(9)), "who", 2, unit_rows=2), {"who": []})
    for name in "ab":
        blocks.feed({"who": ["ann"]}, block=name)
        blocks.feed.close(name)
    child = blocks.launch_over(FiltCon(PureDP("1/2")), ["a", "b"])
    said = " ".join(child.explain().split())
    assert "PureDP(epsilon=2): adding or removing 4 rows changes" in said
    assert "one who with all its rows" in " ".join(blocks.explain().split())


@pytest.mark.parametrize("d_in", [1, 2, 3])
def test_a_claim_is_stated_for_the_records_that_it_is_about(d_in: int) -> None:
    """Blocks of a filter at d_in=2 lose twice its budget; the claim at one record was shown."""
    said = " ".join(explain(Blocks(FiltCon(PureDP(1), d_in=d_in))).split())
    steps = {1: "adding or removing one record", 2: "replacing one record by another"}
    assert f"PureDP(epsilon={d_in}): {steps.get(d_in, 'adding or removing 3 records')}" in said


def session() -> Queryable:
    """A charge, a failure, a nested charge, a refusal."""
    q = Queryable(FiltCon(ZCDP("1/3")), None)
    q.launch(Toy(), name="first")
    with pytest.raises(MechanismFault):
        q.launch(Faulty(raising(ValueError()), at_launch=True))
    q.launch(FiltCon(ZCDP("1/10"))).launch(Toy())
    with pytest.raises(QueryRefusedError):
        q.launch(Toy(PureDP(10)))
    return q


LEDGER = session().ledger()


def test_rows_state_every_launch_in_exact_numbers() -> None:
    assert [row.sequence for row in LEDGER] == [0, 1, 2, 3, 4]
    assert [row.path for row in LEDGER] == [(), (), (), (2,), ()]
    assert [row.name for row in LEDGER] == ["first", None, None, None, None]
    assert [row.outcome for row in LEDGER] == ["charged", "failed", "charged", "charged", "refused"]
    assert LEDGER[4].loss == PureDP(10).to(ZCDP)
    assert LEDGER[4].total == LEDGER[2].total
    assert LEDGER[0].claim == PureDP("1/10")
    rows = json.loads(LEDGER.to_json(indent=1))
    assert rows[2]["loss"] == {"measure": "ZCDP", "rho": "1/10"}
    total = Fraction(rows[4]["total"]["rho"])
    assert total == LEDGER[4].total.rho
    assert rows[3]["path"] == [2]
    for row in rows:
        for name in ("claim", "loss", "total"):
            assert not any(isinstance(each, float) for each in row[name].values())
    third = Fraction(1, 3)
    assert Fraction(float_up(third)) >= third
    assert float_up(Fraction(1, 2)) == 0.5
    assert float_up(Fraction(10) ** 400) == inf


def test_a_ledger_is_an_immutable_sequence() -> None:
    assert len(LEDGER[1:3]) == 2
    assert isinstance(LEDGER[1:3], LedgerRows)
    assert session().ledger() == LEDGER
    assert LEDGER[1:] != LEDGER
    with pytest.raises(TypeError):
        LEDGER[0] = LEDGER[1]  # type: ignore[index]
    assert repr(LEDGER) == "<Ledger: 3 charged, 1 refused, 1 failed>"
    assert "first" in str(LEDGER)
    assert str(LedgerRows([])).startswith("#")


@pytest.mark.parametrize(
    "odometer", [OdomCon(RDP.at(2, 4)), OdomCon(ZCDP, OneSidedMixtureOdometer("1e-6", 1))], ids=str
)
def test_json_of_other_measures(odometer: OdomCon) -> None:
    q = Queryable(odometer, None)
    q.launch(Toy())
    (row,) = json.loads(q.ledger().to_json())
    assert row["claim"] == {"measure": "PureDP", "epsilon": "1/10"}
    assert row["total"]["measure"] in ("RenyiCurve", "TimeUniformBound")


@pytest.mark.parametrize("as_frame", ["to_pandas", "to_polars", "to_arrow"])
@pytest.mark.parametrize("ledger", [LEDGER, LedgerRows([])], ids=["some", "none"])
def test_frames(as_frame: str, ledger: LedgerRows) -> None:
    frame = getattr(ledger, as_frame)()
    assert len(frame) == len(ledger)
    names = list(getattr(frame, "columns", [])) if as_frame != "to_arrow" else frame.column_names
    assert names[:5] == ["sequence", "path", "name", "mechanism", "outcome"]
    if len(ledger):
        values = list(
            frame["total_rho"].to_pylist() if as_frame == "to_arrow" else frame["total_rho"]
        )
        assert all(a <= b for a, b in pairwise(values[:3]))
        assert Fraction(values[0]) >= ledger[0].total.rho


EVIL = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r@x", "\N{FULLWIDTH EQUALS SIGN}1"]


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(StringIO(text)))


@pytest.mark.parametrize("cell", EVIL)
def test_no_cell_is_a_formula(cell: str) -> None:
    ((name,), (read,)) = rows(as_csv({cell: [cell]}))
    for text in (name, read):
        assert text.startswith("'")
        assert text.lstrip("'").strip() == cell.strip()


def test_numbers_stay_numbers_and_plain_texts_stay_as_they_are() -> None:
    read = rows(as_csv({"a": [-1, None, 0.5], "b": ["x, y", 'say "no"', "two\nlines"]}))
    assert read == [["a", "b"], ["-1", "x, y"], ["", 'say "no"'], ["0.5", "two lines"]]
    text = as_html(["<b>"], [["<script>&"], None], "<i>")
    assert "<script>" not in text
    assert "&lt;script&gt;&amp;" in text
    assert "… &lt;i&gt;" in text


def ledger(launches: int = 1) -> Queryable:
    q = Queryable(FiltCon(ZCDP(1)), None)
    for _ in range(launches):
        q.launch(Toy(PureDP("1/1000")))
    q.launch(Toy(), name="=cmd|' /C calc'!A0 <img src=x>")
    with pytest.raises(QueryRefusedError):
        q.launch(Toy(PureDP(10)))
    return q


def test_a_ledger_as_csv_and_html() -> None:
    header, *lines = rows(ledger().ledger().to_csv())
    assert header[:6] == ["sequence", "path", "name", "mechanism", "outcome", "asked"]
    assert [line[4] for line in lines] == ["charged", "charged", "refused"]
    assert lines[1][2].startswith("'=cmd")
    assert rows(Queryable(FiltCon(ZCDP(1)), None).ledger().to_csv())[0][:3] == header[:3]
    shown = ledger().ledger()
    assert shown._repr_html_() == shown.to_html()
    assert "<img" not in shown.to_html()
    assert shown.to_html().count("<tr>") == 4
    shown = ledger(launches=200).ledger()
    assert "102 more; see to_html()" in shown._repr_html_()
    assert shown._repr_html_().count("<tr>") == 1 + 100 + 1
    assert shown.to_html().count("<tr>") == 1 + 202
