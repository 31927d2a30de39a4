"""The variance of counters at 1,024 batches, by simulation: every coordinate is a run of its own.

The reference values are 10.71 for the square root, 22.29 for that without a horizon and 110 for the
binary tree at its worst, for variance times 2 rho. A sample variance of n runs has a relative
standard error of sqrt(2/n), and is compared at 5 of them: a correct counter fails with probability
below 10^-6. Seeds are fixed, so a test always gives the same result. The tail tests compare shares
at 5 standard errors too.
"""

from typing import Any

import attrs
import numpy as np
import pytest

from mechanisms import ToeplitzCounter, Total, TreeCounter, Window
from mechanisms.counters import toeplitz_noise
from mechanisms.counters.coefficients import running_sum
from mechanisms.counters.epochs import Epoch
from mechanisms.sampling.laws import DiscreteGaussian
from queryable import SeededCoins, Statistic, Update

ERRORS = 5
STEPS = 1024
RHO = 2.0**-13


def zeros(runs: int) -> Statistic:
    return Statistic(lambda batch: np.zeros(runs, np.int64), l1=1, l2=1, shape=runs)


def noise(mechanism: Any, steps: int, question: Any = None) -> Any:
    """What a counter of zeros answers, once for each run; and the law that it states."""
    coins = SeededCoins(11)
    state, _ = mechanism.init(None, coins)
    for _ in range(steps):
        state, _ = mechanism.step(state, Update([]), coins)
    return mechanism.step(state, question or Total(), coins)[1]


def is_near(answer: Any, normalised: float) -> bool:
    """Whether variance times 2 rho is this, within the stated error."""
    found = float(np.mean(np.asarray(answer, dtype=float) ** 2)) * 2 * RHO
    return abs(found / normalised - 1) <= ERRORS * (2 / answer.size) ** 0.5


def covers(answer: Any, confidence: float) -> bool:
    """Whether intervals hold zero as often as they say, within the stated error."""
    low, high = answer.interval(str(confidence))
    share = float(np.mean((low <= 0) & (high >= 0)))
    error = (confidence * (1 - confidence) / answer.size) ** 0.5
    return abs(share - confidence) <= ERRORS * error + 0.003


@attrs.frozen
class OneLevelLess(TreeCounter):
    """Wrong: its noise is that of a tree with one level less."""

    def _law(self, epoch: Epoch) -> DiscreteGaussian:
        return DiscreteGaussian((epoch.length.bit_length() - 1) * self.unit)


@pytest.mark.slow
def test_the_worst_variance_of_the_tree() -> None:
    """110 after 1,023 batches, and 11 after 1,024."""
    runs = zeros(20_000)
    worst = noise(TreeCounter(runs, rho=RHO, horizon=STEPS), STEPS - 1)
    assert is_near(worst, 110)
    assert covers(worst, 0.95)
    assert is_near(noise(TreeCounter(runs, rho=RHO, horizon=STEPS), STEPS), 11)
    assert not is_near(noise(OneLevelLess(runs, rho=RHO, horizon=STEPS), STEPS - 1), 110)


@pytest.mark.slow
def test_the_variance_of_the_square_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """10.71 after 1,024 batches; plain sums of the noise in place of B have far more."""
    runs = zeros(4_000)
    counter = ToeplitzCounter(runs, rho=RHO, horizon=STEPS)
    last = noise(counter, STEPS)
    assert is_near(last, 10.7096)
    assert covers(last, 0.95)
    assert covers(last, 0.5)
    window = noise(counter, 200, Window(last=50))
    law: Any = window.noise
    assert is_near(window, float(law.variance()) * 2 * RHO)
    total = noise(counter, 200)
    law = total.noise
    assert is_near(total, float(law.variance()) * 2 * RHO)
    monkeypatch.setattr(toeplitz_noise, "running_sum", lambda *_: Plain())
    assert not is_near(noise(counter, 200), float(law.variance()) * 2 * RHO)


@pytest.mark.slow
def test_the_variance_without_a_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    """22.29 after 1,024 batches; answers by the matrix of a horizon have another variance."""
    counter = ToeplitzCounter(zeros(4_000), rho=RHO)
    last = noise(counter, STEPS)
    assert is_near(last, 22.2895)
    assert covers(last, 0.95)
    assert covers(last, 0.5)
    window = noise(counter, 200, Window(last=50))
    law: Any = window.noise
    assert is_near(window, float(law.variance()) * 2 * RHO)
    monkeypatch.setattr(toeplitz_noise, "running_sum", lambda count, _: running_sum(count))
    assert not is_near(noise(counter, STEPS), 22.2895)


class Plain:
    """Wrong: the noise of each step is added as it is."""

    def of(self, noise: Any) -> int:
        return int(sum(noise)) >> 20


@pytest.mark.slow
def test_laplace_intervals_cover() -> None:
    """Sums of equal scales have exact tails; without a horizon they are bounds."""
    runs = zeros(20_000)
    assert covers(noise(TreeCounter(runs, epsilon="1/10", horizon=100), 63), 0.95)
    answer = noise(TreeCounter(runs, epsilon="1/10"), 60)
    low, high = answer.interval()
    assert np.mean((low <= 0) & (high >= 0)) > 0.95
