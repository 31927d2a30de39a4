"""What the table of theorems is made of: rows, cells, and the conditions of a cell.

Responsible for the vocabulary. The rows are in `validity`, and `proofs` asks them.
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
    RenyiCurve,
    RenyiOrder,
    RenyiOrders,
)
from queryable.mechanism import InteractiveMechanism, Measurement


class Way(Enum):
    """What composes without a rule, or by a rule that is no filter."""

    OPTIMAL = "optimal or numerical composition: ConComp(..., delta=), no filter"
    SOME_ORDER = "some order still fits"
    REALISED = "ExPost: what was realised, and the worst case of the next step"
    PARTS = "Parallel: one part differs; where several do, Basic as well"
    ONE = "Universal: one mechanism, chosen late"


class Column(Enum):
    """How mechanisms are composed."""

    FIXED = "fixed"
    """All are there from the start, and are interleaved."""
    ADAPTIVE = "adaptive"
    """They are launched on the way, and are interleaved."""
    SEQUENTIAL = "sequential"
    """A launch retires the earlier ones, or all are noninteractive."""


@attrs.frozen
class Unproven:
    """Covered by no theorem: why not, and what to do instead."""

    problem: str
    instead: str

    def __str__(self) -> str:
        return f"**no**: {self.problem}; instead: {self.instead}"


@attrs.frozen
class Condition:
    """What a theorem asks of each child, and the verdict for a child that does not have it."""

    name: str
    says: str
    holds: Callable[[InteractiveMechanism[Any], int], bool] = attrs.field(eq=False, repr=False)
    otherwise: Unproven

    def __str__(self) -> str:
        return f"*{self.name}*: {self.says}; for any other child {self.otherwise}"


@attrs.frozen
class Proven:
    """Covered by a theorem, for the children that meet the condition, if there is one."""

    theorem: str
    where: Condition | None = None

    def __str__(self) -> str:
        return self.theorem if self.where is None else f"{self.theorem}, if *{self.where.name}*"


@attrs.frozen
class Remark:
    """True, but no compositor here runs this way, so that nothing is launched by it."""

    text: str

    def __str__(self) -> str:
        return self.text


Cell = Proven | Unproven | Remark
Kind = type
"""The class of a measure: a `Loss` class, `RenyiOrder` or `RenyiOrders`."""


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


_KIND_NAMES: dict[Kind, str] = {RenyiOrder: "RDP.at(alpha)", RenyiOrders: "RDP.at(alphas)"}
_LOSSES: dict[Kind, type[Loss]] = {RenyiOrder: RDP, RenyiOrders: RenyiCurve}


def kind_of(measure: Measure) -> Kind:
    """The kind of a measure."""
    return measure if isinstance(measure, type) else type(measure)


def kind_name(kind: Kind) -> str:
    """As it is written: `ZCDP`, `RDP.at(alpha)`."""
    return _KIND_NAMES.get(kind, kind.__name__)


def loss_class(kind: Kind) -> Kind:
    """The one class of losses of a kind of measure."""
    return _LOSSES.get(kind, kind)


@attrs.frozen
class Row:
    """What the children guarantee and the rules, with a cell for each kind of composition."""

    children: tuple[Kind, ...]
    """The kinds of measure that launches state their loss in."""
    rules: tuple[type[Rule] | type[Accumulator] | Way, ...]
    """Exactly these classes: what is derived from them is another rule."""
    fixed: Cell
    adaptive: Cell
    sequential: Cell

    def cell(self, column: Column) -> Cell:
        """The cell of a column."""
        found: Cell = getattr(self, column.value)
        return found

    def __str__(self) -> str:
        children = ", ".join(kind_name(kind) for kind in self.children)
        rules = ", ".join(r.value if isinstance(r, Way) else r.__name__ for r in self.rules)
        return f"| {children} | {rules} | {self.fixed} | {self.adaptive} | {self.sequential} |"
