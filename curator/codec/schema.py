"""The table of tags: every class whose values are in queries and answers.

Logs and answers have all of them; which of them an analyst may send is said in `analysts`.

A tag is never given another meaning. If the fields of a class change, or what they mean, the class
gets a tag with the next version, and an `Entry` of the old tag, marked `old`, makes today's value
from the old fields. `tests/unit/curator/codec/examples.txt` has a text of each tag.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from immutables import Map

import composition as c
import mechanisms as m
import queryable as q
from composition.compositors.blocks.accounts import Block, BlockAccounts, Groups
from composition.compositors.ex_post_claims import ExPostAccount
from composition.compositors.individual.accounts import RecordAccount
from composition.rules.additive import Additive, AdditiveAccount, RunningSum
from composition.rules.base import Account
from composition.rules.duality import (
    AccumulatorAccount,
    AccumulatorRule,
    LeastBudget,
    Line,
    RuleAccumulator,
)
from composition.rules.menus.menu import MenuAccount, Units
from composition.rules.odometers.time_uniform import Stopping, StoppingAccount, TimeUniformAccount
from composition.rules.renyi import Mixture, RenyiAccount
from composition.rules.residue import ResidueAccount
from composition.rules.rogers import RogersAccount
from composition.rules.slack import SlackAccount
from curator.codec.arrays import ARRAYS
from curator.codec.entries import Entry, entry_of
from curator.codec.fields import UnwritableError
from curator.codec.fits import fitting
from curator.codec.values import VALUES
from curator.lost import Lost
from mechanisms.counters.sums import GaussianSum, LaplaceSum
from mechanisms.counters.toeplitz_noise import ToeplitzNoise
from mechanisms.frugal.combined import Combined
from mechanisms.frugal.spread import Spread
from mechanisms.frugal.together import GaussiansTogether
from mechanisms.linear_queries import Weighted
from mechanisms.multiplicative_weights import _same
from mechanisms.refinement.tails import MeanTails, Reach, ReleaseTails
from mechanisms.synthetic.messages import Direct, PassedOver
from mechanisms.synthetic.scores import Compared, Distances, Marginal
from mechanisms.tables.expressions import operands as expressions
from mechanisms.tables.expressions import predicates
from mechanisms.tables.expressions.lattice import Lattice
from mechanisms.tables.quantiles import choices
from mechanisms.tables.requests import keys, request
from mechanisms.tables.statistics import shown_keys, top, units
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.releases import Noisy, Release
from queryable import losses, messages, receipts, view
from queryable.answers import estimates, released
from queryable.answers import noisy as answers
from queryable.losses import ApproxDP, Loss, Measure
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.coins import ChildId
from queryable.randomness.laws import UniformBelow

_CLASSES: dict[str, type] = {
    # losses and reports
    "approx-dp/1": q.ApproxDP,
    "approx-zcdp/1": q.ApproxZCDP,
    "dominated/1": q.Dominated,
    "ex-post-bound/1": q.ExPostBound,
    "fdp/1": q.FDP,
    "gdp/1": q.GDP,
    "pure-dp/1": q.PureDP,
    "rdp/1": q.RDP,
    "renyi-curve/1": losses.RenyiCurve,
    "renyi-order/1": losses.RenyiOrder,
    "renyi-orders/1": losses.RenyiOrders,
    "time-uniform-bound/1": losses.TimeUniformBound,
    "zcdp/1": q.ZCDP,
    # queries and answers
    "ask/1": q.Ask,
    "ask-many/1": q.AskMany,
    "ask-receipt/1": receipts.AskReceipt,
    "block/1": Block,
    "block-level/1": q.BlockLevel,
    "block-loss-query/1": q.BlockLossQuery,
    "block-stated/1": q.BlockStated,
    "blocks-query/1": q.BlocksQuery,
    "can-afford/1": q.CanAfford,
    "data-level/1": q.DataLevel,
    "event-level/1": q.EventLevel,
    "exchange/1": view.Exchange,
    "failed/1": q.Failed,
    "from-analyst/1": q.FromAnalyst,
    "from-mechanism/1": q.FromMechanism,
    "halted/1": q.Halted,
    "launch/1": q.Launch,
    "last/1": q.Last,
    "launch-many/1": q.LaunchMany,
    "launch-over/1": q.LaunchOver,
    "launched/1": q.Launched,
    "measure-query/1": messages.MeasureQuery,
    "noise/1": answers.Noise,
    "postprocessed/1": q.Postprocessed,
    "privacy-loss-query/1": q.PrivacyLossQuery,
    "receipt/1": receipts.Receipt,
    "record-account/1": RecordAccount,
    "refused/1": q.Refused,
    "stated/1": messages.Stated,
    "to-analyst/1": q.ToAnalyst,
    "to-mechanism/1": q.ToMechanism,
    "user-level/1": q.UserLevel,
    "view/1": q.View,
    # laws of noise
    "bernoulli/1": q.Bernoulli,
    "bernoulli-exp/1": m.BernoulliExp,
    "discrete-gaussian/1": m.DiscreteGaussian,
    "discrete-laplace/1": m.DiscreteLaplace,
    "gaussian-sum/1": GaussianSum,
    "laplace-sum/1": LaplaceSum,
    "poisson/1": m.Poisson,
    "threshold/1": m.Threshold,
    "toeplitz-noise/1": ToeplitzNoise,
    "truncated-negative-binomial/1": m.TruncatedNegativeBinomial,
    "truthful-answer/1": m.TruthfulAnswer,
    "uniform-below/1": UniformBelow,
    # mechanisms and persons
    "best/1": m.Best,
    "brownian-noise-reduction/1": m.BrownianNoiseReduction,
    "doubling/1": m.Doubling,
    "frugal/1": m.Frugal,
    "exponential-mechanism/1": m.ExponentialMechanism,
    "gaussian/1": m.Gaussian,
    "gaussians-together/1": GaussiansTogether,
    "lost/1": Lost,
    "laplace/1": m.Laplace,
    "laplace-noise-reduction/1": m.LaplaceNoiseReduction,
    "permute-and-flip/1": m.PermuteAndFlip,
    "private-keys/1": m.PrivateKeys,
    "private-quantiles/1": choices.PrivateQuantiles,
    "private-top/1": top.PrivateTop,
    "release/1": Release,
    "scripted/1": m.Scripted,
    "synthetic/1": m.Synthetic,
    "sparse-vector/1": m.SparseVector,
    "toeplitz-counter/1": m.ToeplitzCounter,
    "top-k/1": m.TopK,
    "tree-counter/1": m.TreeCounter,
    # what they are asked and answer
    "above/1": m.Above,
    "absolute-error/1": m.AbsoluteError,
    "best-run/1": m.BestRun,
    "refined/1": m.Refined,
    "estimate/1": m.Estimate,
    "estimated/1": m.Estimated,
    "direct/1": Direct,
    "fit/1": m.Fit,
    "from-model/1": m.FromModel,
    "latest/1": m.Latest,
    "linear-query/1": m.LinearQuery,
    "mean-tails/1": MeanTails,
    "measured/1": m.Measured,
    "measurements/1": m.Measurements,
    "model-fit/1": m.ModelFit,
    "modelled/1": m.Modelled,
    "passed-over/1": PassedOver,
    "open/1": m.Open,
    "reach/1": Reach,
    "refine/1": m.Refine,
    "relative-error/1": m.RelativeError,
    "release-tails/1": ReleaseTails,
    "revealed/1": m.Revealed,
    "sample-rows/1": m.SampleRows,
    "spread/1": Spread,
    "stopped/1": m.Stopped,
    "synthetic-histogram/1": m.SyntheticHistogram,
    "synthetic-rows/1": m.SyntheticRows,
    "total/1": m.Total,
    "undecided/1": m.Undecided,
    "until/1": m.Until,
    "window/1": m.Window,
    # statistics
    "combined/1": Combined,
    "correlation/1": m.Correlation,
    "count/1": m.Count,
    "count-units/1": m.CountUnits,
    "compared-marginal/1": Compared,
    "covariance/1": m.Covariance,
    "discovered-keys/1": m.DiscoveredKeys,
    "distances/1": Distances,
    "group-by/1": m.GroupBy,
    "histogram/1": m.Histogram,
    "lattice/1": Lattice,
    "marginal/1": Marginal,
    "mean/1": m.Mean,
    "privacy-unit/1": m.PrivacyUnit,
    "quantile/1": m.Quantile,
    "quantiles/1": m.Quantiles,
    "regression/1": m.Regression,
    "std/1": m.Std,
    "sum/1": m.Sum,
    "top/1": m.Top,
    "unit-sizes/1": m.UnitSizes,
    "variance/1": m.Variance,
    # keys of groups
    "bins/1": request.Bins,
    "categories/1": request.Categories,
    "combinations/1": request.Combinations,
    "keys/1": m.Keys,
    # expressions and predicates
    "and/1": predicates.And,
    "arithmetic/1": expressions.Arithmetic,
    "cast/1": expressions.Cast,
    "column/1": m.Column,
    "compared/1": predicates.Compared,
    "comparison/1": predicates.Comparison,
    "date-part/1": expressions.DatePart,
    "is-in/1": predicates.IsIn,
    "is-null/1": predicates.IsNull,
    "literal/1": expressions.Literal,
    "matches/1": predicates.Matches,
    "not/1": predicates.Not,
    "or/1": predicates.Or,
    "text-function/1": expressions.TextFunction,
    "truncated/1": expressions.Truncated,
    "when/1": expressions.When,
    # released answers and their evidence
    "axis/1": estimates.Axis,
    "bin/1": estimates.Bin,
    "chosen/1": top.Chosen,
    "combination/1": released.Combination,
    "enclosed/1": choices.Enclosed,
    "noisy/1": Noisy,
    "released/1": released.Released,
    "released-keys/1": keys.ReleasedKeys,
    "released-sizes/1": units.ReleasedSizes,
    "share/1": units.Share,
    "shown/1": shown_keys.Shown,
    # compositors and policies over them
    "at-most-a-day/1": c.AtMostADay,
    "blocks/1": c.Blocks,
    "con-comp/1": c.ConComp,
    "ex-post/1": c.ExPost,
    "filt/1": c.Filt,
    "filt-con/1": c.FiltCon,
    "filt-seq/1": c.FiltSeq,
    "individual/1": c.Individual,
    "odom/1": c.Odom,
    "odom-con/1": c.OdomCon,
    "odom-seq/1": c.OdomSeq,
    "partition/1": c.Partition,
    "universal/1": c.Universal,
    # rules and accumulators
    "accumulator-rule/1": AccumulatorRule,
    "additive/1": Additive,
    "basic/1": c.Basic,
    "gdp-residue/1": c.GDPResidue,
    "line/1": Line,
    "linear-odometer/1": c.LinearOdometer,
    "mixture-odometer/1": c.MixtureOdometer,
    "one-sided-mixture-odometer/1": c.OneSidedMixtureOdometer,
    "renyi-odometer/1": c.RenyiOdometer,
    "rogers-2016/1": c.Rogers2016,
    "rogers-2016-odometer/1": c.Rogers2016Odometer,
    "rogers-2023/1": c.Rogers2023,
    "rogers-lemma-64-odometer/1": c.RogersLemma64Odometer,
    "stitched-odometer/1": c.StitchedOdometer,
    "stopping/1": Stopping,
    "via-gdp/1": c.ViaGDP,
    "via-renyi/1": c.ViaRenyi,
    "via-zcdp/1": c.ViaZCDP,
    "whitehouse-2023/1": c.Whitehouse2023,
    # their accounts
    "accumulator-account/1": AccumulatorAccount,
    "additive-account/1": AdditiveAccount,
    "ex-post-account/1": ExPostAccount,
    "mixture/1": Mixture,
    "renyi-account/1": RenyiAccount,
    "residue-account/1": ResidueAccount,
    "rogers-account/1": RogersAccount,
    "running-sum/1": RunningSum,
    "slack-account/1": SlackAccount,
    "stopping-account/1": StoppingAccount,
    "time-uniform-account/1": TimeUniformAccount,
    "units/1": Units,
    # recommendations
    "candidate/1": c.Candidate,
    "fitted/1": c.Fitted,
    "recommendation/1": c.Recommendation,
}
"""Classes whose fields are the arguments of their constructor."""

_PARTS = tuple[tuple[ChildId, InteractiveMechanism[Any]], ...]
_PRICED = tuple[tuple[int, int], ...]


def _menu(unit: Fraction, priced: Any, slack: Fraction | None) -> c.Menu:
    return c.Menu(unit, [entry for entry, _ in priced], [cost for _, cost in priced], slack)


def _of_menu_account(account: MenuAccount) -> tuple[Any, ...]:
    terms = account.terms
    priced = tuple(zip(terms.entries, terms.costs, strict=True))
    facts = account.budget, terms.unit, priced, account.slack
    return (*facts, account.used, account.deltas, account.started)


def _menu_account(
    budget: ApproxDP, unit: Fraction, priced: Any, slack: Fraction, *used: Any
) -> MenuAccount:
    empty = _menu(unit, priced, slack).open(budget)
    return MenuAccount(budget, empty.slack, empty.terms, *used)


def _of_least_budget(account: LeastBudget) -> tuple[Any, ...]:
    kept = tuple(account.losses[place] for place in range(len(account.losses)))
    return account.rule, account.line, kept, account.ceiling, account.last


def _least_budget(rule: c.Rule, line: Line, losses: tuple[Loss, ...], *rest: Any) -> LeastBudget:
    return LeastBudget(rule, line, Map(enumerate(losses)), *rest)


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
        "menu/1",
        (c.Menu,),
        {"unit": Fraction, "priced": _PRICED, "slack": Fraction | None},
        lambda menu: (menu.unit, menu.priced, menu.slack),
        _menu,
    ),
    Entry(
        "block-accounts/1",
        (BlockAccounts,),
        {"empty": Account, "groups": Groups, "blocks_of_unit": int},
        lambda held: (held.empty, held.groups, held.blocks_of_unit),
        BlockAccounts.of,
    ),
    Entry(
        "menu-account/1",
        (MenuAccount,),
        {"budget": ApproxDP, "unit": Fraction, "priced": _PRICED, "slack": Fraction}
        | {"used": int, "deltas": Fraction, "started": bool},
        _of_menu_account,
        _menu_account,
    ),
    Entry(
        "least-budget/1",
        (LeastBudget,),
        {"rule": c.Rule, "line": Line, "losses": tuple[Loss, ...], "ceiling": Account}
        | {"last": Loss | None},
        _of_least_budget,
        _least_budget,
    ),
    Entry(
        "rule-accumulator/1",
        (RuleAccumulator,),
        {"rule": c.Rule, "measure": Measure, "delta": Fraction | None},
        lambda value: (value.rule, value.line.zero.measure, value.line.delta),
        c.accumulator_of,
    ),
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

_PLAIN = (fitting(entry_of(tag, kind)) for tag, kind in _CLASSES.items())

ENTRIES = (*VALUES, *ARRAYS, *_PLAIN, *_SPECIAL)
"""The schema."""
