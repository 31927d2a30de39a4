"""What the curator's functions are called with: names of roots, codecs, files of ledgers."""

import os
from pathlib import Path
from typing import Any

from curator.codec import Codec
from curator.ledgers import LedgerError
from queryable.wording.quoting import quoted

LONGEST_NAME = 200


def name_of(name: Any) -> str:
    """The name of a root.

    Raises:
        TypeError: it is no string.
        ValueError: it is empty, too long, or has characters that do not print.
    """
    if not isinstance(name, str):
        raise TypeError(f"give name as a string, not {quoted(type(name))}")
    read = str.__str__(name)  # a subclass may compare equal to anything
    if not read.strip() or not read.isprintable() or not len(read) <= LONGEST_NAME:
        raise ValueError(
            f"name should be printable characters, at least 1 and at most {LONGEST_NAME}"
        )
    return read


def require_codec(codec: Any) -> None:
    """Check a codec.

    Raises:
        TypeError: it is none.
    """
    if not isinstance(codec, Codec):
        raise TypeError(f"codec should be a Codec, as of curator.codec, not {quoted(type(codec))}")


def require_file(path: str | os.PathLike[str]) -> None:
    """Check that the file of a ledger is there.

    Raises:
        LedgerError: it is not.
    """
    try:
        there = Path(path).exists()
    except OSError:  # the name is too long
        there = False
    if not there:
        raise LedgerError(f"there is no ledger {quoted(os.fspath(path))}")
