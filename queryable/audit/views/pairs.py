"""Pairs of messages: where two neighbouring streams differ.

Responsible for `Pair`, and for selecting the message of one side. A continual mechanism receives
data after its launch. The adversary of Henzinger, Safavi and Vadhan sends pairs of messages; under
x the first message of each pair arrives, under x' the second. This module does not depend on
searches, and it does not count how many pairs differ.
"""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from queryable.audit.views.scripts import snapshot
from queryable.losses import Loss, Measure
from queryable.mechanism import Answer, InteractiveMechanism, Query
from queryable.randomness.coins import SYSTEM, Coins
from queryable.view import Exchange, View
from queryable.wording.quoting import quoted


@attrs.frozen
class Pair:
    """A move of the adversary: one message arrives under x, another under x'.

    The streams then differ in this place. A message that arrives under both is passed as it is,
    without a `Pair`. The class of a message and its block are public, so both have the same.

    Raises:
        ValueError: the messages have different classes or blocks, or they are equal.
    """

    under_x: Any
    under_x_prime: Any

    def __attrs_post_init__(self) -> None:
        one, other = self.under_x, self.under_x_prime
        if type(one) is not type(other):
            raise ValueError(
                "the messages of a Pair should have one class, because it is public; they are "
                f"{type(one).__name__} and {type(other).__name__}"
            )
        blocks = [getattr(each, "block", None) for each in (one, other)]
        if blocks[0] != blocks[1]:
            raise ValueError(
                "the messages of a Pair should name one block, because it is public; they name "
                f"{blocks[0]!r} and {blocks[1]!r}"
            )
        if snapshot(one) == snapshot(other):
            raise ValueError("the messages of this Pair are equal; pass the message itself")

    def turned(self) -> "Pair":
        """Return the pair with x and x' exchanged."""
        return Pair(self.under_x_prime, self.under_x)

    def __str__(self) -> str:
        return f"{self.under_x!r} under x, {self.under_x_prime!r} under x'"


def sides(query: Query) -> tuple[Query, Query]:
    """Return the messages that arrive under x and under x'."""
    return (query.under_x, query.under_x_prime) if isinstance(query, Pair) else (query, query)


def turned(query: Query) -> Query:
    """Return a query with x and x' exchanged."""
    return query.turned() if isinstance(query, Pair) else query


def turned_alphabet(
    queries: Sequence[Query] | Callable[[View], Sequence[Query]],
) -> Sequence[Query] | Callable[[View], Sequence[Query]]:
    """Return an alphabet with x and x' exchanged in every pair."""
    if not callable(queries):
        return tuple(map(turned, queries))
    return lambda view: tuple(map(turned, queries(_turned_view(view))))


def _turned_view(view: View) -> View:
    exchanges = (
        Exchange(each.path, turned(each.query), each.answer, receipts=each.receipts)
        for each in view
    )
    return View(view.opening, tuple(exchanges))


def require_side(side: Any) -> int:
    """Return a side: 0 for x, 1 for x'.

    Raises:
        ValueError: it is neither.
    """
    if type(side) is not int or side not in (0, 1):
        raise ValueError(f"side should be 0 for x or 1 for x'; it is {quoted(side)}")
    return side


@attrs.frozen
class Around(InteractiveMechanism[Any]):
    """Base of what an audit puts around a mechanism; the claim is the mechanism's."""

    mechanism: InteractiveMechanism[Any]

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The mechanism's privacy map."""
        return self.mechanism.privacy_map(d_in, measure)


@attrs.frozen
class OneSide(Around):
    """A mechanism that takes pairs; of each pair the message of one side arrives.

    Args:
        side: 0 for x, 1 for x'.
    """

    side: int = attrs.field(converter=require_side)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Answer]:
        """Start the mechanism."""
        return self.mechanism.init(dataset, coins)

    def step(self, state: Any, query: Query, coins: Coins = SYSTEM) -> tuple[Any, Answer]:
        """Pass on the query; of a pair, the message of this side."""
        return self.mechanism.step(state, sides(query)[self.side], coins)
