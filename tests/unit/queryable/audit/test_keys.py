"""Answers as keys: what counts as one answer, and what must not."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from queryable import Bernoulli, Coins, Launched, Measurement, PureDP, Refused, UniformBelow
from queryable.audit import HockeyStick, audit, hashable, view_law, worst_case
from queryable.audit.keys import require_alike
from tests.audit.toys import script

HALF = Bernoulli(Fraction(1, 2))


@pytest.mark.parametrize(
    ("value", "key"),
    [
        (3, 3),
        (np.array([[1, 2], [3, 4]]), ((1, 2), (3, 4))),
        ([1, [2]], (1, (2,))),
        (Launched(None, np.array([1])), ("Launched", None, (1,))),
        (Launched(0, Launched(None, [1])), ("Launched", 0, ("Launched", None, (1,)))),
        (Refused("no"), Refused("no")),
    ],
)
def test_answers_become_hashable(value: Any, key: Any) -> None:
    """Arrays and lists become tuples, however deep; what is hashable stays as it is."""
    assert hashable(value) == key
    hash(hashable(value))


def test_dictionaries_and_sets_become_hashable() -> None:
    """In whatever order they were filled."""
    assert hashable({"a": [1], "b": {2}}) == hashable({"b": {2}, "a": [1]})
    assert hash(hashable({"a": [1]})) != hash(hashable({"a": [2]}))


def test_all_nans_are_one_answer() -> None:
    """However they were made; else each would be a view that only one dataset shows."""
    values = [float("nan"), np.nan, np.float32("nan"), float("inf") - float("inf")]
    assert len({hashable((value, "x")) for value in values}) == 1
    assert hashable(float("nan")) != hashable(0.0)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        (0, False),
        ((1, "x"), (True, "x")),
        ([np.True_], [1.0]),
        (np.array([True, False]), np.array([1, 0])),
        ({"a": 1}, {"a": True}),
        ({0}, {False}),
        (Launched(None, 0), Launched(None, False)),
    ],
)
def test_yes_and_one_are_not_taken_for_each_other(one: Any, other: Any) -> None:
    """They compare equal and mean different things, so whoever answers both is told."""
    assert hashable(one) == hashable(other)
    for first, second in ((one, other), (other, one)):
        with pytest.raises(ValueError, match="compare equal"):
            require_alike(first, second)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 1.0),
        (np.int64(3), 3),
        (True, np.True_),
        (np.array([True, False]), [True, False]),
        (np.array([1, 2]), (1, 2)),
        (Launched(0, True), Launched(0, True)),
    ],
)
def test_equal_answers_of_other_types_are_alike(one: Any, other: Any) -> None:
    """The same number, the same list."""
    require_alike(one, other)


@attrs.frozen
class Number(Measurement):
    """Says a number where it should say no."""

    said: Any = 0

    def release(self, dataset: Any, coins: Coins) -> Any:
        return coins.draw(HALF) if dataset else self.said


@attrs.frozen
class Choice(Measurement):
    """One of some answers, whatever the data."""

    answers: tuple[Any, ...]

    def release(self, dataset: Any, coins: Coins) -> Any:
        return self.answers[coins.draw(UniformBelow(len(self.answers)))]


def test_a_no_that_is_a_zero_is_refused_everywhere() -> None:
    """Of one law, of two laws, and in the search over adversaries."""
    law = Choice((False, 0))
    with pytest.raises(ValueError, match="compare equal"):
        view_law(law, 0, script())
    with pytest.raises(ValueError, match="compare equal"):
        audit(Number(), [(0, 1)], claim=PureDP(1))
    with pytest.raises(ValueError, match="compare equal"):
        worst_case(Number(), 0, 1, (), 0, HockeyStick(0))
    assert not audit(Number(None), [(0, 1)], claim=PureDP(1)).holds
