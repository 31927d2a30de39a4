"""`Sessions`: who is logged in on the pages. They are in memory, so they end with the process.

A browser gets a random id in a cookie, and only the id's hash is kept. A session of an analyst
belongs to the token that it was begun with: it ends when the token is revoked. A session of the
owner is begun with a code that works once, which only the owner's socket gives.
"""

import time
from collections.abc import Callable
from typing import Any

import attrs

from curator.access import hash_of
from curator.service.web.callers import AnalystCaller, Caller, OwnerCaller
from curator.service.web.keeper import AsyncAccess
from curator.service.web.problems import unavailable
from queryable.randomness.entropy import random_bytes

LASTS = 12 * 3600.0
"""Seconds after which a session ends."""

CODE_LASTS = 600.0
"""Seconds in which a code of the owner works."""

_MOST = 10_000
_MOST_EACH = 20
_MOST_CODES = 20


@attrs.frozen
class _Session:
    """A session; `token` is the hash of an analyst's token, None for the owner."""

    token: str | None
    until: float


class Sessions:
    """The sessions and codes of a curator.

    Args:
        datasets: what the owner reaches.
    """

    def __init__(
        self,
        keeper: AsyncAccess,
        datasets: tuple[str, ...],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keeper, self._owner, self._clock = keeper, OwnerCaller(datasets), clock
        self._sessions: dict[str, _Session] = {}
        self._codes: dict[str, float] = {}

    def make_code(self) -> str:
        """A code with which a browser becomes the owner's, once."""
        code = random_bytes(32).hex()
        _make_room(self._codes, _MOST_CODES)
        self._codes[hash_of(code)] = self._clock() + CODE_LASTS
        return code

    def begin_owners(self, code: str) -> str | None:
        """Begin a session of the owner, and return its id; None if the code does not work."""
        until = self._codes.pop(hash_of(code), None)
        if until is None or not self._clock() < until:
            return None
        return self._begun(None)

    def begin(self, token: str) -> str | None:
        """Begin a session of an analyst, and return its id; None if nobody has this token.

        Raises:
            Problem: the analysts cannot be read now.
        """
        hashed = hash_of(token)
        return None if self._analyst(hashed) is None else self._begun(hashed)

    def caller(self, identity: str) -> Caller | None:
        """Who has this session; None if it has ended or never was.

        Raises:
            Problem: the analysts cannot be read now.
        """
        session = self._sessions.get(hash_of(identity))
        if session is None or not self._clock() < session.until:
            return None
        return self._owner if session.token is None else self._analyst(session.token)

    def end(self, identity: str) -> None:
        """End a session."""
        self._sessions.pop(hash_of(identity), None)

    def _analyst(self, hashed: str) -> Caller | None:
        if not self._keeper.is_fresh:
            raise unavailable("the list of analysts cannot be read now")
        analyst = self._keeper.access.of_token(hashed)
        return None if analyst is None else AnalystCaller(analyst)

    def _begun(self, token: str | None) -> str:
        identity, now = random_bytes(32).hex(), self._clock()
        for hashed in [key for key, each in self._sessions.items() if not now < each.until]:
            del self._sessions[hashed]
        same = [key for key, each in self._sessions.items() if each.token == token]
        if len(same) >= _MOST_EACH:
            del self._sessions[same[0]]
        _make_room(self._sessions, _MOST)
        self._sessions[hash_of(identity)] = _Session(token, now + LASTS)
        return identity


def _make_room(kept: dict[str, Any], most: int) -> None:
    """Drop the oldest of what is kept, so that one more has room."""
    while len(kept) >= most:
        del kept[next(iter(kept))]
