"""The price of launches through a frugal person is what it is charged for their questions."""

from typing import Any

import pytest

from composition import FiltCon
from mechanisms import (
    Count,
    Estimate,
    Frugal,
    Gaussian,
    GroupBy,
    Histogram,
    Keys,
    Laplace,
    Sum,
    column,
)
from queryable import ZCDP, Queryable, SeededCoins, accuracy

age = column("age")
BINS = [0, 25, 50, 75, 100]
DATA = {"age": [31, 47, 62, 28] * 20, "hours": [1, 5] * 40}
ASKED = [Count((age >= low) & (age < high)) for low in BINS[:-1] for high in BINS if low < high]
PLANS: dict[str, tuple[Frugal, list[Any]]] = {
    "told": (Frugal(axes=Keys.bins("age", BINS)), ASKED),
    "untold": (Frugal(), ASKED[:6]),
    "planned": (Frugal(ASKED), ASKED),
    "histograms": (Frugal(), [Histogram("age", bins=BINS), *ASKED]),
    "groups and sums": (Frugal(), [GroupBy(Keys.bins("age", BINS), Sum("hours", 0, 9))] * 2),
}


@pytest.mark.parametrize("name", PLANS)
def test_the_price_is_the_charge(name: str) -> None:
    """To the accuracy of a half-width, which `accuracy` rounds to whole rows."""
    person, asked = PLANS[name]
    launches = [Gaussian(each, variance=10**6) for each in asked]
    root = Queryable(person @ FiltCon(ZCDP(10)), DATA, coins=SeededCoins(1), allow_seeded=True)
    for each, launch in zip(asked, launches, strict=True):
        within = accuracy(launch, "0.95") if each.shape is None else 1960
        root.ask(Estimate(each, within, fixed_in_advance=True))
    charged = root.privacy_loss()
    assert isinstance(charged, ZCDP)
    assert float(person.priced(launches).rho) == pytest.approx(float(charged.rho), rel=5e-3)


def test_equal_launches_cost_less_than_on_their_own() -> None:
    launches = [Gaussian(Count(age >= 50), rho="1/100")] * 5
    price = Frugal().priced(launches)
    assert ZCDP("1/100") <= price
    assert price <= ZCDP("11/1000")
    assert Frugal().priced([]) == ZCDP(0)


@pytest.mark.parametrize(
    "launch",
    [Laplace(Count(), scale=1), Gaussian(Count(lambda rows: rows["age"] > 3), rho=1), Count(), 3],
    ids=["Laplace", "function", "statistic", "number"],
)
def test_others_have_no_price(launch: Any) -> None:
    with pytest.raises(ValueError, match="has no price"):
        Frugal().priced([Gaussian(Count(), rho=1), launch])
