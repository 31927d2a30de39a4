"""Coins from a secret key and from everything that was asked and answered before.

Responsible for noise that a restarted process can compute again, and that is never used for two
questions. The coins of a message depend on the key, on the root's name, on the message, and on
every message and answer before it. Two histories that differ anywhere have independent coins, so an
old copy of a log that is continued with other questions reuses no noise.

A root calls `asked` before a message and `answered` after it. Polls and messages that raised a
`QueryError` are not part of the history. Does not know how values are written: `canonical` does.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Never, final

from queryable.randomness.coins import ChildId, StreamCoins

_KEY_BYTES = 32


@final
class SealedCoins(StreamCoins):
    """Coins that whoever has the key and the history can compute again, and nobody else.

    Streams of SHAKE256, of the key and of a hash of the history. The key has to be as secret as the
    data: it determines all noise. Only a `Queryable` and a curator keep a history; `interact` and
    `rehearse` do not.

    Args:
        key: 32 bytes, drawn at random for this root.
        root: the root's name.
        canonical: writes a query or an answer as bytes; equal bytes mean equal values.

    Examples:
        >>> from queryable.randomness.laws import UniformBelow
        >>> from queryable.randomness.sealed import SealedCoins
        >>> write = lambda value: repr(value).encode()
        >>> start = SealedCoins(bytes(32), "visits", canonical=write)
        >>> first = start.asked((), "how many?")
        >>> again = start.asked((), "how many?")
        >>> first.draw(UniformBelow(100)) == again.draw(UniformBelow(100))
        True
        >>> second = first.answered(12).asked((), "how many?")
    """

    __slots__ = ("_canonical", "_count", "_history", "_seal")

    def __init__(self, key: bytes, root: str, *, canonical: Callable[[Any], bytes]) -> None:
        if type(key) is not bytes or len(key) != _KEY_BYTES:
            raise ValueError(f"key should be {_KEY_BYTES} bytes")  # the value stays out of the text
        if not isinstance(root, str) or not root:
            raise ValueError("root should be a name, a string that is not empty")
        self._start(key, canonical, _hash(b"root", root.encode()), 0)

    def _start(
        self, seal: bytes, canonical: Callable[[Any], bytes], history: bytes, count: int
    ) -> None:
        self._seal, self._canonical = seal, canonical
        self._history, self._count = history, count
        self._stream(b"")  # until something is drawn: most coins only lead to others

    def _begin(self) -> None:
        if not self._key:
            self._key = _hash(b"coins", self._seal, self._history)

    def _at(self, history: bytes, count: int) -> "SealedCoins":
        coins = SealedCoins.__new__(SealedCoins)
        coins._start(self._seal, self._canonical, history, count)
        return coins

    @property
    def history(self) -> bytes:
        """A hash of the messages and answers so far; it says nothing about the key."""
        return self._history

    @property
    def count(self) -> int:
        """The number of messages so far."""
        return self._count

    def asked(self, path: tuple[ChildId, ...], query: Any) -> "SealedCoins":
        """The coins of the next message.

        Raises:
            QueryError: the query cannot be written.
        """
        return self.asked_with(self._canonical((path, query)))

    def asked_with(self, written: bytes) -> "SealedCoins":
        """As `asked`, with the path and the query as `canonical` writes them."""
        count = self._count + 1
        return self._at(_hash(b"asked", self._history, b"%d" % count, written), count)

    def answered(self, answer: Any) -> "SealedCoins":
        """The coins after a message was answered, from which `asked` goes on."""
        return self.answered_with(self._canonical(answer))

    def answered_with(self, written: bytes) -> "SealedCoins":
        """As `answered`, with the answer as `canonical` writes it."""
        return self._at(_hash(b"answered", self._history, written), self._count)

    def resumed(self, history: bytes, count: int) -> "SealedCoins":
        """The coins at a history that was read back from a log."""
        return self._at(history, count)

    def spawn(self, child: ChildId, message: int) -> "SealedCoins":
        """The coins for the message-th message to a child."""
        spawned = _hash(b"spawn", self._history, repr((child, message)).encode())
        return self._at(spawned, self._count)

    def _expand(self) -> None:
        self._begin()
        super()._expand()

    def bytes(self, count: int) -> bytes:
        """Return `count` uniform bytes, from a stream separate from that of `bits`."""
        self._begin()
        return super().bytes(count)

    def __repr__(self) -> str:
        return "SealedCoins()"

    def _unpicklable(self, *_: object) -> Never:
        raise TypeError("sealed coins cannot be copied or pickled: they hold the key")

    __copy__ = __deepcopy__ = __reduce_ex__ = __reduce__ = __getstate__ = _unpicklable


def _hash(*parts: bytes) -> bytes:
    """A hash of a list of byte strings, each with its length, so that no two lists are alike."""
    digest = sha256(b"queryable sealed coins/1")
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()
