"""Unpredictable bits of this process, taken from the system in blocks.

No bit is returned twice, whether to another thread or in a forked process. The bits come from
OpenSSL's generator, which the operating system seeds and which reseeds itself in a forked process.
If Python has no OpenSSL, they come from the operating system. A forked process drops the words that
its parent kept here.
"""

import os
from collections.abc import Callable
from functools import cache

import numpy as np

_BLOCK = 512  # words requested at a time

_words: list[int] = []
_owner = [os.getpid()]


def random_bytes(count: int) -> bytes:
    """Return `count` unpredictable bytes."""
    return _generator()(count)


def random_word() -> int:
    """Return an integer uniform on [0, 2**64), each word once, because `list.pop` is atomic."""
    if os.getpid() not in _owner:  # forked without Python's fork hooks
        _words.clear()
        _owner[:] = [os.getpid()]
    try:
        return _words.pop()
    except IndexError:
        fresh: list[int] = np.frombuffer(random_bytes(8 * _BLOCK), np.uint64).tolist()
        word = fresh.pop()
        _words.extend(fresh)
        return word


@cache
def _generator() -> Callable[[int], bytes]:
    try:
        from ssl import RAND_bytes  # imported here because the import takes 15 ms
    except ImportError:
        from os import urandom as RAND_bytes  # noqa: N812 (the same interface)
    return RAND_bytes


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_words.clear)
