"""Which theorem covers which composition, as one table; compositors ask it before they launch.

Responsible for saying why a composition is proven, or which open problem stands in the way and
what to do instead. The README's table is generated from it.
"""

import re
from typing import Any

import attrs

from queryable.errors import UnprovenCompositionError
from queryable.losses import (
    GDP,
    RDP,
    ZCDP,
    AdditiveLoss,
    ApproxDP,
    ApproxZCDP,
    Loss,
    Measure,
    PureDP,
    RenyiOrder,
    measure_name,
)
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.numbers import shown
from queryable.renyi import RenyiCurve


@attrs.frozen
class Proven:
    """Covered by a theorem."""

    theorem: str

    def __str__(self) -> str:
        return self.theorem


@attrs.frozen
class Unproven:
    """Covered by none: why not, and what to do instead."""

    problem: str
    instead: str

    def __str__(self) -> str:
        return f"**no**: {self.problem}; instead: {self.instead}"


Verdict = Proven | Unproven


@attrs.frozen
class Row:
    """What the children guarantee and the rule, and the verdict for each kind of composition."""

    measure: str
    rule: str
    fixed: Verdict
    adaptive: Verdict
    sequential: Verdict


_OPEN = Unproven(
    "whether interactive mechanisms known only to be approximately zCDP with delta > 0 compose "
    "concurrently is open (Haney et al. 2023, section 4)",
    "state the child's (epsilon, delta)-DP or zCDP loss, or launch a noninteractive version",
)

_NOT_OPTIMAL = Unproven(
    "invalid, parameters chosen by answers reach more than the claim (tests/attacks/"
    "test_optimal_as_filter.py)",
    "rule=Menu(...) or GDPResidue(), or ConComp(..., delta=) with parameters fixed in advance",
)

_NOT_SOME_ORDER = Unproven(
    "invalid, which order fits may depend on answers (tests/attacks/test_some_order_fits.py)",
    "rule=ViaRenyi(orders), whose weights are fixed, or a budget at every order",
)

_NOT_TENSOR = Unproven(
    "invalid in general for curves chosen on the way (Tran et al. 2026; Regehr et al. 2026)",
    "compose in ApproxDP, ZCDP or GDP, or fix the curves in advance with ConComp",
)

_ADAPTIVE_ONLY = Proven("as adaptive, interleaved")

VALIDITY: tuple[Row, ...] = (
    Row(
        "PureDP",
        "Basic",
        Proven("Vadhan, Wang 2021"),
        Proven("Haney et al. 2023, Theorem 1.20 with Rogers et al. 2016, Theorem 3.4"),
        Proven("Rogers et al. 2016, Theorem 3.4"),
    ),
    Row(
        "ApproxDP",
        "Basic",
        Proven("Lyu 2022; Vadhan, Zhang 2023"),
        Proven("Haney et al. 2023, Theorem 1.20 with docs/theory.md, mixed children"),
        Proven("docs/theory.md, mixed children; for delta = 0 Rogers et al. 2016, Theorem 3.4"),
    ),
    Row(
        "ApproxDP",
        "Whitehouse2023",
        Proven("Haney et al. 2023, Theorem 1.8 with Whitehouse et al. 2023, Theorem 2"),
        Proven("Haney et al. 2023, Theorem 1.20 with Whitehouse et al. 2023, Theorem 2"),
        Proven("Whitehouse et al. 2023, Theorem 2"),
    ),
    Row(
        "PureDP",
        "Rogers2016",
        _ADAPTIVE_ONLY,
        Proven("Haney et al. 2023, Theorem 1.20 with Rogers et al. 2016, Theorem 5.1"),
        Proven("Rogers et al. 2016, Theorem 5.1"),
    ),
    Row(
        "PureDP, ApproxDP",
        "Menu",
        _ADAPTIVE_ONLY,
        Proven("Haney et al. 2023, Theorem 1.20 with docs/theory.md, menu filter"),
        Proven("docs/theory.md, menu filter, after Kairouz, Oh, Viswanath 2017"),
    ),
    Row(
        "PureDP, ApproxDP, GDP",
        "GDPResidue",
        _ADAPTIVE_ONLY,
        Proven("Haney et al. 2023, Theorem 3.4 with docs/theory.md, GDP residue filter"),
        Proven("Regehr et al. 2026; docs/theory.md, GDP residue filter"),
    ),
    Row(
        "ApproxDP",
        "optimal or numerical composition, as a filter",
        Proven("Haney et al. 2023, Theorem 1.8"),
        _NOT_OPTIMAL,
        _NOT_OPTIMAL,
    ),
    Row(
        "ZCDP",
        "Basic",
        Proven("Lyu 2022"),
        Proven("Haney et al. 2023, Theorems 4.10 and 4.11"),
        Proven("Feldman, Zrnic 2021"),
    ),
    Row(
        "RDP.at(alpha)",
        "Basic",
        Proven("Lyu 2022"),
        Proven("Haney et al. 2023, Theorems 4.6 and 4.9"),
        Proven("Feldman, Zrnic 2021"),
    ),
    Row(
        "RDP.at(alphas)",
        "Basic: within the budget at every order",
        Proven("Lyu 2022, order by order"),
        Proven("Haney et al. 2023, Theorems 4.6 and 4.9, order by order"),
        Proven("Feldman, Zrnic 2021, order by order"),
    ),
    Row(
        "RDP.at(alphas)",
        "ViaRenyi, fixed weights",
        _ADAPTIVE_ONLY,
        Proven("docs/theory.md, weighted Renyi filter"),
        Proven("docs/theory.md, weighted Renyi filter"),
    ),
    Row(
        "RDP.at(alphas)",
        "some order still fits",
        Proven("Lyu 2022, order by order, and a conversion at the end"),
        _NOT_SOME_ORDER,
        _NOT_SOME_ORDER,
    ),
    Row(
        "ApproxZCDP, the delta as below",
        "ViaZCDP",
        Proven("docs/theory.md, mixed children"),
        Proven("docs/theory.md, mixed children, after Haney et al. 2023, Theorem 4.10"),
        Proven("Whitehouse et al. 2023, Theorem 1"),
    ),
    Row(
        "ApproxZCDP, the delta as below",
        "Rogers2023",
        Proven("docs/theory.md, mixed children"),
        Proven("docs/theory.md, mixed children, and Brownian noise reduction"),
        Proven("Rogers et al. 2023, Theorem 5, corrected in docs/theory.md"),
    ),
    Row(
        "ex-post private, PureDP, ApproxDP",
        "ExPost: what was realised, and the worst case of the next step",
        Proven("as adaptive; beside a FiltCon in a ConComp Rogers et al. 2023, Theorem 2"),
        Proven("docs/theory.md, ex-post accounting interleaves"),
        Proven("Rogers et al. 2023, Lemma B.2"),
    ),
    Row(
        "GDP",
        "ViaGDP",
        Proven("Vadhan, Zhang 2023"),
        Proven("Haney et al. 2023, Theorem 3.4 with Smith, Thakurta 2022 and Koskela et al. 2022"),
        Proven("Smith, Thakurta 2022; Koskela et al. 2022"),
    ),
    Row(
        "FDP",
        "tensor product",
        Proven("Vadhan, Zhang 2023"),
        _NOT_TENSOR,
        _NOT_TENSOR,
    ),
    Row(
        "GDP",
        "Basic",
        Proven("Vadhan, Zhang 2023"),
        Proven("Haney et al. 2023, Theorem 3.4 with Smith, Thakurta 2022 and Koskela et al. 2022"),
        Proven("Smith, Thakurta 2022; Koskela et al. 2022"),
    ),
    Row(
        "ApproxZCDP, the delta from (epsilon, delta)-DP or from a coin at launch",
        "Basic",
        Proven("docs/theory.md, mixed children"),
        Proven("docs/theory.md, mixed children"),
        Proven("Whitehouse et al. 2023, Theorem 1"),
    ),
    Row(
        "ZCDP",
        "LinearOdometer, OneSidedMixtureOdometer, StitchedOdometer, RenyiOdometer",
        _ADAPTIVE_ONLY,
        Proven("docs/theory.md, time-uniform odometers interleave"),
        Proven(
            "docs/theory.md, time-uniform odometers interleave, after Whitehouse et al. 2023, "
            "Theorem 3"
        ),
    ),
    Row(
        "RDP.at(alphas)",
        "RenyiOdometer",
        _ADAPTIVE_ONLY,
        Proven("docs/theory.md, time-uniform odometers interleave"),
        Proven("docs/theory.md, time-uniform odometers interleave"),
    ),
    Row(
        "ZCDP",
        "MixtureOdometer, Rogers2016Odometer, RogersLemma64Odometer",
        _ADAPTIVE_ONLY,
        Proven("docs/theory.md: never below the one-sided ones"),
        Proven(
            "docs/theory.md: never below the one-sided ones, after Whitehouse et al. 2023, Theorem "
            "3; Rogers et al. 2016, Lemma 6.4, Theorem 6.5"
        ),
    ),
    Row(
        "ApproxZCDP, as above",
        "any of these with deltas and margin",
        _ADAPTIVE_ONLY,
        Proven("docs/theory.md, time-uniform with (epsilon, delta) children"),
        Proven("docs/theory.md, time-uniform with (epsilon, delta) children"),
    ),
    Row(
        "ApproxZCDP alone, interactive",
        "Basic",
        _OPEN,
        _OPEN,
        Proven("Whitehouse et al. 2023, Theorem 1"),
    ),
)


def require_proof(mechanism: InteractiveMechanism[Any], measure: Measure, d_in: int) -> None:
    """Refuse to interleave a mechanism that no theorem covers.

    Raises:
        UnprovenCompositionError: naming the open problem and an alternative.
    """
    if measure is not ApproxZCDP or has_coin(mechanism, d_in):
        return
    raise UnprovenCompositionError(
        f"{type(mechanism).__name__} in an ApproxZCDP composition: {_OPEN.problem}; {_OPEN.instead}"
    )


def require_proof_if_claimed(mechanism: InteractiveMechanism[Any]) -> None:
    """The same in whatever measure the mechanism states its own loss, if it states one.

    Raises:
        UnprovenCompositionError: naming the open problem and an alternative.
    """
    try:
        own = mechanism.privacy_map(1)
    except Exception:
        return
    require_proof(mechanism, own.measure, 1)


def has_coin(mechanism: InteractiveMechanism[Any], d_in: int) -> bool:
    """Whether its approximate zCDP has a delta of zero, from a coin, or from (epsilon, delta)-DP.

    The last must yield all that is claimed: a smaller rho would rest on something else.
    """
    if isinstance(mechanism, Measurement) or mechanism.coin_at_launch:
        return True
    try:
        stated = mechanism.privacy_map(d_in, ApproxZCDP)
        own = mechanism.privacy_map(d_in)
        if isinstance(stated, ApproxZCDP) and stated.delta == 0:
            return True
        return isinstance(own, ApproxDP) and own.to(ApproxZCDP) <= stated
    except Exception:
        return False


def hint(mechanism: InteractiveMechanism[Any], d_in: int, measure: Measure | None) -> str:
    """Which composition would take a mechanism that states no loss in `measure`."""
    try:
        own: Loss = mechanism.privacy_map(d_in)
    except Exception:
        return ""
    if measure is ZCDP and isinstance(own, ApproxDP | ApproxZCDP) and own.delta:
        return "; ApproxZCDP would take it: in a time-uniform odometer, with deltas and margin"
    if not isinstance(own, Loss) or own.measure == measure:
        return ""
    rules = [] if measure is PureDP else _rules_for(own)
    hints = [f"an ApproxDP budget with rule={rule} would take its {own}" for rule in rules]
    if measure is ApproxDP and not isinstance(own, PureDP | ApproxDP):
        hints.append("d_out=ApproxDP(epsilon, delta) charges its conversion, where there is one")
    if measure in (PureDP, ApproxDP) and isinstance(own, AdditiveLoss):
        hints.append(f"a budget of {measure_name(own.measure)} would take its {own}")
    return "".join(f"; {each}" for each in hints)


def _rules_for(loss: Loss) -> list[str]:
    """The rules for ApproxDP budgets that take such a loss as it is."""
    match loss:
        case ZCDP():
            return ["ViaZCDP()"]
        case ApproxZCDP():
            return ["ViaZCDP(slack), a slack below delta,"]
        case RDP(alpha):
            return [f"ViaRenyi(orders), orders up to {shown(alpha)},"]
        case RenyiCurve(orders):
            return [f"ViaRenyi([{', '.join(map(shown, orders))}])"]
        case GDP():
            return ["ViaGDP()"]
        case ApproxDP(_, delta) if delta > 0:
            return ["Whitehouse2023(slack), a slack below delta,"]
    return []


def theorem(measure: Measure, rule: str, column: str) -> str | None:
    """What the table names; None where no row is about the rule.

    Args:
        measure: that launches state their loss in.
        rule: the name of a rule or of a time-uniform odometer.
        column: "fixed", "adaptive" or "sequential".
    """
    rows = [row for row in VALIDITY if rule in _WORD.findall(row.rule)]
    if measure is ApproxZCDP and rows and not any("ApproxZCDP" in row.measure for row in rows):
        rows = [row for row in VALIDITY if "margin" in row.rule]  # a time-uniform odometer
    fitting = [row for row in rows if _measure_word(measure) in _MEASURE.findall(row.measure)]
    for row in fitting or rows:
        verdict = getattr(row, column)
        if isinstance(verdict, Proven):
            return str(verdict.theorem)
    return None


_WORD = re.compile(r"\w+")
_MEASURE = re.compile(r"RDP\.at\(alphas?\)|\w+")


def _measure_word(measure: Measure) -> str:
    if isinstance(measure, type):
        return measure.__name__
    return "RDP.at(alpha)" if isinstance(measure, RenyiOrder) else "RDP.at(alphas)"


def as_markdown() -> str:
    """The table, as the README shows it."""
    header = "| Children | Rule | Fixed, interleaved | Adaptive, interleaved | Sequential |\n"
    rows = "".join(
        f"| {row.measure} | {row.rule} | {row.fixed} | {row.adaptive} | {row.sequential} |\n"
        for row in VALIDITY
    )
    return header + "|---|---|---|---|---|\n" + rows
