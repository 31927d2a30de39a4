"""Values of the data that nobody may look at before a leaf needs them."""

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from queryable.conversation import Data, Later, made
from queryable.data.later import holds_later

LOOKS: tuple[Callable[[Any], Any], ...] = (
    *(bool, len, iter, list, int, float, operator.index, abs, round, sorted, sum, hex),
    *(operator.neg, operator.pos, operator.invert, lambda it: it[0], lambda it: 1 in it),
    *(
        lambda it: it + 1,
        lambda it: 1 + it,
        lambda it: it - 1,
        lambda it: 2 * it,
        lambda it: it < 1,
    ),
    *(lambda it: it >= 1, lambda it: f"{it:d}", lambda it: it(), np.asarray, pickle.dumps, divmod),
    *(lambda it: it or None, lambda it: {**it}, lambda it: [*it], lambda it: it @ it),
)


@pytest.mark.parametrize("look", LOOKS, ids=range(len(LOOKS)))
def test_nobody_looks_at_it(look: Callable[[Any], Any]) -> None:
    secret = Later.of(4711)
    with pytest.raises(TypeError) as raised:
        look(secret)
    assert "4711" not in str(raised.value)
    assert repr(secret) == str(secret) == "Later()"


def test_it_equals_itself_alone() -> None:
    one, other = Later.of(1), Later.of(1)
    assert one == one  # noqa: PLR0124 (it is the only equal one)
    assert one != other
    assert one != 1
    assert len({one, other}) == 2
    assert copy.copy(one) is copy.deepcopy(one) is one
    assert Later.of(one) is one
    later = Later.of(1)
    for value in (later, [later], (1, (later,)), {"a": [later]}, Data(None, later), Data.of(3)):
        assert holds_later(value)
    assert not holds_later((1, "a", {"b": [2.0]}))


def test_it_is_made_once_of_what_it_needs() -> None:
    calls = []

    def plus(a: int, b: int) -> int:
        calls.append((a, b))
        return a + b

    one = Later(plus, 1, 2)
    two = Later(plus, one, Later(plus, one, 10))
    assert calls == []
    assert made(two) == 16
    assert made(two) == 16
    assert calls == [(1, 2), (3, 10), (3, 13)]
    assert made("plain") == "plain"


def test_a_long_chain_takes_no_stack() -> None:
    """As one that many launches leave, each of which depends on the one before."""
    later = Later.of(0)
    for _ in range(20_000):
        later = Later(lambda value: value + 1, later)
    assert made(later) == 20_000


def test_what_could_not_be_made_is_tried_again() -> None:
    """An interrupt leaves it as it was."""
    faults: list[BaseException] = [KeyboardInterrupt(), ValueError()]

    def make(value: int) -> int:
        if faults:
            raise faults.pop()
        return value

    later = Later(make, Later.of(3))
    with pytest.raises(ValueError, match=r"^$"):
        made(later)
    with pytest.raises(KeyboardInterrupt):
        made(later)
    assert made(later) == 3
