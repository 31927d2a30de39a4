"""The classes that the table of theorems consists of: rows, cells, and conditions of cells.

The rows themselves are in `validity`; `proofs` looks them up.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

import attrs

from composition.rules import Accumulator, Rule
from queryable.losses import (
    RDP,
    ApproxDP,
    ApproxZCDP,
    Loss,
    Measure,
    PureDP,
    RenyiCurve,
    RenyiOrder,
    RenyiOrders,
)
from queryable.mechanism import InteractiveMechanism, Measurement


class Way(Enum):
    """A way of composing that is no rule of a filter."""

    OPTIMAL = "optimal or numerical composition: ConComp(..., delta=), no filter"
    SOME_ORDER = "some order still fits"
    REALISED = "ExPost: what was realised, and the worst case of the next step; zCDP with a slack"
    PARTS = "Parallel: one part differs; where several do, Basic as well"
    ONE = "Universal: one mechanism, chosen late"


class CompositionKind(Enum):
    """How mechanisms are composed."""

    FIXED = "fixed"
    """All mechanisms are given at the start, and queries to them are interleaved."""
    ADAPTIVE = "adaptive"
    """Mechanisms are launched during the interaction, and queries to them are interleaved."""
    SEQUENTIAL = "sequential"
    """A launch retires the earlier mechanisms, or all mechanisms are noninteractive."""
    GROWING = "growing"
    """The cells to the left, even if continual mechanisms get batches of records meanwhile."""


COMPOSED = (CompositionKind.FIXED, CompositionKind.ADAPTIVE, CompositionKind.SEQUENTIAL)
"""The columns that say how mechanisms are composed."""


@attrs.frozen
class Unproven:
    """No theorem covers the composition: the reason, and what to do instead."""

    problem: str
    instead: str

    def __str__(self) -> str:
        return f"**no**: {self.problem}; instead: {self.instead}"


@attrs.frozen
class Condition:
    """What a theorem requires of each child, and the verdict for other children."""

    name: str
    says: str
    holds: Callable[[InteractiveMechanism[Any], int], bool] = attrs.field(eq=False, repr=False)
    otherwise: Unproven

    def __str__(self) -> str:
        return f"*{self.name}*: {self.says}; for any other child {self.otherwise}"


@attrs.frozen
class Proven:
    """A theorem covers the composition, for children that meet the condition if there is one."""

    theorem: str
    where: Condition | None = None

    def __str__(self) -> str:
        return self.theorem if self.where is None else f"{self.theorem}, if *{self.where.name}*"


@attrs.frozen
class Remark:
    """A true statement about a composition that no compositor here runs."""

    text: str

    def __str__(self) -> str:
        return self.text


Cell = Proven | Unproven | Remark
GROWS = Proven("docs/theory.md, data that grow")
Kind = type
"""The class of a measure: a `Loss` class, `RenyiOrder` or `RenyiOrders`."""


def has_coin(mechanism: InteractiveMechanism[Any], d_in: int) -> bool:
    """Whether a mechanism's approximate zCDP composes concurrently.

    It does if its delta is 0, is the probability of a coin tossed at the launch, or comes from
    (epsilon, delta)-DP. In the last case the conversion must give the stated rho: a smaller rho
    would need another proof.
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


def keeps_its_claim(mechanism: InteractiveMechanism[Any], d_in: int) -> bool:
    """Whether a mechanism's claim holds from every history on which the messages agreed.

    It does if the mechanism says so, and if its loss is pure: then what agreed has ratio 1. One
    that takes no batches gets no messages that could differ.
    """
    growth = mechanism.growth
    if growth is None or growth.from_any_history:
        return True
    try:
        return type(mechanism.privacy_map(d_in)) is PureDP
    except Exception:
        return False


_KIND_NAMES: dict[Kind, str] = {RenyiOrder: "RDP.at(alpha)", RenyiOrders: "RDP.at(alphas)"}
_LOSSES: dict[Kind, type[Loss]] = {RenyiOrder: RDP, RenyiOrders: RenyiCurve}


def kind_of(measure: Measure) -> Kind:
    """The kind of a measure."""
    return measure if isinstance(measure, type) else type(measure)


def kind_name(kind: Kind) -> str:
    """The name in code: `ZCDP`, `RDP.at(alpha)`."""
    return _KIND_NAMES.get(kind, kind.__name__)


def loss_class(kind: Kind) -> Kind:
    """The class of losses of a kind of measure."""
    return _LOSSES.get(kind, kind)


@attrs.frozen
class Row:
    """Measures of children and rules, with one cell for each kind of composition."""

    children: tuple[Kind, ...]
    """The kinds of measure that launches state their loss in."""
    rules: tuple[type[Rule] | type[Accumulator] | Way, ...]
    """Exactly these classes; a subclass is another rule and needs a row of its own."""
    fixed: Cell
    adaptive: Cell
    sequential: Cell
    growing: Cell = GROWS

    def cell(self, column: CompositionKind) -> Cell:
        """The cell in a column."""
        found: Cell = getattr(self, column.value)
        return found

    def __str__(self) -> str:
        children = ", ".join(kind_name(kind) for kind in self.children)
        rules = ", ".join(r.value if isinstance(r, Way) else r.__name__ for r in self.rules)
        cells = " | ".join(str(self.cell(column)) for column in CompositionKind)
        return f"| {children} | {rules} | {cells} |"
