"""What dialects that compute operands have in common: those of DuckDB, Postgres and Spark.

What a function gives is defined by `grammar` and `texts`. Regular expressions are matched in linear
time: by RE2 on DuckDB, by an automaton on Postgres, with atomic groups by Java.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from itertools import count

from mechanisms.tables.engines.sql.dialect import SqlDialect
from mechanisms.tables.engines.sql.expression import Sql, call
from mechanisms.tables.expressions.column_types import Kind
from mechanisms.tables.expressions.computed import LARGEST, LEAST
from mechanisms.tables.expressions.grammar import (
    DATE,
    FALSE,
    INTEGER,
    MICROSECONDS,
    MOST_CHARACTERS,
    NUMBER,
    TIMESTAMP,
    TRUE,
)
from mechanisms.tables.expressions.texts import LOWER, UPPER, WHITE_SPACE

_SHORT = 100
_FEW = Sql(str(MOST_CHARACTERS))
_ONE = Sql("1")
LEAST_WHOLE = Sql(f"({1 - 2**63} - 1)")
_LOW, _HIGH = Sql(f"({1 - 2**63})"), Sql(str(2**63 - 1))


class Computing(SqlDialect, ABC):
    """Operands are computed. No expression fails on a cell, and each writes its operand once."""

    computes = True

    def _once(self, value: Sql, use: Callable[[Sql], Sql]) -> Sql:
        """An expression that uses a value several times. A long one is written once.

        It then has a name that the expression does not use, as names of others around it.
        """
        if len(value.text) <= _SHORT:
            return use(value)
        others = use(Sql("?")).text
        name = Sql(next(f"v{n}" for n in count() if f"v{n}" not in others))
        return self._bound(value, name, use(name))

    @abstractmethod
    def _bound(self, value: Sql, name: Sql, expression: Sql) -> Sql:
        """An expression of a value that has a name in it."""

    @abstractmethod
    def _follows(self, text: Sql, pattern: Sql) -> Sql:
        """Whether the whole text matches a regular expression."""

    def _grammar(self, pattern: str) -> Sql:
        """A regular expression of ours."""
        return self.text(pattern)

    def tamed(self, value: Sql) -> Sql:
        """By comparison."""

        def tame(x: Sql) -> Sql:
            size = call("abs", x)
            zeroed = self.when(size >= self.double(LEAST), x, self.double(0.0))
            return self.where(size <= self.double(LARGEST), zeroed)

        return self._once(value, tame)

    def truncated_float(self, value: Sql) -> Sql:
        """Only floats within the bounds are cast."""
        end, real = self.double(2.0**63), Kind("float")
        return self._once(
            value, lambda x: self.where(call("abs", x) < end, self.whole_part(x, real))
        )

    def narrowed(self, value: Sql) -> Sql:
        """Only integers within the bounds are cast."""
        return self._once(value, lambda x: self.where((x >= _LOW) & (x <= _HIGH), self.as_whole(x)))

    def as_truth(self, value: Sql) -> Sql:
        """By cases."""
        return Sql(f"CASE {value.text} WHEN 1 THEN TRUE WHEN 0 THEN FALSE END")

    def typed(self, cell: Sql) -> Sql:
        """As it is."""
        return cell

    def changed(self, function: str, text: Sql) -> Sql:
        """Letters are translated."""
        if function == "strip":
            return self._stripped(text)
        given, wanted = (UPPER, LOWER) if function == "lower" else (LOWER, UPPER)
        return call("translate", text, self.text(given), self.text(wanted))

    def _stripped(self, text: Sql) -> Sql:
        return call("btrim", text, self.text(WHITE_SPACE))

    def parsed(self, to: str, text: Sql) -> Sql:
        """A value of what follows the grammar."""
        return self._once(text, getattr(self, f"_{to}"))

    def _integer(self, x: Sql) -> Sql:
        digits = call("split_part", x, Sql("'.'"), _ONE)
        short = call("length", x) <= _FEW
        return self.where(
            self._follows(x, self._grammar(INTEGER)) & short, self._read_integer(digits)
        )

    def _read_integer(self, digits: Sql) -> Sql:
        return call("nullif", self._read(digits, "BIGINT"), LEAST_WHOLE)

    def _number(self, x: Sql) -> Sql:
        short = call("length", x) <= _FEW
        return self.where(self._follows(x, self._grammar(NUMBER)) & short, self._read_number(x))

    def _read_number(self, x: Sql) -> Sql:
        return self._read(x, "DOUBLE")

    def _boolean(self, x: Sql) -> Sql:
        true, false = (self._follows(x, self._grammar(it)).bare for it in (TRUE, FALSE))
        return Sql(f"CASE WHEN {true} THEN TRUE WHEN {false} THEN FALSE END")

    def _date(self, x: Sql) -> Sql:
        return self.where(self._dated(x, DATE), self._read(x, "DATE"))

    def _timestamp(self, x: Sql) -> Sql:
        micros = call("left", x, Sql(str(MICROSECONDS)))
        return self.where(self._dated(x, TIMESTAMP), self._read(micros, "TIMESTAMP"))

    def _dated(self, x: Sql, grammar: str) -> Sql:
        first = call("left", x, Sql("4"))
        return self._follows(x, self._grammar(grammar)) & (first != Sql("'0000'"))

    def _read(self, text: Sql, to: str) -> Sql:
        return Sql(f"TRY_CAST({text.bare} AS {self.type_of(to)})")

    def utc(self, cell: Sql, kind: Kind) -> Sql:
        """The timestamp."""
        return cell

    def calendar_day(self, cell: Sql) -> Sql:
        """The date."""
        return cell

    def day(self, moment: Sql) -> Sql:
        """The date."""
        return self.cast(moment, "DATE")

    def midnight(self, day: Sql) -> Sql:
        """The timestamp."""
        return self.cast(day, "TIMESTAMP")

    def part(self, part: str, moment: Sql, kind: Kind) -> Sql:
        """ISO weekdays are counted from 1."""
        if part == "weekday":
            return self.as_whole(self._extracted("isodow", moment)) - _ONE
        return self.as_whole(self._extracted(part, moment))

    def _extracted(self, part: str, moment: Sql) -> Sql:
        return Sql(f"EXTRACT({part} FROM {moment.text})")

    def truncated(self, unit: str, moment: Sql, kind: Kind) -> Sql:
        """`date_trunc` of a timestamp."""
        if unit == "day":
            return self.day(moment)
        start = moment if kind.name != "date" else self.midnight(moment)
        begin = call("date_trunc", Sql(f"'{unit}'"), start)
        return begin if unit == "hour" else self.day(begin)
