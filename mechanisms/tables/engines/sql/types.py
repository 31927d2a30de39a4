"""The types of DuckDB's columns, as kinds of columns."""

import re

import attrs

from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind

_MOST = 2**63 - 2  # 2**63 - 1 is infinity, which fails as a constant on the first row
_KINDS = {
    "BOOLEAN": column_types.BOOLEAN,
    "FLOAT": column_types.real(32),
    "DOUBLE": column_types.real(64),
    "VARCHAR": column_types.TEXT,
    "UUID": column_types.TEXT,
    "BLOB": column_types.BYTES,
    "DATE": attrs.evolve(column_types.DATE, low=2 - 2**31, high=2**31 - 2),
    "TIMESTAMP_S": column_types.moments("timestamp", 10**9, _MOST // 10**6),
    "TIMESTAMP_MS": column_types.moments("timestamp", 10**6, _MOST // 1000),
    "TIMESTAMP": column_types.moments("timestamp", 1000, _MOST),
    "TIMESTAMP_NS": column_types.moments("timestamp", 1, _MOST),
    "TIMESTAMP WITH TIME ZONE": column_types.moments("instant", 1000, _MOST),
    "TIMESTAMPTZ_NS": column_types.moments("instant", 1, _MOST),
    "INTERVAL": column_types.moments("duration", 1000),
} | {
    f"{'' if signed else 'U'}{name}": column_types.integer(bits, signed=signed)
    for name, bits in (
        ("TINYINT", 8),
        ("SMALLINT", 16),
        ("INTEGER", 32),
        ("BIGINT", 64),
        ("HUGEINT", 128),
    )
    for signed in (True, False)
}


def kind_of(declared: str, *, written: bool = False) -> Kind:
    """The kind of a column, from DuckDB's name of its type."""
    if written:
        return column_types.WRITTEN
    if digits := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", declared):
        kind = column_types.decimal(int(digits[1]), int(digits[2]))
    elif declared.startswith("ENUM("):
        return attrs.evolve(column_types.TEXT, declared="ENUM")
    else:
        kind = _KINDS.get(declared, column_types.OTHER)
    return attrs.evolve(kind, declared=declared)
