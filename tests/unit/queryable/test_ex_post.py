"""What an ex-post mechanism has to state."""

from fractions import Fraction
from typing import Any

import pytest

from queryable import SYSTEM, Coins, PrivacyClaimError
from queryable.ex_post import Expense, ExPostMechanism, Opening


class Free(Expense):
    """Costs nothing."""

    def epsilon(self, d_in: int) -> Fraction:
        return Fraction(0)

    def at_worst(self, query: Any, d_in: int) -> Fraction:
        return Fraction(0)

    def after(self, query: Any, answer: Any) -> Expense:
        return self


class Silent(ExPostMechanism[None]):
    """Says nothing."""

    def expense(self) -> Expense:
        return Free()

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[None, Any]:
        return None, None

    def step(self, state: None, query: Any, coins: Coins = SYSTEM) -> tuple[None, Any]:
        return state, None


def test_the_default_delta_of_an_expense_is_zero() -> None:
    """At every `d_in`. An expense does not give the mechanism a privacy map."""
    assert [Silent().delta(d_in) for d_in in (0, 1, 5)] == [0, 0, 0]
    with pytest.raises(PrivacyClaimError, match="Silent"):
        Silent().privacy_map(1)


def test_an_expense_must_be_stated() -> None:
    """Classes without `expense`, or without `at_worst`, cannot be instantiated."""

    class Unstated(ExPostMechanism[None]):
        init, step = Silent.init, Silent.step

    class Careless(Expense):
        epsilon, after = Free.epsilon, Free.after

    for kind in (Unstated, Careless):
        with pytest.raises(TypeError, match="abstract"):
            kind()


def test_the_opening_compares_by_value() -> None:
    """So transcripts can be compared."""
    assert Opening() == Opening()
