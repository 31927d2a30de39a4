"""Statistics that choose their noise themselves, and the labelled answers that they give.

Responsible for `Release`, a `Gaussian` or `Laplace` whose answer is a `Released`, and for labels of
what persons in the middle answer. Estimates and intervals are computed from noisy integers and
public facts; they are postprocessing.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self

import attrs
import numpy as np

from mechanisms.gaussian import Gaussian
from mechanisms.laplace import Laplace
from mechanisms.tables.statistics.ranges import multiples
from queryable.answers.estimates import Axis, Evidence
from queryable.answers.half_widths import coordinates, half_width
from queryable.answers.noisy import Noise, NoisyArray, NoisyInt
from queryable.answers.released import Released
from queryable.checks.scales import scale_for
from queryable.data.cells import Array
from queryable.errors import QueryError
from queryable.losses import (
    FDP,
    GDP,
    ZCDP,
    ApproxDP,
    Dominated,
    Loss,
    Measure,
    PureDP,
    measure_name,
)
from queryable.losses.loss import genuine
from queryable.losses.numbers import Number, exact
from queryable.mechanism import Measurement
from queryable.optional import guarantee as guarantee_of
from queryable.randomness.coins import Coins
from queryable.statistics import IntegerStatistic
from queryable.streams.contributions import PerRecord
from queryable.wording.guarantees import Guarantee, documented
from queryable.wording.quoting import quoted

_LAPLACE = (PureDP, ApproxDP, GDP, FDP)
"""Measures in which Laplace noise has a loss and Gaussian noise on the integers has none."""


class Estimable(IntegerStatistic):
    """An integer statistic with an estimate, intervals and labels.

    The estimate is computed from the noisy integers. By default it is each of them, times `step`.
    """

    step: Fraction | None = Fraction(1)
    """What one unit of an integer stands for in the estimate; None if the estimate is no multiple
    of one integer, and then `estimate` and `bounds` are overridden."""

    coordinates: int = 1
    """How many integers enter one estimate: the last axis of the answer, if there are several."""

    answers: type[Released] = Released
    """The class of its answers."""

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The keys of each dimension of the estimate."""
        return ()

    def informed(self, dataset: Any) -> Self:
        """This statistic with what the public types of a dataset's columns say about intervals."""
        return self

    def estimate(self, noisy: Any) -> Any:
        """The estimate that noisy integers imply."""
        assert self.step is not None
        return multiples(noisy, self.step, 0)

    def bounds(self, low: Array, high: Array) -> tuple[Any, Any]:
        """The range of the estimate over all integers between `low` and `high`, rounded outward.

        Args:
            low, high: Python integers, shaped as the answer.
        """
        assert self.step is not None
        return multiples(low, self.step, -1), multiples(high, self.step, 1)

    def measurement(
        self,
        measure: Measure,
        d_in: int,
        *,
        within: Number | None = None,
        confidence: Number | None = "0.95",
        loss: Loss | None = None,
    ) -> Measurement[Released]:
        """This statistic with the noise that fits `measure`, as accurate or cheap as asked."""
        if loss is not None:
            return Release(_costing(self, loss, measure, d_in))
        if self.step is None:
            raise QueryError(
                f"give loss=.. instead of within: how accurate {self.public_name} is depends on "
                "how many records there are"
            )
        width = exact(within, "within") / self.step
        kind = Laplace if measure in _LAPLACE else Gaussian
        return Release(kind(self, scale=scale_for(kind, self, width, confidence)))


def _costing(
    statistic: IntegerStatistic, loss: Any, measure: Measure, d_in: int
) -> Gaussian | Laplace:
    """The mechanism with the least noise whose loss at `d_in` is at most `loss`."""
    if not isinstance(loss, Loss) or not genuine(loss):
        raise QueryError(f"loss is {quoted(loss)}; it should be a loss, such as ZCDP('1/100')")
    pure = isinstance(loss, PureDP) or (isinstance(loss, ApproxDP) and not loss.delta)
    if pure or measure in _LAPLACE:
        if isinstance(loss, ApproxDP) and loss.delta:
            raise QueryError(
                f"give loss=ApproxDP({loss.epsilon}, 0): losses are stated in "
                f"{measure_name(measure)} here, so Laplace noise is added, which has no use for "
                "a delta"
            )
        return Laplace(statistic, epsilon=PureDP.within(loss).epsilon / d_in)
    if isinstance(loss, Dominated):
        return _dominated(statistic, loss, d_in)
    return Gaussian(statistic, rho=ZCDP.within(loss).rho / d_in**2)


def _dominated(statistic: IntegerStatistic, loss: Dominated, d_in: int) -> Gaussian:
    """A Gaussian whose loss in `Dominated` has the mu of `loss`."""
    if not loss.mu:
        raise QueryError(f"give a loss with a mu above 0: {loss} admits no Gaussian noise")
    found = Gaussian(statistic, variance=(statistic.l2 * d_in / loss.mu) ** 2 + 4)
    needed = found.privacy_map(d_in, Dominated)
    if not needed <= loss:
        raise QueryError(f"give a loss of at least {needed}: {loss} is below what this mu needs")
    return found


@attrs.frozen
class Release(Measurement[Released]):
    """A statistic with Gaussian or Laplace noise, whose answer is an estimate with intervals.

    Answers a `Released`.

    Privacy:
        Claim: that of `mechanism`, in every measure.
        Theorem: postprocessing: the estimate and its intervals are computed from the answer of
            `mechanism` and from public facts.
        Assumes: what `mechanism` assumes.
        Checked by: tests/unit/mechanisms/tables/statistics/test_releases.py

    Args:
        mechanism: a `Gaussian` or a `Laplace` of a statistic with an estimate, such as `Count()`.
    """

    mechanism: Gaussian | Laplace = attrs.field()
    statistic: Estimable = attrs.field(init=False, repr=False)

    @mechanism.validator
    def _is_additive(self, attribute: object, mechanism: Any) -> None:
        if type(mechanism) not in (Gaussian, Laplace):
            raise TypeError(
                f"mechanism is {quoted(mechanism)}; it should be a Gaussian or a Laplace"
            )
        if not isinstance(mechanism.statistic, Estimable):
            raise TypeError(
                f"statistic is {quoted(mechanism.statistic)}; it should be a statistic of a table, "
                "such as Count()"
            )

    @statistic.default
    def _of_mechanism(self) -> Any:
        return getattr(self.mechanism, "statistic", None)

    def loss(self, d_in: int) -> Loss:
        """As for the mechanism."""
        return self.mechanism.loss(d_in)

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """As for the mechanism."""
        return self.mechanism.privacy_map(d_in, measure)

    @property
    def per_record(self) -> PerRecord | None:  # type: ignore[override]
        """As for the mechanism."""
        return self.mechanism.per_record

    def guarantee(self) -> Guarantee:
        """The mechanism's claim, theorem and assumptions, which also cover the estimate."""
        inner = guarantee_of(self.mechanism)
        theorem = f"{inner.theorem} The estimate is a postprocessing."
        return attrs.evolve(inner, summary=documented(type(self)).summary, theorem=theorem)

    def has_number(self, of: str | int | None) -> bool:
        """Whether it is the estimate, and that is one number."""
        return of in (None, "estimate") and not self.statistic.axes

    def release(self, dataset: Any, coins: Coins) -> Released:
        """The estimate, with what its intervals are computed from."""
        statistic, noisy = self.statistic, self.mechanism.release(dataset, coins)
        evidence = Noisy(statistic.informed(dataset), noisy)
        return statistic.answers(
            statistic.estimate(noisy), statistic.axes, statistic.asked, evidence=evidence
        )

    @property
    def public_name(self) -> str:
        """As for the mechanism."""
        return self.mechanism.public_name

    def added_noise(self) -> Noise:
        """As for the mechanism: the noise of the integers that the estimate is computed from."""
        return self.mechanism.added_noise()


@attrs.frozen
class Noisy(Evidence):
    """Noisy integers, and the statistic that an estimate is computed from them by.

    The integers without noise are in the box around the noisy ones with the stated confidence, all
    coordinates of one estimate at once. If they are, the estimate without noise is in its range
    over the box.
    """

    statistic: Estimable
    noisy: NoisyInt | NoisyArray = attrs.field(eq=attrs.cmp_using(eq=np.array_equal))

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Any, Any]:
        """The range of the estimate over the box of the noiseless integers."""
        law, shape = self.noisy.noise, self.statistic.shape
        assert law is not None
        many = coordinates(shape) if simultaneous else self.statistic.coordinates
        width = half_width(law, confidence, many)
        values = np.array(self.noisy, dtype=object)
        return self.statistic.bounds(values - width, values + width)


@attrs.frozen
class Worked(Evidence):
    """What a person in the middle has worked out, whose intervals are of integers.

    Attributes:
        statistic: what was asked.
        ends: the interval of the integers at a confidence, each by itself; None if there is none.
    """

    statistic: Estimable
    ends: Callable[[Fraction], tuple[Any, Any] | None] = attrs.field(eq=False, repr=False)

    @property
    def most(self) -> Fraction | None:  # type: ignore[override]
        """1, or None if nothing is known about the error."""
        return None if self.ends(Fraction(95, 100)) is None else Fraction(1)

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Any, Any]:
        """The range of the estimate; by the union bound if it holds for all entries at once.

        Raises:
            ValueError: nothing is known about the error.
        """
        many = coordinates(self.statistic.shape) if simultaneous else 1
        found = self.ends(1 - (1 - confidence) / many)
        if found is None:
            raise ValueError("read .estimate: nothing is known about the error of this answer")
        low, high = (np.frompyfunc(int, 1, 1)(np.asarray(each)) for each in found)
        return self.statistic.bounds(np.asarray(low, object), np.asarray(high, object))


def labelled(
    statistic: Any, value: Any, ends: Callable[[Fraction], tuple[Any, Any] | None]
) -> Released:
    """An estimate of the integers of a statistic, with its keys and in its own unit.

    Raises:
        TypeError, ValueError: it is no such statistic, or has other entries.
    """
    if not isinstance(statistic, Estimable) or statistic.step is None:
        raise TypeError(f"statistic is {quoted(statistic)}; it should be the one that was asked")
    if np.shape(value) != (statistic.shape or ()):
        raise ValueError(
            f"statistic has shape {statistic.shape or ()}, and the answer has "
            f"{np.shape(value)}; give the statistic that was asked"
        )
    scaled = value * float(statistic.step) if np.shape(value) else float(value * statistic.step)
    return Released(scaled, statistic.axes, statistic.asked, evidence=Worked(statistic, ends))
