"""What an adversary believes about the hidden state, and what answers do to it.

Responsible for one step of Bayes, exactly. Knows no divergence and no search.

A belief is how likely each hidden state is under x and under x', jointly with what was seen. States
are known by number: a state is hashed once, and each of its steps is enumerated once, however many
beliefs it occurs in. A state that cannot be hashed is like no other, not even itself; that costs
time, and changes no result. Chances are flint's rationals here, which are some ten times as fast
as Python's.
"""

from collections.abc import Hashable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import attrs
from flint import fmpq

from queryable.audit.enumeration import Wrong, every_outcome, every_step
from queryable.audit.keys import flags, hashable, require_alike
from queryable.errors import QueryError
from queryable.intervals import Chance, Interval
from queryable.mechanism import InteractiveMechanism, begin

Weights: TypeAlias = tuple[tuple[int, fmpq], ...]
"""The numbers of states and their chances."""


@attrs.frozen
class Belief:
    """Hidden states and their chances, jointly with what was seen, under x and under x'."""

    p: Weights
    q: Weights

    @property
    def mass(self) -> tuple[Fraction, Fraction]:
        """The chance of what was seen, under x and under x'."""
        return _total(self.p), _total(self.q)

    def over(self, mass: Fraction) -> "Belief":
        """All chances divided by a mass."""
        factor = fmpq(mass.denominator, mass.numerator)
        return Belief(_times(self.p, factor), _times(self.q, factor))

    @property
    def key(self) -> Hashable:
        """The same for equal beliefs."""
        return _spelt(self.p), _spelt(self.q)


def _total(weights: Weights) -> Fraction:
    total = sum((weight for _, weight in weights), _NOTHING)
    return Fraction(int(total.p), int(total.q))


def _spelt(weights: Weights) -> Hashable:
    """In integers, whose hash is cheap."""
    return frozenset((number, int(weight.p), int(weight.q)) for number, weight in weights)


def _times(weights: Weights, factor: fmpq) -> Weights:
    return tuple((state, weight * factor) for state, weight in weights)


@attrs.frozen
class Seen:
    """An answer as it was given, and the belief that it leaves."""

    answer: Any
    belief: Belief


Move: TypeAlias = tuple[fmpq, int, tuple[Hashable, Hashable], Any]
"""The chance of a step's outcome, the state after it, the answer's key and flags, the answer."""


@attrs.define
class Machine:
    """A mechanism whose states are numbered and whose steps are remembered."""

    mechanism: InteractiveMechanism[Any]
    _states: list[Any] = attrs.field(factory=list)
    _numbers: dict[Any, int] = attrs.field(factory=dict)
    _queries: dict[int, Any] = attrs.field(factory=dict)  # alive, so that no id is used again
    _moves: dict[tuple[int, int], list[Move]] = attrs.field(factory=dict)

    def start(self, x: Any, x_prime: Any) -> dict[Hashable, Seen]:
        """The belief after each opening answer."""
        sides = []
        for dataset in (x, x_prime):
            begun = every_outcome(partial(begin, self.mechanism, dataset))
            sides.append([(fmpq(1), self._move(*each)) for each in begun])
        return _gathered(*sides)

    def after(self, belief: Belief, query: Any) -> dict[Hashable, Seen] | None:
        """The belief after each answer; None where the query is wrong, and nothing is learnt."""
        sides = (
            [(weight, move) for state, weight in side for move in self._steps(state, query)]
            for side in (belief.p, belief.q)
        )
        found = _gathered(*sides)
        if len(found) == 1 and all(isinstance(seen.answer, Wrong) for seen in found.values()):
            return None
        return found

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
            outcomes = [(Fraction(1), (state, Wrong.of(error)))]
        return [self._move(*outcome) for outcome in outcomes]

    def _move(self, chance: Chance, outcome: tuple[Any, Any]) -> Move:
        state, answer = outcome
        return _exactly(chance), self._number(state), (hashable(answer), flags(answer)), answer

    def _number(self, state: Any) -> int:
        try:
            number = self._numbers.setdefault(state, len(self._states))
        except TypeError:  # it cannot be hashed
            number = len(self._states)
        if number == len(self._states):
            self._states.append(state)
        return number


def _exactly(chance: Chance) -> fmpq:
    if isinstance(chance, Interval):
        raise ValueError("a draw has irrational probabilities; give the mechanism rational odds")
    return fmpq(chance.numerator, chance.denominator)


_NOTHING = fmpq(0)
Taken: TypeAlias = Iterable[tuple[fmpq, Move]]


def _gathered(under_x: Taken, under_x_prime: Taken) -> dict[Hashable, Seen]:
    """Moves, each with the chance of where it starts, by what they answer."""
    answers: dict[Hashable, tuple[Hashable, Any]] = {}
    sides: tuple[dict[Hashable, dict[int, fmpq]], ...] = ({}, {})
    for side, taken in zip(sides, (under_x, under_x_prime), strict=True):
        for weight, (chance, number, (seen, said), answer) in taken:
            first = answers.setdefault(seen, (said, answer))
            if first[0] != said:
                require_alike(first[1], answer)
            states = side.setdefault(seen, {})
            states[number] = states.get(number, _NOTHING) + weight * chance
    return {
        seen: Seen(answer, Belief(*(tuple(side.get(seen, {}).items()) for side in sides)))
        for seen, (_, answer) in answers.items()
    }
