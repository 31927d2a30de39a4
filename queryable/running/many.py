"""Several launches or queries in one message: their exchanges, and sending them one by one.

Each entry is an exchange of its own, as if it had been sent alone. A mechanism that does not answer
`LaunchMany` or `AskMany` is asked entry by entry.
"""

import attrs

from queryable.errors import QueryError, UnknownQueryError
from queryable.messages import (
    MANY,
    OWNERS,
    Answer,
    AskMany,
    LaunchMany,
    Query,
    Refused,
    addressed,
    entries_of,
    entry,
    is_many,
    not_the_owner,
    unnested,
)
from queryable.running.handles import Path
from queryable.running.roots import Root
from queryable.view import Exchange, Receipts


def exchanges_of(
    path: Path, query: Query, answer: Answer, receipts: Receipts = ()
) -> tuple[Exchange, ...]:
    """The exchanges of a message: one for each entry of a `LaunchMany` or `AskMany`.

    An answer that is not a tuple with an answer for each entry, such as `Failed()`, is the answer
    to every entry.
    """
    if not is_many(query):
        return (Exchange(path, query, answer, receipts=receipts),)
    entries, answers = entries_of(query), answer
    if type(answers) is not tuple or len(answers) != len(entries):
        answers = (answers,) * len(entries)
    each = [_exchange(path, *pair) for pair in zip(entries, answers, strict=True)]
    each[-1] = attrs.evolve(each[-1], receipts=receipts)
    return tuple(each)


def _exchange(path: Path, query: Query, answer: Answer) -> Exchange:
    asked, query = unnested(query)
    return Exchange((*path, *asked), query, answer)


def tell_many(
    root: Root, path: Path, query: LaunchMany | AskMany, names: tuple[str | None, ...] = ()
) -> list[tuple[Path, Answer]]:
    """Send several launches or queries; return where each was sent, and its answer.

    If the mechanism does not know the message, the entries are sent one by one. If a later one of
    these is wrong, its answer is `Refused`, because those before it have been answered.

    Raises:
        QueryError: an entry is wrong; nothing has changed.
    """
    entries = [_read(place, each) for place, each in enumerate(entries_of(query))]
    children = {asked for asked, _ in entries}
    if len(children) == 1:  # several queries to one child are sent to it together
        path = (*path, *children.pop())
        entries = [((), inner) for _, inner in entries]
    paths = [(*path, *asked) for asked, _ in entries]
    try:
        answers = root.tell(path, _rebuilt(query, entries), names)
    except UnknownQueryError:
        answers = None
    if answers is not None:
        return list(zip(paths, answers, strict=True))
    told: list[tuple[Path, Answer]] = []
    for place, (where, (_, inner)) in enumerate(zip(paths, entries, strict=True)):
        name = names[place : place + 1] if any(names[place : place + 1]) else ()
        try:
            told.append((where, root.tell(where, inner, name)))
        except QueryError as error:
            if not place:
                raise
            told.append((where, Refused(str(error))))
    return told


def _read(place: int, query: Query) -> tuple[Path, Query]:
    with entry(place):
        asked, inner = unnested(query)
        if isinstance(inner, OWNERS):
            raise not_the_owner(inner)
        if isinstance(inner, MANY):
            raise QueryError(f"write out its entries: this is a {type(inner).__name__}")
    return asked, inner


def _rebuilt(query: Query, entries: list[tuple[Path, Query]]) -> LaunchMany | AskMany:
    """The message as plain values, each of which was read once."""
    kind = LaunchMany if isinstance(query, LaunchMany) else AskMany
    return kind(tuple(addressed(asked, inner) for asked, inner in entries))
