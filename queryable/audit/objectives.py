"""Objectives of the search for the worst adversary: divergences that are sums over views.

An objective has a term for each complete view and converts the total to a divergence. A term
f(p, q) takes the probabilities of the view under x and under x'. It is homogeneous:
f(c*p, c*q) = c*f(p, q). Therefore a search can normalise beliefs. `MaxDivergence` is an exception:
a maximum over views of a scale-invariant function. This module does not depend on mechanisms or
adversaries.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from math import inf
from typing import Any, ClassVar

import attrs
from flint import arb

from queryable.audit.divergences import factor_below
from queryable.losses.conversions import log_up
from queryable.losses.fields import read_epsilon, read_order
from queryable.losses.numbers import round_up


class Unbounded(Exception):  # noqa: N818 (a result rather than an error)
    """A term is infinite, so the divergence is infinite."""


class Divergence(ABC):
    """A sum over views of a homogeneous function of their probabilities under x and x'."""

    additive: ClassVar[bool] = True
    """Whether the divergence is a sum; if not, it is the maximum of a scale-invariant function."""

    @abstractmethod
    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """Return the term of one complete view, rounded up if it is irrational.

        Raises:
            Unbounded: the term is infinite.
        """

    @abstractmethod
    def value(self, total: Fraction) -> Fraction | float:
        """Return the divergence, given the total of the terms."""


@attrs.frozen
class HockeyStick(Divergence):
    """The hockey-stick divergence: the least delta at epsilon."""

    epsilon: Fraction = attrs.field(converter=read_epsilon)

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """Return max(0, p - e^epsilon q)."""
        return max(Fraction(0), p - factor_below(self.epsilon) * q)

    def value(self, total: Fraction) -> Fraction:
        """Return the total."""
        return total


@attrs.frozen
class Renyi(Divergence):
    """The Renyi divergence of order alpha > 1; terms are exact for integers up to 32."""

    alpha: Fraction = attrs.field(converter=read_order)

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """Return p^alpha / q^(alpha-1)."""
        if p == 0:
            return Fraction(0)
        if q == 0:
            raise Unbounded
        if self.alpha.denominator == 1 and self.alpha <= _LARGEST_EXACT:
            power = int(self.alpha)
            return p**power / q ** (power - 1)
        return self.rounded(lambda x, y, s: x * (x / y) ** s, p, q, self.alpha - 1)

    def value(self, total: Fraction) -> Fraction:
        """Return log(total) / (alpha - 1), rounded up."""
        return max(Fraction(0), self.rounded(lambda m, s: m.log() / s, total, self.alpha - 1))

    def rounded(self, formula: Callable[..., arb], *arguments: Fraction) -> Fraction:
        """Evaluate the formula, rounded up."""
        return round_up(formula, *arguments)


_LARGEST_EXACT = 32


@attrs.frozen
class MaxDivergence(Divergence):
    """The largest log-likelihood ratio of a view: the least epsilon of pure DP.

    It is a maximum over views, not a sum: its terms are scale-invariant.
    """

    additive = False

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """Return p/q."""
        if p == 0:
            return Fraction(0)
        if q == 0:
            raise Unbounded
        return p / q

    def value(self, total: Fraction) -> Fraction:
        """Return the logarithm of the largest ratio, rounded up."""
        return log_up(max(Fraction(1), total))


@attrs.frozen
class Settled(Divergence):
    """The probability under x of views that are impossible under x'."""

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """Return p if q is 0, otherwise 0."""
        return p if q == 0 else Fraction(0)

    def value(self, total: Fraction) -> Fraction:
        """Return the total."""
        return total


@attrs.frozen
class Summed(Divergence):
    """A user's function of two laws that is declared to be a sum over views."""

    function: Callable[[Any, Any], Any]

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """Return the function of two laws that contain a single view."""
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
        """Return the total."""
        return total

    def require_sum(self, p: Any, q: Any, total: Fraction | float) -> None:
        """Check that the function of the complete laws equals the total of the terms.

        Raises:
            ValueError: they differ, so the function is not a sum over views.
        """
        try:
            whole = self.function(p, q)
        except ZeroDivisionError:
            whole = inf
        infinite = inf in (whole, total)
        if not (whole == total if infinite else abs(Fraction(whole) - Fraction(total)) <= _CLOSE):
            raise ValueError(
                "use HockeyStick(epsilon) or Renyi(alpha); this divergence is not a sum over views"
            )


_CLOSE = Fraction(1, 10**12)
