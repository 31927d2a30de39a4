"""How many people bought books, asked for in two ways: one counts people, one counts kept rows."""

import attrs
import numpy as np
import pandas as pd

from mechanisms import Count, CountUnits, Table, column

PEOPLE = 2000


def purchases() -> pd.DataFrame:
    """Rows of people, of whom every other bought one book among several things."""
    rows = [
        (person, thing, "book" if thing == 0 and person % 2 else "food")
        for person in range(PEOPLE)
        for thing in range(1 + person % 9)
    ]
    return pd.DataFrame(rows, columns=["person", "thing", "item"])


def test_people_are_counted_and_not_their_kept_rows() -> None:
    """Counting one kept row of each person is plausible and wrong by far more than any noise."""
    table = Table(purchases(), privacy_unit="person", max_rows=5, seed=1)
    assert table.unit is not None
    bought = column("item") == "book"
    one_row = Count(bought, per=attrs.evolve(table.unit, max_rows=1)).value(table)
    people = CountUnits(bought, per=table.unit)
    assert people.value(table) == PEOPLE // 2
    assert one_row < 0.4 * people.value(table)
    assert np.array_equal([people.l1, people.l2], [1, 1])
