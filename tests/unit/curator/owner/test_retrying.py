"""The command `curator retry`: the owner allows more tries of a message under way."""

from pathlib import Path
from typing import Any

import pytest

from curator import commands, open_configured, release
from curator.ledgers import LedgerError
from curator.logs.journal import LedgerJournal
from curator.logs.story import TRIES
from curator.owner.retrying import retry
from curator.settings.sections import ConfigurationError
from mechanisms import Count, SparseVector, column
from queryable.messages import Failed
from tests.curator.serving import written

OLD = Count(column("age") >= 60)


@pytest.fixture
def stated(tmp_path: Path) -> Path:
    """A configuration whose data set has a sparse vector."""
    stated = written(tmp_path / "curator")
    _, handle = open_configured(stated, "visits")
    handle.launch(SparseVector(300, epsilon="1/10", cutoff=99))
    release(handle)
    return stated


def interrupted(stated: Path, times: int) -> None:
    """Ask the sparse vector, or open it, so often; each time it ends before an answer is stored."""

    def end(*_: Any) -> None:
        raise KeyboardInterrupt

    for _ in range(times):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(LedgerJournal, "answer", end)
            patch.setattr(LedgerJournal, "require_unanswered", end)
            try:
                _, handle = open_configured(stated, "visits")
            except KeyboardInterrupt:
                continue
            with pytest.raises(KeyboardInterrupt):
                handle.children[0](OLD)
            journal: Any = handle._root.journal  # type: ignore[attr-defined]
            journal.ledger.release("visits", journal.epoch)


def test_a_message_that_was_interrupted_often_is_tried_more_often(stated: Path) -> None:
    """At 1b177ec there is no such command, and two crashes retire the child for good."""
    interrupted(stated, TRIES)
    told = retry(stated, "visits", 3)
    number = told.split()[2]
    assert told == f"visits: message {number} was tried 8 times, and fails after 11"
    assert f"{number}  intent" in commands.show(str(stated), "visits")
    interrupted(stated, 2)
    _, handle = open_configured(stated, "visits")
    assert not isinstance(handle.view[-1].answer, Failed)
    assert handle.children[0](OLD) is not None
    release(handle)
    assert "messages" in commands.check(str(stated))
    assert "the log" in commands.replay(str(stated), "visits")


def test_what_was_allowed_is_for_one_message(stated: Path) -> None:
    interrupted(stated, 1)
    retry(stated, "visits", 50)
    _, handle = open_configured(stated, "visits")
    release(handle)
    interrupted(stated, TRIES)
    _, handle = open_configured(stated, "visits")
    assert isinstance(handle.view[-1].answer, Failed)
    release(handle)


def test_only_what_is_under_way_is_tried_again(stated: Path) -> None:
    with pytest.raises(LedgerError, match="no message of visits is under way"):
        retry(stated, "visits")
    with pytest.raises(LedgerError, match="no message of calls is under way"):
        retry(stated, "calls")
    with pytest.raises(ConfigurationError, match="there is no data set"):
        retry(stated, "none")
    for wrong in (0, -3):
        with pytest.raises(LedgerError, match="it should be at least 1"):
            retry(stated, "visits", wrong)
