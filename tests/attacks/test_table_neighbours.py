"""No statistic moves by more than its declared sensitivities, on random neighbouring tables.

Two tables are neighbours if one has all rows of one more privacy unit, or one row more where rows
are units. The bounds of the units bind often. Several pairs of neighbours are evaluated in one
query, as in `test_table_values`; each pair has persons of its own.
"""

from collections import Counter
from fractions import Fraction
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

from mechanisms import Count, Histogram, PrivacyUnit, Sum
from mechanisms.tables.expressions.columns import Column
from mechanisms.tables.expressions.operands import PerUnit
from mechanisms.tables.statistics.aggregates import Aggregate
from tests.attacks.test_table_values import value
from tests.brute_force import moved
from tests.datasets import COLLATED, DATABASES, FORMS, MEMORY, held, kinds_of, opened, parameters
from tests.engines import mostly
from tests.messy_tables import Row, Types, some_rows, some_types
from tests.random_statistics import Case, Maker
from tests.sizes import sized

PAIRS = 20
"""How many pairs are evaluated in one query."""
CASES = 5
QUICK = [form for form in FORMS if form not in (*COLLATED[1:], "ibis on spark")]
"""Slow tests have the second database with collations."""


@attrs.frozen
class Neighbours:
    """Pairs of neighbouring tables of one schema, with statistics."""

    types: Types
    pairs: list[tuple[list[Row], list[Row]]] = attrs.field(repr=False)
    cases: list[Case] = attrs.field(repr=False)
    options: dict[str, Any]


def some_unit(random: Random) -> PrivacyUnit:
    """Bounds that often bind."""
    return PrivacyUnit(
        "person",
        max_rows=random.choice([1, 2, 3, 4, 8]),
        max_groups=random.choice([None, None, 1, 2]),
        max_rows_per_group=random.choice([None, None, 1, 2]),
    )


def neighbours(form: str, seed: object, pairs: int, cases: int) -> Neighbours:
    random = Random(f"{form} {seed}")
    per = some_unit(random) if form not in MEMORY and random.random() < 0.7 else None
    types = some_types(random, kinds_of(form), unit=per is not None)
    maker = Maker(random, types, per)
    options: dict[str, Any] = {}
    if per is not None:
        keep = random.choice([None, None, *types])
        options = {"privacy_unit": "person", "max_rows": 1, "seed": 5, "keep": keep}
    return Neighbours(
        types,
        [pair(form, random, types, number) for number in range(pairs)],
        [maker.case() for _ in range(cases)],
        options,
    )


def pair(form: str, random: Random, types: Types, number: int) -> tuple[list[Row], list[Row]]:
    """A table, and the same without one unit, both in random order."""
    rows = [{"part": number, **held(form, row)} for row in some_rows(random, types, 40)]
    if "person" in types:
        for row in rows:
            person = row["person"]
            if isinstance(person, int):
                row["person"] = person // 2**10 * 2**10 + number * 8 + person % 8
            elif person is not None:
                row["person"] = spelled(form, random, f"{person}{number}")
        units = sorted({unit_of(form, row) for row in rows} - {None}, key=str)
        one = random.choice(units) if units else None
        fewer = [row for row in rows if unit_of(form, row) != one or one is None]
    else:
        gone = random.randrange(len(rows)) if rows else 0
        fewer = rows[:gone] + rows[gone + 1 :]
    return random.sample(rows, len(rows)), random.sample(fewer, len(fewer))


def spelled(form: str, random: Random, person: str) -> str:
    """A person's name; databases that ignore case have it in several spellings."""
    if form not in COLLATED or not person.isascii():
        return person
    return random.choice([person, person.upper(), person.lower()])


def unit_of(form: str, row: Row) -> Any:
    """The unit of a row: on databases that ignore case, the person in any spelling."""
    person = row["person"]
    return person.lower() if form in COLLATED and isinstance(person, str) else person


def too_far(
    statistic: Aggregate, one: list[int], other: list[int], share: Fraction = Fraction(1)
) -> bool:
    """Whether two values are further apart than a share of the declared sensitivities."""
    l1, l2_squared, linf = moved(one, other)
    return not (
        l1 <= share * statistic.l1
        and l2_squared <= (share * statistic.l2) ** 2
        and linf <= share * statistic.linf
    )


def violations(
    form: str, seed: object, pairs: int = PAIRS, share: Fraction = Fraction(1), cases: int = CASES
) -> tuple[Counter[str], list[Any]]:
    """How many pairs were compared by kind of statistic, and those that moved too far."""
    made = neighbours(form, seed, pairs, cases)
    types = {"part": "integer", **made.types}
    tables = [[row for each in made.pairs for row in each[side]] for side in (0, 1)]
    compared: Counter[str] = Counter()
    found = []
    with (
        opened(form, types, tables[0], tables[0] + tables[1], **made.options) as one,
        opened(form, types, tables[1], tables[0] + tables[1], **made.options) as other,
    ):
        for case in made.cases:
            statistic = case.statistic()
            together = pairs if case.in_groups else 1
            asked = case.statistic(together)
            values = [value(asked, dataset) for dataset in (one, other)]
            assert (values[0] is None) == (values[1] is None), (form, seed, statistic)
            if values[0] is None or values[1] is None:
                continue
            before, after = (np.reshape(np.array(it, object), (together, -1)) for it in values)
            for number in range(together):
                entries = before[number].tolist(), after[number].tolist()
                if too_far(statistic, *entries, share * (pairs // together)):
                    found.append((form, seed, number, statistic, *entries))
            compared[type(case.inner).__name__] += pairs
    return compared, found


@pytest.mark.parametrize("form", mostly(*QUICK, among=parameters(FORMS)))
def test_sensitivities(form: str) -> None:
    """Ten neighbours, by fewer statistics on databases, where a query takes longest."""
    compared, found = violations(form, 0, 10, cases=3 if form in DATABASES else CASES)
    assert not found, found[0]
    assert compared


@pytest.mark.parametrize("pairs", sized(slow=60, long=2_000))
@pytest.mark.parametrize("form", parameters(FORMS))
def test_sensitivities_of_many_neighbours(form: str, pairs: int) -> None:
    """So many neighbours for each kind of statistic, at least."""
    total: Counter[str] = Counter()
    for seed in range(2_000):
        compared, found = violations(form, seed)
        assert not found, found[0]
        total += compared
        if seed > 20 and min(total.values()) >= pairs:
            break
    assert min(total.values()) >= pairs, total


@pytest.mark.slow
def test_sensitivities_are_tight() -> None:
    """With nine tenths of the declared sensitivities, each kind of statistic moves too far."""
    caught: set[str] = set()
    compared: set[str] = set()
    for seed in range(300):
        more, found = violations("table on arrow", seed, share=Fraction(9, 10))
        compared |= set(more) - {"Quantile"}  # not in groups, so all pairs move it together
        for _, _, _, statistic, *_ in found:
            caught.add(type(getattr(statistic, "statistic", statistic)).__name__)
        if seed > 40 and caught >= compared:
            return
    raise AssertionError(compared - caught)


ROWS = PerUnit("count", None, Fraction(0), Fraction(9))
LEAST = PerUnit("min", "y", Fraction(-3), Fraction(1))


@attrs.frozen
class AsIfOneRow(Count):
    """A count that claims one row for each unit."""

    l1 = l2 = linf = 1


@attrs.frozen
class AsIfOneGroup(Histogram):
    """A histogram that claims one group for each unit."""

    l1 = l2 = 1


@attrs.frozen
class AsIfPositive(Sum):
    """A sum that takes the upper bound for the largest absolute value."""

    largest = (1,)


@pytest.mark.parametrize("form", ["table on arrow", "ibis on sqlite"])
@pytest.mark.parametrize(
    "wrong",
    [
        lambda per: AsIfOneRow(per=per),
        lambda per: AsIfOneGroup("x", [1, 2, 3], per=per),
        lambda per: AsIfPositive("y", -3, 1, per=per),
        lambda per: AsIfOneGroup("x", [1, 2, 3], Column(ROWS) >= 1, per=per),
        lambda per: AsIfPositive(LEAST, -3, 1, per=per),
    ],
)
def test_a_wrong_sensitivity_is_caught(form: str, wrong: Any) -> None:
    per = PrivacyUnit("person", max_rows=4, max_rows_per_group=1)
    types = {"person": "integer", "x": "integer", "y": "integer", "z": "integer"}
    rows = [{"person": i % 5, "x": i // 5 % 3 + 1, "y": -3, "z": i} for i in range(60)]
    options = {"privacy_unit": "person", "max_rows": 1, "seed": 5}
    statistic = wrong(per)
    with (
        opened(form, types, rows, **options) as one,
        opened(form, types, [row for row in rows if row["person"]], **options) as other,
    ):
        before, after = value(statistic, one), value(statistic, other)
        assert before is not None
        assert after is not None
        assert too_far(statistic, before, after)
