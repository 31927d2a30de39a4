"""The system's coins as each test has them in CI: derived from the test itself.

So a change is judged by the change alone, and what one run finds the next one finds. Elsewhere
the coins are the system's, and so they are in a forked process.
"""

import os
import ssl
from hashlib import sha256

import numpy as np
import pytest

from queryable.randomness import entropy, pools


class OwnCoins:
    """A pytest plugin in the place of OpenSSL's generator."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._start("")

    def _start(self, what: str) -> None:
        seed = int.from_bytes(sha256(what.encode()).digest(), "big")
        self._stream = np.random.default_rng(seed)
        entropy._words.clear()
        pools._forget_all()

    def _bytes(self, count: int) -> bytes:
        return self._stream.bytes(count) if os.getpid() == self._process else os.urandom(count)

    def pytest_configure(self) -> None:
        ssl.RAND_bytes = self._bytes

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> None:
        """What several tests share is the same whichever of them comes first."""
        number = getattr(request, "param_index", 0)
        self._start(f"{request.node.nodeid} {fixturedef.argname} {number}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        self._start(item.nodeid)
