"""Which theorem covers which composition, as one table; compositors ask it before they launch.

Responsible for saying why a composition is proven, or which open problem stands in the way and
what to do instead. The README's table is generated from it.
"""

from typing import Any

import attrs

from queryable.errors import UnprovenCompositionError
from queryable.losses import ZCDP, ApproxDP, ApproxZCDP, Loss, Measure, PureDP, measure_name
from queryable.mechanism import InteractiveMechanism, Measurement


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

_ADAPTIVE_ONLY = Proven("as adaptive, interleaved")

VALIDITY: tuple[Row, ...] = (
    Row(
        "PureDP",
        "Basic",
        Proven("Vadhan, Wang 2021"),
        Proven("Haney et al. 2023, Theorem 1.20"),
        Proven("Rogers et al. 2016, Theorem 3.4"),
    ),
    Row(
        "ApproxDP",
        "Basic",
        Proven("Lyu 2022; Vadhan, Zhang 2023"),
        Proven("Haney et al. 2023, Theorem 1.20"),
        Proven("Rogers et al. 2016, Theorem 3.4"),
    ),
    Row(
        "ApproxDP",
        "Whitehouse2023",
        Proven("Haney et al. 2023, Theorem 1.8"),
        Proven("Haney et al. 2023, Theorem 1.20 with Whitehouse et al. 2023, Theorem 2"),
        Proven("Whitehouse et al. 2023, Theorem 2"),
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
        Proven("Whitehouse et al. 2023, Theorem 3"),
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
        Proven("Whitehouse et al. 2023, Theorem 3; Rogers et al. 2016, Lemma 6.4, Theorem 6.5"),
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
    """Whether its delta comes from (epsilon, delta)-DP or from a coin at launch, or is zero."""
    if isinstance(mechanism, Measurement) or mechanism.coin_at_launch:
        return True
    try:
        own = mechanism.privacy_map(d_in)
    except Exception:
        return False
    return not isinstance(own, ApproxZCDP) or own.delta == 0


def hint(mechanism: InteractiveMechanism[Any], d_in: int, measure: Measure | None) -> str:
    """Which composition would take a mechanism that states no loss in `measure`."""
    try:
        own: Loss = mechanism.privacy_map(d_in)
    except Exception:
        return ""
    if measure is ZCDP and isinstance(own, ApproxDP | ApproxZCDP) and own.delta:
        return "; ApproxZCDP would take it: in a time-uniform odometer, with deltas and margin"
    if measure in (PureDP, ApproxDP) and isinstance(own, Loss):
        return f"; a budget of {measure_name(own.measure)} would take its {own}"
    return ""


def as_markdown() -> str:
    """The table, as the README shows it."""
    header = "| Children | Rule | Fixed, interleaved | Adaptive, interleaved | Sequential |\n"
    rows = "".join(
        f"| {row.measure} | {row.rule} | {row.fixed} | {row.adaptive} | {row.sequential} |\n"
        for row in VALIDITY
    )
    return header + "|---|---|---|---|---|\n" + rows
