"""What a search for the worst adversary maximises: divergences that are sums over views.

Responsible for the terms of such sums and for what the total means. A term f(p, q), of the chances
of one complete view under x and under x', is homogeneous: f(c*p, c*q) = c*f(p, q). That is what
lets a search solve beliefs up to a factor. One is no sum but the largest of a function that no
factor changes. Knows no mechanism and no adversary.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from math import inf
from typing import Any, ClassVar

import attrs
from flint import arb

from queryable.audit.divergences import factor_below
from queryable.conversions import log_up
from queryable.numbers import exact, round_up


class Unbounded(Exception):  # noqa: N818 (an answer, more than an error)
    """A term is infinite, and with it the divergence."""


class Divergence(ABC):
    """A sum over views of a homogeneous function of the chances under x and under x'."""

    additive: ClassVar[bool] = True
    """Whether it is such a sum; else the largest of a function that is the same for any scale."""

    @abstractmethod
    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """What one complete view adds; from above where it is irrational.

        Raises:
            Unbounded: infinitely much.
        """

    @abstractmethod
    def value(self, total: Fraction) -> Fraction | float:
        """The divergence, of the sum of the terms."""


def _epsilon(value: Any) -> Fraction:
    return exact(value, "epsilon")


@attrs.frozen
class HockeyStick(Divergence):
    """The least delta at epsilon."""

    epsilon: Fraction = attrs.field(converter=_epsilon)

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """(p - e^epsilon q), where positive."""
        return max(Fraction(0), p - factor_below(self.epsilon) * q)

    def value(self, total: Fraction) -> Fraction:
        """The sum."""
        return total


def _order(value: Any) -> Fraction:
    order = exact(value, "alpha")
    if not order > 1:
        raise ValueError(f"alpha is {value}; a Renyi order should be above 1")
    return order


@attrs.frozen
class Renyi(Divergence):
    """The Renyi divergence of an order above 1; its terms are rational for small integers."""

    alpha: Fraction = attrs.field(converter=_order)

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """p^alpha / q^(alpha-1)."""
        if p == 0:
            return Fraction(0)
        if q == 0:
            raise Unbounded
        if self.alpha.denominator == 1 and self.alpha <= _LARGEST_EXACT:
            power = int(self.alpha)
            return p**power / q ** (power - 1)
        return self.rounded(lambda x, y, s: x * (x / y) ** s, p, q, self.alpha - 1)

    def value(self, total: Fraction) -> Fraction:
        """Its logarithm over alpha - 1."""
        return max(Fraction(0), self.rounded(lambda m, s: m.log() / s, total, self.alpha - 1))

    def rounded(self, formula: Callable[..., arb], *arguments: Fraction) -> Fraction:
        """From above."""
        return round_up(formula, *arguments)


_LARGEST_EXACT = 32


@attrs.frozen
class MaxDivergence(Divergence):
    """The largest log-likelihood ratio of a view: the least epsilon of pure privacy.

    A maximum over views and no sum: its terms do not grow with the mass.
    """

    additive = False

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """p/q."""
        if p == 0:
            return Fraction(0)
        if q == 0:
            raise Unbounded
        return p / q

    def value(self, total: Fraction) -> Fraction:
        """The logarithm of the largest ratio, from above."""
        return log_up(max(Fraction(1), total))


@attrs.frozen
class Settled(Divergence):
    """The chance under x of views that cannot occur under x'."""

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """All of it, or nothing."""
        return p if q == 0 else Fraction(0)

    def value(self, total: Fraction) -> Fraction:
        """The sum."""
        return total


@attrs.frozen
class Summed(Divergence):
    """A user's function of two laws, said to be a sum over views."""

    function: Callable[[Any, Any], Any]

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """The function of laws with a single view."""
        try:
            found = self.function({0: p}, {0: q})
        except ZeroDivisionError:
            if q:
                raise
            found = inf
        if found == inf:
            raise Unbounded
        return Fraction(found)

    def value(self, total: Fraction) -> Fraction:
        """The sum."""
        return total

    def require_sum(self, p: Any, q: Any, total: Fraction | float) -> None:
        """Check a value against the function of the whole laws.

        Raises:
            ValueError: they differ, so the function is no sum over views.
        """
        try:
            whole = self.function(p, q)
        except ZeroDivisionError:
            whole = inf
        infinite = inf in (whole, total)
        if not (whole == total if infinite else abs(Fraction(whole) - Fraction(total)) <= _CLOSE):
            raise ValueError(
                "the divergence is not a sum over views; use HockeyStick(epsilon) or Renyi(alpha)"
            )


_CLOSE = Fraction(1, 10**12)
