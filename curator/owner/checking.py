"""The command `curator check`: every analysis of a ledger, held again on neighbours of its data.

Responsible for making the analysis again from the ledger, in memory, and for what the owner is
told. Reads the data without a charge, needs no lease and writes nothing that analysts see, so it
may run beside a curator that serves.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import attrs

from curator.ledgers import LedgerError, ledger_of
from curator.owner.checks import folder_of, record_check
from curator.settings.configuration import Configuration, read_configuration
from queryable.audit.neighbours import NeighbourReport, Worst, on_neighbours
from queryable.losses.numbers import at_least_one, natural


@attrs.frozen
class CheckedRoot:
    """What was found about one data set.

    Args:
        head: the hash of the last event that was held again.
    """

    name: str
    head: str
    seed: int
    report: NeighbourReport

    def to_json(self) -> dict[str, Any]:
        """The result as values of JSON."""
        found = self.report
        smallest = found.smallest
        return {
            "dataset": self.name,
            "head": self.head,
            "seed": self.seed,
            "holds": found.holds,
            "neighbours": found.neighbours,
            "messages": found.messages,
            "steps": found.steps,
            "leaves": found.leaves,
            "readings": found.readings,
            "renewed": found.renewed,
            "worst": [_as_json(each) for each in found.worst],
            "smallest": None if smallest is None else _as_json(smallest),
            "unchecked": dict(found.unchecked),
        }

    def __str__(self) -> str:
        return f"{self.name}\n{'=' * len(self.name)}\n{self.report}"


def _as_json(found: Worst) -> dict[str, Any]:
    finite = found.ratio < float("inf")
    return {
        "what": str(found.what),
        "path": [*map(str, found.path)],
        "measure": found.measure,
        "ratio": found.ratio if finite else None,
        "beyond": found.beyond,
        "text": found.text,
        "neighbour": {
            "removed": found.example.removed,
            "added": found.example.added,
            "reason": found.example.reason,
            "difference": found.example.difference,
        },
    }


def checked(
    place: str, dataset: str = "", neighbours: Any = 1000, seed: Any = 0
) -> Iterator[CheckedRoot]:
    """Check the analysis of a data set, or of all that the ledger has.

    Args:
        place: a configuration, or its folder.

    Raises:
        LedgerError: there is no such root, or the log and the data do not fit: `curator replay`
            says more. Its text may quote data.
    """
    number, seed = at_least_one(neighbours, "neighbours"), natural(seed, "seed")
    stated = read_configuration(place)
    with closing(ledger_of(stated.ledger, make=False)) as ledger:
        roots = ledger.roots()
        names = [dataset] if dataset else [name for name in stated.datasets if name in roots]
        for name in names:
            stated.dataset(name)
            if name not in roots:
                raise LedgerError(f"{name} was not opened yet: nothing was asked of it")
    if not names:
        raise LedgerError(f"{stated.file} has no data set that was opened: nothing was asked")
    yield from (_checked(stated, name, number, seed) for name in names)


def _checked(stated: Configuration, name: str, neighbours: int, seed: int) -> CheckedRoot:
    with stated.recalled(name) as (again, analysis):
        if analysis is None:
            raise LedgerError(
                f"{again}. The analysis cannot be held again; it is not known whether its claims "
                "hold"
            )
        d_in = int(stated.dataset(name).budget.d_in)
        report = on_neighbours(analysis, neighbours, d_in=d_in, seed=seed)
    return CheckedRoot(name, again.head, seed, report)


def check(
    place: str, dataset: str = "", neighbours: int = 1000, seed: int = 0, *, as_json: bool = False
) -> tuple[str, bool]:
    """Hold each analysis again on neighbours of its data, and compare with what it claims.

    For the owner: reads the data without a charge, and quotes records if a claim is exceeded.
    Nothing is written but a line in checks.jsonl beside the ledger, which no analyst sees. A
    curator that serves is not disturbed. The exit code is 0 if all claims hold, 1 if one is
    exceeded, and 2 if the check could not run.

    Returns:
        The page, and whether all claims hold.
    """
    stated, found, notes = read_configuration(place), [], ""
    for each in checked(place, dataset, neighbours, seed):
        found.append(each)
        counts = each.report
        notes += record_check(
            folder_of(stated.ledger, stated.file),
            "check",
            counts.holds,
            head={each.name: each.head},
            neighbours=counts.neighbours,
            seed=each.seed,
            messages=counts.messages,
            steps=counts.steps,
            leaves=counts.leaves,
            beyond=len(counts.broken),
            unchecked=len(counts.unchecked),
        )
    holds = all(each.report.holds for each in found)
    if as_json:
        sys.stderr.write(notes)
        return json.dumps([each.to_json() for each in found], indent=2), holds
    return "\n\n".join(map(str, found)) + notes, holds
