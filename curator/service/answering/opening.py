"""Open a data set of a configuration for a server: its service, and what is public about its data.

Responsible for what the worker runs. Faults go to the owner's log, with their traces.
"""

import logging
from typing import Any

from curator.codec import Codec
from curator.logs.batch_files import BatchFolder
from curator.root import release
from curator.service.answering.feeding import Feeder
from curator.service.answering.lengths import MessageLimits
from curator.service.answering.local import LocalService
from curator.service.workers.recipes import Opened
from curator.settings.configuration import Configuration, read_configuration
from curator.settings.datasets import AT_OPENING, Dataset
from curator.wire import outlines
from mechanisms import Table
from queryable.conversation import Data, made
from queryable.handle import Queryable

_LOG = logging.getLogger("curator")


def configured(
    file: str,
    name: str,
    tick: float | None = None,
    deadline: float | None = None,
    *,
    give_up: bool = False,
) -> Opened:
    """The service of a data set.

    Args:
        file: the configuration.
        tick, deadline: told to clients.
        give_up: whether a message that was under way when the last worker ended has failed.

    Raises:
        LeaseError: another curator holds the root.
        LedgerError, ConfigurationError: it cannot be opened.
    """
    configuration = read_configuration(file)
    at_opening = configuration.dataset(name).choose_rows == AT_OPENING
    return opened(configuration, name, tick, deadline, give_up=give_up, choose_rows=at_opening)


def opened(
    configuration: Configuration,
    name: str,
    tick: float | None = None,
    deadline: float | None = None,
    *,
    give_up: bool = False,
    choose_rows: bool = False,
) -> Opened:
    """As `configured`, of a configuration that was read.

    Args:
        choose_rows: whether the rows that count are chosen before the first question, so that the
            time of no question shows how many there are beside them.
    """
    codec: Codec = configuration.codec
    folder, notes = configuration.datasets[name].batches, _FeedNotes(name)
    table, handle = configuration.open(name, on_fault=_report, give_up=give_up, on_misread=notes)
    if choose_rows:
        try:
            _rows_of(handle, table).choose_rows()
        except Exception as fault:  # questions choose rows; whether they can depends on the data
            _report(fault)
    service = LocalService(
        handle,
        codec=codec,
        tick=tick,
        deadline=deadline,
        on_fault=_report,
        batches=None if folder is None else BatchFolder(folder),
        allowed=allowed_by(configuration.datasets[name]),
    )
    notes.feeder = service.feeder

    def close() -> None:
        release(handle)
        table.close()

    dataset = configuration.datasets[name]
    about = about_of(table, dataset.budget.d_in, dataset.per_hour)
    return Opened(service, about, close)


def allowed_by(dataset: Dataset) -> MessageLimits:
    """What one message of an analyst may take, as the owner says."""
    stated = {
        "steps": dataset.steps,
        "growth": dataset.growth,
        "per_hour": dataset.per_hour,
    }
    return MessageLimits(**{name: value for name, value in stated.items() if value is not None})


def about_of(table: Table, d_in: Any, per_hour: int | None = None) -> dict[str, Any]:
    """What is public about a table, as values of JSON: no rows, and no number of rows."""
    neighbours = "add-or-remove" if d_in == 1 else "substitute"
    return {
        "neighbours": neighbours,
        **({} if per_hour is None else {"per_hour": per_hour}),
        **outlines.about_of(table.columns, table.unit, table.declared, table.joins),
    }


def _rows_of(handle: Queryable, table: Table) -> Table:
    """The rows that the filter has, with all batches and the root's own choice of rows."""
    state = getattr(handle._root, "state", None)
    data = getattr(getattr(state, "own", None), "data", None)
    rows = made(data.rows) if isinstance(data, Data) else None
    return rows if isinstance(rows, Table) else table


class _FeedNotes:
    """Writes what could not be read to the owner's log, and to the reply to who feeds it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.feeder: Feeder | None = None

    def __call__(self, misread: Any) -> None:
        _LOG.warning("%s: %s", self.name, "; ".join(misread.findings))
        if self.feeder is not None:
            self.feeder.note(misread)


def _report(fault: BaseException) -> None:
    _LOG.error("a message met an error", exc_info=fault)
