"""Mechanisms that look at data, and the statistics and predicates they take."""

from mechanisms.columns import Column, Predicate, column
from mechanisms.gaussian import Gaussian
from mechanisms.laplace import Laplace
from mechanisms.multiplicative_weights import (
    LinearQuery,
    PrivateMultiplicativeWeights,
    SyntheticHistogram,
)
from mechanisms.noise import BernoulliExp, DiscreteGaussian, DiscreteLaplace, TruthfulAnswer
from mechanisms.queries import Count, Histogram, Sum
from mechanisms.randomized_response import RandomizedResponse, Revealed
from mechanisms.sparse_vector import SparseVector

__all__ = [
    "BernoulliExp",
    "Column",
    "Count",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "Histogram",
    "Laplace",
    "LinearQuery",
    "Predicate",
    "PrivateMultiplicativeWeights",
    "RandomizedResponse",
    "Revealed",
    "SparseVector",
    "Sum",
    "SyntheticHistogram",
    "TruthfulAnswer",
    "column",
]
