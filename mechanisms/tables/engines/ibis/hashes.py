"""The md5 of text on a database, by which rows are chosen.

Ibis has it for some databases only. Elsewhere it is put together of the database's own functions.
"""

from collections.abc import Callable
from functools import reduce
from hashlib import md5
from typing import Any, TypeAlias

from mechanisms.tables.engines.dialect import Expression
from mechanisms.tables.engines.ibis.dialect import builtin

Hash: TypeAlias = Callable[[Any], Callable[[Expression], Expression]]
"""From a connection to the hash of a text: hexadecimal digits, or for a row's hash anything."""


def by_ibis(backend: Any) -> Callable[[Expression], Expression]:
    """As Ibis writes it.

    Raises:
        ValueError: it does not for this database.
    """
    import ibis.expr.operations as ops

    if not backend.has_operation(ops.HexDigest):
        raise ValueError(
            "copy the rows to a file or to another database: no md5 is known on "
            f"{backend.name}, and rows are chosen by it"
        )
    return lambda text: text.hexdigest("md5")


def applied(*functions: tuple[str, str, str]) -> Hash:
    """Functions of the database, one after the other, with the types of argument and result."""

    def of_text(text: Expression) -> Expression:
        steps = (builtin(name, (given,), result) for name, given, result in functions)
        return reduce(lambda value, step: step(value), steps, text)

    return lambda _: of_text


def of_oracle(_: Any) -> Callable[[Expression], Expression]:
    """`STANDARD_HASH` is told the algorithm."""
    standard = builtin("standard_hash", ("string", "string"), "binary")
    digits = builtin("rawtohex", ("binary",), "string")
    return lambda text: digits(standard(text, "MD5"))


def of_sqlite(backend: Any) -> Callable[[Expression], Expression]:
    """A function of Python."""

    def queryable_md5(text: bytes) -> str:  # SQLite's text may be invalid UTF-8
        return md5(text, usedforsecurity=False).hexdigest()

    return _of_bytes(backend, queryable_md5)


def short_of_sqlite(backend: Any) -> Callable[[Expression], Expression]:
    """The bytes of the md5: half as long."""

    def queryable_digest(text: bytes) -> bytes:
        return md5(text, usedforsecurity=False).digest()

    return _of_bytes(backend, queryable_digest)


def _of_bytes(backend: Any, function: Callable[[bytes], Any]) -> Callable[[Expression], Expression]:
    """A function of the bytes of a text, registered with SQLite."""
    import ibis

    backend.con.create_function(function.__name__, 1, function, deterministic=True)
    known: Callable[[Expression], Expression] = ibis.udf.scalar.builtin(function)
    return lambda text: known(text.cast("binary"))
