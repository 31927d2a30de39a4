"""Mechanisms that read data, and the statistics and predicates that they are given.

- `laplace`, `gaussian`: noise added to an integer statistic (`additive`: what both share).
- `randomized_response`: a bit, told truthfully or not.
- `exponential`: a candidate chosen by its score; `PermuteAndFlip` and `TopK` too.
- `sparse_vector`: `SparseVector`, which compares statistics with a threshold.
- `best`: the best of several runs, for the price of two or three (`repetitions`: how many runs;
  `selection`: what they cost).
- `first_good`: candidates that are tried until one is good enough; only those tried are paid for.
- `scripted`: a whole analysis as one measurement.
- `counters`: sums over the batches of data that grow, at every moment.
- `linear_queries`: `LinearQuery`, a weighted count of records.
- `multiplicative_weights`: many linear queries answered from a synthetic histogram.
- `privacy_maps`: the smaller of two bounds on a mechanism's privacy loss.
- `sampling`: exact noise.
- `thresholds`: noise against a threshold, for keys that are found in the data.
- `tables`: tables, predicates and statistics.
- `frugal`: a person that answers from earlier answers, and buys only what is missing.
- `synthetic`: a person that fits a graphical model of the rows, and answers from it.
- `refinement`: estimates that are refined until they are accurate enough.
"""

from typing import TYPE_CHECKING

try:
    from queryable.installed import require_own
except ImportError as error:
    raise ImportError("`queryable` on the path is another project's, not queryable-dp's") from error
else:
    require_own("queryable")

from queryable.lazily import lazily

if TYPE_CHECKING:
    from mechanisms.best import Best
    from mechanisms.counters.questions import Total, Window
    from mechanisms.counters.toeplitz import ToeplitzCounter
    from mechanisms.counters.tree import TreeCounter
    from mechanisms.exponential import ExponentialMechanism, PermuteAndFlip, TopK
    from mechanisms.frugal.frugal import Frugal
    from mechanisms.frugal.frugal_queries import Estimate
    from mechanisms.gaussian import Gaussian
    from mechanisms.laplace import Laplace
    from mechanisms.linear_queries import LinearQuery
    from mechanisms.multiplicative_weights import PrivateMultiplicativeWeights
    from mechanisms.randomized_response import RandomizedResponse
    from mechanisms.refinement.brownian import BrownianNoiseReduction
    from mechanisms.refinement.doubling import Doubling
    from mechanisms.refinement.laplace_reduction import LaplaceNoiseReduction
    from mechanisms.refinement.refine_queries import Open, Refine, Until
    from mechanisms.refinement.stopping import (
        AbsoluteError,
        RelativeError,
        even_schedule,
        geometric_schedule,
    )
    from mechanisms.repetitions import Poisson, Threshold, TruncatedNegativeBinomial
    from mechanisms.scripted import Scripted
    from mechanisms.sparse_vector import Above, SparseVector
    from mechanisms.synthetic.fit_queries import Fit, FromModel, Measured, Measurements, SampleRows
    from mechanisms.synthetic.synthetic import Synthetic
    from mechanisms.tables.expressions.columns import column, when
    from mechanisms.tables.quantiles.choices import Quantiles
    from mechanisms.tables.quantiles.quantile import Quantile
    from mechanisms.tables.requests.keys import Keys
    from mechanisms.tables.requests.privacy_unit import Neighbours, PrivacyUnit
    from mechanisms.tables.statistics.counts import Count, Histogram, Sum
    from mechanisms.tables.statistics.discovered import DiscoveredKeys, PrivateKeys
    from mechanisms.tables.statistics.group_by import GroupBy
    from mechanisms.tables.statistics.moments import Mean, Std, Variance
    from mechanisms.tables.statistics.regression import Correlation, Covariance, Regression
    from mechanisms.tables.statistics.top import Top
    from mechanisms.tables.statistics.units import CountUnits, UnitSizes
    from mechanisms.tables.table import Table
else:
    __getattr__, __dir__ = lazily(
        __name__,
        {
            "mechanisms.best": "Best",
            "mechanisms.counters.questions": "Total Window",
            "mechanisms.counters.toeplitz": "ToeplitzCounter",
            "mechanisms.counters.tree": "TreeCounter",
            "mechanisms.exponential": "ExponentialMechanism PermuteAndFlip TopK",
            "mechanisms.frugal.frugal": "Frugal",
            "mechanisms.frugal.frugal_queries": "Estimate",
            "mechanisms.gaussian": "Gaussian",
            "mechanisms.laplace": "Laplace",
            "mechanisms.linear_queries": "LinearQuery",
            "mechanisms.multiplicative_weights": "PrivateMultiplicativeWeights",
            "mechanisms.randomized_response": "RandomizedResponse",
            "mechanisms.refinement.brownian": "BrownianNoiseReduction",
            "mechanisms.refinement.doubling": "Doubling",
            "mechanisms.refinement.laplace_reduction": "LaplaceNoiseReduction",
            "mechanisms.refinement.refine_queries": "Open Refine Until",
            "mechanisms.refinement.stopping": (
                "AbsoluteError RelativeError even_schedule geometric_schedule"
            ),
            "mechanisms.repetitions": "Poisson Threshold TruncatedNegativeBinomial",
            "mechanisms.scripted": "Scripted",
            "mechanisms.sparse_vector": "Above SparseVector",
            "mechanisms.synthetic.fit_queries": "Fit FromModel Measured Measurements SampleRows",
            "mechanisms.synthetic.synthetic": "Synthetic",
            "mechanisms.tables.expressions.columns": "column when",
            "mechanisms.tables.quantiles.choices": "Quantiles",
            "mechanisms.tables.quantiles.quantile": "Quantile",
            "mechanisms.tables.requests.keys": "Keys",
            "mechanisms.tables.requests.privacy_unit": "Neighbours PrivacyUnit",
            "mechanisms.tables.statistics.counts": "Count Histogram Sum",
            "mechanisms.tables.statistics.discovered": "DiscoveredKeys PrivateKeys",
            "mechanisms.tables.statistics.group_by": "GroupBy",
            "mechanisms.tables.statistics.moments": "Mean Std Variance",
            "mechanisms.tables.statistics.regression": "Correlation Covariance Regression",
            "mechanisms.tables.statistics.top": "Top",
            "mechanisms.tables.statistics.units": "CountUnits UnitSizes",
            "mechanisms.tables.table": "Table",
        },
    )

__distribution__ = "queryable-dp"

__all__ = [
    "Above",
    "AbsoluteError",
    "Best",
    "BrownianNoiseReduction",
    "Correlation",
    "Count",
    "CountUnits",
    "Covariance",
    "DiscoveredKeys",
    "Doubling",
    "Estimate",
    "ExponentialMechanism",
    "Fit",
    "FromModel",
    "Frugal",
    "Gaussian",
    "GroupBy",
    "Histogram",
    "Keys",
    "Laplace",
    "LaplaceNoiseReduction",
    "LinearQuery",
    "Mean",
    "Measured",
    "Measurements",
    "Neighbours",
    "Open",
    "PermuteAndFlip",
    "Poisson",
    "PrivacyUnit",
    "PrivateKeys",
    "PrivateMultiplicativeWeights",
    "Quantile",
    "Quantiles",
    "RandomizedResponse",
    "Refine",
    "Regression",
    "RelativeError",
    "SampleRows",
    "Scripted",
    "SparseVector",
    "Std",
    "Sum",
    "Synthetic",
    "Table",
    "Threshold",
    "ToeplitzCounter",
    "Top",
    "TopK",
    "Total",
    "TreeCounter",
    "TruncatedNegativeBinomial",
    "UnitSizes",
    "Until",
    "Variance",
    "Window",
    "column",
    "when",
    "even_schedule",
    "geometric_schedule",
]
