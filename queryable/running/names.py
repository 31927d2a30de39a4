"""Names of launches: what was launched under a name at a path, and what it answered."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import attrs
from immutables import Map

from queryable.errors import QueryError
from queryable.faults import named
from queryable.messages import Answer, LaunchMany, Query
from queryable.running.handles import Path
from queryable.running.sameness import difference, mark
from queryable.view import Exchange

Names = tuple[tuple[str, Any] | None, ...]
"""The name and mark of each launch of a message, None for one without a name; () if none has."""


@attrs.frozen
class Named:
    """The mark of a named launch, and its answer."""

    mark: Any
    answer: Answer


class StoredName:
    """A named launch that a ledger has; it is read when the name is used again."""

    def __init__(self, read: Callable[[], Exchange]) -> None:
        self._read = read

    @property
    def mark(self) -> Any:
        """The mark of the launch."""
        return _mark(self._read().query)

    @property
    def answer(self) -> Answer:
        """Its answer."""
        return self._read().answer


KnownNames: TypeAlias = "Map[tuple[Path, str], Named | StoredName]"


def checked_name(name: Any) -> str:
    """Read a name.

    Raises:
        QueryError: it is not a string, is empty, or has a lone surrogate.
    """
    if not isinstance(name, str) or not name.strip():
        given = "empty" if isinstance(name, str) else named(name)
        raise QueryError(f"give a name as a string that is not empty: name is {given}")
    read = str(name)
    try:
        read.encode()
    except UnicodeEncodeError:
        wrong = True
    else:
        wrong = False
    if wrong:
        raise QueryError("give a name of characters: name has a lone surrogate, which is none")
    return read


def checked_names(names: Any, count: int) -> tuple[str | None, ...]:
    """Read the names of `count` launches; () if none has a name.

    Raises:
        QueryError: they are not a list or tuple of as many names, or one is not a name or None.
    """
    if names is None:
        return ()
    if type(names) not in (list, tuple) or len(names) != count:
        raise QueryError(f"give names as a list of {count} strings, or None where there is no name")
    read = tuple(None if name is None else checked_name(name) for name in names)
    return read if any(read) else ()


def marked(query: Query, names: tuple[str | None, ...]) -> Names:
    """The names with the marks of their launches.

    Raises:
        QueryError: reading or hashing a value of the user's mechanism failed.
    """
    launches = query.launches if type(query) is LaunchMany else (query,)
    pairs = zip(launches, names, strict=True)
    return tuple(None if name is None else (name, _mark(launch)) for launch, name in pairs)


def _mark(launch: Query) -> Any:
    try:
        return mark(launch)
    except Exception:
        wrong = QueryError(
            "this mechanism cannot have a name, because it cannot be compared with others: a "
            "field cannot be read, contains itself, or is nested too deeply. Launch it without name"
        )
    try:
        raise wrong
    finally:
        del wrong  # its traceback has this frame


def recalled(known: KnownNames, path: Path, names: Names) -> tuple[dict[int, Answer], list[int]]:
    """The old answers by place, and the places of launches that have to be sent.

    Raises:
        QueryError: a name belongs to another mechanism.
    """
    answers: dict[int, Answer] = {}
    new: list[int] = []
    marks: dict[str, Any] = {}
    for place, each in enumerate(names):
        if each is None:
            new.append(place)
            continue
        name, taken = each
        old = known.get((path, name))
        if old is not None:
            answers[place] = old.answer
        elif name not in marks:
            new.append(place)
        before = marks.setdefault(name, taken if old is None else old.mark)
        _require_same(name, before, taken)
    return answers, new


def firsts(names: Names) -> Iterator[int]:
    """For each place, the first place with the same name; a launch without a name is alone."""
    seen: dict[str, int] = {}
    for place, each in enumerate(names):
        yield place if each is None else seen.setdefault(each[0], place)


def _require_same(name: str, old: Any, new: Any) -> None:
    where = difference(old, new)
    if where:
        raise QueryError(
            f"the name {name!r} belongs to another mechanism here (they differ in {where}); "
            "nothing has been charged. Use a new name for a new question. To get the old answer "
            "again, launch an equal mechanism: a lambda, function or class that is defined again "
            "is another one, so write a column expression, such as column('age') >= 40, or define "
            "the function once"
        )
