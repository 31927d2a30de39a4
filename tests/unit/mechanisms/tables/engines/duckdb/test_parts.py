"""A table with appended batches gives what a table of all rows gives, on every engine."""

from random import Random
from typing import Any

import numpy as np
import pytest

from tests.attacks.test_table_neighbours import some_unit
from tests.datasets import DATABASES, FILES, FRAMES, appended, held, kinds_of, opened, parameters
from tests.messy_tables import some_rows, some_types
from tests.random_statistics import Maker

QUICK = [*FILES, "table on numpy", "table on pandas", "ibis on sqlite"]


def compared(form: str, seed: object, cases: int) -> tuple[int, list[Any]]:
    """How many random statistics were compared, and those that differ, also over blocks alone."""
    random = Random(f"{form} {seed} appended")
    per = some_unit(random) if random.random() < 0.7 else None
    types = some_types(random, kinds_of(form), unit=per is not None)
    options: dict[str, Any] = {}
    if per is not None:
        keep = random.choice([None, None, *types])
        options = {"privacy_unit": "person", "max_rows": 1, "seed": 5, "keep": keep}
    rows = [held(form, row) for row in some_rows(random, types, 40)]
    cut, end = sorted(random.randint(0, len(rows)) for _ in range(2))
    batches = [rows[:cut], rows[cut:end], rows[end:]]
    maker, bad, count = Maker(random, types, per), [], 0
    with (
        opened(form, types, rows, **options) as whole,
        opened(form, types, rows[cut:], **options) as part,
        appended(form, types, batches, **options) as grown,
    ):
        for expected, found in ((whole, grown), (part, grown.over([0, 1]))):
            for _ in range(cases):
                statistic = maker.case().statistic()
                try:
                    expected.check(statistic)
                    found.check(statistic)  # a column whose first part has no cell is `written`
                except (TypeError, KeyError, ValueError):
                    continue
                count += 1
                if not np.array_equal(statistic.totals(found), statistic.totals(expected)):
                    bad.append((form, seed, statistic))
    return count, bad


@pytest.mark.parametrize("form", parameters(QUICK))
def test_appended_tables(form: str) -> None:
    """Random statistics, units and bounds: equal sums, of all rows and of blocks."""
    count, bad = compared(form, 0, 3)
    assert not bad
    assert count


@pytest.mark.slow
@pytest.mark.parametrize("form", parameters([*FRAMES, *FILES, *DATABASES]))
def test_many_appended_tables(form: str) -> None:
    """As above, on every engine and with more seeds."""
    assert not [each for seed in range(15) for each in compared(form, ("slow", seed), 6)[1]]
