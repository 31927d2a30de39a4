"""`BatchFolder`: the files of a data set's batches, each named by the id under which it was fed.

Responsible for copying the owner's files before they are fed, so that they can be read again
whenever the data set is opened. The ledger has the ids, and a fingerprint of what is in each file.
"""

import filecmp
import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from queryable.errors import QueryError
from queryable.randomness.entropy import random_bytes
from queryable.wording.quoting import quoted

ENDINGS = (".csv.gz", ".tsv.gz", ".csv", ".tsv", ".parquet", ".pq")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_OTHER = (
    "the id {0!r} was used for another file, {1}: give another id, or remove that file if it was "
    "never fed"
)


def new_id() -> str:
    """An id with the day in it, for people, and a random part."""
    return f"{time.strftime('%Y-%m-%d', time.gmtime())}-{random_bytes(6).hex()}"


def is_id(value: object) -> bool:
    """Whether it may be the id of a message of the data's owner."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def checked_id(value: str) -> str:
    """The id of a message of the data's owner.

    Raises:
        QueryError: it is none.
    """
    if not is_id(value):
        raise QueryError(
            f"the id is {quoted(value)}; it should be at most 100 letters, digits, '-', '_' and "
            "'.', and begin with a letter or a digit"
        )
    return value


class BatchFolder:
    """The folder with the files of batches. It is made when the first one is copied."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def file(self, identity: str) -> Path:
        """The file of a batch.

        Raises:
            FileNotFoundError: there is none.
        """
        for ending in ENDINGS:
            found = self.path / f"{identity}{ending}"
            if found.exists():
                return found
        raise FileNotFoundError(f"there is no file {identity}{ENDINGS[2]}, or .parquet")

    def copy(self, source: Path, identity: str) -> bool:
        """Copy a file to the folder, durably and at once.

        Returns:
            Whether it was copied; not if it is there already.

        Raises:
            QueryError: it has another ending, or the folder has another file of this id.
        """
        checked_id(identity)
        ending = next((each for each in ENDINGS if source.name.lower().endswith(each)), None)
        if ending is None:
            raise QueryError(f"{source.name!r} should end in {', '.join(sorted(ENDINGS))}")
        if not source.is_file():
            raise FileNotFoundError(f"there is no file {source}")
        with suppress(FileNotFoundError):
            return self._is_there(source, identity, ending)
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        target, partly = self.path / f"{identity}{ending}", self.path / f".{random_bytes(8).hex()}"
        try:
            with (
                source.open("rb") as given,
                os.fdopen(os.open(partly, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as to,
            ):
                shutil.copyfileobj(given, to, 1 << 20)
                to.flush()
                os.fsync(to.fileno())
            target.hardlink_to(partly)  # never over another file
        except FileExistsError:  # another process has just copied one
            return self._is_there(source, identity, ending)
        finally:
            partly.unlink(missing_ok=True)
        self._flush()
        return True

    def remove(self, identity: str) -> None:
        """Remove a copy that was not fed."""
        with suppress(FileNotFoundError):
            self.file(identity).unlink()
            self._flush()

    def _is_there(self, source: Path, identity: str, ending: str) -> bool:
        """False, if the folder has this very file; it raises for another one."""
        there = self.file(identity)
        if not there.name.endswith(ending) or not filecmp.cmp(source, there, shallow=False):
            raise QueryError(_OTHER.format(identity, there))
        return False

    def _flush(self) -> None:
        """Make the names in the folder durable."""
        number = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
