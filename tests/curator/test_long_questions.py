"""Long questions through `curator serve`: refused to analysts, allowed to the owner, survived."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from composition import FiltCon
from curator.client import Connection
from curator.owner import orders
from mechanisms import (
    Best,
    Count,
    Estimate,
    Frugal,
    Gaussian,
    Histogram,
    Laplace,
    Scripted,
    TruncatedNegativeBinomial,
    column,
)
from queryable import RDP, ZCDP, Launch, Queryable, QueryError
from tests.curator.serving import served, written

AGE = column("age")
NOISY = Laplace(Count(), scale=10**6)
REPEATED = TruncatedNegativeBinomial(1, "1/3000")
YEARS = Histogram("age", range(100))


def nested(queries: int = 100) -> Best:
    inner = Scripted(FiltCon(ZCDP("1/1000")), [Launch(Gaussian(Count(), variance=10**6))] * queries)
    return Best([inner], "largest", TruncatedNegativeBinomial(1, "1/100"))


ATTACKS: tuple[Callable[[Queryable], Any], ...] = (
    lambda table: table.launch(Best([NOISY], "largest", TruncatedNegativeBinomial(1, "1/9000"))),
    lambda table: table.launch(nested()),
    lambda table: table.can_afford(nested()),
    lambda table: table.launch_many([Best([NOISY], "largest", REPEATED)] * 2),
    lambda table: table.launch(Scripted(FiltCon(RDP(2, 1)), [Launch(nested(10))] * 9)),
)


@pytest.mark.slow
def test_nobody_keeps_a_data_set_busy(tmp_path: Path) -> None:
    stated = written(tmp_path / "served")
    ada, bo = orders.add_analyst(stated, "ada"), orders.add_analyst(stated, "bo")
    for name in ("ada", "bo"):
        orders.grant(stated, "visits", name, zcdp="1/50")

    def asked(connection: Connection) -> Queryable:
        found: Queryable = connection["visits"].launch(
            Frugal() @ FiltCon(ZCDP("1/100")), name="frugal"
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
            frugal.ask(Estimate(YEARS, 200))
        assert table.privacy_loss() == spent
        owner = curator.connect(None)["visits"]
        long = owner.children[0].children[0].ask(Estimate(YEARS, 300))
        assert long.cost.rho > 0
        assert curator.connect(bo)["visits"].launch(Gaussian(Count(), rho="1/1000")) is not None
        assert curator.stop() == 0
    with served(stated) as curator:
        again = asked(curator.connect(ada))  # the owner's question is asked again, however long
        found = again.ask(Estimate(Count(AGE >= 40), 400))
        assert found.spreads
        assert curator.health()["well"]
        assert "Traceback" not in (stated.parent / "log").read_text()
