"""What a search for the worst adversary maximises: divergences that are sums over views.

Responsible for the terms of such sums and for what the total means. A term f(p, q), of the chances
of one complete view under x and under x', is homogeneous: f(c*p, c*q) = c*f(p, q). That is what
lets a search solve beliefs up to a factor. Knows no mechanism and no adversary.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from math import inf
from typing import Any

import attrs

from queryable.audit.divergences import factor_below
from queryable.numbers import exact, round_up


class Unbounded(Exception):  # noqa: N818 (an answer, more than an error)
    """A term is infinite, and with it the divergence."""


class Divergence(ABC):
    """A sum over views of a homogeneous function of the chances under x and under x'."""

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


@attrs.frozen
class Renyi(Divergence):
    """The Renyi divergence of an integer order above 1, whose terms are rational."""

    alpha: int = attrs.field(validator=attrs.validators.instance_of(int))

    @alpha.validator
    def _above_one(self, attribute: object, alpha: int) -> None:
        if not alpha > 1:
            raise ValueError(f"alpha is {alpha}; it should be an integer above 1")

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """p^alpha / q^(alpha-1)."""
        if p == 0:
            return p
        if q == 0:
            raise Unbounded
        return p**self.alpha / q ** (self.alpha - 1)

    def value(self, total: Fraction) -> Fraction:
        """Its logarithm over alpha - 1, from above."""
        return max(Fraction(0), round_up(lambda m: m.log() / (self.alpha - 1), total))


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
