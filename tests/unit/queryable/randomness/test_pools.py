"""Pools: each value is returned once, pools are bounded, and a forked process has none."""

import os
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest

from queryable import SeededCoins, SystemCoins
from queryable.randomness import pools
from queryable.randomness.laws import FairBits, Law
from queryable.randomness.pools import Pools
from tests.strategies import WORD


@attrs.frozen(cache_hash=True)
class Ahead(Law[int]):
    """64 random bits. The number makes laws distinct."""

    drawn_ahead: ClassVar[bool] = True
    number: int = 0

    def sample(self, source: FairBits) -> int:
        return source.bits(64)

    def sample_many(self, source: FairBits, count: int) -> Any:
        return np.frombuffer(source.bytes(8 * count), dtype=np.uint64)


def warm(coins: SystemCoins, law: Law[Any]) -> None:
    for _ in range(pools._WARM + 1):
        coins.draw(law)
    assert coins._pools._pools[law]


def test_a_law_that_is_drawn_often_gets_a_pool() -> None:
    """Not before, and only if `drawn_ahead` is set; every value is returned once."""
    coins = SystemCoins()
    drawn = [coins.draw(Ahead()) for _ in range(pools._WARM)]
    assert not any(coins._pools._pools.values())
    drawn += [coins.draw(Ahead()) for _ in range(3 * pools._FILL + 1)]
    assert coins._pools._pools[Ahead()]
    assert len(set(drawn)) == len(drawn)
    for _ in range(2 * pools._WARM):
        coins.draw(WORD)
    assert list(coins._pools._pools) == [Ahead()]


def test_pools_are_bounded() -> None:
    """The numbers of counted laws and of pools stay bounded when many laws are drawn."""
    coins = SystemCoins()
    for number in range(pools._LAWS + 10):
        warm(coins, Ahead(number))
    kept = coins._pools._pools
    assert len(kept) == pools._LAWS
    assert Ahead(pools._LAWS + 9) in kept
    assert Ahead(0) not in kept
    assert max(map(len, kept.values())) <= pools._FILL
    for number in range(1000, 1000 + 3 * pools._LAWS):
        coins.draw(Ahead(number))
    assert len(coins._pools._seen) <= pools._LAWS


def test_threads_that_share_a_pool_get_different_values() -> None:
    """Eight threads that draw from one law at once get 80,000 different values."""
    coins = SystemCoins()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            runs = [
                threads.submit(lambda: [coins.draw(Ahead()) for _ in range(10_000)])
                for _ in range(8)
            ]
            drawn = Counter(value for run in runs for value in run.result())
    finally:
        sys.setswitchinterval(interval)
    assert len(drawn) == 80_000


def test_seeded_coins_have_no_pools() -> None:
    """Draws from a seed do not depend on how often the law was drawn before."""
    coins, twin = SeededCoins(1), SeededCoins(1)
    for _ in range(2 * pools._WARM):
        SeededCoins(2).draw(Ahead())
    assert [coins.draw(Ahead()) for _ in range(1000)] == [twin.draw(WORD) for _ in range(1000)]


def in_a_child(draw: Callable[[], list[int]]) -> list[int]:
    """Return the values that a forked process draws."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, b"".join(each.to_bytes(8, "little") for each in draw()))
        finally:
            os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    return [int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data), 8)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("how", ["pooled", "words", "array"])
def test_a_forked_child_never_repeats_its_parent(how: str) -> None:
    """Two forked processes and the parent, all with filled pools, draw 1,500 different values."""
    coins = SystemCoins()
    warm(coins, Ahead())

    def draw() -> list[int]:
        match how:
            case "pooled":
                return [coins.draw(Ahead()) for _ in range(500)]
            case "words":
                return [coins.bits(64) for _ in range(500)]
        return [int(each) for each in coins.draw(Ahead(), 500)]

    draw()
    drawn = [*in_a_child(draw), *in_a_child(draw), *draw()]
    assert len(drawn) == len(set(drawn)) == 1500


def test_forgetting_empties_pools_that_are_being_read() -> None:
    """A pool that another thread still refers to is emptied, not only dropped."""
    coins = SystemCoins()
    warm(coins, Ahead())
    held = coins._pools._pools[Ahead()]
    coins._pools.forget()
    assert held == []
    assert isinstance(coins.draw(Ahead()), int)
    assert Pools().draw(Ahead(), coins) < 2**64
