"""Rules, accumulators, accounts and compositors that are built of hostile values.

A `Maker` has a pool of values that their constructors accepted. `made` takes one of a class and
changes some of its fields to values that are wrong, huge, of another measure, or in the pool. What
the constructor accepts joins the pool, so that values are nested in one another. Most values are
about one measure at a time, so that much is accepted.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from math import inf, nan
from random import Random
from typing import Any

import attrs

import composition as c
from composition.rules import Account, Accumulator, Additive, Rule
from composition.rules.additive import AdditiveAccount
from composition.rules.duality import AccumulatorRule, RuleAccumulator
from composition.rules.least_budget import Line
from composition.rules.odometers.time_uniform import Stopping, StoppingAccount
from queryable import (
    FDP,
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Coins,
    FromAnalyst,
    InteractiveError,
    InteractiveMechanism,
    PersonInTheMiddle,
    PureDP,
    ToAnalyst,
    ToMechanism,
)
from queryable.losses import (
    Dominated,
    Loss,
    ParametricMeasure,
    RenyiCurve,
    RenyiOrder,
    RenyiOrders,
    TimeUniformBound,
    zero_of,
)
from tests.audit.true_losses import Atom
from tests.instances import BUDGET, rule_for
from tests.instances import RULES as RULED
from tests.instances import odometers as all_odometers

F = Fraction
OURS = (ValueError, TypeError, InteractiveError)
"""What a constructor may raise."""
PLAIN: tuple[Any, ...] = (PureDP, ApproxDP, ApproxDP, ZCDP, ApproxZCDP, GDP, Dominated, FDP)
ORDERS = ((2,), (2, 8), (2, 1000), (F(3, 2), 4, 64))
NUMBERS = (0, F("1e-12"), F("1e-6"), F(1, 100), F(1, 6), F(1, 2), 1, F(3, 2), 3, 20, 200)
CHANCES = (0, F("1e-9"), F("1e-6"), F("1e-6"), F(1, 100), F(1, 10), F(1, 2), 1)
WRONG: tuple[Any, ...] = (
    *(-1, F(-1, 2), -(2**62), 2**62, F(10**399), F(1, 10**399), nan, inf, 1e308, True, None),
    *("x", "", "1/0", b"1", [], (), {}, (1, 2), object(), PureDP, ZCDP(1), c.Basic(), Atom),
)
_HIGHEST = 4


@attrs.frozen
class Passing(PersonInTheMiddle[None]):
    """Passes every message."""

    def init(self) -> None:
        return None

    def step(self, state: None, message: Any, coins: Coins) -> tuple[None, Any]:
        if isinstance(message, FromAnalyst):
            return None, ToMechanism(message.query)
        return None, ToAnalyst(message.answer)


HELD = (Rule, Accumulator, Line, Account, c.Partition, c.FiltCon, InteractiveMechanism, Passing)
"""Classes of which a value may hold one: another one is taken from the pool."""


def seeds() -> list[Any]:
    """A right value of each class."""
    count = Atom().mechanism()
    parts = c.Partition("part", ["a", "b"])
    rules, odometers = [rule_for(kind) for kind in RULED], [each for _, each in all_odometers()]
    slack, least = rule_for(c.Whitehouse2023), c.LinearOdometer("1e-7", 1)
    of_rules = [c.accumulator_of(c.Basic(), PureDP), c.accumulator_of(slack, ApproxDP, "1e-6")]
    made = [c.filter_of(each) for each in (Additive(ApproxDP), least, of_rules[1])]
    blocks = c.Blocks(c.FiltCon(ZCDP(1)), "u")
    opened = [each.open(BUDGET) for each in (*rules, *made)]
    reported = [each.open() for each in (*odometers, *of_rules, Additive(PureDP))]
    renyi, menu = (rule_for(kind).open(BUDGET) for kind in (c.ViaRenyi, c.Menu))
    held = [opened[0].sum, renyi.mixture, menu.terms]
    pool = c.ExPost(ApproxDP(1, "1e-6"), slack="1e-7", lines=2)
    some = [blocks.account(), c.Individual(1).account(), c.ExPost(PureDP(1)).account()]
    some += [pool.account()]
    compositors = [
        *(kind(BUDGET, c.ViaZCDP()) for kind in (c.FiltCon, c.Filt, c.FiltSeq)),
        *(kind(ZCDP, odometers[0]) for kind in (c.OdomCon, c.Odom, c.OdomSeq)),
        *(pool, c.ExPost(PureDP(1)), c.Universal(PureDP(1)), c.Individual("1/10"), blocks, parts),
        c.ConComp([c.FiltCon(ZCDP(1)), count]),
        c.Parallel(parts, {"a": c.FiltCon(PureDP(1)), "b": count}),
        Passing() @ c.FiltCon(ZCDP(1)),
    ]
    lines = [each.line for each in of_rules]
    return [*rules, *made, *odometers, *of_rules, Additive(PureDP), *lines, *compositors,
            *opened, *reported, *held, *some]  # fmt: skip


@attrs.define
class Maker:
    """Makes values, from a pool of those that were accepted."""

    random: Random
    pool: dict[type, list[Any]] = attrs.field(factory=dict)
    measure: Any = PureDP
    """What most values are about now."""
    complaints: list[str] = attrs.field(factory=list)
    """Constructors that failed with an error that is not ours."""

    def __attrs_post_init__(self) -> None:
        for seed in seeds():
            self.pool.setdefault(type(seed), []).append(seed)

    def choose_measure(self) -> None:
        """Change what values are about."""
        orders = self.random.choice(ORDERS)
        self.measure = self.random.choice((*PLAIN, RDP.at(*orders), RDP.at(*orders)))

    def made(self, kind: type, **fixed: Any) -> Any:
        """A value of a class, with some hostile fields; None if it was refused."""
        base = self.random.choice(self.pool[kind][-12:])
        if kind is c.Menu:
            return self._built(c.Menu, self._menu())
        names = [each.name for each in attrs.fields(kind) if each.init]
        changed = self.random.sample(names, min(len(names), self.random.choice((1, 1, 2, 3))))
        fields = {name: self._like(getattr(base, name), name) for name in changed}
        fields |= fixed
        fields |= self._fitting(base, fields)
        given = {
            each.alias: fields[each.name] for each in attrs.fields(kind) if each.name in fields
        }
        return self._built(lambda **new: attrs.evolve(base, **new), given, kind)

    def nested(self, value: Any) -> Any:
        """A value that holds this one; None if there is none, or several were refused."""
        uses = [(kind, name) for held, kind, name in USES if isinstance(value, held)]
        for _ in range(4 if uses else 0):
            kind, name = self.random.choice(uses)
            several: Any = {"a": value} if kind is c.Parallel else [value]
            made = self.made(kind, **{name: several if name == "mechanisms" else value})
            if made is not None:
                return made
        return None

    def walk(self) -> Iterator[Any]:
        """A value, then one that holds it, and so on."""
        self.choose_measure()
        kinds = self.random.choice((RULES, RULES, RULES, RULES, ACCOUNTS, COMPOSITORS))
        value = self.made(self.random.choice(kinds))
        while value is not None:
            yield value
            last = isinstance(value, InteractiveMechanism) and self._mostly()
            value = None if last else self.nested(value)

    def _built(self, build: Callable[..., Any], given: dict[str, Any], kind: Any = c.Menu) -> Any:
        try:
            value = build(**given)
        except OURS:
            return None
        except Exception as error:
            self.complaints.append(f"{kind.__name__}, {given!r}: {error!r}"[:400])
            return None
        if isinstance(value, Accumulator) and not self._opens(value):
            return None
        if getattr(value, "height", 0) < _HIGHEST:
            self.pool[kind].append(value)
        return value

    def _opens(self, accumulator: Accumulator) -> bool:
        """Whether an accumulator that was accepted opens, and knows its measure."""
        try:
            report = accumulator.open().total()
            reports = isinstance(report, Loss | TimeUniformBound) and accumulator.measure
        except Exception as error:
            reports = False
            self.complaints.append(f"accepted, and does not open: {accumulator}: {error!r}"[:400])
        return bool(reports)

    def _menu(self) -> dict[str, Any]:
        return {
            "unit": self.random.choice(("1/10", "1/2", 1, self._number())),
            "menu": self.random.choice(([1], [1, 2], [1, 3, 7], ["1/2"], [0], [1, 1], [-1], "1")),
            "costs": self.random.choice((None, None, [1], [1, 2], [2, 1], [0, 0], [1, 0], [-4])),
            "slack": self.random.choice((None, self._chance())),
        }

    def _like(self, value: Any, name: str) -> Any:
        """Another value for a field."""
        if self.random.random() < 0.05:
            return self.random.choice(WRONG)
        bases = [base for base in HELD if isinstance(value, base)]
        if bases:
            return self._held(*bases)
        if isinstance(value, tuple | Mapping) and name in ("mechanisms", "blocks", "accounts"):
            parts = [self._part() for _ in range(self.random.choice((1, 2)))]
            return dict(zip("ab", parts, strict=False)) if isinstance(value, Mapping) else parts
        match value:
            case Loss():
                loss = self.loss()
                return loss.zero() if name in ("zero", "empty") and self._mostly() else loss
            case type() | ParametricMeasure():
                return self.measure if self._mostly() else self.loss().measure
            case bool():
                return self.random.random() < 0.5
            case int():
                return self.random.choice((1, 1, 2, 3, 0, -1, 10**6))
            case str():
                return self.random.choice(("part", "u", "a", "refuse", "halt", ""))
            case tuple():
                return self._numbers(len(value))
        if name == "weights":
            return self._numbers(2)
        return self.random.choice((None, self._number(), self._chance()))

    def _fitting(self, base: Any, given: Mapping[str, Any]) -> dict[str, Any]:
        """Mostly, other fields that go with those that were chosen."""
        rule = given.get("rule", getattr(base, "rule", None))
        if not self._mostly() or "line" in given:
            return {}
        if isinstance(base, c.FiltCon) and isinstance(rule, Rule) and "on_exceed" not in given:
            return {"budget": self.loss(_measure_of_budgets(rule, self.measure))}
        if isinstance(base, c.OdomCon) and isinstance(rule, Accumulator):
            return {"measure": rule.measure}
        if isinstance(base, AdditiveAccount) and "sum" not in given:
            budget = self.loss(base.budget.measure)
            return {"budget": budget, "most": budget.parts}
        if isinstance(base, Line):
            return {"zero": zero_of(self.measure)}
        if isinstance(base, StoppingAccount) and "budget" in given:
            return {"budget": self.loss(ApproxDP)}
        return {}

    def any_of(self, *kinds: type) -> Any:
        """A value of these classes that was accepted; each class is as likely."""
        found = [held for kind, held in self.pool.items() if issubclass(kind, kinds)]
        return self.random.choice(self.random.choice(found)[-12:])

    def _held(self, *kinds: type) -> Any:
        if Passing in kinds:
            return Passing()
        return self._part() if kinds == (InteractiveMechanism,) else self.any_of(*kinds)

    def _part(self) -> Any:
        return self.any_of(InteractiveMechanism) if self._mostly() else Atom().mechanism()

    def _mostly(self) -> bool:
        return self.random.random() < 0.8

    def _number(self) -> Any:
        return self.random.choice(NUMBERS)

    def _chance(self) -> Any:
        return self.random.choice(CHANCES)

    def _numbers(self, count: int) -> tuple[Any, ...]:
        right = (F(1, count),) * count if self._mostly() else (F(2), F(-1))
        other = tuple(self._number() for _ in range(self.random.choice((count, count, 1, 3))))
        return self.random.choice((right, other, (2, 8), (2, 1000)))

    def loss(self, measure: Any = None) -> Any:
        """A loss, mostly of the measure at hand."""
        kind = measure or (self.measure if self._mostly() else self.random.choice(PLAIN))
        match kind:
            case RenyiOrder(alpha):
                return RDP(alpha, self._number())
            case RenyiOrders(orders):
                return RenyiCurve(orders, [self._number() for _ in orders])
        if kind in (ApproxDP, ApproxZCDP):
            return kind(self._number(), self._chance())
        if kind is Dominated:
            return Dominated(self._number(), self._number(), self._chance())
        if kind is FDP:
            return FDP.of_approx(self.random.choice((0, F(1, 2), 1)), self._chance())
        return kind(self._number())


FILTERS, ODOMETERS = (c.FiltCon, c.Filt, c.FiltSeq), (c.OdomCon, c.Odom, c.OdomSeq)
USES: tuple[tuple[type, type, str], ...] = (
    (Line, RuleAccumulator, "line"),
    (Rule, RuleAccumulator, "rule"),
    (Accumulator, AccumulatorRule, "accumulator"),
    (c.TimeUniform, Stopping, "odometer"),
    *((Rule, kind, "rule") for kind in FILTERS),
    *((Accumulator, kind, "rule") for kind in ODOMETERS),
    (c.FiltCon, c.Blocks, "filter"),
    (InteractiveMechanism, c.Postprocessed, "mechanism"),
    *((InteractiveMechanism, kind, "mechanisms") for kind in (c.ConComp, c.Parallel)),
)
"""A class, and the class and the field that hold one of it."""


def _measure_of_budgets(rule: Rule, otherwise: Any) -> Any:
    """The measure of the budgets that a rule takes."""
    match rule:
        case c.Basic():
            return otherwise
        case AccumulatorRule(Additive() | RuleAccumulator() as accumulator):
            report: Any = accumulator.open().total()
            return report.measure
    return ApproxDP


RULES: tuple[Any, ...] = tuple(
    dict.fromkeys(type(s) for s in seeds() if isinstance(s, Rule | Accumulator | Line))
)
COMPOSITORS: tuple[Any, ...] = tuple(
    dict.fromkeys(type(s) for s in seeds() if isinstance(s, InteractiveMechanism | c.Partition))
)
ACCOUNTS: tuple[Any, ...] = tuple(
    dict.fromkeys(type(s) for s in seeds() if type(s) not in (*RULES, *COMPOSITORS))
)
