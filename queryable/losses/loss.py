"""The interface of privacy losses and measures, and the checks that a value implements it.

A *privacy loss* is a value such as `ZCDP(1/2)`, and a *measure* is the set of losses of one kind,
such as `ZCDP`, with their order. The measures themselves are in `measures`, `renyi`, `tradeoff` and
`dominated`.

Theory of operation: an `AdditiveLoss` composes by adding coordinates, its `parts`: epsilon, rho,
(epsilon, delta), or mu squared. Additive composition adds parts exactly. `of_parts` turns a total
back into a loss and rounds it up where it is irrational, so that no loss is understated.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar

from queryable.losses.numbers import Number, named, natural, probability, sum_of
from queryable.wording.quoting import quoted

Parts = tuple[Fraction, ...]
"""The coordinates of a loss that add up under composition."""

Class = TypeVar("Class", bound=type)

_SEALED: set[type] = set()
_MEMBERS: dict[type, str] = {}


def sealed(kind: Class) -> Class:
    """Class decorator: values of classes derived from this one are not accepted as losses.

    A derived class could override comparisons and conversions.
    """
    _SEALED.add(kind)
    return kind


def family(member: str) -> Callable[[Class], Class]:
    """Class decorator: the class alone is no measure, because losses of it have a parameter.

    Args:
        member: how to write one measure of the family, such as "RDP.at(8)".
    """

    def marked(kind: Class) -> Class:
        _MEMBERS[kind] = member
        return kind

    return marked


def genuine(value: object) -> bool:
    """Whether a value is a loss of a sealed class, or of a class that derives from none of them.

    A class of the second kind must be its own measure.
    """
    kind = type(value)
    if kind in _SEALED:
        return True
    own = isinstance(value, Loss) and issubclass(kind, Loss) and value.measure is kind
    return own and not issubclass(kind, tuple(_SEALED))


def is_sealed(kind: type) -> bool:
    """Whether a class is one of ours, whose constructor has checked the values."""
    return kind in _SEALED


def stated_in(loss: object, measure: "Measure") -> bool:
    """Whether a loss is a value of a measure. Only sealed classes may answer by `loss.measure`."""
    if isinstance(measure, type):
        return type(loss) is measure
    return type(loss) in _SEALED and isinstance(loss, Loss) and loss.measure == measure


class Loss(ABC):
    """A privacy loss: an element of one measure's partial order.

    The d of a generalized probability distance (Haney et al. 2023, Definition 2.1).

    `a <= b` is true if a guarantee of `a` implies a guarantee of `b`. Comparing losses of different
    measures is a `TypeError`: convert one of them first, with `a.to(measure)`.
    """

    takes_delta: ClassVar[bool] = False
    """Whether a conversion to this measure may choose a delta: `loss.to(ApproxDP, delta=...)`."""

    @property
    @abstractmethod
    def measure(self) -> "Measure":
        """The measure of this loss: a `Loss` class, or `RDP.at(order)`."""

    @abstractmethod
    def implies(self, other: Any) -> bool:
        """Whether this guarantee implies `other`, a loss of the same measure."""

    @abstractmethod
    def compose(self, other: Any) -> Self:
        """Return the loss of both mechanisms together, with parameters fixed in advance."""

    @abstractmethod
    def zero(self) -> Self:
        """Return the least loss of this measure."""

    def __le__(self, other: object) -> bool:
        return self.implies(other) if self._is_beside(other) else NotImplemented

    def __ge__(self, other: object) -> bool:
        return other.__le__(self) if isinstance(other, Loss) else NotImplemented

    def __add__(self, other: object) -> Self:
        return self.compose(other) if self._is_beside(other) else NotImplemented

    def _uncomputed(self, other: object) -> Any:
        if not isinstance(other, Loss | Number):
            return NotImplemented
        raise TypeError(
            f"compute with the parameter, such as ZCDP(Fraction(1, 30)): {self} is a loss, and "
            "losses are only added and compared"
        )

    __truediv__ = __mul__ = __rmul__ = __sub__ = __rsub__ = _uncomputed

    def _is_beside(self, other: object) -> bool:
        """Whether the other is a loss.

        Raises:
            TypeError: it is one of another measure.
        """
        if not isinstance(other, Loss):
            return False
        if other.measure != self.measure:
            raise TypeError(
                f"convert with .to(measure) first: {self} and {other} are values of different "
                "measures"
            )
        return True

    def group(self, size: int) -> Self:
        """Return the loss for data that differ in `size` times as many records.

        Raises:
            ValueError: no theorem bounds it for this measure.
        """
        count = natural(size, "size")
        if count == 0:
            return self.zero()
        return self if count == 1 else self._group(count)

    def _group(self, size: int) -> Self:
        raise ValueError(f"no group bound is proven for {self}; state the privacy map at that d_in")

    def to(self, measure: "Measure", delta: Number | None = None) -> "Loss":
        """Return the best bound in another measure that a theorem gives.

        Args:
            measure: a `Loss` class, or `RDP.at(order)`.
            delta: the delta of the result, for conversions to `ApproxDP` or `ApproxZCDP` in which
                it can be chosen.

        Raises:
            ValueError: no theorem converts, or `delta` is missing, not allowed or too small.
        """
        target = as_measure(measure)
        if target == self.measure and delta is None:
            return self
        at = None if delta is None else probability(delta)
        if at is not None and not target.takes_delta:
            raise ValueError(f"leave {named('delta', at)} out: {measure_name(target)} has no delta")
        defined = target.from_loss(self)
        converted = self._to(target, at) if defined is None else defined
        if converted is None:
            raise ValueError(f"no theorem converts {self} to {measure_name(target)}")
        return converted

    @classmethod
    def from_loss(cls, loss: "Loss") -> "Loss | None":  # noqa: ARG003  an interface's argument
        """Return the best bound in this measure, or None if this class has no theorem for it.

        `Loss.to` then asks the loss to convert itself.
        """
        return None

    @abstractmethod
    def _to(self, measure: "Measure", delta: Fraction | None) -> "Loss | None": ...


class AdditiveLoss(Loss):
    """A loss whose coordinates add up under composition."""

    @property
    @abstractmethod
    def parts(self) -> Parts:
        """The coordinates that add up."""

    @abstractmethod
    def of_parts(self, parts: Parts) -> Self:
        """Return the loss of this measure with these coordinates, rounded up."""

    @abstractmethod
    def room(self, parts: Parts) -> Self:
        """Return the largest loss of this measure within these coordinates, rounded down."""

    def implies(self, other: Any) -> bool:
        """Whether no coordinate is larger than that of `other`."""
        return all(mine <= theirs for mine, theirs in zip(self.parts, other.parts, strict=True))

    def compose(self, other: Any) -> Self:
        """Return the loss whose coordinates are the sums."""
        return self.of_parts(add_parts(self.parts, other.parts))

    def zero(self) -> Self:
        """Return the loss whose coordinates are all zero."""
        return self.of_parts(tuple(Fraction(0) for _ in self.parts))


class ParametricMeasure(ABC):
    """A measure with parameters of its own, such as Renyi privacy at one order."""

    takes_delta: ClassVar[bool] = False

    @abstractmethod
    def from_loss(self, loss: Loss) -> Loss | None:
        """Return the best bound in this measure, or None if the measure has no theorem for it."""


Measure = type[Loss] | ParametricMeasure
"""What a loss is stated in: a `Loss` class such as `ZCDP`, or `RDP.at(8)`."""


def as_measure(value: object) -> Measure:
    """Check that `value` is a measure, and return it.

    Raises:
        ValueError: a family of measures, such as bare `RDP`, which needs an order.
        TypeError: anything else that is not a measure.
    """
    if type(value) in _SEALED and isinstance(value, ParametricMeasure):
        return value
    if isinstance(value, type) and issubclass(value, Loss) and value is not Loss:
        base = next((each for each in value.__mro__[1:] if each in _SEALED), None)
        if base is not None:
            raise TypeError(
                f"use {base.__name__} itself, not {quoted(value)}, which derives from it"
            )
        if value in _MEMBERS:
            raise ValueError(
                f"{value.__name__} is a family of measures; name the order, as in {_MEMBERS[value]}"
            )
        return value
    raise TypeError(
        f"{quoted(value)} is not a measure; use a Loss class such as ZCDP, or RDP.at(8)"
    )


def measure_name(measure: Measure) -> str:
    """Return the name of a measure, such as `ZCDP` or `RDP.at(8)`."""
    return measure.__name__ if isinstance(measure, type) else str(measure)


def add_parts(left: Parts, right: Parts) -> Parts:
    """Add coordinates exactly. A total of more than 4,096 bits is rounded up."""
    if len(left) == len(right) == 1:
        return (sum_of(left[0], right[0]),)
    return tuple([sum_of(a, b) for a, b in zip(left, right, strict=True)])


def required_delta(delta: Fraction | None, loss: Loss) -> Fraction:
    """Return `delta`, for a conversion that needs one.

    Raises:
        ValueError: `delta` is missing or zero.
    """
    if delta is None or not delta > 0:
        raise ValueError(
            f"{loss} gives an (epsilon, delta) bound for each delta > 0; say delta=..."
        )
    return delta


def group_size(d_in: int, unit: int) -> int:
    """Return ceil(d_in / unit): how many steps of `unit` records lead `d_in` records away."""
    return -(-natural(d_in, "d_in") // unit)
