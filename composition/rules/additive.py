"""The additive rule: losses add up, coordinate by coordinate, exactly."""

from fractions import Fraction
from itertools import chain
from typing import Any, Self

import attrs

from composition.rules.base import Account, Accumulator, Rule, RunningAccount, of_whole, sums
from composition.rules.checks.compare import Verdict, exactly
from queryable.errors import UnprovenCompositionError
from queryable.losses import (
    AdditiveLoss,
    Loss,
    Measure,
    Parts,
    add_parts,
    as_measure,
    measure_name,
    zero_of,
)
from queryable.losses.loss import is_sealed
from queryable.losses.numbers import at_most
from queryable.losses.renyi import orders_in
from queryable.wording.quoting import an_instance


@attrs.frozen
class RunningSum(RunningAccount):
    """The exact sum of losses, coordinate by coordinate; the account of `Additive`."""

    charged = ("parts",)

    zero: AdditiveLoss = attrs.field(validator=an_instance(AdditiveLoss))
    parts: Parts = attrs.field(validator=sums)

    def __attrs_post_init__(self) -> None:
        least = self.zero.parts
        if len(self.parts) != len(least) or any(least):
            raise ValueError(f"{self.zero} is not the least loss of {len(self.parts)} coordinates")

    def add(self, loss: AdditiveLoss) -> "RunningSum":
        """Add the loss to every coordinate."""
        parts = add_parts(self.parts, loss.parts)
        if type(loss) is not type(self.zero) or not is_sealed(type(loss)):
            return RunningSum(self.zero, parts)
        # As the constructor would make it of what constructors have checked: every launch adds.
        grown = object.__new__(RunningSum)
        fill = object.__setattr__.__get__(grown)
        fill("zero", self.zero)
        fill("parts", parts)
        return grown

    def total(self) -> AdditiveLoss:
        """The sum."""
        return self.zero.of_parts(self.parts)

    def check(self, amounts: Parts) -> Verdict:
        """A sum has no limit."""
        return True

    def costing(self, amounts: Parts) -> AdditiveLoss:
        """The loss with these coordinates."""
        return self.zero.of_parts(amounts)

    def packed(self, like: Any) -> Any:
        """The numerators and denominators of the sum."""
        if type(like) is not type(self) or like.zero is not self.zero:
            return self
        return _integers(self.parts)

    def unpacked(self, packed: tuple[int, ...]) -> "RunningSum":
        """The sum, with the `zero` of this one."""
        return RunningSum(self.zero, _fractions(packed))


@attrs.frozen
class Additive(Accumulator):
    """The accumulator G that adds losses up.

    Raises:
        UnprovenCompositionError: losses of this measure do not add up.
    """

    measure: Measure = attrs.field(converter=as_measure)

    def __attrs_post_init__(self) -> None:
        self.open()

    def open(self) -> RunningSum:
        """An empty sum."""
        zero = additive(zero_of(self.measure))
        return RunningSum(zero, zero.parts)


def additive(loss: Loss) -> AdditiveLoss:
    """The loss, if losses of its measure may be added under adaptive composition.

    Raises:
        UnprovenCompositionError: they may not.
    """
    if isinstance(loss, AdditiveLoss):
        return loss
    raise UnprovenCompositionError(
        f"{measure_name(loss.measure)} losses do not add up: the tensor product of curves "
        "chosen on the way is invalid in general (Tran et al. 2026; Regehr et al. 2026); compose "
        "in ApproxDP, ZCDP or GDP, or fix the curves in advance with ConComp"
    )


@attrs.frozen
class AdditiveAccount(Account):
    """A sum and a budget, compared coordinate by coordinate; `most` has the budget's."""

    inner = "sum"

    sum: RunningSum = attrs.field(validator=an_instance(RunningSum))
    budget: AdditiveLoss = attrs.field(validator=an_instance(AdditiveLoss))
    most: Parts

    def __attrs_post_init__(self) -> None:
        zero, budget = self.sum.zero, self.budget
        alike = type(zero) is type(budget) and orders_in(zero) == orders_in(budget)
        if not alike or self.most != budget.parts:
            raise ValueError(f"{zero} and {self.most} are not of the budget {budget}")

    def add(self, loss: AdditiveLoss) -> "AdditiveAccount":
        """Add the loss to the sum."""
        total = self.sum.add(loss)
        if type(self) is not AdditiveAccount:
            return AdditiveAccount(total, self.budget, self.most)
        grown = object.__new__(AdditiveAccount)  # as in `RunningSum.add`
        fill = object.__setattr__.__get__(grown)
        fill("sum", total)
        fill("budget", self.budget)
        fill("most", self.most)
        return grown

    def plus(self, loss: Loss) -> "AdditiveAccount | None":
        """The account with the loss added, if it is in the budget's measure."""
        if isinstance(loss, AdditiveLoss) and loss.measure == self.budget.measure:
            return self.add(loss)
        return None

    def add_many(self, loss: AdditiveLoss, count: int) -> "AdditiveAccount":
        """Add the loss `count` times."""
        grown = add_parts(self.sum.parts, tuple(count * part for part in loss.parts))
        return AdditiveAccount(RunningSum(self.sum.zero, grown), self.budget, self.most)

    @property
    def within(self) -> bool:
        """No coordinate exceeds the budget's."""
        return all(map(at_most, self.sum.parts, self.most))

    def check(self, amounts: Parts) -> Verdict:
        """Whether no coordinate exceeds the budget's."""
        return exactly(zip(amounts, self.budget.parts, strict=True))

    def limits(self) -> Parts:
        """The budget's coordinates."""
        return self.most

    def costing(self, amounts: Parts) -> AdditiveLoss:
        """The loss with these coordinates."""
        return self.sum.costing(amounts)

    def total(self) -> AdditiveLoss:
        """The sum."""
        return self.sum.total()

    def least(self) -> Fraction:
        """The sum of the first coordinate."""
        return self.sum.parts[0]

    def share(self) -> Fraction:
        """The used part of the coordinate that is used most."""
        return max(map(of_whole, self.sum.parts, self.most))

    def packed(self, like: Any) -> Any:
        """The numerators and denominators of the sum."""
        alike = type(like) is type(self) and like.budget is self.budget and like.most is self.most
        return _integers(self.sum.parts) if alike and like.sum.zero is self.sum.zero else self

    def unpacked(self, packed: tuple[int, ...]) -> Self:
        """The account, with the budget of this one."""
        return type(self)(RunningSum(self.sum.zero, _fractions(packed)), self.budget, self.most)

    def remaining(self) -> AdditiveLoss:
        """The budget less the sum."""
        left = (most - spent for most, spent in zip(self.most, self.sum.parts, strict=True))
        return self.budget.room(tuple(max(part, Fraction(0)) for part in left))


def _integers(parts: Parts) -> tuple[int, ...]:
    return tuple(chain.from_iterable(map(Fraction.as_integer_ratio, parts)))


def _fractions(integers: tuple[int, ...]) -> Parts:
    return tuple(map(Fraction, integers[::2], integers[1::2]))


@attrs.frozen
class Basic(Rule):
    """Losses add up: epsilon; epsilon and delta; rho; Renyi losses at each order; mu squared.

    Privacy:
        Theorem: Haney et al. 2023, Theorem 1.20 for (epsilon, delta), 4.6 for RDP, 4.10 for zCDP;
        Theorem 3.4 with Smith and Thakurta 2022 for GDP; docs/theory.md for approximate zCDP.
    """

    adds_up = True

    def monotone(self) -> bool:
        """Yes: sums are compared with the budget."""
        return True

    def child_measure(self, budget: Loss) -> Measure:
        """The budget's own measure."""
        return budget.measure

    def open(self, budget: Loss) -> AdditiveAccount:
        """An empty sum."""
        most = additive(budget)
        return AdditiveAccount(Additive(budget.measure).open(), most, most.parts)
