"""Subclasses of statistics, as a site may declare them: they state again what only ours are.

A subclass doubles the value, and says truthfully how far it moves. It also states `is_sums`, by
which a filter reads from the rows what each record adds.
"""

from typing import Any

import attrs

import mechanisms as m
from curator.codec import Entry, entry_of


def twice(kind: Any) -> Any:
    own = kind.largest

    def combined(self: Any, totals: Any) -> Any:
        return 2 * kind.combined(self, totals)

    def largest(self: Any) -> tuple[int, ...]:
        once = own.fget(self) if isinstance(own, property) else own
        return tuple(2 * each for each in once)

    stated = {"combined": combined, "largest": property(largest), "is_sums": True}
    return attrs.frozen(type(f"Twice{kind.__name__}", (kind,), stated))


KINDS = (m.Count, m.Sum, m.Histogram, m.GroupBy, m.CountUnits, m.UnitSizes)


def entries() -> tuple[tuple[str, Entry], ...]:
    """The tag of each class, and the entry of its subclass."""
    from curator.codec import CODEC

    found = []
    for kind in KINDS:
        tag = CODEC.tag_of(kind)
        assert tag is not None
        found.append((tag, entry_of(f"guard.{tag}", twice(kind))))
    return tuple(found)
