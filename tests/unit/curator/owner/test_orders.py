"""What the owner orders while no curator runs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from curator import commands
from curator.ledgers import LedgerError
from curator.owner import orders

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
