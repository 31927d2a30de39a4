"""Coins: spawning, replay, and safety of the system's coins under fork."""

import os
from collections import Counter

import numpy as np
import pytest

from queryable import SYSTEM, SeededCoins, SystemCoins
from queryable.randomness.laws import UniformBelow
from tests.strategies import WORD


def test_equal_seeds_give_equal_draws() -> None:
    """A seed determines every draw; another seed gives other draws."""
    first, second, other = SeededCoins(1), SeededCoins(1), SeededCoins(2)
    draws = [first.draw(WORD) for _ in range(200)]
    assert draws == [second.draw(WORD) for _ in range(200)]
    assert draws != [other.draw(WORD) for _ in range(200)]
    assert len(set(draws)) == 200


def test_draws_of_a_child_depend_only_on_its_path_and_message() -> None:
    """Spawned coins do not depend on the parent's draws or on its message count."""
    untouched, drawn = SeededCoins(1), SeededCoins(1)
    drawn.draw(WORD)
    assert untouched.spawn(3, 5).draw(WORD) == drawn.spawn(3, 5).draw(WORD)
    by_way_of = [SeededCoins(1).spawn(0, n).spawn(3, 5).draw(WORD) for n in range(4)]
    assert len(set(by_way_of)) == 1


def test_different_paths_and_messages_have_different_coins() -> None:
    """Paths and messages do not collide, even for adjacent ids and names that look like ids."""
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


def test_seeded_bits_are_one_stream() -> None:
    """Drawing eight bits at once or one at a time gives the same stream."""
    whole, single = SeededCoins(5), SeededCoins(5)
    bits = whole.bits(4500)
    assert bits == sum(single.bits(1) << place for place in range(4500))


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


def test_system_coins_are_their_own_children() -> None:
    """`spawn` returns the same coins, because the system's bits never repeat."""
    assert SYSTEM.spawn(0, 0) is SYSTEM
    assert SYSTEM.draw(WORD) != SYSTEM.draw(WORD)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_system_coins_differ_after_fork() -> None:
    """A parent process and its forked child draw different bits."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write, SYSTEM.bits(256).to_bytes(32, "little"))
        os._exit(0)
    ours = SYSTEM.bits(256).to_bytes(32, "little")
    os.waitpid(child, 0)
    theirs = os.read(read, 32)
    os.close(read)
    os.close(write)
    assert len(theirs) == 32
    assert ours != theirs
