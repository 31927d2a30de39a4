"""The interface between a `Table` and the engine that adds up its rows."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from threading import current_thread, main_thread
from typing import Any

import attrs
import numpy as np

from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.operands import Operand
from mechanisms.tables.requests.discovery import Discovery, FoundKeys
from mechanisms.tables.requests.privacy_unit import PrivacyUnit
from mechanisms.tables.requests.request import Request
from queryable.data.cells import Array


@attrs.frozen
class Choice:
    """The order of a unit's rows; the first of them are counted.

    Rows are ordered by a public column if there is one, then by a hash of the seed and the whole
    row, then by the cells that the statistic reads, or by what it computes from them. Rows that tie
    are equal in all of these, so it makes no difference to the statistic which of them is counted.
    The order in the source never decides.
    """

    seed: int
    column: str | None = None


@contextmanager
def interrupts(*, total: bool = False) -> Iterator[None]:
    """Raise an interrupt as `KeyboardInterrupt` where an engine turns it into an error of its own.

    Args:
        total: whether no Python function in the statement fails on a cell. Then SQLite's error
            about a failing function, in the thread that receives signals, is an interrupt.
    """
    try:
        yield
    except Exception as error:
        text = str(error).strip()
        total = total and current_thread() is main_thread()
        if (
            text == "Query interrupted"
            or text.endswith(": KeyboardInterrupt:")
            or (total and text == "user-defined function raised exception")
        ):
            raise KeyboardInterrupt from None
        raise


_FINDS_NONE = "name the keys: this engine does not find them"


class Engine(ABC):
    """Adds up rows exactly. Privacy and noise are not its concern.

    Equal requests have equal sums while the source is open, because a table remembers them. An
    engine derives from this class and defines the abstract methods. The others are what it may be
    able to do besides; here they are those of an engine that cannot. A table calls them and never
    asks which there are.
    """

    can_be_interrupted: bool = False
    """Whether `run` keeps to a timeout."""
    timeout: Fraction | None = None
    """How many seconds `run` may take, after which it raises TimeoutError and can be called again.
    A table sets it, if the engine can be interrupted."""
    grows: bool = False
    """Whether batches can be added, by the module `parts` of `duckdb` or of `ibis`."""
    has_blocks: bool = False
    """Whether a column of the source may name the block of a row: on a database. Elsewhere a table
    that grows gives its rows one by one."""

    @property
    @abstractmethod
    def kinds(self) -> Mapping[str, Kind]:
        """The kind (type) of each column."""

    @abstractmethod
    def kind(self, operand: Operand) -> Kind:
        """The kind of a column, or of a computed operand. Reads no rows.

        Raises:
            KeyError, TypeError: the operand does not fit the columns' types.
        """

    @abstractmethod
    def plan(self, request: Request, choice: Choice) -> Any:
        """Compile a request. Reads no rows.

        Raises:
            KeyError, TypeError: the request does not fit the columns' types.
        """

    @abstractmethod
    def run(self, plan: Any) -> Iterable[tuple[int, ...]] | Array:
        """Read the rows once, and return the indices and sums of each group that has rows.

        There is one index for each of the request's `parts`. The rows may be those of an array of
        int64.

        A group may be returned in several parts, which are to be added. A unit's rows, and its
        groups, are bounded before anything is added up.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the source."""

    @property
    def misread(self) -> Any:
        """What could not be read of the source (`Misread`); None if all was read. Private."""
        return None

    def require_unchanged(self) -> None:
        """Raise if the source is closed or has changed. Called before remembered sums are used."""
        return

    def choose_rows(self, per: PrivacyUnit, choice: Choice) -> None:
        """Choose the rows that count of each unit, so that no question has to."""
        return

    def run_together(self, plans: Sequence[Any]) -> Sequence[Iterable[tuple[int, ...]] | Array]:
        """The same as `run` for each plan, in fewer scans if it can. It fails if one does."""
        found = map(self.run, plans)  # each is read before the next: they may share a cursor
        return [rows if isinstance(rows, np.ndarray) else list(rows) for rows in found]

    def plan_find(self, asked: Discovery, choice: Choice) -> Any:
        """Compile what finds keys. Reads no rows.

        Raises:
            KeyError, TypeError: it does not fit the columns, or the engine finds no keys.
        """
        raise TypeError(_FINDS_NONE)

    def find(self, plan: Any) -> Iterator[FoundKeys]:
        """The keys that occur, in the order of Python's values, with their counts."""
        raise TypeError(_FINDS_NONE)

    def in_memory(self) -> Any:
        """All rows as an Arrow table, if joins with a public table need it; None otherwise."""
        return None
