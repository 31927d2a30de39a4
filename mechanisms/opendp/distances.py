"""Losses as distances of OpenDP, and its distances as losses.

Responsible for which of its measures and metrics are ours; docs/theory.md, measures and metrics of
OpenDP, has the proofs. A float is the rational number that it is, not the shortest decimal that is
read as it. A loss that is no float becomes the next float above it.
"""

from fractions import Fraction
from math import inf, isfinite, nextafter
from typing import Any

from queryable.losses import ZCDP, ApproxDP, ApproxZCDP, Loss, PureDP
from queryable.wording.quoting import quoted

STATED: tuple[type[Loss], ...] = (PureDP, ZCDP, ApproxDP, ApproxZCDP)
"""The measures that OpenDP has too."""


def theirs_of(kind: type[Loss]) -> Any:
    """OpenDP's measure for one of `STATED`."""
    from opendp import measures

    approximate = kind in (ApproxDP, ApproxZCDP)
    pure = kind in (PureDP, ApproxDP)
    exact = measures.max_divergence() if pure else measures.zero_concentrated_divergence()
    return measures.approximate(exact) if approximate else exact


def ours_of(measure: Any) -> type[Loss]:
    """Our measure for one of OpenDP's.

    Raises:
        TypeError: there is none.
    """
    found = next((kind for kind in STATED if measure == theirs_of(kind)), None)
    if found is None:
        raise TypeError(
            f"its output measure is {quoted(measure)}; it should be MaxDivergence, "
            "ZeroConcentratedDivergence, or Approximate of one of them, which make_fix_delta gives "
            "for a privacy profile"
        )
    return found


def is_ordered(metric: Any) -> bool:
    """Whether an input metric looks at the order of records.

    Raises:
        TypeError: it is none of single records that are added and removed.
    """
    from opendp import metrics

    if metric == metrics.symmetric_distance():
        return False
    if metric == metrics.insert_delete_distance():
        return True
    raise TypeError(
        f"its input metric is {quoted(metric)}; it should be SymmetricDistance or "
        "InsertDeleteDistance: losses here are about records that are added or removed"
    )


def loss_of(kind: type[Loss], distance: Any) -> Loss:
    """A distance of OpenDP as a loss, exactly.

    Raises:
        ValueError: it is no finite number, or negative.
    """
    parts = distance if isinstance(distance, tuple) else (distance,)
    if not all(isinstance(each, float) and isfinite(each) and each >= 0 for each in parts):
        raise ValueError(f"its privacy map gave {quoted(distance)}, not finite numbers >= 0")
    return kind(*map(Fraction, parts))


def distance_of(loss: Any) -> float | tuple[float, ...]:
    """A loss of one of `STATED` as a distance of OpenDP, rounded up."""
    parts = tuple(map(float_above, loss.parts))
    return parts if len(parts) > 1 else parts[0]


def float_above(value: Fraction) -> float:
    """The least float at or above a number."""
    try:
        near = float(value)
    except OverflowError:
        return inf
    return near if not Fraction(near) < value else nextafter(near, inf)
