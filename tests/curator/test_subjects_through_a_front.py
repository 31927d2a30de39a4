"""Scripts of the laws through a front and workers of their own: the views of memory.

Toys and compositors: statistics and failures that are Python functions stay in one process.
"""

import asyncio
from pathlib import Path

import pytest

from curator.access import AccessStore
from curator.client import connect
from curator.ledgers import SQLiteLedger
from curator.service.routes import owners_application
from curator.service.serve import running, working
from curator.service.web.front import Front
from curator.service.web.keeper import AsyncAccess
from curator.service.web.protocols import OwnerProtocol
from curator.service.web.sockets import listen_at
from curator.service.web.ticks import Ticks
from curator.service.workers.recipes import Recipe
from curator.service.workers.workers import WorkerService, environment_for
from queryable import Queryable
from tests.curator.test_served_views import everything, told
from tests.laws.subjects import ASKED, COMPOSITORS, DATA, TOYS, Subject
from tests.stored import STORED, MemoryLedger, coins_of

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
HERE = {"ExPost", "FiltCon with failures"}
CASES = [
    number
    for number, each in enumerate(ASKED)
    if each in (*TOYS, *COMPOSITORS) and each.name not in HERE
][::2]
ROOT = Path(__file__).parents[2]


def compared(subject: Subject, socket: Path, file: Path) -> None:
    with connect(f"unix:{socket}", codec=STORED) as there:
        remote = there["visits"]
        ledger = SQLiteLedger(file)
        coins = coins_of(ledger, "visits")
        ledger.close()
        memory = Queryable(subject.mechanism, DATA, coins=coins, allow_seeded=True)
        for query in subject.script:
            assert told(remote, query) == told(memory, query)
        assert everything(remote) == everything(memory)


@pytest.mark.long
@pytest.mark.parametrize("number", CASES, ids=lambda number: ASKED[number].name)
def test_a_front_gives_what_memory_gives(number: int, tmp_path: Path) -> None:
    async def life() -> None:
        recipe = Recipe(
            "tests.curator.subjects_worker:opened", {"folder": str(tmp_path), "number": number}
        )
        environment = {**environment_for(), "PYTHONPATH": str(ROOT)}
        worker = WorkerService("visits", recipe, environment=environment)
        keeper = AsyncAccess(AccessStore(MemoryLedger()))
        front = Front({"visits": worker}, keeper, {"visits": Ticks(None)})
        socket = tmp_path / "owner.sock"
        application = owners_application(front)
        async with (
            working(front, front.services),  # type: ignore[arg-type]
            running(application, listen_at(socket, 0o600), protocol=OwnerProtocol),
        ):
            await worker.ready()
            await asyncio.to_thread(compared, ASKED[number], socket, tmp_path / f"{number}.db")

    asyncio.run(asyncio.wait_for(life(), 120))
