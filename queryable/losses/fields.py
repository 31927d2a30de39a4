"""Converters for attrs fields that hold privacy parameters: one reader for each parameter.

Each reads a number exactly, and names the parameter in its error.
"""

from fractions import Fraction
from typing import Any

from queryable.losses.numbers import exact, positive, probability, shown


def read_epsilon(value: Any) -> Fraction:
    """Read an epsilon >= 0."""
    return exact(value, "epsilon")


def read_positive_epsilon(value: Any) -> Fraction:
    """Read an epsilon > 0."""
    return positive(value, "epsilon")


def read_rho(value: Any) -> Fraction:
    """Read a rho >= 0."""
    return exact(value, "rho")


def read_mu(value: Any) -> Fraction:
    """Read a mu >= 0."""
    return exact(value, "mu")


def read_delta(value: Any) -> Fraction:
    """Read a delta in [0, 1]."""
    return probability(value, "delta")


def read_order(value: Any) -> Fraction:
    """Read a Renyi order alpha > 1."""
    alpha = positive(value, "alpha")
    if not alpha > 1:
        raise ValueError(f"alpha is {shown(alpha)}; a Renyi order should be above 1")
    return alpha


def quoted_exactly(value: Fraction) -> str:
    """Return the exact number as a quoted string, such as '1/3', for a `repr`."""
    return repr(str(value))
