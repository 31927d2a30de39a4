"""Deterministic adversaries as trees: the next query after each answer.

A tree can be replayed against a view and printed. This module does not depend on the search.
"""

from collections.abc import Hashable, Iterator
from itertools import islice
from typing import Any

import attrs

from queryable.audit.views.keys import hashable
from queryable.audit.views.pairs import Pair
from queryable.view import View


@attrs.frozen
class StrategyNode:
    """The query after a view (None to stop), and the next node for each answer."""

    query: Any = None
    branches: "tuple[tuple[Hashable, StrategyNode], ...]" = attrs.field(default=(), repr=False)

    def after(self, answer: Hashable) -> "StrategyNode":
        """Return the node after an answer; a stop if the tree does not contain the answer."""
        return next((node for seen, node in self.branches if seen == answer), StrategyNode())


@attrs.frozen
class Strategy:
    """A deterministic adversary as a tree; call it with a view, or print it."""

    root: StrategyNode

    def __call__(self, view: View) -> Any:
        """Return the next query, or None to stop."""
        node = self.root
        for answer in (view.opening, *view.answers):
            node = node.after(hashable(answer))
        return node.query

    def lines(self) -> Iterator[str]:
        """Yield the tree, one line for each answer; the number of lines may be very large."""
        return _lines(self.root, "")

    def __str__(self) -> str:
        text = list(islice(self.lines(), _LONGEST + 1))
        return "\n".join([*text[:_LONGEST], "..."] if len(text) > _LONGEST else text)


_LONGEST = 5000


def _lines(node: StrategyNode, indent: str) -> Iterator[str]:
    for answer, below in node.branches:
        yield f"{indent}{answer!r} -> {move_text(below.query)}"
        yield from _lines(below, indent + "  ")


def move_text(query: Any) -> str:
    """What the adversary does next, in words."""
    if query is None:
        return "stop"
    return f"send {query}" if isinstance(query, Pair) else f"ask {query!r}"
