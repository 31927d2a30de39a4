"""Privacy odometers: compositors that report (Haney et al. 2023, Algorithm 6).

There are two kinds, and the type of their report tells which. A `Loss`, from additive and other
accumulators, holds for thresholds fixed in advance. A `TimeUniformBound`, from the accumulators of
`composition.rules.odometers.boundaries` or of `renyi_odometer`, bounds the realised loss at every
moment at once.
"""

from typing import ClassVar

import attrs

from composition.compositors.adaptive import AdaptiveComposition
from composition.compositors.claims import Claim, require_reportable
from composition.compositors.filters import Filt, FiltCon, FiltSeq
from composition.rules import Accumulator, Additive, Basic, RunningAccount
from composition.rules.duality import filter_of
from composition.rules.odometers.time_uniform import TimeUniform
from queryable.errors import PrivacyClaimError
from queryable.losses import Loss, Measure, as_measure, measure_name
from queryable.messages import Launch, Refused
from queryable.wording.guarantees import Guarantee
from queryable.wording.quoting import an_instance

_LEMMA = "Haney et al. 2023, Lemma 2.19"


@attrs.frozen(repr=False)
class OdomCon(AdaptiveComposition):
    """Concurrent composition of interactive mechanisms that reports what has been lost.

    Haney et al. 2023, Definition 2.13.

    Answers: Launch, Ask, PrivacyLossQuery, CanAfford, MeasureQuery.

    Privacy:
        Claim: for every threshold fixed in advance, the view up to where the reported loss would
            exceed it loses at most the threshold (Definition 2.11). The report need not bound the
            loss at a moment that the analyst picks by looking at answers
            (tests/statistical/test_time_uniform.py). With a time-uniform rule the
            report is a `TimeUniformBound`, whose claim is the one made.
        Theorem: Haney et al. 2023, Lemma 2.19 with the one that `composition.VALIDITY` names for
            the measure; that one alone for a time-uniform rule.
        Assumes: the launched privacy maps are sound.
        Checked by: tests/audit/test_every_compositor.py
    An odometer has no loss of its own. Launched with a `d_out` it runs as a filter at `d_out`. It
    permits every launch, unless a time-uniform rule has used up its share for deltas.

    Args:
        measure: what launches state their loss in: a `Loss` class, or `RDP.at(order)`.
        rule: the accumulator G, or a time-uniform odometer; by default losses add up.
        d_in: the records that claims and the default report are stated for.
    """

    _filter: ClassVar[type[FiltCon]] = FiltCon

    measure: Measure = attrs.field(converter=as_measure)
    rule: Accumulator | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(an_instance(Accumulator)),
    )

    def __attrs_post_init__(self) -> None:
        if self._accumulator.measure != self.measure:
            raise ValueError(
                f"measure is {measure_name(self.measure)}, but the rule takes losses in "
                f"{measure_name(self._accumulator.measure)}"
            )
        super().__attrs_post_init__()
        self._opened()

    @property
    def _accumulator(self) -> Accumulator:
        return Additive(self.measure) if self.rule is None else self.rule

    @property
    def child_measure(self) -> Measure:
        """The odometer's own."""
        return self.measure

    @property
    def _composes_by(self) -> Accumulator:
        return self._accumulator

    def guarantee(self) -> Guarantee:
        """The guarantee; its theorem includes Lemma 2.19 if the report is a `Loss`."""
        words = super().guarantee()
        if isinstance(self._accumulator, TimeUniform):
            return words
        return attrs.evolve(words, theorem=f"{_LEMMA} with {words.theorem}")

    def loss(self, d_in: int) -> Loss:
        """Raise: an odometer has no loss of its own.

        Raises:
            PrivacyClaimError: always.
        """
        raise PrivacyClaimError(
            "an odometer has no loss of its own; launch it with d_out=..., and it runs as a filter"
        )

    def as_filter(self, d_out: Loss, d_in: int) -> FiltCon:
        """The filter with this budget (Lemma 2.19)."""
        rule = Basic() if self.rule is None else filter_of(self.rule)
        return self._filter(
            d_out, rule, d_in=d_in, max_mechanisms=self.max_mechanisms, max_depth=self.max_depth
        )

    def _claim(self, launch: Launch) -> Claim:
        claim = super()._claim(launch)
        require_reportable(claim.loss)
        return claim

    def _opened(self) -> RunningAccount:
        return self._accumulator.open()

    def _exceeds(
        self, account: RunningAccount, candidate: RunningAccount, requested: Loss
    ) -> Refused | None:
        if not candidate.objection:
            return None
        instead = "nothing was read or charged; launch a mechanism with a smaller delta, or none"
        return Refused(candidate.objection, requested, account.total(), instead=instead)


@attrs.frozen(repr=False)
class Odom(OdomCon):
    """Composition of noninteractive mechanisms with a report.

    Haney et al. 2023, Definition 2.9, Algorithm 4.

    As `OdomCon`, but launching an interactive mechanism is a `QueryError`.
    """

    noninteractive = True
    _filter = Filt


@attrs.frozen(repr=False)
class OdomSeq(OdomCon):
    """Sequential composition of interactive mechanisms with a report.

    As `OdomCon`, but a launch retires every earlier child and all its descendants.
    """

    interleaves = False
    _filter = FiltSeq
