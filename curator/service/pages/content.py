"""What a page for people shows of a root: the tree with texts and shares, and rows of messages.

Responsible for plain values of JSON. The texts are those that trees show in notebooks.
"""

from itertools import islice
from typing import Any

import attrs

from queryable.checks.protection import Protected
from queryable.display.asked import brief, row_of_any, table_of
from queryable.display.nodes import TreeNode
from queryable.display.text import (
    Folded,
    Quota,
    percent,
    price,
    protection,
    refusals,
    spending,
    title,
)
from queryable.optional import one_line
from queryable.view import Exchange

ROWS = 1000
"""How many messages a page has: the last ones, or those after a number."""

_MOST_BELOW = 1000
_LONGEST = 120
_SHOWN = 10
"""How many rows of an answer a page shows."""


def tree_of(node: TreeNode, protects: Protected) -> dict[str, Any]:
    """The tree of a page.

    - `tree`: a node: its `title`, `mechanism`, `name`, `path`, `status`, `price`, `spending`,
      `refusals` and `remark` as texts; `share` (the used part of its budget, or what it took of its
      parent's if not `own`) from 0 to 1, and in percent as `used`, or null; what it is a share of
      as `counts`, which is the budget or what its rule adds up; and `children`. Where
      children are left out, a child has `folded` only: how many of what status.
    - `below`: the children of the root that take queries, without those below them.
    - `protects`: who is protected.
    """
    below = (each for each in node.children.takers() if each.path is not None)
    return {
        "tree": _record(node, Quota()),
        "below": [_facts(each) for each in islice(below, _MOST_BELOW)],
        "protects": protection(node, protects),
    }


def _record(node: TreeNode | Folded, quota: Quota) -> dict[str, Any]:
    if isinstance(node, Folded):
        return {"folded": str(node)}
    children = [_record(each, quota) for each in quota.arranged(node.children)]
    return {**_facts(node), "children": children}


def _facts(node: TreeNode) -> dict[str, Any]:
    share = node.share
    return {
        "title": title(node),
        "mechanism": node.mechanism,
        "name": node.name,
        "path": None if node.path is None else list(node.path),
        "status": node.status,
        "price": price(node),
        "spending": spending(node),
        "refusals": refusals(node),
        "remark": node.remark,
        "own": node.account is not None,
        "share": None if share is None else min(float(share), 1.0),
        "used": None if share is None else percent(share),
        "counts": node.counts,
    }


def message_row(number: int, exchange: Exchange, name: str | None, on: int | None) -> Any:
    """A row of the messages: texts for a page, and `exact` with the losses as in JSON of ledgers.

    Args:
        number: that of the exchange, from 1.
        on: the second in which it came.
    """
    found = row_of_any(number, name, exchange)
    table = table_of(exchange.answer, _SHOWN)
    exact = found.as_record()
    return {
        "number": number,
        "on": on,
        "path": list(exchange.path),
        "name": None if name is None else one_line(name, _LONGEST),
        "asked": found.asked,
        "outcome": found.outcome,
        "answer": brief(exchange.answer),
        "table": None if table is None else attrs.asdict(table),
        **{key: _text(getattr(found, key)) for key in ("claim", "loss", "total")},
        "exact": {key: exact[key] for key in ("claim", "loss", "total")},
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)
