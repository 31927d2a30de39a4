"""Axes: the atoms into which the public predicates asked so far cut one column.

An atom is a value that was compared by `==`, an interval between two cuts without these values, or
the rest: rows that satisfy no comparison of the axis. Every row is in exactly one atom. Nothing
here reads data.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import lcm
from typing import Any, TypeAlias

import attrs

from mechanisms.frugal.grids import cut_ahead
from mechanisms.tables.expressions.column_types import constant
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import Literal, Operand, When, per_units
from mechanisms.tables.expressions.predicates import And, Comparison, IsIn, Not, Or, Predicate
from mechanisms.tables.expressions.scalars import Scalar
from mechanisms.tables.requests.request import Categories

MOST_ATOMS = 150

Key: TypeAlias = tuple[Operand, str]
"""What an axis is of: an operand, and the family of the constants that it is compared with."""
Place: TypeAlias = tuple[Any, int]
"""A position among values: (v, 0) is just below v, (v, 1) just above."""

_SIDES = {">=": 0, "<": 0, ">": 1, "<=": 1}


@attrs.frozen
class Atom:
    """A value, an interval between two places (None: unbounded), or with neither the rest."""

    value: Any = None
    low: Place | None = None
    high: Place | None = None
    between: bool = False

    @property
    def rest(self) -> bool:
        """Whether it is the rest."""
        return self.value is None and not self.between


def key_of(predicate: Predicate) -> Key | None:
    """The axis that a predicate is about; None if it is about several, or about none."""
    if next(per_units(predicate), None) is not None:
        return None  # it divides units, and no rows
    match predicate:
        case Comparison(operand, operator, value):
            family = constant(value).family
            if operator == "!=" or (operator in _SIDES and family in ("text", "bytes")):
                return None
            return operand, family
        case IsIn(operand, values):
            families = {constant(value).family for value in values}
            return (operand, families.pop()) if len(families) == 1 else None
        case And(left, right) | Or(left, right):
            key = key_of(left)
            return key if key is not None and key == key_of(right) else None
        case Not(inner):
            return key_of(inner)
    return None


@attrs.frozen
class Cuts:
    """Places and values by which predicates cut an axis; each maps to a scalar that is written."""

    places: dict[Place, Scalar] = attrs.field(factory=dict)
    values: dict[Any, Scalar] = attrs.field(factory=dict)

    def add(self, predicate: Predicate) -> None:
        """Add those of a predicate whose `key_of` is the axis."""
        match predicate:
            case Comparison(_, "==", value):
                self.values.setdefault(constant(value).value, value)
            case Comparison(_, operator, value):
                self.places.setdefault((constant(value).value, _SIDES[operator]), value)
            case IsIn(_, values):
                for value in values:
                    self.values.setdefault(constant(value).value, value)
            case _:
                for part in predicate.parts:
                    self.add(part)


@attrs.frozen(eq=False)
class AxisVersion:
    """One version of an axis: its atoms in order, the rest last, and a share for each.

    The shares add up to 1. They say which functions of the axis have mean 0. If an atom is split,
    its share is split too, so that a function with mean 0 keeps it. An axis that was `told` is cut
    at no other constants than those of the questions.
    """

    key: Key
    places: tuple[tuple[Place, Scalar], ...]
    values: tuple[tuple[Any, Scalar], ...]
    atoms: tuple[Atom, ...]
    shares: tuple[Fraction, ...]
    told: bool = False
    asked: frozenset[Place] = frozenset()
    """The places of questions; the others were cut ahead of them."""
    whole_shares: tuple[int, ...] = attrs.field(init=False, repr=False)
    """The shares as integers with one denominator, which is their sum."""

    @whole_shares.default
    def _whole(self) -> tuple[int, ...]:
        return whole(self.shares)

    @property
    def ordered(self) -> bool:
        """Whether intervals are asked of it."""
        return bool(self.places)

    def decides(self, predicate: Predicate) -> bool:
        """Whether a predicate about the axis holds in whole atoms: all rows of one, or none."""
        return axis_of(self.key, self, [predicate]) is self

    def members(self, predicates: Iterable[Predicate]) -> tuple[bool, ...]:
        """The atoms whose rows satisfy all the predicates."""
        every = list(predicates)
        return tuple(all(_holds(each, atom) for each in every) for atom in self.atoms)

    @property
    def groups(self) -> Categories:
        """The atoms as groups of rows."""
        operand = self.key[0]
        column = Column(operand)
        index = {atom: place for place, atom in enumerate(self.atoms)}
        cases: list[tuple[Any, Operand]] = [
            (column == scalar, Literal(index[Atom(value=value)])) for value, scalar in self.values
        ]
        inner = [atom for atom in self.atoms if atom.between]
        written = dict(self.places)
        for atom in reversed(inner):
            if atom.low is not None:
                above = column > written[atom.low] if atom.low[1] else column >= written[atom.low]
                cases.append((above, Literal(index[atom])))
        if inner:
            first = inner[0]
            assert first.high is not None
            scalar = written[first.high]
            below = column <= scalar if first.high[1] else column < scalar
            cases.append((below, Literal(index[first])))
        rest = Literal(len(self.atoms) - 1)
        return Categories(When(tuple(cases), rest), tuple(range(len(self.atoms))))

    def parents(self, older: "AxisVersion") -> tuple[int, ...]:
        """For each atom the atom of an older version that it is a part of."""
        if older is self:
            return tuple(range(len(self.atoms)))
        index = {atom: place for place, atom in enumerate(older.atoms)}
        lows = [atom for atom in older.atoms if atom.between]
        rest = len(older.atoms) - 1
        found = []
        for atom in self.atoms:
            if atom in index:
                found.append(index[atom])
            elif atom.rest or not lows:
                found.append(rest)
            else:
                found.append(index[_around(lows, atom)])
        return tuple(found)


def _around(intervals: Sequence[Atom], atom: Atom) -> Atom:
    """The interval that an atom is in."""
    lows = [each.low for each in intervals if each.low is not None]
    if not atom.between:
        return intervals[sum(not _before(atom.value, low) for low in lows)]
    start = atom.low
    return intervals[0 if start is None else bisect_right(lows, start)]


def whole(shares: tuple[Fraction, ...]) -> tuple[int, ...]:
    """Fractions that add up to 1 as integers with one denominator, which is their sum."""
    common = lcm(*(share.denominator for share in shares))
    return tuple(int(share * common) for share in shares)


def axis_of(
    key: Key,
    older: AxisVersion | None,
    predicates: Iterable[Predicate],
    *,
    told: bool = True,
    used: bool = True,
) -> AxisVersion:
    """The axis cut by further predicates; the older one itself if it is fine enough.

    Args:
        told: whether a new axis is cut by these predicates only, and not ahead of the questions.
        used: whether anything was released of the older one; if not, shares are equal again.
    """
    cuts = Cuts(dict(older.places) if older else {}, dict(older.values) if older else {})
    named = Cuts()
    for predicate in predicates:
        cuts.add(predicate)
        named.add(predicate)
    if older is not None:
        told = older.told
        if (len(cuts.places), len(cuts.values)) == (len(older.places), len(older.values)):
            return older
    asked = (older.asked if older else frozenset()) | named.places.keys()
    if not told:
        cut_ahead(asked, cuts.places, cuts.values)
    places, values = tuple(sorted(cuts.places.items())), tuple(sorted(cuts.values.items()))
    atoms = (*_inner([place for place, _ in places], [value for value, _ in values]), Atom())
    new = AxisVersion(
        key, places, values, atoms, (Fraction(1, len(atoms)),) * len(atoms), told, asked
    )
    if older is None or not used:
        return new
    parents = new.parents(older)
    shares = tuple(older.shares[parent] / parents.count(parent) for parent in parents)
    return attrs.evolve(new, shares=shares)


def _inner(places: list[Place], values: list[Any]) -> Iterable[Atom]:
    if not places:
        return [Atom(value=value) for value in values]
    ends = [None, *places, None]
    intervals = [Atom(low=low, high=high, between=True) for low, high in pairwise(ends)]
    found: list[Atom] = []
    waiting = list(values)
    for interval in intervals:
        while waiting and (interval.high is None or _before(waiting[0], interval.high)):
            found.append(Atom(value=waiting.pop(0)))
        found.append(interval)
    return found


def _before(value: Any, place: Place) -> bool:
    """Whether a value is below a place."""
    return bool(value < place[0] or (value == place[0] and place[1] == 1))


def _holds(predicate: Predicate, atom: Atom) -> bool:
    match predicate:
        case And(left, right):
            return _holds(left, atom) and _holds(right, atom)
        case Or(left, right):
            return _holds(left, atom) or _holds(right, atom)
        case Not(inner):
            return not _holds(inner, atom)
        case IsIn(_, values):
            return atom.value is not None and atom.value in [constant(v).value for v in values]
        case Comparison(_, operator, value):
            return _compares(operator, constant(value).value, atom)
    raise TypeError(type(predicate).__name__)


def _compares(operator: str, value: Any, atom: Atom) -> bool:
    if atom.rest:
        return False
    if operator == "==":
        return bool(atom.value is not None and atom.value == value)
    place = (value, _SIDES[operator])
    if atom.between:
        above = atom.low is not None and atom.low >= place
    else:
        above = not _before(atom.value, place)
    return above if operator[0] == ">" else not above
