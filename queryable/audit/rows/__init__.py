"""Neighbouring data sets of a data set, in its own form, chosen where claims tend to break.

- `neighbours`: `neighbours_of`, and what a `Neighbour` is. `choosing`: which records are left out
  and added. `extremes`: cells that hurt.
- `forms`: `form_of`, the interface to one form of data. `listed`, `arrays`, `columns`, `frames`:
  the forms in memory. Tables have theirs in `mechanisms.tables.neighbours`.
"""

from queryable.audit.rows.neighbours import Neighbour, neighbours_of

__all__ = ["Neighbour", "neighbours_of"]
