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
from mechanisms.frugal.combined import Combined
from mechanisms.frugal.together import GaussiansTogether
from mechanisms.sampling.choices import Softmax
from mechanisms.sampling.laws import BernoulliExp, DiscreteGaussian, DiscreteLaplace, TruthfulAnswer
from mechanisms.synthetic.domain import columns_field
from mechanisms.synthetic.graphical import GRID
from mechanisms.synthetic.scores import ComparedMarginal, Distances, Marginal
from queryable import ApproxDP, Bit, Launch, PureDP, Statistic
from tests.strategies import TENTH, RandomWord
from tests.wrong import EITHER, Row, each, named, starred

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
    (toeplitz, ValueError, "exactly one", [{}, {"scale": 1, "rho": 1}]),
    (toeplitz, ValueError, "horizon", [{"scale": 1}, {"rho": 1, "horizon": 0}]),
    (toeplitz, ValueError, "horizon", [{"rho": 1, "horizon": 2**20 + 1}]),
    (toeplitz, ValueError, "rho", [{"rho": 0}]),
    # past the horizon there is no epoch, and the parts of its noise would be looked for without end
    (noise_of_steps, ValueError, "in order, and within the horizon", [(1, 8, 3, 2), (1, 8, 0, 9)]),
    (noise_of_steps, EITHER, "horizon is", [(1, 0, 0, 0), (1, 2.5, 0, 1)]),
    (noise_of_steps, ValueError, "(unit|step) is", [(0, 8, 0, 1), (1, 8, -1, 1)]),
    (tree, ValueError, "exactly one", [{}, {"rho": 1, "epsilon": 1}]),
    (tree, ValueError, "horizon", [{"scale": 1}, {"rho": 1, "horizon": 0}]),
    (tree, ValueError, "horizon", [{"rho": 1, "horizon": 2**41}]),
    (tree, ValueError, "rho", [{"rho": 0}]),
    (tree, ValueError, "epsilon", [{"epsilon": "-1"}]),
    (tree, ValueError, "past", [{"rho": 1, "past": -1}]),
    (tree, ValueError, "gaussian noise", [{"rho": 1, "noise": "laplace"}]),
    (tree, ValueError, "laplace noise", [{"epsilon": 1, "noise": "gaussian"}]),
    (tree, ValueError, "noise", [{"scale": 1, "horizon": 3, "noise": "cauchy"}]),
    # frugal
    (
        combined,
        TypeError,
        "(statistic|factors) is",
        [(Histogram("city", ["a"]), [[[1]]]), (GROUPS, 3)],
    ),
    (combined, TypeError, "matrix of integers", [(Count(), [[[1.5]]]), (Count(), [[[True]]])]),
    (combined, TypeError, "matrix of integers", [(Count(), [[]]), (Count(), [[[1], [1, 2]]])]),
    (combined, ValueError, "one matrix for each", [(Count(), [[[1, 2]]]), (GROUPS, [[[1, 1]]])]),
    (GaussiansTogether, TypeError, "parts is", [[], [COARSE], TOTAL, [TOTAL, 3]]),
    # refinement
    (starred(Doubling), ValueError, "(start|factor) is", [(0,), (1, 1), (1, "1/2")]),
    (doubling, ValueError, "noise is", [{"noise": "cauchy"}]),
    (doubling, ValueError, "releases is", [{"releases": 0}, {"releases": 10**6}]),
    (schedule, ValueError, "empty", [[]]),
    (schedule, ValueError, "fall", [[1, 2], [2, 2], [3, 1, 2]]),
    (schedule, ValueError, "greater than zero", [[1, 0]]),
    (schedule, ValueError, "negative", [[1, -1]]),
    (schedule, ValueError, "scales is", [[INF]]),
    (schedule, ValueError, "5000", [range(6000, 0, -1)]),
    (schedule, ValueError, "boolean", [[True]]),
    (schedule, TypeError, "list of numbers", ["10, 5", 10, iter([10, 5])]),
    (lambda given: LaplaceNoiseReduction(given, scales=[1]), TypeError, "statistic is", [len]),
    (RelativeError, ValueError, "alpha", [0, 1, "3/2", -1, NAN, True]),
    (AbsoluteError, ValueError, "margin", [0, -1, INF]),
    (lambda given: RelativeError("1/10", given), ValueError, "deviations", [0, -1, INF]),
    (even, ValueError, "finest", [(1, 1), (1, 2), (2, 0)]),
    (even, ValueError, "steps", [(2, 1, 1), (2, 1, 10**6)]),
    (geometric, ValueError, "factor", [(2, 1, 1), (2, 1, "1/2")]),
    (geometric, ValueError, "steps", [(10**9, 1, "1.0001")]),
    # sampling
    (lambda given: Softmax(given, 1), ValueError, "one per candidate", [[], [[1, 2]], 3]),
    (BernoulliExp, ValueError, "exponent", [-1]),
    (TruthfulAnswer, ValueError, "epsilon", ["x"]),
    (DiscreteLaplace, ValueError, "scale", [0, NAN]),
    (DiscreteGaussian, ValueError, "variance", [0, INF]),
    # synthetic
    (columns_field, TypeError, "a should be one column, with keys of one type", [{"a": [1, "x"]}]),
    (columns_field, TypeError, "a, b should be one column", [Keys.of(PAIRS, "a", "b")]),
    (columns_field, ValueError, "name each once", [[{"a": [1]}, {"a": [2]}]]),
    (columns_field, ValueError, "a has 200 groups; give at most", [{"a": list(range(200))}]),
    (columns_field, TypeError, "by is", [[]]),
    (columns_field, TypeError, "a key is 7", [7]),
    # a row more would turn the sign of the distance, or count each row 50 times
    (compared, ValueError, "too large", [np.array([-(2**63) + GRID, 0]), np.array([2**60, 2**60])]),
    (compared, ValueError, "shape", [np.zeros((50, 2), dtype=np.int64)]),
    (compared, TypeError, "int64", [np.zeros(2), [0, 0], np.zeros(2, dtype=object)]),
    # would move by 1,000 times the sensitivity
    (starred(ComparedMarginal, CITIES, ZEROS), EITHER, "weight is", [(-1000, 0), (0, 0), (0.5, 0)]),
    (starred(ComparedMarginal, CITIES, ZEROS), EITHER, "less is", [(1, -1), (1, 0.5)]),
    (lambda given: ComparedMarginal(given, ZEROS, 1, 0), TypeError, "Marginal", [Count()]),
    # marginals are said to be monotone, and sums are not
    (of_city, TypeError, "GroupBy of a Count", [Count(), Histogram("city", ["a", "b"])]),
    (of_city, TypeError, "GroupBy of a Count", [GroupBy({"city": ["a"]}, Sum("age", -5, 5))]),
    (Distances, TypeError, "list of Compared", [(), (CITIES,), None]),
    (starred(Marginal, CITY), EITHER, "names", [(it,) for it in NAMES]),
    (synthetic, TypeError, "workload has 7", [{"workload": 7}]),
    (synthetic, ValueError, "workload is empty", [{"workload": []}]),
    (synthetic, TypeError, "different names", [{"workload": [("a", "a")]}]),
    (synthetic, ValueError, "workload names 'z'", [{"workload": [("z",)]}]),
    (synthetic, ValueError, "between 1 and 1000", [{"workload": {("a",): 0}}]),
    (synthetic, ValueError, "rounds is 0", [{"rounds": 0}]),
    (synthetic, ValueError, "the columns alone have 13 cells", [{"max_cells": 3}]),
    (synthetic, TypeError, "PrivacyUnit", [{"per": "who"}]),
    (synthetic, ValueError, "without max_groups", [{"per": bounded(max_groups=2)}]),
    (synthetic, ValueError, "depends on", [{"per": bounded(max_rows_per_group=2)}]),
    # statistics and noise
    (integer_statistic, TypeError, r"Statistic\(function", [3, len, None, Statistic]),
    (gaussian, ValueError, "exactly one", [{}, {"scale": 1, "rho": 1}]),
    (gaussian, ValueError, "exactly one", [{"scale": 1, "variance": 1}]),
    (gaussian, ValueError, "variance", [{"variance": 0}]),
    (gaussian, ValueError, "scale", [{"scale": 0}]),
    (gaussian, ValueError, "rho", [{"rho": 0}, {"rho": "-1"}]),
    (laplace, ValueError, "exactly one", [{}, {"scale": 1, "epsilon": 1}]),
    (laplace, ValueError, "scale", [{"scale": 0}]),
    (laplace, ValueError, "epsilon", [{"epsilon": 0}, {"epsilon": NAN}]),
    (lambda given: Laplace(given, scale=1), TypeError, "statistic is", [len]),
    (response, ValueError, "exactly one", [{}, {"epsilon": 1, "odds": 3}]),
    (response, ValueError, "odds is .*at least 1", [{"odds": "1/2"}]),
    (response, ValueError, "epsilon", [{"epsilon": -1}]),
    (response, ValueError, "delta", [{"epsilon": 1, "delta": 2}]),
    (lambda given: RandomizedResponse(given, odds=3), TypeError, "bit is", [True, None, Count()]),
    # selection
    *(
        (starred(kind), error, says, [(scores, 1) for scores in given])
        for kind in (ExponentialMechanism, PermuteAndFlip)
        for error, says, given in (
            (ValueError, "scores has shape", [Count(), *SHAPES]),
            (TypeError, "scores is", [len, [1, 2]]),
        )
    ),
    *(
        (named(kind, scores=SCORES), error, says, given)
        for kind in (ExponentialMechanism, PermuteAndFlip)
        for error, says, given in (
            (ValueError, "epsilon is", [{"epsilon": 0}, {"epsilon": -1}, {"epsilon": NAN}]),
            (ValueError, "sensitivity is", [{"epsilon": 1, "sensitivity": 0}]),
            (TypeError, "monotone is", [{"epsilon": 1, "monotone": "yes"}]),
        )
    ),
    (lambda given: TopK(SCORES, 1, k=given), EITHER, "k is", [0, 4, -1, True, 1.5]),
    (starred(Threshold), EITHER, "(tau|gamma) is", [(it, "1/2") for it in ("x", None, NAN)]),
    (starred(Threshold), EITHER, "(tau|gamma) is", [(1, it) for it in (0, 1, "1/10001", 2)]),
    # more runs than 10,000 on average are refused
    (repetitions, ValueError, "should be", [(-1, "1/2"), ("-1.1", "1/2"), (101, "1/2"), (1, 0)]),
    (repetitions, ValueError, "should be", [(1, 1), (1, "1/10001"), (0, "1e-6"), (1, "1e-300")]),
    (repetitions, ValueError, "should be", [("-1/10", "1e-9"), ("1e-300", "1e-300")]),
    (Poisson, EITHER, "mu is", [0, -1, 10_001, "x", None]),
    (best_of, ValueError, "candidates has", [([], "largest"), ([WORD] * 21, "largest")]),
    (best_of, ValueError, "candidates should be", [(SOME_DELTA, "largest")]),
    (
        best_of,
        TypeError,
        "a candidate is",
        [(len, "largest"), (FILTER, "largest"), (BEST, "largest")],
    ),
    (best_of, ValueError, "score is", [(WORD, "best"), (WORD, int), (WORD, None)]),
    (starred(Best, WORD, "largest"), TypeError, "repetitions is", [(3,)]),
    (named(Best, WORD, lambda _: 1, GEOMETRIC), ValueError, "leave of=1 out", [{"of": 1}]),
    (best, ValueError, "of is", [{"of": of} for of in (-1, True, "_hidden", "a.b", 1.5, "", len)]),
    # interactive mechanisms and persons
    *((weights, ValueError, "should be", [{name: 0}]) for name in (*OPTIONS, "learning_rate")),
    (weights, ValueError, "should be", [{"epsilon": NAN}, {"learning_rate": NAN}]),
    (universe, EITHER, "universe", [Count(), Sum("hours", 0, 1), "state"]),
    (universe, EITHER, "universe", [Histogram("state", ["CA"])]),
    (universe, EITHER, "universe", [Statistic(len, l1=1, l2=1)]),
    (universe, EITHER, "universe", [GroupBy({"state": ["CA", "NY"]}, Sum("hours", 0, 1))]),
    (starred(SparseVector), ValueError, "threshold", [(NAN, 1)]),
    (starred(SparseVector), ValueError, "epsilon", [(0, 0)]),
    (starred(SparseVector), ValueError, "cutoff", [(0, 1, 0), (0, 1, True)]),
    # values are integers, and move by integers
    (sensitivity, EITHER, "sensitivity", [0, -1, True, "1/2"]),
    (scripted, TypeError, "mechanism is", [(len, [])]),
    (scripted, TypeError, "analyst is 3", [(FILTER, 3)]),
    (scripted, TypeError, "analyst is", [(FILTER, "bits"), (FILTER, Launch)]),
    (scripted, TypeError, "analyst has a None", [(FILTER, [LAUNCH, None, LAUNCH])]),
    (scripted, ValueError, "privacy loss", [(OdomCon(PureDP), [])]),
    (scripted, ValueError, "data that grow", [(TreeCounter(Count(), epsilon=1), [])]),
    (scripted, ValueError, "data that grow", [(Blocks(FILTER), [])]),
    (rounds, EITHER, "max_rounds is", [0, -1, 100_001, True, 1.5, None]),
]


@pytest.mark.parametrize(("call", "given", "error", "says"), each(ROWS))
def test_wrong_parameters(call: Any, given: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        call(given)
