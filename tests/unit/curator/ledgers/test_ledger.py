"""What every ledger does, in a file and in a database."""

import gc
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from curator.ledgers import (
    Event,
    LeaseError,
    Ledger,
    LedgerError,
    chained,
    following,
    ledger_of,
    this_process,
)
from curator.ledgers.ledger import is_gone
from tests.postgres import POSTGRES, database

Open = Callable[[], Ledger]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=POSTGRES)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty ledger."""
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else database()


@pytest.fixture
def ledger(place: str) -> Iterator[Ledger]:
    ledger = ledger_of(place)
    yield ledger
    ledger.close()


def append(ledger: Ledger, root: str, epoch: int, count: int = 1) -> list[Event]:
    """Append further events one by one; returns all."""
    events = list(ledger.read(root))
    for _ in range(count):
        event = following(events[-1] if events else None, root, epoch, "intent", '{"text":"ä\\n"}')
        ledger.append(root, [event])
        events.append(event)
    return events


def test_events_are_read_as_they_were_appended(place: str, ledger: Ledger) -> None:
    epoch = ledger.lease("visits", "one", 60)
    events = append(ledger, "visits", epoch, 3)
    several = [following(events[-1], "visits", epoch, "answer", "1")]
    several.append(following(several[0], "visits", epoch, "closed", "2"))
    ledger.append("visits", several)
    events += several
    assert list(chained(ledger.read("visits"))) == events
    assert list(ledger.read("visits", after=3)) == several
    assert list(ledger.read("calls")) == []
    ledger.check()
    ledger.close()
    again = ledger_of(place)
    assert list(again.read("visits")) == events
    assert again.lease("visits", "one", 60) == epoch + 1
    again.close()


def test_many_events_are_read(ledger: Ledger) -> None:
    epoch, events = ledger.lease("visits", "one", 60), [following(None, "visits", 1, "opened", "")]
    for number in range(2500):
        events.append(following(events[-1], "visits", epoch, "exchange", str(number)))
    ledger.append("visits", events)
    assert list(chained(ledger.read("visits"))) == events


def test_roots_are_apart(ledger: Ledger) -> None:
    for root in ("visits", "calls", "ä"):
        append(ledger, root, ledger.lease(root, "one", 60), 2)
    ledger.lease("empty", "one", 60)
    assert ledger.roots() == ("calls", "visits", "ä")
    assert [event.root for event in ledger.read("calls")] == ["calls", "calls"]


def test_what_does_not_follow_is_refused(ledger: Ledger) -> None:
    epoch = ledger.lease("visits", "one", 60)
    events = append(ledger, "visits", epoch, 2)
    third = following(events[-1], "visits", epoch, "intent", "3")
    fourth = following(third, "visits", epoch, "intent", "4")
    forged = attrs.evolve(third, body="4")
    for wrong in ([fourth], [third, third], [forged], [events[1]], [third, forged]):
        with pytest.raises(LedgerError, match=r"continues with event|not linked"):
            ledger.append("visits", wrong)
    ledger.lease("calls", "one", 60)
    with pytest.raises(LedgerError, match=r"continues with event 1; got event 3 of root 'visits'"):
        ledger.append("calls", [third])
    assert list(ledger.read("visits")) == events
    ledger.append("visits", [third, fourth])


def test_appends_need_a_lease(ledger: Ledger) -> None:
    event = following(None, "visits", 1, "opened", "{}")
    with pytest.raises(LeaseError, match="nobody holds it"):
        ledger.append("visits", [event])
    epoch = ledger.lease("visits", "one", 60)
    ledger.append("visits", [event])
    ledger.release("visits", epoch)
    with pytest.raises(LeaseError, match="nobody holds it"):
        append(ledger, "visits", epoch)
    with pytest.raises(LeaseError):
        ledger.renew("visits", epoch, 60)
    assert ledger.lease("visits", "two", 60) == 2


def test_a_second_writer_waits_for_the_first(place: str, ledger: Ledger) -> None:
    """It is refused while the lease lasts; a renewed lease lasts longer."""
    other = ledger_of(place)
    epoch = ledger.lease("visits", "one", 60)
    with pytest.raises(LeaseError, match=r"root 'visits' is held by one for another .* s"):
        other.lease("visits", "two", 60)
    ledger.renew("visits", epoch, 0.05)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            later = other.lease("visits", "two", 60)
            break
        except LeaseError:
            time.sleep(0.01)
    assert later == epoch + 1
    with pytest.raises(LeaseError, match="the present epoch is 2"):
        append(ledger, "visits", epoch)
    with pytest.raises(LeaseError):
        ledger.renew("visits", epoch, 60)
    ledger.release("visits", epoch)  # is not its own any more
    assert len(append(other, "visits", later)) == 1
    other.close()


def test_a_holder_takes_its_own_root_over(ledger: Ledger) -> None:
    first = ledger.lease("visits", "one", 60)
    second = ledger.lease("visits", "one", 60)
    assert second == first + 1
    with pytest.raises(LeaseError):
        append(ledger, "visits", first)
    append(ledger, "visits", second)


def test_a_lease_that_ended_still_appends_until_it_is_taken(place: str, ledger: Ledger) -> None:
    epoch = ledger.lease("visits", "one", 0.0)
    append(ledger, "visits", epoch)
    other = ledger_of(place)
    assert other.lease("visits", "two", 60) == 2
    with pytest.raises(LeaseError):
        append(ledger, "visits", epoch)
    other.close()


def test_threads_share_a_ledger(ledger: Ledger) -> None:
    """16 roots, each appended to by its own thread."""

    def work(root: str) -> None:
        append(ledger, root, ledger.lease(root, "one", 60), 8)

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(work, (f"root {n}" for n in range(16))))
    assert [len(list(chained(ledger.read(root)))) for root in ledger.roots()] == [8] * 16


def test_one_refused_append_does_not_stop_those_beside_it(ledger: Ledger) -> None:
    from curator.ledgers.groups import Wish

    good, bad = ledger.lease("good", "one", 60), ledger.lease("bad", "one", 60)
    wishes = [
        Wish("good", [following(None, "good", good, "opened", "")]),
        Wish("bad", [following(None, "bad", bad + 1, "opened", "")]),
        Wish("good", [following(None, "good", good, "opened", "")]),
    ]
    wishes[2].events = [following(wishes[0].events[0], "good", good, "intent", "")]
    ledger._commit(wishes)  # type: ignore[attr-defined]
    assert [type(wish.error) for wish in wishes] == [type(None), LeaseError, type(None)]
    assert ledger.roots() == ("good",)
    assert len(list(ledger.read("good"))) == 2


def test_a_closed_ledger_says_so(ledger: Ledger) -> None:
    ledger.close()
    ledger.close()
    event = following(None, "visits", 1, "opened", "")
    uses = (
        ledger.roots,
        lambda: ledger.lease("visits", "one", 1),
        lambda: ledger.append("visits", [event]),
    )
    for use in uses:
        with pytest.raises(LedgerError, match="is closed"):
            use()


def test_a_process_that_is_gone_holds_nothing(ledger: Ledger) -> None:
    machine, number = this_process().split(" ")
    gone = f"{machine} {2**22 + 1}"  # above the largest number of a process on Linux
    assert is_gone(gone)
    assert is_gone(f"{gone} second")
    assert not is_gone(this_process())
    assert not is_gone(f"{this_process()} second")
    assert not is_gone(f"elsewhere {number}")
    assert not is_gone(machine)
    assert not is_gone("one")
    ledger.lease("visits", gone, 60)
    assert ledger.lease("visits", "two", 60) == 2


@POSTGRES
def test_a_database_that_is_refused_is_left_closed() -> None:
    import psycopg

    url = database()
    ledger_of(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE curator_schema SET version = 99")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(LedgerError, match="has schema version 99"):
            ledger_of(url)
        gc.collect()
    assert [str(each.message) for each in told if "psycopg" in str(each.message)] == []
