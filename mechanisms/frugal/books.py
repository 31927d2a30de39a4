"""What a frugal person knows about one sum of rows: the axes of its questions, and its ledgers.

A `Book` is for the statistics that differ only in conditions that cut axes. Reads no data.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import prod
from typing import Any

import attrs
import numpy as np
from immutables import Map

from mechanisms.frugal.asking import Box, require_short
from mechanisms.frugal.axes import MOST_ATOMS, AxisVersion, Key, axis_of
from mechanisms.frugal.buying import allocation, profile_of
from mechanisms.frugal.combined import Combined, Factor
from mechanisms.frugal.ledgers import (
    Component,
    QuestionPart,
    ReleaseLedger,
    parts_of,
    solved,
    total,
)
from mechanisms.frugal.shapes import strategy_of
from mechanisms.frugal.spread import LEAST_VARIANCE, MOST_ROWS, Spread, spread_of
from mechanisms.gaussian import Gaussian
from mechanisms.refinement.stopping import shortened
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.group_by import GroupBy

MOST_CELLS = 900
"""The largest number of atoms of a component: the product over its axes."""
_SAVED = 1 << 80

_STEPS_OF_BOX = 300


@attrs.frozen(eq=False)
class Purchase:
    """A launch: further noise of a ledger, which is at `place` in its book or new."""

    place: int
    ledger: ReleaseLedger
    variance: Fraction

    @property
    def precision(self) -> Fraction:
        """Twice its loss in zCDP, for a statistic that a unit changes by 1."""
        return self.ledger.square / self.variance


@attrs.frozen(eq=False)
class Book:
    """The axes of a sum of rows, in order of their first use, and what was released of it.

    Attributes:
        base: the sum.
        axes: present versions.
        ledgers: in order of their first release, each with a number that no other ledger has.
        rent: what was paid for single questions about each set of axes.
        wishes: boxes that are planned.
        saved: what its questions would have cost on their own, less what they cost.
    """

    base: Aggregate
    axes: "Map[Key, AxisVersion]" = Map()
    order: tuple[Key, ...] = ()
    ledgers: tuple[tuple[int, ReleaseLedger], ...] = ()
    rent: "Map[Component, Fraction]" = Map()
    wishes: tuple[Box, ...] = ()
    saved: Fraction = Fraction(0)

    def cut(self, boxes: Iterable[Box], *, told: bool = False) -> "Book | None":
        """The book with axes that the boxes cut; None if there would be too many atoms.

        Args:
            told: whether new axes are not cut ahead of the questions.
        """
        axes, order, given = self.axes, self.order, list(boxes)
        wanted: dict[Key, list[Any]] = {}
        for box in given:
            for key, conditions in box.items():
                wanted.setdefault(key, []).extend(conditions)
        for key, predicates in wanted.items():
            older = axes.get(key)
            used = any(key in ledger.component for _, ledger in self.ledgers)
            new = axis_of(key, older, predicates, told=told, used=used)
            if len(new.atoms) > MOST_ATOMS:
                return None
            if older is None:
                order = (*order, key)
            if new is not older:
                axes = axes.set(key, new)
        book = attrs.evolve(self, axes=axes, order=order)
        return book if all(book.fits(box) for box in given) else None

    def fits(self, box: Box) -> bool:
        """Whether the atoms of a box's axes are few enough."""
        return prod(len(self.axes[key].atoms) for key in box) <= MOST_CELLS

    def parts(self, box: Box) -> dict[Component, QuestionPart]:
        """The parts of a box, by component."""
        keys = [key for key in self.order if key in box]
        axes = tuple(self.axes[key] for key in keys)
        members = tuple(axis.members(box[key]) for axis, key in zip(axes, keys, strict=True))
        return {tuple(a.key for a in p.axes): p for p in parts_of(axes, members)}

    def planned(self, boxes: Iterable[Box]) -> list[Box]:
        """The planned boxes that have a column with one of these; all, if these have none."""
        named = {key for box in boxes for key in box}
        return [box for box in self.wishes if named & set(box) or not named]

    def component(self, boxes: Iterable[Box]) -> Component:
        """All axes of the boxes."""
        named = {key for box in boxes for key in box}
        return tuple(key for key in self.order if key in named)

    def estimated(
        self, box: Box, before: int | None = None
    ) -> tuple[Any, Spread, list[int]] | None:
        """The estimate, its spread and the numbers of the ledgers it is from.

        Args:
            before: the number of releases of the book before the question was asked, to tell
                whether all noise is fresh; None if it is not.
        """
        offset, weighted, fresh = Fraction(0), [], before is not None
        for component, part in self.parts(box).items():
            mine = [(n, each) for n, each in self.ledgers if each.component == component]
            found = solved(part, [each for _, each in mine])
            if found is None:
                return None
            weights, biased = found
            offset += biased * MOST_ROWS * self.base.l1.__ceil__()
            for each in weights:
                number = next(n for n, ledger in mine if ledger is each.ledger)
                weighted.append((number, each))
        if before is not None:
            fresh = all(number > before and len(w.ledger.releases) == 1 for number, w in weighted)
        known = all(noisy is not None for _, w in weighted for _, noisy in w.ledger.releases)
        value: Any = sum((w.value() for _, w in weighted), Fraction(0)) if known else None
        spread = spread_of(weighted, offset, fresh=fresh)
        return value, spread, sorted(number for number, _ in weighted)

    def opened(self, component: Component) -> tuple[int, ReleaseLedger]:
        """The ledger in which a further release of a component is best, and its place."""
        axes = tuple(self.axes[key] for key in component)
        for place, (_, ledger) in enumerate(self.ledgers):
            if ledger.component == component and all(map(_same, ledger.axes, axes)):
                return place, ledger
        if not axes:
            return -1, total()
        return -1, ReleaseLedger(axes, tuple(self._factor(axis) for axis in axes))

    def _factor(self, axis: AxisVersion) -> Factor:
        sets = {axis.members(box[axis.key]) for box in self.wishes if axis.key in box}
        known = frozenset(each for each in sets if any(each) and not all(each))
        steps = 40_000 + len(axis.atoms) ** 3
        require_short(steps, (axis.shares, known, axis.ordered))
        return strategy_of(axis.shares, known, ordered=axis.ordered)

    def purchases(self, boxes: list[Box], variances: list[float]) -> list[Purchase] | None:
        """The launches after which boxes have at most these variances; None if there are none.

        Variances are in units of what a row or unit changes.
        """
        require_short(_STEPS_OF_BOX * len(boxes))
        parts = [self.parts(box) for box in boxes]
        # not a set: its order, and so that of the launches, would be another one in each process
        every = dict.fromkeys(component for each in parts for component in each)
        components = sorted(every, key=len)
        if not components:
            return []
        opened = [self.opened(component) for component in components]
        profiles = [
            profile_of(
                [each.get(component) for each in parts],
                [ledger for _, ledger in self.ledgers if ledger.component == component],
                ledger,
            )
            for component, (_, ledger) in zip(components, opened, strict=True)
        ]
        more = allocation(profiles, np.array(variances))
        if more is None:
            return None
        return [
            Purchase(place, ledger, _variance(ledger, precision))
            for (place, ledger), precision in zip(opened, more, strict=True)
            if precision > 0
        ]

    def after(self, purchase: Purchase, number: int, noisy: Any = None) -> "Book":
        """The book after a purchase; `number` is for a new ledger."""
        ledgers = list(self.ledgers)
        if purchase.place < 0:
            ledgers.append((number, purchase.ledger.with_release(purchase.variance, noisy)))
        else:
            old, ledger = ledgers[purchase.place]
            ledgers[purchase.place] = (old, ledger.with_release(purchase.variance, noisy))
        return attrs.evolve(self, ledgers=tuple(ledgers))

    def asked(self, alone: Fraction, paid: Fraction) -> "Book":
        """The book after a question; rounded, so that sums of many stay short."""
        saved = self.saved + Fraction(round((alone - paid) * _SAVED), _SAVED)
        return attrs.evolve(self, saved=saved)

    def measurement(self, purchase: Purchase) -> Gaussian:
        """What is launched."""
        ledger = purchase.ledger
        groups = tuple(axis.groups for axis in ledger.axes)
        statistic: Aggregate = GroupBy(groups, self.base) if groups else self.base
        return Gaussian(Combined(statistic, ledger.factors), variance=purchase.variance)


def _same(one: AxisVersion, other: AxisVersion) -> bool:
    return one is other or (one.atoms, one.shares) == (other.atoms, other.shares)


def _variance(ledger: ReleaseLedger, precision: float) -> Fraction:
    return max(shortened(ledger.square / Fraction(precision)), Fraction(LEAST_VARIANCE))
