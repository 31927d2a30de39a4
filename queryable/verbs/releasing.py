"""Releases of statistics: what the handle has for them.

Responsible for choosing what a release launches: the measurement that a statistic has for the
measure of a filter.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from queryable.answers.released import Released
from queryable.checks.affordable import in_digits, least_within, measurement_of
from queryable.errors import QueryError, QueryRefusedError, UnknownQueryError
from queryable.faults import named
from queryable.losses import Loss
from queryable.losses.numbers import Number
from queryable.mechanism import Measurement
from queryable.messages import CanAfford, MeasureQuery, Query, RemainingQuery, Stated
from queryable.statistics import Releasable
from queryable.streams.blocks import BlockName, Last
from queryable.verbs.over_blocks import OverBlocks, launch_of


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
        return measurement_of(statistic, stated, within=within, confidence=confidence, loss=loss)
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
        confidence: Number | None = None,
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
            confidence: the confidence of `within`, by default 0.95. A quantile has an interval only
                if it is given; the interval takes four fifths of the loss from the estimate.
            loss: what the release may lose at most, in the budget's measure, or in another one from
                which a theorem leads there. `ZCDP(..)` stands for Gaussian noise, `PureDP(..)` for
                Laplace noise. `table.remaining()` is all that is left.
            name: as for `launch`: under a name that was used before, the same answer is returned.
            blocks: the blocks of the data to read, as for `launch_over`.

        Raises: as `launch`, and
            QueryError: an argument is wrong; nothing has been read or charged.
            QueryRefusedError: the budget does not pay for it; says which `within` would fit now.

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
        stated = self._stated()
        measurement = chosen(statistic, stated, within, confidence, loss)
        try:
            released: Released = self._launched(launch_of(measurement, blocks), name)
        except QueryRefusedError as refusal:
            fits = self._what_fits(statistic, stated, within, confidence, blocks)
            if not fits:
                raise
            raise refusal.advised(fits) from None
        return released

    def remaining(self, *, blocks: Sequence[BlockName] | Last | None = None) -> Loss:
        """What the budget still permits: the largest loss of one more launch.

        It is stated in the measure that launches state their loss in, and rounded down, so
        `release(statistic, loss=table.remaining())` is admitted, and uses what is left. Under
        `budget(epsilon, delta)` that is a rho, and the delta of launches that have one. Nothing is
        charged, and it depends on what was launched alone.

        Args:
            blocks: the blocks of the data that the launch would read, as for `launch_over`.

        Raises:
            QueryError: there is no budget here: this is an odometer, or launches nothing.

        Examples:
            >>> from composition import budget
            >>> from mechanisms import Count
            >>> from queryable import Queryable
            >>> table = Queryable(budget(epsilon=1, delta="1e-6"), {"age": [31, 47, 62]})
            >>> print(table.remaining())
            ApproxZCDP(rho≈0.0241, delta=1e-07)
            >>> last = table.release(Count(), loss=table.remaining())
        """
        try:
            left: Loss = self.ask(RemainingQuery(blocks))
        except UnknownQueryError as error:
            raise QueryError(f"nothing here has a budget for launches: {error}") from None
        return left

    def _what_fits(
        self,
        statistic: Releasable,
        stated: Any,
        within: Number | None,
        confidence: Number | None,
        blocks: Sequence[BlockName] | Last | None,
    ) -> str:
        """How to ask for a refused statistic so that it is admitted now; empty if it cannot be.

        Args:
            within: None if a loss was asked for.
        """
        try:
            left = self.remaining(blocks=blocks)
            if left <= left.zero():
                return ""
            width = least_within(statistic, stated, confidence, left)
            if width is not None and within is not None:
                text = f"within={in_digits(width)} fits now"
                fitting = chosen(statistic, stated, width, confidence, None)
            else:
                about = "" if width is None else f", ±{in_digits(width)}"
                text = f"loss=remaining() fits now{about}"
                fitting = chosen(statistic, stated, None, confidence, left)
            admitted = self.ask(CanAfford(launch_of(fitting, blocks)))
        except QueryError:
            return ""
        return f"nothing was read or charged; {text}" if admitted else ""

    def _stated(self) -> Any:
        """The answer to `MeasureQuery`, or None."""
        try:
            return self.ask(MeasureQuery())
        except UnknownQueryError:
            return None
