"""Keys found in data that grow: in closed blocks, and as groups of what arrives later."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from composition import Blocks, FiltCon
from mechanisms import (
    Count,
    DiscoveredKeys,
    GroupBy,
    Laplace,
    PrivateKeys,
    Table,
    Total,
    TreeCounter,
)
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import ApproxDP, Last, LaunchOver, Queryable, QueryError
from queryable.messages import LaunchMany
from queryable.streams.blocks import BlocksQuery

EDGE = DiscreteLaplace("1/1000")
"""Noise that is 0 but with a probability of 1e-434."""
LARGE = ApproxDP(10**6, "1e-3")
DAYS = {"mon": "aaabb", "tue": "aacc", "wed": "bbbdddda"}
"""The keys of the persons 0, 1, 2, .. of each day."""


def rows(day: str) -> dict[str, list[Any]]:
    return {"key": list(DAYS[day]), "who": list(range(len(DAYS[day])))}


KINDS = {
    "dict": {"key": np.array([], dtype=str), "who": np.array([], dtype=int)},
    "table": {"key": pa.array([], pa.string()), "who": pa.array([], pa.int64())},
    "units": {"key": pa.array([], pa.string()), "who": pa.array([], pa.int64())},
}


def started(kind: str) -> tuple[Queryable, Any]:
    """Blocks of two closed days; and what is counted."""
    options: Any = {"privacy_unit": "who", "max_rows": 3} if kind == "units" else {}
    data: Any = KINDS[kind] if kind == "dict" else Table(pa.table(KINDS[kind]), **options)
    unit: Any = {"unit": "who", "unit_blocks": 3} if kind == "units" else {}
    queryable = Queryable(Blocks(FiltCon(LARGE), **unit), data)
    for day in ("mon", "tue"):
        fed(queryable, kind, day)
    return queryable, getattr(data, "unit", None)


def fed(queryable: Queryable, kind: str, day: str) -> None:
    arrays = {name: np.array(cells) for name, cells in rows(day).items()}
    given: Any = arrays if kind == "dict" else pa.table(rows(day))
    queryable.feed(given, block=day)
    queryable.feed.close(day)


def exact(per: Any) -> PrivateKeys:
    """The keys that occur twice, with their counts."""
    most = None if per is None else 1
    return PrivateKeys(DiscoveredKeys("key", most, per=per), noise=EDGE, threshold=2)


def counts(found: Any) -> dict[str, int]:
    [axis] = found.axes
    return {key: count for (key,), count in zip(axis.values, found.estimate.tolist(), strict=True)}


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_closed_blocks_are_groups_of_later_ones(kind: str) -> None:
    """A key of one block that another does not have counts 0; one that is only there is none."""
    queryable, per = started(kind)
    monday = queryable.launch_over(exact(per), ["mon"])
    assert counts(monday) == {"a": 3, "b": 2}
    cost = exact(per).privacy_map(1)
    assert [each.spent for each in queryable.ask(BlocksQuery())] == [cost, ApproxDP(0, 0)]
    fed(queryable, kind, "wed")
    grouped = Laplace(GroupBy(monday, Count(per=per)), scale="1/1000")
    for blocks, expected in ((["tue"], [2, 0]), (["wed"], [1, 3]), (Last(3), [6, 5])):
        seen = queryable.launch_over(grouped, blocks)
        assert [int(each) for each in seen] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_a_union_of_blocks_is_one_data_set(kind: str) -> None:
    """Rows of all of them; and of a unit at most so many keys over all of them."""
    queryable, per = started(kind)
    both = counts(queryable.launch_over(exact(per), Last(2)))
    if kind == "units":
        assert 3 <= sum(both.values()) <= 5  # of five persons; a key of one is not shown
    else:
        assert both == {"a": 5, "b": 2, "c": 2}
    asked = [DiscoveredKeys("key", per=per), DiscoveredKeys("key", max_keys=1, per=per)]
    some = queryable.release_many(asked, loss=ApproxDP(1000, "1e-6"), blocks=["mon"])
    assert [counts(each) for each in some] == [{"a": 3, "b": 2}] * 2
    together = LaunchMany([LaunchOver(exact(per), ["mon"]), LaunchOver(exact(per), ["tue"])])
    [first, second] = queryable.ask(together)
    assert (counts(first), counts(second)) == ({"a": 3, "b": 2}, {"a": 2, "c": 2})


def test_an_open_block_is_not_read_and_nothing_is_charged() -> None:
    queryable = started("table")[0]
    queryable.feed(pa.table(rows("wed")), block="wed")
    before = queryable.privacy_loss()
    for blocks in (["wed"], ["mon", "wed"]):
        with pytest.raises(QueryError, match="still open"):
            queryable.release(DiscoveredKeys("key"), loss=ApproxDP(1, "1e-6"), blocks=blocks)
    assert queryable.privacy_loss() == before


def test_keys_are_groups_of_a_counter_over_later_batches() -> None:
    """The counter's batches have keys of their own, which it does not know."""
    queryable = Queryable(FiltCon(LARGE), Table(pa.table(rows("mon"))))
    found = queryable(exact(None))
    counter = queryable(TreeCounter(GroupBy(found, Count()), epsilon=10**4))
    for day, so_far in (("tue", [2, 0]), ("wed", [3, 3])):
        queryable.feed(pa.table(rows(day)))
        assert [int(each) for each in counter(Total())] == so_far
    assert counts(queryable(exact(None))) == {"a": 6, "b": 5, "c": 2, "d": 4}
    assert isinstance(queryable.privacy_loss(), ApproxDP)
