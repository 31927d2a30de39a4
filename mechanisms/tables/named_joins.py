"""`NamedJoin`: a join that the owner made, as queries in SQL may write it. All of it is public.

Knows names and no rows. A table whose rows were joined has one for each join that has a name.
"""

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any

import attrs

from queryable.wording.quoting import quoted

MOST_JOINS, MOST_PAIRS, LONGEST = 100, 10_000, 200
"""How many joins a table has, how many pairs of columns a join, and how many characters a name."""


def _names(value: Any) -> tuple[str, ...]:
    names = tuple(value)
    if isinstance(value, str) or not all(map(_is_name, names)):
        raise TypeError(f"{quoted(value)} should be a list of names")
    return names


def _pairs(value: Any) -> tuple[tuple[str, str], ...]:
    given = value.items() if isinstance(value, Mapping) else value
    pairs = tuple(_names(pair) for pair in islice(given, MOST_PAIRS + 1))
    if len(pairs) > MOST_PAIRS:
        raise ValueError(f"a join names {MOST_PAIRS} pairs of columns at most")
    if not all(len(pair) == 2 for pair in pairs):
        raise TypeError(f"{quoted(value)} should be a list of pairs of names")
    return tuple((mine, theirs) for mine, theirs in pairs)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST


def name_of_join(value: Any) -> str:
    """Check the name that SQL gives a table that is joined.

    Raises:
        TypeError: it is none.
    """
    if not _is_name(value):
        raise TypeError(f"name is {quoted(value)}; it should be a name, as in FROM, 'clinics'")
    return str(value)


@attrs.frozen
class NamedJoin:
    """A join that was made, by its names.

    Args:
        name: what SQL calls the table that was joined.
        on: the pairs of equal columns: of the joined rows, and of the other table.
        columns: the columns that were added: their names in the other table, and in the joined
            rows.
        inner: whether rows without a match were left out.
        several: whether a row may have several matches, or rows of the other table are chosen.
        implied: columns of the joined rows in `on` whose equality follows from the other pairs.
    """

    name: str = attrs.field(converter=name_of_join)
    on: tuple[tuple[str, str], ...] = attrs.field(converter=_pairs)
    columns: tuple[tuple[str, str], ...] = attrs.field(default=(), converter=_pairs)
    inner: bool = attrs.field(default=False, validator=attrs.validators.instance_of(bool))
    several: bool = attrs.field(default=False, validator=attrs.validators.instance_of(bool))
    implied: tuple[str, ...] = attrs.field(default=(), converter=_names)

    def __attrs_post_init__(self) -> None:
        mine, added = [pair[0] for pair in self.on], [pair[1] for pair in self.columns]
        theirs = [pair[0] for pair in self.columns]
        for names in (mine, added, theirs, self.implied):
            if len(set(names)) < len(names):
                raise ValueError(f"{quoted(names)} names a column twice")
        if not set(self.implied) < set(mine):
            raise ValueError(
                f"implied is {quoted(list(self.implied))}; it should name some of the columns "
                f"{quoted(mine)} and leave one at least, which SQL has to write"
            )

    @property
    def changes_rows(self) -> bool:
        """Whether the joined rows are others than those before: a query has to write the join."""
        return self.inner or self.several

    @property
    def written(self) -> tuple[tuple[str, str], ...]:
        """The pairs that SQL has to write."""
        return tuple(pair for pair in self.on if pair[0] not in self.implied)

    @property
    def of_theirs(self) -> dict[str, str]:
        """The columns that were added, by their names in the other table."""
        return dict(self.columns)

    @property
    def of_mine(self) -> dict[str, str]:
        """Their names in the other table, by those in the joined rows."""
        return {mine: theirs for theirs, mine in self.columns}


def owners(joins: Iterable[NamedJoin]) -> dict[str, NamedJoin]:
    """By which join each column was added that one of them has added."""
    return {mine: join for join in joins for _, mine in join.columns}


def in_text(join: NamedJoin, joins: Iterable[NamedJoin], table: str) -> str:
    """A join as a query in SQL may write it: LEFT JOIN clinics ON visits.clinic = clinics.id.

    Args:
        joins: all joins of the table, from whose columns its keys may be.
        table: the name of the table that was joined first.
    """
    added, pairs = owners(joins), []
    for mine, theirs in join.written:
        owner = added.get(mine)
        of, named = (table, mine) if owner is None else (owner.name, owner.of_mine[mine])
        pairs.append(f"{of}.{named} = {join.name}.{theirs}")
    return f"{'' if join.inner else 'LEFT '}JOIN {join.name} ON {' AND '.join(pairs)}"


def require_joins(joins: Collection[NamedJoin], columns: Collection[str]) -> None:
    """Check that joins fit the columns of the joined rows, and each other.

    Raises:
        ValueError: a column is missing or added twice, a join comes before one that its keys are
            from, or two are the same in SQL.
    """
    if len(joins) > MOST_JOINS:
        raise ValueError(f"a table has {MOST_JOINS} joins with a name at most: not {len(joins)}")
    added = [mine for join in joins for _, mine in join.columns]
    if len(set(added)) < len(added) or not set(added) <= set(columns):
        raise ValueError(f"{quoted(added)} should be columns of the table, each added once")
    later, seen = set(added), set[Any]()
    for join in joins:
        for mine, _ in join.on:
            if mine not in columns or mine in later:
                raise ValueError(f"{join.name} is joined by {quoted(mine)}, which is not there yet")
        later -= {mine for _, mine in join.columns}
        same = join.name.lower(), frozenset(join.written)
        if same in seen:
            raise ValueError(f"{join.name} is joined twice by the same columns; leave one out")
        seen.add(same)
