"""The history that the coins of each message come from: a hash of everything before it.

It needs no key. So a ledger whose noise was drawn at another history, such as one that was copied
from another place, is found.

    h_0 = H("answered", H("root", root's id), canonical(opening answer))
    asked_n = H("asked", h_{n-1}, n, canonical((path, query)))
    h_n = H("answered", asked_n, canonical(answer))

H is SHA-256 of the text "queryable sealed coins/1" and of its arguments, each with its length. The
root's id is its name, a space, and SHA-256 of the body of its first event in hexadecimal digits.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

from curator.verification.accounts import WrongAccountError

_LABEL = b"queryable sealed coins/1"


class Histories:
    """The history so far."""

    def __init__(self, root: str, opened: str, opening: str) -> None:
        identity = f"{root} {sha256(opened.encode()).hexdigest()}"
        self._history = _hash(b"answered", _hash(b"root", identity.encode()), opening.encode())

    def take(self, asked: Mapping[str, Any], answered: Mapping[str, Any]) -> None:
        """Check the history of the next message.

        Raises:
            WrongAccountError: it is another one.
        """
        path = json.dumps(asked["path"], separators=(",", ":"))
        message = f"[{path},{asked['query']}]".encode()
        history = _hash(b"asked", self._history, b"%d" % asked["n"], message)
        if history.hex() != asked["history"]:
            raise WrongAccountError("has coins of another history than that of this ledger")
        self._history = _hash(b"answered", history, answered["answer"].encode())


def _hash(*parts: bytes) -> bytes:
    digest = sha256(_LABEL)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()
