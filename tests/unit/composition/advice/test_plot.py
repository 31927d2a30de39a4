"""Charts of an interaction show the amounts in the ledger."""

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from composition import ConComp, FiltCon, OdomCon, OneSidedMixtureOdometer, Whitehouse2023
from composition.advice import plot
from mechanisms import Count, Gaussian
from queryable import GDP, ZCDP, ApproxDP, PureDP, Queryable, QueryRefusedError
from tests.strategies import Toy


def session() -> Queryable:
    q = Queryable(FiltCon(PureDP(1)), None)
    q.launch(Toy(), name="visits")
    q.launch(FiltCon(PureDP("0.5")), name="team")
    q.launch(Toy(PureDP("0.2")))
    with suppress(QueryRefusedError):
        q.launch(Toy(PureDP(9)))
    return q


def labels(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def tops(figure: Any) -> list[float]:
    """Return the greatest height of each layer of a stacked chart."""
    return [
        max(path.vertices[:, 1].max() for path in layer.get_paths())
        for layer in figure.axes[0].collections
    ]


def test_spending_stacks_up_to_what_was_spent() -> None:
    figure = plot.spending(session())
    assert labels(figure) == ["visits", "team", "Toy", "remaining of PureDP(epsilon=1)"]
    assert tops(figure) == pytest.approx([10, 60, 80, 100])
    assert "1 refused" in figure.axes[0].get_title()
    q = Queryable(FiltCon(PureDP(10)), None)
    for place in range(20):
        q.launch(Toy(PureDP(f"0.{10 + place}")), name=f"n{place}")
    figure = plot.spending(q)
    names = labels(figure)
    assert names[:7] == [f"n{place}" for place in range(13, 20)]
    assert names[7] == "others"
    assert tops(figure)[7] == pytest.approx(100 * float(q.privacy_loss().epsilon) / 10)


@pytest.mark.parametrize(
    "odometer", [OdomCon(ZCDP), OdomCon(ZCDP, OneSidedMixtureOdometer("1e-6", 1))], ids=str
)
def test_the_chart_of_an_odometer_shows_its_report(odometer: OdomCon) -> None:
    q = Queryable(odometer, [1])
    for _ in range(3):
        q.launch(Gaussian(Count(), scale=10))
    report = q.privacy_loss()
    last = float(report.rho if isinstance(report, ZCDP) else report.epsilon)
    assert tops(plot.spending(q)) == pytest.approx([last])


def test_the_chart_shows_what_each_rule_would_have_admitted() -> None:
    q = Queryable(FiltCon(ApproxDP(1, "1e-6"), Whitehouse2023()), None)
    for _ in range(30):
        with suppress(QueryRefusedError):
            q.launch(Toy(PureDP("0.05")))
    axes = plot.rules(q).axes[0]
    drawn = {
        label.get_text(): bar.get_width()
        for label, bar in zip(axes.get_yticklabels(), axes.patches, strict=True)
    }
    assert drawn["Whitehouse2023"] == 13
    assert drawn["Basic"] == 20
    assert max(drawn.values()) <= 30
    from_losses = plot.rules(ApproxDP(1, "1e-6"), [PureDP("0.05")] * 30).axes[0]
    assert from_losses.get_title() == axes.get_title()
    # Three of four launches fit, in their order.
    bars = plot.rules(session()).axes[0].patches
    assert [bar.get_width() for bar in bars] == [3]


@pytest.mark.parametrize(
    "whole",
    [
        *(pytest.param(each, marks=pytest.mark.slow) for each in (PureDP(1), ZCDP("0.1"))),
        *(GDP(1), ApproxDP(1, "1e-6"), session()),
    ],
    ids=str,
)
def test_the_guarantee_of_the_whole(whole: Any, tmp_path: Path) -> None:
    figure = plot.guarantee(whole, tmp_path / "whole.png")
    assert (tmp_path / "whole.png").stat().st_size > 1000
    curve, profile = figure.axes
    (claimed,) = [line for line in curve.lines if line.get_label() == "claimed"]
    x, y = claimed.get_data()
    assert all(a + b <= 1 + 1e-9 for a, b in zip(x, y, strict=True))
    assert len(profile.lines) == 1


def test_what_cannot_be_drawn_raises_a_clear_error() -> None:
    empty = Queryable(FiltCon(PureDP(1)), None)
    for wrong in (empty, Queryable(ConComp([Toy()]), None)):
        with pytest.raises(ValueError, match="launch a mechanism first"):
            plot.spending(wrong)
    with pytest.raises(ValueError, match="which has a budget"):
        plot.rules(Queryable(OdomCon(PureDP), None))
    with pytest.raises(ValueError, match="plan is empty"):
        plot.rules(empty)
    q = Queryable(OdomCon(ZCDP), [1])
    q.launch(Gaussian(Count(), scale=10))
    assert plot.guarantee(q)
    uniform = Queryable(OdomCon(ZCDP, OneSidedMixtureOdometer("1e-6", 1)), [1])
    with pytest.raises(ValueError, match="no privacy loss"):
        plot.guarantee(uniform)


def test_drawing_sends_no_query_and_leaves_the_background() -> None:
    q = session()
    before = len(q.view)
    plot.spending(q)
    plot.rules(q)
    plot.guarantee(q)
    assert len(q.view) == before
    # The page's light or dark background shows through.
    figure = plot.spending(session())
    assert figure.get_facecolor()[3] == 0
    assert figure.axes[0].get_facecolor()[3] == 0
