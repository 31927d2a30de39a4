"""What SQL cannot ask here, in the words of SQL."""

from collections.abc import Iterable

from queryable.errors import QueryError
from queryable.optional import one_line

_LONGEST = 120
_LONGEST_TEXT = 2_000
_MOST = 20


class SqlError(QueryError):
    """A query in SQL that is not answered. Nothing was read or charged; the text has a remedy.

    It is on one line and shortened: names in it may come from a curator.
    """

    def __init__(self, text: str) -> None:
        super().__init__(one_line(text, _LONGEST_TEXT, 300))


def refusal(what: str, instead: str) -> SqlError:
    """The error that refuses a query.

    Args:
        what: what it asks for.
        instead: the nearest that is answered.
    """
    return SqlError(f"{what}: {instead}")


def shown(node: object) -> str:
    """A part of a query as text, on one line and not too long."""
    sql = getattr(node, "sql", None)
    text = " ".join(str(sql(dialect="duckdb") if callable(sql) else node).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}.."


def listed(names: Iterable[str]) -> str:
    """Some names, for a text."""
    known = sorted(names)
    return ", ".join(known[:_MOST]) + (", .." if len(known) > _MOST else "")
