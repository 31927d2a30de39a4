"""Questions in SQL: what the handle has for them."""

from collections.abc import Mapping, Sequence
from typing import Any

from queryable.errors import QueryError
from queryable.losses import Loss
from queryable.losses.numbers import Number
from queryable.streams.blocks import BlockName, Last
from queryable.verbs.several import Several


class InSql(Several):
    """The method of `Queryable` that takes a query in SQL."""

    __slots__ = ()

    def sql(
        self,
        text: str,
        *,
        within: Number | Mapping[str, Number] | None = None,
        loss: Loss | None = None,
        confidence: Number | None = None,
        name: str | None = None,
        parameters: Sequence[Any] = (),
        blocks: Sequence[BlockName] | Last | None = None,
    ) -> Any:
        """Answer a query in SQL, as far as its grammar goes; docs/sql.md has it.

        Each statistic in it is released as `release` does. A query that is not answered is refused
        before anything is read or charged, with the nearest one that is. One that begins with
        EXPLAIN says what it would cost and how accurate each number would be.

        Args:
            text: `SELECT state, COUNT(*) AS n FROM visits GROUP BY state`. FROM names the table.
            within: the half-width of the interval of its number; of several, a mapping of the names
                of columns to half-widths.
            loss: what the query may lose at most. Its statistics have equal shares.
            confidence: of the intervals, by default 0.95.
            name: under a name that was used before, the same answer is returned.
            parameters: values for the `?` in the text.
            blocks: the blocks of the data to read, as for `release`.

        Returns:
            An `SqlAnswer`, with each number and the ends of its interval; of EXPLAIN a text to
            print.

        Raises: as `release`, and
            SqlError: the query is wrong or not answered; nothing has been read or charged.
            ImportError: the extra sql is missing.
        """
        outline = self._root.outline
        if outline is None:
            raise QueryError("open the data as a Table, whose columns have types, to ask in SQL")
        aims = {"within": within, "loss": loss, "confidence": confidence}
        return outline.asked_in_sql(self, text, parameters, **aims, name=name, blocks=blocks)
