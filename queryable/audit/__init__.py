"""Audits: claims held against exact laws of views, worst-case adversaries and samples."""

from queryable.audit.concentrated import zcdp
from queryable.audit.divergences import (
    hockey_stick,
    max_divergence,
    privacy_profile,
    renyi_divergence,
    trade_off,
)
from queryable.audit.enumeration import (
    EnumeratedCoins,
    ViewLaw,
    every_outcome,
    hashable,
    push_forward,
    view_law,
)
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
    "HockeyStick",
    "Renyi",
    "Strategy",
    "ViewLaw",
    "WorstCase",
    "every_outcome",
    "hashable",
    "hockey_stick",
    "max_divergence",
    "privacy_profile",
    "push_forward",
    "renyi_divergence",
    "trade_off",
    "view_law",
    "worst_case",
    "zcdp",
]
