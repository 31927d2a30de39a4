"""Frames and arrays as Arrow tables, without a copy if their library can.

A column has the type that its library gives it; no cell decides it. A column of Python objects has
no such type, and becomes text.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.engines.files.misread import MisreadFinding
from mechanisms.tables.engines.files.objects import as_text, categories_as_text, chunked
from mechanisms.tables.engines.files.samples import SAMPLED
from mechanisms.tables.engines.files.validity import valid_cells
from mechanisms.tables.expressions.corrections import not_readable, require_no_periods
from queryable.wording.quoting import quoted

_BLOCK, _BYTES = 2**16, 2**24
_DAYS = 2**31 - 1


@attrs.frozen
class ArrowFrame:
    """An Arrow table of a frame, an array or a dict of columns.

    Args:
        written: the names of the columns whose text represents Python objects.
        guessed: of columns of text, whose type pandas may have taken from their cells.
        invalid: for some columns, how many cells are missing because they are not valid. Private.
        unread: for columns of objects, how many cells are missing that have no text. Private.
        notes: on columns whose type pandas has taken from their cells. Private.
    """

    table: Any
    written: tuple[str, ...] = ()
    guessed: tuple[str, ...] = ()
    invalid: Mapping[str, int] = attrs.field(factory=dict, repr=False)
    unread: Mapping[str, int] = attrs.field(factory=dict, repr=False)
    notes: tuple[MisreadFinding, ...] = attrs.field(default=(), repr=False)


def as_arrow(source: Any) -> ArrowFrame:
    """A pandas, polars or Arrow frame, a structured array or a dict of columns as an Arrow table.

    Raises:
        TypeError: the source is anything else, or a column has a type that Arrow does not have.
    """
    import pyarrow as pa

    unread: dict[str, list[int]] = {}
    if isinstance(source, pa.Table):
        given, table = {}, source
    else:
        columns = _columns(source)
        given = dict(columns)
        arrays = [_column(name, column, unread.setdefault(name, [])) for name, column in columns]
        sizes = {name: len(cells) for (name, _), cells in zip(columns, arrays, strict=True)}
        if len(set(sizes.values())) > 1:
            raise ValueError(f"give columns of one length: they have {quoted(sizes)}")
        table = pa.table(arrays, names=[name for name, _ in columns])
    for field in table.schema:
        require_no_periods(field.name, field.type)
    valid = valid_cells(table)
    before = [column.null_count for column in table.columns]
    after = [column.null_count for column in valid.columns]
    invalid = zip(table.column_names, before, after, strict=True)
    frames = {name: column for name, column in given.items() if hasattr(column, "iloc")}
    written = tuple(name for name, column in given.items() if _of_objects(column))
    return ArrowFrame(
        valid,
        written,
        tuple(name for name, it in frames.items() if _is_text(it) and name not in written),
        {name: now - then for name, then, now in invalid if now != then},
        {name: sum(counts) for name, counts in unread.items() if any(counts)},
        tuple(_notes(frames, valid)),
    )


def _notes(frames: Mapping[str, Any], table: Any) -> Iterator[MisreadFinding]:
    """Columns of pandas whose type seems to follow from a missing cell."""
    import pyarrow.compute as pc

    for name, column in frames.items():
        dtype = column.dtype
        if not isinstance(dtype, np.dtype) or dtype.kind != "f":
            continue
        cells = table.column(name)
        if not 0 < cells.null_count < len(cells):
            continue
        head = cells.slice(0, SAMPLED)
        if all(pc.all(pc.equal(pc.floor(it), it)).as_py() is not False for it in (head, cells)):
            remedy = f"read it with dtype={{{name!r}: 'Int64'}}"
            text = (
                "floats that are whole numbers, or missing: pandas makes integers float if one is "
                f"missing, so that one row decides about the type; {remedy}"
            )
            yield MisreadFinding(name, text, True, remedy)


def _columns(source: Any) -> list[tuple[str, Any]]:
    """The names and columns of a source."""
    if hasattr(source, "iloc") and hasattr(source, "columns"):  # pandas
        return [(str(name), source.iloc[:, i]) for i, name in enumerate(source.columns)]
    if hasattr(source, "get_columns"):  # polars
        return [(column.name, column) for column in source.get_columns()]
    if isinstance(source, np.ndarray) and source.dtype.names is not None and source.ndim == 1:
        return list(_contiguous(source).items())
    if isinstance(source, Mapping):
        for name, values in source.items():
            if not isinstance(values, Iterable):
                raise TypeError(f"column {quoted(name)} is {quoted(values)}; it should be a list")
        return [(str(name), values) for name, values in source.items()]
    raise TypeError(
        f"source is a {type(source).__name__}; it should be a path, a pandas, polars or Arrow "
        "frame, a dict of columns, a numpy structured array or an Ibis table, such as "
        "ibis.duckdb.connect('a.duckdb').table('visits')"
    )


def _of_objects(column: Any) -> bool:
    """Whether a column's cells are Python objects, by its type."""
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    if dtype is None or str(dtype) == "Object":  # polars
        return True
    return (hasattr(column, "cat") and hasattr(column, "iloc")) or bool(dtype == np.dtype(object))


def _is_text(column: Any) -> bool:
    """Whether a column of pandas is of its type of text."""
    return type(column.dtype).__name__ == "StringDtype"


def _contiguous(records: Any) -> dict[str, Any]:
    """The columns of a structured array, copied block by block, as memory is read once so."""
    names = records.dtype.names
    if isinstance(records, np.ma.MaskedArray):
        return {name: records[name] for name in names}
    columns = {name: np.empty(len(records), dtype=records.dtype[name]) for name in names}
    for start in range(0, len(records), _BLOCK):
        block = records[start : start + _BLOCK]
        for name, column in columns.items():
            column[start : start + _BLOCK] = block[name]
    return columns


def _column(name: str, column: Any, unread: list[int]) -> Any:
    """A column as Arrow has it.

    Raises:
        TypeError: Arrow does not have its type.
    """
    import pyarrow as pa

    try:
        return _converted(column, unread)
    except pa.ArrowException:  # its text may quote a cell
        raise TypeError(not_readable(name, getattr(column, "dtype", "objects"))) from None


def _converted(column: Any, unread: list[int]) -> Any:
    import pyarrow as pa

    if _of_objects(column):
        categories = hasattr(column, "cat") and hasattr(column, "iloc")
        return categories_as_text(column, unread) if categories else as_text(column, unread)
    if isinstance(column, np.ndarray):
        return _of_array(column)
    if hasattr(column, "iloc"):
        python_text = getattr(column.dtype, "storage", None) == "python"
        return as_text(column, unread) if python_text else pa.Array.from_pandas(column)
    return column.to_arrow() if hasattr(column, "to_arrow") else column


def _of_array(values: Any) -> Any:
    """A typed numpy array. Days beyond Arrow's range and lone surrogates become missing."""
    import pyarrow as pa

    mask = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    plain = np.ascontiguousarray(np.ma.getdata(values))
    if plain.dtype.byteorder not in ("=", "|"):
        plain = plain.astype(plain.dtype.newbyteorder("="))
    if plain.dtype.kind in "SU" and mask is None and plain.ndim == 1 and plain.dtype.itemsize:
        rows = max(min(_BLOCK, _BYTES // plain.dtype.itemsize), 1)
        blocks = (plain[i : i + rows] for i in range(0, len(plain), rows))
        return chunked(map(_of_fixed_width, blocks), _type_of_text(plain))
    if plain.dtype.kind == "S":  # of a fixed width in numpy, not in Arrow
        return pa.array(plain.astype(object), pa.binary(), mask=mask)
    if plain.dtype.kind in "UT":
        return _texts(plain, mask)
    if plain.dtype == "M8[D]":
        days = plain.view(np.int64)  # NaT is the least
        if max(-int(days.min(initial=0)), int(days.max(initial=0))) >= _DAYS:
            beyond = np.abs(days) >= _DAYS
            mask = beyond if mask is None else mask | beyond
    if mask is not None and plain.dtype.kind in "mM":  # else Arrow does it
        mask = mask | np.isnat(plain)
    return pa.array(plain, mask=mask, from_pandas=plain.dtype.kind in "mM")


def _type_of_text(values: Any) -> Any:
    import pyarrow as pa

    return pa.binary() if values.dtype.kind == "S" else pa.string()


def _texts(plain: Any, mask: Any) -> Any:
    """Text that may have lone surrogates or zeros, at which Arrow would stop."""
    import pyarrow as pa

    if plain.dtype.kind == "T" or not _has_zeros(plain):
        try:
            return pa.array(plain, pa.string(), mask=mask)
        except (UnicodeError, pa.ArrowException):  # one by one it gives the same type
            pass
    missing = np.zeros(len(plain), dtype=bool) if mask is None else mask
    cells = zip(plain.tolist(), missing.tolist(), strict=True)
    return as_text(None if no else cell for cell, no in cells)


def _has_zeros(texts: Any) -> bool:
    """Whether a text has a zero before its end."""
    used = np.count_nonzero(texts.view(np.uint32)) if texts.dtype.itemsize else 0
    return bool(used != np.char.str_len(texts).sum())


def _of_fixed_width(values: Any) -> Any:
    """Text or bytes of a fixed width, whose trailing zeros numpy does not count."""
    import pyarrow as pa

    text = values.dtype.kind == "U"
    codes = values.view(np.uint32 if text else np.uint8).reshape(len(values), -1)
    if text and codes.max() > 127:
        return _texts(values, None)
    lengths = np.char.str_len(values)
    offsets = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    used = codes[np.arange(codes.shape[1]) < lengths[:, None]].astype(np.uint8)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(used)]
    return pa.Array.from_buffers(_type_of_text(values), len(values), buffers)
