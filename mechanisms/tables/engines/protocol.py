"""The interface between a `Table` and the engine that adds up its rows."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any, Protocol

import attrs

from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.operands import Operand
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


class Engine(Protocol):
    """Adds up rows exactly. Privacy and noise are not its concern.

    Equal requests have equal sums while the source is open, because a table remembers them. An
    engine may define further methods:

    - `choose_rows(per, choice)`: chooses the rows that count of each unit, so that no question has
      to.
    - `run_together(plans)`: the same as `[run(plan) for plan in plans]`, in fewer scans.
    - `plan_find(discovery, choice)` compiles what finds keys, and `find(plan)` gives the keys that
      occur, in the order of Python's values, with their counts.
    - `require_unchanged()`: raises if the source is closed or has changed. A table calls it before
      it uses sums that it remembers.
    - `timeout`, an attribute: None, or how many seconds `run` may take, after which it raises
      TimeoutError and can be called again. A table sets it.
    """

    @property
    def kinds(self) -> Mapping[str, Kind]:
        """The kind (type) of each column."""

    def kind(self, operand: Operand) -> Kind:
        """The kind of a column, or of a computed operand. Reads no rows.

        Raises:
            KeyError, TypeError: the operand does not fit the columns' types.
        """

    def plan(self, request: Request, choice: Choice) -> Any:
        """Compile a request. Reads no rows.

        Raises:
            KeyError, TypeError: the request does not fit the columns' types.
        """

    def run(self, plan: Any) -> Iterable[tuple[int, ...]] | Array:
        """Read the rows once, and return the indices and sums of each group that has rows.

        There is one index for each of the request's `parts`, and one for its `sizes` if it has any.
        The rows may be those of an array of int64.

        A group may be returned in several parts, which are to be added. A unit's rows, and its
        groups, are bounded before anything is added up.
        """

    def close(self) -> None:
        """Close the source."""
