import copy
import json
import pickle
from fractions import Fraction
from math import tanh

import numpy as np
import pandas as pd
import polars as pl
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, Histogram, Laplace
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import PureDP, Queryable, SeededCoins
from queryable.answers.noisy import NoisyArray, NoisyInt, noisy_array
from queryable.audit import hashable, view_law
from queryable.randomness.intervals import high, low

LAW = DiscreteLaplace(2)
SEVEN = NoisyInt(7, LAW)
ARRAY = noisy_array(np.array([1, 2, 3]), LAW)


def test_released_numbers_carry_the_law_of_their_noise() -> None:
    """Straight from a mechanism, and through a filter and its handle."""
    data = {"a": np.arange(10)}
    q = Queryable(FiltCon(PureDP(9)), data, coins=SeededCoins(1), allow_seeded=True)
    answer = q.launch(Laplace(Count(), epsilon=1))
    assert answer.interval(0.95) == (answer - 3, answer + 3)
    counts = q.launch(Laplace(Histogram("a", [1, 2]), epsilon=1))
    least, most = counts.interval(0.95)
    assert (most - least == 6).all()
    assert type(least) is np.ndarray
    wide, _ = counts.interval(0.95, simultaneous=True)
    assert (wide < least).all()


def test_a_noisy_int_is_an_int_in_every_other_respect() -> None:
    assert SEVEN == 7
    assert hash(SEVEN) == hash(7)
    assert {7: "x"}[SEVEN] == "x"
    assert f"{SEVEN:,} {SEVEN!r} {SEVEN}" == "7 7 7"
    assert json.dumps({"n": SEVEN}) == '{"n": 7}'
    assert [10, 20, 30][NoisyInt(1, LAW)] == 20
    assert Fraction(SEVEN, 2) == Fraction(7, 2)
    assert isinstance(SEVEN, int)


@pytest.mark.parametrize(
    "work",
    [
        lambda n: n + 1,
        lambda n: 1 + n,
        lambda n: -n,
        lambda n: +n,
        abs,
        lambda n: n // 2,
        round,
        int,
        lambda n: sum([n, n]),
    ],
)
def test_results_of_arithmetic_are_plain(work) -> None:
    """The noise of twice an answer has another law."""
    assert type(work(SEVEN)) is int


def test_frames_and_arrays_store_a_noisy_int_as_an_int() -> None:
    assert np.array([SEVEN, 8]).dtype == np.int64
    assert pd.Series([SEVEN, 8]).dtype == np.int64
    assert pl.Series([SEVEN, 8]).dtype == pl.Int64
    assert type(SEVEN + np.int64(1)) is np.int64


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_a_copy_of_a_noisy_int_keeps_its_noise(again) -> None:
    other = again(SEVEN)
    assert other == 7
    assert other.interval(0.9) == SEVEN.interval(0.9)


def test_a_noisy_array_is_an_array_in_every_other_respect() -> None:
    assert isinstance(ARRAY, np.ndarray)
    assert ARRAY.tolist() == [1, 2, 3]
    assert type(ARRAY[0]) is np.int64
    with pytest.raises(ValueError, match="read-only"):
        np.add(ARRAY, 1, out=ARRAY)
    assert pd.Series(ARRAY).tolist() == [1, 2, 3]
    assert pl.Series(ARRAY).to_list() == [1, 2, 3]
    assert (
        pickle.loads(pickle.dumps(ARRAY)).interval(0.9)[0].tolist()
        == ARRAY.interval(0.9)[0].tolist()
    )


@pytest.mark.parametrize(
    "work",
    [
        lambda a: a + 1,
        lambda a: 2 * a,
        lambda a: a[a > 1],
        lambda a: a[1:],
        lambda a: a.sum(),
        np.cumsum,
        lambda a: np.concatenate([a, a]),
        np.sort,
        lambda a: a == 2,
        lambda a: a @ np.ones((3, 1)),
    ],
)
def test_parts_and_copies_of_a_noisy_array_are_plain(work) -> None:
    """A part that was selected after the values were seen has a smaller coverage."""
    assert not isinstance(work(ARRAY), NoisyArray)


@pytest.mark.parametrize(
    "work", [lambda a: a.reshape(3, 1), lambda a: a.astype(float), lambda a: a.copy()]
)
def test_derived_noisy_arrays_have_no_interval(work) -> None:
    with pytest.raises(ValueError, match="interval of the answer itself"):
        work(ARRAY).interval(0.9)


def test_intervals_near_the_ends_of_int64_do_not_wrap() -> None:
    edge = noisy_array(np.array([2**63 - 1]), LAW)
    least, most = edge.interval(0.95)
    assert least[0] < 2**63 - 1 < most[0]


def test_laws_of_views_ignore_the_noise_of_answers() -> None:
    """Equal answers with different noise laws are one outcome."""
    assert hashable(SEVEN) == hashable(7) == hashable(NoisyInt(7, DiscreteLaplace(5)))
    assert hashable(ARRAY) == (1, 2, 3)
    mechanism = Laplace(Count(), epsilon=3)
    law = view_law(mechanism, [1, 2], lambda view: None, tail="1e-6")
    chance = law[(2,)]
    assert low(chance) <= tanh(1.5) + 1e-12
    assert tanh(1.5) - 1e-12 <= high(chance)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, float("nan"), 2, True])
def test_a_confidence_is_a_probability_between(confidence) -> None:
    with pytest.raises(ValueError, match="confidence"):
        SEVEN.interval(confidence)


def test_intervals_cover_as_often_as_they_say() -> None:
    """2,000 releases; a true coverage of 0.9 falls below 0.87 with probability under 1e-5."""
    mechanism, hits = Gaussian(Count(), scale=3), 0
    for seed in range(2000):
        least, most = mechanism.release([0] * 50, SeededCoins(seed)).interval(0.9)
        hits += least <= 50 <= most
    assert hits >= 0.87 * 2000
