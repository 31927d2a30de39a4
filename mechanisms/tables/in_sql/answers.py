"""The rows that a query answers: keys, numbers, and the ends of their intervals."""

from collections.abc import Iterator
from fractions import Fraction
from html import escape
from typing import Any

import attrs

from queryable.answers.released import Released
from queryable.answers.values import in_words, key_in_words
from queryable.losses.numbers import shown

_ROWS = 20


@attrs.frozen(eq=False, repr=False)
class SqlAnswer:
    """The answer to a query in SQL.

    Each number `n` has the ends of its confidence interval beside it, `n_low` and `n_high`, each by
    itself; of a number for all groups at once, if rows were chosen by their numbers, as `HAVING`
    and `LIMIT` do. Numbers whose intervals overlap may be equal.

    Attributes:
        columns: the names.
        rows: a tuple of the values of each row; None is NULL.
        confidence: that of the intervals.
        released: the answers that the numbers were computed from.
        found: the columns of keys that were found in the data, which whoever wrote the data wrote.
        at_once: whether the intervals of a number hold for all groups at once.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    confidence: Fraction
    released: tuple[Released, ...]
    found: tuple[str, ...] = ()
    _keys: frozenset[int] = frozenset()
    at_once: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.rows)

    def __getitem__(self, name: str) -> list[Any]:
        """The values of a column.

        Raises:
            KeyError: there is none.
        """
        if name not in self.columns:
            raise KeyError(f"there is no column {name!r}: there are {', '.join(self.columns)}")
        place = self.columns.index(name)
        return [row[place] for row in self.rows]

    @property
    def notes(self) -> tuple[str, ...]:
        """What whoever reads the numbers may overlook."""
        return tuple(dict.fromkeys(note for each in self.released for note in each.notes))

    @property
    def caption(self) -> str:
        """What the intervals hold for."""
        holds = "for all groups at once" if self.at_once else "each by itself"
        return f"{shown(100 * self.confidence)}% intervals, {holds}"

    def to_pandas(self) -> Any:
        """A pandas frame; pandas must be installed."""
        import pandas as pd

        return pd.DataFrame(list(self.rows), columns=list(self.columns))

    def _texts(self) -> list[tuple[str, ...]]:
        return [tuple(self._texts_of(row)) for row in self.rows[:_ROWS]]

    def _texts_of(self, row: tuple[Any, ...]) -> Iterator[str]:
        place = 0
        while place < len(row):
            values = row[place : place + 1 if place in self._keys else place + 3]
            is_text = place in self._keys or None in values
            yield from map(key_in_words, values) if is_text else in_words(*values)
            place += len(values)

    def _left_out(self) -> list[str]:
        more = len(self.rows) - _ROWS
        left = [f"and {more} more rows: see to_pandas()"] if more > 0 else []
        return [*left, *(f"note: {each}" for each in self.notes)]

    def __str__(self) -> str:
        lines = [self.columns, *self._texts()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = [
            "  ".join(each.rjust(width) for each, width in zip(line, widths, strict=True))
            for line in lines
        ]
        return "\n".join([*table, self.caption, *self._left_out()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(each)}</th>" for each in self.columns)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in row)}</tr>"
            for row in self._texts()
        )
        notes = "".join(f"<p>{escape(line)}</p>" for line in self._left_out())
        return (
            f"<table><caption>{escape(self.caption)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{notes}"
        )
