"""Parameters of mechanisms that are refused at construction, each with the error that names it."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import Blocks, FiltCon, OdomCon
from mechanisms import (
    AbsoluteError,
    Best,
    Count,
    Doubling,
    ExponentialMechanism,
    Gaussian,
    GroupBy,
    Histogram,
    Keys,
    Laplace,
    LaplaceNoiseReduction,
    PermuteAndFlip,
    Poisson,
    PrivacyUnit,
    PrivateMultiplicativeWeights,
    RandomizedResponse,
    RelativeError,
    Scripted,
    SparseVector,
    Sum,
    Synthetic,
    Threshold,
    ToeplitzCounter,
    TopK,
    TreeCounter,
    TruncatedNegativeBinomial,
    even_schedule,
    geometric_schedule,
)
from mechanisms.additive import integer_statistic
from mechanisms.counters.toeplitz_noise import ToeplitzNoise
from mechanisms.first_good import FirstGood, Try
from mechanisms.frugal.combined import Combined
from mechanisms.frugal.joint_launch import GaussiansTogether
from mechanisms.refinement.gaussian_reduction import GaussianNoiseReduction
from mechanisms.sampling.choices import Softmax
from mechanisms.sampling.laws import BernoulliExp, DiscreteGaussian, DiscreteLaplace, TruthfulAnswer
from mechanisms.synthetic.domain import columns_field
from mechanisms.synthetic.graphical import GRID
from mechanisms.synthetic.scores import ComparedMarginal, Distances, Marginal
from queryable import ApproxDP, Bit, Launch, PureDP, Statistic
from tests.strategies import TENTH, RandomWord
from tests.wrong import EITHER, Row, named, rows, starred

NAN, INF = float("nan"), float("inf")
CITY = GroupBy({"city": ["a", "b"]}, Count())
CITIES = Marginal(CITY, ("city",))
ZEROS = np.zeros(2, dtype=np.int64)
COLUMNS = [{"a": [0, 1, 2], "b": [0, 1, 2]}, Keys.bins("c", [0, 20, 40])]
NAMES = ((), ("city", "town"), ["city"], (1,), "city", None)
PAIRS = {"a": [1], "b": [1]}
GROUPS = GroupBy({"city": ["a", "b"], "sex": ["m", "f", "x"]}, Count())
COARSE = Gaussian(Count(), scale=3)
TOTAL = Gaussian(Combined(Count(), [[[1000]]]), variance=Fraction(100))
SCORES = Statistic(np.array, l1=1, l2=1, shape=3, monotone="up")
SHAPES = [Statistic(len, l1=1, l2=1, shape=shape) for shape in (0, (2, 2))]
FILTER = FiltCon(PureDP(1))
GEOMETRIC = TruncatedNegativeBinomial(1, "1/3")
WORD, SOME_DELTA = RandomWord(TENTH), RandomWord(ApproxDP(1, "1e-6"))
BEST, LAUNCH = Best(WORD, "largest", GEOMETRIC), Launch(WORD)
OPTIONS = {"records": 9, "epsilon": 1, "threshold": 5, "updates": 9}


toeplitz, tree = named(ToeplitzCounter, Count()), named(TreeCounter, Count())
noise_of_steps, combined = starred(ToeplitzNoise), starred(Combined)
doubling = named(Doubling, 1)
even, geometric = starred(even_schedule), starred(geometric_schedule)
synthetic = named(Synthetic, COLUMNS)
gaussian, laplace = named(Gaussian, Count()), named(Laplace, Count())
response = named(RandomizedResponse, Bit(lambda dataset: dataset))
best = named(Best, WORD, "largest", GEOMETRIC)
weights = named(PrivateMultiplicativeWeights, GroupBy({"a": [1, 2]}, Count()), **OPTIONS)
repetitions = starred(TruncatedNegativeBinomial)
scripted = starred(Scripted)


def bounded(**bounds: int) -> PrivacyUnit:
    return PrivacyUnit("who", max_rows=3, **bounds)


def of_city(counts: Any) -> object:
    return Marginal(counts, ("city",))


def best_of(given: Any) -> object:
    return Best(*given, GEOMETRIC)


def schedule(scales: Any) -> object:
    return LaplaceNoiseReduction(Count(), scales=scales)


def missed_of(given: Any) -> object:
    return GaussianNoiseReduction(Count(), variances=[9, 3], missed=given)


def variances_of(given: Any) -> object:
    return GaussianNoiseReduction(Count(), variances=given, missed="1/9")


def compared(modelled: Any) -> object:
    return ComparedMarginal(CITIES, modelled, 1, 0)


def sensitivity(given: Any) -> object:
    return SparseVector(0, 1, sensitivity=given)


def rounds(given: Any) -> object:
    return Scripted(FILTER, [], max_rounds=given)


def universe(given: Any) -> object:
    return PrivateMultiplicativeWeights(given, **OPTIONS)


ROWS: list[Row] = [
    # counters
    (ValueError, "exactly one", toeplitz, [{}, {"scale": 1, "rho": 1}]),
    (ValueError, "horizon", toeplitz, [{"rho": 1, "horizon": 0}, {"rho": 1, "horizon": 2**20 + 1}]),
    (ValueError, "rho", toeplitz, [{"rho": 0}]),
    # past the horizon no noise is drawn
    (ValueError, "in order, and within the horizon", noise_of_steps, [(1, 8, 3, 2), (1, 8, 0, 9)]),
    (EITHER, "horizon is", noise_of_steps, [(1, 0, 0, 0), (1, 2.5, 0, 1)]),
    (ValueError, "(unit|step) is", noise_of_steps, [(0, 8, 0, 1), (1, 8, -1, 1)]),
    (ValueError, "exactly one", tree, [{}, {"rho": 1, "epsilon": 1}]),
    (ValueError, "horizon", tree, [{"scale": 1}, {"rho": 1, "horizon": 0}]),
    (ValueError, "horizon", tree, [{"rho": 1, "horizon": 2**41}]),
    (ValueError, "rho", tree, [{"rho": 0}]),
    (ValueError, "epsilon", tree, [{"epsilon": "-1"}]),
    (ValueError, "past", tree, [{"rho": 1, "past": -1}]),
    (ValueError, "gaussian noise", tree, [{"rho": 1, "noise": "laplace"}]),
    (ValueError, "laplace noise", tree, [{"epsilon": 1, "noise": "gaussian"}]),
    (ValueError, "noise", tree, [{"scale": 1, "horizon": 3, "noise": "cauchy"}]),
    # frugal
    (
        TypeError,
        "(statistic|factors) is",
        combined,
        [(Histogram("city", ["a"]), [[[1]]]), (GROUPS, 3)],
    ),
    (TypeError, "matrix of integers", combined, [(Count(), [[[1.5]]]), (Count(), [[[True]]])]),
    (TypeError, "matrix of integers", combined, [(Count(), [[]]), (Count(), [[[1], [1, 2]]])]),
    (ValueError, "one matrix for each", combined, [(Count(), [[[1, 2]]]), (GROUPS, [[[1, 1]]])]),
    (TypeError, "parts is", GaussiansTogether, [[], [COARSE], TOTAL, [TOTAL, 3]]),
    # refinement
    (ValueError, "(start|factor) is", starred(Doubling), [(0,), (1, 1), (1, "1/2")]),
    (ValueError, "noise is", doubling, [{"noise": "cauchy"}]),
    (ValueError, "releases is", doubling, [{"releases": 0}, {"releases": 10**6}]),
    (ValueError, "empty", schedule, [[]]),
    (ValueError, "fall", schedule, [[1, 2], [2, 2], [3, 1, 2]]),
    (ValueError, "greater than zero", schedule, [[1, 0]]),
    (ValueError, "negative", schedule, [[1, -1]]),
    (ValueError, "scales is", schedule, [[INF]]),
    (ValueError, "5000", schedule, [range(6000, 0, -1)]),
    (ValueError, "boolean", schedule, [[True]]),
    (TypeError, "list of numbers", schedule, ["10, 5", 10, iter([10, 5])]),
    (TypeError, "statistic is", lambda given: LaplaceNoiseReduction(given, scales=[1]), [len]),
    (ValueError, "alpha", RelativeError, [0, 1, "3/2", -1, NAN, True]),
    (ValueError, "margin", AbsoluteError, [0, -1, INF]),
    (ValueError, "deviations", lambda given: RelativeError("1/10", given), [0, -1, INF]),
    (ValueError, "finest", even, [(1, 1), (1, 2), (2, 0)]),
    (ValueError, "steps", even, [(2, 1, 1), (2, 1, 10**6)]),
    (ValueError, "factor", geometric, [(2, 1, 1), (2, 1, "1/2")]),
    (ValueError, "steps", geometric, [(10**9, 1, "1.0001")]),
    # sampling
    (ValueError, "one per candidate", lambda given: Softmax(given, 1), [[], [[1, 2]], 3]),
    (ValueError, "exponent", BernoulliExp, [-1]),
    (ValueError, "epsilon", TruthfulAnswer, ["x"]),
    (ValueError, "scale", DiscreteLaplace, [0, NAN]),
    (ValueError, "variance", DiscreteGaussian, [0, INF]),
    # synthetic
    (TypeError, "a should be one column, with keys of one type", columns_field, [{"a": [1, "x"]}]),
    (TypeError, "a, b should be one column", columns_field, [Keys.of(PAIRS, "a", "b")]),
    (ValueError, "name each once", columns_field, [[{"a": [1]}, {"a": [2]}]]),
    (ValueError, "a has 200 groups; give at most", columns_field, [{"a": list(range(200))}]),
    (TypeError, "by is", columns_field, [[]]),
    (TypeError, "a key is 7", columns_field, [7]),
    # a row more would turn the sign of the distance, or count each row 50 times
    (ValueError, "too large", compared, [np.array([-(2**63) + GRID, 0]), np.array([2**60, 2**60])]),
    (ValueError, "shape", compared, [np.zeros((50, 2), dtype=np.int64)]),
    (TypeError, "int64", compared, [np.zeros(2), [0, 0], np.zeros(2, dtype=object)]),
    # would move by 1,000 times the sensitivity
    (EITHER, "weight is", starred(ComparedMarginal, CITIES, ZEROS), [(-1000, 0), (0, 0), (0.5, 0)]),
    (EITHER, "less is", starred(ComparedMarginal, CITIES, ZEROS), [(1, -1), (1, 0.5)]),
    (TypeError, "Marginal", lambda given: ComparedMarginal(given, ZEROS, 1, 0), [Count()]),
    # marginals are said to be monotone, and sums are not
    (TypeError, "GroupBy of a Count", of_city, [Count(), Histogram("city", ["a", "b"])]),
    (TypeError, "GroupBy of a Count", of_city, [GroupBy({"city": ["a"]}, Sum("age", -5, 5))]),
    (TypeError, "list of Compared", Distances, [(), (CITIES,), None]),
    (EITHER, "names", starred(Marginal, CITY), [(it,) for it in NAMES]),
    (TypeError, "workload has 7", synthetic, [{"workload": 7}]),
    (ValueError, "workload is empty", synthetic, [{"workload": []}]),
    (TypeError, "different names", synthetic, [{"workload": [("a", "a")]}]),
    (ValueError, "workload names 'z'", synthetic, [{"workload": [("z",)]}]),
    (ValueError, "between 1 and 1000", synthetic, [{"workload": {("a",): 0}}]),
    (ValueError, "rounds is 0", synthetic, [{"rounds": 0}]),
    (ValueError, "the columns alone have 13 cells", synthetic, [{"max_cells": 3}]),
    (TypeError, "PrivacyUnit", synthetic, [{"per": "who"}]),
    (ValueError, "without max_groups", synthetic, [{"per": bounded(max_groups=2)}]),
    (ValueError, "depends on", synthetic, [{"per": bounded(max_rows_per_group=2)}]),
    # statistics and noise
    (TypeError, r"Statistic\(function", integer_statistic, [3, len, None, Statistic]),
    (ValueError, "exactly one", gaussian, [{}, {"scale": 1, "rho": 1}]),
    (ValueError, "exactly one", gaussian, [{"scale": 1, "variance": 1}]),
    (ValueError, "variance", gaussian, [{"variance": 0}]),
    (ValueError, "scale", gaussian, [{"scale": 0}]),
    (ValueError, "rho", gaussian, [{"rho": 0}, {"rho": "-1"}]),
    (ValueError, "exactly one", laplace, [{}, {"scale": 1, "epsilon": 1}]),
    (ValueError, "scale", laplace, [{"scale": 0}]),
    (ValueError, "epsilon", laplace, [{"epsilon": 0}, {"epsilon": NAN}]),
    (TypeError, "statistic is", lambda given: Laplace(given, scale=1), [len]),
    (ValueError, "exactly one", response, [{}, {"epsilon": 1, "odds": 3}]),
    (ValueError, "odds is .*at least 1", response, [{"odds": "1/2"}]),
    (ValueError, "epsilon", response, [{"epsilon": -1}]),
    (ValueError, "delta", response, [{"epsilon": 1, "delta": 2}]),
    (TypeError, "bit is", lambda given: RandomizedResponse(given, odds=3), [True, None, Count()]),
    # selection
    *(
        (error, says, starred(kind), [(scores, 1) for scores in given])
        for kind in (ExponentialMechanism, PermuteAndFlip)
        for error, says, given in (
            (ValueError, "scores has shape", [Count(), *SHAPES]),
            (TypeError, "scores is", [len, [1, 2]]),
        )
    ),
    *(
        (error, says, named(kind, scores=SCORES), given)
        for kind in (ExponentialMechanism, PermuteAndFlip)
        for error, says, given in (
            (ValueError, "epsilon is", [{"epsilon": 0}, {"epsilon": -1}, {"epsilon": NAN}]),
            (ValueError, "sensitivity is", [{"epsilon": 1, "sensitivity": 0}]),
            (TypeError, "monotone is", [{"epsilon": 1, "monotone": "yes"}]),
        )
    ),
    (EITHER, "k is", lambda given: TopK(SCORES, 1, k=given), [0, 4, -1, True, 1.5]),
    (EITHER, "(tau|gamma) is", starred(Threshold), [(it, "1/2") for it in ("x", None, NAN)]),
    (EITHER, "(tau|gamma) is", starred(Threshold), [(1, it) for it in (0, 1, "1/10001", 2)]),
    # more runs than 10,000 on average are refused
    (ValueError, "should be", repetitions, [(-1, "1/2"), ("-1.1", "1/2"), (101, "1/2"), (1, 0)]),
    (ValueError, "should be", repetitions, [(1, 1), (1, "1/10001"), (0, "1e-6"), (1, "1e-300")]),
    (ValueError, "should be", repetitions, [("-1/10", "1e-9"), ("1e-300", "1e-300")]),
    (EITHER, "mu is", Poisson, [0, -1, 10_001, "x", None]),
    (ValueError, "candidates has", best_of, [([], "largest"), ([WORD] * 21, "largest")]),
    (ValueError, "candidates should be", best_of, [(SOME_DELTA, "largest")]),
    (
        TypeError,
        "a candidate is",
        best_of,
        [(len, "largest"), (FILTER, "largest"), (BEST, "largest")],
    ),
    (ValueError, "score is", best_of, [(WORD, "best"), (WORD, int), (WORD, None)]),
    (TypeError, "repetitions is", starred(Best, WORD, "largest"), [(3,)]),
    (ValueError, "leave of=1 out", named(Best, WORD, lambda _: 1, GEOMETRIC), [{"of": 1}]),
    (ValueError, "of is", best, [{"of": of} for of in (-1, True, "_hidden", "a.b", 1.5, "", len)]),
    (ValueError, "epsilon is", starred(FirstGood), [(0, GEOMETRIC, 3), (-1, GEOMETRIC, 3)]),
    (EITHER, "repetitions", starred(FirstGood, 1), [(3, 3), (Poisson(1), 3)]),
    (ValueError, "missed is", missed_of, [0, 1, NAN]),
    (EITHER, "variances", variances_of, [(), (1, 2), (3, 3), 9, "x"]),
    (ValueError, "tries is", starred(FirstGood, 1, GEOMETRIC), [(0,), (1001,), (True,)]),
    (ValueError, "score is", starred(Try, WORD), [("best",), (int,)]),
    (EITHER, "tau", starred(Try, WORD, "largest"), [(NAN,), ("x",), (True,)]),
    (ValueError, "leave of=1 out", named(Try, WORD, lambda _: 1), [{"of": 1}]),
    # interactive mechanisms and persons
    *((ValueError, "should be", weights, [{name: 0}]) for name in (*OPTIONS, "learning_rate")),
    (ValueError, "should be", weights, [{"epsilon": NAN}, {"learning_rate": NAN}]),
    (EITHER, "universe", universe, [Count(), Sum("hours", 0, 1), "state"]),
    (EITHER, "universe", universe, [Histogram("state", ["CA"])]),
    (EITHER, "universe", universe, [Statistic(len, l1=1, l2=1)]),
    (EITHER, "universe", universe, [GroupBy({"state": ["CA", "NY"]}, Sum("hours", 0, 1))]),
    (ValueError, "threshold", starred(SparseVector), [(NAN, 1)]),
    (ValueError, "epsilon", starred(SparseVector), [(0, 0)]),
    (ValueError, "cutoff", starred(SparseVector), [(0, 1, 0), (0, 1, True)]),
    # values are integers, and move by integers
    (EITHER, "sensitivity", sensitivity, [0, -1, True, "1/2"]),
    (TypeError, "mechanism is", scripted, [(len, [])]),
    (TypeError, "analyst is 3", scripted, [(FILTER, 3)]),
    (TypeError, "analyst is", scripted, [(FILTER, "bits"), (FILTER, Launch)]),
    (TypeError, "analyst has a None", scripted, [(FILTER, [LAUNCH, None, LAUNCH])]),
    (ValueError, "privacy loss", scripted, [(OdomCon(PureDP), [])]),
    (ValueError, "data that grow", scripted, [(TreeCounter(Count(), epsilon=1), [])]),
    (ValueError, "data that grow", scripted, [(Blocks(FILTER), [])]),
    (EITHER, "max_rounds is", rounds, [0, -1, 100_001, True, 1.5, None]),
]


@pytest.mark.parametrize(("error", "words", "call"), rows(*ROWS))
def test_a_wrong_parameter_is_named(error: Any, words: Any, call: Any) -> None:
    with pytest.raises(error, match=words):
        call()
