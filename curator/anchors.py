"""Anchors: a file elsewhere that tells whether a ledger has lost messages.

Responsible for the file. `curator.moorings` follows one root, and `curator.root` opens it.

Theory of operation. Whoever restores an old copy of a ledger forgets what was spent since. Noise is
never used twice, because the coins of a message depend on the whole history before it. But budget
is: the answers of the lost messages were given, and the copy could pay for others. An anchor is a
small file that is kept elsewhere, such as on another disk. It has, for each root, the number and
the hash of an event, the *mark*, and a *bound* of what all answers so far have cost together,
whichever copy of the ledger they came from.

The order of a message is then: the intent is durable in the ledger, the anchor is durable, data are
read. So every message that has read data is at or before the mark, or is covered by the bound. An
answer needs no mark of its own: it follows from the intent, the data and the key.

- A ledger that has the mark in its chain of hashes has lost nothing up to it. If it has spent as
  much as the bound says, it goes on. After a crash this is so: the ledger is ahead of the anchor.
- A ledger without the mark is an old copy, or another history. It is *sealed*: no message is run
  until the owner charges the root up to the bound. All its children are retired then. A child was
  paid for when it was launched, and its claim is about one interaction; in the messages that were
  lost it may have gone on, and the root's account would be the same. A message that has no answer
  in the copy has failed.

The bound holds by induction. While a root runs, its own spent amount is at least what all copies
have cost together, and the bound is at least that. A message raises the three in this order: spent
amount, bound, cost. A sealed ledger starts with a spent amount of the bound.

A message whose cost depends on its answer raises the bound by its worst case, and the answer lowers
it to what it has cost. If the process ends between the two, the root is sealed.

With a `block`, the bound is raised ahead. Launches at the root that stay within it do not write the
anchor. Messages to children always do. When the root is released, the bound is lowered to what was
spent. If the process ends otherwise, the launches after the mark may be lost or not, so the root is
sealed; charging it costs at most one block, and children go on, since none was asked after the
mark.

What an anchor does not find: that ledger and anchor were both replaced by old copies.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

import attrs

from curator.ledgers import LedgerError
from queryable.losses import Loss
from queryable.wording.quoting import quoted

FORMAT = "queryable anchor/1"
_MODE = 0o600

Amounts = tuple[Fraction, ...]
"""What an account sums up, such as rho; sums of losses are exact in it."""


class SealedError(LedgerError):
    """The ledger is behind its anchor: messages were lost, and their charges with them."""


class AnchorError(LedgerError):
    """The anchor cannot be read or written, or is not that of the root."""


@attrs.frozen
class Mark:
    """What an anchor has of one root.

    Attributes:
        salt: the salt of the root's first event.
        seq, hash: the last event that is known to be in the ledger; 0 and "" for none.
        bound: what was spent at most; None if the root's account is no sum.
    """

    salt: str
    seq: int = 0
    hash: str = ""
    bound: Amounts | None = None


def _block(value: Any) -> Any:
    if value is not None and not isinstance(value, Loss):
        raise TypeError("block should be a loss, such as ZCDP('1/1000'), or None")
    return value


def _path(value: Any) -> Path:
    if not isinstance(value, str | PathLike):
        raise TypeError(f"path is {quoted(value)}; it should be the name of a file")
    return Path(value)


@attrs.frozen
class Anchor:
    """The file of an anchor. Several roots of different names may share it.

    Args:
        path: the file, on another disk than the ledger. A new root makes it.
        block: how far the bound is raised ahead, in the measure that launches are charged in. By
            default it is not: each message writes the anchor, and a crash costs nothing,
            but for an `ExPost` root at most the worst case of the step that was under way.
    """

    path: Path = attrs.field(converter=_path)
    block: Any = attrs.field(default=None, converter=_block)

    def is_there(self) -> bool:
        """Whether there is such a file.

        Raises:
            AnchorError: there can be none of this name.
        """
        try:
            return self.path.exists()
        except (OSError, ValueError) as error:
            raise AnchorError(f"the anchor {self.path} cannot be looked for: {error}") from error

    def marks(self) -> dict[str, Mark]:
        """What the file has, by the names of roots.

        Raises:
            AnchorError: there is no such file, others may change it, or it is damaged.
        """
        try:
            mode = self.path.stat().st_mode
            text = self.path.read_text(encoding="ascii")
        except (OSError, ValueError) as error:
            raise AnchorError(
                f"the anchor {self.path} cannot be read: {error}. Without it nobody knows whether "
                "the ledger is an old copy: bring it back from where it was"
            ) from error
        if os.name == "posix" and mode & 0o077:
            raise AnchorError(
                f"others may read or change the anchor {self.path}; let its owner alone: chmod 600 "
                f"{self.path}"
            )
        try:
            value = json.loads(text)
            if text != _text(value["roots"]):
                raise ValueError("another text")
            return {name: _mark(each) for name, each in value["roots"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise AnchorError(f"{self.path} is no anchor, or is damaged") from error

    def put(self, root: str, known: Mark | None, mark: Mark) -> None:
        """Put a mark in place of the one that is known; it is durable when this returns.

        Raises:
            AnchorError: the file has another mark, or cannot be written.
        """
        try:
            with self._alone():
                new = known is None and not self.is_there()
                marks = {} if new else self.marks()
                if marks.get(root) != known:
                    raise AnchorError(
                        f"another process has changed the mark of root {root!r} in {self.path}"
                    )
                self._write({**marks, root: mark})
        except OSError as error:
            raise AnchorError(f"the anchor {self.path} cannot be written: {error}") from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes and threads from writing the file."""
        import fcntl

        handle = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT, _MODE)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _write(self, marks: dict[str, Mark]) -> None:
        text = _text({name: _described(mark) for name, mark in marks.items()})
        part = f"{self.path}.new"
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE)
        try:
            os.write(handle, text.encode("ascii"))
            os.fsync(handle)
        finally:
            os.close(handle)
        Path(part).replace(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def anchor_of(value: Any) -> Anchor:
    """An anchor, or that of a path."""
    return value if isinstance(value, Anchor) else Anchor(value)


def _described(mark: Mark) -> dict[str, Any]:
    bound = None if mark.bound is None else [str(each) for each in mark.bound]
    return {"salt": mark.salt, "seq": mark.seq, "hash": mark.hash, "bound": bound}


def _mark(body: dict[str, Any]) -> Mark:
    bound = body["bound"]
    known = None if bound is None else tuple(map(Fraction, bound))
    return Mark(str(body["salt"]), int(body["seq"]), str(body["hash"]), known)


def _text(roots: dict[str, Any]) -> str:
    """The text of a file, with a hash that tells whether it is whole."""
    inner = json.dumps(roots, sort_keys=True, separators=(",", ":"))
    digest = sha256(inner.encode()).hexdigest()
    return f'{{"format":"{FORMAT}","roots":{inner},"sha256":"{digest}"}}\n'
