"""The life of a worker, with real processes."""

import asyncio
import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import uvloop

from curator.ledgers import SQLiteLedger
from curator.logs.story import TRIES
from curator.service.workers import workers
from curator.service.workers.recipes import Recipe
from curator.service.workers.workers import (
    FIRST_PAUSE,
    NoWorkerError,
    WorkerDiedError,
    WorkerService,
    environment_for,
)
from curator.wire import MessageOutcome, MessageReply, Tell
from tests.postgres import is_running
from tests.unit.curator.service.asgi import awaited

ROOT = Path(__file__).parents[5]
STUB = "tests.unit.curator.service.stub:opened"


def worker(folder: Path, *, deadline: float | None = None, **arguments: Any) -> WorkerService:
    recipe = Recipe(STUB, {"folder": str(folder), **arguments})
    environment = {**environment_for(), "PYTHONPATH": str(ROOT)}
    return WorkerService("visits", recipe, deadline=deadline, environment=environment)


async def started(service: WorkerService) -> WorkerService:
    """The service, when its worker is ready or cannot open."""
    service.start()
    await service.ready()
    return service


async def tell(service: WorkerService, key: str, do: str = "", **more: Any) -> Any:
    status, body = await service.tell((0,), json.dumps({"key": key, "do": do, **more}).encode())
    assert status == 200
    return json.loads(body)["outcome"]["answer"]


async def state(service: WorkerService, wanted: str) -> None:
    while service.state != wanted:
        await asyncio.sleep(0.01)


def paused(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between workers from now on; short ones are those of the tests."""
    found: list[float] = []
    slept = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if seconds >= FIRST_PAUSE:
            found.append(seconds)
        await slept(min(seconds, FIRST_PAUSE))

    monkeypatch.setattr("curator.service.workers.workers.asyncio.sleep", sleep)
    return found


@awaited
async def test_messages_and_deaths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One life, since each start takes a second: deaths, faults, pauses, and the end."""
    pauses = paused(monkeypatch)
    service = worker(tmp_path)
    with pytest.raises(NoWorkerError, match="being opened"):
        await tell(service, "a0")
    service.start()
    await service.ready()
    assert service.about == {"columns": ["age"]}
    assert (await tell(service, "a1"))["path"] == [0]
    # a fault of ours has a fixed text
    status, body = await service.tell((), b'{"do":"raise","key":"a2"}')
    assert (status, b"private" in body) == (500, False)
    assert await service.tell((), b'{"do":"refuse","key":"a3"}') == (
        *(409, b'{"error":"no","type":"RequestKeyError"}'),
    )
    # the message that kills is sent again, and those behind it are
    told = await asyncio.gather(
        tell(service, "b1", "die once"), *(tell(service, f"c{place}") for place in range(3))
    )
    assert [each["times"] for each in told] == [2, 1, 1, 1]
    assert service.restarts == 1
    # the answer was stored, and did not arrive
    assert (await tell(service, "d1", "die after answering"))["times"] == 1
    # killed from outside, with a message under way and a question
    asked = [
        asyncio.ensure_future(tell(service, "e1", "wait")),
        asyncio.ensure_future(service.describe((7,))),
    ]
    while not (tmp_path / "e1.asked").exists():
        await asyncio.sleep(0.01)
    assert service.pid is not None
    os.kill(service.pid, signal.SIGKILL)
    (tmp_path / "go on").touch()
    assert (await asked[0])["times"] == 2
    assert json.loads((await asked[1])[1])["path"] == [7]
    assert service.restarts == 3
    assert pauses == [FIRST_PAUSE] * 3  # only workers that cannot open make them longer
    # questions do not wait for a message
    (tmp_path / "go on").unlink()
    slow = asyncio.ensure_future(tell(service, "f1", "wait"))
    while not (tmp_path / "f1.asked").exists():
        await asyncio.sleep(0.01)
    assert json.loads((await service.view((), 5))[1])["after"] == 5
    assert json.loads((await service.page(()))[1])["page"] is True
    assert not slow.done()
    (tmp_path / "go on").touch()
    # no more messages, and what is under way is finished
    stopping = asyncio.ensure_future(service.stop())
    await asyncio.sleep(0)
    with pytest.raises(NoWorkerError, match="stopping"):
        await tell(service, "g1")
    assert (await slow)["times"] == 1
    await stopping
    assert service.state == "stopped"
    assert (tmp_path / "closed").exists()


@pytest.mark.slow
@awaited
async def test_a_message_of_which_many_workers_die_is_not_sent_again(tmp_path: Path) -> None:
    service = await started(worker(tmp_path))
    deadly, other = tell(service, "a1", "die"), tell(service, "a2")
    found = await asyncio.gather(deadly, other, return_exceptions=True)
    assert isinstance(found[0], WorkerDiedError)
    assert found[1]["times"] == 1
    assert (tmp_path / "a1.asked").read_text() == "." * TRIES
    await service.stop()


@awaited
async def test_over_the_deadline_the_worker_is_killed_and_the_message_given_up(
    tmp_path: Path,
) -> None:
    """Three workers beside each other, since each waits for about the deadline."""

    async def each_within() -> None:
        """Each message is within the deadline, though together they are not."""
        await asyncio.gather(*(tell(many, f"a{n}", "sleep", seconds=0.25) for n in range(9)))

    folders = [tmp_path / name for name in ("many", "fed", "hangs")]
    for folder in folders:
        folder.mkdir()
    many, fed, hangs = (worker(folder, deadline=2) for folder in folders)
    for service in (many, fed, hangs):
        service.start()
    await asyncio.gather(*(service.ready() for service in (many, fed, hangs)))
    # what the owner feeds takes as long as it takes
    feeding = fed.feed(json.dumps({"do": "sleep", "seconds": 2.1}).encode())
    asked = (tell(hangs, "b", "hang"), tell(hangs, "c"))
    _, _, *told = await asyncio.gather(each_within(), feeding, *asked)
    assert [(each.overdue, each.restarts) for each in (many, fed)] == [(0, 0)] * 2
    assert [each["given up"] for each in told] == [True, True]
    assert (hangs.overdue, hangs.restarts) == (1, 1)
    await asyncio.gather(*(service.stop() for service in (many, fed, hangs)))


@pytest.mark.slow  # `test_messages_and_deaths` kills with messages under way
@pytest.mark.parametrize("loop", [None, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def test_messages_in_the_moment_of_a_death_are_answered_or_refused(
    tmp_path: Path, loop: Any
) -> None:
    """The channel may be closed before the end of the process is known."""

    async def life() -> None:
        service = await started(worker(tmp_path))
        assert service.pid is not None
        os.kill(service.pid, signal.SIGKILL)
        asked, number = [], 0
        while service.state == "ready":
            asked.append(asyncio.ensure_future(tell(service, f"a{number}")))
            number += 1
            await asyncio.sleep(0.0005)
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert {type(each) for each in found} <= {dict, NoWorkerError}
        await service.stop()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(asyncio.wait_for(life(), 600))


@pytest.mark.parametrize(
    ("fails", "text"),
    [pytest.param("held", "another curator", marks=pytest.mark.slow), ("broken", "owner")],
)
@awaited
async def test_a_worker_that_cannot_open_is_tried_again(
    tmp_path: Path, fails: str, text: str
) -> None:
    (tmp_path / fails).touch()
    service = await started(worker(tmp_path, fails=fails))
    assert service.state == fails
    with pytest.raises(NoWorkerError, match=text) as found:
        await tell(service, "a")
    assert "first time" not in str(found.value)  # the owner alone is told why
    assert service.text
    (tmp_path / fails).unlink()
    await state(service, "ready")
    assert (await tell(service, "a"))["times"] == 1
    await service.stop()


@pytest.mark.slow  # the first test looks at the pauses after three deaths
@awaited
async def test_a_worker_that_was_ready_is_followed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often: only workers that cannot open make the pauses longer."""
    pauses = paused(monkeypatch)
    service = worker(tmp_path)
    service.start()
    for _ in range(2):
        await state(service, "ready")
        service._kill()
        await state(service, "starting")
    await state(service, "ready")
    await service.stop()
    assert pauses == [FIRST_PAUSE] * 2


@pytest.mark.slow
@awaited
async def test_messages_do_not_wait_for_a_worker_that_never_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_HOPELESS", 1)
    service = await started(worker(tmp_path, fails="dies"))
    asked = asyncio.ensure_future(tell(service, "a", "sleep", seconds=60))
    await asyncio.sleep(0.1)
    (tmp_path / "dies").touch()
    assert service.pid is not None
    os.kill(service.pid, signal.SIGKILL)
    with pytest.raises(NoWorkerError, match="cannot be opened"):
        await asked
    await service.stop(patience=1)


@pytest.mark.slow
@awaited
async def test_a_worker_whose_lease_was_taken_is_ready_no_more(tmp_path: Path) -> None:
    """Also if nobody asks: health says so, and not the next message."""
    service = worker(tmp_path, fails="held")
    service.start()
    await state(service, "ready")
    (tmp_path / "held").touch()
    (tmp_path / "lost").touch()
    await state(service, "held")
    (tmp_path / "lost").unlink()
    await service.stop()


@pytest.mark.slow  # in `test_serving.py` a front is killed whose workers have to let go
@awaited
async def test_a_worker_ends_with_its_front(tmp_path: Path) -> None:
    """Also if the front is killed and the worker is idle."""
    program = f"""
import asyncio
from pathlib import Path
from tests.unit.curator.service.workers.test_workers import started, worker
async def life():
    service = await started(worker(Path({str(tmp_path)!r})))
    print(service.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(life())
"""
    front = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program), stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    assert front.stdout is not None
    number = int(await front.stdout.readline())
    front.kill()
    await front.wait()
    while is_running(number):
        await asyncio.sleep(0.02)
    assert (tmp_path / "closed").exists()


def test_a_worker_has_no_variables_but_what_it_needs(tmp_path: Path) -> None:
    stated = tmp_path / "curator.toml"
    stated.write_text('key = "env:NOISE"\n')
    present = {"NOISE": "1", "OTHER": "2", "PATH": "3", "PGPASSFILE": "4", "LC_ALL": "5"}
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    assert environment_for(stated, present) == {
        name: value for name, value in present.items() if name != "OTHER"
    } | dict.fromkeys(threads, "1")
    assert "NOISE" not in environment_for(None, present)
    stated.write_text('key = "env:OMP_NUM_THREADS"\n')
    assert environment_for(stated, {"OMP_NUM_THREADS": "8"})["OMP_NUM_THREADS"] == "8"


WAITING = "tests.unit.curator.service.slow:opened"


def waiting(folder: Path, deadline: float | None = None) -> WorkerService:
    environment = {**environment_for(), "PYTHONPATH": str(ROOT)}
    recipe = Recipe(WAITING, {"folder": str(folder)})
    return WorkerService("visits", recipe, deadline=deadline, environment=environment)


def launch(folder: Path, key: int) -> bytes:
    mechanism = {"@": "tests.waiting/1", "folder": str(folder)}
    query = json.dumps({"@": "launch/1", "mechanism": mechanism}, separators=(",", ":"))
    return Tell((), query, (), f"{key:032x}").written()


async def outcome(service: WorkerService, body: bytes) -> MessageOutcome:
    status, reply = await service.tell((), body)
    assert status == 200, reply
    return MessageReply.read(reply).outcome


def events(folder: Path) -> list[str]:
    ledger = SQLiteLedger(folder / "ledger.db")
    kinds = [event.kind for event in ledger.read("visits")]
    ledger.close()
    return kinds


def runs(folder: Path) -> int:
    return len((folder / "ran").read_text().splitlines())


@awaited
async def test_a_message_at_the_data_that_is_killed_is_run_again_and_stored_once(
    tmp_path: Path,
) -> None:
    service = await started(waiting(tmp_path))
    (tmp_path / "does").write_text("wait")
    asked = asyncio.ensure_future(outcome(service, launch(tmp_path, 1)))
    while not (tmp_path / "ran").exists():
        await asyncio.sleep(0.01)
    (tmp_path / "does").unlink()
    assert service.pid is not None
    os.kill(service.pid, signal.SIGKILL)
    first = await asked
    assert first.kind == "answer"
    assert runs(tmp_path) == 2
    assert events(tmp_path) == ["opened", "answer", "intent", "again", "answer"]
    assert await outcome(service, launch(tmp_path, 1)) == first
    assert (await outcome(service, launch(tmp_path, 2))).answer != first.answer
    await service.stop()


@pytest.mark.slow
@awaited
async def test_messages_that_are_run_again_have_the_deadline_each(tmp_path: Path) -> None:
    service = await started(worker(tmp_path, deadline=3))
    assert (await tell(service, "a", "sleep", again=11, seconds=0.3))["times"] == 1
    await service.stop()


@pytest.mark.slow
@awaited
async def test_over_the_deadline_a_message_at_the_data_has_failed(tmp_path: Path) -> None:
    """It is not run again, its charge is kept, and what comes after it is answered."""
    service = await started(waiting(tmp_path, deadline=5))
    (tmp_path / "does").write_text("wait")
    asked = asyncio.ensure_future(outcome(service, launch(tmp_path, 1)))
    while not service.overdue:
        await asyncio.sleep(0.01)
    (tmp_path / "does").unlink()
    failed = await asked
    assert failed.kind == "failed"
    assert failed.answer is not None
    assert '"charged":{"@":"zcdp/1","rho":"1/100"}' in failed.answer
    assert runs(tmp_path) == 1
    assert await outcome(service, launch(tmp_path, 1)) == failed
    assert (await outcome(service, launch(tmp_path, 2))).kind == "answer"
    await service.stop()


@pytest.mark.slow
@awaited
async def test_a_message_that_always_kills_at_the_data_has_failed(tmp_path: Path) -> None:
    """After as many deaths as it is tried; it waits for that, and what comes later is answered."""
    service = await started(waiting(tmp_path))
    (tmp_path / "does").write_text("die")
    failed = await outcome(service, launch(tmp_path, 1))
    assert failed.kind == "failed"
    assert runs(tmp_path) == TRIES
    assert await outcome(service, launch(tmp_path, 1)) == failed
    (tmp_path / "does").unlink()
    assert (await outcome(service, launch(tmp_path, 2))).kind == "answer"
    await service.stop()


@pytest.mark.slow
@awaited
async def test_a_worker_starts_again_when_there_are_file_descriptors_again(tmp_path: Path) -> None:
    service = await started(worker(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert service.pid is not None
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))  # none is left
    try:
        os.kill(service.pid, signal.SIGKILL)
        while service.restarts < 3:
            await asyncio.sleep(0.01)
        assert service.state == "starting"
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    await state(service, "ready")
    assert (await tell(service, "a1"))["times"] == 1
    await service.stop()
