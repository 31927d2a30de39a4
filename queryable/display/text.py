"""The tree of mechanisms as text, and what text and HTML have in common.

Responsible for which nodes are shown and what is said of each. Of many siblings the first and the
last are shown and the rest counted, and of a large tree no more than a bounded number of nodes.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import attrs

from queryable.display.history import ANSWERED, Node
from queryable.display.siblings import tallied
from queryable.optional import one_line

HEAD, TAIL = 4, 6
"""How many siblings are shown before and after those that are only counted."""

MOST_NODES = 400
"""How many nodes are shown in all."""

_BAR = 20
_SHOWN_BELOW = HEAD + TAIL + 2  # folding two would save nothing


@attrs.frozen
class Folded:
    """Siblings that are only counted."""

    nodes: Sequence[Node]

    def __str__(self) -> str:
        counts = tallied(self.nodes, lambda node: node.status, ANSWERED)
        said = ", ".join(f"{count:,} {status}" for status, count in counts.items())
        return f"{len(self.nodes):,} more: {said}"


class Room:
    """How many nodes may still be shown."""

    def __init__(self, most: int = MOST_NODES) -> None:
        self.left = most

    def arranged(self, nodes: Sequence[Node]) -> list[Node | Folded]:
        """The siblings to show, with the others folded in between."""
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


def title(node: Node) -> str:
    """The name it was launched under, or the id it is asked by, and its mechanism."""
    if node.name is not None:
        return f"{one_line(node.name)}: {node.mechanism}"
    return f"[{one_line(str(node.path[-1]))}] {node.mechanism}" if node.path else node.mechanism


def price(node: Node) -> str:
    """Its budget, or what it was charged."""
    if node.account is not None and node.account.budget is not None:
        return str(node.account.budget)
    if node.claim is not None:
        return str(node.claim)
    return "no limit" if node.account is not None else "no claim of its own"


def spending(node: Node) -> str:
    """Of a compositor, what is spent and what remains."""
    if node.account is None:
        return f"last reported {node.reported}" if node.reported is not None else ""
    remaining = node.account.remaining()
    text = f"spent {node.account.total()}"
    return text if remaining is None else f"{text}, remaining {remaining}"


def percent(share: Fraction) -> str:
    """A share in percent; what is not nothing or all is never shown as that."""
    whole = round(100 * share)
    if share > 0 and whole == 0:
        return "<1%"
    if share < 1 and whole == 100:
        return ">99%"
    return f"{whole}%"


def refusals(node: Node) -> str:
    """How many launches it refused."""
    return f"{node.refused:,} refused" if node.refused else ""


def as_text(root: Node) -> str:
    """The tree, one line a node and one more for what a compositor has spent."""
    room = Room()
    lines = [_line(root), *_details(root, "")]
    lines += _below(root, "", room)
    return "\n".join(lines)


def _below(node: Node, indent: str, room: Room) -> Iterator[str]:
    entries = room.arranged(node.children)
    for place, entry in enumerate(entries):
        last = place == len(entries) - 1
        branch, rest = ("`- ", "   ") if last else ("|- ", "|  ")
        if isinstance(entry, Folded):
            yield f"{indent}{branch}... {entry}"
            continue
        yield f"{indent}{branch}{_line(entry)}"
        yield from _details(entry, indent + rest)
        yield from _below(entry, indent + rest, room)


def _line(node: Node) -> str:
    cost = node.cost
    share = f"{percent(cost)} of the budget above" if cost is not None else ""
    return "  ".join(filter(None, (title(node), price(node), share, node.status, refusals(node))))


def _details(node: Node, indent: str) -> list[str]:
    text = spending(node)
    if not text:
        return []
    share, below = node.share, "|  " if node.children else "   "
    if share is None:
        return [f"{indent}{below}{text}"]
    filled = min(max(round(_BAR * share), int(share > 0)), _BAR if share >= 1 else _BAR - 1)
    bar = "#" * filled + "." * (_BAR - filled)
    return [f"{indent}{below}[{bar}] {percent(share)}  {text}"]
