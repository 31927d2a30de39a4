"""Pictures of an interaction: spending by launch, a comparison of rules, the privacy guarantee.

They are drawn with matplotlib (extra `plot`) from the view of a queryable, so no query is sent and
nothing is charged. Each function returns a matplotlib `Figure`, and saves it if given a path.
"""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from composition.advice.admission import taken
from composition.advice.planning import Candidate, recommend
from queryable.answers.drawing import INK, SERIES, make_plain, new_figure, saved
from queryable.audit.picture import picture_of_claim
from queryable.display.nodes import TreeNode
from queryable.handle import Queryable
from queryable.losses import Loss
from queryable.losses.numbers import several
from queryable.optional import one_line
from queryable.receipts import RunningTotal
from queryable.wording.quoting import quoted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_LAUNCHES = 2_000


def spending(queryable: Queryable, path: str | Path | None = None) -> "Figure":
    """Draw the spent part of the budget over the interaction, by child, and what remains.

    Each launch is one step. Children with the same name have one colour; children without a name
    are grouped by mechanism. The cheapest groups of many are drawn together. For an odometer, which
    has no budget, the reported loss is drawn.

    Raises:
        ValueError: not a filter or an odometer, nothing has been launched in it, or too much to
            draw.
    """
    node = _live(queryable).node
    charged = [child for child in node.children if child.receipt is not None]
    if node.account is None or not charged:
        raise ValueError(
            "launch a mechanism first: spending is drawn for a filter or an odometer in which "
            "something was launched"
        )
    if len(charged) > _MOST_LAUNCHES:
        raise ValueError(f"read the ledger instead: {len(charged):,} launches are too many to draw")
    if node.account.remark:
        raise ValueError(f"read the ledger instead: the total is {node.account.remark}")
    amounts, unit = _amounts(node, charged)
    names = _most_expensive([_name(child) for child in charged], amounts)
    figure = new_figure(8.0, 4.2)
    axes = figure.subplots()
    launches = list(range(len(charged) + 1))
    layers = {name: [0.0] for name in names}
    for child, amount in zip(charged, amounts, strict=True):
        mine = _name(child) if _name(child) in layers else _OTHERS
        for name, layer in layers.items():
            layer.append(layer[-1] + (amount if name == mine else 0.0))
    colours = SERIES[: len(layers)]
    axes.stackplot(launches, *layers.values(), labels=layers, colors=colours, step="pre")
    total = [sum(each) for each in zip(*layers.values(), strict=True)]
    if node.account.budget is not None:
        left = f"remaining of {node.account.budget}"
        axes.fill_between(launches, total, 100, color=INK, alpha=0.15, step="pre", label=left)
    top = 100 if node.account.budget is not None else 1.05 * total[-1]
    axes.set(xlabel="launches", ylabel=unit, xlim=(0, len(charged)), ylim=(0, top or 1))
    axes.set_title(f"Spent by what was launched; {node.refused:,} refused")
    axes.locator_params("x", integer=True)
    make_plain(axes)
    axes.legend(frameon=False, labelcolor=INK, loc="upper left", bbox_to_anchor=(1, 1))
    return saved(figure, path)


_OTHERS = "others"


def _live(value: object) -> Queryable:
    if not isinstance(value, Queryable):
        raise TypeError(f"queryable is {quoted(value)}; it should be a Queryable")
    return value


def _amounts(node: TreeNode, charged: list[TreeNode]) -> tuple[list[float], str]:
    """What each launch added, in percent of the budget or in units of the report; and the unit."""
    accounts = [child.before for child in charged]
    values = [_level(account) for account in [*accounts, node.account] if account is not None]
    amounts = [max(after - before, 0.0) for before, after in pairwise(values)]
    if node.account is not None and node.account.budget is not None:
        return amounts, "percent of the budget"
    kind = type(node.spent).__name__
    return amounts, f"reported loss, {kind}"


def _level(account: RunningTotal) -> float:
    share = account.share()
    if share is not None:
        return float(100 * share)
    report: Any = account.total()
    first = getattr(report, "epsilon", None)
    return float(report.parts[0] if first is None else first)


def _name(child: TreeNode) -> str:
    """The label in the legend, which hides labels with a leading underscore."""
    return one_line(child.mechanism if child.name is None else child.name).lstrip("_") or "_"


def _most_expensive(names: list[str], amounts: list[float]) -> list[str]:
    """The names with a colour of their own, in the order of their first launch."""
    costs = dict.fromkeys(names, 0.0)
    for name, amount in zip(names, amounts, strict=True):
        costs[name] += amount
    if len(costs) <= len(SERIES):
        return list(costs)
    kept = sorted(costs, key=lambda name: -costs[name])[: len(SERIES) - 1]
    return [*(name for name in dict.fromkeys(names) if name in kept), _OTHERS]


def rules(
    queryable: Queryable | Loss,
    losses: Iterable[Loss] | None = None,
    path: str | Path | None = None,
) -> "Figure":
    """Draw how many of the launches, in their order, each rule would have admitted.

    Launches that were refused are included. A launch that a rule refuses is skipped.

    Args:
        queryable: a filter, or a budget.
        losses: with a budget, the losses of planned launches; `recommend` counts those before the
            first refusal in the worst order.
        path: where to save the figure.

    Raises:
        ValueError: no budget, or nothing launched.
    """
    budget, plan = _plan(queryable, losses)
    found = recommend(budget, plan)
    candidates = list(reversed(found.candidates))
    if not isinstance(queryable, Loss):
        candidates = [_in_that_order(each, budget, plan) for each in candidates]
        candidates.sort(key=lambda each: -1 if each.admitted is None else each.admitted)
    figure = new_figure(8.0, 0.8 + 0.42 * len(candidates))
    axes = figure.subplots()
    for place, each in enumerate(candidates):
        axes.barh(place, each.admitted or 0, color=SERIES[0], height=0.6)
        text = f"{each.admitted:,}" if each.admitted is not None else f"no: {each.why}"
        start = (each.admitted or 0) + found.planned * 0.01
        axes.text(start, place, _short(text), color=INK, va="center", fontsize=8)
    axes.axvline(found.planned, color=INK, linewidth=0.8, linestyle=":")
    axes.set_yticks(range(len(candidates)), [type(each.rule).__name__ for each in candidates])
    axes.set(xlabel="launches admitted", xlim=(0, 1.15 * found.planned))
    axes.set_title(f"Of {found.planned:,} launches within {budget}")
    make_plain(axes)
    return saved(figure, path)


def _plan(queryable: Queryable | Loss, losses: Iterable[Loss] | None) -> tuple[Loss, list[Loss]]:
    if isinstance(queryable, Loss):
        return queryable, several(() if losses is None else losses, "losses")
    node = _live(queryable).node
    if node.account is None or node.account.budget is None:
        raise ValueError("rules are compared for a filter, which has a budget")
    here = [row for row in queryable.ledger() if row.path == node.path]
    return node.account.budget, [row.claim for row in here if row.claim is not None]


def _in_that_order(candidate: Candidate, budget: Loss, losses: list[Loss]) -> Candidate:
    if candidate.admitted is None:
        return candidate
    return Candidate(candidate.rule, taken(budget, candidate.rule, losses))


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def guarantee(queryable: Queryable | Loss, path: str | Path | None = None) -> "Figure":
    """Draw the trade-off curve and the privacy profile of a guarantee.

    Args:
        queryable: a loss; or a queryable, whose budget is drawn, or its report if it has no budget.
        path: where to save the figure.

    Raises:
        ValueError: the report is no privacy loss.
    """
    if isinstance(queryable, Loss):
        return picture_of_claim(queryable, path)
    node = _live(queryable).node
    claim = node.claim if node.claim is not None else node.spent
    if not isinstance(claim, Loss):
        raise ValueError(f"{claim} is no privacy loss, and has no curve")
    return picture_of_claim(claim, path)
