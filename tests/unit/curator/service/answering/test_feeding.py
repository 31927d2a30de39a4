"""What a service does with a batch, in one process: once for an id, whatever happens on the way."""

import json
from pathlib import Path
from typing import Any

import pytest

import curator
from composition import FiltCon
from curator.ledgers import LedgerError, LedgerFullError
from curator.logs.batch_files import BatchFolder
from curator.service.answering.local import LocalService
from curator.verify import VerificationError, verify
from curator.wire.feeds import Feeding
from mechanisms import Count, Gaussian, Table
from queryable import ZCDP, PrivacyLossQuery, Queryable
from tests.ledgers import at, chained_again
from tests.stored import KEY, Crash, MemoryLedger
from tests.unit.curator.service.answering.test_local import Client

EXACT = Gaussian(Count(), rho=10**6)


class House:
    """A data set of three rows, on a ledger that may crash."""

    def __init__(self, folder: Path) -> None:
        (folder / "rows.csv").write_text("age\n1\n2\n3\n")
        self.ledger, self.folder = MemoryLedger(), BatchFolder(folder / "batches")
        self.folder.path.mkdir()
        self.open()

    def open(self) -> None:
        rows = Table(self.folder.path.parent / "rows.csv", types={"age": "integer"})
        self.handle: Queryable = curator.open(
            *(self.ledger, FiltCon(ZCDP(10**9)), rows), name="a", key=KEY, updates=self.folder
        )
        self.service = LocalService(self.handle, batches=self.folder)

    def file(self, identity: str, count: int = 2) -> None:
        (self.folder.path / f"{identity}.csv").write_text("age\n" + "7\n" * count)

    def feed(self, identity: str, block: str = "null", *, close: bool = False) -> Any:
        status, reply = self.service.feed(Feeding(identity, block, close).written())
        return json.loads(reply) | {"status": status}

    @property
    def rows(self) -> int:
        return int(self.handle(EXACT))


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_once_for_an_id(house: House) -> None:
    house.file("x")
    head = house.service._heads.last
    assert house.feed("x", '"monday"') == {
        "again": False,
        "batch": 1,
        "findings": [],
        "status": 200,
    }
    assert house.service._heads.last.seq == head.seq + 1
    for _ in range(2):
        assert house.feed("x", '"monday"')["again"] is True
        house.open()
    assert house.feed("c", '"monday"', close=True)["batch"] is None
    assert house.feed("c", '"monday"', close=True)["again"] is True
    assert house.rows == 5
    assert len([each for each in house.ledger.read("a") if each.kind == "update"]) == 2


def test_the_message_of_an_analyst_is_as_before(house: House) -> None:
    """A batch is no entry of the view."""
    house.file("x")
    house.feed("x")
    told = Client(house.service)(PrivacyLossQuery())
    assert (told.seq, told.outcome.kind) == (0, "answer")


WRONG = (
    (Feeding("none", "null", close=False), 409, "no file none.csv"),
    (Feeding("../x", "null", close=False), 409, "the id is"),
    (Feeding("x", '"tuesday"', close=False), 409, "used for another batch"),
    (Feeding("y", '"monday"', close=False), 409, "used for another"),
    (Feeding("x", '"monday"', close=True), 409, "used for another"),
    (Feeding("z", "7.5", close=False), 409, "a block's name is"),
    (Feeding("z", "null", close=True), 409, "a block's name is"),
    (Feeding("z", '{"@":"date/9"}', close=False), 409, "date/9"),
    (b"{}", 400, "lacks id"),
    (b"\xff", 400, "UTF-8"),
    (b'{"id":"z","block":null,"close":1}', 400, "true or false"),
)


def test_wrong_orders_change_nothing(house: House) -> None:
    house.file("x")
    house.file("z")
    house.feed("x", '"monday"')
    house.file("y", 3)
    house.feed("y", '"monday"')
    house.file("y", 4)
    before = [*house.ledger.read("a")]
    for order, status, said in WRONG:
        body = order if isinstance(order, bytes) else order.written()
        found, reply = house.service.feed(body)
        assert json.loads(reply)["type"] == ("WireError" if status == 400 else "WrongOrderError")
        assert (found, said in json.loads(reply)["error"]) == (status, True), reply
        assert [*house.ledger.read("a")] == before, order
    assert house.rows == 8


@pytest.mark.parametrize("stored", [False, True])
def test_a_crash_at_the_append(house: House, *, stored: bool) -> None:
    """The same order, sent to the next worker, is carried out once."""
    house.file("x")
    ledger = house.ledger
    ledger.crash_at, ledger.stored, ledger.crash = ledger.appends, stored, Crash()
    with pytest.raises(Crash):
        house.feed("x")
    house.open()
    assert house.feed("x")["again"] is stored
    assert house.rows == 5


@pytest.mark.parametrize(
    ("fault", "status", "again"),
    [
        (LedgerError("the lease is lost"), 503, False),
        (LedgerFullError("no room"), 503, False),
        (RuntimeError("a defect"), 503, True),
    ],
)
def test_a_ledger_that_fails(house: House, fault: Exception, status: int, *, again: bool) -> None:
    """What is not stored has not happened; if that is not known, the root is opened again."""
    house.file("x")
    ledger = house.ledger
    ledger.crash_at, ledger.stored, ledger.crash = ledger.appends, again, fault
    assert house.feed("x")["status"] == status
    assert house.service.broken is again
    if again:
        assert house.feed("x")["status"] == 503
        house.open()
    assert house.feed("x")["again"] is again
    assert house.rows == 5


def test_a_batch_without_an_id_is_found_by_its_number(house: House) -> None:
    """It was fed in Python, from a file."""
    house.file("x", 4)
    house.handle.feed(house.folder.file("x"))
    with pytest.raises(
        LedgerError, match=r"batch 1 .fed without an id. is missing: .* as batch-1.csv"
    ):
        house.open()
    house.file("batch-1", 4)
    house.open()
    assert house.rows == 7


@pytest.mark.parametrize("wrong", ["x", "..", 7])
def test_the_verifier_checks_ids(house: House, wrong: Any) -> None:
    for name in ("x", "y"):
        house.file(name)
        house.feed(name)
    events = [*house.ledger.read("a")]
    assert verify(events).batches.ids.keys() == {"x", "y"}
    with pytest.raises(VerificationError, match="the id"):
        verify(chained_again(at(events, -1, lambda body: body.update(id=wrong))))
