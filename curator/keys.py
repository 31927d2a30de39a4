"""The key of the noise: 32 bytes in a file of its own, or in an environment variable.

Whoever has it and the log can compute all noise, so it is as secret as the data. A file of it is
readable by its owner only, and another one is refused.
"""

import os
import stat
from pathlib import Path

from queryable.randomness.entropy import random_bytes
from queryable.wording.quoting import quoted

KEY_BYTES = 32
_MODE = 0o600
_ENV = "env:"

Key = bytes | str | os.PathLike[str]
"""The key itself, the path of its file, or "env:NAME" for an environment variable."""


def make_key(path: str | os.PathLike[str]) -> bytes:
    """Draw a key and write it to a new file with mode 0600.

    Raises:
        FileExistsError: there is a file.
    """
    key = random_bytes(KEY_BYTES)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
    try:
        os.write(handle, key.hex().encode() + b"\n")
        os.fsync(handle)
    finally:
        os.close(handle)
    if os.name == "posix":  # otherwise a power loss may take the file, and the ledger stays
        folder = os.open(Path(path).parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return key


def read_key(key: Key) -> bytes:
    """The key.

    Raises:
        ValueError: it is not 32 bytes, or its file is readable by others.
        FileNotFoundError: there is no such file.
    """
    if isinstance(key, bytes):
        return _checked(key, "key")
    if isinstance(key, str) and key.startswith(_ENV):
        name = key.removeprefix(_ENV)
        if name not in os.environ:
            raise ValueError(f"set the environment variable {name} to 64 hexadecimal digits")
        return _of_digits(os.environ[name], f"the environment variable {name}")
    if not isinstance(key, str | os.PathLike):
        raise TypeError(f"give key as 32 bytes, a path or 'env:NAME', not {quoted(type(key))}")
    path = Path(key)
    if not path.exists():
        raise FileNotFoundError(f"there is no key file {path}: it was never made, or moved")
    if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ValueError(
            f"others may read or change the key file {path}; let its owner alone: chmod 600 {path}"
        )
    return _of_digits(path.read_text(encoding="ascii", errors="replace"), f"the key file {path}")


def destroy_key(path: str | os.PathLike[str]) -> None:
    """Overwrite a key file and delete it."""
    with Path(path).open("r+b") as file:
        file.write(b"\0" * Path(path).stat().st_size)
        file.flush()
        os.fsync(file.fileno())
    Path(path).unlink()


def _of_digits(text: str, where: str) -> bytes:
    try:
        key = bytes.fromhex(text.strip())
    except ValueError:
        raise ValueError(f"{where} should have 64 hexadecimal digits") from None
    return _checked(key, where)


def _checked(key: bytes, where: str) -> bytes:
    if len(key) != KEY_BYTES:
        raise ValueError(f"{where} has {len(key)} bytes; it should have {KEY_BYTES}")
    return key
