"""Mechanisms that look at data, and the statistics and predicates they take."""

from mechanisms.columns import Column, Predicate, column
from mechanisms.doubling import Doubling
from mechanisms.estimates import Latest, Open, Refine, Until
from mechanisms.exponential import ExponentialMechanism, PermuteAndFlip, TopK
from mechanisms.gaussian import Gaussian
from mechanisms.groups import GroupBy
from mechanisms.laplace import Laplace
from mechanisms.laplace_reduction import LaplaceNoiseReduction
from mechanisms.moments import Mean, Variance
from mechanisms.multiplicative_weights import (
    LinearQuery,
    PrivateMultiplicativeWeights,
    SyntheticHistogram,
)
from mechanisms.noise import BernoulliExp, DiscreteGaussian, DiscreteLaplace, TruthfulAnswer
from mechanisms.noise_reduction import BrownianNoiseReduction
from mechanisms.quantile import Quantile
from mechanisms.queries import Count, Histogram, Sum
from mechanisms.randomized_response import RandomizedResponse, Revealed
from mechanisms.refined import Estimate, Stopped, Undecided
from mechanisms.sparse_vector import SparseVector
from mechanisms.stopping import AbsoluteError, RelativeError, even_schedule, geometric_schedule
from mechanisms.table import Table
from mechanisms.units import Neighbours, PrivacyUnit

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
