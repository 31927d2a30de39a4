"""Pools: batches of values, drawn ahead for the laws that are drawn often.

A draw from a pool costs one `list.pop`, and its running time does not depend on the value. Each
value is returned once, to one thread. A forked process starts with empty pools. The number of laws
and the number of values kept for each are bounded.
"""

import os
from threading import RLock
from typing import Any
from weakref import WeakSet

from queryable.randomness.laws import FairBits, Law

_WARM = 256  # single draws before a law gets a pool; building its table costs about as much
_FILL = 512  # values drawn ahead
_LAWS = 64  # the largest number of pools

_all: "WeakSet[Pools]" = WeakSet()


class Pools:
    """The pools of one source of bits."""

    def __init__(self) -> None:
        self.forget()
        _all.add(self)

    def forget(self) -> None:
        """Drop all values, and replace the lock, which a thread of the parent may have held."""
        for pool in getattr(self, "_pools", {}).values():
            pool.clear()
        self._pools: dict[Law[Any], list[Any]] = {}
        self._seen: dict[Law[Any], int] = {}
        self._lock = RLock()
        self._process = os.getpid()

    def draw(self, law: Law[Any], source: FairBits) -> Any:
        """Return one draw of a law, from its pool if it has one."""
        if os.getpid() != self._process:  # forked without Python's fork hooks
            self.forget()
        pool = self._pools.get(law)
        if pool is None:
            self._note(law)
            return law.sample(source)
        try:
            return pool.pop()
        except IndexError:
            values = law.sample_many(source, _FILL).tolist()
            value = values.pop()
            pool.extend(values)
            return value

    def _note(self, law: Law[Any]) -> None:
        with self._lock:
            times = self._seen[law] = self._seen.get(law, 0) + 1
            if times >= _WARM:
                del self._seen[law]
                self._pools[law] = []
            for bounded in (self._pools, self._seen):
                if len(bounded) > _LAWS:
                    del bounded[next(iter(bounded))]  # the oldest


def _forget_all() -> None:
    for pools in _all:
        pools.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
