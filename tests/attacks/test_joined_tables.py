"""Statistics of joined tables: the integers of plain Python, and sensitivities on neighbours.

A table is joined with a public table of different keys, with a public table in which a key has
several rows, or with a private table of the same persons.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

from mechanisms import Count, PrivacyUnit, Sum, Table, column
from tests import brute_force as plain
from tests.attacks.test_table_neighbours import too_far
from tests.attacks.test_table_values import value
from tests.datasets import (
    COLLATED,
    DATABASES,
    FORMS,
    MEMORY,
    held,
    in_arrow,
    kinds_of,
    opened,
    parameters,
)
from tests.engines import mostly
from tests.messy_tables import Row, some_cell, some_rows, some_types
from tests.random_statistics import Maker
from tests.sizes import sized

JOINABLE = [form for form in FORMS if form not in MEMORY]
QUICK = [form for form in JOINABLE if form not in (*COLLATED[1:], "ibis on spark")]
"""Slow tests have the second database with collations."""
KEYS = ["integer", "text", "date", "boolean", "written"]
CASES = 5
Types = dict[str, str]


@attrs.frozen
class Side:
    """A table to be joined."""

    types: Types
    rows: list[Row] = attrs.field(repr=False)

    def without(self, person: Any) -> "Side":
        """The rows of all other persons."""
        return attrs.evolve(self, rows=[row for row in self.rows if row["person"] != person])


@attrs.frozen
class Joined:
    """Two tables, how they are joined, and the joined rows in plain Python."""

    form: str
    left: Side
    right: Side
    on: dict[str, str]
    public: bool
    inner: bool
    unit: PrivacyUnit | None
    options: dict[str, Any]
    like: "Joined | None" = None
    """One whose tables have the same types; None is this one itself."""

    @property
    def added(self) -> Types:
        """The columns of the right side that are added."""
        return {name: kind for name, kind in self.right.types.items() if name not in self._taken}

    @property
    def _taken(self) -> set[str]:
        return set(self.on.values())

    @property
    def types(self) -> Types:
        return self.left.types | self.added

    @property
    def rows(self) -> list[Row]:
        return plain.joined(
            self.left.rows, self.right.rows, self.on, list(self.added), inner=self.inner
        )

    @contextmanager
    def table(self) -> Iterator[Table]:
        """The product's joined table."""
        unit: dict[str, Any] = {}
        if self.unit is not None:
            unit = {"privacy_unit": "person", "max_rows": self.unit.max_rows, "seed": 3}
        how = {"on": self.on, "how": "inner" if self.inner else "left", **self.options}
        with ExitStack() as stack:
            like = self.like or self
            left = stack.enter_context(
                opened(self.form, self.left.types, self.left.rows, like.left.rows, **unit)
            )
            if self.public:
                yield left.join(public=in_arrow(self.right.types, self.right.rows), **how)
                return
            right = stack.enter_context(
                opened(self.form, self.right.types, self.right.rows, like.right.rows, **unit)
            )
            yield left.join(right, **how)


def joined(form: str, seed: object, max_rows: int | None) -> Joined:
    """The join of a seed. Without `max_rows`, no bound binds."""
    random = Random(f"join {form} {seed}")
    how = random.choice(["public", "several", "private"])
    private = how == "private"
    with_unit = private or random.random() < 0.5
    types = some_types(random, kinds_of(form), unit=with_unit)
    key = next((name for name, kind in types.items() if kind in KEYS and name != "person"), None)
    if key is None:
        key, types = "k", types | {"k": "text"}
    others = [kind for kind in kinds_of(form) if private or kind != "written"]
    right = {f"{name}2": kind for name, kind in some_types(random, others, unit=False).items()}
    right["k2"] = "text" if types[key] == "written" and not private else types[key]
    left = [held(form, row) for row in some_rows(random, types)]
    if private:
        right = {"person": types["person"], **right}
    found = [held(form, row) for row in some_rows(random, right, 12)]
    cells = [row[key] for row in left] + [some_cell(random, types[key]), None]
    found = [row | {"k2": random.choice(cells)} for row in found]
    found = [held(form, row) for row in found]
    if how == "public":
        found = list({row["k2"]: row for row in found if row["k2"] is not None}.values())
    options: dict[str, Any] = {}
    if how == "several":
        options = {"max_matches": max_rows or 100}
    if with_unit and max_rows and random.random() < 0.5:
        options["max_rows"] = random.randint(1, 4)
    on = {key: "k2"} | ({"person": "person"} if private else {})
    if private and random.random() < 0.5:
        del on[key]
    unit = PrivacyUnit("person", max_rows=max_rows or 100) if with_unit else None
    sides = Side(types, left), Side(right, found)
    return Joined(form, *sides, on, not private, random.random() < 0.4, unit, options)


def compare(form: str, seed: object, cases: int = CASES) -> int:
    """Compare the statistics of a join with plain Python; how many were compared."""
    random, made = Random(f"cases {form} {seed}"), joined(form, seed, None)
    compared = 0
    rows = made.rows
    if made.unit is not None:
        rows = [row for row in rows if row["person"] is not None]
    with made.table() as table:
        assert set(table.columns) == set(made.types)
        per = table.unit and attrs.evolve(table.unit, max_rows=10_000)
        maker = Maker(random, made.types, per if made.unit else None)
        for _ in range(cases):
            case = maker.case()
            statistic = case.statistic()
            if per is not None and per.joined:
                statistic = declared(statistic, per)
            found = value(statistic, table)
            if found is not None:
                compared += 1
                assert found == case.expected(rows), (form, seed, statistic, made)
    return compared


def declared(statistic: Any, per: PrivacyUnit) -> Any:
    """The statistic, declared for a unit."""
    if hasattr(statistic, "statistic"):
        return attrs.evolve(statistic, statistic=declared(statistic.statistic, per))
    return attrs.evolve(statistic, per=per)


def violations(form: str, seed: object, cases: int = CASES) -> tuple[Counter[str], list[Any]]:
    """What was compared on neighbouring tables, and what moved too far."""
    random = Random(f"neighbours {form} {seed}")
    made = joined(form, seed, random.randint(1, 3))
    if made.unit is None:
        gone = random.randrange(len(made.left.rows) + 1)
        rows = made.left.rows
        fewer = attrs.evolve(made.left, rows=rows[:gone] + rows[gone + 1 :])
        other = attrs.evolve(made, left=fewer)
    else:
        persons = [row["person"] for row in made.left.rows if row["person"] is not None]
        person = random.choice([*persons, 1])
        other = attrs.evolve(made, left=made.left.without(person))
        if not made.public:
            other = attrs.evolve(other, right=made.right.without(person))
    other = attrs.evolve(other, like=made)
    compared, found = Counter[str](), []
    with made.table() as one, other.table() as less:
        assert one.unit == less.unit
        per = one.unit
        if per is not None and not per.joined:
            bounds = [random.choice([None, 1, 2]) for _ in range(2)]
            per = attrs.evolve(per, max_groups=bounds[0], max_rows_per_group=bounds[1])
        maker = Maker(random, made.types, per if made.unit else None)
        for _ in range(cases):
            statistic = maker.case().statistic()
            if per is not None and per.joined:
                statistic = declared(statistic, per)
            before, after = value(statistic, one), value(statistic, less)
            assert (before is None) == (after is None), (form, seed, statistic)
            if before is None or after is None:
                continue
            compared[type(getattr(statistic, "statistic", statistic)).__name__] += 1
            if too_far(statistic, before, after):
                found.append((form, seed, statistic, before, after))
    return compared, found


@pytest.mark.parametrize("form", mostly(*QUICK, among=parameters(JOINABLE)))
def test_values_of_joins(form: str) -> None:
    """By fewer statistics, of one join, on databases, where a query takes longest; else of two."""
    seeds, cases = (1, 3) if form in DATABASES else (2, CASES)
    assert sum(compare(form, seed, cases) for seed in range(seeds)) > 0


@pytest.mark.parametrize("form", parameters(["table on arrow", "csv", "ibis on sqlite"]))
def test_sensitivities_of_joins(form: str) -> None:
    """By fewer statistics, of one join, on a database, else of two."""
    total = Counter[str]()
    seeds, cases = (1, 3) if form in DATABASES else (2, CASES)
    for seed in range(seeds):
        compared, found = violations(form, seed, cases)
        assert not found, found[0]
        total += compared
    assert total


@pytest.mark.parametrize("seeds", sized(slow=50, long=1_000))
@pytest.mark.parametrize("form", parameters(JOINABLE))
def test_values_of_many_joins(form: str, seeds: int) -> None:
    seeds = min(seeds // 5, 50) if form == "ibis on spark" else seeds
    assert sum(compare(form, seed) for seed in range(seeds)) > seeds


@pytest.mark.parametrize("seeds", sized(slow=30, long=2_000))
@pytest.mark.parametrize("form", parameters(JOINABLE))
def test_sensitivities_of_many_joins(form: str, seeds: int) -> None:
    total = Counter[str]()
    seeds = min(seeds // 5, 50) if form == "ibis on spark" else seeds
    for seed in range(seeds):
        compared, found = violations(form, seed)
        assert not found, found[0]
        total += compared
    assert np.sum(list(total.values())) > 3 * seeds


COPIED = ["ibis on duckdb", "ibis on sqlite", "ibis on postgres"]


@pytest.mark.parametrize("form", mostly(*COPIED, among=parameters([*COPIED, "ibis on spark"])))
def test_a_public_table_is_copied_exactly(form: str) -> None:
    """Beside a missing cell a large integer was a float; decimals and some names failed."""
    public = {
        "n": [2**53 + 1, None, 3],
        "price": [Decimal("12.34"), None, Decimal("-0.50")],
        "%s": ["a", None, "é"],
        "x.y)": [1, 2, 3],
        "k2": [1, 2, 3],
    }
    types = dict(zip(public, ["integer", "money", "text", "integer", "integer"], strict=True))
    rows = [dict(zip(public, row, strict=True)) for row in zip(*public.values(), strict=True)]
    with opened(form, {"k": "integer"}, [{"k": 1}, {"k": 2}, {"k": 4}]) as table:
        both = table.join(public=in_arrow(types, rows), on={"k": "k2"})
        assert Count(column("n") == 2**53 + 1).value(both) == 1
        assert Sum("price", 0, 100, unit="0.01").value(both) == 1234
        assert Count(column("%s") == "a").value(both) == 1
        assert Sum("x.y)", 0, 9).value(both) == 3
