"""An adversary's belief about the hidden state, and its update after each answer.

This module computes one exact step of Bayes' rule. It does not depend on divergences or searches.

A belief gives the joint probability of each hidden state and the view so far, under x and under x'.
States are numbered: each state is hashed once, and each of its steps is enumerated once, however
many beliefs contain it. A state that cannot be hashed compares unequal to every state, including
itself; this costs time but changes no result. Probabilities are flint rationals here, about ten
times as fast as Python's.
"""

from collections.abc import Hashable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import attrs
from flint import fmpq

from queryable.audit.views.enumeration import every_outcome
from queryable.audit.views.keys import flags, hashable, require_alike, state_key
from queryable.audit.views.pairs import sides
from queryable.audit.views.view_laws import SeenError, every_step
from queryable.conversation.stepping import begin
from queryable.errors import QueryError
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.intervals import Chance, Interval

Weights: TypeAlias = tuple[tuple[int, fmpq], ...]
"""Pairs of a state's number and its probability."""


@attrs.frozen
class Belief:
    """The joint probability of each hidden state and the view, under x (p) and x' (q)."""

    p: Weights
    q: Weights

    @property
    def mass(self) -> tuple[Fraction, Fraction]:
        """The probability of the view under x and under x'."""
        return _total(self.p), _total(self.q)

    def over(self, mass: Fraction) -> "Belief":
        """Return the belief with all probabilities divided by `mass`."""
        factor = fmpq(mass.denominator, mass.numerator)
        return Belief(_times(self.p, factor), _times(self.q, factor))

    @property
    def key(self) -> Hashable:
        """A hashable key; equal beliefs have equal keys."""
        return _as_integers(self.p), _as_integers(self.q)


def _total(weights: Weights) -> Fraction:
    return _fraction(sum((weight for _, weight in weights), _NOTHING))


def _fraction(weight: fmpq) -> Fraction:
    return Fraction(int(weight.p), int(weight.q))


def _as_integers(weights: Weights) -> Hashable:
    """Weights as integers, which are cheap to hash."""
    return frozenset((number, int(weight.p), int(weight.q)) for number, weight in weights)


def _times(weights: Weights, factor: fmpq) -> Weights:
    return tuple((state, weight * factor) for state, weight in weights)


@attrs.frozen
class Seen:
    """An answer, and the belief after it."""

    answer: Any
    belief: Belief


Move: TypeAlias = tuple[fmpq, int, tuple[Hashable, Hashable], Any]
"""One outcome of a step: probability, number of the next state, (key, flags), and answer."""


@attrs.define
class Machine:
    """A mechanism with numbered states and a cache of its enumerated steps."""

    mechanism: InteractiveMechanism[Any]
    _states: list[Any] = attrs.field(factory=list)
    _numbers: dict[Any, int] = attrs.field(factory=dict)
    _queries: dict[int, Any] = attrs.field(factory=dict)  # kept alive: ids stay unique
    _moves: dict[tuple[int, int], list[Move]] = attrs.field(factory=dict)

    def start(self, x: Any, x_prime: Any) -> dict[Hashable, Seen]:
        """Return the belief after each opening answer, by the answer's key."""
        opened = []
        for dataset in (x, x_prime):
            begun = every_outcome(partial(begin, self.mechanism, dataset))
            opened.append([(fmpq(1), self._move(*each)) for each in begun])
        return _gathered(*opened)

    def after(self, belief: Belief, query: Any) -> dict[Hashable, Seen] | None:
        """Return the belief after each answer; None if the query is wrong in every state.

        Under x and x', the states receive their messages of a `Pair`.
        """
        asked = zip((belief.p, belief.q), sides(query), strict=True)
        found = _gathered(
            *(
                [(weight, move) for state, weight in side for move in self._steps(state, message)]
                for side, message in asked
            )
        )
        if len(found) == 1 and all(isinstance(seen.answer, SeenError) for seen in found.values()):
            return None
        return found

    def hidden(self, belief: Belief) -> tuple[tuple[Any, Fraction], ...]:
        """Return each hidden state with its probability under x."""
        return tuple((self._states[number], _fraction(weight)) for number, weight in belief.p)

    def _steps(self, number: int, query: Any) -> list[Move]:
        key = (number, id(query))
        if key not in self._moves:
            self._queries[id(query)] = query
            self._moves[key] = self._enumerated(self._states[number], query)
        return self._moves[key]

    def _enumerated(self, state: Any, query: Any) -> list[Move]:
        try:
            outcomes = every_step(self.mechanism, state, query)
        except QueryError as error:
            outcomes = [(Fraction(1), (state, SeenError.of(error)))]
        return [self._move(*outcome) for outcome in outcomes]

    def _move(self, chance: Chance, outcome: tuple[Any, Any]) -> Move:
        state, answer = outcome
        return _exactly(chance), self._number(state), (hashable(answer), flags(answer)), answer

    def _number(self, state: Any) -> int:
        try:
            number = self._numbers.setdefault(state_key(state), len(self._states))
        except TypeError:  # it cannot be hashed
            number = len(self._states)
        if number == len(self._states):
            self._states.append(state)
        return number


def _exactly(chance: Chance) -> fmpq:
    if isinstance(chance, Interval):
        raise ValueError("give the mechanism rational odds; a draw has irrational probabilities")
    return fmpq(chance.numerator, chance.denominator)


_NOTHING = fmpq(0)
Taken: TypeAlias = Iterable[tuple[fmpq, Move]]


def _gathered(under_x: Taken, under_x_prime: Taken) -> dict[Hashable, Seen]:
    """Group weighted moves by answer; each weight is the probability of the state moved from."""
    answers: dict[Hashable, tuple[Hashable, Any]] = {}
    sides: tuple[dict[Hashable, dict[int, fmpq]], ...] = ({}, {})
    for side, taken in zip(sides, (under_x, under_x_prime), strict=True):
        for weight, (chance, number, (seen, kind), answer) in taken:
            first = answers.setdefault(seen, (kind, answer))
            if first[0] != kind:
                require_alike(first[1], answer)
            states = side.setdefault(seen, {})
            states[number] = states.get(number, _NOTHING) + weight * chance
    return {
        seen: Seen(answer, Belief(*(tuple(side.get(seen, {}).items()) for side in sides)))
        for seen, (_, answer) in answers.items()
    }
