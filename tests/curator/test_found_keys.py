"""Keys that are found in a curator's table: by the protocol, on a ledger, after a restart."""

from typing import Any

import pytest

from composition import budget
from mechanisms import Table
from queryable import ApproxDP, ApproxZCDP, QueryError
from tests.served import opened, serving
from tests.stored import MemoryLedger

ROWS = {
    "who": [i % 300 for i in range(900)],
    "city": ["Oslo" if i % 3 else "Graz\n\x1b" for i in range(899)] + ["alone"],
}
LOSS = ApproxZCDP("1/10", "1e-12")  # with a smaller probability a key of one person is shown


@pytest.fixture
def table() -> Any:
    with Table(ROWS, privacy_unit="who", max_rows=3, seed=1) as found:
        yield found


def test_an_analyst_elsewhere_finds_keys_and_groups_by_them(table: Table) -> None:
    """The answer is read from its text; a new process answers it again from the log."""
    ledger = MemoryLedger()
    with serving(opened(ledger, budget(6, "1e-6"), table)) as served:
        visits = served.handle()
        keys = table.discovered_keys("city", max_keys=2)
        found = visits.release(keys, loss=LOSS, name="cities")
        assert [key for (key,) in found.axes[0].values] == ["Graz\n\x1b", "Oslo"]
        assert "\x1b" not in str(found)
        counts = visits.release(table.group_by(found).count_units(), loss=LOSS)
        assert counts.axes == found.axes
        assert abs(counts.estimate - found.estimate).max() < 60
        with pytest.raises(QueryError, match="town"):
            visits.release(table.discovered_keys("town"), loss=LOSS)
        spent = visits.privacy_loss()
    with serving(opened(ledger, budget(6, "1e-6"), table)) as served:
        again = served.handle().release(keys, loss=LOSS, name="cities")
        assert again == found
        assert again.keys == found.keys
        assert served.handle().privacy_loss() == spent
        assert isinstance(spent, ApproxDP)
