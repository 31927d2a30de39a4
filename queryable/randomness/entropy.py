"""Unpredictable bits of this process, taken from the system in blocks.

Responsible for bits that no other thread and no forked child ever sees too. They come from
OpenSSL's generator, which the operating system seeds and which seeds itself anew in a forked
child; where Python has no OpenSSL, from the operating system. What is kept here between two calls
is forgotten in a forked child. Knows no law.
"""

import os
from collections.abc import Callable
from functools import cache

import numpy as np

_BLOCK = 512  # words asked for at a time

_words: list[int] = []
_owner = [os.getpid()]


def random_bytes(count: int) -> bytes:
    """Unpredictable bytes."""
    return _generator()(count)


def random_word() -> int:
    """An integer uniform on [0, 2**64): each is given out once, as `list.pop` is atomic."""
    if os.getpid() not in _owner:  # forked without a word to Python
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
        from ssl import RAND_bytes  # takes 15 ms to import, hence not above
    except ImportError:
        from os import urandom as RAND_bytes  # noqa: N812 (the same by another name)
    return RAND_bytes


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_words.clear)
