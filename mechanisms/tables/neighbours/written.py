"""Files that are written into temporary folders of their own, and numbers that are written."""

from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any


def in_new_folder(source: str) -> Path:
    """A path in a new folder, for a file that is written there."""
    return Path(mkdtemp(prefix="queryable-"), source)


def discard_folder(path: Any) -> None:
    """Delete the folder of a file that was written by a form."""
    rmtree(Path(path).parent, ignore_errors=True)


def number_of(text: str) -> Any:
    """The number that a text writes, as Python reads it; otherwise the text."""
    try:
        return int(text) if text.isascii() else text
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
