"""Messages of the mechanisms that refine estimates: Open, Refine, Until, Latest."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.refinement.estimate import Estimate
from queryable.errors import QueryError
from queryable.losses.numbers import positive


@attrs.frozen
class Open:
    """Open an estimate of an integer statistic; costs nothing.

    `schedule`: falling variances, for `Refine()` and `Until(condition)`. Answers a child.
    """

    statistic: Any
    schedule: Any = None


@attrs.frozen
class Refine:
    """Refine an estimate to a target variance, or to the next of its schedule.

    Answers an `Estimate`.
    """

    to: Any = None


@attrs.frozen
class Until:
    """Refine an estimate along a schedule, until a condition holds of it or the schedule ends.

    `condition`: a function of an `Estimate` to a bool, such as `RelativeError("1/10")`. It is tried
    first on the estimate as it stands. `schedule`: by default the estimate's own; entries that are
    not finer than it is by now are passed over. Answers a `Stopped`, or where the condition raises
    or gives no bool an `Undecided`, which the handle raises: what was paid for is kept.
    """

    condition: Any
    schedule: Any = None


@attrs.frozen
class Latest:
    """Ask for an estimate as it stands; costs nothing."""


def target_of(value: Any, name: str = "the target") -> Fraction:
    """Read a target.

    Raises:
        QueryError: not a positive number.
    """
    try:
        return positive(value, name)
    except (TypeError, ValueError) as error:
        raise QueryError(str(error)) from None


def holds(condition: Callable[[Estimate], Any], estimate: Estimate) -> bool:
    """The condition, of the analyst's own making, on a public estimate.

    Raises:
        QueryError: it raises, or does not decide.
    """
    try:
        decision = condition(estimate)
    except Exception as error:
        raise QueryError(f"the condition raised {type(error).__name__}{_text(error)}") from None
    if not isinstance(decision, bool | np.bool_):
        raise QueryError(f"the condition gave {type(decision).__name__}; it should give a bool")
    return bool(decision)


def _text(error: Exception) -> str:
    try:
        return f": {error}"
    except Exception:  # what was paid for is not lost for a text
        return ""
