"""What a page for people shows of a root: the tree with texts and shares, and rows of the ledger.

Responsible for plain values of JSON. The texts are those that trees show in notebooks.
"""

from typing import Any

from queryable.datasets import Protected
from queryable.display.history import TreeNode
from queryable.display.ledger import Ledger
from queryable.display.text import Folded, Quota, price, protection, refusals, spending, title

MOST_ROWS = 1000
"""How many of the last rows of a ledger are shown."""


def page_of(node: TreeNode, protects: Protected, ledger: Ledger) -> dict[str, Any]:
    """What a page shows.

    - `tree`: a node: its `title`, `mechanism`, `name`, `path`, `status`, `price`, `spending`,
      `refusals` and `remark` as texts, `share` (of its budget that is used) and `cost` (the share
      of its parent's budget) as numbers from 0 to 1 or null, and `children`. Where children are
      left out, a child has `folded` only: how many of what status.
    - `protects`: who is protected.
    - `launches`: the number of rows of the ledger; `rows`: the last ones, as its CSV has them.
    """
    shown = range(max(len(ledger) - MOST_ROWS, 0), len(ledger))
    return {
        "tree": _record(node, Quota()),
        "protects": protection(node, protects),
        "launches": len(ledger),
        "rows": [ledger[place].as_flat_record() for place in shown],
    }


def _record(node: TreeNode | Folded, quota: Quota) -> dict[str, Any]:
    if isinstance(node, Folded):
        return {"folded": str(node)}
    share, cost = node.share, node.cost
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
        "share": None if share is None else float(share),
        "cost": None if cost is None else float(cost),
        "children": [_record(each, quota) for each in quota.arranged(node.children)],
    }
