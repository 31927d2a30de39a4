"""`DiscoveredKeys`: keys that nobody has named, released where enough units have them.

`PrivateKeys` adds noise to the count of every key that occurs, and shows the keys whose noisy count
is at or above a threshold.
"""

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.sampling.integers import added
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.tables.engines.arrays import require_found
from mechanisms.tables.expressions.operands import Operand, operand_of
from mechanisms.tables.expressions.predicates import Where, describe, where_field
from mechanisms.tables.requests.discovery import Discovery, FoundKeys, Key, max_keys_of
from mechanisms.tables.requests.found_in_arrays import found_in_arrays
from mechanisms.tables.requests.keys import ReleasedKeys
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Tabular
from mechanisms.tables.requests.wording import number
from mechanisms.tables.statistics.aggregates import per_field
from mechanisms.tables.statistics.shown_keys import Shown, noise_field, threshold_field
from mechanisms.thresholds import MOST_THRESHOLD, KeyNoise, least_threshold, places_shown, shown_by
from queryable.answers.estimates import Axis
from queryable.data.watching import watched
from queryable.faults import touching_data
from queryable.losses import ZCDP, ApproxDP, ApproxZCDP, Dominated, Loss, Measure, measure_name
from queryable.losses.conversions import (
    discrete_gaussian_to_gdp,
    discrete_laplace_to_zcdp,
    gdp_to_discrete_gaussian,
)
from queryable.losses.loss import genuine
from queryable.losses.numbers import (
    Number,
    natural,
    positive,
    probability,
    several,
    sqrt_down,
    sqrt_up,
)
from queryable.mechanism import Measurement
from queryable.randomness.coins import Coins
from queryable.statistics import Checked, Releasable
from queryable.wording.quoting import quoted

MOST_KEYS = 10**6
"""How many keys an answer has at most: those with the largest noisy counts."""


_MOST_COLUMNS = 30


def _columns(value: Any) -> tuple[Operand, ...]:
    given = several(value, "columns") if isinstance(value, list | tuple) else [value]
    if not 0 < len(given) <= _MOST_COLUMNS:
        raise ValueError(
            f"columns has {len(given)} entries; it should name at least one column, such as "
            f'"city", and {_MOST_COLUMNS} at most'
        )
    return tuple(map(operand_of, given))


def _max_keys(value: Any) -> int | None:
    return None if value is None else max_keys_of(value)


@attrs.frozen
class DiscoveredKeys(Releasable, Checked):
    """The values of a column that occur often enough, or combinations of several, with counts.

    `queryable.release(keys, loss=ApproxDP(1, "1e-6"))` answers them, see `PrivateKeys`. Nobody has
    to name the keys: a key that only one unit has is shown with a probability of at most delta.
    Without a privacy unit rows are counted; with one, units, and each counts once in each of its
    keys.

    Text, whole numbers, dates, truth values and bytes can be keys. A row has no key if a cell of
    these columns is missing, is a date beyond Python's years or, in a column of objects, an object
    of another type or a number from 2^128 on. Nor has it one if a text or bytes are longer than
    65,536 bytes. Texts are equal if all their characters are.

    Args:
        columns: a name, an expression such as `column("day").truncate("month")`, or a list of
            these.
        max_keys: in how many keys a privacy unit is counted at most; the noise grows with it. The
            unit's keys are chosen by a hash of the table's seed, among all rows of the unit that
            `where` selects. By default the unit's bound on groups. For rows it is 1.
        where: which records, as for `Count`.
        per: the privacy unit that is counted, `table.unit`.
    """

    columns: tuple[Operand, ...] = attrs.field(converter=_columns)
    max_keys: int | None = attrs.field(default=None, converter=_max_keys)
    where: Where | None = attrs.field(default=None, converter=where_field)
    per: PrivacyUnit | None = attrs.field(default=None, kw_only=True, converter=per_field)

    def __attrs_post_init__(self) -> None:
        """Reject a bound that has no meaning.

        Raises:
            ValueError: a row is counted in several keys.
        """
        if self.per is None and self.max_keys not in (None, 1):
            raise ValueError(
                f"leave max_keys={self.max_keys} out, or give per=visits.unit, where visits "
                "is the Table: a row has one key"
            )

    @property
    def most(self) -> int:
        """In how many keys a unit is counted at most."""
        return self.max_keys or (1 if self.per is None else self.per.groups)

    @property
    def discovery(self) -> Discovery:
        """What is asked of a table."""
        return Discovery(self.columns, self.where, self.per, self.most)

    @property
    def counted(self) -> str:
        """What is counted in each key, and of which rows. Public."""
        what = "Count" if self.per is None else f"Count of distinct {self.per.column}"
        where = "" if self.where is None else f" where {describe(self.where)}"
        bound = "" if self.per is None else f", at most {number(self.most, 'key')} each"
        return f"{what} by {', '.join(self.discovery.names)}{where}{bound}"

    @property
    def public_name(self) -> str:
        """The columns: `Keys of city`."""
        return f"Keys of {', '.join(self.discovery.names)}"

    def check(self, dataset: Any) -> None:
        """Check that it fits the public names and types of columns of data in memory.

        Raises:
            KeyError, TypeError, ValueError: it does not fit.
        """
        require_found(dataset, self.discovery)

    def found(self, dataset: Any) -> Iterator[FoundKeys]:
        """The keys that occur, in their order, with their exact counts. Private."""
        if isinstance(dataset, Tabular):
            yield from dataset.found(self.discovery)
        else:
            yield from found_in_arrays(dataset, self.discovery)

    def measurement(
        self,
        measure: Measure,
        d_in: int,
        *,
        within: Number | None = None,
        confidence: Number | None = None,
        loss: Loss | None = None,
    ) -> "PrivateKeys":
        """The mechanism that finds these keys at a loss; `Queryable.release` launches it.

        Raises:
            TypeError, ValueError: `within` is given, or the loss has no delta above 0, or is no
                loss of the measure.
        """
        if within is not None or loss is None:
            raise TypeError(
                "give loss=ApproxDP(epsilon, delta) instead of within=: delta decides which keys "
                "are shown"
            )
        if not isinstance(loss, Loss) or not genuine(loss):
            raise TypeError(f"loss is {quoted(loss)}; it should be like ApproxDP(1, '1e-6')")
        if measure not in _WITH_DELTA:
            raise TypeError(
                "ask a filter whose losses have a delta, such as budget(epsilon=1, delta='1e-6') "
                f"or FiltCon(ApproxDP(1, '1e-6')): losses are stated in {measure_name(measure)} "
                "here, and keys are found for a delta"
            )
        delta = getattr(loss, "delta", None)
        if not delta:
            raise TypeError(
                f"give loss=ApproxDP(epsilon, delta) with a delta above 0: {loss} has none, and "
                "keys are found for it"
            )
        return self._for(measure, d_in, loss, delta)

    def _for(self, measure: Measure, d_in: int, loss: Any, delta: Fraction) -> "PrivateKeys":
        moved = self.most * d_in
        if isinstance(loss, ApproxDP) and measure is not ApproxZCDP:
            noise: KeyNoise = DiscreteLaplace(moved / positive(loss.epsilon, "epsilon"))
        elif isinstance(loss, Dominated) and measure is Dominated:
            return self._dominated(d_in, loss)
        elif isinstance(loss, ApproxDP | ApproxZCDP) and measure is ApproxZCDP:
            if isinstance(loss, ApproxDP):  # half of delta is for the conversion of rho
                delta = delta / 2
                rho = ZCDP.within(ApproxDP(loss.epsilon, delta)).rho
            else:
                rho = loss.rho
            noise = DiscreteGaussian(moved * d_in / (2 * positive(rho, "rho")))
        else:
            own = f" or {_FOR_GAUSSIANS[measure]}" if measure in _FOR_GAUSSIANS else ""
            raise TypeError(
                f"give loss=ApproxDP(epsilon, delta){own}: losses are stated in "
                f"{measure_name(measure)} here, and the loss is {loss}"
            )
        threshold = least_threshold(noise, delta, self.most, d_in)
        return PrivateKeys(self, noise=noise, threshold=threshold)

    def _dominated(self, d_in: int, loss: Dominated) -> "PrivateKeys":
        """With Gaussian noise if the loss has a mu, and else with Laplace noise."""
        if not loss.mu:
            return self._for(Dominated, d_in, ApproxDP(loss.epsilon, loss.delta), loss.delta)
        each = sqrt_down(loss.mu**2 / (self.most * d_in**2))
        noise = DiscreteGaussian(gdp_to_discrete_gaussian(each))
        threshold = least_threshold(noise, loss.delta, self.most, d_in)
        return PrivateKeys(self, noise=noise, threshold=threshold)


_WITH_DELTA = (ApproxDP, ApproxZCDP, Dominated)
_FOR_GAUSSIANS: dict[Any, str] = {
    ApproxDP: "launch(PrivateKeys(keys, rho=.., delta=..), d_out=ApproxDP(epsilon, delta))",
    Dominated: "loss=Dominated(0, mu, delta)",
}
"""How Gaussian noise is asked for, by the measure in which losses are stated."""


def _keys(value: Any) -> DiscoveredKeys:
    if type(value) is not DiscoveredKeys:  # a subclass could count a unit in more keys
        raise TypeError(f"keys is {quoted(value)}; it should be DiscoveredKeys(column, max_keys)")
    return value


@attrs.frozen(init=False)
class PrivateKeys(Measurement[ReleasedKeys]):
    """Noise on the count of every key that occurs; keys are shown at or above a threshold.

    Answers a `ReleasedKeys`: the keys in ascending order, each with its noisy count. Of more than a
    million keys those with the largest noisy counts are shown.

    Privacy:
        Claim: of d units with at most k keys each: with Laplace noise of scale 1/e
            ApproxDP(d k e, delta), and in ApproxZCDP the rho of the noise with the same delta. With
            Gaussian noise of variance v: ApproxZCDP(d^2 k / (2 v), delta), and in `Dominated`, for
            the rule `GDPResidue`, mu = d sqrt(k) m, m about 1/sqrt(v) + 1/(24 v^1.5), with the same
            delta. With q(m) the chance that a count of m is shown, delta is the larger one of
            1 - (1 - q(1))^(d k) and 1 - (1 - q(d))^k. At d = 1 it is 1 - (1 - q(1))^k, and for
            Laplace noise q(1) = p^(T-1) / (1 + p), p = exp(-e).
        Theorem: docs/theory.md, keys found in the data.
        Assumes: at most `max_keys` keys are counted of a unit, and each once.
        Checked by: tests/audit/test_discovered_keys.py

    Args:
        keys: what is found.
        epsilon: in nats, at d_in=1: Laplace noise. Give exactly one of epsilon, rho and noise.
        rho: at d_in=1: Gaussian noise, for budgets in approximate zCDP and `composition.budget`,
            and for the rule `GDPResidue`.
        delta: of the launch at d_in=1; the threshold is the least that it admits.
        noise: its law, a `DiscreteLaplace` or a `DiscreteGaussian`.
        threshold: from which noisy count on a key is shown. Give either delta or a threshold.
    """

    keys: DiscoveredKeys = attrs.field(converter=_keys)
    noise: KeyNoise = attrs.field(converter=noise_field)
    threshold: int = attrs.field(converter=threshold_field)

    def __init__(
        self,
        keys: Any,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        delta: Number | None = None,
        noise: KeyNoise | None = None,
        threshold: int | None = None,
    ) -> None:
        checked = _keys(keys)
        if sum(each is None for each in (epsilon, rho, noise)) != 2:
            raise ValueError("give exactly one of epsilon, rho and noise")
        if (delta is None) == (threshold is None):
            raise ValueError("give either delta or a threshold")
        if epsilon is not None:
            noise = DiscreteLaplace(checked.most / positive(epsilon, "epsilon"))
        elif rho is not None:
            noise = DiscreteGaussian(checked.most / (2 * positive(rho, "rho")))
        law = noise_field(noise)
        if delta is not None:
            threshold = least_threshold(law, probability(delta, "delta"), checked.most)
        self.__attrs_init__(checked, law, threshold)

    @property
    def public_name(self) -> str:
        """The columns, what is counted, and the threshold."""
        return f"{self.keys.public_name}: {self._title}"

    @property
    def _title(self) -> str:
        return f"{self.keys.counted}, shown from a noisy count of {self.threshold:,} on"

    def loss(self, d_in: int) -> Loss:
        """ApproxDP with Laplace noise, ApproxZCDP with Gaussian noise."""
        units = natural(d_in, "d_in")
        if isinstance(self.noise, DiscreteGaussian):
            return ApproxZCDP(self._rho(units), self._delta(units))
        return ApproxDP(self.keys.most * units / self.noise.scale, self._delta(units))

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss at `d_in` units; in ApproxZCDP and Dominated that of the noise itself."""
        units = max(natural(d_in, "d_in"), 1)
        noise, most = self.noise, self.keys.most
        stated: Loss
        if measure is ApproxZCDP:
            stated = ApproxZCDP(self._rho(units), self._delta(units))
        elif measure is Dominated and isinstance(noise, DiscreteGaussian):
            each = discrete_gaussian_to_gdp(noise.variance)
            stated = Dominated(0, units * sqrt_up(most * each**2), self._delta(units))
        else:
            return super().privacy_map(d_in, measure)
        return stated if d_in else stated.zero()

    def _rho(self, units: int) -> Fraction:
        most = self.keys.most
        if isinstance(self.noise, DiscreteGaussian):
            return most * units**2 / (2 * self.noise.variance)
        return discrete_laplace_to_zcdp(Fraction(most * units), self.noise.scale)

    def _delta(self, units: int) -> Fraction:
        return shown_by(self.noise, self.threshold, self.keys.most, units)

    def release(self, dataset: Any, coins: Coins) -> ReleasedKeys:
        """The keys whose noisy count is at or above the threshold.

        Keys get their noise in ascending order, so the order of rows has no effect.
        """
        shown: list[tuple[int, Key]] = []
        beyond = self.threshold  # for the intervals
        batches = touching_data(
            lambda: watched(self.keys, dataset, lambda: self.keys.found(dataset))
        )
        with closing(batches):  # a generator
            while (batch := touching_data(lambda: next(batches, None))) is not None:
                noisy = added(batch.counts, np.asarray(coins.draw(self.noise, len(batch.counts))))
                places = places_shown(noisy, self.threshold)
                found = touching_data(lambda b=batch, at=places: b.keys(at))  # type: ignore[misc]
                shown += zip(noisy[places].tolist(), found, strict=True)
                if len(shown) > 2 * MOST_KEYS:
                    shown, beyond = _largest(shown, beyond)
        shown, beyond = _largest(shown, beyond)
        counts = np.array([count for count, _ in shown], dtype=object)
        axis = Axis(self.keys.discovery.names, tuple(key for _, key in shown))
        return ReleasedKeys(
            added(counts, np.zeros(len(counts), dtype=np.int64)),
            (axis,),
            self._title,
            evidence=Shown(self.noise, beyond, tuple(count for count, _ in shown)),
            columns=self.keys.columns,
        )


def _largest(shown: list[tuple[int, Key]], beyond: int) -> tuple[list[tuple[int, Key]], int]:
    """The keys with the largest noisy counts, in their order; of equal counts the first.

    The second result is a threshold that allows for those left out: their largest noisy count is
    below it.
    """
    if len(shown) <= MOST_KEYS:
        return shown, beyond
    order = sorted(range(len(shown)), key=lambda place: -shown[place][0])
    left_out = shown[order[MOST_KEYS]][0]
    kept = [shown[place] for place in sorted(order[:MOST_KEYS])]
    return kept, max(beyond, min(left_out + 1, MOST_THRESHOLD - 1))
