"""EXPLAIN: what a query would cost, and how accurate it would be. Nothing is charged."""

from fractions import Fraction
from html import escape
from typing import Any

import attrs

from mechanisms.sql.planning import SqlQuery
from mechanisms.sql.sharing import shares
from queryable.checks.affordable import cost_of, in_digits, least_within
from queryable.errors import QueryError
from queryable.losses import Loss
from queryable.losses.numbers import shown
from queryable.messages import MeasureQuery
from queryable.optional import public_name
from queryable.statistics import IntegerStatistic

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
    """

    statistics: tuple[tuple[str, Fraction | None, Loss | None], ...]
    protects: str
    left: Loss | None
    confidence: Fraction

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
        return (
            f"± at {shown(100 * self.confidence)}%; protects {self.protects}{left}; nothing was "
            "charged"
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
    rows = []
    if keys is not None:
        rows.append((public_name(keys), None, aims[0].get("loss")))
        asked = [f"{text}, of the keys found" for text in _texts(query)]
        rows += [(text, None, aim.get("loss")) for text, aim in zip(asked, aims[1:], strict=True)]
    else:
        for statistic, aim in zip(query.statistics(), aims, strict=True):
            rows.append((_text(statistic), *_accuracy(statistic, stated, aim, level)))
    return SqlExplanation(tuple(rows), str(handle._root.protects), left, level)


def _accuracy(
    statistic: Any, stated: Any, aim: dict[str, Any], level: Fraction
) -> tuple[Fraction | None, Loss | None]:
    if "within" in aim:
        cost = cost_of(statistic, stated, within=aim["within"], confidence=level)
        return Fraction(aim["within"]), cost
    cost = aim.get("loss")
    width = None if cost is None else least_within(statistic, stated, level, cost)
    return width, cost


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
