"""Mechanisms that look at data, and the statistics and predicates they take."""

from mechanisms.exponential import ExponentialMechanism, PermuteAndFlip, TopK
from mechanisms.gaussian import Gaussian
from mechanisms.laplace import Laplace
from mechanisms.multiplicative_weights import (
    LinearQuery,
    PrivateMultiplicativeWeights,
    SyntheticHistogram,
)
from mechanisms.randomized_response import RandomizedResponse, Revealed
from mechanisms.refinement.brownian import BrownianNoiseReduction
from mechanisms.refinement.doubling import Doubling
from mechanisms.refinement.estimate import Estimate, Stopped, Undecided
from mechanisms.refinement.laplace_reduction import LaplaceNoiseReduction
from mechanisms.refinement.messages import Latest, Open, Refine, Until
from mechanisms.refinement.stopping import (
    AbsoluteError,
    RelativeError,
    even_schedule,
    geometric_schedule,
)
from mechanisms.sampling.laws import BernoulliExp, DiscreteGaussian, DiscreteLaplace, TruthfulAnswer
from mechanisms.sparse_vector import SparseVector
from mechanisms.tables.group_by import GroupBy
from mechanisms.tables.moments import Mean, Variance
from mechanisms.tables.predicates import Column, Predicate, column
from mechanisms.tables.privacy_unit import Neighbours, PrivacyUnit
from mechanisms.tables.quantile import Quantile
from mechanisms.tables.statistics import Count, Histogram, Sum
from mechanisms.tables.table import Table

__all__ = [
    "AbsoluteError",
    "BernoulliExp",
    "BrownianNoiseReduction",
    "Column",
    "Count",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Doubling",
    "Estimate",
    "ExponentialMechanism",
    "Gaussian",
    "GroupBy",
    "Histogram",
    "Laplace",
    "LaplaceNoiseReduction",
    "Latest",
    "LinearQuery",
    "Mean",
    "Neighbours",
    "Open",
    "PermuteAndFlip",
    "Predicate",
    "PrivacyUnit",
    "PrivateMultiplicativeWeights",
    "Quantile",
    "RandomizedResponse",
    "Refine",
    "RelativeError",
    "Revealed",
    "SparseVector",
    "Stopped",
    "Sum",
    "SyntheticHistogram",
    "Table",
    "TopK",
    "TruthfulAnswer",
    "Undecided",
    "Until",
    "Variance",
    "column",
    "even_schedule",
    "geometric_schedule",
]
