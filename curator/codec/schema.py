"""The table of tags: every class whose values are in queries and answers.

Logs and answers have all of them; which of them an analyst may send is said in `analysts`.

A tag is made of the name of its class, unless an `Entry` here says another. It is never given
another meaning: a test has a text of each. If the fields of a class change, or what they mean, the
class gets a tag with the next version, and an `Entry` of the old tag, marked `old`, makes today's
value from the old fields. `tests/unit/curator/codec/examples.txt` has a text of each tag.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

import composition as c
import mechanisms as m
import queryable as q
from composition import written
from composition.advice.planning import Candidate, Recommendation
from composition.rules.menus.costs import Fitted
from curator.codec.arrays import ARRAYS
from curator.codec.entries import Entry, default_tag, entry_of
from curator.codec.fields import UnwritableError
from curator.codec.fits import fitting
from curator.codec.values import VALUES
from curator.lost import Lost
from mechanisms.best import BestRun
from mechanisms.counters.sums import GaussianSum, LaplaceSum
from mechanisms.counters.toeplitz_noise import ToeplitzNoise
from mechanisms.first_good import FirstGood, Try
from mechanisms.frugal.combined import Combined
from mechanisms.frugal.frugal_queries import Estimated
from mechanisms.frugal.joint_launch import GaussiansTogether
from mechanisms.frugal.spread import Spreads
from mechanisms.linear_queries import Weighted
from mechanisms.multiplicative_weights import SyntheticHistogram, _same
from mechanisms.randomized_response import Revealed
from mechanisms.refinement.estimate import Refined, Stopped, Undecided
from mechanisms.refinement.gaussian_reduction import GaussianNoiseReduction
from mechanisms.refinement.refine_queries import Latest
from mechanisms.refinement.tails import MeanTails, Reach, ReleaseTails
from mechanisms.sampling.laws import BernoulliExp, DiscreteGaussian, DiscreteLaplace, TruthfulAnswer
from mechanisms.synthetic.fit_queries import Direct, ModelFit, Modelled, PassedOver, SyntheticRows
from mechanisms.synthetic.scores import ComparedMarginal, Distances, Marginal
from mechanisms.tables.expressions import operands as expressions
from mechanisms.tables.expressions import predicates
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.quantiles import choices
from mechanisms.tables.requests import keys, request
from mechanisms.tables.spans import ranges as spans
from mechanisms.tables.statistics import shown_keys, top, units
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.releases import Noisy, Release
from queryable import losses, messages, receipts, view
from queryable.answers import combinations, estimates, evidence, margins, released
from queryable.answers import noisy as answers
from queryable.losses import Dominated, ExPostBound
from queryable.mechanism import InteractiveMechanism
from queryable.messages import AskMany, LaunchMany
from queryable.randomness.coins import ChildId
from queryable.randomness.laws import Bernoulli, UniformBelow
from queryable.streams.blocks import BlockLossQuery, BlocksQuery, BlockStated
from queryable.streams.levels import BlockLevel, DataLevel, EventLevel
from queryable.view import View

_CLASSES: tuple[type, ...] = (
    # losses and reports
    q.ApproxDP,
    q.ApproxZCDP,
    Dominated,
    ExPostBound,
    q.FDP,
    q.GDP,
    q.PureDP,
    q.RDP,
    losses.RenyiCurve,
    losses.RenyiOrder,
    losses.RenyiOrders,
    losses.TimeUniformBound,
    q.ZCDP,
    # queries and answers
    q.Ask,
    AskMany,
    receipts.AskReceipt,
    BlockLevel,
    BlockLossQuery,
    BlockStated,
    BlocksQuery,
    q.CanAfford,
    DataLevel,
    EventLevel,
    view.Exchange,
    q.Failed,
    q.FromAnalyst,
    q.FromMechanism,
    q.Halted,
    q.Launch,
    q.Last,
    LaunchMany,
    q.LaunchOver,
    q.Launched,
    messages.MeasureQuery,
    answers.Noise,
    q.Postprocessed,
    q.PrivacyLossQuery,
    receipts.Receipt,
    q.Refused,
    messages.RemainingQuery,
    messages.Stated,
    q.ToAnalyst,
    q.ToMechanism,
    q.UserLevel,
    View,
    # laws of noise
    Bernoulli,
    BernoulliExp,
    DiscreteGaussian,
    DiscreteLaplace,
    GaussianSum,
    LaplaceSum,
    m.Poisson,
    m.Threshold,
    ToeplitzNoise,
    m.TruncatedNegativeBinomial,
    TruthfulAnswer,
    UniformBelow,
    # mechanisms and persons
    m.Best,
    m.BrownianNoiseReduction,
    m.Doubling,
    FirstGood,
    m.Frugal,
    m.ExponentialMechanism,
    m.Gaussian,
    GaussianNoiseReduction,
    GaussiansTogether,
    Lost,
    m.Laplace,
    m.LaplaceNoiseReduction,
    m.PermuteAndFlip,
    m.PrivateKeys,
    choices.PrivateQuantiles,
    top.PrivateTop,
    Release,
    m.Scripted,
    m.Synthetic,
    m.SparseVector,
    m.ToeplitzCounter,
    m.TopK,
    m.TreeCounter,
    # what they are asked and answer
    m.Above,
    m.AbsoluteError,
    BestRun,
    Refined,
    m.Estimate,
    Estimated,
    Direct,
    m.Fit,
    m.FromModel,
    Latest,
    m.LinearQuery,
    MeanTails,
    m.Measured,
    m.Measurements,
    ModelFit,
    Modelled,
    PassedOver,
    m.Open,
    Reach,
    m.Refine,
    m.RelativeError,
    ReleaseTails,
    Revealed,
    m.SampleRows,
    Spreads,
    Stopped,
    SyntheticHistogram,
    SyntheticRows,
    m.Total,
    Undecided,
    Try,
    m.Until,
    m.Window,
    # statistics
    Combined,
    m.Correlation,
    m.Count,
    m.CountUnits,
    m.Covariance,
    m.DiscoveredKeys,
    ComparedMarginal,
    Distances,
    m.GroupBy,
    m.Histogram,
    Lattice,
    Marginal,
    m.Mean,
    m.PrivacyUnit,
    m.Quantile,
    m.Quantiles,
    spans.Ranges,
    m.Regression,
    m.Std,
    m.Sum,
    m.Top,
    m.UnitSizes,
    m.Variance,
    # keys of groups
    request.Bins,
    request.Categories,
    request.Combinations,
    m.Keys,
    # expressions and predicates
    predicates.And,
    expressions.Arithmetic,
    expressions.Cast,
    Column,
    predicates.Compared,
    predicates.Comparison,
    expressions.DatePart,
    predicates.IsIn,
    predicates.IsNull,
    expressions.Literal,
    expressions.PerUnit,
    predicates.Matches,
    predicates.Not,
    predicates.Or,
    expressions.TextFunction,
    expressions.Truncated,
    expressions.When,
    # released answers and their evidence
    estimates.Axis,
    estimates.Bin,
    top.Chosen,
    combinations.Combination,
    evidence.Selected,
    combinations.Quotient,
    choices.Enclosed,
    margins.Margin,
    Noisy,
    released.Released,
    keys.ReleasedKeys,
    spans.ReleasedRanges,
    units.ReleasedSizes,
    units.Share,
    shown_keys.Shown,
    spans.Spanned,
    # compositors and policies over them
    c.AtMostADay,
    c.Blocks,
    c.ConComp,
    c.ExPost,
    c.Filt,
    c.FiltCon,
    c.FiltSeq,
    c.Individual,
    c.Odom,
    c.OdomCon,
    c.OdomSeq,
    c.Partition,
    c.Universal,
    *written.RULES,
    *written.ACCOUNTS,
    # recommendations
    Candidate,
    Fitted,
    Recommendation,
)
"""Classes that `entry_of` writes, and whose names give their tags."""


_PARTS = tuple[tuple[ChildId, InteractiveMechanism[Any]], ...]


def _without_encode(*names: str) -> Callable[[Any], tuple[Any, ...]]:
    """The fields of a class that also holds a function `encode`, which has to be the default."""

    def parts(value: Any) -> tuple[Any, ...]:
        if value.encode is not _same:
            refusal = UnwritableError("")
            refusal.place.append("encode")
            raise refusal
        return tuple(getattr(value, name) for name in names)

    return parts


_WEIGHTS = ("universe", "records", "epsilon", "threshold", "updates", "learning_rate")


_SPECIAL = (
    Entry(
        "parallel/1",
        (c.Parallel,),
        {"partition": c.Partition, "max_depth": int, "mechanisms": _PARTS},
        lambda value: (value.partition, value.max_depth, tuple(value.mechanisms.items())),
        lambda partition, depth, parts: c.Parallel(partition, dict(parts), max_depth=depth),
    ),
    Entry(
        "private-multiplicative-weights/1",
        (m.PrivateMultiplicativeWeights,),
        dict.fromkeys(_WEIGHTS, int)
        | {"universe": int | Aggregate, "epsilon": Fraction, "threshold": Fraction}
        | {"learning_rate": float},
        _without_encode(*_WEIGHTS),
        lambda *values: m.PrivateMultiplicativeWeights(**dict(zip(_WEIGHTS, values, strict=True))),
    ),
    Entry(
        "weighted/1",
        (Weighted,),
        {"lattice": np.ndarray, "counted": Aggregate | None},
        _without_encode("lattice", "counted"),
        lambda lattice, counted: Weighted(_same, lattice, counted),
    ),
    Entry(
        "neighbours/1",
        (m.Neighbours,),
        {"value": int},
        lambda value: (int(value),),
        m.Neighbours,
    ),
)

_PLAIN = (
    fitting(entry_of(tag, kind)) for tag, kind in ((default_tag(kind), kind) for kind in _CLASSES)
)

ENTRIES = (*VALUES, *ARRAYS, *_PLAIN, *_SPECIAL)
"""The schema."""
