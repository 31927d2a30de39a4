"""The measures with one theorem-backed class each: pure, approximate, concentrated and Gaussian DP.

Each class states its order, its additive composition and its conversions. The formulas are in
`conversions`.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self, TypeVar

import attrs

from queryable.losses import conversions
from queryable.losses.fields import (
    quoted_exactly,
    read_delta,
    read_epsilon,
    read_mu,
    read_rho,
)
from queryable.losses.loss import (
    AdditiveLoss,
    Loss,
    Measure,
    Parts,
    add_parts,
    genuine,
    measure_name,
    required_delta,
    sealed,
    stated_in,
)
from queryable.losses.numbers import Number, exact, named, several, shown, sqrt_down, sqrt_up
from queryable.wording.quoting import quoted


def zero_of(measure: Measure) -> Loss:
    """Return the least loss of a measure."""
    return PureDP(Fraction(0)).to(measure)


def total(losses: Iterable[Loss], measure: Measure) -> Loss:
    """Return the composition of losses of one measure that are fixed in advance."""
    composed = zero = zero_of(measure)
    parts = zero.parts if isinstance(zero, AdditiveLoss) else ()
    for loss in several(losses, "losses"):
        if not stated_in(loss, measure):
            raise TypeError(f"{quoted(loss)} is not a value of {measure_name(measure)}")
        if isinstance(loss, AdditiveLoss):
            parts = add_parts(parts, loss.parts)  # exact: rounded once, at the end
        else:
            composed = composed.compose(loss)
    return zero.of_parts(parts) if isinstance(zero, AdditiveLoss) else composed


class _Simple(AdditiveLoss):
    """A loss class that is its own measure; its fields are its parts unless it says otherwise."""

    @property
    def measure(self) -> "Measure":
        return type(self)

    def of_parts(self, parts: Parts) -> Self:
        return type(self)(*parts)

    def room(self, parts: Parts) -> Self:
        return self.of_parts(parts)

    def __str__(self) -> str:
        names = [field.name for field in attrs.fields(type(self))]  # type: ignore[arg-type]
        values = ", ".join(named(name, getattr(self, name)) for name in names)
        return f"{type(self).__name__}({values})"


class _OneNumber(_Simple):
    """A loss that is one number, in which larger budgets of other measures can be expressed."""

    @classmethod
    def within(cls, budget: Loss) -> Self:
        """Return the largest loss of this measure that keeps within a budget of another measure.

        "Which rho is epsilon = 1 at delta = 1e-6?" is `ZCDP.within(ApproxDP(1, "1e-6"))`. The
        result is rounded down, and its conversion to the measure of `budget` is at most `budget`.
        `composition.budget` keeps a part of delta back: `table.remaining()` is what it admits.

        Raises:
            ValueError: no theorem converts this measure to that of `budget`.
        """
        if not isinstance(budget, Loss) or not genuine(budget):
            raise TypeError(
                f"budget is {quoted(budget)}; it should be a loss, such as ApproxDP(1, '1e-6')"
            )
        return budget if isinstance(budget, cls) else _largest(cls, budget)


Scalar = TypeVar("Scalar", bound=_OneNumber)


@lru_cache(maxsize=256)
def _largest(kind: type[Scalar], budget: Loss) -> Scalar:
    delta = budget.delta if isinstance(budget, ApproxDP | ApproxZCDP) else None
    if isinstance(budget, ApproxDP) and not delta and kind is not PureDP:
        raise ValueError(
            f"give a delta above 0, such as ApproxDP({shown(budget.epsilon)}, '1e-6'): no "
            f"{kind.__name__} above 0 implies epsilon alone"
        )

    def of(value: Fraction) -> Scalar:
        return kind(value)  # type: ignore[call-arg]  # its only field

    parts = budget.parts if isinstance(budget, AdditiveLoss) else ()
    first = next((part for part in parts if part), Fraction(1))  # found exactly if it is the result
    return of(
        conversions.greatest(lambda value: of(value).to(budget.measure, delta) <= budget, first)
    )


@sealed
@attrs.frozen(order=False)
class PureDP(_OneNumber):
    """epsilon-differential privacy (Dwork, McSherry, Nissim, Smith 2006). epsilon is in nats."""

    epsilon: Fraction = attrs.field(converter=read_epsilon, repr=quoted_exactly)

    @property
    def parts(self) -> Parts:
        """(epsilon,)."""
        return (self.epsilon,)

    def _group(self, size: int) -> Self:
        return type(self)(size * self.epsilon)

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if measure is ApproxDP:
            return ApproxDP(self.epsilon, Fraction(0)).to(measure, delta)
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
    """(epsilon, delta)-differential privacy (Dwork et al. 2006). epsilon is in nats.

    For interactive mechanisms it is Haney et al. 2023, Definition 1.7.
    """

    takes_delta: ClassVar[bool] = True

    epsilon: Fraction = attrs.field(converter=read_epsilon, repr=quoted_exactly)
    delta: Fraction = attrs.field(converter=read_delta, repr=quoted_exactly)

    @property
    def parts(self) -> Parts:
        """(epsilon, delta)."""
        return (self.epsilon, self.delta)

    def of_parts(self, parts: Parts) -> Self:
        """Return the loss. A delta above 1 becomes 1, which is an equivalent claim."""
        return type(self)(parts[0], min(parts[1], Fraction(1)))

    def _group(self, size: int) -> Self:
        grown = conversions.group_delta(self.epsilon, self.delta, size)
        return type(self)(size * self.epsilon, grown)

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if self.delta == 0 and measure is not ApproxDP:
            return PureDP(self.epsilon).to(measure, delta)
        if measure is ApproxDP and delta is not None and self.delta <= delta:
            stated = conversions.response_to_approx(self.epsilon, self.delta, delta)
            return ApproxDP(stated, delta)
        if measure is ApproxZCDP and (delta is None or self.delta <= delta):
            rho = conversions.pure_to_zcdp(self.epsilon)
            return ApproxZCDP(rho, self.delta if delta is None else delta)
        return None


@sealed
@attrs.frozen(order=False)
class ZCDP(_OneNumber):
    """rho-zero-concentrated differential privacy, rho-zCDP (Bun, Steinke 2016).

    The Renyi divergence of every order alpha > 1 is at most rho*alpha nats. For interactive
    mechanisms it is Haney et al. 2023, Definition 4.4.
    """

    rho: Fraction = attrs.field(converter=read_rho, repr=quoted_exactly)

    @property
    def parts(self) -> Parts:
        """(rho,)."""
        return (self.rho,)

    def _group(self, size: int) -> Self:
        return type(self)(size * size * self.rho)

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if measure is ApproxZCDP:
            return ApproxZCDP(self.rho, delta or Fraction(0))
        if measure is ApproxDP:
            chosen = required_delta(delta, self)
            return ApproxDP(conversions.zcdp_to_approx(self.rho, chosen), chosen)
        return None


@sealed
@attrs.frozen(order=False)
class ApproxZCDP(_Simple):
    """delta-approximate rho-zCDP (Bun, Steinke 2016, Definition 8.1)."""

    takes_delta: ClassVar[bool] = True

    rho: Fraction = attrs.field(converter=read_rho, repr=quoted_exactly)
    delta: Fraction = attrs.field(converter=read_delta, repr=quoted_exactly)

    @property
    def parts(self) -> Parts:
        """(rho, delta)."""
        return (self.rho, self.delta)

    def of_parts(self, parts: Parts) -> Self:
        """Return the loss. A delta above 1 becomes 1, which is an equivalent claim."""
        return type(self)(parts[0], min(parts[1], Fraction(1)))

    def _group(self, size: int) -> Self:
        if self.delta == 0:
            return type(self)(size * size * self.rho, Fraction(0))
        return super()._group(size)

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if self.delta == 0 and measure is not ApproxZCDP:
            return ZCDP(self.rho).to(measure, delta)
        if measure is ApproxZCDP and delta is not None and self.delta <= delta:
            return ApproxZCDP(self.rho, delta)
        if measure is ApproxDP:
            # The zCDP bound holds with probability 1 - self.delta; it converts at what is left.
            chosen = required_delta(delta, self)
            left = chosen - self.delta
            if not left > 0:
                raise ValueError(f"delta is {shown(chosen)}; {self} needs more")
            return ApproxDP(conversions.zcdp_to_approx(self.rho, left), chosen)
        return None


@sealed
@attrs.frozen(order=False)
class GDP(_OneNumber):
    """mu-Gaussian differential privacy (Dong, Roth, Su 2022).

    Telling two neighbouring datasets apart is no easier than telling N(0, 1) from N(mu, 1).
    """

    mu: Fraction = attrs.field(converter=read_mu, repr=quoted_exactly)

    @property
    def parts(self) -> Parts:
        """(mu squared,)."""
        return (self.mu**2,)

    def of_parts(self, parts: Parts) -> Self:
        """Return the loss; mu is the square root, rounded up."""
        return type(self)(sqrt_up(parts[0]))

    def room(self, parts: Parts) -> Self:
        """Return the loss; mu is the square root, rounded down."""
        return type(self)(sqrt_down(parts[0]))

    def _group(self, size: int) -> Self:
        return type(self)(size * self.mu)

    def delta(self, epsilon: Number) -> Fraction:
        """Return the least delta, rounded up, with which (epsilon, delta)-DP holds."""
        return conversions.gdp_delta(self.mu, exact(epsilon, "epsilon"))

    def _to(self, measure: Measure, delta: Fraction | None) -> Loss | None:
        if measure is ApproxDP:
            chosen = required_delta(delta, self)
            return ApproxDP(conversions.gdp_to_approx(self.mu, chosen), chosen)
        # A pair above G_mu is a postprocessing of N(0,1), N(mu,1) (Blackwell 1951; Dong et al.
        # 2022, Theorem 2), and postprocessing does not increase Renyi divergences.
        return ZCDP(self.mu**2 / 2).to(measure, delta)
