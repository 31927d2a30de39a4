"""How much a search of random examples tries: some where it is `slow`, all where it is `long`."""

from typing import Any

import pytest


def sized(*, slow: int, long: int) -> list[Any]:
    """Two values of a parameter that says how much is tried."""
    return [pytest.param(slow, marks=pytest.mark.slow), pytest.param(long, marks=pytest.mark.long)]
