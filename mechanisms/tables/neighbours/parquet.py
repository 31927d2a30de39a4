"""Parquet files: Arrow reads and writes them, and their types stay."""

from collections.abc import Sequence
from typing import Any

from mechanisms.tables.engines.files.opening import Sources
from mechanisms.tables.neighbours.written import discard_folder, in_new_folder
from queryable.audit.rows.forms import AddedRecord, Form, Name
from queryable.audit.rows.frames import ArrowForm


class ParquetForm(Form):
    """The rows of Parquet files with the same columns; a neighbour is one file."""

    def __init__(self, sources: Sources) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        files = [pq.ParquetFile(path) for path in sources.paths]
        self._group = max((_largest_group(file) for file in files), default=1)
        schema = files[0].schema_arrow
        tables = [file.read().cast(schema) for file in files]
        self._rows = ArrowForm(pa.concat_tables(tables))
        self.count, self.names = self._rows.count, self._rows.names

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column."""
        return self._rows.values(name)

    def admits(self, name: Name, cell: Any) -> bool:
        """Whether the column's type takes the cell."""
        return self._rows.admits(name, cell)

    def edited(self, removed: Sequence[int], added: Sequence[AddedRecord]) -> Any:
        """The path of a new file."""
        import pyarrow.parquet as pq

        path = in_new_folder("rows.parquet")
        pq.write_table(self._rows.edited(removed, added), path, row_group_size=self._group)
        return path

    def discard(self, data: Any) -> None:
        """Delete the folder of the new file."""
        discard_folder(data)


def _largest_group(file: Any) -> int:
    """How many rows the largest row group of a file has; at least one."""
    groups = range(file.metadata.num_row_groups)
    return max((file.metadata.row_group(each).num_rows for each in groups), default=1) or 1
