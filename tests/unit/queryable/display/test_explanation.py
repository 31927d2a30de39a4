from typing import Any

import pytest

from composition import (
    Blocks,
    ConComp,
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
from composition.rules import Basic
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
    Postprocessed,
    PureDP,
    Queryable,
    Statistic,
    UserLevel,
    explain,
)
from queryable.display.explanation import in_words
from queryable.losses import Dominated
from tests.laws.subjects import SUBJECTS
from tests.strategies import Courier, Toy

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


def test_an_undocumented_mechanism_has_a_claim_and_no_theorem() -> None:
    text = " ".join(explain(Toy()).split())
    assert "PureDP(epsilon=0.1)" in text
    assert "no theorem is named; the author of the mechanism vouches for the claim" in text


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


def test_a_budget_for_several_records_names_their_number() -> None:
    assert "removing 3 records" in " ".join(explain(FiltCon(PureDP(1), d_in=3)).split())


def test_a_guarantee_that_fails_is_left_out() -> None:
    class Mute(Toy):
        def guarantee(self) -> Any:
            raise ValueError("no")

    assert "no theorem is named" in " ".join(explain(Mute()).split())


def test_a_custom_rule_is_explained_with_the_theorem_of_its_author() -> None:
    class Mine(Basic):
        """As Basic."""

        vouched_for = "Somebody 2025, Theorem 7"

    text = " ".join(explain(FiltCon(PureDP(1), Mine())).split())
    assert "Somebody 2025, Theorem 7 (the word of the author of Mine" in text


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


def test_mechanisms_that_nobody_can_launch_guarantee_nothing() -> None:
    """One protects units of which one record counts, and the other single records."""
    events = TreeCounter(Count(), epsilon=1, horizon=4)
    said = " ".join(explain(ConComp([COUNTER, events])).split())
    assert "Guaranteed: nothing. these data protect single records" in said


def test_answers_from_elsewhere_are_a_condition() -> None:
    """What one learns below a filter may be more if questions depend on other answers."""
    q = Queryable(FiltCon(PureDP(1)), [1])
    words = "neither questions nor batches depend on answers about them from elsewhere"
    assert words in " ".join(q(FiltCon(PureDP("1/2"))).explain().split())
    static = " ".join(explain(Gaussian(Count(), scale=1)).split())
    assert "no question depends on answers about them from elsewhere" in static
