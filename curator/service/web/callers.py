"""Who asks, and what they reach: an analyst by a token, or the owner by the owner's socket.

Responsible for the tokens and for the number of requests at once. What is not a caller's and what
does not exist are the same here.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Protocol

import attrs

from curator.access import Analyst, ReachedRoot, hash_of
from curator.service.web.keeper import AsyncAccess
from curator.service.web.problems import no_token, too_many, unavailable, unread

MOST_UNREAD = 1 << 27
"""The most bytes of replies to one caller that are being sent."""

_SCHEME = "bearer "
_LONGEST = 200  # characters of a token


class Caller(Protocol):
    """Somebody who asks."""

    @property
    def name(self) -> str:
        """Who it is; "" for the owner."""

    def reach(self, root: str) -> ReachedRoot | None:
        """What the id of a root reaches; None if it is not theirs."""

    def roots(self) -> Iterable[tuple[str, str, ReachedRoot]]:
        """The titles and ids of their roots, and what each reaches."""


@attrs.frozen
class AnalystCaller:
    """An analyst with a valid token."""

    analyst: Analyst

    @property
    def name(self) -> str:
        """The analyst's name."""
        return self.analyst.name

    def reach(self, root: str) -> ReachedRoot | None:
        """What the id of a root reaches."""
        return self.analyst.reach(root)

    def roots(self) -> Iterator[tuple[str, str, ReachedRoot]]:
        """The analyst's grants."""
        for grant in self.analyst.grants:
            yield grant.title, grant.root, grant.reach


@attrs.frozen
class OwnerCaller:
    """The owner, who reaches the whole tree of each data set."""

    datasets: tuple[str, ...]
    name: str = ""

    def reach(self, root: str) -> ReachedRoot | None:
        """The whole tree of a data set."""
        return ReachedRoot(root, ()) if root in self.datasets else None

    def roots(self) -> Iterator[tuple[str, str, ReachedRoot]]:
        """The data sets."""
        for name in self.datasets:
            yield name, name, ReachedRoot(name, ())


def analyst_of(keeper: AsyncAccess, authorization: str | None) -> Caller:
    """The analyst of a header `Authorization`.

    Raises:
        Problem: there is none with this token.
    """
    if not keeper.is_fresh:
        raise unavailable("the list of analysts cannot be read now")
    given = authorization or ""
    token = given[len(_SCHEME) :].strip()
    if not given.lower().startswith(_SCHEME) or not len(token) <= _LONGEST:
        raise no_token()
    analyst = keeper.access.of_token(hash_of(token))
    if analyst is None:
        raise no_token()
    return AnalystCaller(analyst)


class Turns:
    """How many requests each caller has under way, and the size of the replies that it reads.

    Args:
        most: requests of each.
        bytes: of replies to each. One reply may be larger.
    """

    def __init__(self, most: int, bytes: int = MOST_UNREAD) -> None:  # noqa: A002 (of bytes)
        self._most, self._bytes = most, bytes
        self._counts: Counter[str] = Counter()
        self._unread: Counter[str] = Counter()

    def holding(self, caller: Caller, size: int) -> "Counted":
        """Count a reply while it is being sent.

        Raises:
            Problem: the caller has not read others.
        """
        others = self._unread[caller.name]
        if others and not others + size <= self._bytes:
            raise unread()
        return Counted(self._unread, caller.name, size)

    def turn(self, caller: Caller) -> "Counted":
        """Count a request while it is under way.

        Raises:
            Problem: there are too many of this caller.
        """
        if self._counts[caller.name] >= self._most:
            raise too_many(self._most)
        return Counted(self._counts, caller.name, 1)


class Counted:
    """A block during which so much is added to the count of a name."""

    __slots__ = ("_amount", "_counts", "_name")

    def __init__(self, counts: Counter[str], name: str, amount: int) -> None:
        self._counts, self._name, self._amount = counts, name, amount

    def __enter__(self) -> None:
        self._counts[self._name] += self._amount

    def __exit__(self, *_: object) -> None:
        self._counts[self._name] -= self._amount
        if not self._counts[self._name]:
            del self._counts[self._name]
