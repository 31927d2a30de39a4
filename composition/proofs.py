"""Looking up the theorem that covers a composition in the table of `validity`.

A composition without such a cell is an `UnprovenCompositionError`, whose message says what to do
instead. `explain()` shows the theorem of the cell.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import attrs

from composition import validity
from composition.rules import Accumulator, Additive, Basic, Rule, ViaZCDP
from composition.rules.duality import AccumulatorRule, RuleAccumulator
from composition.rules.odometers.time_uniform import Stopping
from composition.verdicts import (
    Cell,
    CompositionKind,
    Proven,
    Row,
    Unproven,
    Way,
    kind_name,
    kind_of,
    loss_class,
)
from queryable.errors import UnprovenCompositionError
from queryable.losses import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Loss,
    Measure,
    PureDP,
    RenyiCurve,
    measure_name,
)
from queryable.losses.numbers import shown
from queryable.mechanism import InteractiveMechanism

_STATIC = Unproven(
    "its author vouches for the rule where the data do not change",
    "use a rule that has a row in composition.VALIDITY, whose last column is about such data",
)


@attrs.frozen
class Proof:
    """The cell that covers one composition: looked up at construction, applied at every launch."""

    rule: Any
    measure: Measure
    column: CompositionKind
    cell: Proven
    rows: tuple[Row, ...] = attrs.field(repr=False)
    """The table that it was looked up in."""
    vouched: bool = False
    """Whether the theorem comes from `vouched_for` of a user's rule, and not from the table."""
    growing: Cell = _STATIC
    """The verdict about data that grow."""

    @property
    def growing_theorem(self) -> str:
        """The theorem for data that grow, as a sentence; empty if there is none."""
        return f"{self.growing.theorem}." if isinstance(self.growing, Proven) else ""

    @property
    def grows(self) -> bool:
        """Whether the composition is proven for data that grow, under a condition perhaps."""
        return isinstance(self.growing, Proven)

    def require_growing(self, mechanisms: Iterable[InteractiveMechanism[Any]] = ()) -> None:
        """Check that data may grow, which is asked at every batch.

        Args:
            mechanisms: those that the condition of the cell is about.

        Raises:
            UnprovenCompositionError: no theorem covers it.
        """
        cell = self._current().growing
        refused = None if isinstance(cell, Proven) else cell
        where = getattr(cell, "where", None)
        if where is not None and not all(where.holds(each, 1) for each in mechanisms):
            refused = where.otherwise
        if refused is not None:
            what = f"data that grow under {_composition(self.measure)}"
            why = refused if isinstance(refused, Unproven) else Unproven(str(refused), "keep them")
            raise UnprovenCompositionError(_refusal(what, why))

    def _current(self) -> "Proof":
        """This, or what the table says now if it is another one."""
        current = self.rows is validity.VALIDITY
        return self if current else ask(self.rule, self.measure, self.column)

    @property
    def theorem(self) -> str:
        """The theorem that the cell names."""
        return self.cell.theorem

    def cover(
        self, mechanism: InteractiveMechanism[Any], d_in: int, *, coined: bool = False
    ) -> None:
        """Refuse a child that the theorem does not cover.

        Args:
            coined: whether the child is charged as (epsilon, delta)-DP, which meets the condition.

        Raises:
            UnprovenCompositionError: the child does not meet the cell's condition.
        """
        where = self._current().cell.where
        if where is not None and not coined and not where.holds(mechanism, d_in):
            what = f"{type(mechanism).__name__} in {_composition(self.measure)}"
            raise UnprovenCompositionError(_refusal(what, where.otherwise))


def ask(rule: Rule | Accumulator | Way, measure: Measure, column: CompositionKind) -> Proof:
    """Look up the theorem that covers a composition.

    Args:
        rule: the rule or accumulator that launches are charged by, or another way of composing.
        measure: the measure that launches state their loss in.

    Raises:
        UnprovenCompositionError: no row covers it, or its cell says no.
    """
    stands, kind, rows = _stands_on(rule), kind_of(measure), validity.VALIDITY
    key = stands if isinstance(stands, Way) else type(stands)
    for row in rows:
        if kind in row.children and key in row.rules:
            cell = row.cell(column)
            if isinstance(cell, Proven):
                return Proof(rule, measure, column, cell, rows, growing=row.growing)
            if isinstance(cell, Unproven):
                raise UnprovenCompositionError(_refusal(_composition(measure), cell))
            raise UnprovenCompositionError(
                f"{_composition(measure)} by {_name(stands)} is not run as {column.value}: {cell}"
            )
    _require_known(measure, rows)
    word = _vouched(stands)
    if not word:
        raise UnprovenCompositionError(
            f"{_composition(measure)} by {_name(stands)} has no row in composition.VALIDITY, the "
            "table of what is proven; use a rule that has one, such as Basic(), or, if you have a "
            "theorem for a rule of your own, state it in its class as vouched_for = 'the theorem, "
            "where it is proved'"
        )
    where = (
        validity.COIN if kind is ApproxZCDP and column is not CompositionKind.SEQUENTIAL else None
    )
    theorem = f"{word} (the word of the author of {_name(stands)}, no row of ours)"
    return Proof(rule, measure, column, Proven(theorem, where), rows, vouched=True)


def own_measure(mechanism: InteractiveMechanism[Any]) -> Measure | None:
    """The measure of a mechanism's own loss; None if it has none, such as an odometer."""
    try:
        own = mechanism.privacy_map(1)
        return own.measure if isinstance(own, Loss) else None
    except Exception:
        return None


def require_known(loss: Loss) -> None:
    """Check that a budget is of exactly one of the classes in the table.

    Raises:
        UnprovenCompositionError: it is of a subclass, or a user's own loss.
    """
    measure = loss.measure
    _require_known(measure, validity.VALIDITY)
    kind = kind_of(measure)
    if type(loss) is not loss_class(kind):
        raise UnprovenCompositionError(
            f"{type(loss).__name__} is not the loss of {measure_name(measure)}, and no theorem is "
            f"known for it; state the budget as {loss_class(kind).__name__}(...)"
        )


def _require_known(measure: Measure, rows: tuple[Row, ...]) -> None:
    kinds = dict.fromkeys(kind for row in rows for kind in row.children)
    if kind_of(measure) not in kinds:
        known = ", ".join(kind_name(kind) for kind in kinds)
        raise UnprovenCompositionError(
            f"no theorem composes losses of {measure_name(measure)}; state them in a measure that "
            f"composition.VALIDITY has a row for: {known}"
        )


def _stands_on(rule: Any) -> Any:
    """The rule or accumulator that a conversion was made of (valid or not together, Lemma 2.19)."""
    while True:
        match rule:
            case AccumulatorRule() if type(rule) is AccumulatorRule:
                rule = rule.accumulator
            case RuleAccumulator() if type(rule) is RuleAccumulator:
                rule = rule.rule
            case Stopping() if type(rule) is Stopping:
                rule = rule.odometer
            case Additive() if type(rule) is Additive:
                return Basic()
            case _:
                return rule


def _vouched(rule: Any) -> str:
    """The theorem that a rule's own class states in `vouched_for`, which is not inherited."""
    word = getattr(rule, "vouched_for", "") if "vouched_for" in vars(type(rule)) else ""
    return word.strip() if isinstance(word, str) else ""


def _name(rule: Any) -> str:
    return rule.name if isinstance(rule, Way) else type(rule).__name__


def _composition(measure: Measure) -> str:
    name = measure_name(measure)
    return f"{'an' if name[0] in 'AEIO' else 'a'} {name} composition"


def _refusal(what: str, verdict: Unproven) -> str:
    return f"{what}: {verdict.problem}; {verdict.instead}"


def advice(mechanism: InteractiveMechanism[Any], d_in: int, measure: Measure | None) -> str:
    """What to write for a mechanism without a loss in `measure`; empty if nothing is known."""
    try:
        own: Loss = mechanism.privacy_map(d_in)
    except Exception:
        return ""
    if not isinstance(own, Loss) or own.measure == measure:
        return ""
    ways = []
    if _suits_a_budget(mechanism, d_in, own):
        ways.append("composition.budget(epsilon=.., delta=..)")
    rules = [] if measure is PureDP else _rules_for(own)
    ways += [f"FiltCon(ApproxDP(..), rule={rule})" for rule in rules]
    if not rules:
        ways += _own_budget(mechanism, d_in, own)
    if measure in (ApproxDP, ApproxZCDP):
        converted = f"mechanism.privacy_map({d_in}).to(ApproxDP, delta=..)"
        ways.append(f"launch(mechanism, d_out={converted}), which charges its conversion")
    if measure is ZCDP and isinstance(own, ApproxDP | ApproxZCDP) and own.delta:
        ways.append("deltas and margin of a time-uniform odometer")
    if measure is PureDP and isinstance(own, ZCDP):
        ways.append("a mechanism with a loss in PureDP, such as Laplace")
    return f"use {', or '.join(ways)}" if ways else ""


def _suits_a_budget(mechanism: InteractiveMechanism[Any], d_in: int, own: Loss) -> bool:
    """Whether `composition.budget` with a delta takes the mechanism."""
    if not isinstance(own, PureDP | ApproxDP | ZCDP | ApproxZCDP):
        return False
    with suppress(UnprovenCompositionError):
        ask(ViaZCDP(), ApproxZCDP, CompositionKind.ADAPTIVE).cover(mechanism, d_in)
        return True
    return False


def _own_budget(mechanism: InteractiveMechanism[Any], d_in: int, own: Loss) -> list[str]:
    """The composition in the mechanism's own measure that the table allows."""
    measure = measure_name(own.measure)
    for column, where in (
        (CompositionKind.ADAPTIVE, f"a budget of {measure}, as in FiltCon({measure}(..))"),
        (CompositionKind.FIXED, "ConComp, with mechanisms fixed in advance"),
    ):
        with suppress(UnprovenCompositionError):
            ask(Basic(), own.measure, column).cover(mechanism, d_in)
            return [where]
    return []


def _rules_for(loss: Loss) -> list[str]:
    """Rules for ApproxDP budgets that take such a loss without a conversion."""
    match loss:
        case ZCDP():
            return ["ViaZCDP()"]
        case ApproxZCDP():
            return ["ViaZCDP(slack=..)"]
        case RDP(alpha):
            return [f"ViaRenyi(orders), orders up to {shown(alpha)}"]
        case RenyiCurve(orders):
            return [f"ViaRenyi([{', '.join(map(shown, orders))}])"]
        case GDP():
            return ["ViaGDP()"]
        case ApproxDP(_, delta) if delta > 0:
            return ["Whitehouse2023(slack=..)"]
    return []
