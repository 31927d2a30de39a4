"""Queries and answers of compositors, as data. Those about blocks are in `streams.blocks`.

Each query is a frozen class, and `step` distinguishes them by `match`. Construction checks nothing:
the step that receives a query validates it and raises `QueryError` for a wrong one.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, TypeGuard

import attrs

from queryable.errors import PrivacyClaimError, QueryError, UnprovenCompositionError
from queryable.losses import Measure
from queryable.losses.numbers import natural
from queryable.mechanism import Answer as Answer  # noqa: PLC0414 (modules that know no mechanism)
from queryable.mechanism import Query as Query  # noqa: PLC0414 (import both from here)
from queryable.receipts import Receipt
from queryable.streams.blocks import BlockLossQuery, BlocksQuery


@attrs.frozen
class Launch:
    """Start a mechanism: the paper's (M', d').

    `d_out` is the loss to charge. The default is the mechanism's privacy map.
    """

    mechanism: Any
    d_out: Any = None


@attrs.frozen
class Ask:
    """Pass a query to a child: the paper's (j, q). `Ask(0, Ask(2, q))` reaches a grandchild."""

    child: Any
    query: Any


@attrs.frozen
class LaunchMany:
    """Launch several mechanisms at once, as a list or tuple of `Launch` or `LaunchOver`.

    The answer is a tuple of what each launch would have answered, one after the other. A compositor
    first checks all of them, then charges in order, and only then reads the data, in as few scans
    as the data allow. If one entry is wrong, nothing is charged.
    """

    launches: Any


@attrs.frozen
class AskMany:
    """Ask one mechanism several queries at once, as a list or tuple.

    The answer is a tuple with the answer to each, in order. If one entry is wrong, none is asked.
    """

    queries: Any


MANY = (LaunchMany, AskMany)


def is_many(query: Query) -> TypeGuard[LaunchMany | AskMany]:
    """Whether a query is exactly a `LaunchMany` or an `AskMany`, and not of a subclass."""
    return type(query) is LaunchMany or type(query) is AskMany


@attrs.frozen
class PrivacyLossQuery:
    """Ask for the loss so far: the paper's privacy_loss.

    `d_in` is the number of records that differ. The default is the unit of the budget.
    """

    d_in: Any = None


class _ByClass(type):
    """The metaclass of the owner's messages: what an object says of its class does not count.

    An analyst's object could name another `__class__` at each look.
    """

    def __instancecheck__(cls, instance: object) -> bool:
        return cls in type(instance).__mro__


@attrs.frozen
class Update(metaclass=_ByClass):
    """The next batch of records, a message of the data's owner. The answer is always None.

    A mechanism with a `growth` takes it. An analyst's messages never contain it: handles,
    compositors and persons in the middle refuse it, and nothing has changed then.

    Attributes:
        records: the batch, in the form of the data set.
        block: the public name of the block that the batch belongs to.
    """

    records: Any = attrs.field(repr=False)
    block: Any = None


@attrs.frozen
class CloseBlock(metaclass=_ByClass):
    """No more records belong to this block: a message of the data's owner. The answer is None."""

    block: Any


OWNERS = (Update, CloseBlock)


def is_owners(query: Query) -> bool:
    """Whether only the owner of the data may send a message: an `Update` or a `CloseBlock`.

    A subclass counts, so that no mechanism mistakes it.
    """
    return isinstance(query, OWNERS)


def not_the_owner(query: Query) -> QueryError:
    """The error for an analyst who sends a message of the data's owner."""
    name = "Update" if isinstance(query, Update) else "CloseBlock"
    return QueryError(
        f"only the owner of the data sends {name}, by queryable.feed; nothing changed"
    )


_MOST_ASKS = 10_000


def unnested(query: Query) -> tuple[tuple[Any, ...], Query]:
    """Return the children that nested `Ask`s name, outermost first, and the innermost query.

    Each attribute is read once, because a subclass of `Ask` may change between two reads or raise.

    Raises:
        QueryError: an attribute cannot be read, or more than 10,000 `Ask`s are nested.
    """
    path: list[Any] = []
    try:  # every message comes here, and `suppress` takes as long as the rest of it
        while isinstance(query, Ask) and len(path) <= _MOST_ASKS:
            path.append(query.child)
            query = query.query
        readable = len(path) <= _MOST_ASKS
    except Exception:
        readable = False
    if readable:
        return tuple(path), query
    raise QueryError(
        f"this query cannot be read: an Ask raises an exception, or more than {_MOST_ASKS} are "
        "nested; nothing is charged"
    )


def addressed(path: tuple[Any, ...], query: Query) -> Query:
    """Put a query into an `Ask` for each child on a path. The inverse of `unnested`."""
    for child in reversed(path):
        query = Ask(child, query)
    return query


def entries_of(many: Any) -> tuple[Query, ...]:
    """Return the entries of a `LaunchMany` or an `AskMany`, at least one. They are read once.

    Raises:
        QueryError: they are not a list or a tuple, or there are none.
    """
    entries: Any = None
    with suppress(Exception):  # a subclass may raise when it is read
        entries = many.launches if isinstance(many, LaunchMany) else many.queries
    if type(entries) not in (list, tuple) or not entries:
        name = "LaunchMany" if isinstance(many, LaunchMany) else "AskMany"
        raise QueryError(f"give {name} a list or a tuple that is not empty; nothing is charged")
    for place, each in enumerate(entries):
        if isinstance(each, OWNERS):
            with entry(place):
                raise not_the_owner(each)
    return tuple(entries)


_MOST_ENTRIES = 1_000_000


def entries_in(values: Any) -> tuple[Any, ...]:
    """Read a list, or another iterable, of what an analyst wants to launch or ask.

    Raises:
        QueryError: it cannot be iterated, or has more than a million entries.
    """
    found: tuple[Any, ...] | None = None
    with suppress(Exception):
        found = None if isinstance(values, str) else tuple(islice(values, _MOST_ENTRIES + 1))
    if found is None or len(found) > _MOST_ENTRIES:
        raise QueryError("give a list of at most a million entries; nothing is charged")
    return found


@contextmanager
def entry(place: int) -> Iterator[None]:
    """State in a `QueryError` which entry of several it is about, counted from 0."""
    try:
        yield
    except QueryError as error:
        known = type(error) in (PrivacyClaimError, UnprovenCompositionError)
        kind = type(error) if known else QueryError
        raise kind(f"entry {place}: {error}") from None


def d_in_of(d_in: Any, default: int) -> int:
    """The `d_in` of a `PrivacyLossQuery`, or the default where it is None.

    Raises:
        QueryError: it is not a count.
    """
    if d_in is None:
        return default
    try:
        return natural(d_in, "d_in")
    except (TypeError, ValueError) as error:
        raise QueryError(str(error)) from None


@attrs.frozen
class CanAfford:
    """Ask whether a launch would be admitted. The answer is a bool; nothing is charged or run."""

    launch: Any


@attrs.frozen
class MeasureQuery:
    """Ask what launches state their loss in. The answer is `Stated`; nothing is charged or run."""


@attrs.frozen
class RemainingQuery:
    """Ask for the largest loss that one more launch may have. The answer is a `Loss`.

    `blocks` are those that the launch would run on, as for `LaunchOver`, where data have blocks.
    """

    blocks: Any = None


READS = (PrivacyLossQuery, RemainingQuery, CanAfford, MeasureQuery, BlockLossQuery, BlocksQuery)
"""Queries that change no state of a compositor."""


@attrs.frozen
class Stated:
    """Launches state their loss in this measure, for data that differ in `d_in` records."""

    measure: Measure
    d_in: int


@attrs.frozen
class Launched:
    """The launch was charged and the mechanism runs.

    `child` is the id of the new child; it is None for a measurement, which is no child. `answer` is
    the measurement's answer or the child's opening answer. `receipt` states the charge. Here and in
    the classes below, receipts are neither compared nor printed.
    """

    child: int | str | None
    answer: Any
    receipt: Receipt | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)


@attrs.frozen
class Refused:
    """The mechanism declined the query; its state is unchanged.

    `requested`, `spent` and `remaining` are losses, or None where the refusal is not about a
    budget. `instead` is advice in words and is not compared.
    """

    reason: str
    requested: Any = None
    spent: Any = None
    remaining: Any = None
    instead: str = attrs.field(default="", eq=False)
    receipt: Receipt | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)


@attrs.frozen
class Halted:
    """The mechanism has stopped for good (`on_exceed="halt"`, Haney et al. 2023, Algorithm 3)."""

    reason: str
    receipt: Receipt | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)


@attrs.frozen
class Failed:
    """A mechanism failed while data may have been touched. The cause is not part of the answer.

    For a launch, which was charged, `receipt` states the charge.
    """

    receipt: Receipt | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)


def without_receipts(answer: Any) -> Any:
    """An answer without receipts, also in the answers that it holds."""
    kind = type(answer)
    if kind is tuple:
        return tuple(map(without_receipts, answer))
    if kind is Launched:
        return Launched(answer.child, without_receipts(answer.answer))
    if kind in (Refused, Halted, Failed) and answer.receipt is not None:
        return attrs.evolve(answer, receipt=None)
    return answer
