"""Privacy losses: values of the measures (posets) that compositions are stated in.

Responsible for each measure's order, its additive composition and the conversions that are
theorems. The formulas live in `conversions`. Knows no mechanism, rule or budget.

Theory of operation: an `AdditiveLoss` composes by adding some coordinates, its `parts`: epsilon,
rho, (epsilon, delta), mu squared. Adding parts exactly is the whole of additive composition;
`of_parts` turns a total back into a loss, rounding against the analyst if it must.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Self, TypeVar

import attrs

from queryable.losses import conversions
from queryable.losses.numbers import (
    Number,
    bounded_total,
    exact,
    natural,
    positive,
    probability,
    shown,
    sqrt_down,
    sqrt_up,
)
from queryable.quoting import quoted

Parts = tuple[Fraction, ...]


def _quoted(value: Fraction) -> str:
    return repr(str(value))


def _epsilon(value: Any) -> Fraction:
    return exact(value, "epsilon")


def _rho(value: Any) -> Fraction:
    return exact(value, "rho")


def _mu(value: Any) -> Fraction:
    return exact(value, "mu")


def _delta(value: Any) -> Fraction:
    return probability(value, "delta")


def _order(value: Any) -> Fraction:
    alpha = positive(value, "alpha")
    if not alpha > 1:
        raise ValueError(f"alpha is {shown(alpha)}; a Renyi order should be above 1")
    return alpha


_SEALED: set[type] = set()
Class = TypeVar("Class", bound=type)


def sealed(kind: Class) -> Class:
    """Class decorator: values are taken as losses or measures of this class only if it is theirs.

    A class derived from it could compare and convert as it likes.
    """
    _SEALED.add(kind)
    return kind


def genuine(value: object) -> bool:
    """Whether a loss is of a class of this library, or of one that derives from none of them.

    The latter has to be its own measure.
    """
    kind = type(value)
    if kind in _SEALED:
        return True
    own = isinstance(value, Loss) and issubclass(kind, Loss) and value.measure is kind
    return own and not issubclass(kind, tuple(_SEALED))


def stated_in(loss: object, measure: "Measure") -> bool:
    """Whether a loss is a value of a measure, by its class and not by what it says of itself."""
    if isinstance(measure, type):
        return type(loss) is measure
    return type(loss) in _SEALED and isinstance(loss, Loss) and loss.measure == measure


class Loss(ABC):
    """A privacy loss: an element of one measure's partial order.

    The d of a generalized probability distance (Haney et al. 2023, Definition 2.1).

    `a <= b` asks whether a guarantee of `a` implies one of `b`; comparing measures is a
    `TypeError`, because it needs a theorem: `a.to(measure)`.
    """

    @property
    @abstractmethod
    def measure(self) -> "Measure":
        """What this is a value of: a `Loss` class, or `RDP.at(order)`."""

    @abstractmethod
    def within(self, other: Any) -> bool:
        """Whether this guarantee implies `other`, a value of the same measure."""

    @abstractmethod
    def compose(self, other: Any) -> Self:
        """The loss of both together, parameters fixed in advance."""

    @abstractmethod
    def zero(self) -> Self:
        """No loss at all."""

    def __le__(self, other: object) -> bool:
        if not isinstance(other, Loss):
            return NotImplemented
        if other.measure != self.measure:
            raise TypeError(
                f"{self} and {other} are values of different measures; convert with .to(measure)"
            )
        return self.within(other)

    def __ge__(self, other: object) -> bool:
        return other.__le__(self) if isinstance(other, Loss) else NotImplemented

    def __add__(self, other: object) -> Self:
        if not isinstance(other, Loss):
            return NotImplemented
        if other.measure != self.measure:
            raise TypeError(f"{self} and {other} are values of different measures")
        return self.compose(other)

    def group(self, size: int) -> Self:
        """The loss for data that differ in `size` times as many records.

        Raises:
            ValueError: no theorem bounds it for this measure.
        """
        if size == 0:
            return self.zero()
        return self if size == 1 else self._group(size)

    @abstractmethod
    def _group(self, size: int) -> Self: ...

    def to(self, measure: "Measure", delta: Number | None = None) -> "Loss":
        """The best bound in another measure that a theorem gives.

        Args:
            measure: a `Loss` class, or `RDP.at(order)`.
            delta: the delta to state an `ApproxDP` or `ApproxZCDP` bound at, where it is free.

        Raises:
            ValueError: no theorem converts, or `delta` is missing, superfluous or too small.
        """
        target = as_measure(measure)
        if target == self.measure and delta is None:
            return self
        at = None if delta is None else probability(delta)
        if at is not None and target not in (ApproxDP, ApproxZCDP):
            raise ValueError(f"{measure_name(target)} has no delta; leave delta={shown(at)} out")
        defined = target.from_loss(self)
        converted = self._to(target, at) if defined is None else defined
        if converted is None:
            raise ValueError(f"no theorem converts {self} to {measure_name(target)}")
        return converted

    @classmethod
    def from_loss(cls, loss: "Loss") -> "Loss | None":  # noqa: ARG003  an interface's argument
        """The best bound in this measure, if the measure and not the loss knows the theorem."""
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
        """The loss of this measure with these coordinates, rounded up."""

    @abstractmethod
    def room(self, parts: Parts) -> Self:
        """The largest loss of this measure within these coordinates, rounded down."""

    def within(self, other: Any) -> bool:
        """No coordinate is larger."""
        return all(mine <= theirs for mine, theirs in zip(self.parts, other.parts, strict=True))

    def compose(self, other: Any) -> Self:
        """Coordinates added."""
        return self.of_parts(add_parts(self.parts, other.parts))

    def zero(self) -> Self:
        """All coordinates zero."""
        return self.of_parts(tuple(Fraction(0) for _ in self.parts))


class ParametricMeasure(ABC):
    """A measure with parameters of its own, such as Renyi privacy at an order."""

    @abstractmethod
    def from_loss(self, loss: Loss) -> Loss | None:
        """The best bound on a loss of another measure, if the measure knows the theorem."""


@sealed
@attrs.frozen
class RenyiOrder(ParametricMeasure):
    """The measure of Renyi differential privacy at one order; write `RDP.at(order)`."""

    alpha: Fraction

    def from_loss(self, loss: Loss) -> None:
        """Nothing: the losses know."""

    def __str__(self) -> str:
        return f"RDP.at({shown(self.alpha)})"


Measure = type[Loss] | ParametricMeasure


def as_measure(value: object) -> Measure:
    """Check that `value` names a measure.

    Raises:
        ValueError: bare `RDP`, which needs an order.
        TypeError: anything else that is no measure.
    """
    if value is RDP:
        raise ValueError("RDP is a family of measures; name the order, as in RDP.at(8)")
    if type(value) in _SEALED and isinstance(value, ParametricMeasure):
        return value
    if isinstance(value, type) and issubclass(value, Loss) and value is not Loss:
        base = next((each for each in value.__mro__[1:] if each in _SEALED), None)
        if base is None:
            return value
        raise TypeError(f"{quoted(value)} derives from {base.__name__}; use {base.__name__} itself")
    raise TypeError(
        f"{quoted(value)} is not a measure; use a Loss class such as ZCDP, or RDP.at(8)"
    )


def measure_name(measure: Measure) -> str:
    """`ZCDP`, or `RDP.at(8)`."""
    return measure.__name__ if isinstance(measure, type) else str(measure)


def zero_of(measure: Measure) -> Loss:
    """The least loss of a measure."""
    return PureDP(Fraction(0)).to(measure)


def add_parts(left: Parts, right: Parts) -> Parts:
    """Coordinates added, exactly; very long totals are rounded up."""
    return tuple([bounded_total(a + b) for a, b in zip(left, right, strict=True)])


def total(losses: Iterable[Loss], measure: Measure) -> Loss:
    """The composition of losses of one measure, fixed in advance."""
    composed = zero = zero_of(measure)
    parts = zero.parts if isinstance(zero, AdditiveLoss) else ()
    for loss in losses:
        if not stated_in(loss, measure):
            raise TypeError(f"{quoted(loss)} is not a value of {measure_name(measure)}")
        if isinstance(loss, AdditiveLoss):
            parts = add_parts(parts, loss.parts)  # exact: rounded once, at the end
        else:
            composed = composed.compose(loss)
    return zero.of_parts(parts) if isinstance(zero, AdditiveLoss) else composed


class _Simple(AdditiveLoss):
    """A measure that is its own class; most have one coordinate that scales with the group."""

    @property
    def measure(self) -> "Measure":
        return type(self)

    def of_parts(self, parts: Parts) -> Self:
        return type(self)(*parts)

    def room(self, parts: Parts) -> Self:
        return self.of_parts(parts)

    def __str__(self) -> str:
        names = [field.name for field in attrs.fields(type(self))]  # type: ignore[arg-type]
        values = ", ".join(f"{name}={shown(getattr(self, name))}" for name in names)
        return f"{type(self).__name__}({values})"


@sealed
@attrs.frozen(order=False)
class PureDP(_Simple):
    """epsilon-differential privacy (Dwork, McSherry, Nissim, Smith 2006). epsilon in nats."""

    epsilon: Fraction = attrs.field(converter=_epsilon, repr=_quoted)

    @property
    def parts(self) -> Parts:
        """(epsilon,)."""
        return (self.epsilon,)

    def _group(self, size: int) -> Self:
        return type(self)(size * self.epsilon)

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if isinstance(measure, RenyiOrder):
            return RDP(measure.alpha, conversions.pure_to_rdp(self.epsilon, measure.alpha))
        if measure is ApproxDP:
            return ApproxDP(self.epsilon, delta or Fraction(0))
        if measure is ZCDP:
            return ZCDP(conversions.pure_to_zcdp(self.epsilon))
        if measure is ApproxZCDP:
            return ApproxZCDP(conversions.pure_to_zcdp(self.epsilon), delta or Fraction(0))
        if measure is GDP:
            return GDP(conversions.pure_to_gdp(self.epsilon))
        return None


@sealed
@attrs.frozen(order=False)
class ApproxDP(_Simple):
    """(epsilon, delta)-differential privacy (Dwork et al. 2006).

    Of interactive mechanisms as in Haney et al. 2023, Definition 1.7.
    """

    epsilon: Fraction = attrs.field(converter=_epsilon, repr=_quoted)
    delta: Fraction = attrs.field(converter=_delta, repr=_quoted)

    @property
    def parts(self) -> Parts:
        """(epsilon, delta)."""
        return (self.epsilon, self.delta)

    def of_parts(self, parts: Parts) -> Self:
        """The loss; a delta beyond one says no more than one."""
        return type(self)(parts[0], min(parts[1], Fraction(1)))

    def _group(self, size: int) -> Self:
        grown = conversions.group_delta(self.epsilon, self.delta, size)
        return type(self)(size * self.epsilon, grown)

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if self.delta == 0 and measure is not ApproxDP:
            return PureDP(self.epsilon).to(measure, delta)
        if measure is ApproxDP and delta is not None and self.delta <= delta:
            return ApproxDP(self.epsilon, delta)
        if measure is ApproxZCDP and (delta is None or self.delta <= delta):
            rho = conversions.pure_to_zcdp(self.epsilon)
            return ApproxZCDP(rho, self.delta if delta is None else delta)
        return None


@sealed
@attrs.frozen(order=False)
class ZCDP(_Simple):
    """rho-zero-concentrated differential privacy (Bun, Steinke 2016).

    Of interactive mechanisms as in Haney et al. 2023, Definition 4.4.
    """

    rho: Fraction = attrs.field(converter=_rho, repr=_quoted)

    @property
    def parts(self) -> Parts:
        """(rho,)."""
        return (self.rho,)

    def _group(self, size: int) -> Self:
        return type(self)(size * size * self.rho)

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if isinstance(measure, RenyiOrder):
            return RDP(measure.alpha, measure.alpha * self.rho)
        if measure is ApproxZCDP:
            return ApproxZCDP(self.rho, delta or Fraction(0))
        if measure is ApproxDP:
            free = _needed(delta, self)
            return ApproxDP(conversions.zcdp_to_approx(self.rho, free), free)
        return None


@sealed
@attrs.frozen(order=False)
class ApproxZCDP(_Simple):
    """delta-approximate rho-zCDP (Bun, Steinke 2016, Definition 8.1)."""

    rho: Fraction = attrs.field(converter=_rho, repr=_quoted)
    delta: Fraction = attrs.field(converter=_delta, repr=_quoted)

    @property
    def parts(self) -> Parts:
        """(rho, delta)."""
        return (self.rho, self.delta)

    def of_parts(self, parts: Parts) -> Self:
        """The loss; a delta beyond one says no more than one."""
        return type(self)(parts[0], min(parts[1], Fraction(1)))

    def _group(self, size: int) -> Self:
        if self.delta == 0:
            return type(self)(size * size * self.rho, Fraction(0))
        raise ValueError(f"no group bound is proven for {self}; state the map at that d_in")

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if self.delta == 0 and measure is not ApproxZCDP:
            return ZCDP(self.rho).to(measure, delta)
        if measure is ApproxZCDP and delta is not None and self.delta <= delta:
            return ApproxZCDP(self.rho, delta)
        if measure is ApproxDP:
            # With probability 1 - delta0 the zCDP bound converts at the delta that is left.
            left = _needed(delta, self) - self.delta
            if not left > 0:
                raise ValueError(f"delta is {shown(_needed(delta, self))}; {self} needs more")
            return ApproxDP(conversions.zcdp_to_approx(self.rho, left), _needed(delta, self))
        return None


@sealed
@attrs.frozen(order=False)
class RDP(AdditiveLoss):
    """(alpha, epsilon)-Renyi differential privacy at a fixed order alpha > 1 (Mironov 2017).

    Of interactive mechanisms as in Haney et al. 2023, Definition 4.2.
    """

    alpha: Fraction = attrs.field(converter=_order, repr=_quoted)
    epsilon: Fraction = attrs.field(converter=_epsilon, repr=_quoted)

    @staticmethod
    def at(alpha: Number, *more: Number) -> ParametricMeasure:
        """The measure of Renyi privacy at one order, or at each of several at once."""
        if more:
            from queryable.losses.renyi import RenyiOrders

            return RenyiOrders((alpha, *more))
        return RenyiOrder(_order(alpha))

    @property
    def measure(self) -> Measure:
        """RDP at this order."""
        return RenyiOrder(self.alpha)

    @property
    def parts(self) -> Parts:
        """(epsilon,)."""
        return (self.epsilon,)

    def of_parts(self, parts: Parts) -> Self:
        """The loss of this order."""
        return type(self)(self.alpha, *parts)

    def room(self, parts: Parts) -> Self:
        """The same."""
        return self.of_parts(parts)

    def __le__(self, other: object) -> bool:
        if isinstance(other, RDP):  # across measures: a bound at a higher order holds at a lower
            return self.alpha >= other.alpha and self.epsilon <= other.epsilon
        return super().__le__(other)

    def _group(self, size: int) -> Self:
        raise ValueError(f"no group bound is proven for {self}; state the map at that d_in")

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if isinstance(measure, RenyiOrder) and measure.alpha <= self.alpha:
            return RDP(measure.alpha, self.epsilon)
        if measure is ApproxDP:
            free = _needed(delta, self)
            return ApproxDP(conversions.rdp_to_approx(self.alpha, self.epsilon, free), free)
        return None

    def __str__(self) -> str:
        return f"RDP(alpha={shown(self.alpha)}, epsilon={shown(self.epsilon)})"


@sealed
@attrs.frozen(order=False)
class GDP(_Simple):
    """mu-Gaussian differential privacy (Dong, Roth, Su 2022)."""

    mu: Fraction = attrs.field(converter=_mu, repr=_quoted)

    @property
    def parts(self) -> Parts:
        """(mu squared,)."""
        return (self.mu**2,)

    def of_parts(self, parts: Parts) -> Self:
        """mu is the square root, rounded up."""
        return type(self)(sqrt_up(parts[0]))

    def room(self, parts: Parts) -> Self:
        """mu is the square root, rounded down."""
        return type(self)(sqrt_down(parts[0]))

    def _group(self, size: int) -> Self:
        return type(self)(size * self.mu)

    def delta(self, epsilon: Number) -> Fraction:
        """The least delta (from above) of (epsilon, delta)-DP."""
        return conversions.gdp_delta(self.mu, exact(epsilon, "epsilon"))

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if measure is ApproxDP:
            free = _needed(delta, self)
            return ApproxDP(conversions.gdp_to_approx(self.mu, free), free)
        # A pair above G_mu is a postprocessing of N(0,1), N(mu,1) (Blackwell 1951; Dong et al.
        # 2022, Theorem 2), and postprocessing does not increase Renyi divergences.
        return ZCDP(self.mu**2 / 2).to(measure, delta)


def _needed(delta: Fraction | None, loss: Loss) -> Fraction:
    if delta is None or not delta > 0:
        raise ValueError(
            f"{loss} gives an (epsilon, delta) bound for each delta > 0; say delta=..."
        )
    return delta


def group_size(d_in: int, unit: int) -> int:
    """How many steps of `unit` records lead from a dataset to one `d_in` records away."""
    return -(-natural(d_in, "d_in") // unit)
