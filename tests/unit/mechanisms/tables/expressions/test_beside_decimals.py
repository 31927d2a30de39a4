"""Beside decimals a float constant stands for its shortest decimal, as it does in sums."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from mechanisms import Count, GroupBy, Histogram, Quantile, Table, column
from mechanisms.tables.expressions.scalars import scalar
from tests.datasets import FORMS, kinds_of, opened, parameters
from tests.engines import mostly

price = column("price")
CELLS = [Decimal("49.99")] * 10 + [Decimal("10.10")] * 5 + [Decimal("0.10")] * 2 + [None]
ASKED: dict[str, tuple[Callable[[Any], Any], list[int]]] = {
    "at least": (lambda x: Count(price >= x), [10]),
    "above": (lambda x: Count(price > x), [0]),
    "below": (lambda x: Count(price < x), [7]),
    "at most": (lambda x: Count(price <= x), [17]),
    "equal": (lambda x: Count(price == x), [10]),
    "not equal": (lambda x: Count(price != x), [7]),
    "one of": (lambda x: Count(price.is_in([x, 0.1])), [12]),
    "bins": (lambda x: Histogram("price", bins=[0, 10.1, x, 100]), [2, 5, 10]),
    "candidates": (lambda x: Quantile("price", "1", [10.1, x]), [-10, 0]),
}
WITH_DECIMALS = [form for form in FORMS if "money" in kinds_of(form)]


@pytest.mark.parametrize("form", mostly("csv", "ibis on sqlite", among=parameters(WITH_DECIMALS)))
def test_a_float_equals_the_decimal_that_is_written_like_it(form: str) -> None:
    """The nearest float to 49.99 is a little more: a comparison with it found no 49.99."""
    rows = [{"price": cell} for cell in CELLS]
    with opened(form, {"price": "money"}, rows) as dataset:
        for name, (asked, expected) in ASKED.items():
            for constant in (49.99, Decimal("49.99"), np.float64(49.99)):
                found = np.ravel(asked(constant).value(dataset)).tolist()
                assert found == expected, (name, constant)


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("kind", ["list", "array"])
def test_decimals_in_memory(name: str, kind: str) -> None:
    asked, expected = ASKED[name]
    cells: Any = CELLS
    if kind == "array":
        cells = np.empty(len(CELLS), object)
        cells[:] = CELLS
    found = asked(49.99).value({"price": cells})
    assert np.ravel(found).tolist() == expected


def test_groups_of_decimals_in_memory() -> None:
    """The key is 49.99 of both: of a decimal, and of a float."""
    data = {"price": [*CELLS, 49.99, "49.99"]}
    assert GroupBy({"price": [49.99, 0.1]}, Count()).value(data).tolist() == [11, 2]
    assert GroupBy({"price": [Decimal("49.99")]}, Count()).value(data).tolist() == [11]


def test_a_number_of_each_unit() -> None:
    """The largest price of each patient is a whole number of hundredths."""
    data = {"who": [1, 1, 2], "price": [Decimal("20.05"), Decimal("3.00"), Decimal("20.04")]}
    table = Table(data, privacy_unit="who", max_rows=2, types={"price": "DECIMAL(9,2)"})
    largest = table.per_unit("max", "price", 0, 100, unit="0.01")
    units, ones_less_others = largest.share(largest >= 20.05).value(table)
    assert (units, ones_less_others) == (2, 0)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (Decimal("49.99"), 49.99),
        (Fraction(1, 4), 0.25),
        (Decimal("1e30"), 10**30),
        (Fraction(2**60 + 1), 2**60 + 1),
        (Decimal("-0"), 0),
        (Decimal("0e999999999"), 0),
    ],
)
def test_exact_constants(given: Any, taken: Any) -> None:
    assert scalar(given, "value") == taken
    assert type(scalar(given, "value")) is type(taken)


@pytest.mark.parametrize(
    "given",
    [Fraction(1, 3), Decimal("0.12345678901234567890"), Decimal("1e999999999")]
    + [Decimal(each) for each in ("1e-999999999", "NaN", "sNaN", "Infinity")],
    ids=str,
)
def test_constants_that_no_float_is_written_like(given: Any) -> None:
    with pytest.raises(ValueError, match="value is"):
        scalar(given, "value")
