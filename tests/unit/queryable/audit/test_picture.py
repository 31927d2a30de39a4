"""Pictures: the drawn values are the computed ones. The appearance is not tested."""

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from queryable import GDP, ZCDP, ApproxZCDP, Ask, Launch, Launched, PureDP
from queryable.audit import HockeyStick, trade_off, view_law, worst_case
from queryable.audit.picture import guarantees_of, picture_of_adversary, picture_of_loss
from queryable.audit.views.strategies import Strategy, StrategyNode
from tests.audit.toys import PadReveal, Response, nats, script

F = Fraction
P, Q = (view_law(Response(3), bit, script()) for bit in (1, 0))
LEAKY = tuple(view_law(Response(3, delta="1/10"), bit, script()) for bit in (1, 0))


def lines(axes: Any) -> dict[str, Any]:
    return {line.get_label(): line for line in axes.lines}


def test_the_exact_curve_is_drawn() -> None:
    """Its knots are those of `trade_off`; a true claim has a larger delta in the profile."""
    curve, profile = picture_of_loss(PureDP(nats(3)).to(GDP), P, Q).axes
    drawn = lines(curve)
    assert [tuple(knot) for knot in drawn["exact"].get_xydata()] == [
        (float(a), float(f)) for a, f in trade_off(P, Q)
    ]
    claimed, exact = (lines(profile)[name].get_ydata() for name in ("claimed", "exact"))
    assert np.all(claimed >= exact - 1e-12)


def test_a_false_claim_is_drawn_below_the_exact_delta() -> None:
    """At some epsilon the exact delta is above the claimed one."""
    _, profile = picture_of_loss(PureDP("1/2"), P, Q).axes
    claimed, exact = (lines(profile)[name].get_ydata() for name in ("claimed", "exact"))
    assert np.any(claimed < exact - 0.1)


def test_directions_that_differ_are_two_lines() -> None:
    p, q = {0: F(1, 10), 1: F(9, 10)}, {1: F(1)}
    for axes in picture_of_loss(ZCDP(1), p, q).axes:
        assert {"exact, x from x'", "exact, x' from x"} <= lines(axes).keys()


@pytest.mark.parametrize(
    ("claim", "least"),
    [(PureDP(1), 0), (ZCDP("1/2"), 0), (GDP(1), 0), (ApproxZCDP("1/2", "1/100"), F(1, 100))],
)
def test_every_measure_has_guarantees(claim: Any, least: Any) -> None:
    """Epsilons increase, and no delta is below the claim's own."""
    points = guarantees_of(claim)
    assert points == sorted(points)
    assert all(delta >= least for _, delta in points)


@pytest.mark.parametrize("name", ["loss.png", pytest.param("loss.svg", marks=pytest.mark.slow)])
def test_pictures_are_saved(tmp_path: Path, name: str) -> None:
    """The suffix selects the format; the background is transparent."""
    figure = picture_of_loss(ZCDP("1/2"), *LEAKY, path=tmp_path / name)
    assert (tmp_path / name).stat().st_size > 1000
    assert figure.get_facecolor()[3] == 0


def test_the_tree_shows_what_is_asked_and_answered() -> None:
    """The tree has both questions of the pad, and a leaf for every pair of answers."""
    worst = worst_case(PadReveal(3), 0, 1, ("key", "sum"), 2, HockeyStick(0))
    (axes,) = picture_of_adversary(worst.adversary).axes
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("stop") == 4
    assert texts.count("True") == texts.count("False") == 3
    assert {"start", "'key'", "'sum'"} <= set(texts)


def test_messages_are_shortened(tmp_path: Path) -> None:
    """A launch and a question to a child are drawn as short text."""
    asked = StrategyNode(Ask(0, Ask(2, "read")), ((True, StrategyNode()),))
    root = StrategyNode(
        branches=((None, StrategyNode(Launch(Response(3)), ((Launched(0, None), asked),))),)
    )
    figure = picture_of_adversary(Strategy(root), tmp_path / "tree.png")
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"0: 2: 'read'", "launched 0"} <= texts
    assert any(text.startswith("launch Response(") for text in texts)


def test_a_tree_with_too_many_leaves_is_refused() -> None:
    wide = StrategyNode(branches=tuple((answer, StrategyNode()) for answer in range(100)))
    with pytest.raises(ValueError, match="100 leaves are too many"):
        picture_of_adversary(Strategy(wide))


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"\.\[plot\]"):
        picture_of_loss(PureDP(1), P, Q)
