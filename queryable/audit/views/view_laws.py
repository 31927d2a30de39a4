"""Exact laws of steps and of views: what an adversary sees, with its probability.

Responsible for running `init` and `step` under every outcome of their coins, which `enumeration`
visits. Hidden states that are equal are merged. It does not depend on compositors or divergences.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import attrs

from queryable.audit.views.enumeration import CUT, IMPURE, NotEnumerable, every_outcome
from queryable.audit.views.keys import hashable, require_alike, state_key
from queryable.audit.views.pairs import OneSide
from queryable.audit.views.scripts import snapshot
from queryable.conversation.stepping import advance, begin
from queryable.errors import QueryError
from queryable.losses.numbers import Number, natural, positive
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.intervals import Chance
from queryable.view import Adversary, View
from queryable.wording.quoting import quoted

ViewLaw = Mapping[Hashable, Chance]
"""Maps the answers of a view, the opening first, to their probability, exact or enclosed."""


@attrs.frozen
class SeenError:
    """A query error as an answer that an adversary sees."""

    text: str

    @classmethod
    def of(cls, error: QueryError) -> "SeenError":
        """Make the answer from the error's type and message."""
        return cls(f"{type(error).__name__}: {error}")


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
        raise ValueError(IMPURE)
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
            return [(Fraction(1), (state, SeenError.of(error)))]


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
