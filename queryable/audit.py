"""Exact laws of views: the same `init` and `step`, run under every outcome of their coins.

Responsible for enumerating coins and for divergences between two laws. Knows no compositor.

Theory of operation: `every_outcome` runs a function of coins again and again. Each run follows a
script of choices and takes the first outcome wherever the script has ended; then the last choice
that has another outcome is advanced. Since steps are pure, this visits every path once.
"""

from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from math import inf
from operator import is_
from typing import Any, TypeVar

import attrs
import numpy as np
from flint import arb

from queryable.coins import ChildId, Law, Shape
from queryable.faults import collecting, raise_interrupt
from queryable.mechanism import InteractiveMechanism, advance, begin
from queryable.numbers import Number, exact, positive, round_down, round_up
from queryable.view import Adversary, View

T = TypeVar("T")
ViewLaw = Mapping[Hashable, Fraction]
"""From the answers of a view, the opening first, to their exact probability."""


class EnumeratedCoins:
    """Coins that take one scripted path through the outcomes of what is drawn.

    Only laws with finite support can be enumerated; any other draw is refused by name.
    """

    def __init__(self, script: list[int]) -> None:
        self._script = script
        self._drawn = 0
        self.choices: list[int] = []
        self.probability = Fraction(1)
        self.refusal: ValueError | None = None

    def draw(self, law: Law[Any], size: Shape | None = None) -> Any:
        """One scripted outcome, or an array of them."""
        if size is None:
            return self._one(law)
        count = int(np.prod(size, dtype=object))
        return np.array([self._one(law) for _ in range(count)], dtype=object).reshape(size)

    def _one(self, law: Law[Any]) -> Any:
        outcomes = law.outcomes()
        if outcomes is None:
            self.refusal = ValueError(f"{law} has infinite support and cannot be enumerated")
            raise self.refusal
        choice = self._script[self._drawn] if self._drawn < len(self._script) else 0
        self._drawn += 1
        self.choices.append(len(outcomes))
        value, probability = outcomes[choice]
        self.probability *= probability
        return value

    def spawn(self, child: ChildId, message: int) -> "EnumeratedCoins":
        """Itself: the script is one for the whole run."""
        return self


def every_outcome(run: Callable[[EnumeratedCoins], T]) -> list[tuple[Fraction, T]]:
    """Every result of a function of coins, with its exact probability.

    Raises:
        ValueError: it drew from a law with infinite support.
    """
    results: list[tuple[Fraction, T]] = []
    script: list[int] = []
    while True:
        coins = EnumeratedCoins(script)
        with collecting() as faults:
            result = run(coins)
            raise_interrupt(faults)
        if coins.refusal is not None:
            raise coins.refusal
        results.append((coins.probability, result))
        script = script + [0] * (len(coins.choices) - len(script))
        while script and script[-1] + 1 == coins.choices[len(script) - 1]:
            script = script[:-1]
        if not script:
            return results
        script = [*script[:-1], script[-1] + 1]


def view_law(
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    adversary: Adversary,
    max_rounds: int | None = None,
) -> ViewLaw:
    """The exact law of a deterministic adversary's view.

    Returns:
        A mapping from the answers, the opening first, to their probability; it sums to 1.

    Raises:
        ValueError: a draw has infinite support.
        QueryError: the adversary asked something illegal.
    """
    law: dict[Hashable, Fraction] = {}
    started = every_outcome(lambda coins: begin(mechanism, dataset, coins))
    running = [(chance, state, View(opening)) for chance, (state, opening) in started]
    while running:
        chance, state, view = running.pop()
        stop = max_rounds is not None and len(view) >= max_rounds
        query = None if stop else adversary(view)
        if query is None:
            seen = hashable((view.opening, *view.answers))
            law[seen] = law.get(seen, Fraction(0)) + chance
            continue
        for more, (after, answer) in every_outcome(
            lambda coins, s=state, q=query: advance(mechanism, s, q, coins, 0)  # type: ignore[misc]
        ):
            running.append((chance * more, after, view.then(query, answer)))
    return law


def push_forward(law: ViewLaw, function: Callable[[Any], Any]) -> ViewLaw:
    """The law of a function of the answers."""
    pushed: dict[Hashable, Fraction] = {}
    for seen, chance in law.items():
        image = hashable(function(seen))
        pushed[image] = pushed.get(image, Fraction(0)) + chance
    return pushed


def hashable(value: Any) -> Hashable:
    """An answer as a value that can be compared and hashed; arrays become tuples.

    Answers that compare equal count as one: True and 1, a list and an array.
    """
    if isinstance(value, np.ndarray):
        return hashable(tuple(value.tolist()))
    if isinstance(value, tuple | list):
        entries = tuple(hashable(entry) for entry in value)
        same = type(value) is tuple and all(map(is_, entries, value))
        return value if same else entries
    if attrs.has(type(value)):
        fields = [getattr(value, field.name) for field in attrs.fields(type(value))]
        keys = [hashable(field) for field in fields]
        if not all(map(is_, keys, fields)):
            return (type(value).__name__, *keys)
    return value  # type: ignore[no-any-return]


def hockey_stick(p: Mapping[Any, Fraction], q: Mapping[Any, Fraction], epsilon: Number) -> Fraction:
    """The sum of (p - e^epsilon q) where positive: the least delta, from above."""
    bound = exact(epsilon, "epsilon")
    factor = round_down(arb.exp, bound, bits=176) if bound else Fraction(1)
    excess = (chance - factor * q.get(seen, Fraction(0)) for seen, chance in p.items())
    return sum((part for part in excess if part > 0), Fraction(0))


def renyi_divergence(
    p: Mapping[Any, Fraction], q: Mapping[Any, Fraction], alpha: Number
) -> Fraction | float:
    """D_alpha(p || q) for alpha > 1, from above; infinite where q misses mass of p."""
    order = positive(alpha, "alpha")
    if not order > 1:
        raise ValueError(f"alpha is {alpha}; a Renyi order should be above 1")
    pairs = [(chance, q.get(seen, Fraction(0))) for seen, chance in p.items() if chance]
    if any(other == 0 for _, other in pairs):
        return inf

    def divergence(a: arb, *chances: arb) -> arb:
        ones, others = chances[::2], chances[1::2]
        moment = sum((x * (x / y) ** (a - 1) for x, y in zip(ones, others, strict=True)), arb(0))
        return moment.log() / (a - 1)

    flat = [chance for pair in pairs for chance in pair]
    return max(Fraction(0), round_up(divergence, order, *flat))
