"""What was released, and estimates from it by generalised least squares. Reads no data.

Functions of several axes split into components, one for each set of axes: sums of products of
functions of mean 0 of these axes. A `ReleaseLedger` has releases within one component, so the
components of an estimate are worked out on their own. Weights are rounded to multiples of 2**-100,
and the noise and the bias of the estimate with exactly these weights are computed from integers.
"""

from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any

import attrs
import numpy as np

from mechanisms.frugal.asking import require_short
from mechanisms.frugal.axes import AxisVersion, Key
from mechanisms.frugal.combined import Factor, along_axes, kron, largest_square, outer
from mechanisms.frugal.shapes import CONSTANT, as_floats
from mechanisms.frugal.solving import LedgerEquations, exact, ledger_equations
from queryable.data.cells import Array

GRID = 1 << 100
Component = tuple[Key, ...]
Members = tuple[tuple[bool, ...], ...]


@attrs.frozen(eq=False)
class ReleaseLedger:
    """Releases of the same combinations, with independent discrete Gaussian noise.

    Attributes:
        axes: of the component, in the version that the combinations are of; none for the total.
        factors: the matrices of the combinations.
        releases: for each release the variance of its noise, and the noisy integers (None for one
            that is only considered).
    """

    axes: tuple[AxisVersion, ...]
    factors: tuple[Factor, ...]
    releases: tuple[tuple[Fraction, Any], ...] = ()
    floats: tuple[Array, ...] = attrs.field(init=False, repr=False)

    @floats.default
    def _floats(self) -> tuple[Array, ...]:
        return tuple(as_floats(factor) for factor in self.factors)

    @property
    def component(self) -> Component:
        """The keys of the axes."""
        return tuple(axis.key for axis in self.axes)

    @property
    def square(self) -> int:
        """The largest squared norm of a column."""
        return prod(map(largest_square, self.factors))

    @property
    def size(self) -> int:
        """The number of combinations."""
        return prod(map(len, self.factors))

    @property
    def precision(self) -> Fraction:
        """The sum of 1/variance over the releases."""
        return sum((1 / variance for variance, _ in self.releases), Fraction(0))

    def with_release(self, variance: Fraction, noisy: Any = None) -> "ReleaseLedger":
        """The ledger with a further release."""
        return attrs.evolve(self, releases=(*self.releases, (variance, noisy)))

    def lifted_exactly(self, axes: tuple[AxisVersion, ...]) -> list[Array]:
        """The matrices as functions of the atoms of the present axes, of integers."""
        matrices = [np.array(factor, dtype=object) for factor in self.factors]
        pairs = zip(matrices, self.axes, axes, strict=True) if self.axes else ()
        if not self.axes:
            return matrices
        return [m if new is old else m[:, list(new.parents(old))] for m, old, new in pairs]

    def lifted(self, axes: tuple[AxisVersion, ...]) -> tuple[Array, ...]:
        """The matrices as functions of the atoms of the present axes."""
        pairs = zip(self.floats, self.axes, axes, strict=True) if self.axes else ()
        if not self.axes:
            return self.floats
        return tuple(m if new is old else m[:, list(new.parents(old))] for m, old, new in pairs)


def total() -> ReleaseLedger:
    """The ledger of the component without axes."""
    return ReleaseLedger((), (CONSTANT,))


@attrs.frozen(eq=False)
class QuestionPart:
    """The part of a question in one component: a product of functions of its axes.

    Attributes:
        axes: present versions.
        members: the atoms that are asked for, on each axis.
        share: the product of the means on the axes of the question outside the component.
    """

    axes: tuple[AxisVersion, ...]
    members: Members
    share: Fraction

    def exact(self) -> tuple[list[Array], int]:
        """The functions as integers, and the common denominator of their product.

        For the component without axes the one function is constant.
        """
        top, bottom = self.share.as_integer_ratio()
        if not self.axes:
            return [np.array([top], dtype=object)], bottom
        functions = []
        for axis, members in zip(self.axes, self.members, strict=True):
            shares = axis.whole_shares
            common = sum(shares)
            mean = sum(share for share, member in zip(shares, members, strict=True) if member)
            functions.append(np.array([common * member - mean for member in members], dtype=object))
            bottom *= common
        functions[0] = functions[0] * top
        return functions, bottom

    def floats(self) -> list[Array]:
        """The functions as floats."""
        functions, bottom = self.exact()
        found = [np.array(each, dtype=float) for each in functions]
        found[0] = found[0] / bottom
        return found


def parts_of(axes: tuple[AxisVersion, ...], members: Members) -> list[QuestionPart]:
    """The parts of a box in all components of its axes."""
    found = []
    for chosen in range(1 << len(axes)):
        inside = [place for place in range(len(axes)) if chosen >> place & 1]
        outside = [place for place in range(len(axes)) if not chosen >> place & 1]
        means = [
            sum((s for s, m in zip(axes[i].shares, members[i], strict=True) if m), Fraction(0))
            for i in outside
        ]
        mine = tuple(axes[i] for i in inside), tuple(members[i] for i in inside)
        found.append(QuestionPart(*mine, prod(means, start=Fraction(1))))
    return [part for part in found if part.share and not _is_constant(part)]


def _is_constant(part: QuestionPart) -> bool:
    return any(all(members) or not any(members) for members in part.members)


@attrs.frozen(eq=False)
class Weights:
    """How the releases of one ledger enter an estimate: integers over 2**100."""

    ledger: ReleaseLedger
    weights: Array

    @property
    def square(self) -> Fraction:
        """The squared norm of the weights."""
        return Fraction(int((self.weights * self.weights).sum()), GRID * GRID)

    def value(self) -> Fraction:
        """The weighted mean of the releases, each by its precision."""
        precision = self.ledger.precision
        found = Fraction(0)
        for variance, noisy in self.ledger.releases:
            flat = np.asarray(noisy).astype(object).reshape(-1)
            found += Fraction(int((self.weights.reshape(-1) * flat).sum())) / variance / precision
        return found / GRID


def solved(
    part: QuestionPart, ledgers: list[ReleaseLedger]
) -> tuple[list[Weights], Fraction] | None:
    """Weights of the ledgers of the part's component, and their bias; None if there are none."""
    bought = [ledger for ledger in ledgers if ledger.releases]
    if not bought:
        return None
    sizes = list(map(len, part.members))
    require_short(300 + len(bought) * prod(sizes) * sum(sizes) // 2)
    require_short(sum(size**3 for size in sizes) // 25)
    weights = _of_one(part, bought[0]) if len(bought) == 1 else _of_several(part, bought)
    if weights is None:
        return None
    found = [
        Weights(ledger, each.reshape(tuple(map(len, ledger.factors))))
        for ledger, each in zip(bought, weights, strict=True)
    ]
    # a direction that no ledger has would be left over, as would a solution that has gone wrong
    biased = bias(part, found)
    return (found, biased) if biased < Fraction(1, 10**10) else None


def _of_one(part: QuestionPart, ledger: ReleaseLedger) -> list[Array] | None:
    """Exact weights, rounded."""
    functions, bottom = part.exact()
    same = all(old is new for old, new in zip(ledger.axes, part.axes, strict=True))
    if not same:
        return _of_several(part, [ledger])
    along, axes = [], part.axes or (None,)
    for factor, axis, function in zip(ledger.factors, axes, functions, strict=True):
        shares = () if axis is None else axis.whole_shares
        found = exact(factor, shares, tuple(function.tolist()))
        if found is None:
            return None
        weights, denominator = found
        along.append(np.array(weights, dtype=object))
        bottom *= denominator
    return [_on_grid(outer(along), bottom)]


def _of_several(part: QuestionPart, ledgers: list[ReleaseLedger]) -> list[Array]:
    functions, bottom = part.exact()
    require_short(len(ledgers) * prod(map(len, part.members)) ** 3 // 1000)
    found = _equations(tuple(ledgers), part.axes).weights(outer(functions), bottom)
    if found is None:  # floats are then as good as it gets
        return [_rounded(each) for each in _dense(part, ledgers, outer(part.floats()))]
    return [_on_grid(each, found[1]) for each in found[0]]


@lru_cache(maxsize=16)
def _equations(
    ledgers: tuple[ReleaseLedger, ...], axes: tuple[AxisVersion, ...]
) -> LedgerEquations:
    return ledger_equations([(ledger.lifted_exactly(axes), ledger.precision) for ledger in ledgers])


def _dense(part: QuestionPart, ledgers: list[ReleaseLedger], wanted: Array) -> list[Array]:
    lifted = [kron(ledger.lifted(part.axes)) for ledger in ledgers]
    scaled = np.concatenate(
        [m * np.sqrt(float(ledger.precision)) for m, ledger in zip(lifted, ledgers, strict=True)]
    )
    solution = np.linalg.lstsq(scaled.T, wanted.reshape(-1), rcond=1e-13)[0]
    ends = np.cumsum([len(m) for m in lifted])[:-1]
    pieces = np.split(solution, ends)
    return [
        piece * np.sqrt(float(ledger.precision))
        for piece, ledger in zip(pieces, ledgers, strict=True)
    ]


def _on_grid(numerators: Array, denominator: int) -> Array:
    """The fractions in units of 2**-100, rounded."""
    found: Array = (2 * GRID * numerators + denominator) // (2 * denominator)
    return found


def _rounded(vector: Array) -> Array:
    found: Array = np.empty(vector.size, dtype=object)
    found[:] = [round(Fraction(float(each)) * GRID) for each in vector.reshape(-1)]
    return found


def bias(part: QuestionPart, weighted: list[Weights]) -> Fraction:
    """The largest difference, over all atoms, of what the weights estimate from the part; exact."""
    functions, bottom = part.exact()
    left = outer(functions) * GRID
    for each in weighted:
        matrices = [np.array(f, dtype=object).T for f in each.ledger.factors]
        reached = along_axes(matrices, each.weights)
        for place, (old, new) in enumerate(zip(each.ledger.axes, part.axes, strict=True)):
            if old is not new:
                reached = np.take(reached, new.parents(old), axis=place)
        left = left - reached * bottom
    return Fraction(max(map(abs, left.reshape(-1).tolist())), GRID * bottom)
