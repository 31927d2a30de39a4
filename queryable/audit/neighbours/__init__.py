"""An analysis, held again on neighbours of its data.

- `checking`: `on_neighbours`. `report`: what it returns. `findings`: what is kept.
- `courses`: the messages of an analysis. `recording`: holding it on its own data. `again`: holding
  it on a neighbour. `leaves`: the runs of both. `chosen`: what neighbours are chosen by.
- `alike`: whether two values say the same. `readings`, `tapes`: what a leaf reads and draws.
- `movements`: how far values move. `shifts`: what noise loses. `exact`: exact laws. `judged`: what
  is known of a leaf over all neighbours.
"""

from queryable.audit.neighbours.checking import on_neighbours
from queryable.audit.neighbours.courses import keep_batches
from queryable.audit.neighbours.findings import Example, Worst
from queryable.audit.neighbours.report import NeighbourReport

__all__ = ["Example", "NeighbourReport", "Worst", "keep_batches", "on_neighbours"]
