"""Arguments of valid calls of `mechanisms`, and queries that its mechanisms answer."""

from fractions import Fraction
from typing import Any

import numpy as np

import mechanisms
import queryable
from composition import FiltCon
from mechanisms import Count, PrivacyUnit, column
from mechanisms.first_good import Try
from mechanisms.frugal.spread import Spread, Spreads
from mechanisms.refinement.refine_queries import Latest
from mechanisms.tables.expressions.operands import Literal
from queryable import Ask, Bit, Launch, PrivacyLossQuery, PureDP, Update
from queryable.streams.levels import EventLevel
from tests.instances.functions import DATA, NUMBER, REFUSAL, SIZE, TALLY, odd
from tests.strategies import RandomBits, RandomWord

WORD, BITS = Launch(RandomWord(PureDP("0.01"))), Launch(RandomBits(PureDP("0.01")))
TABLE = {"a": [1, 2, 3], "b": ["x", "y", "x"], "who": [1, 1, 2]}
CHOICE = {"scores": TALLY, "epsilon": "1/2", "sensitivity": 1}
SUMMED = {"column": "a", "lower": 0, "upper": 9, "where": column("a") >= 1, "unit": 1}
TWO = {"a": (0, 9), "b": (0, 9)}
COUNTER = {"statistic": Count(), "rho": "1/10", "horizon": 3, "neighbours": EventLevel()}

MECHANISMS: dict[str, dict[str, Any]] = {
    "AbsoluteError": {"margin": 1, "deviations": 1},
    "BernoulliExp": {"exponent": 1},
    "BrownianNoiseReduction": {},
    "Column": {"operand": "a"},
    "Count": {"where": column("a") >= 1},
    "Correlation": {"x": "a", "y": "b", "bounds": TWO},
    "Covariance": {"x": "a", "y": "b", "bounds": TWO},
    "CountUnits": {"where": column("a") >= 1, "per": PrivacyUnit("who", max_rows=2)},
    "DiscreteGaussian": {"variance": 1},
    "DiscreteLaplace": {"scale": 1},
    "Doubling": {"start": 9, "factor": 2, "releases": 9},
    "Estimate": {"statistic": Count(), "within": 3},
    "Estimated": {
        "value": NUMBER,
        "source": "",
        "cost": queryable.ZCDP(1),
        "alone": queryable.ZCDP(1),
        "spreads": Spreads.of([Spread(Fraction(2), Fraction(1), 1, Fraction(0), Fraction(4), ())]),
        "unit": NUMBER,
    },
    "Best": {
        "base": [mechanisms.Laplace(SIZE, scale=9), mechanisms.Laplace(SIZE, scale=5)],
        "score": "largest",
        "repetitions": mechanisms.TruncatedNegativeBinomial(1, "1/3"),
    },
    "BestRun": {"candidate": 0, "answer": 3},
    "ExponentialMechanism": {**CHOICE},
    "FirstGood": {
        "epsilon": 1,
        "repetitions": mechanisms.TruncatedNegativeBinomial(0, "1/3"),
        "tries": 3,
    },
    "Fit": {"loss": queryable.ZCDP(1), "rounds": 3},
    "FromModel": {"statistic": Count()},
    "Frugal": {"plan": [Count()], "axes": {"b": ["x", "y"]}, "patience": 8},
    "Gaussian": {"statistic": SIZE, "scale": 3},
    "GaussianNoiseReduction": {
        "statistic": SIZE,
        "variances": [900, 300, 100, 30],
        "missed": "1/1000",
    },
    "GroupBy": {"by": {"b": ["x", "y"]}, "statistic": Count()},
    "Histogram": {"column": "b", "categories": ["x"]},
    "Keys": {"column": "b", "values": ["x"]},
    "Laplace": {"statistic": SIZE, "epsilon": 3},
    "LaplaceNoiseReduction": {"statistic": SIZE, "scales": [100, 50, 20, 10]},
    "Latest": {},
    "LinearQuery": {"weights": [1, 0]},
    "Mean": {**SUMMED},
    "Measured": {"columns": ("a",), "counts": np.arange(2), "variance": NUMBER},
    "Measurements": {},
    "ModelFit": {"measured": (), "cost": queryable.ZCDP(1), "rows": 3},
    "Modelled": {"value": 1.5},
    "Open": {"statistic": SIZE, "schedule": [9, 3]},
    "DiscoveredKeys": {"columns": "b", "max_keys": 1},
    "PrivateKeys": {
        "keys": mechanisms.DiscoveredKeys(Literal("all")),
        "epsilon": 1,
        "delta": "1e-3",
    },
    "PermuteAndFlip": {**CHOICE},
    "PerUnit": {
        "how": "sum",
        "column": "a",
        "lower": Fraction(0),
        "upper": Fraction(9),
        "unit": Fraction(1),
        "where": column("a") >= 1,
    },
    "PrivacyUnit": {"column": "who", "max_rows": 2},
    "PrivateMultiplicativeWeights": {
        "universe": 4,
        "records": 9,
        "epsilon": 1,
        "threshold": 1,
        "updates": 2,
        "encode": lambda data: data,
    },
    "Poisson": {"mu": 3},
    "Quantile": {"column": "a", "level": "1/2", "grid": [1, 2]},
    "Quantiles": {"column": "a", "levels": ["1/4", "1/2"], "grid": [1, 2], "by": {"b": ["x", "y"]}},
    "RandomizedResponse": {"bit": Bit(odd), "epsilon": 1, "delta": 0},
    "Refine": {"to": 3},
    "RelativeError": {"alpha": NUMBER, "deviations": 1},
    "Refined": {"value": NUMBER, "variance": NUMBER},
    "Ranges": {"by": {"b": ["x", "y"]}, "statistic": Count()},
    "Regression": {"y": "a", "x": ["b"], "bounds": TWO},
    "Revealed": {"bit": True},
    "Above": {"gap": 1},
    "SampleRows": {"rows": 3},
    "Scripted": {
        "mechanism": FiltCon(PureDP(1)),
        "analyst": [WORD, BITS, Ask(1, "bits"), PrivacyLossQuery()],
        "max_rounds": 9,
    },
    "SparseVector": {"threshold": 20, "epsilon": "1/10", "cutoff": 2},
    "Stopped": {"value": NUMBER, "variance": NUMBER, "met": True},
    "Sum": {**SUMMED},
    "Synthetic": {"columns": {"b": ["x", "y"]}, "workload": [("b",)], "rounds": 3, "max_cells": 9},
    "SyntheticHistogram": {},
    "SyntheticRows": {"names": ("a",), "labels": ((1, None),), "places": np.zeros((1, 1), int)},
    "Table": {
        "source": TABLE,
        "privacy_unit": "who",
        "max_rows": 2,
        "columns": ["a", "b", "who"],
        "seed": 1,
    },
    "Threshold": {"tau": 1, "gamma": NUMBER},
    "ToeplitzCounter": {**COUNTER},
    "Top": {"column": "b", "k": 1, "categories": ["x", "y"]},
    "TopK": {**CHOICE, "k": 2},
    "Total": {"at": 3},
    "TreeCounter": {**COUNTER, "past": 2},
    "TruncatedNegativeBinomial": {"eta": 1, "gamma": NUMBER},
    "TruthfulAnswer": {"epsilon": 1},
    "Try": {"base": [mechanisms.Laplace(SIZE, scale=9)], "score": "largest", "tau": 30},
    "Undecided": {**REFUSAL},
    "UnitSizes": {"limits": [1, 5], "per": PrivacyUnit("who", max_rows=2)},
    "Until": {"condition": mechanisms.AbsoluteError(1), "schedule": [9, 3]},
    "Std": {**SUMMED},
    "Variance": {**SUMMED},
    "Window": {"last": 3},
    "column": {"name": "a"},
    "even_schedule": {"coarsest": 9, "finest": 3, "steps": 4},
    "geometric_schedule": {"coarsest": 9, "finest": 3},
    "when": {"predicate": column("a") >= 1},
}

COUNTED = (Update(DATA[:9]), mechanisms.Total(), Update(DATA[:4]), Update(DATA))
SEEN = (mechanisms.Total(), mechanisms.Total(at=1), mechanisms.Window(last=2))
QUERIES: dict[str, tuple[Any, ...]] = {
    "FirstGood": (
        Try(mechanisms.Laplace(SIZE, scale=9), "largest", 500),
        Try([mechanisms.Laplace(SIZE, scale=5)] * 2, "largest", 0),
        Try(mechanisms.Laplace(SIZE, scale=2), "smallest"),
    ),
    "GaussianNoiseReduction": (
        *(mechanisms.Refine(), mechanisms.Refine(100), Latest(), mechanisms.Refine()),
    ),
    "LaplaceNoiseReduction": (
        *(mechanisms.Refine(), mechanisms.Refine(20), Latest(), mechanisms.Refine()),
    ),
    "SparseVector": (SIZE,) * 12,
    "ToeplitzCounter": (*COUNTED, *SEEN),
    "TreeCounter": (*COUNTED, *SEEN),
}
"""By name of a mechanism that is interactive: queries that its instance answers, in this order."""
