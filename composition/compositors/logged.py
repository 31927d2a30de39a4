"""The claims of a compositor whose state was made again from a log.

Responsible for keeping a million claims in little memory. A claim that was not needed to make the
state again is a place in the log. It is read when somebody looks at it, such as for a report at
another `d_in`. Does not know how a log is read.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from immutables import Map

from composition.compositors.claims import Claim

_KNOWN = -1


class LoggedClaims:
    """Claims by child id, some of which are in a log. A frozen value, as `Map` is.

    Values that follow from each other share the list of places; each has the first `count`.
    """

    __slots__ = ("_count", "_known", "_places", "_read")

    def __init__(
        self, read: Callable[[int], Claim], places: "array[int]", known: "Map[int, Claim]"
    ) -> None:
        self._read, self._places, self._known = read, places, known
        self._count = len(places)

    def set(self, child: int, claim: Claim) -> "LoggedClaims":
        """The claims with this one, of a child that is known or the next one."""
        after = self._followed(self._count)
        after._known = self._known.set(child, claim)
        after._count = max(self._count, child + 1)
        return after

    def logged(self, places: Sequence[int]) -> "LoggedClaims":
        """The claims with those of further launches, which have these places in the log."""
        after = self._followed(self._count + len(places))
        if len(after._places) > self._count:  # another value goes on from here
            after._places = after._places[: self._count]
        after._places.extend(_KNOWN for _ in range(self._count - len(after._places)))
        after._places.extend(places)
        return after

    def _followed(self, count: int) -> "LoggedClaims":
        after = LoggedClaims(self._read, self._places, self._known)
        after._count = count
        return after

    def __getitem__(self, child: int) -> Claim:
        claim = self.get(child)
        if claim is None:
            raise KeyError(child)
        return claim

    def get(self, child: int) -> Claim | None:
        """The claim of a child, or None."""
        claim = self._known.get(child)
        if claim is None and type(child) is int and 0 <= child < self._count:
            return self._read(self._places[child])
        return claim

    def values(self) -> Iterator[Claim]:
        """All claims, in the order of their launches."""
        return (self[child] for child in range(self._count))

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LoggedClaims | Map) or len(self) != len(other):
            return False
        return all(self[child] == other[child] for child in range(self._count))

    __hash__ = None  # type: ignore[assignment]


Claims: TypeAlias = "Map[int, Claim] | LoggedClaims"


def with_logged(
    claims: Claims, places: Sequence[int], read: Callable[[int], Claim]
) -> LoggedClaims:
    """Claims with those of further launches, which have these places in a log."""
    if not isinstance(claims, LoggedClaims):
        claims = LoggedClaims(read, array("q", [_KNOWN] * len(claims)), claims)
    return claims.logged(places)
