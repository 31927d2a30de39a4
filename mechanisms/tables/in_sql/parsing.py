"""The text of a query as a tree.

sqlglot reads it, in the dialect of DuckDB. Before, tokens are counted: a text that is too long or
too nested is refused by its own size, not by what the stack has left.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from mechanisms.tables.in_sql.refusals import SqlError, refusal
from mechanisms.tables.requests.signed import signed
from queryable.wording.quoting import quoted

MOST_CHARACTERS, MOST_TOKENS, DEEPEST = 20_000, 3_000, 25
DIALECT = "duckdb"

_PREFIXES = ("-", "+", "~", "NOT", "CASE", "EXISTS", "CAST")
_STARTS = ("SELECT", "WITH", "(")


class Parsed(NamedTuple):
    """A query, and whether only an explanation is asked for."""

    select: Any
    explains: bool


def parsed(text: str, parameters: Sequence[Any] | None = ()) -> Parsed:
    """Read the text of a query.

    Args:
        parameters: values for the `?` in it, in order; None leaves them as they are.

    Raises:
        SqlError: it is no single SELECT, or too large.
        ImportError: sqlglot is missing.
    """
    if not isinstance(text, str):
        raise SqlError(f"a query is text: it is {quoted(text)}")
    if len(text) > MOST_CHARACTERS:
        raise SqlError(f"a query has at most {MOST_CHARACTERS} characters: it has {len(text)}")
    dialect, exp, errors = _library()
    first, *more = text.split(maxsplit=1)[:2] or [""]
    explains = first.upper() == "EXPLAIN"
    text = "".join(more) if explains else text
    try:
        tokens = dialect.tokenize(text)
    except errors as error:
        raise SqlError(f"this is no SQL: {_first_line(error)}") from None
    _require_small(tokens)
    start = _word(tokens[0]) if tokens else ""
    if start not in _STARTS:
        raise refusal(
            f"a query begins with SELECT, WITH or EXPLAIN SELECT, not {quoted(start)}",
            "the data are only asked, never changed",
        )
    try:
        trees = [tree for tree in dialect.parser().parse(tokens, text) if tree is not None]
    except errors as error:
        raise SqlError(f"this is no SQL: {_first_line(error)}") from None
    if len(trees) != 1:
        raise SqlError(f"write one query: these are {len(trees)}")
    [tree] = trees
    while isinstance(tree, exp.Subquery | exp.Paren) and not tree.alias:
        tree = tree.this
    if not isinstance(tree, exp.Select):
        raise refusal(f"{type(tree).__name__.upper()} is not answered", "write a single SELECT")
    return Parsed(tree if parameters is None else _bound(tree, parameters, exp), explains)


def tables_of(text: str) -> list[str]:
    """The names of the tables that a query reads, each once.

    Raises:
        SqlError: it is no query.
    """
    _, exp, _ = _library()
    tree = parsed(text, None).select
    own = {each.alias.lower() for each in tree.find_all(exp.CTE)}
    names = [each.name for each in tree.find_all(exp.Table) if each.name.lower() not in own]
    return list(dict.fromkeys(names))


def conjuncts(where: Any) -> Iterator[Any]:
    """The conditions that all hold where a condition holds."""
    if type(where).__name__ == "Paren":
        yield from conjuncts(where.this)
    elif type(where).__name__ == "And":
        for each in where.flatten():
            yield from conjuncts(each)
    else:
        yield where


def _bound(tree: Any, parameters: Sequence[Any], exp: Any) -> Any:
    """The query with its parameters as constants, which no text of theirs can leave."""
    places = list(tree.find_all(exp.Placeholder, bfs=False))
    if any(each.this for each in places):
        raise SqlError("write parameters as ?, without names and numbers")
    if isinstance(parameters, str | bytes | Mapping) or not isinstance(parameters, Collection):
        raise SqlError(f"give parameters in a list, as [65]: it is {quoted(parameters)}")
    if len(places) != len(parameters):
        raise SqlError(
            f"give as many parameters as the query has ?: {len(places)}, not {len(parameters)}"
        )
    for place, value in zip(places, parameters, strict=True):
        place.replace(_constant(value, exp))
    return tree


def _constant(value: Any, exp: Any) -> Any:
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=bool(value))
    if isinstance(value, datetime):
        return exp.cast(exp.Literal.string(value.isoformat()), "TIMESTAMP")
    if isinstance(value, date):
        return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    if isinstance(value, str):
        return exp.Literal.string(str.__str__(value))
    number = signed(value, "a parameter")
    written = exp.Literal(this=str(abs(number)), is_string=False)
    return exp.Neg(this=written) if number < 0 else written


def _require_small(tokens: Any) -> None:
    if len(tokens) > MOST_TOKENS:
        raise SqlError(f"a query has at most {MOST_TOKENS} words and signs: it has {len(tokens)}")
    nested = run = 0
    for token in tokens:
        word = _word(token)
        run = run + 1 if word in _PREFIXES else 0
        nested += (word in ("(", "[", "{", "CASE")) - (word in (")", "]", "}", "END"))
        if nested > DEEPEST or run > DEEPEST:
            raise SqlError(f"a query nests at most {DEEPEST} deep")


def _word(token: Any) -> str:
    return str(token.text).upper()


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0].strip()[:300]


def _library() -> tuple[Any, Any, tuple[type[Exception], ...]]:
    try:
        from sqlglot import exp
        from sqlglot.dialects.dialect import Dialect
        from sqlglot.errors import SqlglotError
    except ImportError as error:
        raise ModuleNotFoundError('SQL needs the extra sql: pip install ".[sql]"') from error
    return Dialect.get_or_raise(DIALECT), exp, (SqlglotError, ValueError, RecursionError)
