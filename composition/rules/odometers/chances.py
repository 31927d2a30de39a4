"""Reads the probabilities that an odometer is given."""

from fractions import Fraction
from typing import Any

from queryable.losses.numbers import positive, probability


def open_unit(value: Any, name: str) -> Fraction:
    """Read a probability that is neither 0 nor 1.

    Raises:
        ValueError: it is not one.
    """
    chance = positive(probability(value, name), name)
    if chance == 1:
        raise ValueError(f"{name} is 1; it should be below 1")
    return chance


def read_delta(value: Any) -> Fraction:
    """Read the probability that a bound fails."""
    return open_unit(value, "delta")


def read_deltas(value: Any) -> Fraction | None:
    """Read the share of the children's deltas, which may be left out."""
    return None if value is None else open_unit(value, "deltas")


def read_margin(value: Any) -> Fraction | None:
    """Read the margin for these, which may be left out."""
    return None if value is None else positive(value, "margin")
