"""Reading ahead: data that can read once for several statistics, whose evaluation was paid for."""

from collections.abc import Sequence
from typing import Any

from queryable.data.growing import Growing
from queryable.errors import MechanismFault
from queryable.faults import interrupted, touching_data


def read_ahead(dataset: Any, statistics: Sequence[Any]) -> None:
    """Let a data set `prepare` several statistics, whose evaluation has been paid for.

    If that fails, each is evaluated on its own. The curator gets the exception.

    Raises:
        MechanismFault: an interrupt arrived, so nothing more should be evaluated.
    """
    if len(statistics) > 1 and isinstance(dataset, Growing):
        try:
            touching_data(lambda: dataset.prepare(statistics))
        except MechanismFault:
            if interrupted():
                raise
