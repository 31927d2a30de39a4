"""What an interval is computed from: numbers that an interval can be computed from."""

from fractions import Fraction
from typing import Any

import attrs
import pytest

from mechanisms.frugal.spread import Spread

ONE = Spread(Fraction(2), Fraction(1), 1, Fraction(0), Fraction(4), ((Fraction(1), 1, 1),))


@pytest.mark.parametrize(
    "wrong",
    [
        *({name: -1} for name in ("variance", "square", "offset", "mixed", "coordinates")),
        *({"variance": "x"}, {"coordinates": 1.5}, {"fresh": 1}, {"dimensions": None}),
        *({"dimensions": ((Fraction(1), 1),)}, {"dimensions": ((Fraction(-1), 1, 1),)}),
        *({"dimensions": ((Fraction(1), 1, 0),)}, {"dimensions": ((Fraction(1), -1, 1),)}),
    ],
    ids=str,
)
def test_its_numbers_are_checked(wrong: dict[str, Any]) -> None:
    """The log of a ledger's number, and roots of all others, are taken."""
    assert ONE.always(Fraction(1, 20)) > 0
    with pytest.raises((TypeError, ValueError)):
        attrs.evolve(ONE, **wrong)
