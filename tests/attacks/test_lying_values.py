"""Values that lie or change: losses, numbers and measures, lists and arrays."""

import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from composition import (
    Basic,
    ConComp,
    ExPost,
    FiltCon,
    Menu,
    OdomCon,
    Parallel,
    Partition,
    RenyiOdometer,
    ViaRenyi,
    Whitehouse2023,
    filter_of,
)
from composition.rules import Additive
from mechanisms import (
    Count,
    GroupBy,
    Histogram,
    Laplace,
    LaplaceNoiseReduction,
    LinearQuery,
    PrivateMultiplicativeWeights,
    Quantile,
)
from mechanisms.tables.expressions.predicates import IsIn
from mechanisms.tables.requests.request import Categories
from queryable import (
    FDP,
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
    SeededCoins,
)
from queryable.losses import ParametricMeasure, RenyiOrder, as_measure, total
from queryable.losses.numbers import exact, natural, probability
from tests.strategies import RandomWord, Toy

# Attacks: losses and numbers of classes with false comparisons, conversions and sums.
#
# Python asks the right operand first if its class derives from that of the left one, so a subclass
# of `PureDP` decides `loss <= d_out` by itself. Every naive acceptance below is refused, or read as
# the plain number that it stands for.


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


# Lists and arrays that change after they were checked: the checked values are used.
#
# A naive constructor checks the caller's list and keeps it. The analyst, or another thread of
# theirs, changes it before it is read again, and a weight of a billion was never checked.


LAPLACE = [Laplace(Count(), epsilon=1), Laplace(Count(), epsilon=2)]

CASES: dict[str, tuple[Callable[[list[Any]], Any], list[Any]]] = {
    "categories": (lambda given: Histogram("x", given), [1, 2]),
    "members": (lambda given: IsIn("x", given), [1, 2]),
    "grid": (lambda given: Quantile("x", "1/2", given), [1, 2]),
    "keys": (lambda given: GroupBy({"x": given}, Count()), [1, 2]),
    "keys, as categories": (lambda given: GroupBy((Categories("x", given),), Count()), [1, 2]),
    "parts": (lambda given: Partition("x", given), [1, 2]),
    "orders": (ViaRenyi, [2, 3]),
    "weights of orders": (lambda given: ViaRenyi([2, 3], given), ["1/2", "1/2"]),
    "orders of a measure": (lambda given: RDP.at(*given), [2, 3]),
    "orders of an odometer": (lambda given: RenyiOdometer("1e-6", given), [2, 3]),
    "menu": (lambda given: Menu("0.01", given), [1, 2]),
    "costs": (lambda given: Menu("0.01", [1, 2], given), [1, 4]),
    "scales": (lambda given: LaplaceNoiseReduction(Count(), scales=given), [3, 2]),
    "expenses": (lambda given: LaplaceNoiseReduction(Count(), epsilons=given), [1, 2]),
    "mechanisms": (ConComp, LAPLACE),
    "knots": (FDP, [(0, 1), (1, 0)]),
    "linear query": (LinearQuery, [1, 0]),
}


def told(value: Any) -> str:
    """All that a value holds."""
    return repr(attrs.asdict(value)) if attrs.has(type(value)) else repr(value)


@pytest.mark.parametrize(("make", "given"), CASES.values(), ids=CASES)
def test_a_list_that_changes_changes_nothing(
    make: Callable[[list[Any]], Any], given: list[Any]
) -> None:
    """Of what was made of it."""
    changing = list(given)
    made = make(changing)
    before = told(made)
    changing.reverse()
    changing.append(changing[0])
    assert told(made) == before == told(make(list(given)))


def test_a_mapping_that_changes_changes_nothing() -> None:
    """Parts and their mechanisms are those of the construction."""
    mechanisms: dict[Any, Any] = {"a": LAPLACE[0]}
    parallel = Parallel(Partition("x", ["a"]), mechanisms)
    mechanisms["a"] = mechanisms["b"] = LAPLACE[1]
    assert dict(parallel.mechanisms) == {"a": LAPLACE[0]}


def test_weights_that_flip_while_they_are_asked_about() -> None:
    """A thread that made a weight a billion after the check used to get the exact count.

    The threshold is so high that noise alone never reaches it: the chance is below e^-50.
    """
    person = PrivateMultiplicativeWeights(2, epsilon=2, records=10, threshold=5000, updates=3)
    queryable = Queryable(
        person @ FiltCon(PureDP(2)), [0] * 10, coins=SeededCoins(1), allow_seeded=True
    )
    weights, stop = np.zeros(2), threading.Event()

    def flip() -> None:
        while not stop.is_set():
            weights[0] = 1e9 - weights[0]

    thread = threading.Thread(target=flip)
    thread.start()
    try:
        for _ in range(200):
            query = LinearQuery(weights)
            kept = query.weights.tolist()
            assert kept in ([0, 0], [1e9, 0])
            if kept == [0, 0]:
                assert abs(queryable.ask(query)) < 1e6
            assert query.weights.tolist() == kept
    finally:
        stop.set()
        thread.join()
