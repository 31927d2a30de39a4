"""Privacy units counted: their sensitivities, and what needs a privacy unit."""

from typing import Any

import pandas as pd
import pytest

from composition import FiltCon
from mechanisms import Count, CountUnits, GroupBy, PrivacyUnit, Table, UnitSizes, column
from queryable import ZCDP, Queryable, SeededCoins

PER = PrivacyUnit("who", max_rows=4)
ROWS = pd.DataFrame({"who": [1, 1, 1, 2, 3, 3], "item": ["a", "book", "a", "a", "book", "book"]})


def test_a_unit_is_counted_once() -> None:
    """Whichever rows of a person are kept, a row that satisfies `where` is found."""
    table = Table(ROWS, privacy_unit="who", max_rows=1)
    books = column("item") == "book"
    assert CountUnits(per=table.unit).value(table) == 3
    assert CountUnits(books, per=table.unit).value(table) == 2
    assert CountUnits(~books, per=table.unit).value(table) == 2


def test_units_by_their_number_of_rows() -> None:
    table = Table(ROWS, privacy_unit="who", max_rows=1)
    sizes = UnitSizes([1, 2], per=table.unit)
    assert sizes.value(table).tolist() == [1, 1, 1]


def test_the_share_of_units_over_a_limit() -> None:
    """The share of a released answer, with an interval that contains the true share."""
    rows = pd.DataFrame({"who": [i for i in range(1000) for _ in range(1 + i % 4)]})
    rows["sex"] = rows["who"] % 2
    table = Table(rows, privacy_unit="who", max_rows=1, max_groups=1, seed=1)
    queryable = Queryable(FiltCon(ZCDP(9)), table, coins=SeededCoins(1), allow_seeded=True)
    answer = queryable.release(table.rows_per_unit([1, 2, 3]), loss=ZCDP(1))
    shares = [answer.share_over(limit) for limit in (0, 1, 2, 3)]
    for share, true in zip(shares, (1, 0.75, 0.5, 0.25), strict=True):
        low, high = share.interval()
        assert 0 <= low <= true <= high <= 1
        assert low <= share.estimate <= high < low + 0.05
    assert shares[0].estimate == 1
    for other in (4, "1"):
        with pytest.raises(ValueError, match=r"one of \[1, 2, 3\]"):
            answer.share_over(other)
    by_sex = queryable.release(
        table.group_by({"sex": [0, 1, 2]}).rows_per_unit([2]), loss=ZCDP(1)
    ).share_over(2)
    low, high = by_sex.interval()
    assert ((low[:2] <= 0.5) & (high[:2] >= 0.5)).all()
    assert (low[2], high[2]) == (0, 1) or low[2] >= 0
    assert list(by_sex.to_pandas().columns) == ["sex", "estimate", "low", "high"]


@pytest.mark.parametrize("statistic", [CountUnits(per=PER), UnitSizes([1, 3], per=PER)])
def test_a_unit_moves_one_number_by_one(statistic: Any) -> None:
    assert statistic.l1 == statistic.l2 == statistic.linf == 1


@pytest.mark.parametrize(
    ("bounds", "keys", "l1"),
    [
        ({"max_rows": 4}, 9, 4),
        ({"max_rows": 4}, 3, 3),
        ({"max_rows": 9, "max_groups": 5}, 9, 5),
        ({"max_rows": 9, "max_groups": 5, "max_rows_per_group": 2}, 9, 5),
    ],
)
@pytest.mark.parametrize("kind", [CountUnits, lambda per: UnitSizes([1, 7], per=per)])
def test_in_groups_a_unit_moves_one_number_in_each(
    kind: Any, bounds: dict[str, int], keys: int, l1: int
) -> None:
    """The bound on groups applies, and there are no more groups than keys."""
    statistic = GroupBy({"item": range(keys)}, kind(per=PrivacyUnit("who", **bounds)))
    assert statistic.l1 == l1
    assert float(statistic.l2) == pytest.approx(l1**0.5)
    assert statistic.linf == 1


@pytest.mark.slow
def test_many_limits_are_one_query() -> None:
    table = Table(ROWS, privacy_unit="who", max_rows=1)
    assert UnitSizes(range(1, 3000), per=table.unit).value(table)[:4].tolist() == [1, 1, 1, 0]


def test_a_count_of_kept_rows_is_another_question() -> None:
    """With one row a person, the kept row decides; the people themselves are counted apart."""
    table = Table(ROWS, privacy_unit="who", max_rows=1)
    kept = Count(column("item") == "book", per=table.unit).value(table)
    assert kept <= CountUnits(column("item") == "book", per=table.unit).value(table) == 2
