"""Coins, their entropy and pools, and the laws that they draw from."""

import os
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np
import pytest

from queryable import SYSTEM, SeededCoins, SystemCoins
from queryable.randomness import entropy, pools
from queryable.randomness.entropy import random_bytes, random_word
from queryable.randomness.laws import Bernoulli, FairBits, Law, UniformBelow
from queryable.randomness.pools import Pools
from tests.strategies import WORD


def test_equal_seeds_give_equal_draws() -> None:
    first, second, other = SeededCoins(1), SeededCoins(1), SeededCoins(2)
    draws = [first.draw(WORD) for _ in range(200)]
    assert draws == [second.draw(WORD) for _ in range(200)]
    assert draws != [other.draw(WORD) for _ in range(200)]
    assert len(set(draws)) == 200
    # Drawing eight bits at once or one at a time gives the same stream.
    whole, single = SeededCoins(5), SeededCoins(5)
    bits = whole.bits(4500)
    assert bits == sum(single.bits(1) << place for place in range(4500))


def test_draws_of_a_child_depend_only_on_its_path_and_message() -> None:
    untouched, drawn = SeededCoins(1), SeededCoins(1)
    drawn.draw(WORD)
    assert untouched.spawn(3, 5).draw(WORD) == drawn.spawn(3, 5).draw(WORD)
    by_way_of = [SeededCoins(1).spawn(0, n).spawn(3, 5).draw(WORD) for n in range(4)]
    assert len(set(by_way_of)) == 1
    # Paths and messages do not collide, even for adjacent ids and names that look like ids.
    root = SeededCoins(7)
    places = [root.spawn(child, n) for child in (0, 1, 11, "0", "1", "a", "a'") for n in range(12)]
    places += [root.spawn(1, 1).spawn(child, n) for child in (0, 1, "1") for n in range(12)]
    draws = [coins.draw(WORD) for coins in places]
    assert len(set(draws)) == len(draws)


def test_bits_of_any_length() -> None:
    """Bits are in range for zero, for partial bytes and for more than one block."""
    for coins in (SeededCoins(3), SystemCoins()):
        assert coins.bits(0) == 0
        for count in (1, 7, 8, 9, 63, 5000):
            draws = [coins.bits(count) for _ in range(40)]
            assert all(0 <= draw < 2**count for draw in draws)
            assert max(draw.bit_length() for draw in draws) > count - 12


def test_bytes_are_uniform_and_replay() -> None:
    """Both sources give any number of bytes; seeded ones replay and do not repeat earlier bits."""
    for coins in (SeededCoins(3), SystemCoins()):
        assert [len(coins.bytes(count)) for count in (0, 1, 100_000)] == [0, 1, 100_000]
        assert coins.bytes(32) != coins.bytes(32)
        counts = Counter(coins.bytes(256_000))  # chi-square of 255 degrees passes 450 rarely: 1e-12
        assert sum((counts[value] - 1000) ** 2 / 1000 for value in range(256)) < 450
    one, two, bits = SeededCoins(5), SeededCoins(5), SeededCoins(5)
    assert one.bytes(64) == two.bytes(64) != bits.bits(512).to_bytes(64, "little")
    assert one.spawn(0, 1).bytes(64) != one.bytes(64)


@pytest.mark.parametrize(("size", "shape"), [(5, (5,)), ((2, 3), (2, 3)), (0, (0,)), ((), ())])
def test_arrays_have_the_requested_shape(size: object, shape: tuple[int, ...]) -> None:
    """A draw with a size is an int64 array of that shape."""
    drawn = SeededCoins(1).draw(UniformBelow(4), size)  # type: ignore[arg-type]
    assert drawn.shape == shape
    assert drawn.dtype == np.int64


def test_wide_draws_do_not_overflow() -> None:
    """Draws of more than 64 bits are Python integers and do not wrap around."""
    drawn = SeededCoins(1).draw(UniformBelow(2**200), 8)
    assert drawn.dtype == object
    assert max(drawn) > 2**150
    # `spawn` returns the same coins, because the system's bits never repeat.
    assert SYSTEM.spawn(0, 0) is SYSTEM
    assert SYSTEM.draw(WORD) != SYSTEM.draw(WORD)


def test_words_have_64_bits_and_do_not_repeat() -> None:
    """20,000 words, over many blocks: a repeat has chance 2**-36, and each bit is fair.

    Of 64 bits one is 7 standard deviations off with probability below 2e-10.
    """
    words = [random_word() for _ in range(20_000)]
    assert len(set(words)) == len(words)
    for bit in range(64):
        assert abs(sum(word >> bit & 1 for word in words) - 10_000) < 7 * 5000**0.5
    assert max(words) < 2**64


@pytest.mark.parametrize("of", ["words", "a pool"])
def test_threads_never_share_a_word(of: str) -> None:
    """Eight threads that draw at once draw different words."""
    coins = SystemCoins()
    draw = random_word if of == "words" else lambda: coins.draw(Ahead())
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            runs = [threads.submit(lambda: [draw() for _ in range(10_000)]) for _ in range(8)]
            words = [word for run in runs for word in run.result()]
    finally:
        sys.setswitchinterval(interval)
    assert len(set(words)) == 80_000


def test_without_openssl_bytes_come_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ssl", None)
    entropy._generator.cache_clear()
    try:
        assert entropy._generator() is os.urandom
        assert len(random_bytes(10)) == 10
    finally:
        entropy._generator.cache_clear()


def test_uniform_hits_every_value_equally() -> None:
    """10,000 draws below 10: a chi-square of 9 degrees passes 40 with probability 8e-6."""
    coins = SeededCoins(11)
    counts = Counter(coins.draw(UniformBelow(10)) for _ in range(10_000))
    assert sum((counts[value] - 1000) ** 2 / 1000 for value in range(10)) < 40
    # Probabilities zero and one always give the same draw and list one outcome.
    coins = SeededCoins(17)
    for chance in (0, 1):
        law = Bernoulli(chance)
        assert {coins.draw(law) for _ in range(50)} == {bool(chance)}
        assert law.outcomes() == ((bool(chance), 1),)


@pytest.mark.parametrize("chance", ["1/3", "0.999", "1e-2"])
def test_bernoulli_has_its_probability(chance: str) -> None:
    """20,000 draws are within 5 standard deviations: false alarms below 1e-6."""
    law = Bernoulli(chance)  # type: ignore[arg-type]
    coins = SeededCoins(13)
    hits = sum(coins.draw(law) for _ in range(20_000))
    p = float(law.probability)
    assert abs(hits - 20_000 * p) < 5 * (20_000 * p * (1 - p)) ** 0.5


@pytest.mark.parametrize("law", [Bernoulli("1/3"), UniformBelow(7), UniformBelow(1)], ids=repr)
def test_outcomes_are_a_distribution(law: Bernoulli) -> None:
    """Listed outcomes are distinct; their probabilities are positive and sum to exactly one."""
    outcomes = law.outcomes()
    assert sum(chance for _, chance in outcomes) == 1
    assert all(chance > 0 for _, chance in outcomes)
    assert len({value for value, _ in outcomes}) == len(outcomes)
    assert all(isinstance(chance, Fraction | int) for _, chance in outcomes)


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


def test_seeded_coins_have_no_pools() -> None:
    """Draws from a seed do not depend on how often the law was drawn before."""
    coins, twin = SeededCoins(1), SeededCoins(1)
    for _ in range(2 * pools._WARM):
        SeededCoins(2).draw(Ahead())
    assert [coins.draw(Ahead()) for _ in range(1000)] == [twin.draw(WORD) for _ in range(1000)]
    # A pool that another thread still refers to is emptied, not only dropped.
    coins = SystemCoins()
    warm(coins, Ahead())
    held = coins._pools._pools[Ahead()]
    coins._pools.forget()
    assert held == []
    assert isinstance(coins.draw(Ahead()), int)
    assert Pools().draw(Ahead(), coins) < 2**64


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
