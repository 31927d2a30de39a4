"""Sockets to listen on, and who is at the other end of one of the machine's own.

Responsible for the modes of files, for sockets that a killed curator has left, and for the identity
of the process at the other end, which the system tells.
"""

import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from queryable.errors import InteractiveError

OWNERS = 0o600
EVERYBODY = 0o666
_BACKLOG = 4096
_LONGEST = 100  # bytes of a path; systems allow 104 or 108
_ADMINISTRATOR = 0
_CREDENTIALS = struct.Struct("3i")


class SocketError(InteractiveError):
    """There is no listening here."""


def owner_socket(file: Path) -> Path:
    """Where the owner's commands find the curator of a configuration."""
    return file.absolute().parent / "owner.sock"


def listen_on(place: str) -> socket.socket:
    """Listen where a configuration says: "unix:PATH", for every user, or "HOST:PORT"."""
    if place.startswith("unix:"):
        return listen_at(Path(place.removeprefix("unix:")), EVERYBODY)
    host, _, port = place.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, int(port)))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise SocketError(f"cannot listen on {place}: {error.strerror or error}") from error
    return listening


def listen_at(path: Path, mode: int) -> socket.socket:
    """Listen on a socket in the file system, which only those of a mode may connect to.

    Raises:
        SocketError: another process listens there, or the file is something else.
    """
    if len(os.fsencode(path)) > _LONGEST:
        raise SocketError(f"{path} is too long for a socket: {_LONGEST} bytes are the most")
    _remove_left(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _mask(0o777 & ~mode):  # nobody else can connect between two calls
            listening.bind(str(path))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        raise SocketError(f"cannot listen on {path}: {error.strerror or error}") from error
    return listening


def is_ours(connected: socket.socket) -> bool:
    """Whether the other end is a process of this user, or of the administrator.

    On systems that do not tell, the mode of the socket's file decides alone.
    """
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return True
    found = connected.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(found)
    return user in {_ADMINISTRATOR, os.geteuid()}


def _remove_left(path: Path) -> None:
    """Remove the socket of a curator that has ended without removing it."""
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found):
        raise SocketError(f"{path} is a file, and no socket; nothing was changed")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        try:
            asking.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
        except OSError as error:
            raise SocketError(f"cannot listen on {path}: {error.strerror or error}") from error
        else:
            raise SocketError(f"a curator listens on {path} already")


@contextmanager
def _mask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)
