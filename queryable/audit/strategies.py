"""Adversaries as trees: what to ask after each answer.

Responsible for playing such a tree against a view, and for its text. Knows no search.
"""

from collections.abc import Hashable, Iterator
from itertools import islice
from typing import Any

import attrs

from queryable.audit.keys import hashable
from queryable.view import View


@attrs.frozen
class Node:
    """What the adversary asks after a view, and where each answer leads; None to stop."""

    query: Any = None
    branches: "tuple[tuple[Hashable, Node], ...]" = attrs.field(default=(), repr=False)

    def after(self, answer: Hashable) -> "Node":
        """The node that an answer leads to; a stop where the adversary never expected it."""
        return next((node for seen, node in self.branches if seen == answer), Node())


@attrs.frozen
class Strategy:
    """A deterministic adversary as a tree; call it with a view, or print it."""

    root: Node

    def __call__(self, view: View) -> Any:
        """The next query, or None."""
        node = self.root
        for answer in (view.opening, *view.answers):
            node = node.after(hashable(answer))
        return node.query

    def lines(self) -> Iterator[str]:
        """The tree, a line for each answer; as many as there are views, which may be very many."""
        return _lines(self.root, "")

    def __str__(self) -> str:
        text = list(islice(self.lines(), _LONGEST + 1))
        return "\n".join([*text[:_LONGEST], "..."] if len(text) > _LONGEST else text)


_LONGEST = 5000


def _lines(node: Node, indent: str) -> Iterator[str]:
    for answer, below in node.branches:
        asked = "stop" if below.query is None else f"ask {below.query!r}"
        yield f"{indent}{answer!r} -> {asked}"
        yield from _lines(below, indent + "  ")
