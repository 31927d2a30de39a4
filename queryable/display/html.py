"""The tree of mechanisms as HTML, for notebooks.

The texts of a node are those of `text`; this module adds the markup. Text has the colour of the
page, and bars and status labels have colours of middle lightness, so the tree is legible on light
and on dark pages. All texts are escaped.
"""

from fractions import Fraction
from html import escape

from queryable.checks.protection import Protected
from queryable.display.nodes import FAILED, HALTED, LIVE, RETIRED, TreeNode
from queryable.display.text import (
    Folded,
    Quota,
    parts,
    percent,
    price,
    protection,
    refusals,
    spending,
    title,
    used,
)
from queryable.optional import one_line

FOLDED_ROWS = 100
"""How many folded siblings are listed when the reader unfolds them; the rest are counted."""

_COLOURS = {LIVE: "#2f9e57", RETIRED: "#8a8f98", FAILED: "#e0524d", HALTED: "#d9822b"}
_SPENT = "#3d8bd9"
_COST = "#a678c9"
_STYLE = f"""<style>
.queryable-tree{{font-size:13px;line-height:1.5;color:inherit;overflow-wrap:anywhere}}
.queryable-tree ul{{list-style:none;margin:0 0 0 .55em;padding:0 0 0 .9em;
border-left:1px solid color-mix(in srgb,currentColor 25%,transparent)}}
.queryable-tree li{{margin:0;padding:1px 0}}
.queryable-tree summary{{cursor:pointer}}
.queryable-tree b{{font-weight:600}}
.queryable-tree i{{font-style:normal;white-space:nowrap;margin-left:.6em}}
.queryable-tree small{{opacity:.8;font-size:12px}}
.queryable-tree u{{display:inline-block;vertical-align:middle;width:120px;max-width:40%;height:9px;
margin:0 .5em;text-decoration:none;border:1px solid currentColor;border-radius:3px;overflow:hidden}}
.queryable-tree u s{{display:block;height:100%;min-width:1px;background:{_SPENT}}}
.queryable-tree u.cost s{{background:{_COST}}}
.queryable-tree em{{font-style:normal;white-space:nowrap}}
</style>"""


def as_html(root: TreeNode, protects: Protected) -> str:
    """Return the tree as HTML in which every node with children can be folded."""
    whom = f"<small>{escape(protection(root, protects))}</small>"
    return f'<div class="queryable-tree">{_STYLE}{_item(root, Quota())}{whom}</div>'


def _item(node: TreeNode, quota: Quota) -> str:
    row = _row(node)
    if not node.children:
        return row
    below = "".join(_entry(each, quota) for each in quota.arranged(node.children))
    return f"<details open><summary>{row}</summary><ul>{below}</ul></details>"


def _entry(entry: TreeNode | Folded, quota: Quota) -> str:
    if isinstance(entry, TreeNode):
        return f"<li>{_item(entry, quota)}</li>"
    rows = "".join(f"<li>{_row(node, brief=True)}</li>" for node in entry.nodes[:FOLDED_ROWS])
    left = len(entry.nodes) - FOLDED_ROWS
    if left > 0:
        rows += f"<li><small>… and {left:,} more; see ledger()</small></li>"
    summary = f"<small>… {escape(str(entry))}</small>"
    return f"<li><details><summary>{summary}</summary><ul>{rows}</ul></details></li>"


def _row(node: TreeNode, *, brief: bool = False) -> str:
    colour = _COLOURS.get(node.status)
    style = f' style="color:{colour}"' if colour else ""
    row = [f"<b>{escape(title(node))}</b> <code>{escape(price(node))}</code>"]
    if node.about:
        row.append(f" <small>{escape(one_line(node.about))}</small>")
    if not brief:
        row.append(_bar(node))
    row.append(f"<i{style}>{node.status}</i>")
    more = "" if brief else "; ".join(filter(None, (spending(node), refusals(node), node.remark)))
    if more:
        row.append(f" <small>{escape(more)}</small>")
    if not brief:
        row += (_part(each, node.counts) for each in parts(node))
    return "".join(row)


def _part(part: tuple[str, Fraction | None, str], counts: str) -> str:
    """A line for a part of an account, such as a block."""
    name, share, words = part
    bar = "" if share is None else _measured(share, "own", "its", counts)
    return f"<br><small>{escape(name)}: </small>{bar}<small>{escape(words)}</small>"


def _bar(node: TreeNode) -> str:
    share = node.share
    if share is None:
        return ""
    own = node.account is not None
    whose = "its" if own else "its parent's"
    return _measured(share, "own" if own else "cost", whose, node.counts)


def _measured(share: Fraction, kind: str, whose: str, counts: str) -> str:
    label = escape(f"{percent(share)} of {whose} {counts}")
    width = f"{float(100 * share):.4g}%"
    filled = f'<s style="width:{width}"></s>' if share else ""
    return (
        f'<em><u class="{kind}" role="img" aria-label="{label}" '
        f'title="{label}">{filled}</u><small>{escape(used(share, counts))}</small></em>'
    )
