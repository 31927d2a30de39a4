"""`DatasetJoin`: a table that the owner joins with a data set, `[datasets.NAME.joins.OTHER]`.

It is public, or with `privacy_unit` a private table about the same units. Rows of a private table
are chosen by a seed that never changes, so that a curator that starts again has the same ones.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from curator.settings.sections import (
    Reader,
    Section,
    natural_number,
    one_name,
    text,
    text_table,
    texts,
)
from mechanisms import Table
from mechanisms.tables.joins import Join

SEED = 0
"""Of the choice of rows before a join. It is not secret, and no claim depends on it."""


@attrs.frozen
class DatasetJoin:
    """A join as the configuration states it.

    Attributes:
        source: the path of the other table's file.
        reading: of `Table`, how the other table is opened.
        options: of `Table.join`.
    """

    source: Path
    reading: Mapping[str, Any]
    options: Mapping[str, Any]

    @property
    def private(self) -> bool:
        """Whether the other table is private."""
        return "privacy_unit" in self.reading

    def joined(self, table: Table) -> Table:
        """A table with the columns of this one.

        Raises:
            TypeError, ValueError, OSError: they do not fit.
        """
        if self.private:
            return table.join(Table(self.source, seed=SEED, **self.reading), **self.options)
        return table.join(public=Table(self.source, **self.reading), **self.options)


def joins_of(
    stated: Section, folder: Path, reading: Mapping[str, Reader]
) -> tuple[DatasetJoin, ...]:
    """The joins of a data set, in their order.

    Args:
        stated: the table `[datasets.NAME.joins]`.
        reading: how the options of a file are read.

    Raises:
        ConfigurationError: one is wrong.
    """
    return tuple(_join(stated.inner(name), name, folder, reading) for name in stated.values)


def _join(stated: Section, called: str, folder: Path, reading: Mapping[str, Reader]) -> DatasetJoin:
    given = stated.read(
        {
            "source": lambda value: _file(value, folder),
            "on": lambda value: text_table(value) if isinstance(value, dict) else texts(value),
            "columns": lambda value: text_table(value) if isinstance(value, dict) else texts(value),
            "how": one_name("left", "inner"),
            "max_matches": natural_number,
            "max_rows": natural_number,
            "max_joined_rows": natural_number,
            "privacy_unit": text,
            "name": text,
            "implied": texts,
            **reading,
        },
        ("source", "on"),
    )
    source = given.pop("source")
    private = "privacy_unit" in given
    if private and "max_rows" not in given:
        raise stated.wrong("max_rows is missing: it says how many rows of a unit are joined")
    if not private and "max_joined_rows" in given:
        raise stated.wrong("write max_rows: max_joined_rows is for a table with a privacy_unit")
    own = ("on", "columns", "how", "max_matches", "implied")
    options = {key: given.pop(key) for key in own if key in given}
    most = given.pop("max_joined_rows" if private else "max_rows", None)
    options |= {"name": given.pop("name", called), "max_rows": most}
    with stated.checked():  # what is wrong in every table is told before one is opened
        Join(**options)
    return DatasetJoin(source, given, options)


def _file(value: Any, folder: Path) -> Path:
    source = text(value)
    if "://" in source:
        raise ValueError("it is an address; it should be the path of a file")
    return folder / source
