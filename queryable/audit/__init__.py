"""Audits: claims held against exact laws of views, worst-case adversaries and samples."""

from queryable.audit.divergences import (
    hockey_stick,
    max_divergence,
    privacy_profile,
    renyi_divergence,
    trade_off,
    zcdp,
)
from queryable.audit.enumeration import (
    EnumeratedCoins,
    ViewLaw,
    every_outcome,
    hashable,
    push_forward,
    view_law,
)

__all__ = [
    "EnumeratedCoins",
    "ViewLaw",
    "every_outcome",
    "hashable",
    "hockey_stick",
    "max_divergence",
    "privacy_profile",
    "push_forward",
    "renyi_divergence",
    "trade_off",
    "view_law",
    "zcdp",
]
