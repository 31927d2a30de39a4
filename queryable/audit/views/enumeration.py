"""Every outcome of coins, with its probability.

This module enumerates coins for any function of them. It does not know mechanisms and views, whose
laws are in `view_laws`.

`every_outcome` runs a function of coins repeatedly. Each run follows a script of choices and takes
the first outcome after the end of the script. The next script advances the last choice that has
another outcome. The function is pure, so this visits every path once. If the caller allows a tail,
a law with infinite support is enumerated up to that tail. Paths into the tail are abandoned, and
their mass is the entry `CUT` of the law.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import Any, TypeVar

import numpy as np

from queryable.faults import collecting, raise_interrupt
from queryable.losses.numbers import natural
from queryable.randomness.coins import ChildId, Shape
from queryable.randomness.intervals import Chance, Interval, high, low
from queryable.randomness.laws import Law

T = TypeVar("T")


class NotEnumerable(ValueError):  # noqa: N818 (a result rather than an error)
    """The coins have infinitely many outcomes, or more than the limit."""


class _Cut:
    def __repr__(self) -> str:
        return "CUT"


CUT = _Cut()
"""The key, in a law, of the mass that was not enumerated."""


IMPURE = (
    "a step with equal coins gave a different result the second time, or changed the state that it "
    "was given; states are values, so return a new one (queryable.audit.broken_laws finds faults)"
)


class EnumeratedCoins:
    """Coins that take one scripted path through the outcomes of what is drawn.

    Args:
        script: the index of the outcome to take at each draw; 0 after the end of the script.
        tail: the mass that each draw with infinite support may cut off; if None, such a draw is
            refused.
    """

    def __init__(self, script: list[int], tail: Fraction | None = None) -> None:
        self._script = script
        self._tail = tail
        self._drawn = 0
        self.choices: list[int] = []
        self.probability: Chance = Fraction(1)
        self.refusal: ValueError | None = None
        self.cut = False

    def draw(self, law: Law[Any], size: Shape | None = None) -> Any:
        """Return one scripted outcome, or an array of them."""
        if size is None:
            return self._one(law)
        count = int(np.prod(size, dtype=object))
        return np.array([self._one(law) for _ in range(count)], dtype=object).reshape(size)

    def _one(self, law: Law[Any]) -> Any:
        outcomes = self._outcomes(law)
        choice = self._script[self._drawn] if self._drawn < len(self._script) else 0
        if choice >= len(outcomes):
            self.refusal = ValueError(IMPURE)
            raise self.refusal
        self._drawn += 1
        self.choices.append(len(outcomes))
        value, probability = outcomes[choice]
        self.probability = self.probability * probability
        if value is CUT:
            self.cut = True
            raise ValueError("this path is in the tail that was cut off")
        return value

    def _outcomes(self, law: Law[Any]) -> Sequence[tuple[Any, Chance]]:
        outcomes = law.outcomes()
        if outcomes is not None:
            return [(value, chance) for value, chance in outcomes if high(chance) > 0]
        truncated = None if self._tail is None else _truncated(law, self._tail)
        if truncated is None:
            self.refusal = NotEnumerable(f"{law} has infinite support and cannot be enumerated")
            raise self.refusal
        kept, given_up = truncated
        return [*kept, (CUT, Interval(Fraction(0), given_up))]

    def spawn(self, child: ChildId, message: int) -> "EnumeratedCoins":
        """Return these coins: one script covers the whole run."""
        return self


@lru_cache(maxsize=64)
def _remembered(law: Law[Any], tail: Fraction) -> Any:
    return law.truncated(tail)


def _truncated(law: Law[Any], tail: Fraction) -> Any:
    try:
        return _remembered(law, tail)
    except TypeError:  # the law cannot be hashed
        return law.truncated(tail)


def every_outcome(
    run: Callable[[EnumeratedCoins], T],
    tail: Fraction | None = None,
    limit: int | None = None,
) -> list[tuple[Chance, Any]]:
    """Return every result of a function of coins with its probability; `CUT` for tails.

    Args:
        tail: the mass that a draw with infinite support may cut off.
        limit: the largest number of paths. The product of the numbers of choices on the first path
            is the estimate.

    Raises:
        NotEnumerable: a draw has infinite support and no tail is allowed, or there are more paths
            than the limit.
        ValueError: the function is not deterministic given the outcomes of its coins.
    """
    limit = None if limit is None else natural(limit, "limit")
    results: list[tuple[Chance, Any]] = []
    script: list[int] = []
    while True:
        coins = EnumeratedCoins(script, tail)
        result, raised = _run(run, coins)
        if coins.refusal is not None:
            raise coins.refusal
        if raised is not None and not coins.cut:
            raise raised
        if len(coins.choices) < len(script):
            raise ValueError(IMPURE)
        results.append((coins.probability, CUT if coins.cut else result))
        if limit is not None and max(len(results), _least(coins, results)) > limit:
            raise NotEnumerable(f"about {prod(coins.choices):.2g} outcomes, above limit={limit}")
        script = script + [0] * (len(coins.choices) - len(script))
        while script and script[-1] + 1 == coins.choices[len(script) - 1]:
            script = script[:-1]
        if not script:
            _require_total([chance for chance, _ in results])
            return results
        script = [*script[:-1], script[-1] + 1]


def _require_total(chances: Sequence[Chance]) -> None:
    least, most = (sum(map(end, chances), Fraction(0)) for end in (low, high))
    if not least <= 1 <= most:
        wrong = "the probabilities of all outcomes do not sum to 1: a law is wrong, or "
        raise ValueError(wrong + IMPURE)


def _least(coins: EnumeratedCoins, results: Sequence[Any]) -> int:
    return prod(coins.choices) if len(results) == 1 else 0


def _run(
    run: Callable[[EnumeratedCoins], T], coins: EnumeratedCoins
) -> tuple[T | None, Exception | None]:
    with collecting() as faults:
        try:
            result, raised = run(coins), None
        except Exception as error:
            result, raised = None, error
        raise_interrupt(faults)
    return result, raised
