"""Through a socket, or a front and workers, the handle gives the views that it gives in process."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
from queryable import InteractiveError, Queryable
from queryable.messages import AskMany, Launched, LaunchMany
from tests.laws.subjects import ASKED, COMPOSITORS, DATA, TOYS, Subject
from tests.served import ROOT, Served, opened, serving
from tests.stored import STORED, MemoryLedger, coins_of

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")


def told(handle: Queryable, query: Any) -> Any:
    """What the analyst gets: an answer, or the class and text of an exception."""
    try:
        if isinstance(query, LaunchMany | AskMany):
            return plain(handle._outcomes((), query, ()))
        return plain(handle.ask(query))
    except InteractiveError as error:
        return type(error).__name__, str(error)


def plain(value: Any) -> Any:
    """A value without handles, as text."""
    if isinstance(value, Queryable):
        return ["a handle", value._path, plain(value.opening)]
    if type(value) is tuple:
        return list(map(plain, value))
    return str(STORED.encode(value), "ascii")


def everything(handle: Queryable) -> dict[str, Any]:
    """All that a handle shows, with every receipt."""
    exchanges = [
        STORED.encode((each.path, each.query, each.answer, each.receipts)) for each in handle.view
    ]
    return {
        "view": exchanges,
        "tree": handle.tree(),
        "ledger": handle.ledger().to_json(),
        "csv": handle.ledger().to_csv(),
        "explanation": handle.explain(),
        "html": handle._repr_html_(),
        "children": sorted(map(str, handle.children)),
        "repr": repr(handle),
    }


@contextmanager
def both(subject: Subject) -> Iterator[tuple[Served, Queryable, Queryable]]:
    """A handle through a socket, and one in memory with the same coins."""
    ledger = MemoryLedger()
    with serving(opened(ledger, subject.mechanism, DATA)) as served:
        coins = coins_of(ledger, ROOT)
        memory = Queryable(subject.mechanism, DATA, coins=coins, allow_seeded=True)
        yield served, served.handle(), memory


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(each, id=str(each), marks=() if place % 6 == 0 else pytest.mark.slow)
        for place, each in enumerate(ASKED)
    ],
)
def test_a_socket_gives_what_memory_gives(subject: Subject) -> None:
    """Byte for byte: answers, errors, views with polls and receipts, trees, ledgers, HTML."""
    with both(subject) as (served, remote, memory):
        for query in subject.script:
            assert told(remote, query) == told(memory, query)
        assert everything(remote) == everything(memory)
        for child in memory.children:
            assert everything(remote.children[child]) == everything(memory.children[child])
        fresh = served.handle()
        kept = [each for each in everything(remote)["view"] if each in everything(fresh)["view"]]
        assert kept == everything(fresh)["view"]


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(each, id=str(each), marks=() if place % 2 == 0 else pytest.mark.slow)
        for place, each in enumerate(ASKED[::4])
    ],
)
def test_clients_that_come_and_go(subject: Subject) -> None:
    """A new client for each message: the same answers, and at the end the same exchanges."""
    with both(subject) as (served, remote, memory):
        for query in subject.script:
            assert told(served.handle(), query) == told(memory, query)
        assert everything(served.handle())["view"] == everything(remote)["view"]
        launched = [each for each in remote.view if isinstance(each.answer, Launched)]
        assert len(launched) == sum(isinstance(each.answer, Launched) for each in memory.view)


def _asks_functions(subject: Subject) -> bool:
    """Whether a message has a statistic that is a Python function: it stays in one process."""
    return b"tests.function/" in STORED.encode(subject.script)


OF_ONE_PROCESS = {"FiltCon with failures"}  # its failing mechanisms exist in one
CASES = [
    number
    for number, each in enumerate(ASKED)
    if each in (*TOYS, *COMPOSITORS)
    and each.name not in OF_ONE_PROCESS
    and not _asks_functions(each)
][::2]
FOLDER = str(Path(__file__).parents[2])


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
        environment = {**environment_for(), "PYTHONPATH": FOLDER}
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
