"""Noise against a threshold: chances, the least threshold, and ends of intervals."""

from fractions import Fraction
from functools import cache
from itertools import accumulate, product
from typing import Any

import mpmath
import pytest

from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.thresholds import at_least, half_line, least_counts, least_threshold, shown_by

NOISES = [
    *(DiscreteLaplace("1/3"), DiscreteLaplace(4), DiscreteGaussian("1/2"), DiscreteGaussian(30)),
    DiscreteGaussian(10**6),
]
noises = pytest.mark.parametrize("noise", NOISES, ids=str)


def weight(noise: Any, x: int) -> Any:
    if isinstance(noise, DiscreteLaplace):
        return mpmath.exp(-abs(x) / fraction(noise.scale))
    return mpmath.exp(-x * x / (2 * fraction(noise.variance)))


def fraction(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


@cache
def chances(noise: Any) -> dict[int, Any]:
    """P(N >= least) by `least`, summed term by term."""
    reach = 12_000 if getattr(noise, "variance", 0) > 1000 else 400
    with mpmath.workdps(50):
        places = range(reach, -reach - 1, -1)
        sums = list(accumulate(weight(noise, x) for x in places))
        return {x: each / sums[-1] for x, each in zip(places, sums, strict=True)}


@noises
@pytest.mark.parametrize("least", [-7, -1, 0, 1, 2, 9])
def test_chances_are_enclosed(noise: Any, least: int) -> None:
    """By bounds that are close: exact for Laplace noise, within a step for Gaussian noise."""
    with mpmath.workdps(40):
        low, high = (fraction(each) for each in at_least(noise, least))
        exact = chances(noise)[least]
        assert low - mpmath.mpf("1e-38") <= exact <= high + mpmath.mpf("1e-38")
        if isinstance(noise, DiscreteLaplace):
            assert high - low < exact / 10**25
        elif noise.variance > 1000:
            assert high - low < exact / 100


def test_the_chance_of_a_new_key_is_the_formula() -> None:
    """p^(T-1) / (1 + p), of one key; rounded up by hardly anything."""
    noise = DiscreteLaplace(2)
    with mpmath.workdps(50):
        p = mpmath.exp(-mpmath.mpf(1) / 2)
        for threshold in (1, 2, 20):
            exact = p ** (threshold - 1) / (1 + p)
            for keys in (1, 3):
                wanted = 1 - (1 - exact) ** keys
                found = fraction(shown_by(noise, threshold, keys))
                assert wanted <= found <= wanted * (1 + mpmath.mpf("1e-25"))


@noises
def test_the_least_threshold_is_the_least(noise: Any) -> None:
    for delta, keys, units in product((Fraction(1, 10), Fraction(1, 10**8)), (1, 5), (1, 3)):
        threshold = least_threshold(noise, delta, keys, units)
        assert shown_by(noise, threshold, keys, units) <= delta
        assert threshold == 1 or shown_by(noise, threshold - 1, keys, units) > delta


def spread(total: int, most: int) -> Any:
    """Every way to write a total, or less, as a sum of parts of at most `most`."""
    if not most:
        yield ()
        return
    for many in range(total // most + 1):
        for rest in spread(total - many * most, most - 1):
            yield (most,) * many + rest


@noises
@pytest.mark.parametrize(("keys", "units"), [(1, 2), (2, 3), (3, 2), (2, 5)])
def test_no_way_to_spread_units_over_keys_is_worse(noise: Any, keys: int, units: int) -> None:
    """Of all numbers of the units that have a key, all apart or all together is the worst."""
    for threshold in (1, 2, 3, 7):
        worst = 0.0
        for parts in spread(keys * units, units):
            hidden = 1.0
            for part in parts:
                hidden *= 1 - float(at_least(noise, threshold - part)[1])
            worst = max(worst, 1 - hidden)
        assert worst == pytest.approx(float(shown_by(noise, threshold, keys, units)), abs=1e-12)


def test_other_claims_would_be_false() -> None:
    """A delta at one unit does not serve for two at twice the epsilon without the group bound."""
    noise = DiscreteLaplace(1)
    assert shown_by(noise, 9, 1, 2) > 2 * shown_by(noise, 9, 1)
    # Of keys with a count of 1 that are shown, all have a noisy count that is far above it.
    noise, missed = DiscreteLaplace(2), Fraction(1, 40)
    assert 20 - half_line(noise, missed) > 1
    assert least_counts(noise, 20, [20], missed) == {20: 1}


@pytest.mark.parametrize("noise", NOISES[:4], ids=str)
@pytest.mark.parametrize("missed", [Fraction(1, 40), Fraction(1, 4)])
def test_the_lower_end_misses_as_rarely_as_it_says(noise: Any, missed: Fraction) -> None:
    """Given that a key is shown, for every count; and it is not always 1."""
    threshold, most = 9, 120
    ends = least_counts(noise, threshold, list(range(threshold, most)), missed)
    with mpmath.workdps(30):
        exact = chances(noise)
        for count in range(1, 40):
            shown = exact[threshold - count]
            wrong = [y for y in range(threshold, most) if ends[y] > count]
            if wrong:
                assert wrong == list(range(wrong[0], most))
                assert exact[wrong[0] - count] / shown <= fraction(missed)
    assert ends[most - 1] == most - 1 - half_line(noise, missed)
    assert ends[threshold] == 1


def test_extreme_parameters() -> None:
    with pytest.raises(ValueError, match="delta above 0"):
        least_threshold(DiscreteLaplace(1), Fraction(0), 1)
    with pytest.raises(ValueError, match="larger epsilon"):
        least_threshold(DiscreteLaplace(10**30), Fraction(1, 10), 1)
    tiny = least_threshold(DiscreteLaplace(Fraction(1, 10**9)), Fraction(1, 10**300), 1)
    assert tiny == 2
    assert shown_by(DiscreteLaplace(1), 1, 1, 10**9) == 1
