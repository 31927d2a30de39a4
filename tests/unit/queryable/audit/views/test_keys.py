"""Answers as keys of a law: which answers count as one, and which pairs are refused."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from queryable import Coins, Launched, Measurement, PureDP, Refused
from queryable.audit import HockeyStick, audit, hashable, view_law, worst_case
from queryable.audit.views.keys import require_alike
from queryable.randomness.laws import Bernoulli, UniformBelow
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
    """Arrays and lists become tuples at any depth; hashable values are unchanged."""
    assert hashable(value) == key
    hash(hashable(value))


def test_dictionaries_and_sets_become_hashable() -> None:
    """The order of insertion does not matter."""
    assert hashable({"a": [1], "b": {2}}) == hashable({"b": {2}, "a": [1]})
    assert hash(hashable({"a": [1]})) != hash(hashable({"a": [2]}))


def test_all_nans_are_one_answer() -> None:
    """Otherwise each NaN would be a view that is possible under one dataset only."""
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
def test_a_boolean_and_an_equal_number_are_refused(one: Any, other: Any) -> None:
    """A boolean and a number that compare equal are refused as answers to one question."""
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
    """Equal numbers, or equal sequences, of different types are accepted."""
    require_alike(one, other)


@attrs.frozen
class Number(Measurement):
    """Answers a number where it should answer False."""

    said: Any = 0

    def release(self, dataset: Any, coins: Coins) -> Any:
        return coins.draw(HALF) if dataset else self.said


@attrs.frozen
class Choice(Measurement):
    """Answers one of `answers` at random, whatever the data."""

    answers: tuple[Any, ...]

    def release(self, dataset: Any, coins: Coins) -> Any:
        return self.answers[coins.draw(UniformBelow(len(self.answers)))]


def test_false_and_zero_as_answers_are_refused_everywhere() -> None:
    """In one law, in two laws, and in the search over adversaries."""
    law = Choice((False, 0))
    with pytest.raises(ValueError, match="compare equal"):
        view_law(law, 0, script())
    with pytest.raises(ValueError, match="compare equal"):
        audit(Number(), [(0, 1)], claim=PureDP(1))
    with pytest.raises(ValueError, match="compare equal"):
        worst_case(Number(), 0, 1, (), 0, HockeyStick(0))
    assert not audit(Number(None), [(0, 1)], claim=PureDP(1)).holds
