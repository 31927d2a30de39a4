"""A text as a `SqlQuery`: the statistics that it asks, and what is computed from their answers."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs

from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import per_units
from mechanisms.tables.front_door import FromTable
from mechanisms.tables.in_sql.aggregates import SAMPLE, SqlAggregate, SqlAggregates
from mechanisms.tables.in_sql.conditions import RowReader
from mechanisms.tables.in_sql.functions import CASTS
from mechanisms.tables.in_sql.grouping import Key, key_of
from mechanisms.tables.in_sql.outputs import (
    Condition,
    Number,
    OfAnswer,
    OfNumbers,
    Tree,
    condition_of,
)
from mechanisms.tables.in_sql.parsing import parsed
from mechanisms.tables.in_sql.refusals import SqlError, refusal, shown
from mechanisms.tables.in_sql.sources import SqlSource
from mechanisms.tables.in_sql.subqueries import source_of
from mechanisms.tables.in_sql.truths import both, where_of
from mechanisms.tables.in_sql.values import only

MOST_OUTPUTS = 100

_FUNCTIONS = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "Neg": "neg",
    "Abs": "abs",
    "Sqrt": "sqrt",
    "Round": "round",
    "Floor": "floor",
    "Ceil": "ceil",
    "Greatest": "greatest",
    "Least": "least",
}


@attrs.frozen(eq=False)
class Output:
    """A column of the answer: a number, or a key of the groups.

    Attributes:
        name: of the column.
        tree: how the number is computed; None if it is a key.
        key: which key it is.
    """

    name: str
    tree: Tree | None
    key: int = -1


@attrs.frozen(eq=False)
class Ordering:
    """One entry of ORDER BY."""

    output: Output
    descending: bool
    nulls_first: bool


@attrs.frozen(eq=False)
class SqlQuery:
    """A query in SQL that is answered: nothing is charged yet.

    Attributes:
        text: the query.
        table: what is asked.
        keys: of the groups.
        aggregates: the statistics that it asks, each once.
        outputs: the columns of the answer.
        having: which groups are shown; None for all.
        tested: what it compares.
        order, limit, offset: how rows are shown.
        explains: whether only an explanation is asked for.
    """

    text: str
    table: FromTable
    keys: tuple[Key, ...]
    aggregates: tuple[SqlAggregate, ...]
    outputs: tuple[Output, ...]
    having: Condition | None
    tested: tuple[Output, ...]
    order: tuple[Ordering, ...]
    limit: int | None
    offset: int
    explains: bool
    where: Any = attrs.field(default=None)

    def statistics(self, found: Any = None) -> list[Any]:
        """The statistics to release.

        Args:
            found: the keys that were found in the data, if some had to be.
        """
        groups = [each.groups for each in self.keys if each.groups is not None]
        given = [*groups, *([] if found is None else [found])]
        return self._of(self.table.group_by(*given) if given else self.table)

    def ungrouped(self) -> list[Any]:
        """The statistics without groups."""
        return self._of(self.table)

    def _of(self, table: Any) -> list[Any]:
        try:
            return [each.of(table) for each in self.aggregates]
        except (TypeError, ValueError) as error:
            raise SqlError(str(error)) from None


def planned(
    text: str, table: Any, parameters: Sequence[Any] = (), *, name: str | None = None
) -> SqlQuery:
    """Read a query.

    Args:
        table: an `Outline` or a `Table`: its columns, what is declared about them, its statistics.
        parameters: values for the `?` in the text.
        name: that of the table; None if any will do.

    Raises:
        SqlError: it is not answered; the text says what is.
    """
    tree = parsed(text, parameters)

    try:
        source, where = source_of(tree.select, table, name)
        return _Planner(tree.select, source, where).query(text, tree.explains)
    except SqlError:
        raise
    except RecursionError:
        raise SqlError("the query nests too deep") from None
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise SqlError(f"this query is not answered: {error}") from None


class _Planner:
    """Reads the clauses of one SELECT."""

    def __init__(self, select: Any, source: SqlSource, where: Any) -> None:
        self.select, self.source = select, source
        self.reader = RowReader(source)
        self.asked = SqlAggregates(self.reader, self._where(where))
        self.where = where
        self.aggregates: list[SqlAggregate] = []
        self.known: dict[Any, int] = {}
        self.keys: list[Key] = []
        self.key_nodes: list[Any] = []
        self.outputs: list[Output] = []
        self.names: dict[str, Any] = {}

    def _where(self, where: Any) -> Any:
        own = self.source.where
        holds: Any = True if own is None else own
        if where is not None:
            holds = both(holds, self.reader.truth(where).yes)
        return where_of(holds, next(iter(self._columns())))

    def _columns(self) -> Any:
        return (each.column.operand for each in self.source.named.values() if each.column)

    def query(self, text: str, explains: bool) -> SqlQuery:
        only(
            self.select,
            *(
                "expressions",
                "from_",
                "joins",
                "where",
                "group",
                "having",
                "order",
                "limit",
                "offset",
            ),
            *("with_", "distinct", "kind", "hint"),
        )
        selected = self.select.expressions
        if not 0 < len(selected) <= MOST_OUTPUTS:
            raise SqlError(f"select at least one column, and {MOST_OUTPUTS} at most")
        self.names = {each.alias.lower(): each.this for each in selected if each.alias}
        self._group(selected)
        self._count_units_by_keys()
        for each in selected:
            self._select(each)
        _require_distinct(columns_of(self.outputs))
        having = self.select.args.get("having")
        tested: list[Output] = []

        def compared(node: Any) -> Output:
            tested.append(self.output(node))
            return tested[-1]

        condition = None if having is None else condition_of(having.this, compared)
        order = tuple(map(self._ordering, self._ordered()))
        limit, offset = (self._whole(name) for name in ("limit", "offset"))
        self._require_one_number()
        if self.keys and any(each.key for each in self.aggregates):
            raise refusal("a slope is not answered in groups", "ask for it WHERE s = 'a', or CORR")
        if not self.aggregates and all(key.groups is not None for key in self.keys):
            raise refusal(
                "rows are not answered" if not self.keys else "the keys alone are public",
                "ask for COUNT(*), SUM(..), AVG(..) and so on",
            )
        return SqlQuery(
            text,
            self.source.table,
            tuple(self.keys),
            tuple(self.aggregates),
            tuple(self.outputs),
            condition,
            tuple(tested),
            order,
            limit,
            offset or 0,
            explains,
            self.asked.where,
        )

    def _count_units_by_keys(self) -> None:
        """Count the units that have a key, if a key is a number of each unit."""
        keys = (each.operand for each in self.keys)
        number = next((key for key in keys if per_units(key)), None)
        if number is not None:
            self.asked = attrs.evolve(self.asked, number=Column(number))

    def _require_one_number(self) -> None:
        """Check that each statistic reads one number of each unit at most."""
        keys = [each.operand for each in self.keys]
        for each in self.aggregates:
            read = {repr(number) for number in per_units(*each.by, *keys)}
            if len(read) > 1:
                raise refusal(
                    "a question reads one number of each unit",
                    "ask about the others in queries of their own",
                )

    def _group(self, selected: list[Any]) -> None:
        group = self.select.args.get("group")
        nodes: list[Any] = []
        if self.select.args.get("distinct"):
            only(self.select.args["distinct"])
            if group is not None:
                raise refusal("DISTINCT beside GROUP BY is not answered", "leave DISTINCT out")
            nodes = [each.this if each.alias else each for each in selected]
        elif group is not None:
            only(group, "expressions", "all")
            nodes = list(group.expressions)
            if group.args.get("all"):
                bare = (each.this if each.alias else each for each in selected)
                nodes = [each for each in bare if not self._has_aggregate(each)]
        for node in nodes:
            named = self._named(node, selected)
            if (same := self.source.canonical(named)) not in self.key_nodes:
                self.key_nodes.append(same)
                self.keys.append(key_of(named, self.reader, self.where))

    def _named(
        self, node: Any, selected: list[Any], *, numbered: bool = True, before: bool = False
    ) -> Any:
        """What a number or an alias in GROUP BY, HAVING or ORDER BY stands for.

        Args:
            before: whether an alias comes before a column of its name, as in ORDER BY.
        """
        if numbered and type(node).__name__ == "Literal" and not node.is_string:
            place = int(node.this) if str(node.this).isdecimal() else 0
            if not 1 <= place <= len(selected):
                raise refusal(f"there is no column {shown(node)}", "count the selected ones from 1")
            chosen = selected[place - 1]
            return chosen.this if chosen.alias else chosen
        is_name = type(node).__name__ == "Column" and not node.table
        if is_name and (before or not self.source.has(node.name)):
            return self.names.get(node.name.lower(), node)
        return node

    def _has_aggregate(self, node: Any) -> bool:
        return self.asked.is_one(node) or any(self.asked.is_one(each) for each in node.walk())

    def _select(self, node: Any) -> None:
        name = node.alias or shown(node)
        of = node.this if node.alias else node
        self.outputs.append(self.output(of, name))

    def output(self, node: Any, name: str = "") -> Output:
        """A number or a key."""
        bare = node
        while type(bare).__name__ == "Paren":
            bare = bare.this
        selected = self.select.expressions
        resolved = bare if name else self._named(bare, selected, numbered=False)
        for each in (bare, resolved) if self.key_nodes else ():
            if (same := self.source.canonical(each)) in self.key_nodes:
                return Output(name, None, self.key_nodes.index(same))
        return Output(name, self._tree(resolved))

    def _tree(self, node: Any) -> Tree:
        kind = type(node).__name__
        if kind == "Paren":
            return self._tree(node.this)
        if kind == "Literal" and not node.is_string:
            number = Fraction(str(node.this))
            return Number(int(number) if number.denominator == 1 else float(number))
        if self.asked.is_one(node):
            return self._answered(node)
        if kind == "Nullif" and _is_divisor(node) and node.expression.name == "0":
            return self._tree(node.this)  # a quotient by 0 is NULL anyway
        if kind == "Cast" and self._has_aggregate(node):
            only(node, "this", "to")
            if CASTS.get(node.args["to"].this.name) != "number":
                raise refusal(f"{shown(node)} is not answered", "answers are cast to DOUBLE alone")
            return self._tree(node.this)
        if kind in _FUNCTIONS and (self._has_aggregate(node) or kind == "Neg"):
            only(
                node,
                "this",
                "expression",
                "expressions",
                "decimals",
                "typed",
                "safe",
                "ignore_nulls",
            )
            more = [node.args.get("expression"), node.args.get("decimals"), *node.expressions]
            parts = [node.this, *(each for each in more if each is not None)]
            return OfNumbers(_FUNCTIONS[kind], tuple(map(self._tree, parts)))
        if any(type(each).__name__ == "Window" for each in node.walk()):
            raise refusal("a window reads other rows", "GROUP BY, or write a sub-query")
        if self._has_aggregate(node):
            raise refusal(
                f"{shown(node)} is not computed from answers",
                "there are + - * /, ABS, SQRT, ROUND, FLOOR, CEIL, GREATEST and LEAST",
            )
        if type(node).__name__ == "Column" and self.keys:
            raise refusal(f"{shown(node)} is no key of GROUP BY", "add it there, or aggregate it")
        self.reader.value(node)  # an unknown name or function is told first
        raise refusal("rows are not answered", "ask for COUNT(*), SUM(..), AVG(..), or GROUP BY it")

    def _answered(self, node: Any) -> Tree:
        answer = OfAnswer(self._place(self.asked.read(node)))
        of = type(node.this if type(node).__name__ == "Filter" else node).__name__
        if of not in SAMPLE:
            return answer
        rows = OfAnswer(self._place(self.asked.rows_of(node)))
        return OfNumbers(SAMPLE[of], (answer, rows))

    def _place(self, aggregate: SqlAggregate) -> int:
        by = (*aggregate.by, aggregate.key)
        hashed = repr(by)
        if hashed not in self.known:
            self.known[hashed] = len(self.aggregates)
            self.aggregates.append(aggregate)
        return self.known[hashed]

    def _ordered(self) -> list[Any]:
        order = self.select.args.get("order")
        if order is None:
            return []
        only(order, "expressions")
        return list(order.expressions)

    def _ordering(self, node: Any) -> Ordering:
        only(node, "this", "desc", "nulls_first")
        of = self._named(node.this, self.select.expressions, before=True)
        output = self.output(of, "" if of is node.this else "order")
        return Ordering(output, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))

    def _whole(self, name: str) -> int | None:
        clause = self.select.args.get(name)
        if clause is None:
            return None
        only(clause, "expression")
        given = clause.expression
        if type(given).__name__ != "Literal" or not str(given.this).isdecimal():
            raise refusal(f"{shown(clause)} is not answered", "write a whole number")
        return int(given.this)


def _is_divisor(node: Any) -> bool:
    """Whether something is divided by a part of a query."""
    while type(node.parent).__name__ == "Paren":
        node = node.parent
    return type(node.parent).__name__ == "Div" and node.arg_key == "expression"


def columns_of(outputs: Sequence[Output]) -> tuple[str, ...]:
    """The names of the columns of an answer: a number has the ends of its interval beside it."""
    ends = {True: ("",), False: ("", "_low", "_high")}
    return tuple(f"{each.name}{end}" for each in outputs for end in ends[each.tree is None])


def _require_distinct(names: Sequence[str]) -> None:
    twice = [each for place, each in enumerate(names) if each in names[:place]]
    if twice:
        raise refusal(f"two columns of the answer are called {twice[0]}", "name them with AS")
