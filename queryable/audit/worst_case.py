"""The strongest adaptive adversary over a finite alphabet of queries, by recursion over beliefs.

Responsible for finding it, exactly, and for giving it back as a strategy that can be replayed and
read. Knows no compositor: launches and interleavings are queries like any other.

Theory of operation: after a public view the adversary's belief is how likely each hidden state is
under x and under x', together with the view. The divergences here are sums, over complete views, of
a function f(p, q) that is homogeneous, f(c*p, c*q) = c*f(p, q), so the value of a belief is that of
the belief divided by its mass, times the mass; or the largest p/q, which no mass changes.

What is solved once: a normalised belief with so many rounds left. That is the key of the memory,
and it is all that the rest of the interaction depends on: not the view that led there, unless the
alphabet is a function of the view, which then is part of the key. So interleavings that lead to
equal beliefs are not told apart, and where answers are noisy readings of few hidden bits, beliefs
grow like a power of the horizon, not exponentially.

What is not searched: a belief that one dataset rules out. Its term is settled, because f(p, 0) and
f(0, q) are linear, whatever is asked next. A query that is wrong in every state of a belief is not
asked there. Nothing else is cut: the value is the supremum over all deterministic adversaries, and
by convexity over all that toss coins.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from math import exp, inf, log
from typing import Any, TypeAlias

import attrs

from queryable.audit.beliefs import Belief, Machine, Seen
from queryable.audit.enumeration import view_law
from queryable.audit.keys import hashable
from queryable.audit.objectives import Divergence, Settled, Summed, Unbounded
from queryable.audit.strategies import Node, Strategy
from queryable.mechanism import InteractiveMechanism
from queryable.numbers import natural
from queryable.view import View

Alphabet: TypeAlias = Sequence[Any] | Callable[[View], Sequence[Any]]
"""The queries the adversary may ask, fixed or depending on the public view so far."""


@attrs.frozen
class WorstCase:
    """The largest divergence that an adversary can reach, and one that reaches it."""

    value: Fraction | float
    adversary: Strategy
    beliefs: int
    never_legal: tuple[Any, ...] = ()
    """Queries of a fixed alphabet that were wrong wherever they were offered."""


Solved: TypeAlias = tuple[Fraction, int, Node]
"""The value of a normalised belief, in how many queries, and how; equal beliefs share a node."""


@attrs.define
class _Search:
    machine: Machine
    queries: Alphabet
    divergence: Divergence
    limit: float = inf
    progress: Callable[[int], object] | None = None
    solved: dict[tuple[int, Hashable, Hashable], Solved] = attrs.field(factory=dict)
    offered: set[int] = attrs.field(factory=set)  # places in the alphabet
    legal: set[int] = attrs.field(factory=set)
    met_again: bool = False

    def run(self, start: dict[Hashable, Seen], rounds: int) -> tuple[Fraction, Node]:
        """The value from the start, and the adversary: each opening is one belief."""
        solved = {
            key: self.solve(seen.belief, View(seen.answer), rounds) for key, seen in start.items()
        }
        value, _ = self._together(solved.values())
        return value, Node(branches=_branches(solved))

    def solve(self, belief: Belief, view: View, rounds: int) -> Solved:
        """The most that a belief can add to the divergence in so many rounds, and how."""
        p, q = belief.mass
        if not rounds or not p or not q:  # there is no more to ask, or no more to learn
            return self.divergence.term(p, q), 0, Node()
        mass = p + q
        value, asked, node = self._solve(belief.over(mass), view, rounds)
        return mass * value if self.divergence.additive else value, asked, node

    def _solve(self, belief: Belief, view: View, rounds: int) -> Solved:
        key = (rounds, belief.key, self._public(view))
        if key in self.solved:
            self.met_again = True
            return self.solved[key]
        if len(self.solved) >= self.limit:
            raise ValueError(f"more than {self.limit} beliefs; raise limit= or lower the horizon")
        best: Solved = (self.divergence.term(*belief.mass), 0, Node())
        for place, query in enumerate(self._offered(view)):
            answers = self.machine.after(belief, query)
            self.offered.add(place)
            if answers is None:
                continue
            self.legal.add(place)
            later = {
                key: self.solve(seen.belief, view.then(query, seen.answer), rounds - 1)
                for key, seen in answers.items()
            }
            value, asked = self._together(later.values())
            if (value, -asked - 1) > (best[0], -best[1]):  # as good in fewer queries is better
                best = (value, asked + 1, Node(query, _branches(later)))
        self.solved[key] = best
        if self.progress is not None:
            self.progress(len(self.solved))
        return best

    def _together(self, solved: Iterable[Solved]) -> tuple[Fraction, int]:
        """The value of all answers, and the most queries that one of them takes."""
        values, asked, _ = zip(*solved, strict=True)
        value = sum(values, Fraction(0)) if self.divergence.additive else max(values)
        return value, max(asked)

    def _offered(self, view: View) -> Sequence[Any]:
        queries = self.queries(view) if callable(self.queries) else self.queries
        if any(query is None for query in queries):
            raise ValueError("None is no query: it is how an adversary stops")
        return queries

    def _public(self, view: View) -> Hashable:
        """What of the view decides what may be asked."""
        return hashable((view.opening, *view.exchanges)) if callable(self.queries) else None


def _branches(solved: dict[Hashable, Solved]) -> tuple[tuple[Hashable, Node], ...]:
    return tuple((answer, node) for answer, (*_, node) in solved.items())


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

    Exact: probabilities are Fractions, and only what the divergence itself rounds is rounded. One
    direction; swap x and x' for the other.

    Args:
        queries: what may be asked at every point, launches included; or a function of the view so
            far. Queries that are wrong in a state are not asked there. A function makes every view
            a case of its own: nothing is solved once for two views.
        horizon: how many queries.
        divergence: `HockeyStick(epsilon)`, `Renyi(alpha)`, `MaxDivergence()`, or a function of two
            laws that is a sum over views, such as `lambda p, q: hockey_stick(p, q, 1)`. One that is
            no such sum is found out and refused.
        limit: how many beliefs may be solved; more are refused, after an estimate.
        progress: told how many beliefs have been solved.

    Raises:
        ValueError: too large, infinite support, irrational probabilities, or no sum over views.
    """
    machine = Machine(mechanism)
    return worst_of(machine, x, x_prime, queries, horizon, divergence, limit, progress)


def worst_of(
    machine: Machine,
    x: Any,
    x_prime: Any,
    queries: Alphabet,
    horizon: int,
    divergence: Divergence | Callable[[Any, Any], Any],
    limit: int,
    progress: Callable[[int], object] | None,
) -> WorstCase:
    """`worst_case` of a machine that may have been searched before, and remembers its steps."""
    measure = divergence if isinstance(divergence, Divergence) else Summed(divergence)
    rounds = natural(horizon, "horizon")
    if not callable(queries):
        queries = tuple(queries)  # an iterator would be empty the second time
    start = machine.start(x, x_prime)
    _require_feasible(_Search(machine, queries, Settled(), limit), start, rounds)
    search = _Search(machine, queries, measure, limit, progress)
    try:
        total, root = search.run(start, rounds)
        value = measure.value(total)
    except Unbounded:  # some view has no chance under x'
        search = _Search(machine, queries, Settled(), limit, progress)
        _, root = search.run(start, rounds)
        value = inf
    strategy = Strategy(root)
    if isinstance(measure, Summed):
        p, q = (view_law(machine.mechanism, each, strategy, errors=True) for each in (x, x_prime))
        measure.require_sum(p, q, value)
    places = enumerate(() if callable(queries) else queries)
    vain = tuple(query for place, query in places if place in search.offered - search.legal)
    return WorstCase(value, strategy, len(search.solved), vain)


_DEEPEST = 200  # each round is some frames of Python's stack
_ENOUGH = 300


def _require_feasible(search: _Search, start: dict[Hashable, Seen], horizon: int) -> None:
    """Refuse a search that is too large, judging by as many rounds as make some hundred beliefs.

    Raises:
        ValueError: it is, by the estimate; or it goes too deep.
    """
    if horizon > _DEEPEST:
        raise ValueError(f"horizon is {horizon}; it should be at most {_DEEPEST}")
    rounds, trial = 2, search
    while len(trial.solved) < _ENOUGH:
        rounds += 1 + rounds // 4
        if rounds >= horizon:
            return
        trial = attrs.evolve(search, solved={}, offered=set(), legal=set())
        trial.run(start, rounds)
    estimate = _extrapolated(trial, rounds, horizon)
    if not estimate <= search.limit:
        raise ValueError(
            f"about {estimate:.2g} beliefs at horizon {horizon}, above limit={search.limit}; lower "
            "the horizon, shorten the alphabet, or raise the limit"
        )


def _extrapolated(trial: _Search, rounds: int, horizon: int) -> float:
    """How many beliefs there will be, by how they grew from the last round but one to the last.

    By about the same factor a round; where equal ones were met again, like a power of the round.
    """
    left = Counter(rounds_left for rounds_left, *_ in trial.solved)
    last, before = left[1], left[2]
    growth = log(max(1.0, last / before)) if before else 0.0
    depths = range(rounds + 1, horizon + 1)
    if trial.met_again:
        power = growth / log(rounds / (rounds - 1))
        more = (power * log(depth / rounds) for depth in depths)
    else:
        more = (growth * (depth - rounds) for depth in depths)
    return len(trial.solved) + last * sum(exp(min(each, 600.0)) for each in more)
