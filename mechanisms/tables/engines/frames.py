"""Frames and arrays as Arrow tables, without a copy where their library can.

Responsible for one thing: what a column holds is decided by its type, where it has one. Knows no
engine.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np


def as_arrow(source: Any) -> Any:
    """A pandas, polars or Arrow frame, a structured array or a dict of columns as an Arrow table.

    Raises:
        TypeError: something else.
    """
    table = _as_arrow(source)
    for position, field in enumerate(table.schema):
        finer = _finer(field.type)
        if finer is not None:
            table = table.set_column(
                position, field.name, _in_microseconds(table.column(position), finer)
            )
    return table


def _finer(kind: Any) -> Any:
    """The type in microseconds for one that an engine would convert to them, cell by cell."""
    import pyarrow as pa

    zoned = pa.types.is_timestamp(kind) and kind.tz is not None
    if not (zoned or pa.types.is_duration(kind)) or kind.unit not in ("s", "ms"):
        return None
    return pa.timestamp("us", kind.tz) if zoned else pa.duration("us")


def _in_microseconds(column: Any, finer: Any) -> Any:
    """A cell that has too many of them is missing; an engine would fail."""
    import pyarrow as pa
    import pyarrow.compute as pc

    times = 1000 if column.type.unit == "ms" else 10**6
    most, counts = (2**63 - 2) // times, column.cast(pa.int64())
    fits = pc.and_(pc.less_equal(counts, most), pc.greater_equal(counts, -most))
    counts = pc.if_else(fits, counts, pa.scalar(None, pa.int64()))
    return pc.multiply(counts, times).cast(finer)


def _as_arrow(source: Any) -> Any:
    import pyarrow as pa

    if isinstance(source, pa.Table):
        return source
    if hasattr(source, "to_arrow"):  # polars
        return source.to_arrow()
    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
        return pa.Table.from_pandas(source, preserve_index=False)
    if isinstance(source, np.ndarray) and source.dtype.names is not None and source.ndim == 1:
        source = {name: source[name] for name in source.dtype.names}
    if isinstance(source, Mapping):
        return pa.table({name: _column(values) for name, values in source.items()})
    raise TypeError(
        f"source is a {type(source).__name__}; it should be a path, a pandas, polars or Arrow "
        "frame, a numpy structured array or an Ibis table"
    )


def _column(values: Any) -> Any:
    import pyarrow as pa

    if not isinstance(values, np.ndarray):
        return pa.array(list(values), from_pandas=True)
    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    plain = np.ascontiguousarray(np.ma.getdata(values))
    if plain.dtype.kind == "S":  # fixed width to numpy, not to Arrow
        plain = plain.astype(object)
    if plain.dtype.byteorder not in ("=", "|"):
        plain = plain.astype(plain.dtype.newbyteorder("="))
    return pa.array(plain, mask=mask, from_pandas=True)
