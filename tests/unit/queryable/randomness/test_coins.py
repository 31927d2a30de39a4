"""Coins: exact laws, spawning, replay, and fork-safety of the system's."""

import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from queryable import SYSTEM, Bernoulli, SeededCoins, SystemCoins, UniformBelow
from tests.strategies import WORD


def test_equal_seeds_give_equal_draws() -> None:
    """A seed fixes every draw; another seed gives others."""
    first, second, other = SeededCoins(1), SeededCoins(1), SeededCoins(2)
    draws = [first.draw(WORD) for _ in range(200)]
    assert draws == [second.draw(WORD) for _ in range(200)]
    assert draws != [other.draw(WORD) for _ in range(200)]
    assert len(set(draws)) == 200


def test_what_a_child_draws_depends_on_its_path_and_message_alone() -> None:
    """Spawned coins ignore what the parent drew and which message of the parent spawned them."""
    untouched, drawn = SeededCoins(1), SeededCoins(1)
    drawn.draw(WORD)
    assert untouched.spawn(3, 5).draw(WORD) == drawn.spawn(3, 5).draw(WORD)
    by_way_of = [SeededCoins(1).spawn(0, n).spawn(3, 5).draw(WORD) for n in range(4)]
    assert len(set(by_way_of)) == 1


def test_no_two_places_share_coins() -> None:
    """Paths and messages never collide: ids next to each other, names that look like ids."""
    root = SeededCoins(7)
    places = [root.spawn(child, n) for child in (0, 1, 11, "0", "1", "a", "a'") for n in range(12)]
    places += [root.spawn(1, 1).spawn(child, n) for child in (0, 1, "1") for n in range(12)]
    draws = [coins.draw(WORD) for coins in places]
    assert len(set(draws)) == len(draws)


@pytest.mark.parametrize("seed", [0.5, "1", None])
def test_a_seed_is_an_integer(seed: object) -> None:
    """A seed that would be truncated is refused: 0.5 is not 0."""
    with pytest.raises(TypeError):
        SeededCoins(seed)  # type: ignore[arg-type]


def test_bits_of_any_length() -> None:
    """Counts that are no multiple of a byte, zero and more than a block are exact in range."""
    for coins in (SeededCoins(3), SystemCoins()):
        assert coins.bits(0) == 0
        for count in (1, 7, 8, 9, 63, 5000):
            draws = [coins.bits(count) for _ in range(40)]
            assert all(0 <= draw < 2**count for draw in draws)
            assert max(draw.bit_length() for draw in draws) > count - 12


def test_seeded_bits_are_one_stream() -> None:
    """Bits are not used twice: eight at a time or one at a time they are the same bits."""
    whole, single = SeededCoins(5), SeededCoins(5)
    bits = whole.bits(4500)
    assert bits == sum(single.bits(1) << place for place in range(4500))


def test_bytes_are_uniform_and_replay() -> None:
    """Any count, from either source; a seed fixes them, and they are no bits given out before."""
    for coins in (SeededCoins(3), SystemCoins()):
        assert [len(coins.bytes(count)) for count in (0, 1, 100_000)] == [0, 1, 100_000]
        assert coins.bytes(32) != coins.bytes(32)
        counts = Counter(coins.bytes(256_000))  # chi-square of 255 degrees passes 450 rarely: 1e-12
        assert sum((counts[value] - 1000) ** 2 / 1000 for value in range(256)) < 450
    one, two, bits = SeededCoins(5), SeededCoins(5), SeededCoins(5)
    assert one.bytes(64) == two.bytes(64) != bits.bits(512).to_bytes(64, "little")
    assert one.spawn(0, 1).bytes(64) != one.bytes(64)


def test_uniform_hits_every_value_equally() -> None:
    """10,000 draws below 10: a chi-square of 9 degrees passes 40 with probability 8e-6."""
    coins = SeededCoins(11)
    counts = Counter(coins.draw(UniformBelow(10)) for _ in range(10_000))
    assert sum((counts[value] - 1000) ** 2 / 1000 for value in range(10)) < 40


@pytest.mark.parametrize("chance", ["1/3", "0.999", "1e-2"])
def test_bernoulli_has_its_probability(chance: str) -> None:
    """20,000 draws are within 5 standard deviations: false alarms below 1e-6."""
    law = Bernoulli(chance)  # type: ignore[arg-type]
    coins = SeededCoins(13)
    hits = sum(coins.draw(law) for _ in range(20_000))
    p = float(law.probability)
    assert abs(hits - 20_000 * p) < 5 * (20_000 * p * (1 - p)) ** 0.5


def test_certain_bernoullis_are_certain() -> None:
    """Probabilities zero and one never surprise, and list one outcome."""
    coins = SeededCoins(17)
    for chance in (0, 1):
        law = Bernoulli(chance)
        assert {coins.draw(law) for _ in range(50)} == {bool(chance)}
        assert law.outcomes() == ((bool(chance), 1),)


@pytest.mark.parametrize("law", [Bernoulli("1/3"), UniformBelow(7), UniformBelow(1)], ids=repr)
def test_outcomes_are_a_distribution(law: Bernoulli) -> None:
    """The listed outcomes are distinct, have positive chances and sum to exactly one."""
    outcomes = law.outcomes()
    assert sum(chance for _, chance in outcomes) == 1
    assert all(chance > 0 for _, chance in outcomes)
    assert len({value for value, _ in outcomes}) == len(outcomes)
    assert all(isinstance(chance, Fraction | int) for _, chance in outcomes)


@pytest.mark.parametrize("bound", [0, -1, True, "3", 2.0])
def test_an_empty_range_is_refused(bound: object) -> None:
    """A uniform law needs something to choose from."""
    with pytest.raises((ValueError, TypeError), match="bound"):
        UniformBelow(bound)  # type: ignore[arg-type]


@pytest.mark.parametrize("chance", [2, -1, float("nan"), True])
def test_a_chance_is_a_probability(chance: object) -> None:
    """A Bernoulli law refuses what is no probability."""
    with pytest.raises(ValueError, match="probability"):
        Bernoulli(chance)  # type: ignore[arg-type]


@pytest.mark.parametrize(("size", "shape"), [(5, (5,)), ((2, 3), (2, 3)), (0, (0,)), ((), ())])
def test_arrays_have_the_shape_asked_for(size: object, shape: tuple[int, ...]) -> None:
    """A sized draw is an int64 array of that shape."""
    drawn = SeededCoins(1).draw(UniformBelow(4), size)  # type: ignore[arg-type]
    assert drawn.shape == shape
    assert drawn.dtype == np.int64


def test_wide_draws_do_not_overflow() -> None:
    """Draws beyond 64 bits come as Python integers, not as wrapped ones."""
    drawn = SeededCoins(1).draw(UniformBelow(2**200), 8)
    assert drawn.dtype == object
    assert max(drawn) > 2**150


def test_system_coins_are_their_own_children() -> None:
    """The system's bits never repeat, so there is nothing to derive."""
    assert SYSTEM.spawn(0, 0) is SYSTEM
    assert SYSTEM.draw(WORD) != SYSTEM.draw(WORD)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_system_coins_differ_after_fork() -> None:
    """Parent and child do not draw the same bits."""
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
