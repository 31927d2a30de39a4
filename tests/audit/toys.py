"""Finite mechanisms with rational probabilities, and exact worst cases over all adversaries.

A dataset is a bit, or a tuple of records with a function to a bit. Every probability is a Fraction,
and every relevant e^epsilon is a rational `odds`, so the tests compare with `==`.
"""

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from math import inf, prod
from random import Random
from typing import Any

import attrs
from flint import arb, fmpq

from composition.rules import Accumulator, Rule, RunningAccount
from queryable import (
    SYSTEM,
    ApproxDP,
    Ask,
    Coins,
    FromAnalyst,
    FromMechanism,
    InteractiveMechanism,
    Launched,
    Loss,
    Measurement,
    PersonInTheMiddle,
    PureDP,
    QueryError,
    Refused,
    ToAnalyst,
    ToMechanism,
    UnknownQueryError,
)
from queryable.audit import Pair, every_outcome, hashable
from queryable.conversation.stepping import advance, begin
from queryable.losses.conversions import log_up
from queryable.losses.numbers import round_down
from queryable.randomness.laws import Bernoulli
from queryable.view import Adversary, View

F = Fraction
Message = FromAnalyst | FromMechanism
Reply = ToMechanism | ToAnalyst


def nats(odds: Any) -> Fraction:
    """log(odds), rounded up."""
    return log_up(F(odds))


def odds_below(epsilon: Fraction) -> Fraction:
    """A short rational slightly below e^epsilon; a smaller factor makes a test stricter."""
    return F(int(round_down(arb.exp, epsilon) * 10**30), 10**30)


def yes(odds: Fraction) -> Bernoulli:
    """A coin that is True at these odds."""
    return Bernoulli(odds / (1 + odds))


# Mechanisms.


@attrs.frozen
class Response(Measurement):
    """Randomized response to a bit of the data; with probability `delta` it reveals the bit.

    Its loss is flat in d_in: at most the bit changes. With `stated` odds below `odds` it claims
    less than its loss.
    """

    odds: Fraction = attrs.field(default=F(3), converter=F)
    delta: Fraction = attrs.field(default=F(0), converter=F, kw_only=True)
    bit: Callable[[Any], Any] = attrs.field(default=bool, kw_only=True)
    stated: Any = attrs.field(default=None, kw_only=True)

    def loss(self, d_in: int) -> Loss:
        epsilon = nats(self.odds if self.stated is None else self.stated)
        return ApproxDP(epsilon, self.delta) if self.delta else PureDP(epsilon)

    def release(self, dataset: Any, coins: Coins) -> Any:
        bit = bool(self.bit(dataset))
        if self.delta and coins.draw(Bernoulli(self.delta)):
            return ("sure", bit)
        return coins.draw(yes(self.odds)) == bit


@attrs.frozen
class PadReveal(InteractiveMechanism[tuple[bool, bool]]):
    """Keeps a randomized response B and a fair coin K; "key" answers K, and "sum" B xor K.

    Each answer alone is a fair coin, so the second answer causes the whole loss.
    """

    odds: Fraction = attrs.field(default=F(3), converter=F)
    stated: Any = attrs.field(default=None, kw_only=True)
    bit: Callable[[Any], Any] = attrs.field(default=bool, kw_only=True)

    def loss(self, d_in: int) -> Loss:
        return PureDP(nats(self.odds if self.stated is None else self.stated))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[tuple[bool, bool], Any]:
        hidden = coins.draw(yes(self.odds)) == bool(self.bit(dataset))
        return (hidden, coins.draw(Bernoulli(F(1, 2)))), None

    def step(
        self, state: tuple[bool, bool], query: Any, coins: Coins = SYSTEM
    ) -> tuple[tuple[bool, bool], Any]:
        hidden, key = state
        match query:
            case "key":
                return state, key
            case "sum":
                return state, hidden ^ key
        raise UnknownQueryError("ask for 'key' or 'sum'")


@attrs.frozen
class TwoRounds(InteractiveMechanism[Any]):
    """Answers twice: a randomized response at odds 3/2, then, only after a True, one at odds 2.

    It is log(3)-DP, and reaches this along one path only.
    """

    def loss(self, d_in: int) -> Loss:
        return PureDP(nats(3))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return (bool(dataset), ()), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        bit, answers = state
        if query != "next" or len(answers) == 2:
            raise UnknownQueryError("ask for 'next', twice")
        odds = F(3, 2) if not answers else F(2) if answers[0] else F(1)
        answer = coins.draw(yes(odds)) == bit
        return (bit, (*answers, answer)), answer


@attrs.frozen
class Broken(Measurement):
    """Fails with probability 1/2, whatever the data."""

    odds: Fraction = attrs.field(default=F(2), converter=F)

    def loss(self, d_in: int) -> Loss:
        return PureDP(nats(self.odds))

    def release(self, dataset: Any, coins: Coins) -> Any:
        if coins.draw(Bernoulli(F(1, 2))):
            raise RuntimeError("bad luck")
        return "fine"


# Persons.


@attrs.frozen
class Reader(PersonInTheMiddle[Any]):
    """Keeps the mechanism's answer hidden; "read" reads it through noise at odds 2."""

    def init(self) -> Any:
        return None

    def step(self, state: Any, message: Message, coins: Coins) -> tuple[Any, Reply]:
        match message:
            case FromMechanism(answer):
                return answer, ToAnalyst(None)
            case FromAnalyst("read"):
                return state, ToAnalyst(self.read(state, coins))
        raise UnknownQueryError("ask to 'read'")

    def read(self, hidden: Any, coins: Coins) -> Any:
        return hidden if isinstance(hidden, tuple) else coins.draw(yes(F(2))) == hidden


@attrs.frozen
class Clumsy(Reader):
    """A reader that fails if the hidden answer is True."""

    def read(self, hidden: Any, coins: Coins) -> Any:
        if hidden:
            raise RuntimeError("dropped it")
        return hidden


@attrs.frozen
class ClumsyAtOnce(Clumsy):
    """A reader that fails when it is given the hidden answer, if that is True."""

    def step(self, state: Any, message: Message, coins: Coins) -> tuple[Any, Reply]:
        if isinstance(message, FromMechanism):
            self.read(message.answer, coins)
        return super().step(state, message, coins)


def reader(odds: Any = 3, **options: Any) -> InteractiveMechanism[Any]:
    """A reader over randomized response: interactive, with exactly the same loss."""
    return Reader() @ Response(odds, **options)


# Accumulators.


@attrs.frozen
class Reported(Accumulator):
    """G as the report of a rule's account, such as Whitehouse's (sqrt(2LV) + V/2, delta')."""

    vouched_for = "Whitehouse et al. 2023, Theorem 2, with Haney et al. 2023, Lemma 2.19"

    rule: Rule
    delta: Fraction = attrs.field(converter=F)
    measure: Any = ApproxDP

    def open(self) -> RunningAccount:
        return self.rule.open(ApproxDP(1000, self.delta))


# Adversaries.


def wanderer(
    seed: int, launches: Sequence[Any], asks: Sequence[Any], rounds: int, others: Sequence[Any] = ()
) -> Adversary:
    """A deterministic adversary that launches and interleaves, depending on its whole view.

    Equal views give equal queries; different views give unrelated queries.
    """

    def adversary(view: View) -> Any:
        if len(view) >= rounds:
            return None
        answers = [exchange.answer for exchange in view]
        live = [a.child for a in answers if isinstance(a, Launched) and a.child is not None]
        options = [*launches, *others, *(Ask(child, query) for child in live for query in asks)]
        heard = [_as_compared(answer) for answer in answers]
        return Random(repr((seed, view.opening, heard))).choice(options)

    return adversary


def _as_compared(answer: Any) -> Any:
    """Without the advice in a refusal, which comparison ignores."""
    return attrs.evolve(answer, instead="") if isinstance(answer, Refused) else answer


def script(*queries: Any) -> Adversary:
    """An adversary that asks these queries, whatever the answers."""
    return lambda view: queries[len(view)] if len(view) < len(queries) else None


# Worst cases.

Leaf = Callable[[Any, Any], Any]
"""A term of a divergence: a function of two Fractions, or of two flint rationals."""


def quick(value: Any) -> fmpq:
    """A rational of flint: as exact as a Fraction, and several times as fast."""
    value = F(value)
    return fmpq(value.numerator, value.denominator)


def excess(factor: Any) -> Leaf:
    """A term of the hockey-stick divergence at e^epsilon = factor."""
    exact, fast = F(factor), quick(factor)

    def leaf(p: Any, q: Any) -> Any:
        gain = p - (fast if isinstance(p, fmpq) else exact) * q
        return gain if gain > 0 else 0 * p

    return leaf


@cache
def passing(epsilon: Fraction) -> Leaf:
    """A term that is the view's probability if its loss is above epsilon."""
    exact = odds_below(epsilon)
    fast = quick(exact)
    return lambda p, q: p if p > (fast if isinstance(p, fmpq) else exact) * q else 0 * p


def moment(order: int) -> Leaf:
    """A term of exp((order - 1) * Renyi divergence)."""
    return lambda p, q: (p**order / q ** (order - 1) if q else inf) if p else 0 * p


def divergence(p: Any, q: Any, leaf: Leaf) -> Any:
    """The sum of a term over two laws."""
    return sum(leaf(p.get(seen, F(0)), q.get(seen, F(0))) for seen in {*p, *q})


Belief = dict[int, tuple[fmpq, fmpq]]
"""A state's number -> its probability under x and under x', both jointly with what was seen."""


def worst_cases(
    mechanism: InteractiveMechanism[Any],
    x: Any,
    x_prime: Any,
    queries: Iterable[Any],
    horizon: int,
    leaves: Iterable[Leaf] | Callable[[Any], Iterable[Leaf]],
    differing: int = 0,
) -> tuple[Any, ...]:
    """The exact suprema of divergences over all adversaries that ask at most `horizon` `queries`.

    Recursion over the tree of views. The remaining gain depends on the joint law of states and
    view, for x and for x'. Divergences are homogeneous, so beliefs that are equal up to a factor
    have values that are equal up to it. Whether a query is legal must be determined by the view.
    No term may be infinite. Probabilities are flint rationals inside, and the result Fractions.

    Args:
        leaves: the terms when the adversary stops; or a function of the state, if part of it is
            public, such as an odometer's report.
        differing: how many `Pair`s among the queries may be sent.
    """
    queries, stopping = tuple(queries), leaves if callable(leaves) else tuple(leaves)
    states: list[Any] = []
    numbers: dict[Any, int] = {}  # hashing a deep state is slow; each is hashed once
    moves: dict[Any, list[tuple[fmpq, int, Any]] | None] = {}
    values: dict[Any, tuple[Any, ...]] = {}

    def number(state: Any) -> int:
        if state not in numbers:
            numbers[state] = len(states)
            states.append(state)
        return numbers[state]

    def message(place: int, side: int) -> Any:
        query = queries[place]
        if not isinstance(query, Pair):
            return query
        return query.under_x_prime if side else query.under_x

    def steps(state: int, query: Any) -> list[tuple[fmpq, int, Any]] | None:
        try:
            outcomes = every_outcome(
                lambda coins: advance(mechanism, states[state], query, coins, 0)
            )
        except QueryError:
            return None
        return [
            (quick(chance), number(after), hashable(answer)) for chance, (after, answer) in outcomes
        ]

    def branches(belief: Belief, place: int) -> list[Belief] | None:
        taken = [
            (state, side, weight)
            for state, weights in belief.items()
            for side, weight in enumerate(weights)
            if weight
        ]
        for state, side, _ in taken:
            if (state, place, side) not in moves:
                moves[state, place, side] = steps(state, message(place, side))
        legal = {moves[state, place, side] is not None for state, side, _ in taken}
        assert len(legal) == 1, "whether the query is legal depends on what is hidden"
        if not legal.pop():
            return None
        return _joint(
            (answer, after, weight * chance * (1 - side), weight * chance * side)
            for state, side, weight in taken
            for chance, after, answer in moves[state, place, side] or ()
        )

    def best(belief: Belief, left: int, pairs: int) -> tuple[Any, ...]:
        p, q = (sum(pair[side] for pair in belief.values()) for side in (0, 1))
        scale = p + q
        here = stopping(states[next(iter(belief))]) if callable(stopping) else stopping
        if not scale:
            return tuple(fmpq(0) for _ in here)
        key = (left, pairs, frozenset((s, a / scale, b / scale) for s, (a, b) in belief.items()))
        if key not in values:
            found = [leaf(p / scale, q / scale) for leaf in here]
            for place, query in enumerate(queries if left else ()):
                others = pairs - isinstance(query, Pair)
                following = branches(belief, place) if others >= 0 else None
                if following is not None:
                    gains = _sums(best(branch, left - 1, others) for branch in following)
                    found = [
                        _larger(a, _times(b, 1 / scale)) for a, b in zip(found, gains, strict=True)
                    ]
            values[key] = tuple(found)
        return tuple(_times(value, scale) for value in values[key])

    started = _joint(
        (hashable(opening), number(state), quick(chance) * (1 - side), quick(chance) * side)
        for side, dataset in enumerate((x, x_prime))
        for chance, (state, opening) in every_outcome(
            lambda coins, data=dataset: begin(mechanism, data, coins)
        )
    )
    totals = _sums(best(belief, horizon, differing) for belief in started)
    return tuple(each if each is inf else F(int(each.p), int(each.q)) for each in totals)


def worst_case(
    mechanism: InteractiveMechanism[Any],
    x: Any,
    x_prime: Any,
    queries: Iterable[Any],
    horizon: int,
    leaf: Leaf,
) -> Any:
    """`worst_cases` for one divergence."""
    return worst_cases(mechanism, x, x_prime, queries, horizon, (leaf,))[0]


def _joint(outcomes: Iterable[tuple[Any, Any, fmpq, fmpq]]) -> list[Belief]:
    beliefs: dict[Any, dict[Any, list[fmpq]]] = {}
    for answer, state, p, q in outcomes:
        pair = beliefs.setdefault(answer, {}).setdefault(state, [fmpq(0), fmpq(0)])
        pair[0] += p
        pair[1] += q
    return [{state: (p, q) for state, (p, q) in each.items()} for each in beliefs.values()]


# A value is rational or `inf`, with which flint's rationals neither calculate nor compare.


def _times(value: Any, factor: fmpq) -> Any:
    return inf if value is inf else value * factor


def _larger(one: Any, other: Any) -> Any:
    return inf if one is inf or other is inf else max(one, other)


def _sums(rows: Iterable[tuple[Any, ...]]) -> tuple[Any, ...]:
    columns = zip(*rows, strict=True)
    return tuple(inf if any(each is inf for each in column) else sum(column) for column in columns)


def optimal_delta(claims: Iterable[tuple[Any, Any]], factor: Any) -> Fraction:
    """The least delta of all compositions of (log(odds), delta)-DP mechanisms, by enumeration.

    Every such mechanism is a postprocessing of randomized response (Kairouz, Oh, Viswanath 2015).
    """
    pairs = []
    for odds, delta in claims:
        o, d = F(odds), F(delta)
        high, low = (1 - d) * o / (1 + o), (1 - d) / (1 + o)
        pairs.append([(d, F(0)), (high, low), (low, high), (F(0), d)])
    leaf = excess(factor)
    return sum(
        (leaf(prod(p for p, _ in path), prod(q for _, q in path)) for path in product(*pairs)), F(0)
    )
