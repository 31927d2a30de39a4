"""What a page for people shows of a root: the tree with texts and shares, and rows of messages.

Responsible for plain values of JSON. The texts are those that trees show in notebooks.
"""

from itertools import islice
from reprlib import Repr
from typing import Any

from queryable.checks.protection import Protected
from queryable.display.ledger import LedgerRow, row_of
from queryable.display.nodes import (
    ANSWERED,
    FAILED,
    HALTED,
    REFUSED,
    TreeNode,
    asked_by,
    is_launch,
    is_paid,
)
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
from queryable.messages import Answer, Failed, Halted, Launched, Refused
from queryable.optional import one_line
from queryable.statistics import IntegerStatistic
from queryable.view import Exchange

ROWS = 1000
"""How many messages a page has: the last ones, or those after a number."""

_MOST_BELOW = 1000
_LONGEST = 120
_OUTCOMES = {Failed: FAILED, Halted: HALTED, Refused: REFUSED}


def tree_of(node: TreeNode, protects: Protected) -> dict[str, Any]:
    """The tree of a page.

    - `tree`: a node: its `title`, `mechanism`, `name`, `path`, `status`, `price`, `spending`,
      `refusals` and `remark` as texts; `share` (the used part of its budget, or what it took of its
      parent's if not `own`) from 0 to 1, and in percent as `used`, or null; and `children`. Where
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
    }


def message_row(number: int, exchange: Exchange, name: str | None, on: int | None) -> Any:
    """A row of the messages: texts for a page, and `exact` with the losses as in JSON of ledgers.

    Args:
        number: that of the exchange, from 1.
        on: the second in which it came.
    """
    if is_launch(exchange) or is_paid(exchange):
        found = row_of(number, name, exchange)
    else:
        outcome = _OUTCOMES.get(type(exchange.answer), ANSWERED)
        asked = _asked(exchange.query)
        found = LedgerRow(number, exchange.path, name, "", asked, None, None, None, outcome)
    exact = found.as_record()
    return {
        "number": number,
        "on": on,
        "path": list(exchange.path),
        "name": None if name is None else one_line(name, _LONGEST),
        "asked": found.asked,
        "outcome": found.outcome,
        "answer": brief(exchange.answer),
        **{key: _text(getattr(found, key)) for key in ("claim", "loss", "total")},
        "exact": {key: exact[key] for key in ("claim", "loss", "total")},
    }


def _asked(query: Any) -> str:
    return (
        one_line(query.asked, _LONGEST) if isinstance(query, IntegerStatistic) else asked_by(query)
    )


def brief(answer: Answer) -> str:
    """An answer as a short text; a refusal or a failure has its outcome, so it has none."""
    if isinstance(answer, Launched):
        if answer.child is not None:
            return f"child {one_line(str(answer.child))}"
        answer = answer.answer
    if answer is None or isinstance(answer, Refused | Halted | Failed):
        return ""
    try:
        return one_line(_BRIEFLY.repr(answer), _LONGEST)
    except Exception:  # an int of too many digits, or nested too deep
        return f"<{type(answer).__name__}>"


def _text(value: object) -> str | None:
    return None if value is None else str(value)


class _Briefly(Repr):
    """Texts of answers; long ones are not written out first."""

    def __init__(self) -> None:
        super().__init__()
        self.maxother = self.maxstring = self.maxlong = _LONGEST

    def repr_Fraction(self, value: Any, level: int) -> str:  # noqa: N802 (the library's)
        """An exact number, rounded."""
        return f"{float(value):.6g}"

    def repr_ndarray(self, value: Any, level: int) -> str:
        """The first elements of an array."""
        return self.repr_list(value.ravel()[: self.maxlist + 1].tolist(), level)


_BRIEFLY = _Briefly()
