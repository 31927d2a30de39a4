"""The sentences of a report: data, protection, odds and budget, for readers who know no theory.

Responsible for plain words. `explanation` has the theorems and their assumptions. The numbers come
from the claim and the view, and what mechanisms do from their documentation (`guarantees`).
"""

from collections import Counter

import attrs

from queryable.checks.protection import Protected
from queryable.display.nodes import TreeNode
from queryable.display.odds import factor_of_odds, in_100
from queryable.display.siblings import counted
from queryable.display.text import price, protected_by, refusals, spending
from queryable.errors import QueryError
from queryable.losses import Loss, PureDP
from queryable.optional import guarantee as guarantee_of
from queryable.optional import one_line
from queryable.postprocessing import Postprocessed

_LONGEST_LAYOUT, _LONGEST_SUMMARY, _MOST_KINDS = 20_000, 300, 20


@attrs.frozen
class ReportSection:
    """A title and its sentences."""

    title: str
    sentences: tuple[str, ...]


def sections_of(node: TreeNode, protects: Protected, layout: str) -> tuple[ReportSection, ...]:
    """What a report says before its questions.

    Args:
        node: what was asked.
        protects: what the data protect.
        layout: their columns, in words; empty if they are not known.
    """
    columns = one_line(layout, _LONGEST_LAYOUT)
    data = (
        f"Columns: {columns}." if columns else "The columns of the data are not recorded here.",
        (
            "This report has no row of the data. It is made of public facts, and of the answers "
            "that were given."
        ),
    )
    try:
        whom = protected_by(node, protects)
    except QueryError as error:
        return (
            ReportSection("The data", data),
            ReportSection("Who is protected", (f"Nobody: {error}.",)),
        )
    return (
        ReportSection("The data", data),
        ReportSection("Who is protected", _who(whom)),
        ReportSection("How they are protected", _how(node, whom)),
        *([ReportSection("How answers were made", made)] if (made := _made(node)) else []),
        ReportSection("What is not promised", _not_promised(whom)),
        ReportSection("The budget", _budget(node)),
    )


def _who(whom: Protected) -> tuple[str, ...]:
    if whom.whose is None:
        belongs = f"A person to whom several {whom.unit}s belong is protected less."
    else:
        column = one_line(whom.whose)
        belongs = (
            f"The column {column} tells whose a row is. A person with several values in it is "
            "protected less."
        )
    return (f"Protected is {whom}.", belongs)


def _how(node: TreeNode, whom: Protected) -> tuple[str, ...]:
    found = [
        (
            "Every answer depends on chance: noise is added to a number, or a result is drawn at "
            f"random. This hides what any one {whom.unit} contributes."
        )
    ]
    account = node.account
    if account is not None and account.budget is not None:
        found.append(
            "A budget bounds what all answers together reveal. A question that costs more than "
            "what is left is refused, and no data are read for it."
        )
    if node.path:
        found.append("This is a part of a larger budget, which has paid for all of it in advance.")
    if node.claim is None:
        found.append("No bound was fixed in advance.")
    else:
        found += _odds(node.claim, node.d_in, whom)
    spent = node.spent
    told = account is not None and not account.remark
    if told and isinstance(spent, PureDP):  # others bound it only if the questions were fixed
        found.append(
            f"From the answers so far they are right in at most {in_100(spent)} of 100 such cases."
        )
    return tuple(found)


def _odds(claim: Loss, d_in: int, whom: Protected) -> list[str]:
    one = f"one certain {whom.unit}{' with all its rows' if whom.whose is not None else ''}"
    doubt = {
        1: f"whether {one} is in them",
        2: f"whether {one} is in them or another one in its place",
    }.get(d_in, f"which of two possible data sets they are, that differ by {d_in:,} {whom.unit}s")
    found = [
        (
            f"Suppose that somebody knows everything about the data but {doubt}, and that both are "
            "equally likely to them. Without any answer they guess right in 50 of 100 such cases. "
            f"From all answers that are allowed they guess right in at most {in_100(claim)} of 100."
        )
    ]
    factor = factor_of_odds(claim)
    if factor is not None:
        found.append(
            "Whatever odds they gave it before, the answers make these odds larger or smaller by "
            f"a factor of at most {factor}."
        )
    return found


def _made(node: TreeNode) -> tuple[str, ...]:
    """What the mechanisms below a node do, by kind, with how often each was launched."""
    counts: Counter[tuple[str, str]] = Counter()
    waiting = [node.children]
    while waiting:
        siblings = waiting.pop()
        waiting += [child.children for child in siblings.made()]
        for child, count in counted(siblings):
            summary = guarantee_of(child.runs).summary
            if child.runs is not None and summary:
                counts[type(child.runs).__name__, summary] += count
    shown = [
        f"{name}, {count:,} time{'s' * (count != 1)}: {one_line(summary, _LONGEST_SUMMARY)}"
        for (name, summary), count in counts.most_common(_MOST_KINDS)
    ]
    left = len(counts) - len(shown)
    return (*shown, *([f"And {left:,} more kinds."] if left else []))


def _not_promised(whom: Protected) -> tuple[str, ...]:
    return (
        (
            "What the answers show about people in general may be applied to anybody, in the data "
            "or not. That is what answers are for, and is not prevented."
        ),
        "Answers about the same data that were given elsewhere are not counted here.",
        (
            "Not protected are the names and types of columns, the questions, their costs and "
            f"times, and facts that many {whom.unit}s share."
        ),
    )


def _budget(node: TreeNode) -> tuple[str, ...]:
    stated = f"{node.mechanism}: {price(node)}."
    counted = (spending(node), f"{refusals(node)}, which cost nothing" if node.refused else "")
    found = [stated, *(f"{each[0].upper()}{each[1:]}." for each in counted if each)]
    if isinstance(node.runs, Postprocessed) and node.account is None:
        found.append("What single answers cost is not recorded here.")
        if node.reported is not None:
            found.append(f"When last asked, they had cost {node.reported} together.")
    return tuple(found)
