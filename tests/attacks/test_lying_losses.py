"""Attacks: losses and numbers of classes with false comparisons, conversions and sums.

Python asks the right operand first if its class derives from that of the left one, so a subclass of
`PureDP` decides `loss <= d_out` by itself. Every naive acceptance below is refused, or read as the
plain number that it stands for.
"""

from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import (
    Basic,
    ConComp,
    ExPost,
    FiltCon,
    OdomCon,
    Parallel,
    Partition,
    Whitehouse2023,
    filter_of,
)
from composition.rules import Additive
from queryable import (
    RDP,
    ZCDP,
    ApproxDP,
    Loss,
    PrivacyClaimError,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
)
from queryable.losses import ParametricMeasure, RenyiOrder, as_measure, total
from queryable.losses.numbers import exact, natural, probability
from tests.strategies import RandomWord, Toy


class Free(PureDP):
    """A loss with parts of zero whose comparisons are all true."""

    @property
    def parts(self) -> Any:
        return (Fraction(0),)

    @property
    def measure(self) -> Any:
        return PureDP

    def implies(self, other: Any) -> bool:
        return True

    def __ge__(self, other: object) -> bool:
        return True

    def __le__(self, other: object) -> bool:
        return True

    def to(self, measure: Any, delta: Any = None) -> Loss:
        return PureDP(0).to(measure, delta)

    def zero(self) -> Any:
        return self

    def group(self, size: int) -> Any:
        return self


class Small(int):
    """An integer whose comparisons are true, and whose conversions and products are 0."""

    def __le__(self, other: object) -> bool:
        return True

    def __ge__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return True

    def __mul__(self, other: object) -> Any:
        return self if other == 1 else 0

    __rmul__ = __mul__

    def __int__(self) -> int:
        return 0

    def __floordiv__(self, other: object) -> Any:
        return self

    @property
    def numerator(self) -> Any:
        return self


class Ratio(Fraction):
    """One, below everything."""

    def __le__(self, other: object) -> bool:
        return True

    def __add__(self, other: object) -> Any:
        return other


class Anything(ParametricMeasure):
    """A measure that equals every other and converts every loss to zero."""

    def from_loss(self, loss: Loss) -> Loss:
        return PureDP(0)

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


@attrs.frozen
class AnyOrder(RenyiOrder):
    """The same, as a subclass of a measure of the library."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


FILTERS: dict[str, Any] = {
    "pure": FiltCon(PureDP("0.1")),
    "approx": FiltCon(ApproxDP("0.1", "1e-6")),
    "slack": FiltCon(ApproxDP("0.6", "1e-6"), Whitehouse2023()),
    "zcdp": FiltCon(ZCDP("0.005")),
    "ex-post": ExPost(PureDP("0.1")),
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_lying_d_out_buys_nothing(name: str) -> None:
    """With a subclass of PureDP as d_out five launches once ran for the price of one."""
    q = Queryable(FILTERS[name], None)
    for _ in range(5):
        with pytest.raises(PrivacyClaimError, match="d_out"):
            q.launch(Toy(), Free(0))
        with pytest.raises(PrivacyClaimError, match="d_out"):
            q.can_afford(Toy(), Free(0))
    assert not q.children
    q.launch(Toy())
    with pytest.raises(QueryRefusedError):
        q.launch(Toy())


def test_a_subclassed_loss_in_a_map_is_refused() -> None:
    """A mechanism whose map returns a subclass of a loss states no loss."""
    q = Queryable(FiltCon(PureDP("0.1")), None)
    with pytest.raises(PrivacyClaimError, match="not a loss"):
        q.launch(Toy(Free(5)))
    parts = Parallel(Partition("k", ["a"]), {"a": Toy(Free(5))})
    for composed in (parts, ConComp([Toy(Free(5))])):
        with pytest.raises(QueryError):
            q.launch(composed)
    with pytest.raises(TypeError):
        total([Free(5)], PureDP)


def test_a_subclassed_loss_as_a_budget_is_refused() -> None:
    """Such a filter would state one loss to its parent and enforce another on its children."""
    for kind in (FiltCon, ExPost):
        with pytest.raises((TypeError, ValueError), match="budget"):
            kind(Free(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("measure", [Free, Anything(), AnyOrder(Fraction(2))])
def test_a_false_measure_is_refused(measure: Any) -> None:
    """An odometer in such a measure would charge every child zero."""
    with pytest.raises(TypeError, match=r"derives from|not a measure"):
        as_measure(measure)
    with pytest.raises(TypeError):
        OdomCon(measure)
    with pytest.raises(TypeError):
        FiltCon(PureDP(1), filter_of(Additive(measure)))


@pytest.mark.parametrize(
    ("value", "meant"),
    [
        (Small(10_000), 10_000),
        (Fraction(Small(10_000), 1), 10_000),
        (Fraction(Small(10_000)), 10_000),
        (Ratio(1), 1),
        (True + 0, 1),
    ],
)
def test_numbers_are_read_as_plain_ones(value: Any, meant: int) -> None:
    """A parameter is a Fraction of ints, whatever class it came in."""
    read = exact(value)
    assert (type(read), type(read.numerator), type(read.denominator)) == (Fraction, int, int)
    assert read == meant
    assert not read <= meant - 1


def test_counts_are_read_as_plain_ones() -> None:
    """Else a negative one that says that it is not would pass."""
    assert type(natural(Small(3))) is int
    assert natural(Small(3)) == 3
    with pytest.raises(ValueError, match=">= 0"):
        natural(Small(-3))
    with pytest.raises(ValueError, match="at most 1"):
        probability(Small(3))


def test_lying_numbers_are_charged_in_full() -> None:
    """In losses, in d_out and in queries about other data."""
    q = Queryable(FiltCon(PureDP(1), Basic()), None)
    with pytest.raises(QueryRefusedError):
        q.launch(Toy(PureDP(Small(10_000))))
    with pytest.raises(QueryRefusedError):
        q.launch(Toy(), PureDP(Fraction(Small(10_000), 1)))
    q.launch(RandomWord(PureDP(1)))
    assert q.ask(PrivacyLossQuery(Small(7))) == PureDP(7)
    assert RDP.at(Small(8)) == RDP.at(8)
