"""Pictures: claimed and exact privacy curves, and the worst adversary as a tree.

This module draws with matplotlib (extra `plot`). Backgrounds are transparent and colours have
medium lightness, so that pictures are legible on white and on black.
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from queryable.answers.drawing import CLAIMED, EXACT, INK, floats, make_plain, new_figure, saved
from queryable.audit.divergences import Law, hockey_stick, trade_off
from queryable.audit.views.pairs import Pair
from queryable.audit.views.strategies import Strategy, StrategyNode
from queryable.losses import FDP, GDP, ApproxDP, Loss, PureDP
from queryable.messages import Ask, Launch, Launched

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEVELS = tuple(Fraction(9, 10) * Fraction(3, 4) ** power for power in range(80))
_FLAT = Fraction(1, 10**4)  # a profile is drawn until delta falls to about this value
_MOST_LEAVES = 40
_INCHES = 3.1


def picture_of_loss(claim: Loss, p: Law, q: Law, path: str | Path | None = None) -> "Figure":
    """Draw the claimed trade-off curve and privacy profile with those of two laws.

    The claim is false if the exact trade-off curve lies below the claimed one anywhere, or the
    exact delta lies above the claimed delta.

    Args:
        claim: a loss in any measure that bounds delta at some epsilon.
        p: the law of a view under x; q: the law under x'.
        path: where to save the picture; the suffix selects the format.
    """
    return saved(_figure_of(claim, ((p, q), (q, p))), path)


def picture_of_claim(claim: Loss, path: str | Path | None = None) -> "Figure":
    """Draw the trade-off curve and the privacy profile that a loss guarantees.

    Args:
        claim: a loss in any measure that bounds delta at some epsilon.
        path: where to save the picture; the suffix selects the format.
    """
    return saved(_figure_of(claim, ()), path)


def _figure_of(claim: Loss, directions: Sequence[tuple[Law, Law]]) -> "Figure":
    figure = new_figure(9.6, 4.2)
    left, right = figure.subplots(1, 2)
    guarantees = guarantees_of(claim)
    claimed = FDP.of_profile(guarantees)
    last = max([Fraction(1), *(epsilon for epsilon, delta in guarantees if delta > _FLAT)])
    if not guarantees[0][1] > _FLAT:
        last = max(last, guarantees[0][0])
    _curves(left, claimed, directions)
    _profiles(right, claimed, last, directions)
    for axes in (left, right):
        make_plain(axes)
        axes.legend(frameon=False, labelcolor=INK, loc="upper right")
    return figure


def guarantees_of(claim: Loss) -> list[tuple[Fraction, Fraction]]:
    """Return points (epsilon, delta) that the claim implies, in increasing order of epsilon."""
    if isinstance(claim, PureDP):
        return [(claim.epsilon, Fraction(0))]
    if isinstance(claim, ApproxDP):
        return [(claim.epsilon, claim.delta)]
    if isinstance(claim, FDP | GDP):
        steps = [Fraction(step, 8) for step in range(65)]
        return [(epsilon, claim.delta(epsilon)) for epsilon in steps]
    points = []
    for delta in _LEVELS:
        try:
            stated = claim.to(ApproxDP, delta)
        except ValueError:  # a delta below the claim's own
            continue
        assert isinstance(stated, ApproxDP)
        points.append((stated.epsilon, stated.delta))
    return sorted(points)


def _curves(axes: "Axes", claimed: FDP, directions: Sequence[tuple[Law, Law]]) -> None:
    axes.plot([0, 1], [1, 0], color=INK, linewidth=0.8, linestyle=":")
    axes.plot(*floats(claimed.knots), color=CLAIMED, linewidth=2, label="claimed")
    knots = [trade_off(one, other) for one, other in directions]
    _exact(axes, [floats(each) for each in knots])
    axes.set(xlabel="false alarms", ylabel="missed", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set_title("Trade-off curve")


def _profiles(
    axes: "Axes", claimed: FDP, last: Fraction, directions: Sequence[tuple[Law, Law]]
) -> None:
    epsilons = [last * Fraction(step, 128) for step in range(161)]
    stated = [(epsilon, claimed.delta(epsilon)) for epsilon in epsilons]
    axes.plot(*floats(stated), color=CLAIMED, linewidth=2, label="claimed")
    deltas = [[(e, hockey_stick(*laws, e)) for e in epsilons] for laws in directions]
    _exact(axes, [floats(each) for each in deltas])
    axes.set(xlabel="epsilon", ylabel="delta", xlim=(0, float(epsilons[-1])), ylim=(0, None))
    axes.set_title("Privacy profile")


def _exact(axes: "Axes", curves: Sequence[tuple[list[float], list[float]]]) -> None:
    """Draw both directions, or one line if they are equal; draw nothing without laws."""
    if not curves:
        return
    same = curves[0] == curves[1]
    styles = [("-", "exact")] if same else [("-", "exact, x from x'"), ("--", "exact, x' from x")]
    for (style, label), points in zip(styles, curves, strict=False):
        axes.plot(*points, style, color=EXACT, linewidth=1.6, label=label)


def picture_of_adversary(strategy: Strategy, path: str | Path | None = None) -> "Figure":
    """Draw a strategy as a tree, with queries in boxes and answers on lines.

    Raises:
        ValueError: the tree has too many leaves to be legible; print the strategy instead.
    """
    placed: list[_Placed] = []
    leaves = _place(strategy.root, 0, 0.0, placed, None)
    if leaves > _MOST_LEAVES:
        raise ValueError(f"{leaves:g} leaves are too many to draw; print the strategy instead")
    depth = max(each.depth for each in placed)
    figure = new_figure(1.2 + _INCHES * depth, 0.5 + 0.45 * leaves)
    axes = figure.subplots()
    axes.set_axis_off()
    axes.set(xlim=(-0.05, depth + 0.3), ylim=(leaves - 0.4, -0.6))
    for each in placed:
        if each.parent is not None:
            bend, start = each.depth - 0.42, each.parent
            across = [start.depth, bend, bend, each.depth]
            axes.plot(across, [start.height, start.height, each.height, each.height], color=INK)
            axes.text(bend + 0.02, each.height - 0.08, each.answer, color=INK, fontsize=8)
    for each in placed:
        colour = INK if each.text in ("start", "stop") else EXACT
        box = {"boxstyle": "round,pad=0.35", "facecolor": colour, "edgecolor": "none"}
        text = axes.text(each.depth, each.height, each.text, color="white", fontsize=8, bbox=box)
        text.set_verticalalignment("center")
    return saved(figure, path)


@attrs.define(eq=False)
class _Placed:
    depth: int
    height: float
    text: str
    answer: str
    parent: "_Placed | None"


def _place(
    node: StrategyNode,
    depth: int,
    top: float,
    placed: list[_Placed],
    parent: _Placed | None,
    answer: str = "",
) -> float:
    """Place a node in the middle of its leaves; return the number of leaves."""
    text = "start" if parent is None else "stop" if node.query is None else _query_text(node.query)
    mine = _Placed(depth, top, text, answer, parent)
    placed.append(mine)
    height = 0.0
    for seen, below in node.branches:
        if len(placed) <= 50 * _MOST_LEAVES:
            height += _place(below, depth + 1, top + height, placed, mine, _answer_text(seen))
    mine.height = top + max(height - 1, 0.0) / 2
    return max(height, 1.0)


def _query_text(query: Any) -> str:
    match query:
        case Pair():
            return _shortened(str(query), 40)
        case Ask(child, inner):
            return _shortened(f"{child}: {_query_text(inner)}", 26)
        case Launch(mechanism, _):
            return _shortened(f"launch {mechanism!r}", 26)
    return _shortened(repr(query), 26)


def _answer_text(answer: Any) -> str:
    match answer:
        case Launched(child, inner) if child is None or inner is None:
            return _shortened(repr(inner) if child is None else f"launched {child}", 18)
    return _shortened(repr(answer), 18)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."
