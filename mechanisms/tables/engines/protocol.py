"""What a `Table` needs of an engine. Knows no engine."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

import attrs

from mechanisms.tables.column_types import Kind
from mechanisms.tables.request import Request


@attrs.frozen
class Choice:
    """How the rows of a unit are put in order, the first of which are counted.

    By a public column where there is one, then by a hash of the seed and the whole row, then by
    the cells that the statistic reads, or what it makes of them. Rows that tie are equal in all of
    these, so it makes no difference to the statistic which of them counts. The order of arrival
    never decides.
    """

    seed: int
    column: str | None = None


@contextmanager
def interrupts() -> Iterator[None]:
    """Raise an interrupt as `KeyboardInterrupt`, where DuckDB makes an error of its own of it."""
    try:
        yield
    except Exception as error:
        text = str(error).strip()
        if text == "Query interrupted" or text.endswith(": KeyboardInterrupt:"):
            raise KeyboardInterrupt from None
        raise


class Engine(Protocol):
    """Adds up rows exactly. It decides nothing about privacy and draws no noise."""

    kinds: Mapping[str, Kind]
    """What each column holds."""

    def plan(self, request: Request, choice: Choice) -> Any:
        """The request compiled; reads no rows.

        Raises:
            KeyError, TypeError: the request does not fit the columns' types.
        """

    def run(self, plan: Any) -> Iterable[tuple[int, ...]]:
        """Read the rows, once: for each group that has any, its indices and its sums.

        A group may come in several parts, to be added. A unit's rows are bounded, and groups are
        bounded within a unit, before anything is added up.
        """

    def close(self) -> None:
        """Let go of the data."""
