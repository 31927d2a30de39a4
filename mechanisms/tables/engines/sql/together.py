"""Requests that share a scan of their rows.

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

_MOST_SUMS = 10**6
"""How many sums are held in memory at most, with those of all groups."""


@attrs.frozen
class Scan:
    """One statement for several plans.

    Args:
        plan: what is run.
        places: which of the plans it answers.
        sums: the number of sums of each plan.
    """

    plan: Plan
    places: tuple[int, ...]
    sums: tuple[int, ...]

    def split(self, rows: Iterable[tuple[int, ...]]) -> list[list[tuple[int, ...]]]:
        """The rows of each plan. In groups, those in which it adds nothing are left out."""
        found: list[list[tuple[int, ...]]] = [[] for _ in self.sums]
        groups = self.plan.groups
        for row in rows:
            first = groups
            for mine, count in zip(found, self.sums, strict=True):
                sums = row[first : first + count]
                first += count
                if not groups or any(sums):
                    mine.append((*row[:groups], *sums))
        return found


def scans(plans: Sequence[Plan], most: int) -> tuple[list[Plan], list[Scan]]:
    """The plans, and statements that answer some of them; plans in no scan are run alone.

    Plans over the same kept rows ask for the columns of all of them, so that the rows are chosen
    once.

    Args:
        most: how many columns of sums one statement has at most.
    """
    kept: dict[Any, list[CountedRows]] = {}
    last: dict[Any, tuple[list[int], int]] = {}  # the places of a scan, and its columns
    groups: list[list[int]] = []
    for place, plan in enumerate(plans):
        if plan.kept is not None:
            kept.setdefault(plan.kept.of, []).append(plan.kept)
        if (shared := _shared(plan)) is None:
            continue
        places, sums = last.get(shared, ([], most))
        if sums + sum(plan.limbs) > min(most, _MOST_SUMS // _size(plan)):
            places, sums = [], 0
            groups.append(places)
        places.append(place)
        last[shared] = places, sums + sum(plan.limbs)
    wide = {of: with_columns_of(several) for of, several in kept.items()}
    plans = [
        plan if plan.kept is None else attrs.evolve(plan, kept=wide[plan.kept.of]) for plan in plans
    ]
    return plans, [_scan(plans, tuple(places)) for places in groups if len(places) > 1]


def _shared(plan: Plan) -> Any:
    """What plans have in common that share a statement; None for a plan that is run alone."""
    if plan.question is None:
        return None
    by = key_of(Request((), by=plan.question.request.by))
    return None if by is None else (plan.view, None if plan.kept is None else plan.kept.of, by)


def _size(plan: Plan) -> int:
    """The number of groups of a plan with a question."""
    return 1 if plan.question is None else max(1, prod(plan.question.request.shape[:-1]))


def _scan(plans: Sequence[Plan], places: tuple[int, ...]) -> Scan:
    first = plans[places[0]]
    questions = [plan.question for plan in plans]
    several = [it for it in (questions[place] for place in places) if it is not None]
    requests = [it.request for it in several]
    plan = joint(requests, several[0].choice, several[0].columns)
    return Scan(
        attrs.evolve(plan, kept=first.kept, view=first.view),
        places,
        tuple(len(it.terms) for it in requests),
    )
