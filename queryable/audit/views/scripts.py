"""Scripts: a mechanism with made-up data and legal queries, as the laws run it.

Responsible for running a script with coins, and for snapshots, by which states and answers are
compared by value.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import attrs

from queryable.data.growing import Grown
from queryable.data.later import Later, made
from queryable.errors import RetiredChildError
from queryable.mechanism import InteractiveMechanism
from queryable.randomness.coins import Coins, SeededCoins
from queryable.wording.quoting import quoted

NONSENSE: tuple[Any, ...] = (None, object(), float("nan"), object, len)
"""Default wrong queries: values that almost no mechanism accepts."""


@attrs.frozen
class Script:
    """A mechanism, a dataset, and a sequence of legal queries.

    Attributes:
        queries: legal in this order, with the owner's messages among them. Queries to retired
            children are skipped.
        wrong: queries that are wrong in every state.
        random: whether runs with different coins should differ.
    """

    mechanism: InteractiveMechanism[Any]
    dataset: Any = attrs.field(repr=False)
    queries: tuple[Any, ...] = attrs.field(default=(), converter=tuple)
    wrong: tuple[Any, ...] = attrs.field(default=NONSENSE, converter=tuple)
    random: bool = True

    def run(self, coins: Coins) -> Iterator[tuple[Any, Any, Any]]:
        """Yield (state before the query, query, answer) for each step.

        The first item is (None, None, opening answer).
        """
        state, answer = self.mechanism.init(self.dataset, coins.spawn("root", 0))
        yield None, None, answer
        for message, query in enumerate(self.queries, 1):
            with suppress(RetiredChildError):
                after, answer = self.mechanism.step(state, query, coins.spawn("root", message))
                yield state, query, answer
                state = after

    def states(self) -> list[tuple[Any, Any]]:
        """Return each state with the query that is legal in it."""
        return [(state, query) for state, query, _ in self.run(SeededCoins(1))][1:]

    def answers(self, seed: int) -> list[Any]:
        """Return snapshots of the opening and of every answer."""
        return [snapshot(answer) for *_, answer in self.run(SeededCoins(seed))]


def snapshot(value: Any) -> Any:
    """Return nested fields, items and entries, else the repr, for comparison by value."""
    if type(value) is Later:
        return snapshot(made(value))
    if type(value) is Grown:
        return (Grown, snapshot(value.whole))
    if attrs.has(type(value)):
        fields = [(field.name, getattr(value, field.name)) for field in attrs.fields(type(value))]
        return (type(value), [(name, snapshot(each)) for name, each in fields])
    if hasattr(value, "items") and not isinstance(value, type):
        return sorted((repr(key), snapshot(each)) for key, each in value.items())
    if isinstance(value, tuple | list):
        return [snapshot(each) for each in value]
    if hasattr(value, "tolist"):
        return value.tolist()
    defined_by = next(kind for kind in type(value).__mro__ if "__repr__" in vars(kind))
    if defined_by is object and hasattr(value, "__dict__"):  # its repr is its address
        return (type(value), snapshot(vars(value)))
    return repr(value)


def require_mechanism(mechanism: Any) -> None:
    """Check that what is to be examined is a mechanism.

    Raises:
        TypeError: it is not one.
    """
    if not isinstance(mechanism, InteractiveMechanism):
        raise TypeError(f"mechanism is {quoted(mechanism)}; it should be an InteractiveMechanism")
