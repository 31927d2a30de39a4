"""What the owner orders while no curator runs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from curator import commands
from curator.ledgers import LedgerError
from curator.owner import orders
from curator.owner.orders import OrderError

ORDERS: list[Callable[[Path], object]] = [
    lambda file: orders.add_analyst(file, "ada"),
    lambda file: orders.revoke_analyst(file, "ada"),
    orders.list_analysts,
    lambda file: orders.grant(file, "visits", "ada", zcdp="1/50"),
]


@pytest.mark.parametrize("order", ORDERS, ids=["add", "revoke", "list", "grant"])
def test_no_order_makes_a_ledger_in_place_of_a_lost_one(
    order: Callable[[Path], object], tmp_path: Path
) -> None:
    """A new one knows nothing of what was spent, and the curator would start on it."""
    commands.init(tmp_path)
    ledger = tmp_path / "ledger.db"
    ledger.unlink()
    with pytest.raises(LedgerError, match="there is no ledger"):
        order(tmp_path / "curator.toml")
    assert not ledger.exists()


@pytest.mark.parametrize(
    "budget", [{"zcdp": "0"}, {"epsilon": "0"}, {"gdp": "0"}, {"epsilon": "0", "delta": "0"}]
)
def test_a_grant_of_nothing_is_refused(budget: dict[str, str], tmp_path: Path) -> None:
    """It would take the name of the analyst's first grant, and could not be taken back."""
    commands.init(tmp_path)
    stated = tmp_path / "curator.toml"
    (tmp_path / "visits.csv").write_text("patient,age\n1,30\n")
    orders.add_analyst(stated, "ada")
    before = commands.status(str(stated))
    with pytest.raises(OrderError, match=r"give a budget above 0: \w+\(.*\) allows no question"):
        orders.grant(stated, "visits", "ada", **budget)
    assert commands.status(str(stated)) == before
