"""Mechanisms that look at data, and the statistics and predicates they take."""

from mechanisms.columns import Column, Predicate, column
from mechanisms.doubling import Doubling
from mechanisms.estimates import Estimate, Latest, Open, Refine, Stopped, Until
from mechanisms.exponential import ExponentialMechanism, PermuteAndFlip, TopK
from mechanisms.gaussian import Gaussian
from mechanisms.laplace import Laplace
from mechanisms.laplace_reduction import LaplaceNoiseReduction
from mechanisms.multiplicative_weights import (
    LinearQuery,
    PrivateMultiplicativeWeights,
    SyntheticHistogram,
)
from mechanisms.noise import BernoulliExp, DiscreteGaussian, DiscreteLaplace, TruthfulAnswer
from mechanisms.noise_reduction import BrownianNoiseReduction
from mechanisms.queries import Count, Histogram, Sum
from mechanisms.randomized_response import RandomizedResponse, Revealed
from mechanisms.sparse_vector import SparseVector
from mechanisms.stopping import AbsoluteError, RelativeError, even_schedule, geometric_schedule

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
    "Histogram",
    "Laplace",
    "LaplaceNoiseReduction",
    "Latest",
    "LinearQuery",
    "Open",
    "PermuteAndFlip",
    "Predicate",
    "PrivateMultiplicativeWeights",
    "RandomizedResponse",
    "Refine",
    "RelativeError",
    "Revealed",
    "SparseVector",
    "Stopped",
    "Sum",
    "SyntheticHistogram",
    "TopK",
    "TruthfulAnswer",
    "Until",
    "column",
    "even_schedule",
    "geometric_schedule",
]
