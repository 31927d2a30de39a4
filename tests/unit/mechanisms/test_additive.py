"""Adding integer noise to integer statistics."""

from typing import Any

import attrs
import numpy as np
import pytest

from mechanisms.additive import noisy
from mechanisms.sampling.integers import added
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import MechanismFault, SeededCoins, Statistic
from queryable.answers.noisy import noisy_array
from queryable.randomness.laws import FairBits, Law


@attrs.frozen
class Always(Law[int]):
    """Noise that is known."""

    noise: int

    def sample(self, source: FairBits) -> int:
        return self.noise


def statistic(value: Any, shape: Any = None) -> Statistic:
    return Statistic(lambda dataset: value, l1=1, l2=1, shape=shape)


COINS = SeededCoins(1)


def test_scalar() -> None:
    """One number is answered as a Python int, of any size."""
    answer = noisy(statistic(np.int64(2**63 - 1)), None, Always(5), COINS)
    assert isinstance(answer, int)
    assert type(answer + 0) is int
    assert answer == 2**63 + 4


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 2)])
def test_array(shape: tuple[int, ...]) -> None:
    """An array keeps its shape, is int64 and cannot be written to."""
    answer = noisy(statistic(np.full(shape, 7), shape), None, Always(-2), COINS)
    assert answer.shape == shape
    assert answer.dtype == np.int64
    assert (answer == 5).all()
    assert not answer.flags.writeable


def test_sum_beyond_int64_is_exact() -> None:
    """Where a sum overflows 64 bits the answer holds Python integers, and is right."""
    answer = noisy(statistic(np.array([2**63 - 1, 0]), 2), None, Always(1), COINS)
    assert answer.dtype == object
    assert answer.tolist() == [2**63, 1]
    assert not answer.flags.writeable


def test_dtype_depends_on_the_answer_alone() -> None:
    """Large values that come back within 64 bits are int64: the dtype depends on the sum alone."""
    answer = noisy(statistic(np.array([2**63], dtype=object), 1), None, Always(-1), COINS)
    assert answer.dtype == np.int64
    assert answer.tolist() == [2**63 - 1]


def test_each_coordinate_has_its_own_noise() -> None:
    """Coordinates are not shifted together."""
    answer = noisy(statistic(np.zeros(50, int), 50), None, DiscreteLaplace(100), COINS)
    assert len(set(answer.tolist())) > 30


def test_a_statistic_that_fails_is_a_fault() -> None:
    """A value that is no integer does not come through."""
    with pytest.raises(MechanismFault):
        noisy(statistic(1.5), None, Always(0), COINS)


@pytest.mark.parametrize("value", [-(2**64), -(2**63), 2**62, 2**63 - 1, 2**63, 2**64 - 9])
@pytest.mark.parametrize("noise", [-7, 0, 7])
def test_a_single_entry_keeps_its_sign(value: int, noise: int) -> None:
    """Of shape () too, where numpy gives a sum of objects a type of its own, such as uint64."""
    entries = np.empty((), dtype=object)
    entries[...] = value
    total = added(entries, np.asarray(noise))
    assert total.shape == ()
    assert total.item() == value + noise
    law = DiscreteLaplace(1)
    low, high = noisy_array(total, law).interval("0.9")
    assert low.item() <= value + noise <= high.item()
