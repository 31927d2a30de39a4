"""Messages of the mechanisms that refine estimates: `Open`, `Refine`, `Until`, `Latest`."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.refinement.estimate import Refined
from queryable.errors import QueryError
from queryable.losses.numbers import positive
from queryable.wording.quoting import quoted


@attrs.frozen
class Open:
    """Open an estimate of an integer statistic. Costs nothing. Answers a child.

    `schedule`: falling variances, for `Refine()` and `Until(condition)`.
    """

    statistic: Any
    schedule: Any = None


@attrs.frozen
class Refine:
    """Refine an estimate to a target variance, or to the next one of its schedule.

    Answers a `Refined`.
    """

    to: Any = None

    @property
    def target(self) -> str:
        """What it refines to, in words; empty for the next step."""
        return "" if self.to is None else f"variance {quoted(self.to)}"


@attrs.frozen
class Until:
    """Refine an estimate along a schedule until a condition holds or the schedule ends.

    `condition`: a function from a `Refined` to a bool, such as `RelativeError("1/10")`. It is
    first tried on the current estimate. `schedule`: by default the estimate's own; entries that are
    not finer than the current estimate are skipped. Answers a `Stopped`. If the condition raises or
    returns no bool, answers an `Undecided`, which the handle raises; the estimate that has been
    paid for is kept.
    """

    condition: Any
    schedule: Any = None

    @property
    def target(self) -> str:
        """What it refines to, in words: the condition's text, or the name of a function."""
        return getattr(self.condition, "__name__", None) or str(self.condition)


@attrs.frozen
class Latest:
    """Ask for the current estimate. Costs nothing."""


def target_of(value: Any, name: str = "the target") -> Fraction:
    """Read a target as a fraction.

    Raises:
        QueryError: it is not a positive number.
    """
    try:
        return positive(value, name)
    except (TypeError, ValueError) as error:
        raise QueryError(str(error)) from None


def holds(condition: Callable[[Refined], Any], estimate: Refined) -> bool:
    """Whether the analyst's condition holds for an estimate, which is public.

    Raises:
        QueryError: the condition raised, or returned no bool.
    """
    try:
        decision = condition(estimate)
    except Exception as error:
        raise QueryError(f"the condition raised {type(error).__name__}{_text(error)}") from None
    if not isinstance(decision, bool | np.bool_):
        raise QueryError(f"the condition gave {type(decision).__name__}; it should return a bool")
    return bool(decision)


def _text(error: Exception) -> str:
    try:
        return f": {error}"
    except Exception:  # an estimate that is paid for is not lost because a text cannot be made
        return ""
