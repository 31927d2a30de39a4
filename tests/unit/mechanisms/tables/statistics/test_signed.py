"""Reading numbers of either sign."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mechanisms.tables.statistics.signed import signed


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (-3, Fraction(-3)),
        ("-1/20", Fraction(-1, 20)),
        (" -0.1 ", Fraction(-1, 10)),
        (-0.1, Fraction(-1, 10)),
        (Fraction(-1, 3), Fraction(-1, 3)),
        (Decimal("-0.1"), Fraction(-1, 10)),
        (Decimal("-1." + "1" * 40), -Fraction("1." + "1" * 40)),
        (np.int64(-(2**63)), Fraction(-(2**63))),
        (np.float32(-0.5), Fraction(-1, 2)),
        (-0.0, Fraction(0)),
        (0.0, Fraction(0)),
        ("1/20", Fraction(1, 20)),
        (0, Fraction(0)),
    ],
)
def test_reads_exactly(value: Any, read: Fraction) -> None:
    """Every way of writing a number gives the rational that was written, without rounding."""
    assert signed(value, "lower") == read
