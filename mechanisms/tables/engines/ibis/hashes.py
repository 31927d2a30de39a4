"""The md5 of text on every database behind Ibis, by which rows are chosen.

Ibis has it for some databases only. For others the database's own functions are named here.
"""

from collections.abc import Callable
from functools import reduce
from hashlib import md5
from typing import Any

from mechanisms.tables.engines.dialect import Expression

TESTED = ("duckdb", "sqlite", "postgres", "pyspark")
"""Databases behind Ibis on which the tests run."""

_FUNCTIONS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "athena": (
        ("to_utf8", "string", "binary"),
        ("md5", "binary", "binary"),
        ("to_hex", "binary", "string"),
    ),
    "bigquery": (("md5", "string", "binary"), ("to_hex", "binary", "string")),
    "clickhouse": (("MD5", "string", "binary"), ("hex", "binary", "string")),
    "mysql": (("md5", "string", "string"),),
    "postgres": (("md5", "string", "string"),),
    "risingwave": (("md5", "string", "string"),),
    "snowflake": (("md5", "string", "string"),),
}
"""Functions that are applied one after the other, with the types of argument and result."""
_FUNCTIONS["trino"] = _FUNCTIONS["athena"]


def digest_of(backend: Any) -> Callable[[Expression], Expression]:
    """A hash of text on this database: hexadecimal digits.

    Raises:
        ValueError: none is known.
    """
    import ibis
    import ibis.expr.operations as ops

    if backend.name == "sqlite":

        def queryable_md5(text: bytes) -> str:  # SQLite's text may be invalid UTF-8
            return md5(text, usedforsecurity=False).hexdigest()

        return _of_bytes(backend, queryable_md5)
    if backend.name == "oracle":
        standard = ibis.udf.scalar.builtin(
            _of_two, name="standard_hash", signature=(("string", "string"), "binary")
        )
        digits = _function("rawtohex", "binary", "string")
        return lambda text: digits(standard(text, "MD5"))
    if functions := _FUNCTIONS.get(backend.name):
        steps = [_function(*each) for each in functions]
        return lambda text: reduce(lambda value, step: step(value), steps, text)
    if backend.has_operation(ops.HexDigest):
        return lambda text: text.hexdigest("md5")
    raise ValueError(
        f"copy the rows to a file or to another database: no md5 is known on {backend.name}, and "
        "rows are chosen by it"
    )


def row_hash_of(backend: Any) -> Callable[[Expression], Expression]:
    """The hash of a row's text, by which rows are sorted: the shortest form that is known."""
    match backend.name:
        case "duckdb":
            return _function("md5_number", "string", "decimal(38, 0)")
        case "sqlite":

            def queryable_digest(text: bytes) -> bytes:
                return md5(text, usedforsecurity=False).digest()

            return _of_bytes(backend, queryable_digest)
    return digest_of(backend)


def _of_bytes(backend: Any, function: Callable[[bytes], Any]) -> Callable[[Expression], Expression]:
    """A function of the bytes of a text, registered with SQLite."""
    import ibis

    backend.con.create_function(function.__name__, 1, function, deterministic=True)
    known: Callable[[Expression], Expression] = ibis.udf.scalar.builtin(function)
    return lambda text: known(text.cast("binary"))


def _of_one(value):  # type: ignore[no-untyped-def]
    ...


def _of_two(value, how):  # type: ignore[no-untyped-def]
    ...


def _function(name: str, given: str, result: str) -> Callable[[Expression], Expression]:
    import ibis

    function: Callable[[Expression], Expression] = ibis.udf.scalar.builtin(
        _of_one, name=name, signature=((given,), result)
    )
    return function
