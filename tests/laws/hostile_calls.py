"""Valid calls of everything public; tests replace one argument by a hostile value."""

from fractions import Fraction
from typing import Any

import numpy as np

import mechanisms
import queryable
import queryable.audit
import queryable.losses
from composition import (
    Basic,
    FiltCon,
    Menu,
    Partition,
    ViaZCDP,
)
from composition.rules import Additive
from mechanisms import (
    Count,
    Frugal,
    Gaussian,
    PrivacyUnit,
    Quantiles,
    RandomizedResponse,
    Top,
    column,
)
from mechanisms.frugal.spread import Spread
from mechanisms.sampling.laws import DiscreteGaussian
from queryable import (
    SYSTEM,
    ApproxDP,
    Bit,
    EventLevel,
    Launch,
    PureDP,
    Queryable,
    SeededCoins,
    Statistic,
    Update,
    View,
)
from queryable.audit import view_law
from queryable.audit.views.strategies import Node
from queryable.display.ledger import LedgerRow
from tests.strategies import Courier, Toy

BUDGET = ApproxDP(1, "1e-6")
TABLE = {"a": [1, 2, 3], "b": ["x", "y", "x"], "who": [1, 1, 2]}
SIZE = Statistic(len, l1=1, l2=1)
RESPONSE = RandomizedResponse(Bit(bool), odds=3)


def nothing(view: View) -> None:
    """An adversary that asks nothing."""


def tree() -> Queryable:
    """A small live analysis."""
    q = Queryable(FiltCon(PureDP(9)), np.arange(20), coins=SeededCoins(1), allow_seeded=True)
    q.launch(Toy(), name="toy")
    return q


def law(bit: bool) -> Any:
    """The law of randomized response."""
    return view_law(RESPONSE, bit, nothing)


NUMBER = Fraction(1, 2)
ROW = {
    "sequence": 0,
    "path": (0,),
    "name": None,
    "mechanism": "Toy",
    "asked": "Toy",
    "claim": PureDP(1),
    "loss": PureDP(1),
    "total": PureDP(1),
    "outcome": "launched",
}
REFUSAL = {"reason": "no", "requested": None, "spent": None, "remaining": None, "instead": ""}
FILTER = {"budget": PureDP(1), "d_in": 1, "max_mechanisms": 3, "max_depth": 9}
RULED = {**FILTER, "rule": Basic(), "on_exceed": "refuse"}
ODOMETER = {"measure": PureDP, "rule": Additive(PureDP), "d_in": 1, "max_mechanisms": 3}
UNIFORM = {"delta": "1e-3", "deltas": "1e-4", "margin": "1/10"}
CHOICE = {
    "scores": Statistic(len, l1=1, l2=1, shape=3, monotone="up"),
    "epsilon": 1,
    "sensitivity": 1,
}
SUMMED = {"column": "a", "lower": 0, "upper": 9, "where": column("a") >= 1, "unit": 1}
TWO = {"a": (0, 9), "b": (0, 9)}
COUNTS = [Toy(PureDP(1))]
COUNTER = {"statistic": mechanisms.Count(), "rho": "1/10", "horizon": 9, "neighbours": EventLevel()}

CALLS: dict[str, dict[str, dict[str, Any]]] = {
    "queryable": {
        "FDP": {"knots": [(0, 1), (1, 0)], "rounding": 0},
        "GDP": {"mu": 1},
        "RDP": {"alpha": 2, "epsilon": 1},
        "ZCDP": {"rho": 1},
        "ApproxDP": {"epsilon": 1, "delta": "1e-6"},
        "ApproxZCDP": {"rho": 1, "delta": "1e-6"},
        "Ask": {"child": 0, "query": None},
        "AskMany": {"queries": ["bits"]},
        "Bernoulli": {"probability": NUMBER},
        "Bit": {"function": bool},
        "BlockLevel": {"column": "patient", "max_blocks": 2},
        "BlockLossQuery": {"block": "monday"},
        "BlockStated": {
            "block": "monday",
            "closed": True,
            "spent": PureDP(0),
            "remaining": PureDP(1),
        },
        "BlocksQuery": {},
        "CanAfford": {"launch": Launch(Toy())},
        "CloseBlock": {"block": "monday"},
        "DataLevel": {},
        "Dominated": {"epsilon": 1, "mu": 1, "delta": 0},
        "EventLevel": {},
        "ExPostBound": {"epsilon": 1, "delta": 0},
        "Failed": {},
        "FromAnalyst": {"query": None},
        "FromMechanism": {"answer": None},
        "Growth": {
            "from_any_history": True,
            "counts_batches": False,
            "passes_batches": True,
            "in_blocks": False,
        },
        "Halted": {"reason": ""},
        "Last": {"count": 1},
        "Launch": {"mechanism": Toy(), "d_out": None},
        "LaunchMany": {"launches": [Launch(Toy())]},
        "LaunchOver": {"mechanism": Toy(), "blocks": ["monday"], "d_out": None},
        "Launched": {"child": 0, "answer": None},
        "MechanismFault": {},
        "MisreadWarning": {},
        "PrivacyWarning": {},
        "Postprocessed": {"mechanism": Toy(), "person": Courier(), "max_rounds": 9},
        "PrivacyLossQuery": {"d_in": 1},
        "PureDP": {"epsilon": 1},
        "QueryRefusedError": REFUSAL,
        "Queryable": {
            "mechanism": Toy(),
            "dataset": None,
            "coins": SYSTEM,
            "allow_seeded": True,
            "on_fault": None,
        },
        "Refused": REFUSAL,
        "SeededCoins": {"seed": 1},
        "Statistic": {"function": len, "l1": 1, "l2": 1, "shape": 2, "monotone": "up"},
        "SystemCoins": {},
        "ToAnalyst": {"answer": None},
        "ToMechanism": {"query": None},
        "Update": {"records": [1], "block": "monday"},
        "UserLevel": {"column": "patient", "max_records": 4},
        "View": {"opening": None, "exchanges": ()},
        "accuracy": {
            "mechanism": Gaussian(SIZE, scale=3),
            "confidence": "0.9",
            "simultaneous": False,
        },
        "explain": {"mechanism": Toy()},
        "interact": {
            "mechanism": RESPONSE,
            "dataset": True,
            "adversary": nothing,
            "coins": SYSTEM,
            "max_rounds": 2,
        },
        "rehearse": {"mechanism": RESPONSE, "sample": True, "queries": ()},
        "scale_for": {
            "kind": Gaussian,
            "statistic": SIZE,
            "within": 10,
            "confidence": "0.9",
            "simultaneous": False,
        },
        "touching_data": {"run": lambda: None},
        "truncated_view": {
            "mechanism": FiltCon(PureDP(1)),
            "dataset": True,
            "adversary": nothing,
            "threshold": PureDP(1),
            "coins": SYSTEM,
            "max_rounds": 2,
        },
    },
    "queryable.view": {
        "Exchange": {"path": (), "query": None, "answer": None},
    },
    "queryable.ex_post": {
        "Opening": {},
    },
    "queryable.randomness.laws": {
        "UniformBelow": {"bound": 9},
    },
    "mechanisms.tables.statistics.top": {
        "PrivateTop": {"top": Top("b", 1, ["x", "y"]), "epsilon": 1},
    },
    "mechanisms.tables.quantiles.choices": {
        "PrivateQuantiles": {
            "counts": Quantiles("a", "1/2", [1, 2]),
            "epsilon": 1,
            "confidence": "0.9",
        },
    },
    "queryable.wording.guarantees": {
        "Guarantee": {"summary": "", "claim": "", "theorem": "", "assumes": ""},
    },
    "queryable.display.ledger": {
        "Ledger": {"rows": [LedgerRow(**ROW)]},
        "LedgerRow": ROW,
    },
    "queryable.answers.noisy": {
        "Noise": {"law": DiscreteGaussian(1), "shape": (2,)},
        "NoisyInt": {"value": 3, "noise": DiscreteGaussian(1)},
    },
    "queryable.rehearsal": {
        "Rehearsal": {
            "mechanism": "",
            "claim": None,
            "values": {},
            "opening": None,
            "answers": (),
            "within": None,
        },
    },
    "queryable.losses": {
        "RenyiCurve": {"orders": [2, 4], "epsilons": [1, 1]},
        "TimeUniformBound": {"epsilon": 1, "delta": 0},
        "RenyiOrder": {"alpha": Fraction(2)},
        "as_measure": {"value": PureDP},
        "zero_of": {"measure": PureDP},
        "total": {"losses": [PureDP(1)], "measure": PureDP},
    },
    "queryable.audit": {
        "Broken": {"law": "", "how": ""},
        "EnumeratedCoins": {"script": [], "tail": None},
        "HockeyStick": {"epsilon": 1},
        "MaxDivergence": {},
        "Pair": {"under_x": Update([1]), "under_x_prime": Update([])},
        "Renyi": {"alpha": 2},
        "Strategy": {"root": Node()},
        "Wrong": {"text": ""},
        "audit": {
            "mechanism": RESPONSE,
            "pairs": [(True, False)],
            "queries": (),
            "horizon": 0,
            "adversary": None,
            "claim": None,
            "d_in": 1,
            "tail": "1e-12",
            "slack": "1e-9",
            "samples": 100,
            "confidence": "0.9",
            "limit": 1000,
            "coins": SYSTEM,
            "progress": None,
            "differing": 1,
        },
        "audit_histories": {
            "mechanism": FiltCon(PureDP(1)),
            "dataset": [],
            "queries": (queryable.audit.Pair(Update([1]), Update([])),),
            "history": 0,
            "horizon": 1,
            "claim": None,
            "d_in": 1,
            "differing": 1,
            "limit": 100,
        },
        "broken_laws": {
            "mechanism": RESPONSE,
            "dataset": True,
            "queries": (),
            "wrong": (None,),
            "random": True,
        },
        "every_outcome": {"run": lambda coins: 1, "tail": None, "limit": 100},
        "hashable": {"value": None},
        "hockey_stick": {"p": law(True), "q": law(False), "epsilon": 1},
        "least_epsilon": {"p": law(True), "q": law(False), "delta": Fraction(1, 10)},
        "max_divergence": {"p": law(True), "q": law(False)},
        "privacy_profile": {"p": law(True), "q": law(False), "epsilons": [1]},
        "push_forward": {"law": law(True), "function": repr},
        "renyi_divergence": {"p": law(True), "q": law(False), "alpha": 2},
        "trade_off": {"p": law(True), "q": law(False)},
        "view_law": {
            "mechanism": RESPONSE,
            "dataset": True,
            "adversary": nothing,
            "max_rounds": 2,
            "tail": None,
            "limit": 100,
            "errors": False,
        },
        "worst_case": {
            "mechanism": RESPONSE,
            "x": True,
            "x_prime": False,
            "queries": (),
            "horizon": 0,
            "divergence": queryable.audit.HockeyStick(1),
            "limit": 100,
            "progress": None,
        },
        "zcdp": {"p": law(True), "q": law(False)},
    },
    "mechanisms": {
        "AbsoluteError": {"margin": 1, "deviations": 1},
        "BernoulliExp": {"exponent": 1},
        "BrownianNoiseReduction": {},
        "Column": {"operand": "a"},
        "Count": {"where": column("a") >= 1, "per": None},
        "Correlation": {"x": "a", "y": "b", "bounds": TWO, "where": None, "per": None},
        "Covariance": {"x": "a", "y": "b", "bounds": TWO, "where": None, "per": None},
        "CountUnits": {"where": column("a") >= 1, "per": PrivacyUnit("who", max_rows=2)},
        "DiscreteGaussian": {"variance": 1},
        "DiscreteLaplace": {"scale": 1},
        "Doubling": {"start": 9, "factor": 2, "noise": "gaussian", "releases": 9},
        "Estimate": {
            "statistic": Count(),
            "within": 3,
            "confidence": "0.95",
            "fixed_in_advance": False,
        },
        "Estimated": {
            "value": NUMBER,
            "source": "",
            "cost": queryable.ZCDP(1),
            "alone": queryable.ZCDP(1),
            "spreads": (Spread(Fraction(2), Fraction(1), 1, Fraction(0), Fraction(4), ()),),
            "fixed_in_advance": False,
            "unit": NUMBER,
        },
        "Best": {
            "base": [mechanisms.Laplace(SIZE, scale=9)],
            "score": "largest",
            "repetitions": mechanisms.TruncatedNegativeBinomial(1, NUMBER),
            "of": None,
        },
        "BestRun": {"candidate": 0, "answer": 3},
        "ExponentialMechanism": {**CHOICE, "monotone": True},
        "Fit": {"loss": queryable.ZCDP(1), "rounds": 3},
        "FromModel": {"statistic": Count()},
        "Frugal": {"plan": [Count()], "axes": {"b": ["x", "y"]}, "patience": 8},
        "Gaussian": {"statistic": SIZE, "scale": 3},
        "GroupBy": {"by": {"b": ["x", "y"]}, "statistic": Count()},
        "Histogram": {"column": "b", "categories": ["x"], "where": None, "bins": None, "per": None},
        "Keys": {"column": "b", "values": ["x"]},
        "Laplace": {"statistic": SIZE, "epsilon": 3},
        "LaplaceNoiseReduction": {"statistic": SIZE, "scales": [9, 3]},
        "Latest": {},
        "LinearQuery": {"weights": [1, 0]},
        "Mean": {**SUMMED, "per": None},
        "Measured": {"columns": ("a",), "counts": np.arange(2), "variance": NUMBER},
        "Measurements": {},
        "ModelFit": {"measured": (), "cost": queryable.ZCDP(1), "rows": 3},
        "Modelled": {"value": 1.5, "direct": (), "passed_over": None},
        "Open": {"statistic": SIZE, "schedule": [9, 3]},
        "DiscoveredKeys": {"columns": "b", "max_keys": 1, "where": None, "per": None},
        "PrivateKeys": {
            "keys": mechanisms.DiscoveredKeys("b"),
            "epsilon": 1,
            "rho": None,
            "delta": "1e-6",
            "noise": None,
            "threshold": None,
        },
        "PermuteAndFlip": {**CHOICE, "monotone": True},
        "PrivacyUnit": {
            "column": "who",
            "max_rows": 2,
            "max_groups": None,
            "max_rows_per_group": None,
        },
        "PrivateMultiplicativeWeights": {
            "universe": 4,
            "records": 9,
            "epsilon": 1,
            "threshold": 1,
            "updates": 2,
            "learning_rate": 4.0,
            "encode": lambda data: data,
        },
        "Poisson": {"mu": 3},
        "Quantile": {"column": "a", "level": "1/2", "grid": [1, 2], "where": None, "per": None},
        "Quantiles": {
            "column": "a",
            "levels": ["1/4", "1/2"],
            "grid": [1, 2],
            "where": None,
            "by": {"b": ["x", "y"]},
            "per": None,
        },
        "RandomizedResponse": {"bit": bool, "epsilon": 1, "delta": 0},
        "Refine": {"to": 3},
        "RelativeError": {"alpha": NUMBER, "deviations": 1},
        "Refined": {"value": NUMBER, "variance": NUMBER, "reach": None},
        "Regression": {"y": "a", "x": ["b"], "bounds": TWO, "where": None, "per": None},
        "Revealed": {"bit": True},
        "Above": {"gap": 1},
        "SampleRows": {"rows": 3},
        "Scripted": {
            "mechanism": FiltCon(PureDP(1)),
            "analyst": [Launch(Toy(PureDP(1)))],
            "max_rounds": 9,
        },
        "SparseVector": {
            "threshold": 1,
            "epsilon": 1,
            "cutoff": 1,
            "sensitivity": 1,
            "monotone": None,
            "gap": False,
            "refresh": False,
        },
        "Stopped": {"value": NUMBER, "variance": NUMBER, "met": True, "reach": None},
        "Sum": {**SUMMED, "per": None},
        "Synthetic": {
            "columns": {"b": ["x", "y"]},
            "workload": [("b",)],
            "rounds": 3,
            "max_cells": 9,
            "per": None,
        },
        "SyntheticHistogram": {},
        "SyntheticRows": {"names": ("a",), "labels": ((1, None),), "places": np.zeros((1, 1), int)},
        "Table": {
            "source": TABLE,
            "privacy_unit": "who",
            "max_rows": 2,
            "max_groups": None,
            "max_rows_per_group": None,
            "keep": None,
            "columns": ["a", "b", "who"],
            "seed": 1,
        },
        "Threshold": {"tau": 1, "gamma": NUMBER},
        "ToeplitzCounter": {**COUNTER, "scale": None},
        "Top": {"column": "b", "k": 1, "categories": ["x", "y"], "where": None, "per": None},
        "TopK": {**CHOICE, "monotone": True, "k": 2},
        "Total": {"at": 3},
        "TreeCounter": {**COUNTER, "scale": None, "epsilon": None, "noise": None, "past": 2},
        "TruncatedNegativeBinomial": {"eta": 1, "gamma": NUMBER},
        "TruthfulAnswer": {"epsilon": 1},
        "Undecided": {**REFUSAL, "estimate": None},
        "UnitSizes": {"limits": [1, 5], "where": None, "per": PrivacyUnit("who", max_rows=2)},
        "Until": {"condition": mechanisms.AbsoluteError(1), "schedule": [9, 3]},
        "Std": {**SUMMED, "per": None},
        "Variance": {**SUMMED, "per": None},
        "Window": {"last": 3},
        "column": {"name": "a"},
        "even_schedule": {"coarsest": 9, "finest": 3, "steps": 4},
        "geometric_schedule": {"coarsest": 9, "finest": 3, "factor": 2},
        "when": {"predicate": column("a") >= 1},
    },
    "composition": {
        "AtMostADay": {"most": PureDP(1), "rule": Basic()},
        "Basic": {},
        "Blocks": {
            "filter": FiltCon(PureDP(1)),
            "unit": "who",
            "unit_blocks": 2,
            "unit_rows": 3,
        },
        "Candidate": {"rule": Basic(), "admitted": 1, "times": 1, "why": ""},
        "ConComp": {"mechanisms": COUNTS, "max_depth": 9, "delta": None},
        "ExPost": {**FILTER, "on_exceed": "refuse"},
        "Filt": RULED,
        "FiltCon": RULED,
        "FiltSeq": RULED,
        "Fitted": {"rule": Menu("1/10", [1]), "times": NUMBER, "singly": {}},
        "GDPResidue": {"slack": None},
        "Individual": {"rho": 1},
        "LinearOdometer": {**UNIFORM, "target_epsilon": 1},
        "Menu": {"unit": "1/10", "menu": [1, 2], "costs": [1, 2], "slack": None},
        "MixtureOdometer": {**UNIFORM, "gamma": 1},
        "Odom": {**ODOMETER, "max_depth": 9},
        "OdomCon": {**ODOMETER, "max_depth": 9},
        "OdomSeq": {**ODOMETER, "max_depth": 9},
        "OneSidedMixtureOdometer": {**UNIFORM, "gamma": 1},
        "Parallel": {
            "partition": Partition("b", ["x", "y"]),
            "mechanisms": {"x": Toy()},
            "max_depth": 9,
        },
        "Partition": {"key": "b", "names": ["x", "y"], "other": "other"},
        "Recommendation": {"planned": 1, "candidates": ()},
        "RenyiOdometer": {**UNIFORM, "orders": [2, 8], "weights": ["1/2", "1/2"]},
        "Rogers2016": {},
        "Rogers2016Odometer": {**UNIFORM, "n": 9},
        "Rogers2023": {"slack": None},
        "RogersLemma64Odometer": {**UNIFORM, "x": 1},
        "StitchedOdometer": {**UNIFORM, "v0": 1},
        "Universal": {"budget": PureDP(1), "d_in": 1},
        "ViaGDP": {"slack": None},
        "ViaRenyi": {"orders": [2, 8], "weights": ["1/2", "1/2"], "slack": None},
        "ViaZCDP": {"slack": None},
        "Whitehouse2023": {"slack": None},
        "accumulator_of": {"rule": ViaZCDP(), "measure": ApproxDP, "delta": "1e-6"},
        "admitted": {"budget": BUDGET, "rule": Basic(), "loss": PureDP("1/10")},
        "budget": {
            "epsilon": 1,
            "delta": "1e-6",
            "launch_share": "1/5",
            "d_in": 1,
            "max_mechanisms": 3,
        },
        "filter_of": {"accumulator": Additive(PureDP)},
        "fitted": {
            "budget": BUDGET,
            "unit": "1/10",
            "mix": {1: 3},
            "slack": None,
            "spare": (),
        },
        "optimal_delta": {"losses": [PureDP(1)], "epsilon": NUMBER},
        "optimal_epsilon": {"losses": [PureDP(1)], "delta": "1e-6"},
        "recommend": {
            "budget": BUDGET,
            "losses": [Gaussian(Count(), rho="1/100")] * 3,
            "instead": Frugal(),
        },
    },
    "composition.advice.plot": {
        "spending": {"queryable": tree(), "path": None},
        "rules": {"queryable": BUDGET, "losses": [PureDP("1/10")], "path": None},
        "guarantee": {"queryable": BUDGET, "path": None},
    },
}
"""By module, then by name: arguments of a valid call."""

NOT_CALLED = {
    "SYSTEM", "Adversary",
    "Coins", "Parts", "ExPostMechanism", "Expense", "FairBits", "HandleError",
    "IntegerStatistic", "InteractiveError", "InteractiveMechanism", "Law", "Loss", "Measure",
    "Measurement", "PersonInTheMiddle", "PrivacyClaimError", "QueryError", "ReentrantQueryError",
    "RetiredChildError", "UnknownChildError", "UnknownQueryError", "UnprovenCompositionError",
    "AdditiveLoss",
    "ParametricMeasure", "LAWS", "Divergence", "Finding", "NotEnumerable", "Outcome",
    "Verdict", "ViewLaw", "WorstCase", "Neighbours", "Predicate", "VALIDITY", "Account",
    "Accumulator", "Rule", "TimeUniform", "Class", "NoisyArray", "add_parts", "genuine",
    "group_size", "measure_name", "sealed", "stated_in", "RenyiOrders", "Report",
    "Ledger", "LedgerError", "SQLiteLedger", "Configuration", "ConfigurationError", "Dataset",
    "open_configured", "read_configuration", "AnchorError", "Difference", "Replayed", "SealedError",
    "AsyncConnection", "AsyncQueryable", "Connection", "connect", "connect_async",
}  # fmt: skip
"""Interfaces, types, errors with a text, what takes a file or asks a server, what our own functions
return or have checked."""
