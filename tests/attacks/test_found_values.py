"""Every engine finds the keys that plain Python finds, on random messy tables.

A trial is a random table, with random expressions as keys and random conditions.
"""

import datetime as dt
from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

from mechanisms import Count, DiscoveredKeys, GroupBy, PrivacyUnit
from mechanisms.tables.requests.keys import combinations
from tests.datasets import COLLATED, DATABASES, FORMS, MEMORY, held, kinds_of, opened, parameters
from tests.engines import mostly
from tests.messy_tables import Row, some_rows, some_types
from tests.random_expressions import Expressions, Operand
from tests.sizes import sized

KEYS = ("text", "integer", "boolean", "date")
QUICK = [form for form in FORMS if form not in (*COLLATED[1:], "ibis on spark")]
"""Slow tests have the second database with collations."""


def operands(draw: Expressions, random: Random) -> list[Operand]:
    """One or two operands that can be keys. A written column is read as text."""
    wanted = random.choice([1, 1, 2])
    found: list[Operand] = []
    for _ in range(60):
        operand = draw.operand()
        if operand is not None and len(found) < wanted:
            operand = operand.as_written.as_kind("text")
            found += [operand] if operand.kind in KEYS else []
    return found


def key_of(operands: list[Operand], row: Row) -> Any:
    values = tuple(operand.value(row) for operand in operands)
    return None if None in values else values


def shown(dataset: Any, keys: DiscoveredKeys) -> dict[Any, int] | None:
    """The keys that are found, with their exact counts; None if they do not fit the columns."""
    try:
        if hasattr(dataset, "found"):
            dataset.check(keys)
        else:
            keys.check(dataset)
    except (TypeError, ValueError):
        return None
    found: dict[Any, int] = {}
    for batch in keys.found(dataset):
        every = batch.keys(np.arange(len(batch.counts)))
        found |= zip(every, batch.counts.tolist(), strict=True)
    return found


def compare(form: str, seed: object, most: int) -> Counter[str]:
    """Find keys in one table of a form and in plain Python; count the outcomes."""
    random = Random(f"found {form} {seed}")
    unit = "person" if form not in MEMORY and random.random() < 0.5 else None
    types = some_types(random, kinds_of(form), unit=unit is not None)
    rows = [held(form, row) for row in some_rows(random, types, most)]
    draw, outcomes = Expressions(random, types), Counter[str]()
    per = PrivacyUnit(unit, max_rows=10) if unit else None
    options: dict[str, Any] = {"privacy_unit": unit, "max_rows": 10} if unit else {}
    with opened(form, types, rows, **options) as data:
        for _ in range(4):
            columns, where = operands(draw, random), draw.condition()
            if not columns:
                continue
            named = [operand.product for operand in columns]
            asked = DiscoveredKeys(named, 1000 if unit else None, where.product, per=per)
            counted = [(row, key_of(columns, row)) for row in rows if where.holds(row)]
            pairs = {(row[unit] if unit else i, key) for i, (row, key) in enumerate(counted)}
            expected = Counter(key for who, key in pairs if key is not None and who is not None)
            found = shown(data, asked)
            if found is None:
                outcomes["refused"] += 1
                continue
            told = form, seed, asked, types
            assert found == expected, told
            assert list(found) == sorted(found), told
            assert all(type(a) in (str, int, bool, dt.date) for key in found for a in key), told
            outcomes["found"] += 1
            if found and not unit:  # and the same rows have these keys in a group-by
                grouped = GroupBy(combinations(asked.columns, found), Count(where.product))
                assert grouped.value(data).tolist() == list(found.values()), told
    return outcomes


@pytest.mark.parametrize("form", mostly(*QUICK, among=parameters(FORMS)))
def test_keys(form: str) -> None:
    """One table on databases, where a query takes longest, else two."""
    trials = 1 if form in DATABASES else 2
    outcomes = sum((compare(form, seed, 40) for seed in range(trials)), Counter[str]())
    assert outcomes["found"]


@pytest.mark.parametrize("tables", sized(slow=10, long=60))
@pytest.mark.parametrize("form", parameters(FORMS))
def test_keys_of_many_tables(form: str, tables: int) -> None:
    """A fifth of the tables where one takes long."""
    trials = tables // 5 if form in DATABASES else tables
    outcomes = sum((compare(form, seed, 60) for seed in range(trials)), Counter[str]())
    assert outcomes["refused"] <= outcomes["found"] / 4, outcomes
