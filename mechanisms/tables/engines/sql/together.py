"""Requests that share a scan of their rows, for DuckDB.

Requests over the same rows and in the same groups are one statement. Which requests share one
depends on public values alone.
"""

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import attrs

from mechanisms.tables.engines.sql.kept import CountedRows
from mechanisms.tables.engines.sql.statements import Plan, joint, with_columns_of
from mechanisms.tables.requests.remembered import key_of
from mechanisms.tables.requests.request import Request

_MOST_REQUESTS = 100
_MOST_SUMS = 10**6
"""How many sums are held in memory at most, with those of all groups."""


@attrs.frozen
class Scan:
    """One statement for several plans.

    Args:
        plan: what is run.
        places: which of the plans it answers.
        parts: how many indices there are in front of the sums.
        sums: the number of sums of each plan.
    """

    plan: Plan
    places: tuple[int, ...]
    parts: int
    sums: tuple[int, ...]

    def split(self, rows: Iterable[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
        """The rows of each plan. In groups, those in which it adds nothing are left out."""
        found: list[list[tuple[int, ...]]] = [[] for _ in self.sums]
        for row in rows:
            first = self.parts
            for mine, count in zip(found, self.sums, strict=True):
                sums = row[first : first + count]
                first += count
                if not self.parts or any(sums):
                    mine.append((*row[: self.parts], *sums))
        return found


def scans(plans: Sequence[Plan]) -> tuple[list[Plan], list[Scan]]:
    """The plans, and statements that answer some of them; plans in no scan are run alone.

    Plans over the same kept rows ask for the columns of all of them, so that the rows are chosen
    once.
    """
    kept: dict[Any, list[CountedRows]] = {}
    alike: dict[Any, list[int]] = {}
    for place, plan in enumerate(plans):
        if plan.kept is not None:
            kept.setdefault(plan.kept.of, []).append(plan.kept)
        if (shared := _shared(plan)) is not None:
            alike.setdefault(shared, []).append(place)
    wide = {of: with_columns_of(several) for of, several in kept.items()}
    plans = [
        plan if plan.kept is None else attrs.evolve(plan, kept=wide[plan.kept.of]) for plan in plans
    ]
    found = []
    for group in alike.values():
        most = max(1, min(_MOST_REQUESTS, _MOST_SUMS // _size(plans[group[0]])))
        parts = (tuple(group[i : i + most]) for i in range(0, len(group), most))
        found += [_scan(plans, places) for places in parts if len(places) > 1]
    return plans, found


def _shared(plan: Plan) -> Any:
    """What plans have in common that share a statement; None for a plan that is run alone."""
    if plan.question is None:
        return None
    by = key_of(Request((), by=plan.question.request.by))
    return None if by is None else (plan.view, None if plan.kept is None else plan.kept.of, by)


def _size(plan: Plan) -> int:
    """The number of sums of a plan with a question."""
    return 1 if plan.question is None else max(1, prod(plan.question.request.shape))


def _scan(plans: Sequence[Plan], places: tuple[int, ...]) -> Scan:
    first = plans[places[0]]
    questions = [plan.question for plan in plans]
    several = [it for it in (questions[place] for place in places) if it is not None]
    requests = [it.request for it in several]
    plan = joint(requests, several[0].choice, several[0].columns)
    return Scan(
        attrs.evolve(plan, kept=first.kept, view=first.view),
        places,
        len(requests[0].parts),
        tuple(len(it.terms) for it in requests),
    )
