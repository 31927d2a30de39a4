"""What tells a root: its key, its mechanism and its data, as its first event has them.

Responsible for checking that a root goes on with what it was opened with.
"""

import hmac
import json
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

from curator.access import OWN
from curator.codec import Codec
from curator.fingerprints import differences, fingerprint
from curator.keys import Key, make_key, read_key
from curator.ledgers import Ledger, LedgerError
from curator.logs.journal import written
from curator.logs.story import Telling
from queryable.checks.fit import require_opening
from queryable.mechanism import InteractiveMechanism

Place = Ledger | str | os.PathLike[str]
"""A ledger, or the path of its file."""


def is_key(opened: dict[str, Any], secret: bytes) -> bool:
    """Whether this is the key that a root was opened with."""
    return hmac.compare_digest(opened["check"], check_value(secret, opened["salt"]))


def root_id(name: str, opened: dict[str, Any]) -> str:
    """What the coins of a root are bound to, beside the key: its name and its first event.

    The first event has a random salt, the mechanism and the fingerprint of the data. So a key that
    is used for a second root, or for a second ledger, gives other noise there.
    """
    return f"{name} {sha256(written(opened).encode()).hexdigest()}"


def default_key(ledger: Place) -> str | None:
    """The file of the key beside that of the ledger; None for a ledger in a database."""
    path = ledger if isinstance(ledger, str | os.PathLike) else getattr(ledger, "path", None)
    return None if path is None or "://" in os.fspath(path) else f"{os.fspath(path)}.key"


def secret_of(key: Key | None, ledger: Place, *, new: bool) -> bytes:
    """The key of a root. For a new one, a file beside the ledger is made if there is none."""
    if key is not None:
        return read_key(key)
    path = default_key(ledger)
    if path is None:
        raise ValueError("give a key: 32 bytes, the path of a file with them, or 'env:NAME'")
    return make_key(path) if new and not Path(path).exists() else read_key(path)


def check_value(secret: bytes, salt: str) -> str:
    """A value that tells whether a key is the right one, and nothing else about it."""
    return hmac.new(secret, b"check " + salt.encode(), sha256).hexdigest()


def described(
    mechanism: InteractiveMechanism[Any], dataset: Any, secret: bytes, codec: Codec
) -> dict[str, Any]:
    """What a root is opened with, as its first event has it."""
    return {
        "fingerprint": fingerprint(dataset, secret),
        "mechanism": str(codec.encode(mechanism), "ascii"),
    }


def continued(
    name: str,
    telling: Telling,
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    key: Key | None,
    ledger: Place,
    codec: Codec,
) -> bytes:
    """The key of a root that goes on, after everything that it was opened with was compared.

    For a root that is not there yet it is empty, and nothing is read.

    Raises:
        QueryError: it is not there yet, and the mechanism does not fit the data.
        LedgerError: it was closed, or opened with something else.
    """
    if telling.opened is None:
        require_opening(dataset, mechanism)
        return b""
    try:
        secret = secret_of(key, ledger, new=False)
        require_same(name, telling, mechanism, dataset, secret, codec)
    except Exception:
        require_not_closed(name, telling)
        raise
    return secret


def require_same(
    name: str,
    telling: Telling,
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    secret: bytes,
    codec: Codec,
) -> dict[str, Any]:
    """Check that a root goes on with what it was opened with; return its first event's body.

    Raises:
        LedgerError: it does not.
    """
    opened = telling.opened
    assert opened is not None
    require_live(name, telling)
    if not is_key(opened, secret):
        raise LedgerError(f"root {name!r} was opened with another key; give that one")
    now = described(mechanism, dataset, secret, codec)
    if now["mechanism"] != opened["mechanism"]:
        raise LedgerError(
            f"root {name!r} was opened with another budget or mechanism: {opened['mechanism']}. "
            "Give that one, or open a root of another name, whose losses add to those of this one"
        )
    if now["fingerprint"] != opened["fingerprint"]:
        raise LedgerError(
            f"root {name!r} was opened on other data: "
            f"{differences(opened['fingerprint'], now['fingerprint'])}. Give the data of then, or "
            "open a root of another name; curator.view shows the answers of this one"
        )
    return opened


def holder_of(place: Ledger, described: dict[str, Any], secret: bytes) -> str | None:
    """The first root of a ledger that was opened on these data; None if there is none.

    Contents are compared by fingerprints, which only roots of one key share. Budgets, units and
    columns may differ.

    Args:
        described: what a new root is to be opened with; see `described`.
    """
    data = _data(described)
    for name in place.roots():
        first = next(iter(place.read(name)), None)
        opened = None if first is None or name.startswith(OWN) else json.loads(first.body)
        if opened is not None and is_key(opened, secret) and _data(opened) == data:
            return name
    return None


def _data(opened: dict[str, Any]) -> tuple[Any, ...]:
    """What a fingerprint says of the data, without what is used of them."""
    found = opened["fingerprint"]
    return found.get("kind"), found.get("source"), found.get("contents")


def require_live(name: str, telling: Telling) -> None:
    """Check that the root is not closed, as far as the log was read.

    Raises:
        LedgerError: it is.
    """
    if telling.closed:
        raise LedgerError(
            f"root {name!r} is closed: its answers stay, and it has no more; curator.view shows it"
        )


def require_not_closed(name: str, telling: Telling) -> None:
    """Read the rest of the log: if the root is closed, that is what there is to say.

    Raises:
        LedgerError: it is closed.
    """
    for _ in telling.messages():
        """Nothing of it is kept."""
    require_live(name, telling)
