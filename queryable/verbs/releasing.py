"""Releases of statistics: what the handle has for them.

Responsible for choosing what a release launches: the measurement that a statistic has for the
measure of a filter.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from queryable.answers.released import Released
from queryable.errors import QueryError, UnknownQueryError
from queryable.faults import named
from queryable.losses import Loss
from queryable.losses.numbers import Number
from queryable.mechanism import Measurement
from queryable.messages import Launch, MeasureQuery, Query, Stated
from queryable.statistics import Releasable
from queryable.streams.blocks import BlockName, Last
from queryable.verbs.over_blocks import OverBlocks


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


class Releasing(OverBlocks):
    """The method of `Queryable` that chooses the noise for a statistic."""

    __slots__ = ()

    @abstractmethod
    def ask(self, query: Query) -> Any:
        """The answer to a query; see `Queryable.ask`."""

    def release(
        self,
        statistic: Releasable,
        *,
        within: Number | None = None,
        confidence: Number | None = "0.95",
        loss: Loss | None = None,
        name: str | None = None,
        blocks: Sequence[BlockName] | Last | None = None,
    ) -> Released:
        """Release a statistic of a table, with the noise that fits the budget's measure.

        The answer has the estimate, its keys and its confidence intervals. State either how
        accurate it should be or what it may cost; the charge is stated for the budget's own `d_in`.

        Args:
            statistic: a statistic of a table, such as `Count()` or `table.mean("age", 0, 100)`.
            within: the half-width of the confidence interval of each number, in the estimate's own
                units. The cheapest noise that reaches it is added.
            confidence: the confidence of `within`. For quantiles it is that of their intervals,
                and None leaves them out.
            loss: what the release may lose at most, in the budget's measure, or in another one from
                which a theorem leads there. `ZCDP(..)` stands for Gaussian noise, `PureDP(..)` for
                Laplace noise.
            name: as for `launch`: under a name that was used before, the same answer is returned.
            blocks: the blocks of the data to read, as for `launch_over`.

        Raises: as `launch`, and
            QueryError: an argument is wrong; nothing has been read or charged.

        Examples:
            >>> from composition import budget
            >>> from mechanisms import Count, column
            >>> from queryable import Queryable
            >>> table = Queryable(budget(epsilon=1, delta="1e-6"), {"age": [31, 47, 62] * 100})
            >>> old = table.release(Count(column("age") >= 40), within=20)
            >>> low, high = old.interval(0.95)
            >>> high - low
            40
        """
        require_one_aim(within, loss)
        require_releasable(statistic)
        measurement = chosen(statistic, self._stated(), within, confidence, loss)
        if blocks is not None:
            return self.launch_over(measurement, blocks, name=name)
        released: Released = self._launched(Launch(measurement), name)
        return released

    def _stated(self) -> Any:
        """The answer to `MeasureQuery`, or None."""
        try:
            return self.ask(MeasureQuery())
        except UnknownQueryError:
            return None
