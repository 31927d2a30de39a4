"""Explanations: the guarantee, its theorem and its assumptions as text.

The texts come from the mechanisms' documentation (`guarantees`), the numbers from the claim and the
view. The explanation depends on the data only through answers that were given.
"""

from collections import Counter
from contextlib import suppress
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import islice
from textwrap import fill
from typing import Any

from flint import arb

from queryable.checks.protection import RECORD, Levels, Protected, levels_of, too_few_for_rows
from queryable.display.history import TreeHistory
from queryable.display.nodes import TreeNode
from queryable.display.siblings import counted
from queryable.display.text import protected_by, spending, title
from queryable.errors import QueryError
from queryable.losses import ZCDP, ApproxDP, Loss, PureDP
from queryable.losses.numbers import round_up, shown
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.optional import guarantee as guarantee_of
from queryable.statistics import IntegerStatistic
from queryable.streams.levels import DataLevel
from queryable.wording.guarantees import Guarantee
from queryable.wording.quoting import quoted

_DELTA = "1e-6"
_WIDTH = 88
_MOST_KINDS = 12
_MOST_NAMES = 5
_MANY_COUNTS = 20
_UNKNOWN = (
    "one record: a row, or all rows of one person if the data are a Table with a privacy_unit."
)
_SINGLE = "one record: a row. Data that protect all rows of one person refuse it."
_UNNAMED = "no theorem is named; the author of the mechanism vouches for the claim."
_STATIC = (
    "The data do not change while this runs. One filter guards them, and no question depends on "
    "answers about them from elsewhere."
)
_GROWING = (
    "The data change by batches that their owner feeds only. One filter guards them, and neither "
    "questions nor batches depend on answers about them from elsewhere."
)


def explain(mechanism: InteractiveMechanism[Any]) -> str:
    """Return what a mechanism would guarantee, as text, before it is launched."""
    if not isinstance(mechanism, InteractiveMechanism):
        raise TypeError(f"mechanism is {quoted(mechanism)}; it should be an InteractiveMechanism")
    return explained(TreeHistory(mechanism, None, (), {}).root, None, nested=False)


def explained(node: TreeNode, protects: Protected | None, *, nested: bool) -> str:
    """Return the explanation of a node.

    Args:
        protects: who is protected; None where no data are given yet.
        nested: whether the node is the child of another mechanism.
    """
    guarantee = guarantee_of(node.runs)
    lines = [f"{title(node)}. {guarantee.summary}", ""]
    levels: Levels = ()
    whom = RECORD if protects is None else protects
    try:
        levels = () if node.runs is None else levels_of(node.runs)
        whom = protected_by(node, protects)
        lines.append(f"Guaranteed: {in_words(node.claim, node.d_in, whom)}")
        lines.append(f"Protected: {_whom(whom, levels, protects)}")
    except QueryError as error:  # no data that anything launches it over
        lines.append(f"Guaranteed: nothing. {error}.")
    if guarantee.claim:
        lines.append(f"From the documentation: {guarantee.claim}")
    lines.append(f"Theorem: {guarantee.theorem or _UNNAMED}")
    grows = node.runs is not None and node.runs.growth is not None
    if grows:
        growing = guarantee.growing or guarantee.theorem
        theorem = "the same." if growing == guarantee.theorem else growing
        lines.append(f"{_streams(levels)} Theorem: {theorem}")
    advice = None if nested else too_few_for_rows(levels)
    if advice is not None:
        lines.append(
            "In a filter: it is refused over data that protect single records, since one record "
            f"more may take the place of another one, and then two differ: {advice}."
        )
    assumes = guarantee.assumes or "the stated privacy map is true."
    always = _GROWING if grows else _STATIC
    lines.append(f"Assumes: {assumes} {always} {whom.assumes}")
    if nested:
        lines.append(
            "It runs inside another mechanism, which was charged for it in full at the launch. The "
            "explanation of that mechanism states the guarantee of the whole."
        )
    if node.account is not None:
        refused = f"; refused launches (not charged): {node.refused:,}" if node.refused else ""
        lines.append(f"So far: {spending(node)}{refused}.")
    lines += _inside(node)
    return "\n".join(fill(line, _WIDTH, subsequent_indent="  ") for line in lines)


def _whom(protected: Protected, levels: Levels, protects: Protected | None) -> str:
    if protects is not None or protected is not RECORD:
        return f"{protected}."
    return _UNKNOWN if all(type(each) is DataLevel for each in levels) else _SINGLE


def _streams(levels: Levels) -> str:
    """Return what is guaranteed if batches of records arrive."""
    neighbours = ", and also ".join(map(str, levels)) or "all streams"
    return (
        f"If the data grow: it is guaranteed for {neighbours}, whenever they arrive. When a batch "
        "arrives is public, and what is in it is not."
    )


def in_words(loss: Loss | None, d_in: int = 1, protects: Protected = RECORD) -> str:
    """Return what a loss says about an observer of the answers, for `d_in` units."""
    if loss is None:
        return "no bound is fixed in advance; the loss so far is reported at any time."
    effect = f"{protects.changed(d_in)} changes the probability of any observable event"
    match loss:
        case PureDP(epsilon):
            return f"{loss}: {effect} by a factor of at most {_factor(epsilon)}."
        case ApproxDP(epsilon, delta):
            return f"{loss}: {effect} {_up_to(epsilon, delta)}."
        case ZCDP(rho):
            kind = (
                f"{loss}: measured by Renyi divergences, detecting the effect of "
                f"{protects.changed(d_in)} is no easier than distinguishing two Gaussians of "
                f"standard deviation 1 whose means differ by {_mu(rho)}"
            )
        case _:
            kind = str(loss)
    with suppress(ValueError, ArithmeticError):
        stated = loss.to(ApproxDP, _DELTA)
        assert isinstance(stated, ApproxDP)
        return f"{kind}. In particular, {effect} {_up_to(stated.epsilon, stated.delta)}."
    return f"{kind}."


def _up_to(epsilon: Any, delta: Any) -> str:
    factor = f"by a factor of at most {_factor(epsilon)}"
    return f"{factor}, plus {_rounded_up(delta)}" if delta else factor


def _factor(epsilon: Any) -> str:
    power = f"e^{_rounded_up(epsilon)}"
    return power if epsilon > 700 else f"{power} (about {float(round_up(arb.exp, epsilon)):.4g})"


def _rounded_up(value: Fraction) -> str:
    """Return at most three digits, never less than the value: the text says "at most"."""
    text = shown(value, 3)
    if not text.startswith("≈"):
        return text
    above = Context(prec=3, rounding=ROUND_CEILING)
    return f"{float(above.divide(Decimal(value.numerator), Decimal(value.denominator))):.3g}"


def _mu(rho: Any) -> str:
    return f"about {float(round_up(arb.sqrt, 2 * rho)):.4g}" if rho else "0"


def _inside(node: TreeNode) -> list[str]:
    """Return a line for each kind of mechanism inside, with its theorem and assumptions."""
    kinds: dict[tuple[type, Guarantee], Counter[str]] = {}
    counts = 0
    for child, count in counted(node.children):
        counts += count * _is_a_count(child.runs)
        kind = type(child.runs), guarantee_of(child.runs)
        kinds.setdefault(kind, Counter())[child.mechanism] += count
    lines = ["", "Inside:"] if kinds else []
    for place, ((_, guarantee), names) in enumerate(kinds.items()):
        if place == _MOST_KINDS:
            lines.append(f"- and {len(kinds) - place} more kinds of mechanisms; see the ledger.")
            break
        most = _MOST_NAMES if len(names) > _MOST_NAMES + 1 else len(names)
        asked = [f"- {name}{_times(times)}." for name, times in islice(names.items(), most)]
        if len(names) > most:
            asked.append(f"- and {len(names) - most:,} more of these; see the ledger.")
        theorem = guarantee.theorem or _UNNAMED
        assumes = f" Assumes: {guarantee.assumes}" if guarantee.assumes else ""
        lines += [*asked[:-1], f"{asked[-1]} Theorem: {theorem}{assumes}"]
    if counts >= _MANY_COUNTS:
        cheaper = "see docs/choosing.md for what may be cheaper"
        lines += ["", f"{counts:,} counts were paid for one by one; {cheaper}."]
    return lines


def _is_a_count(mechanism: Any) -> bool:
    """Whether it released one number that moves one way, as a count does."""
    statistic = getattr(mechanism, "statistic", None)
    if not isinstance(mechanism, Measurement) or not isinstance(statistic, IntegerStatistic):
        return False
    return statistic.shape is None and statistic.monotone is not None


def _times(count: int) -> str:
    return f" ({count:,} times)" if count > 1 else ""
