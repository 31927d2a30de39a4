"""What a release launches: the measurement that a statistic chooses for a filter's measure."""

from typing import Any

from queryable.errors import QueryError
from queryable.faults import named
from queryable.losses import Loss
from queryable.losses.numbers import Number
from queryable.mechanism import Measurement
from queryable.messages import Stated
from queryable.released import Released
from queryable.statistics import Releasable


def require_one_aim(within: Any, loss: Any) -> None:
    """Check that exactly one of the two is given.

    Raises:
        QueryError: none or both are.
    """
    if (within is None) == (loss is None):
        raise QueryError(
            "give exactly one of within, how accurate the answer should be, and loss, what it "
            "may cost"
        )


def require_releasable(statistic: Any) -> None:
    """Check that it is a statistic.

    Raises:
        QueryError: it is not.
    """
    if not isinstance(statistic, Releasable):
        raise QueryError(
            "release a statistic, such as Count(), and launch a mechanism: this is "
            f"{named(statistic)}"
        )


def chosen(
    statistic: Releasable,
    stated: Any,
    within: Number | None,
    confidence: Number | None,
    loss: Loss | None,
) -> Measurement[Released]:
    """The measurement to launch; see `Queryable.release`.

    Args:
        stated: the answer to `MeasureQuery`, None if there was none.

    Raises:
        QueryError: an argument does not fit, or nothing launches here.
    """
    if not isinstance(stated, Stated):
        raise QueryError("release from a filter, such as FiltCon(budget): nothing launches here")
    try:
        return statistic.measurement(
            stated.measure, stated.d_in, within=within, confidence=confidence, loss=loss
        )
    except (TypeError, ValueError, ArithmeticError) as error:
        raise QueryError(str(error)) from None
