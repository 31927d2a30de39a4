"""The switch that has long computations refused."""

from contextvars import copy_context
from fractions import Fraction

import pytest

from curator.codec import encode
from queryable import ZCDP
from queryable.effort import (
    STEPS,
    admitted,
    characters_of,
    is_out,
    is_quick,
    refused,
    remembered,
    size_of,
    take,
    within_effort,
    write,
)
from queryable.streams.blocks import BlockStated


def test_the_switch_holds_for_the_block_and_what_it_calls() -> None:
    assert not is_quick()
    with within_effort():
        assert is_quick()
        assert copy_context().run(is_quick)
        with within_effort(False):
            assert not is_quick()
        assert is_quick()
    assert not is_quick()


def test_the_computations_of_a_block_share_its_steps() -> None:
    assert take(10 * STEPS)
    with within_effort():
        assert take(STEPS - 5)
        assert not take(6)
        assert copy_context().run(lambda: take(3))
        with within_effort(False):
            assert take(STEPS)
        assert take(2)
        assert not take(1)
    with within_effort():
        assert take(STEPS)
    with within_effort():  # what is kept is counted once
        assert not take(STEPS + 1, "a")
        assert take(STEPS - 1, "a")
        assert take(STEPS - 1, "a")
        assert not take(2, "b")
        assert take(1, "b")


def test_what_is_remembered_takes_the_steps_of_what_is_new() -> None:
    """Otherwise a refusal would say whether a colleague asked the same, as of menus at 1b177ec."""

    @remembered(8)
    def squared(number: int) -> int:
        if not take(1000):
            raise ValueError("too long")
        return number * number

    for _ in range(2):  # new, and then known
        with within_effort(steps=1500) as left:
            assert squared(3) == squared(3) == 9  # in one message it is counted once
            assert left.taken == 1000
            with pytest.raises(ValueError, match="too long"):
                squared(4)
            assert is_out()
    with within_effort():
        assert squared(4) == 16
    with within_effort(steps=1500):
        squared(3)
        with pytest.raises(ValueError, match="takes too long"):
            squared(4)
        assert is_out()
    assert squared(5) == 25


def test_steps_of_what_was_admitted_are_not_refused() -> None:
    with within_effort(steps=10, characters=5):
        assert write(5)
        assert not write(1)
        with admitted():
            assert is_quick()
            assert take(10**9)
            assert write(10**9)
            assert refused()  # what no message may ask is refused there too
        assert take(10)
        assert not take(1)
    assert not refused()


def test_characters_of_a_value_are_about_those_of_its_text() -> None:
    blocks = tuple(BlockStated(f"day {n}", n % 2 == 0, ZCDP(9), ZCDP("1/7")) for n in range(99))
    for value in (blocks, blocks[0], ZCDP("1/3"), (True, None, "a")):
        length = len(encode(value))
        assert length / 2 < characters_of(value) < 2 * length
    assert size_of(("a", None, 1.5)) == (0, 0)
    numbers, digits = size_of({"a": [Fraction(1, 7), (10**100,)]})
    assert numbers == 2
    assert 100 <= digits <= 110
