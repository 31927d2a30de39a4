"""Frames of pandas, polars and Arrow, and their columns. Imports a library if a frame is of it."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np

from queryable.audit.rows.forms import AddedRecord, InMemory, Name, same_cell
from queryable.data.guarded import pass_on
from queryable.data.rows import column_values


def frame_form(data: Any) -> InMemory | None:
    """The form of a frame or of a column of one; None if it is neither."""
    kind = type(data)
    library, name = kind.__module__.partition(".")[0], kind.__name__
    if library == "pandas" and name in ("DataFrame", "Series"):
        return PandasForm(data)
    if library == "polars" and name in ("DataFrame", "Series"):
        return PolarsForm(data)
    if library == "pyarrow" and name in ("Table", "ChunkedArray"):
        return ArrowForm(data)
    return None


class FrameForm(InMemory):
    """A frame, or a column of a frame, whose one name is None then."""

    def __init__(self, data: Any, names: Sequence[Any] | None) -> None:
        self.data, self.count = data, len(data)
        single = [] if names is None else [name for name in names if list(names).count(name) == 1]
        self.names: tuple[Name, ...] = (None,) if names is None else tuple(single)
        self.single = names is None

    def admits(self, name: Name, cell: Any) -> bool:
        """Whether a column of this type holds the cell, read again, unchanged."""
        try:
            with catch_warnings(), np.errstate(all="ignore"):
                simplefilter("ignore")
                return same_cell(self.held(name, cell), cell)
        except BaseException as error:  # a panic of polars is not an Exception
            pass_on(error)
            return False

    @abstractmethod
    def held(self, name: Name, cell: Any) -> Any:
        """A cell as a column of this type gives it back."""


class PandasForm(FrameForm):
    """A frame of pandas. The index stays that of the records, unless it only counts them."""

    def __init__(self, data: Any) -> None:
        super().__init__(data, list(data.columns) if data.ndim == 2 else None)
        self._counts = type(data.index).__name__ == "RangeIndex"

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column."""
        frame = self.data.to_frame("cells") if self.single else self.data
        return column_values(frame, "cells" if self.single else name)  # type: ignore[arg-type]

    def _column(self, name: Name, cells: list[Any]) -> Any:
        """Cells as a column of the same type."""
        import pandas as pd

        dtype = self.data.dtype if self.single else self.data[name].dtype
        if type(dtype).__name__ == "CategoricalDtype":
            categories = pd.Series(cells, dtype=dtype.categories.dtype)
            return categories.astype(pd.CategoricalDtype(ordered=dtype.ordered))
        made = pd.Series(cells, dtype=None if "datetime" in str(dtype) else dtype).astype(dtype)
        if made.dtype != dtype:
            raise TypeError(f"the column is of {dtype}")
        return made

    def held(self, name: Name, cell: Any) -> Any:
        """The cell of a column of one cell."""
        return column_values(self._column(name, [cell]).to_frame("cell"), "cell")[0]

    def taken(self, data: Any, places: Sequence[int]) -> Any:
        """The records at these places."""
        taken = data.iloc[list(places)]
        return taken.reset_index(drop=True) if self._counts else taken

    def made(self, added: AddedRecord) -> Any:
        """One record: a copy of another one, so that it has its index and its types."""
        base = self.data if added.base is None else self.data.iloc[[added.base]]
        if added.base is None:
            base = base.reindex([0])
        columns = {
            name: self._column(name, [cell]).set_axis(base.index)
            for name, cell in added.cells.items()
        }
        if self.single:
            return columns.get(None, base)
        record = base.copy()
        for name, column in columns.items():
            record[name] = column
        return record

    def joined(self, parts: Sequence[Any]) -> Any:
        """The records of all parts."""
        import pandas as pd

        return pd.concat(_with_same_categories(parts, self.single), ignore_index=self._counts)


def _with_same_categories(parts: Sequence[Any], single: bool) -> list[Any]:
    """Categoricals of several parts with the categories of all: joined, they stay categoricals."""
    from pandas.api.types import union_categoricals

    def coded(column: Any) -> bool:
        return type(column.dtype).__name__ == "CategoricalDtype"

    def recoded(columns: Sequence[Any]) -> list[Any]:
        kind = columns[0].dtype
        same = [each.cat.as_unordered() for each in columns]
        every = union_categoricals(same).categories
        return [each.cat.set_categories(every, ordered=kind.ordered) for each in columns]

    if single:
        return recoded(parts) if coded(parts[0]) else list(parts)
    found = list(parts)
    for name in [name for name in parts[0].columns if coded(parts[0][name])]:
        columns = recoded([part[name] for part in parts])
        found = [part.assign(**{name: it}) for part, it in zip(found, columns, strict=True)]
    return found


class PolarsForm(FrameForm):
    """A frame of polars."""

    def __init__(self, data: Any) -> None:
        super().__init__(data, getattr(data, "columns", None))

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column."""
        frame = self.data.to_frame("cells") if self.single else self.data
        return column_values(frame, "cells" if self.single else name)  # type: ignore[arg-type]

    def _column(self, name: Name, cells: list[Any]) -> Any:
        import polars as pl

        column = self.data if self.single else self.data[name]
        made = pl.Series(column.name, cells, dtype=column.dtype, strict=True)
        if made.dtype != column.dtype:
            raise TypeError(f"the column is of {column.dtype}")
        return made

    def held(self, name: Name, cell: Any) -> Any:
        """The cell of a column of one cell."""
        return column_values(self._column(name, [cell]).to_frame(), self._column(name, []).name)[0]

    def taken(self, data: Any, places: Sequence[int]) -> Any:
        """The records at these places."""
        return data[list(places)] if places else data.clear()

    def made(self, added: AddedRecord) -> Any:
        """One record."""
        base = self.data.clear(1) if added.base is None else self.data[[added.base]]
        columns = [self._column(name, [cell]) for name, cell in added.cells.items()]
        return (columns or [base])[0] if self.single else base.with_columns(columns)

    def joined(self, parts: Sequence[Any]) -> Any:
        """The records of all parts."""
        import polars as pl

        return pl.concat(parts)


class ArrowForm(FrameForm):
    """An Arrow table, or a column of one."""

    def __init__(self, data: Any) -> None:
        super().__init__(data, getattr(data, "column_names", None))

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column."""
        import pyarrow as pa

        frame = pa.table({"cells": self.data}) if self.single else self.data
        return column_values(frame, "cells" if self.single else name)  # type: ignore[arg-type]

    def _column(self, name: Name, cells: list[Any]) -> Any:
        import pyarrow as pa

        kind = (self.data if self.single else self.data.column(name)).type
        if pa.types.is_dictionary(kind):
            encoded = pa.array(cells, kind.value_type, from_pandas=False).dictionary_encode()
            return pa.chunked_array([encoded.cast(kind)])
        return pa.chunked_array([pa.array(cells, kind, from_pandas=False)])

    def held(self, name: Name, cell: Any) -> Any:
        """The cell of a column of one cell."""
        import pyarrow as pa

        if cell is None and not self.single and not self.data.schema.field(name).nullable:
            raise TypeError("the column has no missing cells")
        return column_values(pa.table({"cell": self._column(name, [cell])}), "cell")[0]

    def taken(self, data: Any, places: Sequence[int]) -> Any:
        """The records at these places."""
        import pyarrow as pa

        return data.take(pa.array(places, pa.int64()))

    def made(self, added: AddedRecord) -> Any:
        """One record."""
        import pyarrow as pa

        if self.single:
            cells = added.cells.get(None, None)
            return self._column(None, [cells]) if added.cells else self.data.slice(added.base, 1)
        columns = []
        for name, field in zip(self.data.column_names, self.data.schema, strict=True):
            if name in added.cells or added.base is None:
                columns.append(self._column(name, [added.cells.get(name)]))
            else:
                columns.append(self.data.column(field.name).slice(added.base, 1))
        return pa.table(columns, schema=self.data.schema)

    def joined(self, parts: Sequence[Any]) -> Any:
        """The records of all parts."""
        import pyarrow as pa

        if not self.single:
            return pa.concat_tables(parts)
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], self.data.type)
