"""How a price, and what intervals may miss, is shared; and EXPLAIN, which charges nothing."""

from collections.abc import Mapping
from fractions import Fraction
from html import escape
from math import prod
from typing import Any

import attrs

from mechanisms.tables.in_sql.outputs import OfAnswer, count, places
from mechanisms.tables.in_sql.planning import Output, SqlQuery
from mechanisms.tables.in_sql.refusals import SqlError
from queryable.checks.affordable import cost_of, in_digits, least_within
from queryable.errors import QueryError
from queryable.losses import GDP, AdditiveLoss, ApproxDP, ApproxZCDP, Loss
from queryable.losses.numbers import shown, sqrt_down
from queryable.messages import MeasureQuery
from queryable.optional import public_name
from queryable.statistics import IntegerStatistic
from queryable.wording.quoting import quoted

_HEADER = ("statistic", "±", "cost")


@attrs.frozen(eq=False, repr=False)
class SqlExplanation:
    """What a query would ask.

    Attributes:
        statistics: of each release what is asked, the half-width of its interval (None if that
            depends on the data, or on keys that are to be found), and its cost.
        protects: whom the answers protect, in words.
        left: what the budget still permits; None if there is none.
        confidence: that of the half-widths.
        at_once: whether they hold for all groups at once; else each by itself.
    """

    statistics: tuple[tuple[str, Fraction | None, Loss | None], ...]
    protects: str
    left: Loss | None
    confidence: Fraction
    at_once: bool = False

    def _lines(self) -> list[tuple[str, str, str]]:
        return [
            (
                text,
                "not known yet" if width is None else f"±{in_digits(width)}",
                "not stated" if cost is None else str(cost),
            )
            for text, width, cost in self.statistics
        ]

    @property
    def summary(self) -> str:
        """Whom it protects, and what is left."""
        left = "" if self.left is None else f"; left: {self.left}"
        holds = " for all groups at once" if self.at_once else ""
        return (
            f"± at {shown(100 * self.confidence)}%{holds}; protects {self.protects}{left}; nothing "
            "was charged"
        )

    def __str__(self) -> str:
        lines = [_HEADER, *self._lines()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = [
            "  ".join(each.ljust(width) for each, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join([*table, self.summary])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in line)}</tr>"
            for line in self._lines()
        )
        head = "".join(f"<th>{each}</th>" for each in _HEADER)
        return (
            f"<table><caption>{escape(self.summary)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{rows}</tbody></table>"
        )


def explained(
    query: SqlQuery, keys: Any, handle: Any, within: Any, loss: Any, level: Fraction
) -> SqlExplanation:
    """The explanation of a query.

    Args:
        keys: the release that finds keys; None if they are public.
        within, loss: as for the answer; with neither, all that is left is shared.
    """
    stated = handle.ask(MeasureQuery())
    left = _left(handle)
    aimed = left if within is None and loss is None else loss
    if aimed is None and within is None:
        aims: list[dict[str, Any]] = [{}] * (len(query.aggregates) + (keys is not None))
    else:
        aims = shares(query, keys is not None, within, aimed)
    rows = list[tuple[str, Fraction | None, Loss | None]]()
    if keys is not None:
        rows.append((public_name(keys), None, aims[0].get("loss")))
        asked = [f"{text}, of the keys found" for text in _texts(query)]
        rows += [(text, None, aim.get("loss")) for text, aim in zip(asked, aims[1:], strict=True)]
    else:
        levels = levels_of(query, level_of_each(query, level))
        for statistic, aim, each in zip(query.statistics(), aims, levels, strict=True):
            rows.append((_text(statistic), *_accuracy(statistic, stated, aim, each)))
    at_once = chooses_rows(query, groups_of(query))
    return SqlExplanation(tuple(rows), str(handle._root.protects), left, level, at_once)


def _accuracy(
    statistic: Any, stated: Any, aim: dict[str, Any], level: Fraction
) -> tuple[Fraction | None, Loss | None]:
    if "within" in aim:
        cost = cost_of(statistic, stated, within=aim["within"], confidence=level)
        return Fraction(aim["within"]), cost
    given = aim.get("loss")
    if given is None:
        return None, None
    charged = cost_of(statistic, stated, loss=given)  # in the budget's measure
    return least_within(statistic, stated, level, charged), charged


def _texts(query: SqlQuery) -> list[str]:
    return [_text(each.of(query.table)) for each in query.aggregates]


def _text(statistic: Any) -> str:
    if isinstance(statistic, IntegerStatistic):
        return statistic.asked
    return public_name(statistic)


def _left(handle: Any) -> Loss | None:
    try:
        left: Loss = handle.remaining()
    except QueryError:
        return None
    return left


def groups_of(query: SqlQuery, found: int = 1) -> int:
    """How many groups there are.

    Args:
        found: how many keys were found in the data, if some had to be.
    """
    return found * prod(each.groups.size for each in query.keys if each.groups is not None)


def chooses_rows(query: SqlQuery, groups: int) -> bool:
    """Whether some of the groups are shown because of their numbers."""
    cuts = query.offset > 0 or (query.limit is not None and query.limit < groups)
    ranked = [each.output for each in query.order] if cuts else []
    return groups > 1 and any(map(_is_noisy, (*query.tested, *ranked)))


def level_of_each(query: SqlQuery, level: Fraction, found: int = 1) -> Fraction:
    """The confidence of each interval by itself, such that those that are shown hold with `level`.

    If rows are chosen by their noisy numbers, the intervals of all groups have to hold at once: of
    the largest of many numbers, one by itself is mostly too low.
    """
    groups = groups_of(query, found)
    return 1 - (1 - level) / groups if chooses_rows(query, groups) else level


def levels_of(query: SqlQuery, each: Fraction) -> list[Fraction]:
    """The confidence of each statistic, such that intervals of the query's numbers hold with it.

    Quantiles have no interval above the confidence at which they are released, and what a number
    may miss is shared by the answers that it is computed from.
    """
    numbers = [*query.outputs, *query.tested, *(ordering.output for ordering in query.order)]
    trees = [number.tree for number in numbers if number.tree is not None]
    return [
        1 - (1 - each) / max((count(tree) for tree in trees if place in places(tree)), default=1)
        if aggregate.chooses
        else each
        for place, aggregate in enumerate(query.aggregates)
    ]


def _is_noisy(output: Output) -> bool:
    return output.tree is not None and bool(places(output.tree))


def shares(query: SqlQuery, finds: bool, within: Any, loss: Any) -> list[dict[str, Any]]:
    """What `release` is told for each release of a query: first for keys, if they are found.

    Raises:
        SqlError: an argument does not fit.
    """
    if (within is None) == (loss is None):
        raise SqlError(
            "give exactly one of within, how accurate the number should be, and loss, what the "
            "query may cost"
        )
    if loss is not None:
        return _of_loss(query, finds, loss)
    if finds:
        raise SqlError(
            "keys are found for a loss with a delta: give loss=ApproxDP(..), or public keys, "
            f"WHERE {_found(query)}"
        )
    return _of_widths(query, within)


def _of_widths(query: SqlQuery, within: Any) -> list[dict[str, Any]]:
    named = {
        each.name: each.tree.place for each in query.outputs if isinstance(each.tree, OfAnswer)
    }
    known = set(named.values())
    if len(known) < len(query.aggregates):
        raise SqlError(
            "give loss, what the query may cost: a number that is computed from several answers, "
            "or is not selected, has no width of its own"
        )
    if not isinstance(within, Mapping):
        if len(query.aggregates) != 1:
            each = ", ".join(f"{name!r}: .." for name in named)
            raise SqlError(f"give the width of each number, within={{{each}}}, or loss")
        return [{"within": within}]
    if set(within) != set(named):
        raise SqlError(
            f"within names {quoted(sorted(map(str, within)))}; it should name "
            f"{quoted(sorted(named))}"
        )
    widths = {named[name]: width for name, width in within.items()}
    return [{"within": widths[place]} for place in range(len(query.aggregates))]


def _of_loss(query: SqlQuery, finds: bool, loss: Loss) -> list[dict[str, Any]]:
    count = len(query.aggregates) + finds
    if not finds:
        return [{"loss": _share(loss, count)}] * count
    if not isinstance(loss, ApproxDP | ApproxZCDP) or not loss.parts[1]:
        raise SqlError(
            f"loss is {loss}; keys are found for a delta: give ApproxDP(epsilon, delta) or "
            f"ApproxZCDP(rho, delta), or public keys, WHERE {_found(query)}"
        )
    each, delta = loss.parts[0] / count, loss.parts[1]
    keys, others = loss.of_parts((each, delta)), loss.of_parts((each, Fraction(0)))
    return [{"loss": keys}, *[{"loss": others}] * (count - 1)]


def _found(query: SqlQuery) -> str:
    """A condition that names the keys that would have to be found."""
    return " AND ".join(f"{each.text} IN (..)" for each in query.keys if each.groups is None)


def _share(loss: Loss, count: int) -> Loss:
    if count == 1:
        return loss
    if isinstance(loss, GDP):
        return GDP(sqrt_down(loss.parts[0] ** 2 / count))
    if isinstance(loss, AdditiveLoss):
        return loss.of_parts(tuple(part / count for part in loss.parts))
    raise SqlError(f"loss is {quoted(loss)}; ask each number in a query of its own")
