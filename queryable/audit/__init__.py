"""Audits: check privacy claims against exact view laws, worst-case adversaries and samples."""

from queryable.audit.auditing import audit
from queryable.audit.concentrated import zcdp
from queryable.audit.divergences import (
    hockey_stick,
    least_epsilon,
    max_divergence,
    privacy_profile,
    renyi_divergence,
    trade_off,
)
from queryable.audit.histories import audit_histories
from queryable.audit.laws import LAWS, Broken, broken_laws
from queryable.audit.neighbours import NeighbourReport, keep_batches, on_neighbours
from queryable.audit.objectives import Divergence, HockeyStick, MaxDivergence, Renyi
from queryable.audit.verdict import Finding, Outcome, Verdict
from queryable.audit.views.enumeration import EnumeratedCoins, NotEnumerable, every_outcome
from queryable.audit.views.keys import hashable
from queryable.audit.views.pairs import Pair
from queryable.audit.views.strategies import Strategy
from queryable.audit.views.view_laws import SeenError, ViewLaw, push_forward, view_law
from queryable.audit.worst_case import WorstCase, worst_case

__all__ = [
    "LAWS",
    "Broken",
    "Divergence",
    "EnumeratedCoins",
    "Finding",
    "HockeyStick",
    "MaxDivergence",
    "NeighbourReport",
    "NotEnumerable",
    "Outcome",
    "Pair",
    "Renyi",
    "Strategy",
    "Verdict",
    "ViewLaw",
    "WorstCase",
    "SeenError",
    "audit",
    "audit_histories",
    "broken_laws",
    "every_outcome",
    "hashable",
    "hockey_stick",
    "keep_batches",
    "least_epsilon",
    "max_divergence",
    "on_neighbours",
    "privacy_profile",
    "push_forward",
    "renyi_divergence",
    "trade_off",
    "view_law",
    "worst_case",
    "zcdp",
]
