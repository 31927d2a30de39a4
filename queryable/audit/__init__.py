"""Audits: claims held against exact laws of views, worst-case adversaries and samples."""

from queryable.audit.concentrated import zcdp
from queryable.audit.divergences import (
    hockey_stick,
    least_epsilon,
    max_divergence,
    privacy_profile,
    renyi_divergence,
    trade_off,
)
from queryable.audit.enumeration import (
    EnumeratedCoins,
    NotEnumerable,
    ViewLaw,
    every_outcome,
    hashable,
    push_forward,
    view_law,
)
from queryable.audit.verdict import Finding, Outcome, Verdict, audit
from queryable.audit.worst_case import (
    Divergence,
    HockeyStick,
    Renyi,
    Strategy,
    WorstCase,
    worst_case,
)

__all__ = [
    "Divergence",
    "EnumeratedCoins",
    "Finding",
    "HockeyStick",
    "NotEnumerable",
    "Outcome",
    "Renyi",
    "Strategy",
    "Verdict",
    "ViewLaw",
    "WorstCase",
    "audit",
    "every_outcome",
    "hashable",
    "hockey_stick",
    "least_epsilon",
    "max_divergence",
    "privacy_profile",
    "push_forward",
    "renyi_divergence",
    "trade_off",
    "view_law",
    "worst_case",
    "zcdp",
]
