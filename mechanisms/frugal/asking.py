"""Questions as boxes: for each axis the predicates that select its atoms. Reads no data."""

from collections.abc import Hashable, Iterator
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any

import attrs

from mechanisms.frugal.axes import Key, key_of
from mechanisms.tables.expressions.predicates import And, Comparison, Not, Predicate
from mechanisms.tables.requests.request import Bins, Categories, Combinations, Groups
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.counts import Count, Histogram, Sum
from mechanisms.tables.statistics.group_by import GroupBy
from queryable.effort import take
from queryable.errors import QueryError
from queryable.wording.quoting import quoted

MOST_ENTRIES = 256
"""The largest number of entries of one question."""
MOST_AXES = 3
"""The largest number of axes of one question; further conditions are not cut into atoms."""

Box = dict[Key, tuple[Predicate, ...]]
"""For each axis the predicates that select its atoms; all of them hold."""


_STEPS_OF_BOX = 40


def require_short(steps: int, once: Hashable = None) -> None:
    """Count the steps of a computation; they are limited for queries of analysts elsewhere.

    Args:
        once: what is computed, if its result is kept.

    Raises:
        QueryError: the message has no more of them.
    """
    if not take(steps, once):
        raise QueryError(
            "ask for fewer entries or fewer columns at once, or about fewer values of a column: "
            "this question takes too long for a curator that others ask too"
        )


@attrs.frozen(eq=False)
class Question:
    """What is asked: a sum of rows in one or several boxes.

    Attributes:
        base: the statistic without the predicates of the boxes: the book that answers it.
        boxes: one for each entry.
        shape: of the answer.
        itself: the statistic, as it was asked.
    """

    base: Aggregate
    boxes: tuple[Box, ...]
    shape: tuple[int, ...] | None
    itself: Aggregate


def question_of(statistic: Any) -> Question:
    """Read a statistic.

    Raises:
        QueryError: it is none whose answers add up over disjoint rows.
    """
    grouped = statistic
    by: tuple[Groups, ...] = ()
    if type(statistic) is GroupBy:
        by, grouped = statistic.by, statistic.statistic
    if type(grouped) is Histogram:
        by = (*by, grouped.groups)
        grouped = Count(grouped.where, per=grouped.per)
    if type(grouped) not in (Count, Sum):
        raise QueryError(
            "estimate a Count, a Sum or a Histogram, or a GroupBy of one, such as "
            f"Count(column('age') >= 65); release(..) others: this is a {type(statistic).__name__}"
        )
    if statistic.request.units is not None:
        raise QueryError("release(..) what is asked per_unit(..): estimates are of rows")
    where, per = grouped.where, grouped.per
    if where is not None and not isinstance(where, Predicate):
        raise QueryError(
            "write where as a predicate, such as column('age') >= 65, not as a function"
        )
    if per is not None and (per.max_groups, per.max_rows_per_group) != (None, None):
        raise QueryError(
            "estimate statistics of a privacy unit without max_groups and max_rows_per_group: with "
            "them, which rows count depends on the question"
        )
    box, others = _box(where)
    entries = [list(cells_of(each)) for each in by]
    many = prod(map(len, entries))
    if many > MOST_ENTRIES:  # before the boxes are made
        raise QueryError(f"ask for at most {MOST_ENTRIES} entries at once: these are {many}")
    require_short(_STEPS_OF_BOX * many)
    boxes = tuple(_within(box, cells) for cells in product(*entries)) if by else (box,)
    axes = max(map(len, boxes))
    if axes > MOST_AXES:
        raise QueryError(f"ask about at most {MOST_AXES} columns at once: these are {axes}")
    base = attrs.evolve(grouped, where=_all(others))
    return Question(base, boxes, statistic.shape, statistic)


def step_of(statistic: Any) -> Fraction:
    """The unit in which a statistic counts; 1 if it has none."""
    step = getattr(statistic, "step", None)
    return step if isinstance(step, Fraction) else Fraction(1)


def itself(question: Question) -> Question:
    """The same question as a book of its own, of which nothing else is asked."""
    return attrs.evolve(question, base=question.itself, boxes=({},))


def _box(where: Predicate | None) -> tuple[Box, tuple[Predicate, ...]]:
    """The conditions by axis, and those that cannot be cut into atoms."""
    box: Box = {}
    others: list[Predicate] = []
    for each in _conditions(where):
        key = key_of(each)
        if key is None or (key not in box and len(box) == MOST_AXES):
            others.append(each)
        else:
            box[key] = (*box.get(key, ()), each)
    return box, tuple(others)


def _conditions(where: Predicate | None) -> Iterator[Predicate]:
    match where:
        case None:
            return
        case And(left, right):
            yield from _conditions(left)
            yield from _conditions(right)
        case _:
            yield where


def _all(predicates: tuple[Predicate, ...]) -> Predicate | None:
    """All the predicates, in an order that does not depend on how they were written."""
    found: Predicate | None = None
    for each in sorted(dict.fromkeys(predicates), key=repr):
        found = each if found is None else And(found, each)
    return found


def cells_of(groups: Groups) -> Iterator[list[Predicate]]:
    """For each group the predicates that its rows satisfy."""
    match groups:
        case Categories(operand, values):
            for value in values:
                yield [Comparison(operand, "==", value)]
        case Bins(operand, steps, bounded=True):
            reached = [Comparison(operand, operator, value) for operator, value in steps]
            for here, beyond in pairwise(reached):
                yield [here, Not(beyond)]
        case Combinations(parts, places):
            for place in places:
                pairs = list(zip(parts, place, strict=True))
                yield [Comparison(part.column, "==", part.values[i]) for part, i in pairs]


def _within(box: Box, cells: tuple[list[Predicate], ...]) -> Box:
    found = dict(box)
    for each in (predicate for cell in cells for predicate in cell):
        key = key_of(each)
        if key is None:
            raise QueryError(
                "group by columns of numbers, texts, dates or times: no key is like "
                f"{quoted(each.text)}"
            )
        found[key] = (*found.get(key, ()), each)
    return found
