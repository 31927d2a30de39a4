"""`Dataset`: one data set of a configuration: where its rows are, whom it protects, its budget.

Responsible for the table `[datasets.NAME]`. A source is a file, a pattern of files, or a table of a
database that Ibis connects to.
"""

import os
import re
import weakref
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import partial
from glob import escape, has_magic
from pathlib import Path
from typing import Any

import attrs

from composition import FiltCon
from curator.settings.budgets import filter_of
from curator.settings.joined import SEED, DatasetJoin, joins_of
from curator.settings.sections import (
    Section,
    mapping,
    natural_number,
    one_name,
    text,
    text_table,
    texts,
)
from mechanisms import Neighbours, PrivacyUnit, Table
from queryable.losses.numbers import positive

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_NEIGHBOURS = {"add-or-remove": Neighbours.ADD_REMOVE, "substitute": Neighbours.SUBSTITUTE}
_ON_DISK = ("sqlite", "duckdb")
ENV = "env:"
AT_OPENING = "at opening"


@attrs.frozen
class Dataset:
    """A data set as the configuration states it.

    Attributes:
        name: its name, which is that of its root in the ledger.
        source: the path of a file, a pattern of paths, or the address of a database; "env:NAME" for
            an address that an environment variable has.
        table: the table of the database; None for files.
        schema: where the database has the table; None for its default.
        unit: the privacy unit; None if each row is one.
        budget: the filter that guards the data set.
        options: of `Table`, such as `columns` and `types`.
        key: its key, if not that of the whole file.
        tick: the seconds between the moments at which a server replies.
        deadline: the seconds after which a server lets a message fail.
        joins: the tables that are joined with it, in their order.
        batches: the folder with the files of batches; None if the data do not grow here.
        choose_rows: when a server chooses the rows that count: `AT_OPENING`, or at the first
            question that reads them.
    """

    name: str
    source: str | Path = attrs.field(repr=False)  # an address may have a password
    table: str | None
    schema: str | None
    unit: PrivacyUnit | None
    budget: FiltCon
    options: Mapping[str, Any]
    key: str
    tick: Fraction | None
    deadline: Fraction | None
    steps: int | None = None
    growth: int | None = None
    per_hour: int | None = None
    choose_rows: str = AT_OPENING
    batches: Path | None = None
    joins: tuple[DatasetJoin, ...] = ()

    def opened(self, on_misread: Callable[[Any], object] | None = None) -> Table:
        """The table of the data. A connection that it needs is closed when the table is gone.

        Args:
            on_misread: as for `Table`.
        """
        table = self._opened(on_misread)
        for each in self.joins:
            table = each.joined(table)
        return table.with_declared(self.declared) if self.joins and self.declared else table

    @property
    def declared(self) -> Mapping[str, Any]:
        """What the owner states about columns, those of joined tables included."""
        found: Mapping[str, Any] = self.options.get("declared", {})
        return found

    def _opened(self, on_misread: Callable[[Any], object] | None) -> Table:
        if self.table is None:
            return self._table(self.source, on_misread)
        connection = _connected(str(self.source))
        try:
            rows = connection.table(self.table, database=self.schema)
            table = self._table(rows, on_misread)
        except BaseException:
            connection.disconnect()
            raise
        weakref.finalize(table, connection.disconnect)
        return table

    def _table(self, source: Any, on_misread: Callable[[Any], object] | None) -> Table:
        bounds = {} if self.unit is None else attrs.asdict(self.unit)
        unit = bounds.pop("column", None)
        bounds.pop("joined", None)
        options = dict(self.options)
        if self.joins:
            options.pop("declared", None)  # they may be of joined columns
        if any(each.private for each in self.joins):
            options["seed"] = SEED
        return Table(source, privacy_unit=unit, on_misread=on_misread, **bounds, **options)


def seconds(value: Any) -> Fraction:
    """Read a time in seconds, above 0."""
    return positive(value, "it")


def key_place(value: Any, folder: Path) -> str:
    """Read the place of a key: a path from a folder, or "env:NAME"."""
    place = text(value)
    return place if place.startswith(ENV) else str(folder / place)


def of_environment(place: str) -> str:
    """What the environment variable of "env:NAME" has.

    Raises:
        ValueError: it is not set.
    """
    name = place.removeprefix(ENV)
    if not os.environ.get(name):
        raise ValueError(f"set the environment variable {name}, which it names")
    return os.environ[name]


_TABLE = {
    "columns": lambda value: _columns(value) if isinstance(value, dict) else texts(value),
    "types": text_table,
    "keep": text,
    "timeout": seconds,
    "sheet": text,
    "separator": text,
    "quote": lambda value: value or None,
    "encoding": text,
    "decimal": text,
    "thousands": text,
    "date_format": lambda value: text_table(value) if isinstance(value, dict) else text(value),
    "null_values": texts,
    "memory_limit": text,
    "max_temp_directory_size": text,
    "threads": natural_number,
}
"""The options of `Table` that a configuration may have, beside `temp_directory`."""

_OF_FILES = (
    "types",
    "sheet",
    "separator",
    "quote",
    "encoding",
    "decimal",
    "thousands",
    "date_format",
    "null_values",
)
_BOUNDS = ("max_rows", "max_groups", "max_rows_per_group")


def dataset_of(stated: Section, name: str, folder: Path, defaults: Mapping[str, Any]) -> Dataset:
    """The data set of the table `[datasets.NAME]`.

    Args:
        defaults: what holds for all data sets of the file.

    Raises:
        ConfigurationError: it is wrong.
    """
    if not _NAME.fullmatch(name):
        raise stated.wrong("name a data set with letters, digits, '-', '_' and '.'")
    given = stated.read(
        {
            "source": lambda value: _source(value, folder),
            "table": text,
            "schema": text,
            "privacy_unit": text,
            **dict.fromkeys(_BOUNDS, natural_number),
            "neighbours": one_name(*_NEIGHBOURS),
            "budget": partial(mapping, example='{ zcdp = "1/10" }'),
            "key": lambda value: key_place(value, folder),
            "tick": seconds,
            "deadline": seconds,
            "steps": natural_number,
            "growth": natural_number,
            "per_hour": natural_number,
            "batches": lambda value: folder / text(value),
            "choose_rows": one_name(AT_OPENING, "at the first question"),
            "temp_directory": lambda value: folder / text(value),
            "joins": mapping,
            **_TABLE,
        },
        ("source", "budget"),
    )
    source = given["source"]
    if isinstance(source, str) and ("://" in source or source.startswith(ENV)):
        if "table" not in given:
            raise stated.wrong('table is missing: a database has several; write table = "NAME"')
        if "batches" in given:
            raise stated.wrong("leave batches out: files are fed to data sets of files")
    elif "table" in given or "schema" in given:
        raise stated.wrong("leave table and schema out: they are for databases, and source a file")
    if isinstance(given.get("columns"), dict):
        given["declared"] = given.pop("columns")
    if "joins" in given:
        if "batches" in given:
            raise stated.wrong("leave batches or joins out: data that are joined do not grow")
        reading = {key: _TABLE[key] for key in _OF_FILES}
        given["joins"] = joins_of(stated.inner("joins"), folder, reading)
    d_in = int(_NEIGHBOURS[given.pop("neighbours", "add-or-remove")])
    unit = _unit(stated, given)
    parts = {name: given.pop(name, None) for name in ("source", "table", "schema")}
    own = {key: given.pop(key, default) for key, default in defaults.items()}
    own["choose_rows"] = given.pop("choose_rows", AT_OPENING)
    own["batches"] = given.pop("batches", None)
    own["joins"] = given.pop("joins", ())
    del given["budget"]
    return Dataset(
        name,
        unit=unit,
        budget=filter_of(stated.inner("budget"), d_in),
        options=given,
        **parts,
        **own,
    )


def _columns(value: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Read bounds and keys of columns."""
    return {
        name: {key: _exact(each) for key, each in mapping(row).items()}
        for name, row in value.items()
    }


def _exact(value: Any) -> Any:
    """A number of TOML as one of Python: a whole number, or the nearest float."""
    if isinstance(value, list):
        return [_exact(each) for each in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value


def _unit(stated: Section, given: dict[str, Any]) -> PrivacyUnit | None:
    column = given.pop("privacy_unit", None)
    bounds = {name: given.pop(name) for name in _BOUNDS if name in given}
    if column is None:
        if bounds:
            raise stated.wrong(
                f"privacy_unit is missing: {next(iter(bounds))} says how much of a unit is counted"
            )
        return None
    if "max_rows" not in bounds:
        raise stated.wrong(
            f"max_rows is missing: write max_rows = 4, and at most 4 rows of one {column} are "
            "counted; noise grows with it"
        )
    with stated.checked():
        return PrivacyUnit(column, **bounds)


def _source(value: Any, folder: Path) -> str | Path:
    """An address as it is; a path from the folder; a pattern with the folder in front of it."""
    source = text(value)
    scheme, colon, rest = source.partition("://")
    if source.startswith(ENV):
        return source
    if colon:
        return f"{scheme}://{folder / rest}" if scheme in _ON_DISK and rest else source
    path = folder / source
    if path.exists() or not has_magic(source):
        return path
    return source if Path(source).is_absolute() else f"{escape(str(folder))}/{source}"


def _connected(address: str) -> Any:
    """A database, by Ibis."""
    if address.startswith(ENV):
        address = of_environment(address)
    try:
        import ibis
    except ModuleNotFoundError as error:
        raise ValueError(
            "a database is read by Ibis: pip install '.[ibis]' in a checkout"
        ) from error
    return ibis.connect(address)
