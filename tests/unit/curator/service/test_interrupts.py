"""Interrupts that a mechanism raises: a worker may end, the message failed, the rest lives."""

from pathlib import Path

import pytest

from composition import FiltCon
from queryable import Failed, MechanismFault, PureDP
from tests.laws.subjects import DATA
from tests.served import opened, serving
from tests.stored import MemoryLedger
from tests.strategies import Faulty, RandomBits, raising
from tests.unit.curator.service.asgi import awaited
from tests.unit.curator.service.slow import CODEC
from tests.unit.curator.service.workers.test_workers import (
    events,
    launch,
    outcome,
    runs,
    started,
    waiting,
)

RAISED = {"exit": 1, "interrupt": 1, "memory": 0}
"""What a mechanism raises, and how many workers end of it."""


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), MemoryError()], ids=repr)
def test_the_retry_has_the_failure_that_was_stored(raised: BaseException) -> None:
    """The service's thread takes an interrupt as a worker does: the reply is lost."""
    with serving(opened(MemoryLedger(), FiltCon(PureDP(1)), DATA)) as served:
        table = served.handle()
        bits = table.launch(RandomBits())
        bits("bits")
        with pytest.raises(MechanismFault):
            table.launch(Faulty(raising(raised), at_launch=True))
        faulty = table.launch(Faulty(raising(raised)))
        with pytest.raises(MechanismFault):
            faulty("bits")
        assert isinstance(bits("bits"), int)
        assert sum(type(each.answer) is Failed for each in table.view) == 2
        assert list(map(str, served.handle().view)) == list(map(str, table.view))


@pytest.mark.slow
@awaited
async def test_workers_end_of_interrupts_and_all_else_lives(tmp_path: Path) -> None:
    """One life, since each start takes a second."""
    service = await started(waiting(tmp_path))
    first, number, ended = await outcome(service, launch(tmp_path, 1)), 1, 0
    for does, ends in RAISED.items():
        (tmp_path / "does").write_text(does)
        number, ended = number + 1, ended + ends
        failed = await outcome(service, launch(tmp_path, number))
        assert (failed.kind, service.restarts) == ("failed", ended)
        assert isinstance(CODEC.decode(failed.answer or ""), Failed)
        assert await outcome(service, launch(tmp_path, number)) == failed
        (tmp_path / "does").write_text("answer")
        assert await outcome(service, launch(tmp_path, 1)) == first
    assert runs(tmp_path) == number  # none was run again
    assert (await outcome(service, launch(tmp_path, 8))).kind == "answer"
    assert "again" not in events(tmp_path)
    # Killed at the data; what is run again at the opening ends the next worker too.
    (tmp_path / "does").write_text("die, then exit")
    assert (await outcome(service, launch(tmp_path, 9))).kind == "failed"
    (tmp_path / "does").write_text("answer")
    assert (await outcome(service, launch(tmp_path, 10))).kind == "answer"
    assert events(tmp_path).count("again") == 1
    await service.stop()
