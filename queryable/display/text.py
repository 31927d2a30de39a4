"""The tree of mechanisms as text, and the parts that text and HTML share.

Among many siblings, the first and the last are shown and the others are counted. The number of
nodes shown is bounded.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import attrs

from queryable.checks.protection import RECORD, Protected, whom
from queryable.display.nodes import TreeNode
from queryable.display.siblings import tallied
from queryable.errors import QueryError
from queryable.losses import AdditiveLoss
from queryable.optional import one_line
from queryable.receipts import RunningTotal

HEAD, TAIL = 4, 6
"""How many siblings are shown before and after the counted ones."""

MOST_NODES = 400
"""The largest number of nodes shown."""

_BAR = 20
_SHOWN_BELOW = HEAD + TAIL + 2  # folding two nodes into one line saves little


@attrs.frozen
class Folded:
    """Siblings that are counted, not shown."""

    nodes: Sequence[TreeNode]

    def __str__(self) -> str:
        counts = tallied(self.nodes, lambda node: node.status)
        counted = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        return f"{len(self.nodes):,} more: {counted}"


class Quota:
    """The number of nodes that may still be shown."""

    def __init__(self) -> None:
        self.left = MOST_NODES

    def arranged(self, nodes: Sequence[TreeNode]) -> list[TreeNode | Folded]:
        """Return the siblings to show, with the others folded in between."""
        head, tail = HEAD, TAIL
        if len(nodes) <= _SHOWN_BELOW:
            head, tail = len(nodes), 0
        head = min(head, max(self.left, 0))
        tail = min(tail, max(self.left - head, 0))
        self.left -= head + tail
        end = len(nodes) - tail
        folded = nodes[head:end]
        middle = [Folded(folded)] if folded else []
        return [*nodes[:head], *middle, *nodes[end:]]


def title(node: TreeNode) -> str:
    """Return the name of the launch, or else the child id, and the mechanism."""
    if node.name is not None:
        return f"{one_line(node.name)}: {node.mechanism}"
    return f"[{one_line(str(node.path[-1]))}] {node.mechanism}" if node.path else node.mechanism


def price(node: TreeNode) -> str:
    """Return the budget, or else the charge."""
    if node.account is not None and node.account.budget is not None:
        return str(node.account.budget)
    if node.claim is not None:
        return f"{node.claim}{_here(node)}"
    if node.account is not None:
        return "no limit"
    return "paid from its parent's budget" if node.runs is None else "no claim"


def _here(node: TreeNode) -> str:
    """Return what a launch was charged, if that is another number than its own claim."""
    charged = None if node.receipt is None else node.receipt.charged
    if not isinstance(charged, AdditiveLoss) or not isinstance(node.claim, AdditiveLoss):
        return ""
    alike = charged.parts[:1] == node.claim.parts[:1]
    return "" if alike or charged.measure == node.claim.measure else f", here {charged}"


def spending(node: TreeNode) -> str:
    """Return what a compositor has spent and what remains, or the last report."""
    if node.account is None:
        return f"last reported {node.reported}" if node.reported is not None else ""
    return _amounts(node.account)


def _amounts(account: RunningTotal) -> str:
    """Return what is used and what is left, in one measure; and the loss, if that is in another."""
    total, spent, remaining = account.total(), account.spent(), account.remaining()
    if account.remark:
        return f"spent {total}: {account.remark}"
    text = f"spent {spent}" if remaining is None else f"spent {spent}, remaining {remaining}"
    return text if spent == total else f"{text}; the loss so far is {total}"


def parts(node: TreeNode) -> list[tuple[str, Fraction | None, str]]:
    """Return the parts of an account, such as blocks: names, used share, and amounts as text.

    Parts in the middle of many are counted.
    """
    if node.account is None:
        return []
    given = node.account.breakdown()
    shown = [(one_line(name), each.share(), _amounts(each)) for name, each in given]
    if len(shown) <= _SHOWN_BELOW:
        return shown
    left = f"{len(shown) - HEAD - TAIL:,} more"
    return [*shown[:HEAD], (left, None, "see ledger()"), *shown[-TAIL:]]


def protected_by(node: TreeNode, data: Protected | None) -> Protected:
    """Whom the claim of a node is about.

    A launch is charged for what the data protect. The claim of a root, and of a mechanism that
    starts with another one, is about what it protects itself.

    Args:
        data: what the data protect; None where there are no data yet.

    Raises:
        QueryError: nobody.
    """
    if node.runs is None or node.receipt is not None:
        return RECORD if data is None else data
    return whom(node.runs, data)


def protection(root: TreeNode, protects: Protected) -> str:
    """Return who is protected, and the neighbours that the budget is stated for.

    Args:
        protects: what the data protect.
    """
    try:
        protected = protected_by(root, protects)
    except QueryError:
        return "protects nobody: its mechanisms protect something else than the data"
    d_in = root.d_in
    step = "" if d_in == 1 else f"; the budget is for {protected.changed(d_in)}"
    return f"protects {protected}{step}"


def percent(share: Fraction) -> str:
    """Return a share in percent. Only exact values are shown as 0% or 100%."""
    whole = round(100 * share)
    if share > 0 and whole == 0:
        return "<1%"
    if share < 1 and whole == 100:
        return ">99%"
    return f"{whole}%"


def used(share: Fraction, counts: str) -> str:
    """Return a share in percent, and of what if it is not of the budget as it is stated."""
    return percent(share) if counts == "budget" else f"{percent(share)} of {counts}"


def refusals(node: TreeNode) -> str:
    """Return the number of refused launches, as text."""
    return f"{node.refused:,} refused" if node.refused else ""


def notes(node: TreeNode) -> tuple[str, str, str]:
    """Return the status, the number of refused launches and the remark of the last answer."""
    return node.status, refusals(node), node.remark


def as_text(root: TreeNode, protects: Protected) -> str:
    """Return the tree: one line for each node, and a second one with the account."""
    quota = Quota()
    bar = "|  " if root.children else "   "
    lines = [_line(root), f"{bar}{protection(root, protects)}", *_details(root, "")]
    lines += _below(root, "", quota)
    return "\n".join(lines)


def _below(node: TreeNode, indent: str, quota: Quota) -> Iterator[str]:
    entries = quota.arranged(node.children)
    for place, entry in enumerate(entries):
        last = place == len(entries) - 1
        branch, rest = ("`- ", "   ") if last else ("|- ", "|  ")
        if isinstance(entry, Folded):
            yield f"{indent}{branch}... {entry}"
            continue
        yield f"{indent}{branch}{_line(entry)}"
        yield from _details(entry, indent + rest)
        yield from _below(entry, indent + rest, quota)


def _line(node: TreeNode) -> str:
    cost = node.cost
    share = "" if cost is None else f"{percent(cost)} of its parent's {_parents(node)}"
    return "  ".join(
        filter(None, (title(node), one_line(node.about), price(node), share, *notes(node)))
    )


def _parents(node: TreeNode) -> str:
    """Return what the cost of a node is a share of, at its parent."""
    return (node.before.counts if isinstance(node.before, RunningTotal) else "") or "budget"


def _details(node: TreeNode, indent: str) -> list[str]:
    text = spending(node)
    if not text:
        return []
    margin = indent + ("|  " if node.children else "   ")
    own = f"{margin}{_bar(node.share, node.counts)}{text}"
    each = parts(node)
    return [own, *(f"{margin}  {name}: {_bar(s, node.counts)}{words}" for name, s, words in each)]


def _bar(share: Fraction | None, counts: str) -> str:
    if share is None:
        return ""
    filled = min(max(round(_BAR * share), int(share > 0)), _BAR if share >= 1 else _BAR - 1)
    bar = "#" * filled + "." * (_BAR - filled)
    return f"[{bar}] {used(share, counts)}  "
