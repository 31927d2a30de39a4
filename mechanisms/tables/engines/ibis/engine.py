"""Ibis: requests evaluated on DuckDB, SQLite, Postgres and Spark, and on untested databases.

A request is compiled to one Ibis expression over the counted rows of each unit.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import attrs

from mechanisms.tables.engines.dialect import Expression
from mechanisms.tables.engines.files.misread import Misread
from mechanisms.tables.engines.ibis.databases import (
    database_of,
    in_front,
    relation_of,
    require_accepted,
    rows_of,
    statement_of,
    stream_of,
    within,
)
from mechanisms.tables.engines.ibis.found import IbisFindPlan, find_statement
from mechanisms.tables.engines.ibis.kept import MOST, KeptRows, running
from mechanisms.tables.engines.ibis.keys import UploadedKeys
from mechanisms.tables.engines.ibis.misread import misread_on
from mechanisms.tables.engines.ibis.rows import Bounded, Rows
from mechanisms.tables.engines.ibis.rowwise import require_row_wise
from mechanisms.tables.engines.ibis.totals import Totals, joint, totals_of
from mechanisms.tables.engines.protocol import Choice, Engine
from mechanisms.tables.expressions import column_types
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.corrections import no_column
from mechanisms.tables.expressions.operands import Operand
from mechanisms.tables.requests.discovery import Discovery, FoundKeys, in_batches
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Request
from queryable.errors import PrivacyWarning

_MOST_CHOICES = 64
"""How many statements that choose rows are remembered."""


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
    """A question as SQL.

    Args:
        requests: what is asked; they have the same groups.
        rows: whose counted rows it reads; None if it reads the source itself.
        columns: of the counted rows, which it reads.
        statement: its SQL over the relation of the counted rows.
        alone: its SQL with the choice of rows in front.
    """

    requests: tuple[Request, ...]
    choice: Choice
    rows: Bounded | None
    columns: tuple[str, ...]
    totals: Totals
    statement: str
    alone: str


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
        self.digest = self.database.digest(self.backend)
        if not self.database.tested:
            warnings.warn(
                f"no test runs on {self.backend.name}: compare some statistics of rows that you "
                "know with the same on DuckDB, SQLite, Postgres or Spark before you rely on it",
                PrivacyWarning,
                stacklevel=4,
            )
        self._row_hash = self.database.row_hash(self.backend)
        self._dialect = self.database.dialect_on(self.backend)
        self.misread = misread_on(self.backend, self.source, self.kinds, self._dialect)
        self.can_be_interrupted = self.database.tested  # others are not known to be
        self._forget()

    def _forget(self) -> None:
        self._last: tuple[str, IbisPlan] | None = None
        self._kept = KeptRows(self.backend)
        self._keys = UploadedKeys(self.backend)
        self._chosen: dict[tuple[Bounded, tuple[str, ...]], tuple[Any, str]] = {}

    def kinds_of(self, source: Any) -> dict[str, Kind]:
        """The kinds of the columns of an expression."""
        schema = source.schema()
        kinds = {name: kind_of(schema[name]) for name in schema}
        return {**kinds, **self.database.kinds(self.backend, source)}

    @property
    def rows(self) -> Rows:
        """How rows are chosen."""
        return Rows(self.kinds, self._dialect, self.digest, self._row_hash)

    def upload(self, table: Any) -> None:
        """Upload the tables in memory that an expression refers to."""
        self.backend._run_pre_execute_hooks(table)

    def ask(self, source: Any, kinds: Mapping[str, Kind]) -> None:
        """Read other rows from now on."""
        self._read = source  # an uploaded table is dropped when nothing refers to it
        self.source, self.kinds = self.database.view(self.backend, source), kinds
        self._forget()

    def present(self, rows: Any, column: str) -> Expression:
        """Whether a row has a cell in a column."""
        return self.rows.compiler(rows).present(column)

    def kind(self, operand: Operand) -> Kind:
        """The kind of an operand."""
        return self.rows.compiler(self.source).operand(operand).kind

    def plan(self, request: Request, choice: Choice) -> IbisPlan:
        """Compile the request to one statement. A launch asks twice, so the last plan is cached.

        Raises:
            ValueError: the database does not accept so large a statement.
        """
        key, last = repr((request, choice)), self._last
        if last is not None and last[0] == key:
            return last[1]
        plan = self._planned((request,), choice)
        self._last = key, plan
        return plan

    def _planned(self, requests: tuple[Request, ...], choice: Choice) -> IbisPlan:
        """One statement for requests that have the same groups, and count the same rows."""
        per, relation = requests[0].per, self.source
        columns = tuple(sorted({name for each in requests for name in each.columns}))
        rows = None
        if per is not None and not requests[0].sizes:
            rows = Bounded(per.column, per.max_rows, choice)
            relation, chosen = self._choice(rows, columns)
            if self.database.tested:
                name = self._kept.name(rows)
                relation = relation_of(self.backend, name, relation.schema())
        totals = totals_of(relation, requests, choice, self.rows, self._keys)
        statement = alone = statement_of(self.backend, totals.expression)
        if rows is not None and self.database.tested:
            alone = in_front(self.backend, name, chosen, statement)
        require_accepted(self.backend, alone)
        return IbisPlan(requests, choice, rows, columns, totals, statement, alone)

    def _choice(self, rows: Bounded, columns: tuple[str, ...]) -> tuple[Any, str]:
        """The counted rows with some columns, as an expression and as SQL."""
        key = rows, columns
        if key not in self._chosen:
            if len(self._chosen) == _MOST_CHOICES:
                self._chosen.clear()
            expression = self.rows.counted(self.source, rows, columns)
            self._chosen[key] = expression, statement_of(self.backend, expression)
        return self._chosen[key]

    def run(self, plan: IbisPlan) -> Iterable[tuple[int, ...]]:
        """The indices and sums of every group, with sums put together from their parts."""
        [found] = self._run(plan)
        return found

    def run_together(self, plans: Sequence[IbisPlan]) -> list[list[tuple[int, ...]]]:
        """The same as `run` of each plan, in fewer scans: one for each set of groups."""
        if not plans:
            return []
        requests, choice = [plan.requests[0] for plan in plans], plans[0].choice
        found: list[list[tuple[int, ...]]] = [[] for _ in plans]
        with self._guarded():
            self._keep(plans)
        for places in joint(requests, self.database.most_sums):
            try:
                several = self._planned(tuple(requests[place] for place in places), choice)
            except ValueError:  # too large for the database
                each = [self._run(plans[place])[0] for place in places]
            else:
                each = self._run(several)
            for place, rows in zip(places, each, strict=True):
                found[place] = rows
        return found

    def choose_rows(self, per: PrivacyUnit, choice: Choice) -> None:
        """Choose the rows that count of each unit, with all columns, before the first question.

        A question with another `max_rows` chooses again.
        """
        rows = Bounded(per.column, per.max_rows, choice)
        with self._guarded():
            self._kept.ready(rows, tuple(sorted(self.kinds)), partial(self._sql, rows))

    def _keep(self, plans: Sequence[IbisPlan]) -> None:
        """Choose the rows that several plans read once, with the columns of all of them."""
        columns: dict[Bounded, dict[str, None]] = {}
        for plan in plans:
            if plan.rows is not None:
                columns.setdefault(plan.rows, {}).update(dict.fromkeys(plan.columns))
        for rows, names in list(columns.items())[:MOST]:
            self._kept.ready(rows, names, partial(self._sql, rows))

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

    def _run(self, plan: IbisPlan) -> list[list[tuple[int, ...]]]:
        """The indices and sums of every group, for each request of the plan."""
        with self._guarded():
            fetched = self._fetched(plan)
        read = [plan.totals.read(row) for row in fetched]
        return [list(each) for each in zip(*read, strict=True)] or [[] for _ in plan.requests]

    def _fetched(self, plan: IbisPlan) -> list[tuple[Any, ...]]:
        """The rows of the answer, from the kept rows if there are any.

        What keeps the database from keeping rows, such as a full disk, fails no question.
        """
        kept, rows, expression = self._kept, plan.rows, plan.totals.expression
        if rows is None:
            return rows_of(self.backend, expression, plan.statement)
        ready = kept.ready(rows, plan.columns, partial(self._sql, rows))
        if ready:
            try:
                return rows_of(self.backend, expression, plan.statement)
            except TimeoutError:
                raise
            except Exception:  # the table is gone, for example by a rollback of the owner's
                kept.drop(rows)
        self._sql(rows, plan.columns)
        found = rows_of(self.backend, expression, plan.alone)
        if not ready:
            kept.stop()
        return found

    def _sql(self, rows: Bounded, columns: tuple[str, ...]) -> str:
        """The SQL of the counted rows, after the tables in memory that it reads are uploaded."""
        expression, statement = self._choice(rows, columns)
        self.upload(expression)
        return statement

    def plan_find(self, asked: Discovery, choice: Choice) -> IbisFindPlan:
        """Compile what finds keys to one statement."""
        return find_statement(self.backend, self.source, asked, choice, self.rows)

    def find(self, plan: IbisFindPlan) -> Iterator[FoundKeys]:
        """The keys that occur, in their order, with a count for each."""
        with self._guarded():
            rows = stream_of(self.backend, plan.expression, plan.statement)
            yield from in_batches(rows, plan.key)

    def in_memory(self) -> Any:
        """All rows: a public table is copied into another one's database."""
        return self.source.to_pyarrow()

    def close(self) -> None:
        """Drop the kept rows. The connection belongs to the curator."""
        self._kept.stop()
