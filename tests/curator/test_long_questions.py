"""Long questions through `curator serve`: refused to analysts, allowed to the owner, survived."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mechanisms as m
from composition import FiltCon
from curator.client import Connection
from curator.owner import orders
from queryable import RDP, ZCDP, Launch, Queryable, QueryError
from tests.curator.serving import served, written

AGE = m.column("age")
NOISY = m.Laplace(m.Count(), scale=10**6)
REPEATED = m.TruncatedNegativeBinomial(1, "1/3000")
YEARS = m.Histogram("age", range(100))


def nested(queries: int = 100) -> m.Best:
    inner = m.Scripted(
        FiltCon(ZCDP("1/1000")), [Launch(m.Gaussian(m.Count(), variance=10**6))] * queries
    )
    return m.Best([inner], "largest", m.TruncatedNegativeBinomial(1, "1/100"))


ATTACKS: tuple[Callable[[Queryable], Any], ...] = (
    lambda table: table.launch(
        m.Best([NOISY], "largest", m.TruncatedNegativeBinomial(1, "1/9000"))
    ),
    lambda table: table.launch(nested()),
    lambda table: table.can_afford(nested()),
    lambda table: table.launch_many([m.Best([NOISY], "largest", REPEATED)] * 2),
    lambda table: table.launch(m.Scripted(FiltCon(RDP(2, 1)), [Launch(nested(10))] * 9)),
)


@pytest.mark.slow
def test_nobody_keeps_a_data_set_busy(tmp_path: Path) -> None:
    stated = written(tmp_path / "served")
    ada, bo = orders.add_analyst(stated, "ada"), orders.add_analyst(stated, "bo")
    for name in ("ada", "bo"):
        orders.grant(stated, "visits", name, zcdp="1/50")

    def asked(connection: Connection) -> Queryable:
        found: Queryable = connection["visits"].launch(
            m.Frugal() @ FiltCon(ZCDP("1/100")), name="frugal"
        )
        return found

    with served(stated) as curator:
        mine = curator.connect(ada)
        table, frugal = mine["visits"], asked(mine)
        spent = table.privacy_loss()
        for attack in ATTACKS:
            with pytest.raises(QueryError, match="5000 is the most"):
                attack(table)
        with pytest.raises(QueryError, match="takes too long for a curator"):
            frugal.ask(m.Estimate(YEARS, 200))
        assert table.privacy_loss() == spent
        owner = curator.connect(None)["visits"]
        long = owner.children[0].children[0].ask(m.Estimate(YEARS, 300))
        assert long.cost.rho > 0
        assert curator.connect(bo)["visits"].launch(m.Gaussian(m.Count(), rho="1/1000")) is not None
        assert curator.stop() == 0
    with served(stated) as curator:
        again = asked(curator.connect(ada))  # the owner's question is asked again, however long
        found = again.ask(m.Estimate(m.Count(AGE >= 40), 400))
        assert found.spreads
        assert curator.health()["well"]
        assert "Traceback" not in (stated.parent / "log").read_text()
