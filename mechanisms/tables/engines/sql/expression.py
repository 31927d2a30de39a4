"""SQL expressions with Python operators."""

import attrs

from mechanisms.tables.expressions.column_types import Kind


def identifier(name: str) -> str:
    """A column's name as an SQL identifier, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


@attrs.frozen(eq=False)
class Sql:
    """An SQL expression. A comparison makes another expression.

    Args:
        joined: the operator of an expression in brackets.
        column: the kind of a column's own cell; None of what is computed.
        called: whether it is the result of a function.
    """

    text: str
    joined: str = ""
    column: Kind | None = None
    called: bool = False

    @property
    def bare(self) -> str:
        """The text where commas or words are around it: without its brackets."""
        return self.text[1:-1] if self.joined else self.text

    def _with(self, operator: str, other: "Sql") -> "Sql":
        return Sql(f"({self.text} {operator} {other.text})", operator)

    def _chained(self, operator: str, other: "Sql") -> "Sql":
        """A long chain has one pair of brackets, since parsers limit how deep these nest."""
        texts = (each.bare if each.joined == operator else each.text for each in (self, other))
        return Sql(f"({f' {operator} '.join(texts)})", operator)

    def __eq__(self, other: "Sql") -> "Sql":  # type: ignore[override]
        return self._with("=", other)

    def __ne__(self, other: "Sql") -> "Sql":  # type: ignore[override]
        return self._with("<>", other)

    def __lt__(self, other: "Sql") -> "Sql":
        return self._with("<", other)

    def __le__(self, other: "Sql") -> "Sql":
        return self._with("<=", other)

    def __gt__(self, other: "Sql") -> "Sql":
        return self._with(">", other)

    def __ge__(self, other: "Sql") -> "Sql":
        return self._with(">=", other)

    def __add__(self, other: "Sql") -> "Sql":
        return self._with("+", other)

    def __sub__(self, other: "Sql") -> "Sql":
        return self._with("-", other)

    def __mul__(self, other: "Sql") -> "Sql":
        return self._with("*", other)

    def __truediv__(self, other: "Sql") -> "Sql":
        return self._with("/", other)

    def __and__(self, other: "Sql") -> "Sql":
        return self._chained("AND", other)

    def __or__(self, other: "Sql") -> "Sql":
        return self._chained("OR", other)

    def __invert__(self) -> "Sql":
        return Sql(f"(NOT {self.text})", "NOT")

    __hash__ = None  # type: ignore[assignment]


def call(function: str, *given: Sql) -> Sql:
    """A function of expressions."""
    return Sql(f"{function}({', '.join(each.bare for each in given)})", called=True)


def digits_of(kind: Kind, value: int) -> str:
    """A multiple of a decimal column's step, in digits."""
    assert kind.step is not None
    scale = len(str(kind.step.denominator)) - 1
    sign, digits = "-" * (value < 0), str(abs(value)).zfill(scale + 1)
    point = len(digits) - scale
    return f"{sign}{digits[:point]}.{digits[point:]}"
