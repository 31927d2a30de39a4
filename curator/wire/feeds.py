"""What the owner of growing data sends to a curator, and its reply."""

import json

import attrs

from curator.wire.errors import WireError
from curator.wire.texts import Read, a_flag, a_text, a_value, dumped, fields_of, loaded

PARTS: dict[str, Read] = {"id": a_text, "block": a_value, "close": a_flag}
"""The fields of `Feeding`, with how each is read."""


@attrs.frozen
class Feeding:
    """A batch to feed, or a block to close.

    Attributes:
        id: under which it is done once. A batch is the file of this name in the folder of batches.
        block: the name of a block, as a text of the codec; null for none.
        close: whether the block is closed, and no batch is fed.
    """

    id: str
    block: str
    close: bool

    def written(self) -> bytes:
        """The body of a message."""
        whole = {"block": json.loads(self.block), "close": self.close, "id": self.id}
        return dumped(whole).encode()

    @classmethod
    def read(cls, body: bytes) -> "Feeding":
        """Read a body.

        Raises:
            WireError: it is none.
        """
        try:
            text = body.decode()
        except UnicodeDecodeError:
            raise WireError("the body is not UTF-8") from None
        return cls(**fields_of(loaded(text), PARTS, "the body"))


@attrs.frozen
class Fed:
    """What became of it.

    Attributes:
        again: whether it had been done before, under this id.
        batch: the number of the batch; None for a block that was closed.
        findings: what could not be read in the file. Private.
    """

    again: bool
    batch: int | None
    findings: list[str]

    def written(self) -> bytes:
        """The body of a reply."""
        return dumped(attrs.asdict(self)).encode()
