"""What a query costs, and its answer.

Responsible for how a loss is shared by the statistics of a query, and for the rows of the answer.
Only `Queryable.release` reads data, after it has charged.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial, reduce
from itertools import product
from operator import add
from typing import Any

from mechanisms.tables.in_sql.answers import SqlAnswer
from mechanisms.tables.in_sql.costs import (
    SqlExplanation,
    chooses_rows,
    explained,
    level_of_each,
    levels_of,
    shares,
)
from mechanisms.tables.in_sql.grouping import discovered
from mechanisms.tables.in_sql.outputs import Ranged, ranged
from mechanisms.tables.in_sql.planning import Output, SqlQuery, columns_of
from mechanisms.tables.in_sql.refusals import SqlError
from mechanisms.tables.statistics.discovered import DiscoveredKeys
from queryable.answers.estimates import Bin
from queryable.answers.half_widths import confidence_of
from queryable.answers.released import Released
from queryable.checks.affordable import cost_of
from queryable.errors import MechanismFault, QueryError, QueryRefusedError
from queryable.losses import GDP, ZCDP, ApproxZCDP, Loss, PureDP
from queryable.messages import Failed, Halted, MeasureQuery, Refused

_USUAL = Fraction(19, 20)
_IN_PART = (
    "other statistics of the query were answered and charged. Under its name the same query costs "
    "only what is missing, once that fits"
)


def asked(
    query: SqlQuery,
    handle: Any,
    *,
    within: Any = None,
    loss: Loss | None = None,
    confidence: Any = None,
    name: str | None = None,
    blocks: Any = None,
) -> SqlAnswer | SqlExplanation:
    """The answer to a query, or its explanation if it begins with EXPLAIN.

    Args:
        handle: the `Queryable` that answers.
        within: the half-width of the interval of the number, if there is one; or of each statistic,
            by the name of its column.
        loss: what the whole query may lose; its statistics have equal shares.
        confidence: of intervals, by default 0.95.
        name: under a name that was used before, the same answer is returned for nothing.
        blocks: as for `Queryable.release`.

    Raises:
        SqlError: the query or an argument is wrong; nothing was charged.
        QueryRefusedError: the budget does not pay for it.
    """
    level = _USUAL if confidence is None else confidence_of(confidence)
    keys = _found_keys(query)
    if query.explains:
        return explained(query, keys, handle, within, loss, level)
    aims = shares(query, keys is not None, within, loss)
    names = _names(name, len(aims), finds=keys is not None)
    if len(aims) > 1:
        each = levels_of(query, level_of_each(query, level))
        _require_left(handle, _costs(query, keys, handle, aims, each), names, blocks)
    found: Any = None
    if keys is not None:
        found = handle.release(keys, **aims[0], name=names[0], blocks=blocks)
        aims, names = aims[1:], names[1:]
        if not found.axes[0].values:
            return SqlAnswer(columns_of(query.outputs), (), level, (found,))
    if not query.aggregates:
        return _answer(query, (found,), (), level)
    with _told_of_charges(keys is not None):
        statistics = query.statistics(found)
    many = 1 if found is None else len(found.axes[0].values)
    levels = levels_of(query, level_of_each(query, level, many))
    released = _released(
        query, statistics, handle, aims, levels, names, blocks, finds=keys is not None
    )
    return _answer(query, released, released, level)


def _names(name: str | None, count: int, *, finds: bool) -> list[str | None]:
    """The names of the releases of a query that has a name: first of keys, if they are found."""
    if name is None:
        return [None] * count
    places = [f"{name}: {place}" for place in range(count - finds)]
    return [*([f"{name}: keys"] if finds else []), *places]


def _costs(
    query: SqlQuery,
    keys: DiscoveredKeys | None,
    handle: Any,
    aims: Sequence[Mapping[str, Any]],
    levels: Sequence[Fraction],
) -> list[Loss]:
    """What each release of a query will be charged. Nothing is read or charged.

    Raises:
        SqlError: a statistic cannot be released at its price.
    """
    stated = handle.ask(MeasureQuery())
    asked_for = query.statistics() if keys is None else [keys, *query.ungrouped()]
    how_each = _with_levels(query, aims if keys is None else aims[1:], levels)
    if keys is not None:
        how_each.insert(0, dict(aims[0]))
    costs = []
    for statistic, how in zip(asked_for, how_each, strict=True):
        try:
            costs.append(cost_of(statistic, stated, **how))
        except (TypeError, ValueError, ArithmeticError) as error:
            raise SqlError(str(error)) from None
    return costs


def _with_levels(
    query: SqlQuery, aims: Sequence[Mapping[str, Any]], levels: Sequence[Fraction]
) -> list[dict[str, Any]]:
    """What `release` is told for each statistic, with the confidence where that matters."""
    return [
        dict(aim) | ({"confidence": level} if each.chooses or "within" in aim else {})
        for each, aim, level in zip(query.aggregates, aims, levels, strict=True)
    ]


def _require_left(
    handle: Any, costs: Sequence[Loss], names: Sequence[str | None], blocks: Any
) -> None:
    """Check that all releases of a query are paid for, before the first is charged.

    Where charges add up, that is. What was answered under its name before costs nothing.

    Raises:
        QueryRefusedError: they are not.
    """
    try:
        left = handle.remaining(blocks=blocks)
    except QueryError:  # no budget, so no limit
        return
    adds_up = isinstance(left, PureDP | ZCDP | ApproxZCDP | GDP)
    if not adds_up or any(type(each) is not type(left) for each in costs):
        return
    if reduce(add, costs) <= left:
        return
    known = _known_names(handle)
    due = [
        each for each, name in zip(costs, names, strict=True) if name is None or name not in known
    ]
    if due and not reduce(add, due) <= left:
        reason = "insufficient budget for all statistics of the query; nothing was charged"
        requested = reduce(add, due)
        raise QueryRefusedError(reason, requested, handle.privacy_loss(), left)


def _known_names(handle: Any) -> set[str | None]:
    """The names of what was launched in a handle before."""
    rows = handle.ledger()  # of this handle and what is below it
    return {row.name for row in rows if row.path == handle._path and row.outcome != "refused"}


def _found_keys(query: SqlQuery) -> DiscoveredKeys | None:
    columns = discovered(list(query.keys))
    if not columns:
        return None
    unit = query.table.unit
    most = None if unit is None else unit.max_groups or unit.max_rows
    try:
        return query.table.discovered_keys(*columns, max_keys=most, where=query.where)
    except (TypeError, ValueError) as error:
        raise SqlError(str(error)) from None


def _released(
    query: SqlQuery,
    statistics: Sequence[Any],
    handle: Any,
    aims: Sequence[Mapping[str, Any]],
    levels: Sequence[Fraction],
    names: Sequence[str | None],
    blocks: Any,
    *,
    finds: bool,
) -> list[Released]:
    """The answers of all statistics; those with equal aims in one message, in one scan.

    Args:
        finds: whether keys were found and paid for before.
    """
    released: dict[int, Released] = {}
    groups = _alike(query, _with_levels(query, aims, levels))
    if len(groups) > 1 and any(names):  # a name of another mechanism is told before a charge
        known = _known_names(handle) - {None}
        groups.sort(key=lambda group: known.isdisjoint(names[place] for place in group[1]))
    for asked_for, places_ in groups:
        chosen = [statistics[place] for place in places_]
        called = [names[place] for place in places_]
        with _told_of_charges(finds or bool(released)):
            outcomes = handle.release_many(chosen, **asked_for, names=called, blocks=blocks)
        in_part = finds or bool(released) or any(isinstance(each, Released) for each in outcomes)
        for place, outcome in zip(places_, outcomes, strict=True):
            released[place] = _delivered(outcome, in_part=in_part)
    return [released[place] for place in range(len(statistics))]


@contextmanager
def _told_of_charges(charged: bool) -> Iterator[None]:
    """Say in an error that a part of the query was charged before, if it was."""
    try:
        yield
    except QueryError as error:
        if not charged:
            raise
        told = f"the rest of the query is wrong and not charged: {error}"
    else:
        return
    raise QueryRefusedError(told, instead=_IN_PART)


def _delivered(outcome: Any, *, in_part: bool) -> Released:
    """An answer; raises if there is none.

    Args:
        in_part: whether other statistics of the query were answered.
    """
    match outcome:
        case Refused(reason, requested, spent, remaining, instead):
            text = _IN_PART if in_part else instead
            raise QueryRefusedError(reason, requested, spent, remaining, text)
        case Halted(reason):
            raise QueryRefusedError(reason)
        case Failed():
            raise MechanismFault
    answer: Released = outcome
    return answer


def _alike(
    query: SqlQuery, aims: Sequence[Mapping[str, Any]]
) -> list[tuple[Mapping[str, Any], list[int]]]:
    """The statistics by their aims: those of each are released together."""
    groups: dict[str, tuple[Mapping[str, Any], list[int]]] = {}
    for place, aim in enumerate(aims):
        key = repr((sorted(aim.items()), query.aggregates[place].chooses))
        groups.setdefault(key, (aim, []))[1].append(place)
    return list(groups.values())


def _answer(
    query: SqlQuery, answered: Sequence[Released], released: Sequence[Released], level: Fraction
) -> SqlAnswer:
    keys = _key_rows(query, answered[0]) if query.keys else [()]
    at_once = chooses_rows(query, len(keys))
    each = 1 - (1 - level) / len(keys) if at_once else level
    parts = [
        answer if aggregate.key is None or not aggregate.key else answer[aggregate.key]
        for aggregate, answer in zip(query.aggregates, released, strict=True)
    ]
    known: dict[int, Ranged] = {}

    def numbers(output: Output) -> Ranged:
        if id(output) not in known:
            assert output.tree is not None
            known[id(output)] = ranged(output.tree, parts, each, len(keys))
        return known[id(output)]

    def value(output: Output, *, at: int) -> Any:
        return keys[at][output.key] if output.tree is None else numbers(output).estimates[at]

    having = query.having
    rows = [at for at in range(len(keys)) if having is None or having(partial(value, at=at))]
    for ordering in reversed(query.order):
        rows = _sorted(rows, [value(ordering.output, at=at) for at in range(len(keys))], ordering)
    end = None if query.limit is None else query.offset + query.limit
    shown = []
    for at in rows[query.offset : end]:
        row: list[Any] = []
        for output in query.outputs:
            row.append(value(output, at=at))
            if output.tree is not None:
                row += [numbers(output).low[at], numbers(output).high[at]]
        shown.append(tuple(row))
    wide = [1 if each.tree is None else 3 for each in query.outputs]
    of_keys = frozenset(sum(wide[:place]) for place, width in enumerate(wide) if width == 1)
    names = columns_of(query.outputs)
    return SqlAnswer(
        names, tuple(shown), level, tuple(answered), _found(query), of_keys, at_once=at_once
    )


def _found(query: SqlQuery) -> tuple[str, ...]:
    """The columns of keys that were found in the data."""
    keys = [each for each in query.outputs if each.tree is None]
    return tuple(each.name for each in keys if query.keys[each.key].groups is None)


def _sorted(rows: list[int], values: list[Any], ordering: Any) -> list[int]:
    there = [at for at in rows if values[at] is not None]
    missing = [at for at in rows if values[at] is None]
    try:
        there.sort(key=lambda at: values[at], reverse=ordering.descending)
    except TypeError:  # keys of several types
        there.sort(key=lambda at: str(values[at]), reverse=ordering.descending)
    return [*missing, *there] if ordering.nulls_first else [*there, *missing]


def _key_rows(query: SqlQuery, answer: Released) -> list[tuple[Any, ...]]:
    """The keys of each group, in the order of GROUP BY."""
    public = [place for place, key in enumerate(query.keys) if key.groups is not None]
    found = [place for place, key in enumerate(query.keys) if key.groups is None]
    axes = []
    for place, axis in zip([*public, -1], answer.axes, strict=False):
        labels = query.keys[place].labels if place >= 0 else None
        axes.append(axis.values if labels is None else tuple((each,) for each in labels))
    order = [*public, *found]
    rows = []
    for parts in product(*axes):
        flat = [_label(each) for part in parts for each in part]
        by_place = dict(zip(order, flat, strict=True))
        rows.append(tuple(by_place[place] for place in range(len(query.keys))))
    return rows


def _label(value: Any) -> Any:
    return str(value) if isinstance(value, Bin) else value
