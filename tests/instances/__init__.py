"""An instance of everything public, from which the tests of all of them take their cases.

An instance is the arguments of a valid call, so that a test can also make one of them hostile.
Those that are not given here have their defaults.
What is new needs one here: of a rule or an odometer in `rules`, of a mechanism or a statistic in
`of_mechanisms`, with the queries that it answers, and of a compositor in `of_composition`.
"""

from importlib import import_module
from inspect import Parameter, signature
from typing import Any

import attrs

from tests.instances.functions import DATA
from tests.instances.of_audits import AUDITS
from tests.instances.of_composition import COMPOSITION, PLOTS
from tests.instances.of_mechanisms import MECHANISMS, QUERIES
from tests.instances.of_queryable import OF_MODULES, QUERYABLE
from tests.instances.rules import BUDGET, BUDGETS, ODOMETERS, RULES, SMALL, odometers, rule_for

ROOMS = {
    "composition.advice.planning": "Candidate Recommendation",
    "composition.rules.menus.costs": "Fitted fitted",
    "composition.rules.optimal": "optimal_delta optimal_epsilon",
    "mechanisms.best": "BestRun",
    "mechanisms.first_good": "FirstGood Try",
    "mechanisms.frugal.frugal_queries": "Estimated",
    "mechanisms.multiplicative_weights": "SyntheticHistogram",
    "mechanisms.randomized_response": "Revealed",
    "mechanisms.refinement.estimate": "Refined Stopped Undecided",
    "mechanisms.refinement.gaussian_reduction": "GaussianNoiseReduction",
    "mechanisms.refinement.refine_queries": "Latest",
    "mechanisms.sampling.laws": "BernoulliExp DiscreteGaussian DiscreteLaplace TruthfulAnswer",
    "mechanisms.synthetic.fit_queries": "ModelFit Modelled SyntheticRows",
    "mechanisms.tables.expressions.columns": "Column",
    "mechanisms.tables.expressions.operands": "PerUnit",
    "mechanisms.tables.spans.ranges": "Ranges",
    "queryable.checks.scales": "scale_for",
    "queryable.errors": "AccuracyWarning MisreadWarning",
    "queryable.faults": "touching_data",
    "queryable.losses": "Dominated ExPostBound",
    "queryable.messages": "AskMany LaunchMany CloseBlock",
    "queryable.randomness.laws": "Bernoulli",
    "queryable.streams.blocks": "BlockLossQuery BlocksQuery BlockStated",
    "queryable.streams.levels": "BlockLevel DataLevel EventLevel Growth",
    "queryable.view": "View",
}
"""Where the instances are of names that the front doors do not have."""


def _by_room(calls: dict[str, dict[str, dict[str, Any]]]) -> dict[str, dict[str, dict[str, Any]]]:
    found = {module: dict(each) for module, each in calls.items()}
    for room, names in ROOMS.items():
        door = room.split(".")[0]
        found.setdefault(room, {}).update({name: found[door].pop(name) for name in names.split()})
    return {
        module: {name: _complete(module, name, given) for name, given in calls.items()}
        for module, calls in found.items()
    }


def _complete(module: str, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that are given, and the defaults of all others."""
    call = getattr(import_module(module), name)
    if isinstance(call, type) and issubclass(call, Warning):
        return given
    defaults = {each.name: each.default for each in signature(call).parameters.values()}
    unknown = (Parameter.empty, attrs.NOTHING)
    return {it: value for it, value in defaults.items() if value not in unknown} | given


CALLS = _by_room(
    {
        "queryable": QUERYABLE,
        **OF_MODULES,
        "queryable.audit": AUDITS,
        "mechanisms": MECHANISMS,
        "composition": COMPOSITION,
        "composition.advice.plot": PLOTS,
    }
)
"""By module, then by name: arguments of a valid call."""


def instance(kind: type) -> Any:
    """The instance of an exported class."""
    [arguments] = (calls[kind.__name__] for calls in CALLS.values() if kind.__name__ in calls)
    return kind(**arguments)


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


__all__ = [
    "BUDGET",
    "BUDGETS",
    "CALLS",
    "DATA",
    "NOT_CALLED",
    "ODOMETERS",
    "QUERIES",
    "RULES",
    "SMALL",
    "instance",
    "odometers",
    "rule_for",
]
