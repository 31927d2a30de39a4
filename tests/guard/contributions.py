"""What statistics say that each record adds, against how far they move without it.

An individual filter charges each record for this, so it has to be at least the square of the move.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

from queryable.checks.datasets import Described
from queryable.faults import touching_data
from queryable.streams.contributions import RecordsInMemory
from tests.guard.findings import Fault, short
from tests.guard.moves import FAILED, differences, entries, refusal
from tests.guard.worlds import IN_MEMORY, Star, centre, neighbour

MOST = 6
"""How many records are taken away, one after the other."""


def faults_of(statistic: Any, form: str, star: Star, random: Random) -> Iterator[Fault | int]:
    """Yield what is wrong, and last how many records were compared."""
    data = centre(form, star)
    told_apart = not isinstance(data, Described) or data.gives_rows
    known = told_apart and getattr(statistic, "by_record", False)
    if not known or refusal(data, statistic) is not None:
        yield 0
        return
    where, whole = f"{form}, {star.name}", entries(statistic, data)
    if whole == FAILED:
        yield 0
        return
    records, added = touching_data(lambda: _added(statistic, data))
    everyone = np.ones(records.count, dtype=bool)
    if (found := entries(statistic, added.among(everyone))) != whole:
        yield Fault("contributions", f"all add up to {short(found)}, not {short(whole)}", where)
    chosen = random.sample(range(records.count), min(MOST, records.count))
    for place in chosen:
        others = everyone.copy()
        others[place] = False
        less = entries(statistic, added.among(others))
        moved = sum(each * each for each in differences(less, whole)) if less != FAILED else None
        if moved is None or not moved <= int(added.squares[place]):
            told = f"a record moves it by the root of {short(moved)}, of {added.squares[place]}"
            yield Fault("contributions", told, where)
    if form in IN_MEMORY:
        yield from _same_beside_another(statistic, added.squares, form, star, where)
    yield len(chosen)


def _added(statistic: Any, data: Any) -> tuple[Any, Any]:
    records: Any = data.records() if isinstance(data, Described) else RecordsInMemory.of(data)
    return records, statistic.contributions(records.readable)


def _same_beside_another(
    statistic: Any, squares: Any, form: str, star: Star, where: str
) -> Iterator[Fault]:
    """What a record adds does not depend on a record that arrives."""
    place = next(i for i, each in enumerate(star.neighbours) if each.sign > 0)
    _, added = touching_data(lambda: _added(statistic, neighbour(form, star, place)))
    if not np.array_equal(np.asarray(added.squares)[: len(squares)], np.asarray(squares)):
        yield Fault("contributions", "what records add depends on another one", where)
