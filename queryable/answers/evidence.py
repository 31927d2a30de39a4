"""What the intervals of answers are computed from."""

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from queryable.answers.near import Near
from queryable.answers.values import Value

USUAL = Fraction(19, 20)
"""The confidence of displays, where an answer serves it."""


class Evidence(ABC):
    """What the intervals of an answer are computed from: released values and public facts."""

    most: Fraction | None = Fraction(1)
    """Intervals are served below this confidence, or up to it if it is below 1. None if an interval
    does not apply; then `interval` raises."""

    holds: str = "each by itself"
    """What the intervals of displays hold for, in words."""

    @property
    def usual(self) -> Fraction | None:
        """The confidence of displays: 0.95, or less where that is not served."""
        return None if self.most is None else min(self.most, USUAL)

    adds_up: bool = False
    """Whether each estimate is of other rows, so that their sums are those of all rows."""

    @property
    def sources(self) -> tuple[Any, ...]:
        """The released integers that the answer is computed from, if `near` says how."""
        return ()

    def near(self, missed: Fraction) -> Near | None:
        """How noise moves the estimates, but for the probability `missed`; None if not known."""
        return None

    @property
    def has_sampling(self) -> bool:
        """Whether `sampling` gives intervals."""
        return False

    def sampling(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """About the interval if the rows are themselves a sample; see `interval`."""
        raise ValueError(
            "leave sampling out, or ask for it with the question, as in "
            "visits.regress(.., sampling=True): this answer has the interval of its noise alone"
        )

    def notes(self, estimate: Any) -> tuple[str, ...]:
        """The notes on the estimate: public texts, one fact each; see `queryable.answers.notes`."""
        return ()

    def at(self, place: Any) -> "Evidence":
        """The evidence of some of the estimates, by an index of numpy."""
        return Selected(self, place)

    @abstractmethod
    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """The ends of the interval, shaped as the estimate; they hold with `confidence`.

        Args:
            simultaneous: whether `confidence` holds for all entries at once, or for each by itself.
        """

    def fixed_in_advance(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """The same if all questions were fixed before the first was answered."""
        return self.interval(confidence, simultaneous=simultaneous)


@attrs.frozen
class DerivedEvidence(Evidence):
    """That of what is computed from an answer's estimates alone.

    Attributes:
        whole: that of the answer.
    """

    whole: Evidence

    @property
    def most(self) -> Fraction | None:  # type: ignore[override]
        """As for the answer."""
        return self.whole.most

    @property
    def adds_up(self) -> bool:  # type: ignore[override]
        """As for the answer."""
        return self.whole.adds_up

    @property
    def sources(self) -> tuple[Any, ...]:
        """As for the answer."""
        return self.whole.sources

    def notes(self, estimate: Any) -> tuple[str, ...]:
        """As for the answer."""
        return self.whole.notes(estimate)


@attrs.frozen
class Selected(DerivedEvidence):
    """That of some of an answer's estimates.

    Attributes:
        place: which estimates: an index of each of the first dimensions.
    """

    place: tuple[int, ...]

    def near(self, missed: Fraction) -> Near | None:
        """As for the answer."""
        near = self.whole.near(missed)
        return None if near is None else near.at(self.place)

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """As for the answer: `simultaneous` is for all of its entries, not only for these."""
        return self._at(self.whole.interval(confidence, simultaneous=simultaneous))

    @property
    def holds(self) -> str:  # type: ignore[override]
        """As for the answer."""
        return self.whole.holds

    @property
    def has_sampling(self) -> bool:
        """As for the answer."""
        return self.whole.has_sampling

    def sampling(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """As for the answer."""
        return self._at(self.whole.sampling(confidence, simultaneous=simultaneous))

    def _at(self, ends: tuple[Value, Value]) -> tuple[Value, Value]:
        low, high = ends
        return single(np.asarray(low)[self.place]), single(np.asarray(high)[self.place])


def single(value: Any) -> Value:
    """A number as Python's own, or an array as it is."""
    return value.item() if isinstance(value, np.generic) else value
