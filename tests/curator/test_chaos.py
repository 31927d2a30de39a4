"""Many clients of a curator whose worker and front are killed at random.

Every client finishes without help; no answer is lost, doubled or changed; the ledger holds, so no
budget is overspent.
"""

from pathlib import Path

import pytest

from curator import commands
from tests.curator.chaos import Chaos
from tests.curator.serving import STATED, served, written

BUDGET = STATED.replace("1/10", "1000")


@pytest.mark.parametrize(
    ("clients", "messages", "every"),
    [
        pytest.param(8, 40, 120, marks=pytest.mark.slow),
        pytest.param(64, 1000, 800, marks=pytest.mark.long),
    ],
)
def test_clients_of_a_curator_that_is_killed(
    tmp_path: Path, clients: int, messages: int, every: int
) -> None:
    stated = written(tmp_path / "served", BUDGET)
    with served(stated) as curator:
        chaos = Chaos(curator)
        chaos.add(clients, messages, seed=1)
        chaos.run(messages, every, seed=1)
        found = chaos.check()
        assert found["answered"] > clients * messages / 4
        assert found["refused"] > 0
        assert curator.stop() == 0
        log = (curator.folder / "log").read_text()
        assert "Traceback" not in log
        assert "qy_" not in log
    assert "visits: " in commands.check(str(stated))
    commands.replay(str(stated))
