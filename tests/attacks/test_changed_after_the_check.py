"""Lists and arrays that change after they were checked: the checked values are used.

A naive constructor checks the caller's list and keeps it. The analyst, or another thread of theirs,
changes it before it is read again, and a weight of a billion was never checked.
"""

import threading
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import pytest

from composition import (
    ConComp,
    FiltCon,
    Menu,
    Parallel,
    Partition,
    RenyiOdometer,
    ViaRenyi,
)
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
from queryable import FDP, RDP, PureDP, Queryable, SeededCoins

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
