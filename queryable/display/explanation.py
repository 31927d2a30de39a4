"""Explanations: what is guaranteed, by which theorem, under which assumptions, in plain words.

Responsible for the text. The words of each mechanism are its own (`guarantees`), the numbers come
from its claim and from the view. Nothing in it depends on the data but through answers given.
"""

from collections import Counter
from contextlib import suppress
from textwrap import fill
from typing import Any

from flint import arb

from queryable.display.history import History, Node
from queryable.display.siblings import counted
from queryable.display.text import spending, title
from queryable.losses import ZCDP, ApproxDP, Loss, PureDP
from queryable.losses.numbers import round_up, shown
from queryable.mechanism import InteractiveMechanism
from queryable.optional import guarantee as guarantee_of
from queryable.quoting import quoted

_DELTA = "1e-6"
_WIDTH = 88
_MOST_KINDS = 12
_UNNAMED = "no theorem is named; the claim is its author's."
_ALWAYS = (
    "The data do not change while this runs, one filter guards them, and one record, or one "
    "privacy unit, is one person; where one person has k, privacy_loss(d_in=k) is what they lose."
)


def explain(mechanism: InteractiveMechanism[Any]) -> str:
    """In plain words what a mechanism would guarantee, before it is launched."""
    if not isinstance(mechanism, InteractiveMechanism):
        raise TypeError(f"mechanism is {quoted(mechanism)}; it should be an InteractiveMechanism")
    return explained(History(mechanism, None, (), {}).root, within=False)


def explained(node: Node, *, within: bool) -> str:
    """The explanation of a node; `within` says whether it is some other's child."""
    guarantee = guarantee_of(node.runs)
    records = getattr(node.runs, "d_in", 1)
    lines = [f"{title(node)}. {guarantee.summary}", ""]
    lines += [f"Guaranteed: {in_words(node.claim, records)}"]
    if guarantee.claim:
        lines.append(f"In its author's words: {guarantee.claim}")
    lines.append(f"By: {guarantee.theorem or _UNNAMED}")
    assumes = guarantee.assumes or "the stated privacy map is true."
    lines.append(f"Provided that: {assumes} {_ALWAYS}")
    if within:
        lines.append(
            "It runs inside another mechanism, which paid for it in full when it was launched; "
            "what the whole may lose is explained there."
        )
    if node.account is not None:
        refused = f"; launches refused, at no charge: {node.refused:,}" if node.refused else ""
        lines.append(f"So far: {spending(node)}{refused}.")
    lines += _inside(node)
    return "\n".join(fill(line, _WIDTH, subsequent_indent="  ") for line in lines)


def in_words(loss: Loss | None, records: int = 1) -> str:
    """What a loss means for one who looks for a record in what is seen."""
    if loss is None:
        return "no bound fixed in advance; what has been lost is reported as it goes."
    who = "one record" if records == 1 else f"{records} records"
    seen = f"adding or removing {who} changes the probability of anything that can be seen here"
    match loss:
        case PureDP(epsilon):
            return f"{loss}: {seen} by a factor of at most {_factor(epsilon)}."
        case ApproxDP(epsilon, delta):
            return f"{loss}: {seen} {_up_to(epsilon, delta)}."
        case ZCDP(rho):
            kind = (
                f"{loss}: telling whether {who} is there is no easier than telling two Gaussians "
                f"of standard deviation 1 apart whose means differ by {_mu(rho)}, as far as Renyi "
                "divergences tell"
            )
        case _:
            kind = str(loss)
    with suppress(ValueError, ArithmeticError):
        stated = loss.to(ApproxDP, _DELTA)
        assert isinstance(stated, ApproxDP)
        return f"{kind}. In particular {seen} {_up_to(stated.epsilon, stated.delta)}."
    return f"{kind}."


def _up_to(epsilon: Any, delta: Any) -> str:
    factor = f"by a factor of at most {_factor(epsilon)}"
    return f"{factor}, plus {shown(delta)}" if delta else factor


def _factor(epsilon: Any) -> str:
    power = f"e^{shown(epsilon)}"
    return power if epsilon > 700 else f"{power} (about {float(round_up(arb.exp, epsilon)):.4g})"


def _mu(rho: Any) -> str:
    return f"about {float(round_up(arb.sqrt, 2 * rho)):.4g}" if rho else "0"


def _inside(node: Node) -> list[str]:
    """Every kind of mechanism in it, once, with what it claims to rest on."""
    kinds: Counter[tuple[type, str]] = Counter()
    first: dict[tuple[type, str], Node] = {}
    for child, count in counted(node.children):
        kind = type(child.runs), child.mechanism
        first.setdefault(kind, child)
        kinds[kind] += count
    lines = ["", "Inside:"] if kinds else []
    for place, (kind, count) in enumerate(kinds.items()):
        if place == _MOST_KINDS:
            lines.append(f"- and {len(kinds) - place} more kinds of mechanisms; see the ledger.")
            break
        guarantee = guarantee_of(first[kind].runs)
        times = f" ({count:,} times)" if count > 1 else ""
        theorem = guarantee.theorem or _UNNAMED
        assumes = f" Provided that: {guarantee.assumes}" if guarantee.assumes else ""
        lines.append(f"- {kind[1]}{times}. By: {theorem}{assumes}")
    return lines
