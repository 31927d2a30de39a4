"""Statistics that choose their noise themselves, and the labelled answers that they give.

Responsible for `Release`, a `Gaussian` or `Laplace` whose answer is a `Released`, and for labels of
what persons in the middle answer. Estimates and intervals are computed from noisy integers and
public facts; they are postprocessing.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import prod
from typing import Any, Self

import attrs
import numpy as np

from mechanisms.gaussian import Gaussian
from mechanisms.laplace import Laplace
from mechanisms.tables.statistics.ranges import multiples, quotients
from queryable.answers.estimates import Axis
from queryable.answers.evidence import Evidence
from queryable.answers.half_widths import coordinates, half_width
from queryable.answers.near import Near, Part
from queryable.answers.noisy import Noise, NoisyArray, NoisyInt
from queryable.answers.notes import all_within_noise, beyond_noise
from queryable.answers.released import Released
from queryable.checks.scales import scale_for
from queryable.data.cells import Array
from queryable.errors import QueryError
from queryable.events.laws import GaussianEvent, LaplaceEvent
from queryable.losses import (
    FDP,
    GDP,
    ZCDP,
    ApproxDP,
    Dominated,
    Loss,
    Measure,
    PureDP,
)
from queryable.losses.conversions import gdp_to_discrete_gaussian
from queryable.losses.loss import genuine
from queryable.losses.numbers import Number, positive
from queryable.mechanism import Measurement
from queryable.optional import guarantee as guarantee_of
from queryable.randomness.coins import Coins
from queryable.randomness.laws import Law
from queryable.statistics import IntegerStatistic
from queryable.streams.contributions import PerRecord
from queryable.wording.guarantees import Guarantee, documented
from queryable.wording.quoting import quoted

_LAPLACE = (PureDP, ApproxDP, FDP)
"""Measures in which Laplace noise is added."""
_NOTED = Fraction(19, 20)
"""The confidence with which all groups are said to be within noise of 0."""


class Estimable(IntegerStatistic):
    """An integer statistic with an estimate, intervals and labels.

    The estimate is computed from the noisy integers. By default it is each of them, times `step`.
    Where `step` is None, `estimate` and `interval` are overridden.
    """

    adds_up: bool = False
    """Whether each estimate is a sum over other rows, so that estimates add up to that of all."""

    coordinates: int = 1
    """How many integers enter one estimate: the last axis of the answer, if there are several."""

    @property
    def is_near(self) -> bool:
        """Whether `near` says how noise moves the estimate."""
        return self.step is not None

    answers: type[Released] = Released
    """The class of its answers."""

    holds: str = Evidence.holds
    """What its intervals hold for, in words."""

    has_sampling: bool = False
    """Whether `sampling` gives intervals of the population that the rows are a sample of."""

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

    def row_counts(self, noisy: Array) -> Array | None:
        """The noisy integers that are 0 without noise where no row is counted; None if unknown.

        Args:
            noisy: Python integers, shaped as the answer.
        """
        return None if self.step is None else noisy

    def notes(self, estimate: Any) -> Iterator[str]:
        """What whoever reads the estimate may overlook; see `queryable.answers.notes`."""
        return iter(())

    def bounds(self, low: Array, high: Array) -> tuple[Any, Any]:
        """The range of the estimate over all integers between `low` and `high`, rounded outward.

        Args:
            low, high: Python integers, shaped as the answer.
        """
        assert self.step is not None
        return multiples(low, self.step, -1), multiples(high, self.step, 1)

    def interval(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """The ends of an interval of each estimate, each by itself, rounded outward.

        Args:
            noisy: Python integers, shaped as the answer.
            law: that of the noise of each, which is independent.
            missed: the probability at most that an interval does not hold.
        """
        width = half_width(law, 1 - missed, self.coordinates)
        return self.bounds(noisy - width, noisy + width)

    def sampling(self, noisy: Array, law: Law[int], missed: Fraction) -> tuple[Any, Any]:
        """About the interval if the rows are a sample; the arguments are those of `interval`."""
        raise AssertionError("only asked if has_sampling")

    def near(self, noisy: Array, law: Law[int], missed: Fraction, source: Any) -> Near | None:
        """How noise moves each estimate, but for the probability `missed`; None if not known.

        Args:
            noisy, law: as for `interval`.
            source: the answer that they are of.
        """
        if self.step is None:
            return None
        top, bottom = self.step.as_integer_ratio()
        low, high = (quotients(noisy * top, bottom, side) for side in (-1, 1))
        ends = (np.full((*low.shape, 1), multiples(1, self.step, side)) for side in (-1, 1))
        places = np.arange(low.size).reshape((*low.shape, 1))
        rest, infinite = np.zeros(low.shape), np.full(low.shape, np.inf)
        return Near(low, high, (Part(source, law, places, *ends),), rest, -infinite, infinite)

    def measurement(
        self,
        measure: Measure,
        d_in: int,
        *,
        within: Number | None = None,
        confidence: Number | None = None,
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
        kind = Laplace if measure in _LAPLACE else Gaussian
        stated = "0.95" if confidence is None else confidence
        return Release(kind(self, scale=scale_for(kind, self, within, stated)))


def is_pure(loss: Any, measure: Measure) -> bool:
    """Whether Laplace noise is added for a loss, where losses are stated in `measure`."""
    pure = isinstance(loss, PureDP) or (isinstance(loss, ApproxDP) and not loss.delta)
    return pure or measure in _LAPLACE


def _costing(
    statistic: IntegerStatistic, loss: Any, measure: Measure, d_in: int
) -> Gaussian | Laplace:
    """The mechanism with the least noise whose loss at `d_in` is at most `loss`."""
    if not isinstance(loss, Loss) or not genuine(loss):
        raise QueryError(f"loss is {quoted(loss)}; it should be a loss, such as ZCDP('1/100')")
    if isinstance(loss, Dominated) and not loss.mu:
        loss = PureDP(loss.epsilon)  # Laplace noise has no use for a delta, and is charged none
    if is_pure(loss, measure):
        pure = loss if isinstance(loss, ApproxDP) else PureDP.within(loss)  # charged no delta
        return Laplace(statistic, epsilon=pure.epsilon / d_in)
    if isinstance(loss, GDP | Dominated):
        each = positive(loss.mu, "mu") / positive(statistic.l2 * d_in, "l2")
        return Gaussian(statistic, variance=gdp_to_discrete_gaussian(each))
    return Gaussian(statistic, rho=ZCDP.within(loss).rho / d_in**2)


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

    @property
    def answer_unit(self) -> Fraction | None:
        """The step of the statistic."""
        return self.statistic.step

    def events(self) -> tuple[GaussianEvent] | tuple[LaplaceEvent]:
        """As for the mechanism."""
        return self.mechanism.events()

    def added_noise(self) -> Noise:
        """As for the mechanism: the noise of the integers that the estimate is computed from."""
        return self.mechanism.added_noise()


@attrs.frozen
class Noisy(Evidence):
    """Noisy integers, and the statistic that an estimate is computed from them by.

    See `Estimable.interval`.
    """

    statistic: Estimable
    noisy: NoisyInt | NoisyArray = attrs.field(eq=attrs.cmp_using(eq=np.array_equal))

    @property
    def adds_up(self) -> bool:  # type: ignore[override]
        """As for the statistic."""
        return self.statistic.adds_up

    @property
    def sources(self) -> tuple[Any, ...]:
        """The noisy integers, if the statistic says how their noise moves the estimate."""
        return (self.noisy,) if self.statistic.is_near else ()

    def near(self, missed: Fraction) -> Near | None:
        """The statistic's."""
        law = self.noisy.noise
        assert law is not None
        return self.statistic.near(np.array(self.noisy, dtype=object), law, missed, self.noisy)

    @property
    def holds(self) -> str:  # type: ignore[override]
        """The statistic's."""
        return self.statistic.holds

    @property
    def has_sampling(self) -> bool:
        """The statistic's."""
        return self.statistic.has_sampling

    def notes(self, estimate: Any) -> tuple[str, ...]:
        """The statistic's, and whether no group is known to have a row."""
        statistic, noisy = self.statistic, np.array(self.noisy, dtype=object)
        sizes = statistic.row_counts(noisy) if statistic.axes else None
        if sizes is None or (law := self.noisy.noise) is None:
            return (*statistic.notes(estimate),)
        width = half_width(law, _NOTED, sizes.size)
        estimate = beyond_noise(estimate, sizes, width)
        return (*all_within_noise(sizes, width), *statistic.notes(estimate))

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Any, Any]:
        """The statistic's; for all estimates at once by their joint law or the union bound."""
        law, statistic = self.noisy.noise, self.statistic
        assert law is not None
        values, many = np.array(self.noisy, dtype=object), coordinates(statistic.shape)
        if simultaneous and statistic.coordinates == 1:
            width = half_width(law, confidence, many)
            return statistic.bounds(values - width, values + width)
        return statistic.interval(values, law, self._missed(confidence, simultaneous))

    def sampling(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Any, Any]:
        """The statistic's; for all estimates at once by the union bound."""
        law, statistic = self.noisy.noise, self.statistic
        if not statistic.has_sampling:
            return super().sampling(confidence, simultaneous=simultaneous)
        assert law is not None
        missed = self._missed(confidence, simultaneous)
        return statistic.sampling(np.array(self.noisy, dtype=object), law, missed)

    def _missed(self, confidence: Fraction, simultaneous: bool) -> Fraction:
        """What an estimate's interval may miss."""
        estimates = prod(len(axis.values) for axis in self.statistic.axes)
        return (1 - confidence) / (estimates if simultaneous else 1)


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
