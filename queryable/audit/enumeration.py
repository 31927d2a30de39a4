"""Exact laws of views: run `init` and `step` under every outcome of their coins.

This module enumerates coins. It does not depend on compositors or divergences.

`every_outcome` runs a function of coins repeatedly. Each run follows a script of choices and takes
the first outcome after the end of the script. The next script advances the last choice that has
another outcome. Steps are pure, so this visits every path once. If the caller allows a tail, a law
with infinite support is enumerated up to that tail. Paths into the tail are abandoned, and their
mass is the entry `CUT` of the law.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import prod
from typing import Any, TypeAlias, TypeVar

import attrs
import numpy as np

from queryable.audit.keys import hashable, require_alike, state_key
from queryable.audit.laws import snapshot
from queryable.audit.pairs import OneSide
from queryable.conversation.stepping import advance, begin
from queryable.errors import QueryError
from queryable.faults import (
    collecting,
    raise_interrupt,
)
from queryable.losses.numbers import Number, natural, positive
from queryable.mechanism import InteractiveMechanism
from queryable.quoting import quoted
from queryable.randomness.coins import ChildId, Shape
from queryable.randomness.intervals import Chance, Interval, high, low
from queryable.randomness.laws import Law
from queryable.view import Adversary, View

T = TypeVar("T")
ViewLaw = Mapping[Hashable, Chance]
"""Maps the answers of a view, the opening first, to their probability, exact or enclosed."""


class NotEnumerable(ValueError):  # noqa: N818 (a result rather than an error)
    """The coins have infinitely many outcomes, or more than the limit."""


class _Cut:
    def __repr__(self) -> str:
        return "CUT"


CUT = _Cut()
"""The key, in a law, of the mass that was not enumerated."""


@attrs.frozen
class Wrong:
    """A query error as an answer that an adversary sees."""

    text: str

    @classmethod
    def of(cls, error: QueryError) -> "Wrong":
        """Make the answer from the error's type and message."""
        return cls(f"{type(error).__name__}: {error}")


_IMPURE = (
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
            self.refusal = ValueError(_IMPURE)
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
            raise ValueError(_IMPURE)
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
        raise ValueError(wrong + _IMPURE)


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


def every_step(
    mechanism: InteractiveMechanism[Any],
    state: Any,
    query: Any,
    tail: Fraction | None = None,
    limit: int | None = None,
) -> list[tuple[Chance, Any]]:
    """Return every outcome of one step with its probability.

    Raises:
        QueryError: the query is wrong.
        ValueError: as `every_outcome`, or the step changed the state that it was given.
    """
    before = snapshot(state) if _may_change(state) else None
    outcomes = every_outcome(lambda coins: advance(mechanism, state, query, coins, 0), tail, limit)
    if before is not None and snapshot(state) != before:
        raise ValueError(_IMPURE)
    return outcomes


def _may_change(state: Any) -> bool:
    """Whether a state may be mutable: it has no hash, or the hash of its identity."""
    kind: Any = type(state)
    if kind.__hash__ is object.__hash__:
        return True
    try:
        hash(state_key(state))
    except TypeError:
        return True
    return False


def view_law(
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    adversary: Adversary,
    max_rounds: int | None = None,
    tail: Number | None = None,
    limit: int | None = None,
    *,
    errors: bool = False,
    side: int | None = None,
) -> ViewLaw:
    """Return the exact law of a deterministic adversary's view.

    Args:
        tail: the mass that each draw with infinite support may cut off; its total is the entry
            `CUT`.
        limit: the approximate largest number of views, counted with their hidden states.
        errors: whether a `QueryError` counts as an answer, `Wrong(text)`, that leaves the state
            unchanged. `worst_case` counts it so, because a query may be wrong in some hidden states
            only.
        side: which message of each `Pair` arrives: 0 for the one under x, 1 for the one under x'.

    Returns:
        A mapping from the answers, the opening first, to their probability: a Fraction, or an
        `Interval` if it is irrational. Fractions sum to 1.

    Raises:
        NotEnumerable: a draw has infinite support and no tail is allowed, or there are more views
            than the limit.
        QueryError: the adversary asked an illegal query, and `errors` is False.
        ValueError: answers of different meaning compare equal, as True and 1 do.
    """
    given_up = None if tail is None else positive(tail, "tail")
    max_rounds = None if max_rounds is None else natural(max_rounds, "max_rounds")
    limit = None if limit is None else natural(limit, "limit")
    mechanism = mechanism if side is None else OneSide(mechanism, side)
    law: dict[Hashable, Chance] = {}

    def reached(seen: Hashable, chance: Chance) -> None:
        law[seen] = law[seen] + chance if seen in law else chance

    def extended(
        chances: Iterable[tuple[Chance, Any]], then: Callable[[Any], View]
    ) -> list[_Running]:
        """Views one answer later, each with its possible hidden states."""
        after: dict[Hashable, tuple[Any, list[tuple[Any, Chance]]]] = {}
        for chance, outcome in chances:
            if outcome is CUT:
                reached(CUT, chance)
            else:
                state, answer = outcome
                first, states = after.setdefault(hashable(answer), (answer, []))
                require_alike(first, answer)
                states.append((state, chance))
        return [(then(answer), merged(states)) for answer, states in after.values()]

    steps = _Steps(mechanism, given_up, limit, errors)
    start = every_outcome(lambda coins: begin(mechanism, dataset, coins), given_up, limit)
    running = extended(start, View)
    while running:
        following = len(law) + sum(len(states) for _, states in running)
        if limit is not None and following > limit:
            raise NotEnumerable(f"more than {limit} views after {len(running[-1][0])} queries")
        view, states = running.pop()
        stop = max_rounds is not None and len(view) >= max_rounds
        query = None if stop else adversary(view)
        if query is None:
            for _, chance in states:
                reached(hashable((view.opening, *view.answers)), chance)
            continue
        asked = (
            (chance * more, outcome)
            for state, chance in states
            for more, outcome in steps(state, query)
        )
        running.extend(extended(asked, partial(view.then, query)))
    return law


_Running: TypeAlias = tuple[View, Sequence[tuple[Any, Chance]]]


@attrs.define
class _Steps:
    """A cache of the outcomes of steps: many views may share a hidden state."""

    mechanism: InteractiveMechanism[Any]
    tail: Fraction | None
    limit: int | None
    errors: bool
    known: dict[tuple[Any, int], Sequence[tuple[Chance, Any]]] = attrs.field(factory=dict)
    queries: dict[int, Any] = attrs.field(factory=dict)  # kept alive: ids stay unique

    def __call__(self, state: Any, query: Any) -> Sequence[tuple[Chance, Any]]:
        if _may_change(state):
            return self._enumerated(state, query)
        key = (state_key(state), id(query))
        if key not in self.known:
            self.queries[id(query)] = query
            self.known[key] = self._enumerated(state, query)
        return self.known[key]

    def _enumerated(self, state: Any, query: Any) -> Sequence[tuple[Chance, Any]]:
        try:
            return every_step(self.mechanism, state, query, self.tail, self.limit)
        except QueryError as error:
            if not self.errors:
                raise
            return [(Fraction(1), (state, Wrong.of(error)))]


def merged(weights: Sequence[tuple[Any, Chance]]) -> Sequence[tuple[Any, Chance]]:
    """Merge equal states and add their probabilities; unhashable states stay separate."""
    together: dict[Any, tuple[Any, Chance]] = {}
    try:
        for state, chance in weights:
            key = state_key(state)
            first, known = together.get(key, (state, None))
            together[key] = first, chance if known is None else known + chance
    except TypeError:
        return weights
    return tuple(together.values())


def push_forward(law: ViewLaw, function: Callable[[Any], Any]) -> ViewLaw:
    """Return the law of a function of the answers."""
    if not isinstance(law, Mapping):
        raise TypeError(f"law is {quoted(law)}; it should be a mapping, as from view_law")
    pushed: dict[Hashable, Chance] = {}
    for seen, chance in law.items():
        image = CUT if seen is CUT else hashable(function(seen))
        pushed[image] = pushed[image] + chance if image in pushed else chance
    return pushed
