"""The strongest adaptive adversary over a finite alphabet of queries, by recursion over beliefs.

Responsible for finding it, exactly, and for giving it back as a strategy that can be replayed and
read. Knows no compositor: launches and interleavings are queries like any other.

Theory of operation: after a public view the adversary's belief is how likely each hidden state is
under x and under x', together with the view. The divergences here are sums, over complete views, of
a function f(p, q) that is homogeneous, f(c*p, c*q) = c*f(p, q), so the value of a belief is that of
the belief divided by its mass, times the mass: equal normalised beliefs are solved once, whatever
led to them. A belief that one dataset rules out is not asked further: its term is settled.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from math import inf, log
from typing import Any, TypeAlias

import attrs

from queryable.audit.divergences import factor_below
from queryable.audit.enumeration import every_outcome, hashable, view_law
from queryable.errors import QueryError
from queryable.intervals import Chance, Interval
from queryable.mechanism import InteractiveMechanism, advance, begin
from queryable.numbers import exact, round_up
from queryable.view import View

Alphabet: TypeAlias = Sequence[Any] | Callable[[View], Sequence[Any]]
"""The queries the adversary may ask, fixed or depending on the public view so far."""


class Divergence(ABC):
    """A sum over views of a homogeneous function of the chances under x and under x'."""

    @abstractmethod
    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """What one complete view adds; from above where it is irrational."""

    @abstractmethod
    def value(self, total: Fraction) -> Fraction | float:
        """The divergence, of the sum of the terms."""


def _epsilon(value: Any) -> Fraction:
    return exact(value, "epsilon")


@attrs.frozen
class HockeyStick(Divergence):
    """The least delta at epsilon."""

    epsilon: Fraction = attrs.field(converter=_epsilon)

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """(p - e^epsilon q), where positive."""
        return max(Fraction(0), p - factor_below(self.epsilon) * q)

    def value(self, total: Fraction) -> Fraction:
        """The sum."""
        return total


@attrs.frozen
class Renyi(Divergence):
    """The Renyi divergence of an integer order above 1, whose terms are rational."""

    alpha: int = attrs.field(validator=attrs.validators.instance_of(int))

    @alpha.validator
    def _above_one(self, attribute: object, alpha: int) -> None:
        if not alpha > 1:
            raise ValueError(f"alpha is {alpha}; it should be an integer above 1")

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """p^alpha / q^(alpha-1)."""
        if p == 0:
            return p
        if q == 0:
            raise ZeroDivisionError
        return p**self.alpha / q ** (self.alpha - 1)

    def value(self, total: Fraction) -> Fraction:
        """Its logarithm over alpha - 1, from above."""
        return max(Fraction(0), round_up(lambda m: m.log() / (self.alpha - 1), total))


@attrs.frozen
class Settled(Divergence):
    """The chance under x of views that cannot occur under x'."""

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """All of it, or nothing."""
        return p if q == 0 else Fraction(0)

    def value(self, total: Fraction) -> Fraction:
        """The sum."""
        return total


@attrs.frozen
class Summed(Divergence):
    """A user's function of two laws that is a sum over views."""

    function: Callable[[Any, Any], Any]

    def term(self, p: Fraction, q: Fraction) -> Fraction:
        """The function of laws with a single view."""
        return Fraction(self.function({0: p}, {0: q}))

    def value(self, total: Fraction) -> Fraction:
        """The sum."""
        return total

    def require_sum(
        self,
        mechanism: InteractiveMechanism[Any],
        x: Any,
        x_prime: Any,
        strategy: "Strategy",
        total: Fraction,
    ) -> None:
        """Check the value against the function of the whole laws.

        Raises:
            ValueError: they differ, so the function is no sum over views.
        """
        whole = self.function(
            view_law(mechanism, x, strategy), view_law(mechanism, x_prime, strategy)
        )
        if not abs(Fraction(whole) - total) <= Fraction(1, 10**12):
            raise ValueError(
                "the divergence is not a sum over views; use HockeyStick(epsilon) or Renyi(alpha)"
            )


@attrs.frozen
class Node:
    """What the adversary asks after a view, and where each answer leads; None to stop."""

    query: Any = None
    branches: "tuple[tuple[Hashable, Node], ...]" = ()

    def after(self, answer: Hashable) -> "Node":
        """The node that an answer leads to; a stop where the adversary never expected it."""
        return next((node for seen, node in self.branches if seen == answer), Node())


@attrs.frozen
class Strategy:
    """A deterministic adversary as a tree; call it with a view, or print it."""

    root: Node

    def __call__(self, view: View) -> Any:
        """The next query, or None."""
        node = self.root
        for answer in (view.opening, *view.answers):
            node = node.after(hashable(answer))
        return node.query

    def __str__(self) -> str:
        return "\n".join(_lines(self.root, ""))


def _lines(node: Node, indent: str) -> Iterator[str]:
    for answer, below in node.branches:
        asked = "stop" if below.query is None else f"ask {below.query!r}"
        yield f"{indent}{answer!r} -> {asked}"
        yield from _lines(below, indent + "  ")


@attrs.frozen
class WorstCase:
    """The largest divergence that an adversary can reach, and one that reaches it."""

    value: Fraction | float
    adversary: Strategy
    beliefs: int


Weights: TypeAlias = tuple[tuple[Any, Fraction], ...]


@attrs.frozen
class Belief:
    """Hidden states and their chances, jointly with what was seen, under x and under x'."""

    p: Weights
    q: Weights

    @property
    def mass(self) -> tuple[Fraction, Fraction]:
        """The chance of what was seen, under x and under x'."""
        return _total(self.p), _total(self.q)

    def scaled(self, factor: Fraction) -> "Belief":
        """All chances times a factor."""
        return Belief(_times(self.p, factor), _times(self.q, factor))


def _total(weights: Weights) -> Fraction:
    return sum((weight for _, weight in weights), Fraction(0))


def _times(weights: Weights, factor: Fraction) -> Weights:
    return tuple((state, weight * factor) for state, weight in weights)


Solved: TypeAlias = tuple[Fraction, int, Node]
"""The value of a normalised belief, in how many queries, and how; equal beliefs share a node."""


@attrs.define
class _Search:
    mechanism: InteractiveMechanism[Any]
    queries: Alphabet
    divergence: Divergence
    limit: float = inf
    progress: Callable[[int], object] | None = None
    solved: "dict[Hashable, Solved]" = attrs.field(factory=dict)
    met_again: bool = False

    def solve(self, belief: Belief, view: View, rounds: int) -> Solved:
        """The most that a belief can add to the divergence in so many rounds, and how."""
        mass = sum(belief.mass, Fraction(0))
        value, asked, node = self._solve(belief.scaled(1 / mass), view, rounds)
        return mass * value, asked, node

    def _solve(self, belief: Belief, view: View, rounds: int) -> Solved:
        key = self._key(belief, view, rounds)
        if key in self.solved:
            self.met_again = True
            return self.solved[key]
        if len(self.solved) >= self.limit:
            raise ValueError(f"more than {self.limit} beliefs; raise limit= or lower the horizon")
        best: Solved = (self.divergence.term(*belief.mass), 0, Node())
        if rounds and belief.p and belief.q:
            queries = self.queries(view) if callable(self.queries) else self.queries
            for query in queries:
                after = _answers(self.mechanism, belief, query)
                if after is None:
                    continue
                later = {
                    answer: self.solve(each, view.then(query, answer), rounds - 1)
                    for answer, each in after.items()
                }
                value, asked = _total_of(later.values())
                if (value, -asked - 1) > (best[0], -best[1]):  # as good in fewer queries is better
                    best = (value, asked + 1, Node(query, _nodes(later)))
        self.solved[key] = best
        if self.progress is not None:
            self.progress(len(self.solved))
        return best

    def solve_all(self, start: dict[Hashable, Belief], rounds: int) -> Solved:
        """The same from the start, where each opening is one belief."""
        solved = {seen: self.solve(each, View(seen), rounds) for seen, each in start.items()}
        return *_total_of(solved.values()), Node(branches=_nodes(solved))

    def _key(self, belief: Belief, view: View, rounds: int) -> Hashable:
        public = (view.opening, *view.exchanges) if callable(self.queries) else None
        try:
            return (rounds, frozenset(belief.p), frozenset(belief.q), hashable(public))
        except TypeError:  # a state that cannot be hashed is like no other
            return object()


def _nodes(solved: dict[Hashable, Solved]) -> tuple[tuple[Hashable, Node], ...]:
    return tuple((answer, node) for answer, (*_, node) in solved.items())


def _total_of(solved: Iterable[Solved]) -> tuple[Fraction, int]:
    """The value of all together, and the most queries that one of them takes."""
    values, asked, _ = zip(*solved, strict=True)
    return sum(values, Fraction(0)), max(asked)


def _answers(
    mechanism: InteractiveMechanism[Any], belief: Belief, query: Any
) -> dict[Hashable, Belief] | None:
    """The belief after each answer; None where the query is wrong in every state."""
    sides = [_spread(mechanism, weights, query) for weights in (belief.p, belief.q)]
    answers = dict.fromkeys((*sides[0], *sides[1]))
    if all(isinstance(answer, _Wrong) for answer in answers):
        return None
    return {
        answer: Belief(*(_merged(side.get(answer, ())) for side in sides)) for answer in answers
    }


@attrs.frozen
class _Wrong:
    """A query error, as something that is seen."""

    text: str


def _spread(
    mechanism: InteractiveMechanism[Any], weights: Weights, query: Any
) -> dict[Hashable, list[tuple[Any, Fraction]]]:
    spread: dict[Hashable, list[tuple[Any, Fraction]]] = {}
    for state, weight in weights:
        try:
            outcomes = every_outcome(partial(_advanced, mechanism, state, query))
        except QueryError as error:
            outcomes = [(Fraction(1), (state, _Wrong(f"{type(error).__name__}: {error}")))]
        for chance, (after, answer) in outcomes:
            spread.setdefault(hashable(answer), []).append((after, weight * _exactly(chance)))
    return spread


def _exactly(chance: Chance) -> Fraction:
    if isinstance(chance, Interval):
        raise ValueError("a draw has irrational probabilities; give the mechanism rational odds")
    return chance


def _advanced(mechanism: InteractiveMechanism[Any], state: Any, query: Any, coins: Any) -> Any:
    return advance(mechanism, state, query, coins, 0)


def _merged(weights: Sequence[tuple[Any, Fraction]]) -> Weights:
    merged: dict[Any, Fraction] = {}
    try:
        for state, weight in weights:
            merged[state] = merged.get(state, Fraction(0)) + weight
    except TypeError:
        return tuple(weights)
    return tuple(merged.items())


def worst_case(
    mechanism: InteractiveMechanism[Any],
    x: Any,
    x_prime: Any,
    queries: Alphabet,
    horizon: int,
    divergence: Divergence | Callable[[Any, Any], Any],
    *,
    limit: int = 200_000,
    progress: Callable[[int], object] | None = None,
) -> WorstCase:
    """The largest divergence of the views on x and x', over all adaptive adversaries.

    Exact: probabilities are Fractions, and only what the divergence itself rounds is rounded.

    Args:
        queries: what may be asked at every point, launches included; or a function of the view so
            far. Queries that are wrong in a state are not asked there. A function makes every view
            a case of its own: nothing is solved once for two views.
        horizon: how many queries.
        divergence: `HockeyStick(epsilon)`, `Renyi(alpha)` of an integer order, or a function of two
            laws that is a sum over views, such as `lambda p, q: hockey_stick(p, q, 1)`. One that is
            no such sum is found out and refused.
        limit: how many beliefs may be solved; more are refused, after an estimate.
        progress: told how many beliefs have been solved.

    Raises:
        ValueError: too large, infinite support, irrational probabilities, or no sum over views.
    """
    measure = divergence if isinstance(divergence, Divergence) else Summed(divergence)
    start = _openings(mechanism, x, x_prime)
    _require_feasible(_Search(mechanism, queries, Settled()), start, horizon, limit)
    search = _Search(mechanism, queries, measure, limit, progress)
    try:
        total, _, root = search.solve_all(start, horizon)
    except ZeroDivisionError:  # some view has no chance under x'
        search = _Search(mechanism, queries, Settled(), limit, progress)
        *_, root = search.solve_all(start, horizon)
        return WorstCase(inf, Strategy(root), len(search.solved))
    value, strategy = measure.value(total), Strategy(root)
    if isinstance(measure, Summed):
        measure.require_sum(mechanism, x, x_prime, strategy, total)
    return WorstCase(value, strategy, len(search.solved))


def _openings(mechanism: InteractiveMechanism[Any], x: Any, x_prime: Any) -> dict[Hashable, Belief]:
    sides: list[dict[Hashable, list[tuple[Any, Fraction]]]] = []
    for dataset in (x, x_prime):
        side: dict[Hashable, list[tuple[Any, Fraction]]] = {}
        for chance, outcome in every_outcome(partial(begin, mechanism, dataset)):
            side.setdefault(hashable(outcome[1]), []).append((outcome[0], _exactly(chance)))
        sides.append(side)
    seen = dict.fromkeys((*sides[0], *sides[1]))
    return {each: Belief(*(_merged(side.get(each, ())) for side in sides)) for each in seen}


_LOOKAHEAD = 3


def _require_feasible(
    search: _Search, start: dict[Hashable, Belief], horizon: int, limit: int
) -> None:
    """Refuse a search that is too large, judging by its first rounds.

    Beliefs multiply by about the same factor a round; where equal ones are met again their number
    grows like a power of the round instead.
    """
    if horizon <= _LOOKAHEAD:
        return
    counts = []
    for rounds in (_LOOKAHEAD - 1, _LOOKAHEAD):
        trial = attrs.evolve(search, solved={}, limit=limit)
        trial.solve_all(start, rounds)
        counts.append(len(trial.solved))
    growth = counts[1] / counts[0]
    if trial.met_again:
        estimate = counts[1] * (horizon / _LOOKAHEAD) ** (log(growth) / log(1.5))
    else:
        estimate = counts[1] * growth ** (horizon - _LOOKAHEAD)
    if not estimate <= limit:
        raise ValueError(
            f"about {estimate:.2g} beliefs at horizon {horizon}, above limit={limit}; lower the "
            "horizon, shorten the alphabet, or raise the limit"
        )
