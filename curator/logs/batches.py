"""Messages of the data's owner in a log: batches by their fingerprints, and ends of blocks.

Responsible for the text of such a message in an `update` event, and for giving the message again
from the owner's batches. A text has the number of the batch, the name of its block, and a hash of
what is in it. The hash is keyed, and depends on the number: two equal batches, such as two empty
ones, look different to whoever reads the ledger without the key. The text is a part of the history
that coins come from. So a log that is continued with another batch has other noise from there.
"""

import hmac
import json
import re
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from curator.codec import Codec
from curator.fingerprints import fingerprint, fingerprint_of_files
from curator.ledgers import LedgerError
from curator.logs.batch_files import BatchFolder, is_id
from curator.wire.texts import dumped
from queryable.checks.datasets import Described
from queryable.checks.protection import Protected
from queryable.errors import QueryError
from queryable.messages import CloseBlock, Query, Update
from queryable.verbs.feeding import owned

Updates = Sequence[Any] | Callable[[int], Any] | BatchFolder
"""The batches that a root got, in order: a sequence, a function of their number from 0, or a folder
of files."""

_UPDATE, _CLOSE = "update/1", "close-block/1"
_HEX = re.compile("[0-9a-f]{64}")


class Course:
    """What is public about the messages of the data's owner so far.

    Attributes:
        batches: how many batches there were.
        blocks: the texts of blocks in the order of their first batch; whether each is open.
        ids: the texts of the messages that have an id.
    """

    def __init__(self) -> None:
        self.batches = 0
        self.blocks: dict[str, bool] = {}
        self.ids: dict[str, str] = {}

    def check(self, text: str, identity: Any = None) -> tuple[bool, str | None]:
        """Whether the next message is a batch, and its block.

        Raises:
            ValueError: it cannot come now, or is no such text, or its id is none.
        """
        if identity is not None and (not is_id(identity) or identity in self.ids):
            raise ValueError("the id is none, or was used before")
        said = json.loads(text)
        kind, block = said.pop("@"), said.pop("block", None)
        name = None if block is None else dumped(block)
        if kind == _UPDATE:
            if said.pop("number") != self.batches + 1:
                raise ValueError(f"batch {self.batches + 1} comes next")
            if not _HEX.fullmatch(said.pop("contents")):
                raise ValueError("a batch has a fingerprint of 64 hexadecimal digits")
            if name is not None and self.blocks.get(name) is False:
                raise ValueError(f"the block {name} is closed")
        elif kind == _CLOSE:
            if name is None or not self.blocks.get(name):
                raise ValueError(f"there is no open block {name}")
        else:
            raise ValueError(f"{kind} is no message of the data's owner")
        if said:
            raise ValueError("a message of the data's owner has no further parts")
        return kind == _UPDATE, name

    def take(self, text: str, identity: Any = None) -> None:
        """Go on after the next message.

        Raises: as `check`.
        """
        is_batch, name = self.check(text, identity)
        if identity is not None:
            self.ids[identity] = text
        self.batches += is_batch
        if name is not None:
            self.blocks[name] = is_batch

    def __str__(self) -> str:
        one = self.batches == 1
        text = f"{self.batches} batch{'' if one else 'es'}"
        if self.blocks:
            told = (f"{name}{'' if is_open else ' (closed)'}" for name, is_open in self._named())
            text += f" in {len(self.blocks)} block{'' if len(self.blocks) == 1 else 's'}: "
            text += ", ".join(told)
        return text

    def _named(self) -> list[tuple[str, bool]]:
        """The last blocks, as people name them."""
        return [(str(_value(name)), is_open) for name, is_open in [*self.blocks.items()][-3:]]


def _value(name: str) -> Any:
    block = json.loads(name)
    return block if not isinstance(block, dict) else block.get("value", name)


class Marks:
    """Fingerprints of batches, keyed for one root.

    Args:
        secret: the key of the root.
        salt: that of its first event.
    """

    def __init__(self, secret: bytes, salt: str) -> None:
        self._key = hmac.digest(secret, b"batches " + salt.encode(), sha256)

    def contents(self, records: Any) -> bytes:
        """What is in a batch, wherever it comes.

        Raises:
            TypeError: it cannot be recognised again.
        """
        of_files = isinstance(records, str | Path)  # files of a table, not their name
        found = (fingerprint_of_files if of_files else fingerprint)(records, self._key)
        return json.dumps(found, sort_keys=True).encode()

    def of(self, contents: bytes, number: int) -> str:
        """The fingerprint of a batch with these contents as batch `number`, counted from 1."""
        return hmac.new(self._key, b"batch %d " % number + contents, sha256).hexdigest()


class Batches:
    """The messages of the data's owner to one root.

    Args:
        marks: fingerprints; None for a look at a log without data and key.
        updates: the batches that the log has, for a root that goes on.
    """

    def __init__(self, codec: Codec, marks: Marks | None = None, updates: Updates = ()) -> None:
        self._codec, self._marks, self._updates = codec, marks, updates
        self.course = Course()

    def text(self, message: Query) -> str:
        """The text of the next message.

        Raises:
            QueryError: it is wrong.
        """
        try:
            text = self._said(message, self.course.batches + 1)
            self.course.check(text)
        except (TypeError, ValueError) as error:
            raise QueryError(f"{error}; nothing has changed") from None
        return text

    def known(self, message: Query, identity: str) -> int | None:
        """The number of the batch that the log has under this id, 0 for a block; None if none.

        Raises:
            QueryError: the log has another message under it.
        """
        if identity not in self.course.ids:
            return None
        number = json.loads(self.course.ids[identity]).get("number", 0)
        try:
            same = self._said(message, number) == self.course.ids[identity]
        except (TypeError, ValueError):
            same = False
        if not same:
            raise QueryError(
                f"the id {identity!r} was used for another batch or block; nothing has changed"
            )
        return int(number)

    def _said(self, message: Query, number: int) -> str:
        """The text of a message, if it is the batch of this number."""
        assert self._marks is not None
        assert isinstance(message, Update | CloseBlock)
        said: dict[str, Any] = {"@": _CLOSE}
        if isinstance(message, Update):
            contents = self._marks.contents(message.records)
            said = {"@": _UPDATE, "contents": self._marks.of(contents, number)}
            said["number"] = number
        if message.block is not None:
            said["block"] = json.loads(self._codec.encode(message.block))
        return dumped(said)

    def again(self, text: str, identity: Any = None) -> Query:
        """The message of the log with this text, with the records that the owner gives again.

        Args:
            identity: the id under which it was fed; None if it had none.

        Raises:
            LedgerError: the owner gives no batch, or another one, or the text cannot come now.
        """
        try:
            is_batch, name = self.course.check(text, identity)
            self.course.take(text, identity)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise LedgerError(f"the log has a wrong message of the data's owner: {error}") from None
        block = None if name is None else self._codec.decode(name)
        if not is_batch:
            return CloseBlock(block)
        if self._marks is None:
            return Update(None, block)
        records, number = self._given(self.course.batches - 1, identity), self.course.batches
        try:
            mark = self._marks.of(self._marks.contents(records), number)
        except TypeError as error:
            raise LedgerError(f"batch {number}: {error}") from None
        if not hmac.compare_digest(mark, json.loads(text)["contents"]):
            raise LedgerError(
                f"batch {number} is not the one that the log has: {self._advice(records)}; nothing "
                "has changed"
            )
        return Update(records, block)

    def require_all(self) -> None:
        """Check that no batch was given that the log does not have.

        Raises:
            LedgerError: there are more.
        """
        count = self.course.batches
        if self._marks is not None and isinstance(self._updates, Sequence):
            given = len(self._updates)
            if given > count:
                raise LedgerError(
                    f"the log has {count} batches, and updates {given}: give the first {count} as "
                    "updates, and the others with feed; nothing has changed"
                )
        self._updates = ()

    def _advice(self, records: Any) -> str:
        if isinstance(self._updates, BatchFolder):
            return f"put back {records} as it was fed"
        return "give the batches of then in order, as updates"

    def _given(self, place: int, identity: str | None) -> Any:
        updates = self._updates
        if isinstance(updates, BatchFolder):
            return self._of_folder(updates, place + 1, identity)
        try:
            given = updates[place] if isinstance(updates, Sequence) else updates(place)
            return owned(given.records if isinstance(given, Update) else given)
        except Exception as error:
            raise LedgerError(
                f"batch {place + 1} is missing ({type(error).__name__}): open the root with all "
                "batches that it got, as updates; nothing has changed"
            ) from error

    def _of_folder(self, folder: BatchFolder, number: int, identity: str | None) -> Path:
        name = f"batch-{number}" if identity is None else identity
        try:
            return folder.file(name)
        except OSError as error:
            how = "" if identity is not None else " (fed without an id)"
            raise LedgerError(
                f"the file of batch {number}{how} is missing: put it back into {folder.path} as "
                f"{name}.csv, or .parquet; nothing has changed"
            ) from error


class Absent(Described):
    """The data of a look at a log: what is known of them is who is protected, and columns.

    Args:
        protects: that.
        layout: their columns with types, as the log has them.
    """

    def __init__(self, protects: Protected, layout: str = "") -> None:
        self._protects, self._layout = protects, layout

    @property
    def layout(self) -> str:
        """Their columns, in words; empty if they are not known. Public."""
        return self._layout

    @property
    def protects(self) -> Protected:
        """Who is protected. Public."""
        return self._protects

    def check(self, statistic: Any) -> None:
        """It may fit: the columns are not known."""

    def append(self, records: Any, block: Any = None) -> "Absent":
        """The same: nothing is known."""
        return self

    def over(self, blocks: Any) -> "Absent":
        """The same: nothing is known."""
        return self
