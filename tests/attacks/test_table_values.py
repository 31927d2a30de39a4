"""Every engine gives the integers that plain Python gives, on random messy tables.

A trial is a random schema, one or several random tables, and random statistics over random
expressions. Databases on which a query takes long evaluate several tables in one query: a column
`part` tells them apart, and each statistic is grouped by it.
"""

from collections import Counter
from random import Random
from typing import Any

import attrs
import numpy as np
import pytest

from mechanisms import PrivacyUnit
from mechanisms.tables.statistics.aggregates import Aggregate
from tests.datasets import DATABASES, FORMS, MEMORY, held, kinds_of, opened, parameters
from tests.messy_tables import Row, Types, some_rows, some_types
from tests.random_statistics import Case, Maker
from tests.sizes import sized

TABLES = dict.fromkeys(MEMORY, 1) | dict.fromkeys(DATABASES, 25) | {"ibis on spark": 100}
"""How many tables are evaluated in one query; 10 on other forms."""
CASES = 6


@attrs.frozen
class Trial:
    """Tables of one schema, with statistics."""

    types: Types
    tables: list[list[Row]] = attrs.field(repr=False)
    cases: list[Case] = attrs.field(repr=False)
    unit: str | None


def trial(form: str, seed: object, tables: int, cases: int = CASES) -> Trial:
    """The trial of a seed."""
    random = Random(f"{form} {seed}")
    unit = "person" if form not in MEMORY and random.random() < 0.5 else None
    types = some_types(random, kinds_of(form), unit=unit is not None)
    found = [[held(form, row) for row in some_rows(random, types)] for _ in range(tables)]
    per = PrivacyUnit(unit, max_rows=10_000) if unit else None
    maker = Maker(random, types, per)
    return Trial(types, found, [maker.case() for _ in range(cases)], unit)


def value(statistic: Aggregate, dataset: Any) -> list[int] | None:
    """The integers of a statistic, None if it does not fit the dataset's columns."""
    checked = hasattr(dataset, "check")
    try:
        found = dataset.check(statistic) if checked else statistic.value(dataset)
    except (TypeError, ValueError):
        return None
    if checked:
        found = statistic.value(dataset)
    return [int(number) for number in np.ravel(np.asarray(found, dtype=object))]


def compare(form: str, seed: object, tables: int = 1, cases: int = CASES) -> Counter[str]:
    """Evaluate a trial on a form and in plain Python; count the outcomes by kind of statistic."""
    made = trial(form, seed, tables, cases)
    types = made.types if tables == 1 else {"part": "integer", **made.types}
    rows = [{"part": i, **row} for i, table in enumerate(made.tables) for row in table]
    options: dict[str, Any] = {"privacy_unit": made.unit, "max_rows": 10} if made.unit else {}
    outcomes: Counter[str] = Counter()
    with opened(form, types, rows, **options) as dataset:
        for case in made.cases:
            name = type(case.inner).__name__
            parts = tables if case.in_groups else 1
            statistic = case.statistic(parts)
            counted = [
                [row for row in table if made.unit is None or row[made.unit] is not None]
                for table in (made.tables if parts > 1 else [rows])
            ]
            expected = [number for table in counted for number in case.expected(table)]
            found = value(statistic, dataset)
            if found is None:
                if form in MEMORY:  # it is refused by public facts alone; a Table's check is too
                    with opened(form, types, []) as empty:
                        assert value(statistic, empty) is None, (form, seed, statistic)
                outcomes[f"{name} refused"] += 1
                continue
            assert found == expected, (form, seed, statistic, found, expected, made.types)
            outcomes[name] += 1
    return outcomes


@pytest.mark.parametrize("form", parameters([form for form in FORMS if form != "ibis on spark"]))
def test_values(form: str) -> None:
    """Twelve tables: of one schema, and fewer statistics, on databases, where a query is long."""
    trials, cases = (1, 4) if form in DATABASES else (2, CASES)
    outcomes = Counter[str]()
    for seed in range(trials):
        outcomes += compare(form, seed, 12 // trials, cases)
    assert any(outcomes[name] for name in outcomes if not name.endswith("refused"))


@pytest.mark.parametrize("tables", sized(slow=200, long=5_000))
@pytest.mark.parametrize("form", parameters(FORMS))
def test_values_of_many_tables(form: str, tables: int) -> None:
    together, outcomes = TABLES.get(form, 10), Counter[str]()
    for seed in range(tables // together):
        outcomes += compare(form, seed, together)
    for name in outcomes:
        assert outcomes[f"{name} refused"] <= outcomes[name] / 2, outcomes
