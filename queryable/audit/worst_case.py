"""The strongest adaptive adversary over a finite alphabet of queries, by recursion over beliefs.

The search is exact. It returns the adversary as a strategy that can be replayed and printed. It
does not depend on compositors: launches and interleavings are ordinary queries.

Beliefs: after a public view, the adversary's belief is the joint probability of the view and each
hidden state, under x and under x'. A divergence here is a sum over complete views of a homogeneous
function f(p, q), with f(c*p, c*q) = c*f(p, q). Hence the value of a belief is its mass times the
value of the normalised belief. The other divergence is the largest p/q, which does not depend on
the mass.

Caching: each pair (normalised belief, rounds left) is solved once. The rest of the interaction
depends on this pair only. If the alphabet is a function of the view, the view is part of the cache
key. Interleavings that lead to equal beliefs share an entry. If answers are noisy readings of a few
hidden bits, the number of beliefs grows polynomially in the horizon, not exponentially.

Streams: a `Pair` sends different messages under x and x'. At most `differing` of them are sent on
any path, and the number that is left is part of the cache key. Different initial datasets count as
one of them.

Pruning: a belief that is impossible under one dataset is not searched. Its term is final, because
f(p, 0) and f(0, q) are linear, whatever is asked next. A query that is wrong in every state of a
belief is skipped. Nothing else is pruned. The value is the supremum over all deterministic
adversaries, and by convexity over all randomized ones.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from math import exp, inf, log
from typing import Any, TypeAlias

import attrs

from queryable.audit.beliefs import Belief, Machine, Seen
from queryable.audit.objectives import Divergence, Settled, Summed, Unbounded
from queryable.audit.views.keys import hashable
from queryable.audit.views.pairs import Pair
from queryable.audit.views.scripts import snapshot
from queryable.audit.views.strategies import Strategy, StrategyNode
from queryable.audit.views.view_laws import view_law
from queryable.losses.numbers import natural, several
from queryable.mechanism import InteractiveMechanism
from queryable.view import View

Alphabet: TypeAlias = Sequence[Any] | Callable[[View], Sequence[Any]]
"""The queries that the adversary may ask: a fixed sequence, or a function of the view so far."""


@attrs.frozen
class WorstCase:
    """The largest divergence over adversaries, and an adversary that reaches it."""

    value: Fraction | float
    adversary: Strategy
    beliefs: int
    never_legal: tuple[Any, ...] = ()
    """Queries of a fixed alphabet that were wrong at every point of the search."""


Solved: TypeAlias = tuple[Fraction, int, StrategyNode]
"""(value, number of queries, strategy) of a normalised belief; equal beliefs share a node."""


@attrs.define
class _Search:
    machine: Machine
    queries: Alphabet
    divergence: Divergence
    limit: float = inf
    progress: Callable[[int], object] | None = None
    pairs: int = 0  # how many differing pairs the adversary may send
    solved: dict[tuple[int, int, Hashable, Hashable], Solved] = attrs.field(factory=dict)
    offered: set[int] = attrs.field(factory=set)  # indices into the alphabet
    legal: set[int] = attrs.field(factory=set)
    met_again: bool = False

    def run(self, start: dict[Hashable, Seen], rounds: int) -> tuple[Fraction, StrategyNode]:
        """Return the total and the strategy, given the belief after each opening answer."""
        solved = {
            key: self.solve(seen.belief, View(seen.answer), rounds, self.pairs)
            for key, seen in start.items()
        }
        value, _ = self._together(solved.values())
        return value, StrategyNode(branches=_branches(solved))

    def solve(self, belief: Belief, view: View, rounds: int, pairs: int) -> Solved:
        """Return the largest contribution of a belief in `rounds` queries, and its strategy."""
        p, q = belief.mass
        if not rounds or not p or not q:  # no rounds left, or one dataset is ruled out
            return self.divergence.term(p, q), 0, StrategyNode()
        mass = p + q
        value, asked, node = self._solve(belief.over(mass), view, rounds, pairs)
        return mass * value if self.divergence.additive else value, asked, node

    def _solve(self, belief: Belief, view: View, rounds: int, pairs: int) -> Solved:
        key = (rounds, pairs, belief.key, self._public(view))
        if key in self.solved:
            self.met_again = True
            return self.solved[key]
        if len(self.solved) >= self.limit:
            raise ValueError(f"more than {self.limit} beliefs; raise limit= or lower the horizon")
        best: Solved = (self.divergence.term(*belief.mass), 0, StrategyNode())
        for place, query in enumerate(self._offered(view)):
            left = pairs - isinstance(query, Pair)
            if left < 0:
                continue
            answers = self.machine.after(belief, query)
            self.offered.add(place)
            if answers is None:
                continue
            self.legal.add(place)
            later = {
                key: self.solve(seen.belief, view.then(query, seen.answer), rounds - 1, left)
                for key, seen in answers.items()
            }
            value, asked = self._together(later.values())
            if (value, -asked - 1) > (best[0], -best[1]):  # ties go to fewer queries
                best = (value, asked + 1, StrategyNode(query, _branches(later)))
        self.solved[key] = best
        if self.progress is not None:
            self.progress(len(self.solved))
        return best

    def _together(self, solved: Iterable[Solved]) -> tuple[Fraction, int]:
        """Return the combined value of all answers, and their largest number of queries."""
        values, asked, _ = zip(*solved, strict=True)
        value = sum(values, Fraction(0)) if self.divergence.additive else max(values)
        return value, max(asked)

    def _offered(self, view: View) -> Sequence[Any]:
        queries = self.queries(view) if callable(self.queries) else self.queries
        if any(query is None for query in queries):
            raise ValueError("remove None from the queries; an adversary returns None to stop")
        return queries

    def _public(self, view: View) -> Hashable:
        """Return the part of the view that determines the alphabet."""
        return hashable((view.opening, *view.exchanges)) if callable(self.queries) else None


def _branches(solved: dict[Hashable, Solved]) -> tuple[tuple[Hashable, StrategyNode], ...]:
    return tuple((answer, node) for answer, (*_, node) in solved.items())


def worst_case(
    mechanism: InteractiveMechanism[Any],
    x: Any,
    x_prime: Any,
    queries: Alphabet,
    horizon: int,
    divergence: Divergence | Callable[[Any, Any], Any],
    *,
    differing: int = 1,
    limit: int = 200_000,
    progress: Callable[[int], object] | None = None,
) -> WorstCase:
    """Return the largest divergence of the views on x and x', over all adaptive adversaries.

    The search is exact: probabilities are Fractions, and only the divergence itself rounds. It
    covers one direction; swap x and x', and both messages of each `Pair`, for the other.

    Args:
        x, x_prime: the initial datasets. For streams that differ in a later message, they are
            equal.
        queries: the queries that may be asked at every point, including launches, updates and
            `Pair(under_x, under_x_prime)`; or a function of the view so far. Queries that are wrong
            in every state of a belief are skipped. With a function, every view is searched
            separately, which is slower.
        horizon: the largest number of queries, updates included.
        divergence: `HockeyStick(epsilon)`, `Renyi(alpha)`, `MaxDivergence()`, or a function of two
            laws that is a sum over views, such as `lambda p, q: hockey_stick(p, q, 1)`. Other
            functions are detected and refused.
        differing: the largest number of places in which the streams differ: pairs that are sent,
            and one if x and x' differ.
        limit: the largest number of beliefs to solve. A larger search is refused, by an estimate.
        progress: called with the number of beliefs solved so far.

    Raises:
        ValueError: the search is too large, a draw has infinite support or irrational
            probabilities, or the function is not a sum over views.
    """
    machine = Machine(mechanism)
    return worst_of(machine, x, x_prime, queries, horizon, divergence, differing, limit, progress)


def worst_of(
    machine: Machine,
    x: Any,
    x_prime: Any,
    queries: Alphabet,
    horizon: int,
    divergence: Divergence | Callable[[Any, Any], Any],
    differing: int,
    limit: int,
    progress: Callable[[int], object] | None,
) -> WorstCase:
    """`worst_case` for a `Machine`, whose cached steps may be shared with earlier searches."""
    measure = divergence if isinstance(divergence, Divergence) else Summed(divergence)
    rounds = natural(horizon, "horizon")
    if not callable(queries):
        queries = tuple(several(queries, "queries"))  # an iterator would be empty the second time
    pairs = _pairs(x, x_prime, queries, natural(differing, "differing"))
    start = machine.start(x, x_prime)
    _require_feasible(_Search(machine, queries, Settled(), limit, pairs=pairs), start, rounds)
    search = _Search(machine, queries, measure, limit, progress, pairs)
    try:
        total, root = search.run(start, rounds)
        value = measure.value(total)
    except Unbounded:  # some view is impossible under x'
        search = _Search(machine, queries, Settled(), limit, progress, pairs)
        _, root = search.run(start, rounds)
        value = inf
    strategy = Strategy(root)
    if isinstance(measure, Summed):
        p, q = (
            view_law(machine.mechanism, dataset, strategy, errors=True, side=side)
            for side, dataset in enumerate((x, x_prime))
        )
        measure.require_sum(p, q, value)
    places = enumerate(() if callable(queries) else queries)
    illegal = tuple(
        query
        for place, query in places
        if place not in search.legal and (place in search.offered or isinstance(query, Pair))
    )
    return WorstCase(value, strategy, len(search.solved), illegal)


def _pairs(x: Any, x_prime: Any, queries: Alphabet, differing: int) -> int:
    """How many differing pairs may be sent; different initial datasets count as one."""
    if not (callable(queries) or any(isinstance(query, Pair) for query in queries)):
        return 0
    alike = x is x_prime or snapshot(x) == snapshot(x_prime)
    return differing if alike else max(differing - 1, 0)


_DEEPEST = 200  # each round uses several frames of Python's stack
_ENOUGH = 300


def _require_feasible(search: _Search, start: dict[Hashable, Seen], horizon: int) -> None:
    """Refuse a search that is too large, by extrapolating from one with at least 300 beliefs.

    Raises:
        ValueError: the estimate exceeds the limit, or the horizon exceeds 200.
    """
    if horizon > _DEEPEST:
        raise ValueError(f"horizon should be at most {_DEEPEST}; it is {horizon}")
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
    """Estimate the number of beliefs from the growth between the last two rounds of the trial.

    The growth is geometric; if equal beliefs recurred, it is a power of the round.
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
