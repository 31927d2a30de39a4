"""Which of the owner's joins each table of a FROM is, and what the query then reads.

Nothing is joined for a query: it reads rows that the owner has joined. So its answer is that of the
query as written if, for every row, its conditions say the same as the owner's keys. A pair of keys
counts as written if an equality names it, or names a column that other equalities make equal to it.
Such chains go through columns of one type alone, whose equality is transitive.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from mechanisms.tables.in_sql.joins.written import WrittenTable
from mechanisms.tables.in_sql.parsing import conjuncts
from mechanisms.tables.in_sql.refusals import refusal, shown
from mechanisms.tables.in_sql.sources import SqlSource, of_table, spelled
from mechanisms.tables.in_sql.truths import both, is_null, where_of
from mechanisms.tables.named_joins import NamedJoin, in_text, owners

Place: TypeAlias = tuple[int, str]
"""A column: of which table in FROM, and its name there."""
Equality: TypeAlias = frozenset[Place]

_TRANSITIVE = ("text", "integer", "date", "boolean")
"""Kinds of which two columns are equal in the same way everywhere."""


def matched(
    written: Sequence[WrittenTable], table: Any, name: str | None, where: Any
) -> tuple[SqlSource, Any]:
    """What a query over several tables reads, and the rest of its WHERE.

    Args:
        written: the tables in FROM.
        table: the joined rows.
        name: that of the table before its joins; None if any will do.

    Raises:
        SqlError: the owner has not joined these, or not so.
    """
    found = _Matching(written, table, _first(written, table, name), where)
    found.match()
    found.require_answered()
    return found.source(), found.rest()


def _first(written: Sequence[WrittenTable], table: Any, name: str | None) -> int:
    """Which one is the table that others are joined with."""
    joined = {each.name.lower() for each in table.joins}
    known = {name.lower()} if name is not None else None
    places = [
        place
        for place, each in enumerate(written)
        if (each.name.lower() in known if known else each.name.lower() not in joined)
    ]
    if len(places) == 1:
        return places[0]
    there = ", ".join(each.name for each in written)
    if all(each.name.lower() in joined for each in written):
        of, called = name or "t", written[0].name.lower()
        alike = [each for each in table.joins if each.name.lower() == called]
        raise refusal(
            f"FROM has {there} without the table with which the owner joined that",
            f"write FROM {of} {' or '.join(in_text(each, table.joins, of) for each in alike)}",
        )
    if not places:
        raise refusal(f"there is no table {there} here", f"the table is {name}")
    if name is None and not joined:
        raise refusal(
            f"JOIN of {there} is not answered here",
            "let the owner join the tables, and name them: Table.join(public=.., name='clinics')",
        )
    raise refusal(
        f"JOIN of {', '.join(written[place].name for place in places)} is not answered",
        f"the owner has joined {', '.join(sorted(joined)) or 'nothing'}",
    )


class _Matching:
    """Finds for each table in FROM the join that it is."""

    def __init__(self, written: Sequence[WrittenTable], table: Any, first: int, where: Any) -> None:
        self.written, self.table, self.first = written, table, first
        self.owners = owners(table.joins)
        self.own = [each for each in table.columns if each not in self.owners]
        self.joins: dict[int, NamedJoin] = {}  # of each table that is known
        self.names: dict[tuple[int, bool], list[str]] = {}  # before its join is known, and after
        self.merged: set[Place] = set()
        self.conditions = [] if where is None else list(conjuncts(where))
        self.equal: list[Equality] = []  # what holds in every row
        self.of_left: dict[int, list[Equality]] = {}
        self._read()

    # Names.

    def _names(self, place: int) -> list[str]:
        """The columns that a table may have."""
        if place == self.first:
            return self.own
        join = self.joins.get(place)
        key = place, join is None
        if key not in self.names:
            alike = [join] if join else self._called(self.written[place].name)
            both_sides = ([*each.of_theirs, *(theirs for _, theirs in each.on)] for each in alike)
            self.names[key] = list(dict.fromkeys(name for names in both_sides for name in names))
        return self.names[key]

    def _called(self, name: str) -> list[NamedJoin]:
        return [each for each in self.table.joins if each.name.lower() == name.lower()]

    def _place(self, name: str, qualifier: str, tables: Sequence[int]) -> Place | None:
        """The column that a name is, if it is one of these tables and no other."""
        found = list[Place]()
        for place in tables:
            if not qualifier or self.written[place].alias.lower() == qualifier.lower():
                named = spelled(name, self._names(place))
                if named is not None and (qualifier or (place, named) not in self.merged):
                    found.append((place, named))
        return found[0] if len(found) == 1 else None

    def _placed(self, node: Any) -> Place | None:
        if type(node).__name__ == "Paren":
            return self._placed(node.this)
        if type(node).__name__ != "Column" or type(node.this).__name__ == "Star":
            return None
        return self._place(node.name, node.table, range(len(self.written)))

    def _column(self, place: Place) -> str | None:
        """The column of the joined rows that a name is; None if it was not added."""
        if place[0] == self.first:
            return place[1]
        join = self.joins.get(place[0])
        return None if join is None else join.of_theirs.get(place[1])

    def _where_from(self, column: str) -> Place | None:
        """The name of a column of the joined rows; None if its table is not known yet."""
        if column not in self.owners:
            return self.first, column
        for place, join in self.joins.items():
            if join == self.owners[column]:
                return place, join.of_mine[column]
        return None

    # Equalities.

    def _read(self) -> None:
        for place, each in enumerate(self.written):
            usings = [self._using(name, place) for name in each.using]
            if each.left:
                self.of_left[place] = [*usings, *(self._of_left(node) for node in each.on)]
            else:
                self.equal += usings
                self.conditions += each.on
        for node in self.conditions:
            self.equal += self._equalities(node)

    def _using(self, name: str, place: int) -> Equality:
        mine = self._place(name, "", range(place))
        theirs = self._place(name, "", [place])
        if mine is None or theirs is None:
            raise refusal(
                f"USING ({name}) names no column of both sides", self._stated(self.written[place])
            )
        self.merged.add(theirs)
        return frozenset({mine, theirs})

    def _of_left(self, node: Any) -> Equality:
        """An equality of the ON of a LEFT JOIN; others would change which rows match."""
        [*found] = self._equalities(node) if type(node).__name__ == "EQ" else ()
        if not found:
            raise refusal(
                f"{shown(node)} in the ON of a LEFT JOIN is not answered",
                "write the keys alone there, and CASE WHEN .. THEN x END for what else x needs",
            )
        return found[0]

    def _equalities(self, node: Any) -> set[Equality]:
        """The pairs of columns that are equal where a condition holds."""
        match type(node).__name__:
            case "Paren":
                return self._equalities(node.this)
            case "And":
                return set[Equality]().union(*map(self._equalities, node.flatten()))
            case "Or":
                return set.intersection(*map(self._equalities, node.flatten()))
            case "EQ":
                ends = self._placed(node.this), self._placed(node.expression)
                if ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
                    return {frozenset({ends[0], ends[1]})}
        return set()

    def _alike(self, one: Place) -> set[Place]:
        """The columns that are equal to one in every row."""
        steps = [*self.equal, *self._known()]
        kinds = {place: self._kind(place) for step in steps for place in step}
        found, new = {one}, [one]
        while new:
            at = new.pop()
            for step in steps:
                if at in step and len({kinds[each] for each in step} - {None}) == 1:
                    [other] = step - {at}
                    if kinds[other] is not None and kinds[at] is not None and other not in found:
                        found.add(other)
                        new.append(other)
        return found

    def _kind(self, place: Place) -> str | None:
        column = self._column(place)
        name = None if column is None else self.table.columns[column].name
        return name if name in _TRANSITIVE else None

    def _known(self) -> Iterator[Equality]:
        """The keys of the joins whose rows have a match."""
        for place, join in self.joins.items():
            if not self.written[place].left:
                yield from self._keys(place, join)

    def _keys(self, place: int, join: NamedJoin) -> Iterator[Equality]:
        for mine, theirs in join.on:
            found = self._where_from(mine)
            if found is not None:
                yield frozenset({found, (place, theirs)})

    # Matching.

    def match(self) -> None:
        """Find the join of each table, first of those that can be one only.

        Raises:
            SqlError: there is none.
        """
        if self.written[self.first].left:
            raise refusal(
                f"{self._name} on the right of a LEFT JOIN is not answered", "write it on the left"
            )
        waiting = [place for place in range(len(self.written)) if place != self.first]
        while waiting:
            choices = {place: self._choices(place) for place in waiting}
            some = [place for place in waiting if choices[place]]
            if not some:
                one = self.written[waiting[0]]
                raise refusal(f"{one.name} is not joined so", self._stated(one))
            next_ = min(some, key=lambda place: len(choices[place]))
            self.joins[next_] = choices[next_][0]
            waiting.remove(next_)

    def _choices(self, place: int) -> list[NamedJoin]:
        used = list(self.joins.values())
        known = self._called(self.written[place].name)
        return [each for each in known if each not in used and self._fits(place, each)]

    def _fits(self, place: int, join: NamedJoin) -> bool:
        left = self.of_left.get(place)
        unused = set(self.equal if left is None else left)
        for mine, theirs in join.on:
            at = self._where_from(mine)
            if at is None:
                return False
            alike = self._alike(at)
            fitting = {
                step
                for step in unused
                if (place, theirs) in step and step - {(place, theirs)} <= alike
            }
            if not fitting and mine not in join.implied:
                return False
            if left is not None:
                unused -= fitting
        return left is None or not unused

    def require_answered(self) -> None:
        """Check that the rows that the query writes are the joined ones, or some of them.

        Raises:
            SqlError: they are not.
        """
        known = list(self.joins.values())
        for join in self.table.joins:
            if join.changes_rows and join not in known:
                raise refusal(
                    f"the rows are those of {self._name} joined with {join.name}",
                    f"write {self._text(join)}",
                )
        for place, join in self.joins.items():
            if self.written[place].left and join.inner:
                raise refusal(
                    f"LEFT JOIN {join.name} is of rows that the owner left out",
                    f"write {self._text(join)}",
                )
        there = self._matches()
        for place, join in self.joins.items():
            if not self.written[place].left and place not in there:
                raise refusal(
                    f"JOIN {join.name} leaves out rows without a match, and no column says which",
                    f"write {self._text(join)}, or let the owner add its key to columns=",
                )

    def _matches(self) -> set[int]:
        """The tables that have a row in every row that is read."""
        there = {
            place
            for place, join in self.joins.items()
            if not self.written[place].left and (join.inner or self._key(join) is not None)
        }
        for place in reversed(self._ordered()):
            if place in there:
                keys = (self._where_from(mine) for mine, _ in self.joins[place].on)
                there |= {found[0] for found in keys if found is not None}
        return there

    def _ordered(self) -> list[int]:
        """The joined tables in the order in which they were joined."""
        order = list(self.table.joins)
        return sorted(self.joins, key=lambda place: order.index(self.joins[place]))

    @staticmethod
    def _key(join: NamedJoin) -> str | None:
        """A column of the joined rows that is there where they have a match, and only there."""
        added = join.of_theirs
        return next((added[theirs] for _, theirs in join.on if theirs in added), None)

    # What is read.

    def source(self) -> SqlSource:
        """The columns under their names, the rows with a match, and the privacy unit's names."""
        tables: dict[str, Mapping[str, str]] = {}
        for place, each in enumerate(self.written):
            join = self.joins.get(place)
            own = {name: name for name in self.own} if join is None else join.of_theirs
            tables[each.alias] = own
        shown_ = dict.fromkeys(key for names in tables.values() for key in names.values())
        source = of_table(self.table, shown_, self.table.declared, self.written[self.first].alias)
        holds: Any = True
        for place, join in self.joins.items():
            key = self._key(join)
            if not (self.written[place].left or join.inner) and key is not None:
                holds = both(holds, is_null(source.named[key]).no)
        merged = {(self.written[place].alias, name) for place, name in self.merged}
        return attrs.evolve(
            source,
            tables=tables,
            merged=frozenset(merged),
            where=where_of(holds, next(iter(shown_))),
            whole=self._units(source.whole),
            elsewhere={
                theirs: self._text(join)
                for join in reversed(self.table.joins)
                for theirs, _ in join.columns
            },
        )

    def _units(self, whole: frozenset[str]) -> frozenset[str]:
        """The columns that equal the privacy unit's in every row."""
        found = set(whole)
        for place in self._ordered():
            if self.written[place].left:
                continue
            for mine, theirs in self.joins[place].on:
                same, at = self._where_from(mine), (place, theirs)
                column = self._column(at)
                if mine in found and column is not None and same is not None:
                    found |= {column} if self._kind(same) == self._kind(at) is not None else set()
        return frozenset(found)

    def rest(self) -> Any:
        """The conditions without those that the joins have made true; None if none is left."""
        done = set(self._known())
        left = None
        for node in self.conditions:
            if type(node).__name__ == "EQ" and self._equalities(node) & done:
                continue
            left = node if left is None else _both(left, node)
        return left

    # In words.

    @property
    def _name(self) -> str:
        return self.written[self.first].name

    def _text(self, join: NamedJoin) -> str:
        return in_text(join, self.table.joins, self._name)

    def _alike_text(self, one: WrittenTable, join: NamedJoin) -> str:
        """The join as an inner one, if it was written so and can be answered so."""
        inner = not one.left and self._key(join) is not None
        return self._text(join).removeprefix("LEFT ") if inner else self._text(join)

    def _stated(self, one: WrittenTable) -> str:
        known = self._called(one.name)
        if known:
            return f"write {' or '.join(self._alike_text(one, join) for join in known)}"
        if not self.table.joins:
            return "let the owner join the tables, and name them: Table.join(.., name='clinics')"
        return f"the owner has joined {self._name} {' '.join(map(self._text, self.table.joins))}"


def _both(one: Any, other: Any) -> Any:
    from sqlglot import exp

    return exp.And(this=one, expression=other)
