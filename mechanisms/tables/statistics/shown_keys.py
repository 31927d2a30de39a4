"""What the counts of keys that were shown say: the evidence of `ReleasedKeys`."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from mechanisms.sampling.integers import added
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.thresholds import MOST_THRESHOLD, KeyNoise, half_line, least_counts
from queryable.answers.evidence import Evidence
from queryable.answers.values import Value
from queryable.data.cells import Array
from queryable.losses.numbers import natural, shown
from queryable.wording.quoting import quoted

_NOISES = (DiscreteLaplace, DiscreteGaussian)


def noise_field(value: Any) -> KeyNoise:
    """Check the law of the noise on counts of keys."""
    if type(value) not in _NOISES:
        raise TypeError(
            f"noise is {quoted(value)}; it should be a DiscreteLaplace or a DiscreteGaussian"
        )
    noise: KeyNoise = value
    return noise


def threshold_field(value: Any) -> int:
    """Check a threshold."""
    threshold = natural(value, "threshold")
    if not 1 <= threshold < MOST_THRESHOLD:
        raise ValueError(
            f"threshold is {shown(Fraction(threshold))}; it should be at least 1, below 2**62"
        )
    return threshold


@attrs.frozen
class Shown(Evidence):
    """Noisy counts that were shown because they are at or above a threshold.

    Intervals hold given which keys were shown: among the launches that show the same keys, each
    holds with the stated confidence; `simultaneous` ones hold together, by the union bound. The
    lower end allows for the threshold: of keys with small counts only those with large noise are
    shown. Where nothing is known about a count, the lower end is 1.

    Args:
        threshold: from which noisy count on the mechanism shows keys; or if it left keys out
            because there were too many, one more than their largest noisy count.
    """

    holds = "each by itself, given which keys are shown"

    noise: KeyNoise = attrs.field(converter=noise_field)
    threshold: int = attrs.field(converter=threshold_field)
    noisy: tuple[int, ...]

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Value, Value]:
        """The ends, each missed with half of what may be missed."""
        if not self.noisy:
            empty: Array = np.zeros(0, dtype=np.int64)
            return empty, empty
        missed = (1 - confidence) / (2 * (len(self.noisy) if simultaneous else 1))
        least = least_counts(self.noise, self.threshold, list(self.noisy), missed)
        above = half_line(self.noise, missed)
        zeros = np.zeros(len(self.noisy), dtype=np.int64)
        low = np.array([least[each] for each in self.noisy], dtype=object)
        high = np.array([each + above for each in self.noisy], dtype=object)
        return added(low, zeros), added(high, zeros)
