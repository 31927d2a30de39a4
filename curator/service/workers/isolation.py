"""What a worker may not do: reach other machines.

Two measures, each of which may be the only one that holds. An audit hook refuses Python's own
sockets; it cannot be removed. A network namespace without interfaces refuses sockets of every
library, where the system lets a process make one (Linux, and user namespaces permitted).
"""

import ctypes
import os
import socket
import sys
from pathlib import Path
from typing import Any

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_REMOTE = {socket.AF_INET, socket.AF_INET6}
_ADDRESSED = {"socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind"}
_WATCHED = _ADDRESSED | {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}


def forbid_network() -> bool:
    """Refuse the network to this process for good; whether the system refuses it too.

    It is called before any other thread is started.
    """
    alone = _in_own_namespace()
    sys.addaudithook(_refuse)
    return alone


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _WATCHED:
        return
    if event not in _ADDRESSED or arguments[0].family in _REMOTE:
        raise PermissionError("a worker of a curator has no network")


def _in_own_namespace() -> bool:
    if sys.platform != "linux":
        return False
    user, group = os.geteuid(), os.getegid()
    try:
        unshare = ctypes.CDLL(None, use_errno=True).unshare
        if unshare(_NEW_NETWORK) == 0:
            return True
        if unshare(_NEW_USER | _NEW_NETWORK) != 0:
            return False
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    except (OSError, AttributeError):
        return False
    return True
