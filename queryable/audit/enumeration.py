"""Exact laws of views: the same `init` and `step`, run under every outcome of their coins.

Responsible for enumerating coins. Knows no compositor and no divergence.

Theory of operation: `every_outcome` runs a function of coins again and again. Each run follows a
script of choices and takes the first outcome wherever the script has ended; then the last choice
that has another outcome is advanced. Since steps are pure, this visits every path once. A law with
infinite support is enumerated up to a tail, if the caller allows one: paths into the tail are given
up, and their mass stands in the law as `CUT`.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from math import prod
from typing import Any, TypeAlias, TypeVar

import attrs
import numpy as np

from queryable.audit.keys import hashable, require_alike
from queryable.audit.laws import snapshot
from queryable.coins import ChildId, Law, Shape
from queryable.errors import QueryError
from queryable.faults import collecting, raise_interrupt
from queryable.intervals import Chance, Interval, high, low
from queryable.mechanism import InteractiveMechanism, advance, begin
from queryable.numbers import Number, natural, positive
from queryable.quoting import quoted
from queryable.view import Adversary, View

T = TypeVar("T")
ViewLaw = Mapping[Hashable, Chance]
"""From the answers of a view, the opening first, to their probability: exact, or enclosed."""


class NotEnumerable(ValueError):  # noqa: N818 (an answer, more than an error)
    """What was run draws from too many outcomes, or from infinitely many."""


class _Cut:
    """The paths that were given up."""

    def __repr__(self) -> str:
        return "CUT"


CUT = _Cut()
"""In a law, the key of the mass that was not enumerated."""


@attrs.frozen
class Wrong:
    """A query error, as something that an adversary sees."""

    text: str

    @classmethod
    def of(cls, error: QueryError) -> "Wrong":
        """Its kind and its message."""
        return cls(f"{type(error).__name__}: {error}")


_IMPURE = (
    "a step with equal coins did something else the second time, or changed the state that it was "
    "given; states are values, and queryable.audit.broken_laws tells more"
)


class EnumeratedCoins:
    """Coins that take one scripted path through the outcomes of what is drawn.

    Args:
        script: which outcome to take at each draw; the first where it has ended.
        tail: the mass of an infinite support that may be given up at each draw; without it such a
            draw is refused by name.
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
        """One scripted outcome, or an array of them."""
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
            raise ValueError("this path was given up")
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
        """Itself: the script is one for the whole run."""
        return self


@lru_cache(maxsize=64)
def _remembered(law: Law[Any], tail: Fraction) -> Any:
    return law.truncated(tail)


def _truncated(law: Law[Any], tail: Fraction) -> Any:
    try:
        return _remembered(law, tail)
    except TypeError:  # a law that cannot be hashed
        return law.truncated(tail)


def every_outcome(
    run: Callable[[EnumeratedCoins], T],
    tail: Fraction | None = None,
    limit: int | None = None,
) -> list[tuple[Chance, Any]]:
    """Every result of a function of coins, with its probability; `CUT` for paths given up.

    Args:
        tail: where a draw has infinite support, the mass that may be given up.
        limit: how many paths may be taken; the first one, times its choices, is the estimate.

    Raises:
        NotEnumerable: it drew from a law with infinite support and no tail may be given up, or it
            takes more paths than the limit.
        ValueError: with equal outcomes of its coins it went another way than before.
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
        wrong = "the chances of all outcomes do not sum to 1: a law lists wrong ones, or "
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
    """Every outcome of one step.

    Raises:
        QueryError: the query is wrong.
        ValueError: as `every_outcome`, or the step has changed the state that it was given.
    """
    before = snapshot(state) if _may_change(state) else None
    outcomes = every_outcome(lambda coins: advance(mechanism, state, query, coins, 0), tail, limit)
    if before is not None and snapshot(state) != before:
        raise ValueError(_IMPURE)
    return outcomes


def _may_change(state: Any) -> bool:
    """Whether a state is not surely a value: it has no hash, or that of its identity."""
    kind: Any = type(state)
    if kind.__hash__ is object.__hash__:
        return True
    try:
        hash(state)
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
) -> ViewLaw:
    """The exact law of a deterministic adversary's view.

    Args:
        tail: where a draw has infinite support, the mass that each draw may give up; it is
            collected under `CUT`.
        limit: how many views, with the hidden states behind them, may be followed, about.
        errors: whether a `QueryError` is an answer, `Wrong(text)`, that leaves the state alone. It
            is one to the adversaries of `worst_case`, for whether a query is wrong may tell.

    Returns:
        A mapping from the answers, the opening first, to their probability: a Fraction, or an
        `Interval` where it is irrational. Fractions sum to 1.

    Raises:
        NotEnumerable: a draw has infinite support and no tail may be given up, or there are more
            views than the limit.
        QueryError: the adversary asked something illegal, and errors are no answers.
        ValueError: answers of different meaning compare equal, as True and 1 do.
    """
    given_up = None if tail is None else positive(tail, "tail")
    max_rounds = None if max_rounds is None else natural(max_rounds, "max_rounds")
    limit = None if limit is None else natural(limit, "limit")
    law: dict[Hashable, Chance] = {}

    def reached(seen: Hashable, chance: Chance) -> None:
        law[seen] = law[seen] + chance if seen in law else chance

    def told(chances: Iterable[tuple[Chance, Any]], then: Callable[[Any], View]) -> list[_Running]:
        """Views one answer later, each with the states behind it."""
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
    running = told(start, View)
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
        running.extend(told(asked, partial(view.then, query)))
    return law


_Running: TypeAlias = tuple[View, Sequence[tuple[Any, Chance]]]


@attrs.define
class _Steps:
    """The outcomes of steps, each enumerated once: the same state may lie behind many views."""

    mechanism: InteractiveMechanism[Any]
    tail: Fraction | None
    limit: int | None
    errors: bool
    known: dict[tuple[Any, int], Sequence[tuple[Chance, Any]]] = attrs.field(factory=dict)
    queries: dict[int, Any] = attrs.field(factory=dict)  # alive, so that no id is used again

    def __call__(self, state: Any, query: Any) -> Sequence[tuple[Chance, Any]]:
        if _may_change(state):
            return self._enumerated(state, query)
        key = (state, id(query))
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
    """Equal states once, with their chances added up; states that cannot be hashed stay apart."""
    together: dict[Any, Chance] = {}
    try:
        for state, chance in weights:
            together[state] = together[state] + chance if state in together else chance
    except TypeError:
        return weights
    return tuple(together.items())


def push_forward(law: ViewLaw, function: Callable[[Any], Any]) -> ViewLaw:
    """The law of a function of the answers."""
    if not isinstance(law, Mapping):
        raise TypeError(f"law is {quoted(law)}; it should map answers to chances, as view_law")
    pushed: dict[Hashable, Chance] = {}
    for seen, chance in law.items():
        image = CUT if seen is CUT else hashable(function(seen))
        pushed[image] = pushed[image] + chance if image in pushed else chance
    return pushed
