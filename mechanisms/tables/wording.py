"""What a statistic asks, in words, for trees, ledgers and explanations. Public facts only."""

from collections.abc import Iterator

from mechanisms.tables.predicates import And, Comparison, IsIn, Not, Or, Where
from mechanisms.tables.request import Request

_MOST_VALUES = 5


def in_full(name: str, request: Request) -> str:
    """The name of a statistic with its rows: `Count where age >= 65, at most 4 rows per id`."""
    where = "" if request.where is None else f" where {condition(request.where)}"
    return "".join((name, where, *(f", {bound}" for bound in bounds(request))))


def bounds(request: Request) -> Iterator[str]:
    """What is counted of one privacy unit at most; nothing where each row is a unit."""
    per, units = request.per, bool(getattr(request, "sizes", ()))
    if per is None:
        return
    if not units:
        yield f"at most {number(per.max_rows, 'row')} per {per.column}"
    if request.by and (units or per.max_groups is not None) and per.groups < per.max_rows:
        yield f"in at most {number(per.groups, 'group')}"
    if request.by and not units and per.rows_per_group < per.max_rows:
        yield f"at most {number(per.rows_per_group, 'row')} in each group"


def number(count: int, noun: str) -> str:
    """A count with its noun: `1 row`, `4 rows`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def condition(where: Where) -> str:
    """The condition in words."""
    match where:
        case Comparison(column, operator, value):
            return f"{column} {operator} {value!r}"
        case IsIn(column, values):
            more = len(values) - _MOST_VALUES
            some = [*map(repr, values[:_MOST_VALUES]), *([f"{more:,} more"] if more > 0 else [])]
            return f"{column} in [{', '.join(some)}]"
        case And(left, right):
            return f"{_part(left)} and {_part(right)}"
        case Or(left, right):
            return f"{_part(left)} or {_part(right)}"
        case Not(predicate):
            return f"not ({condition(predicate)})"
    return f"{getattr(where, '__name__', type(where).__name__)}(data)"


def _part(where: Where) -> str:
    text = condition(where)
    return f"({text})" if isinstance(where, And | Or) else text
