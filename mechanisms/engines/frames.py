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
