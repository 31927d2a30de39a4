"""Bits from the system are never returned twice."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

from queryable.randomness import entropy
from queryable.randomness.entropy import random_bytes, random_word


def test_words_have_64_bits_and_do_not_repeat() -> None:
    """20,000 words, over many blocks: a repeat has chance 2**-36, and each bit is fair.

    Of 64 bits one is 7 standard deviations off with probability below 2e-10.
    """
    words = [random_word() for _ in range(20_000)]
    assert len(set(words)) == len(words)
    for bit in range(64):
        assert abs(sum(word >> bit & 1 for word in words) - 10_000) < 7 * 5000**0.5
    assert max(words) < 2**64


def test_threads_never_share_a_word() -> None:
    """Eight threads that draw at once draw different words."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            runs = [
                threads.submit(lambda: [random_word() for _ in range(10_000)]) for _ in range(8)
            ]
            words = [word for run in runs for word in run.result()]
    finally:
        sys.setswitchinterval(interval)
    assert len(set(words)) == 80_000


def test_without_openssl_bytes_come_from_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python has no ssl module, bytes come from the operating system."""
    monkeypatch.setitem(sys.modules, "ssl", None)
    entropy._generator.cache_clear()
    try:
        assert entropy._generator() is os.urandom
        assert len(random_bytes(10)) == 10
    finally:
        entropy._generator.cache_clear()


def test_bytes_have_the_requested_length() -> None:
    """Any length is allowed, and two calls give different bytes."""
    strings = [random_bytes(20) for _ in range(5)]
    assert all(one != other for one, other in pairwise(strings))
    assert [len(random_bytes(count)) for count in (0, 1, 100_000)] == [0, 1, 100_000]
