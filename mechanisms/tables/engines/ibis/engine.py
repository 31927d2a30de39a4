"""Ibis: requests evaluated on DuckDB, SQLite, Postgres and Spark, and on untested databases.

A request is compiled to one Ibis expression over the counted rows of each unit.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from typing import Any

import attrs

from mechanisms.tables.engines.files.misread import Misread
from mechanisms.tables.engines.ibis.databases import database_of, within
from mechanisms.tables.engines.ibis.kept import MOST, KeptRows, running
from mechanisms.tables.engines.ibis.keys import UploadedKeys
from mechanisms.tables.engines.ibis.misread import misread_on
from mechanisms.tables.engines.ibis.rowwise import require_row_wise
from mechanisms.tables.engines.ibis.statements import (
    SourceRows,
    rows_of,
    source_of,
    statement_of,
    stream_of,
)
from mechanisms.tables.engines.protocol import Choice, Engine
from mechanisms.tables.engines.sql.found import FindPlan, find_statement, key_of_row
from mechanisms.tables.engines.sql.kept import CountedRows, numbered
from mechanisms.tables.engines.sql.statements import Plan, kind_of_operand
from mechanisms.tables.engines.sql.statements import statement_of as planned
from mechanisms.tables.engines.sql.together import scans
from mechanisms.tables.engines.sql.views import ViewColumns
from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.corrections import no_column
from mechanisms.tables.expressions.operands import Operand
from mechanisms.tables.requests.discovery import Discovery, FoundKeys, in_batches
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Request
from queryable.errors import PrivacyWarning


def kind_of(declared: Any) -> Kind:
    """The kind of a column of an Ibis type."""
    kind = column_types.OTHER
    if declared.is_boolean():
        kind = column_types.BOOLEAN
    elif declared.is_integer():
        kind = column_types.integer(8 * declared.nbytes, signed=declared.is_signed_integer())
    elif declared.is_floating() and declared.nbytes >= 4:
        kind = column_types.real(8 * declared.nbytes)
    elif declared.is_decimal():
        digits = declared.precision, declared.scale
        if None not in digits and max(digits) <= _MOST_DIGITS:  # else of any scale, or too long
            kind = column_types.decimal(*digits)
    elif declared.is_string():
        kind = column_types.TEXT
    elif declared.is_binary():
        kind = column_types.BYTES
    elif declared.is_date():
        kind = column_types.DATE
    elif declared.is_timestamp():
        name = "timestamp" if declared.timezone is None else "instant"
        kind = column_types.moments(name, 1 if (declared.scale or 6) > 6 else 1000)
    return attrs.evolve(kind, declared=str(declared))


_MOST_DIGITS = 307
"""Decimals with more digits have no nearest float, and Postgres fails where it looks for one."""


@attrs.frozen
class IbisPlan:
    """A question as SQL of its database.

    Args:
        plan: over the relation of the counted rows, if it reads these.
        statement: its SQL.
        alone: its SQL with the choice of rows in front.
    """

    plan: Plan
    statement: str
    alone: str

    @property
    def schema(self) -> dict[str, str]:
        """The columns of its rows."""
        return dict.fromkeys(self.plan.names, "int64")


_TYPES = {"text": "binary", "bytes": "binary", "boolean": "boolean", "date": "date"}


class Ibis(Engine):
    """A source opened with Ibis.

    Args:
        source: an Ibis table, connected to a database.
        columns: the columns to use; by default all.
    """

    grows = has_blocks = True
    kinds: Mapping[str, Kind] = {}
    misread: Misread | None = None

    def __init__(self, source: Any, *, columns: Iterable[str] | None = None) -> None:
        import ibis

        if not isinstance(source, ibis.Table):
            raise TypeError(f"give an Ibis table; source is a {type(source).__name__} of Ibis")
        self.backend = source.get_backend()
        self.database = database_of(self.backend)
        require_row_wise(source, casts_fail=self.database.casts_fail)
        self.database.open(self.backend)
        schema = source.schema()
        self.narrowed = columns is not None
        wanted = list(schema) if columns is None else list(columns)
        for name in wanted:
            if name not in schema:
                raise ValueError(no_column(name, schema))
        self.source = self.database.readable(self.backend, source.select(*wanted))
        self.kinds = self.kinds_of(self.source)
        self._dialect = self.database.dialect_on(self.backend)
        if not self.database.tested:
            warnings.warn(
                f"no test runs on {self.backend.name}: compare some statistics of rows that you "
                "know with the same on DuckDB, SQLite, Postgres or Spark before you rely on it",
                PrivacyWarning,
                stacklevel=4,
            )
        self.rows = source_of(self.backend, self.source)
        self._read(f"({self.rows.sql})")
        self.misread = misread_on(self.backend, self.rows, self.columns)
        self.can_be_interrupted = self.database.tested  # others are not known to be

    def _read(self, data: str) -> None:
        """Read these rows, as SQL after FROM, from now on."""
        self._last: tuple[str, IbisPlan] | None = None
        self._kept = KeptRows(self.backend)
        self._keys = UploadedKeys(self.backend)
        columns = ViewColumns(
            *(tuple(self.kinds), self.kinds, {}),
            dialect=self._dialect,
            placed=self._keys.placed,
            data=data,
            prefix="counted_",
        )
        self.columns = attrs.evolve(columns, number=columns.own("number"))

    def kinds_of(self, source: Any) -> dict[str, Kind]:
        """The kinds of the columns of an expression of Ibis."""
        schema = source.schema()
        kinds = {name: kind_of(schema[name]) for name in schema}
        return {**kinds, **self.database.kinds(self.backend, source)}

    def over(self, rows: SourceRows, kinds: Mapping[str, Kind]) -> "Ibis":
        """An engine over other rows of the database."""
        other = copy(self)
        other.source, other.rows, other.kinds = None, rows, kinds
        rows.upload(self.backend)
        other._read(self.database.view(self.backend, rows.sql))
        return other

    def kind(self, operand: Operand) -> Kind:
        """The kind of an operand."""
        return kind_of_operand(operand, {}, self.columns)

    def plan(self, request: Request, choice: Choice) -> IbisPlan:
        """Compile the request to one statement. A launch asks twice, so the last plan is cached.

        Raises:
            ValueError: the database does not accept so large a statement.
        """
        key, last = repr((request, choice)), self._last
        if last is not None and last[0] == key:
            return last[1]
        columns = self.columns
        if request.per is not None:
            of = CountedRows(
                *(request.per.column, request.per.max_rows, choice, frozenset(), columns)
            ).of
            columns = attrs.evolve(columns, kept=self._kept.name(of))
        plan = self._written(planned(request, choice, columns))
        self._last = key, plan
        return plan

    def _written(self, plan: Plan) -> IbisPlan:
        """A plan in the words of the database.

        Raises:
            ValueError: the database does not accept so large a statement.
        """
        if plan.kept is None:
            statement = statement_of(self.backend, plan.statement)
            return IbisPlan(plan, statement, statement)
        name, chosen = self._kept.name(plan.kept.of), numbered(plan.kept)
        in_front = f"WITH {name} AS ({chosen}) {plan.statement}"
        return IbisPlan(plan, plan.statement, statement_of(self.backend, in_front))

    def run(self, plan: IbisPlan) -> list[tuple[int, ...]]:
        """The indices and sums of every group, with sums put together from their parts."""
        with self._guarded():
            return list(map(plan.plan.read, self._fetched(plan)))

    def run_together(self, plans: Sequence[IbisPlan]) -> list[list[tuple[int, ...]]]:
        """The same as `run` of each plan, in fewer scans: one for each set of groups."""
        several, shared = scans([each.plan for each in plans], self.database.most_sums)
        found: dict[int, list[tuple[int, ...]]] = {}
        with self._guarded():
            for each in list({it.kept.of: it.kept for it in several if it.kept}.values())[:MOST]:
                self._ready(each)
        for scan in shared:
            with suppress(ValueError):  # too large for the database
                rows = self.run(self._written(scan.plan))
                found |= zip(scan.places, scan.split(rows), strict=True)
        return [found[i] if i in found else self.run(plan) for i, plan in enumerate(plans)]

    def choose_rows(self, per: PrivacyUnit, choice: Choice) -> None:
        """Choose the rows that count of each unit, with all columns, before the first question.

        A question with another `max_rows` chooses again.
        """
        names = frozenset(self.kinds)
        with self._guarded():
            self._ready(CountedRows(per.column, per.max_rows, choice, names, self.columns))

    def _ready(self, rows: CountedRows) -> bool:
        """Whether there is a table of the counted rows, after it was made if need be."""

        def chosen(names: Iterable[str]) -> str:
            self.rows.upload(self.backend)
            return numbered(attrs.evolve(rows, names=frozenset(names)))

        return self._kept.ready(rows.of, rows.names & self.kinds.keys(), chosen)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Statements of ours: one at a time, without warnings, within the timeout."""
        with (
            self._kept.lock,
            running(),
            within(self.backend, self.timeout),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # a warning of the database could depend on the data
            yield

    def _fetched(self, plan: IbisPlan) -> list[tuple[Any, ...]]:
        """The rows of the answer, from the kept rows if there are any.

        What keeps the database from keeping rows, such as a full disk, fails no question.
        """
        kept, rows = self._kept, plan.plan.kept
        for source in (self.rows, *plan.plan.tables.values()):
            source.upload(self.backend)
        if rows is None:
            return rows_of(self.backend, plan.statement, plan.schema)
        ready = self._ready(rows)
        if ready:
            try:
                return rows_of(self.backend, plan.statement, plan.schema)
            except TimeoutError:
                raise
            except Exception:  # the table is gone, for example by a rollback of the owner's
                kept.drop(rows.of)
        found = rows_of(self.backend, plan.alone, plan.schema)
        if not ready:
            kept.stop()
        return found

    def plan_find(self, asked: Discovery, choice: Choice) -> FindPlan:
        """Compile what finds keys to one statement.

        Raises:
            ValueError: the database does not accept so large a statement.
        """
        plan = find_statement(asked, choice, self.columns)
        return attrs.evolve(plan, statement=statement_of(self.backend, plan.statement))

    def find(self, plan: FindPlan) -> Iterator[FoundKeys]:
        """The keys that occur, in their order, with a count for each."""
        with self._guarded():
            self.rows.upload(self.backend)
            keys = (_TYPES.get(kind.name, "decimal(38, 0)") for kind in plan.kinds)
            schema = {f"key_{i}": each for i, each in enumerate(keys)} | {"found": "int64"}
            rows = stream_of(self.backend, plan.statement, schema)
            yield from in_batches(rows, partial(key_of_row, plan.kinds))

    def in_memory(self) -> Any:
        """All rows: a public table is copied into another one's database."""
        opened = self.source is not None
        return (self.source if opened else self.backend.sql(self.rows.sql)).to_pyarrow()

    def close(self) -> None:
        """Drop the kept rows. The connection belongs to the curator."""
        self._kept.stop()
