"""A handle over a socket when replies get lost, curators restart, and other clients ask too."""

import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import pytest

import queryable as q
from composition import FiltCon, OdomCon
from composition.advice import plan
from curator import connect
from curator.client import transport
from curator.service import HTTPReply
from curator.service.answering.opening import about_of
from curator.wire import (
    AccessError,
    Head,
    MessageReply,
    RolledBackError,
    UnavailableError,
    WireError,
    error_body,
)
from mechanisms import Count, Gaussian, SparseVector, Table, column
from queryable.answers.released import Released
from queryable.errors import CodecError, HandleError, UnknownChildError
from tests.served import ROOT, Served, opened, serving
from tests.stored import MemoryLedger

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": [31, 47, 62]}
BUDGET = FiltCon(q.ZCDP(1))
NOISY = Gaussian(Count(column("age") >= 40), rho="1/50")
SEARCH = SparseVector(2, epsilon="1/4", cutoff=9)
OLD = Count(column("age") >= 50)


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger()


@pytest.fixture
def served(ledger: MemoryLedger) -> Iterator[Served]:
    with serving(opened(ledger, BUDGET, DATA)) as found:
        yield found


class Losing:
    """Loses the first replies to messages; `kept` says whether they were answered before that."""

    def __init__(self, count: int, *, kept: bool) -> None:
        self.left, self.kept = count, kept

    def install(self, served: Served) -> None:
        if self.kept:
            served.after = self
        else:
            served.before = self

    def __call__(self, target: str, *_: Any) -> None:
        if target.endswith("tell") and self.left:
            self.left -= 1
            raise ConnectionAbortedError


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_a_lost_reply_is_asked_for_again(served: Served, count: int, *, kept: bool) -> None:
    table = served.handle()
    search = table(SEARCH)
    Losing(count, kept=kept).install(served)
    noisy = table(NOISY)
    found = search(OLD)
    assert [each.answer for each in served.handle().view][1:] == [table.view[1].answer, found]
    assert table.view[1].answer.answer == noisy
    assert table.privacy_loss() == served.handle().privacy_loss()


@pytest.mark.parametrize("kept", [False, True])
def test_after_giving_up_the_same_message_is_asked_once(served: Served, *, kept: bool) -> None:
    """Other messages may be sent in between."""
    table = served.handle(patience=0)
    lost = Losing(2, kept=kept)
    lost.install(served)
    with pytest.raises(UnavailableError, match="send it again on this handle, and it is asked"):
        table(NOISY)
    with pytest.raises(UnavailableError):
        table(NOISY)
    table(SEARCH)
    noisy = table(NOISY)
    assert len(table.view) == len(served.handle().view) == 2
    assert noisy in [each.answer.answer for each in table.view]
    assert table(NOISY) is not noisy
    assert len(table.view) == 3


def test_an_interrupted_message_is_asked_once(served: Served) -> None:
    """An interrupt arrives while the reply is read."""
    table = served.handle()
    transport = table._root._transport
    once = transport._once

    def interrupted(*arguments: Any) -> Any:
        once(*arguments)
        raise KeyboardInterrupt

    transport._once = interrupted
    with pytest.raises(KeyboardInterrupt):
        table(SEARCH)
    transport._once = once
    search = table(SEARCH)
    assert len(table.view) == len(served.handle().view) == 1
    assert search(OLD) in (True, False)


def test_a_curator_that_restarts_is_waited_for(ledger: MemoryLedger, served: Served) -> None:
    table = served.handle()
    search = table(SEARCH)
    busy = [HTTPReply(503, error_body(UnavailableError("later")))] * 3

    def after(target: str, reply: HTTPReply) -> HTTPReply | None:
        if busy:
            served.service = opened(ledger, BUDGET, DATA)
            return busy.pop()
        return None

    served.after = after
    assert search(OLD) in (True, False)
    assert busy == []
    assert len(table.view) == 2


def test_a_report_has_what_a_token_sees(served: Served) -> None:
    """The columns that the curator describes; no times, and nobody's name."""
    table = served.handle()
    table(NOISY)
    report = table.report()
    assert report.sections[0].sentences[0] == "Columns: age: int."
    assert [(each.on, each.who, each.row.outcome) for each in report.questions] == [
        (None, "", "charged")
    ]


def test_an_unavailable_curator_is_given_up(served: Served) -> None:
    table = served.handle(patience=0.2)
    served.after = lambda *_: HTTPReply(503, error_body(UnavailableError("opening again")))
    with pytest.raises(UnavailableError, match=r"did not answer for 0\.2 seconds: opening again"):
        table(NOISY)


def test_several_curators_are_tried(served: Served) -> None:
    urls = ["unix:/nowhere/a", "unix:/nowhere/b", served.url]
    table = connect(urls, "owner")[ROOT]
    assert table.privacy_loss() == q.ZCDP(0)
    with pytest.raises(
        UnavailableError, match="unix:/nowhere/a or unix:/nowhere/b did not answer"
    ) as found:
        connect(urls[:2], "owner", patience=0.1)
    assert "sent" not in str(found.value)  # nothing was
    assert "answered" not in str(found.value)


# Rollback


def test_an_old_copy_of_the_ledger_is_refused(ledger: MemoryLedger, served: Served) -> None:
    table = served.handle()
    table(NOISY)
    copy = ledger.copy(-2)
    served.service = opened(copy, BUDGET, DATA)
    for call in (lambda: table(SEARCH), table.tree, lambda: table.view):
        with pytest.raises(RolledBackError, match="an old copy"):
            call()
    assert len(copy.events[ROOT]) == len(ledger.events[ROOT]) - 2
    served.service = opened(ledger, BUDGET, DATA)
    with pytest.raises(RolledBackError):
        table(SEARCH)
    assert len(served.handle().view) == 1


def test_a_curator_that_does_not_say_so_is_found(ledger: MemoryLedger, served: Served) -> None:
    """Its reply has an older head, or another one with the same number."""
    table, old = served.handle(), served.service.view((), 0)
    table(NOISY)
    served.before = lambda target: None
    served.after = lambda target, reply: old if "view" in target else None
    with pytest.raises(RolledBackError):
        table.tree()


@pytest.mark.parametrize("seq", [1, 4])
def test_a_head_that_is_not_later_is_refused(served: Served, seq: int) -> None:
    """An older number, or the same number with another hash."""
    table = served.handle()
    table(NOISY)
    assert table._root._head.seq == 4

    def older(target: str, reply: HTTPReply) -> HTTPReply:
        return HTTPReply(
            200, attrs.evolve(MessageReply.read(reply.body), head=Head(seq, "0" * 64)).written()
        )

    served.after = older
    with pytest.raises(RolledBackError, match="an old copy"):
        table.privacy_loss()


# Other clients


def test_clients_see_what_others_ask(served: Served) -> None:
    """The exchanges of all, in the curator's order; each one's polls are its own."""
    one, other = served.handle(), served.handle()
    one.privacy_loss()
    noisy = other.launch(NOISY, name="old")
    assert one.launch(NOISY, name="old") == noisy
    search = other(SEARCH)
    assert search(OLD) in (True, False)
    child = one.children[1]
    assert child(OLD) in (True, False)
    assert [each.path for each in one.view] == [(), (), (), (1,), (1,)]
    assert one.view.exchanges[1:] == other.view.exchanges
    assert "old: Gaussian" in one.tree()
    assert [row.sequence for row in one.ledger()] == [1, 2]
    with pytest.raises(q.QueryError, match="belongs to another mechanism"):
        one.launch(SEARCH, name="old")


def test_names_and_handles_are_kept(served: Served) -> None:
    """A named child has one handle, even if its launch is sent again by another client."""
    table = served.handle()
    search = table.launch(SEARCH, name="search")
    assert table.launch(SEARCH, name="search") is search
    assert table.children[0] is search
    again = served.handle()
    assert again.launch(SEARCH, name="search") is again.children[0]
    many = [q.Launch(SEARCH), NOISY, NOISY]
    first = table.launch_many(many, names=["search", "a", "a"])
    assert first[0] is search
    assert first[1] == first[2]
    assert again.launch_many(many, names=["search", "a", "a"])[1] == first[1]
    assert len(again.view) == 2


def test_a_child_launched_by_threads(served: Served) -> None:
    table = served.handle()
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(table, [NOISY] * 8))
    assert sorted(map(int, answers)) == sorted(int(each.answer.answer) for each in table.view)


def test_launches_of_one_mechanism_are_kept_once(served: Served) -> None:
    """In a few words each, as in process: their receipts have the mechanism that was sent."""
    table = served.handle()
    for _ in range(3):
        table(NOISY)
    fresh = served.handle()
    assert len(fresh.view) == 3
    for handle in (table, fresh):
        assert len(set(map(id, handle._root._mirror._log.entries))) == 1


# What the analyst gets wrong


def test_errors_are_those_of_in_process(served: Served) -> None:
    table = served.handle()
    with pytest.raises(q.QueryRefusedError, match="remaining") as refused:
        table(Gaussian(Count(), rho=2))
    assert (refused.value.requested, refused.value.spent) == (q.ZCDP(2), q.ZCDP(0))
    with pytest.raises(q.UnknownQueryError):
        table.ask(OLD)
    assert isinstance(table.launch_many([Gaussian(Count(), rho=2)])[0], q.Refused)
    assert not table.can_afford(Gaussian(Count(), rho=2))


def test_what_is_left_and_what_fits_are_those_of_in_process(served: Served) -> None:
    """Also in a child; a plan of what is left there is admitted to its last question."""
    table = served.handle()
    inner = table.launch(FiltCon(q.ZCDP("1/20")), name="inner")
    assert table.remaining() == q.ZCDP("19/20")
    for handle in (inner, q.Queryable(FiltCon(q.ZCDP("1/20")), DATA)):
        with pytest.raises(q.QueryRefusedError, match=r"; within=6 fits now$"):
            handle.release(Count(), within=1)
        answers = handle.release_many(plan(handle.remaining(), [Count()] * 3))
        assert all(isinstance(each, Released) for each in answers)
        assert handle.remaining() == q.ZCDP(0)
    odometer = table.launch(OdomCon(q.ZCDP), q.ZCDP("1/20"))
    assert odometer.remaining() == q.ZCDP("1/20")  # with a d_out it runs as a filter


def test_too_many_launches_are_refused_before_anything_is_sent(served: Served) -> None:
    """It says how many fit; these do, and one more does not."""
    table = served.handle()
    many = [Gaussian(Count(column("age") >= 40), variance=10**9 + each) for each in range(400)]
    sent = len(served.requests)
    with pytest.raises(CodecError, match=r"these 400 launches .* Nothing was sent") as refused:
        table.launch_many(many)
    [first] = re.findall(r"the first (\d+) of them fit", str(refused.value))
    with pytest.raises(CodecError, match=f"the first {first} of them fit"):
        table.launch_many(many[: int(first) + 1])
    with pytest.raises(CodecError, match=r"questions .* Give ask_many fewer"):
        table.ask_many([q.CanAfford(q.Launch(each)) for each in many])
    with pytest.raises(CodecError, match="131072 is the most, for a query to a curator"):
        table(Gaussian(Count(column("age").is_in([str(each) for each in range(40_000)])), rho=1))
    with pytest.raises(q.QueryError, match="take shorter names"):
        table.launch_many(many[:200], names=["x" * 990 + str(each) for each in range(200)])
    assert len(served.requests) == sent
    with pytest.raises(CodecError, match="Give launch_many or release_many fewer"):
        table.release_many([Count(column("age") >= each) for each in range(400)], loss=q.ZCDP(1))
    assert not any(isinstance(each.query, q.Launch) for each in table.view)
    assert len(table.launch_many(many[: int(first)])) == int(first)
    assert table.privacy_loss() == sum((each.loss(1) for each in many[: int(first)]), q.ZCDP(0))


def test_functions_are_refused_before_anything_is_sent(served: Served) -> None:
    table = connect(served.url, "owner")[ROOT]
    sent = len(served.requests)
    for wrong in (q.Statistic(len, l1=1, l2=1), Count(lambda row: True)):
        with pytest.raises(CodecError, match="function"):
            table(Gaussian(wrong, rho="1/50"))
    assert len(served.requests) == sent
    table(NOISY)


def test_an_unknown_token_or_data_set(served: Served) -> None:
    with pytest.raises(AccessError, match="nobody with this token"):
        served.handle("eve")
    with pytest.raises(
        KeyError, match="there is no data set 'x' for this token; there are: visits"
    ):
        served.connect()["x"]
    with pytest.raises(ValueError, match="white space"):
        connect(served.url, "a\r\nb: c")


def test_the_data_sets(served: Served) -> None:
    with served.connect() as connection:
        assert dict(connection) == {ROOT: connection[ROOT]}
        assert connection.about(ROOT) == {"columns": {"age": "int"}}
        assert ROOT in connection
        table = connection[ROOT]
        assert connection[ROOT] is table
    assert "owner" not in repr(connection)


@pytest.mark.parametrize("first", ["handle", "table"])
def test_data_that_are_being_opened_are_waited_for(served: Served, first: str) -> None:
    """Else a connection that is made while a curator starts could never be asked in SQL."""
    there, served.about = about_of(Table(DATA), 1), {}
    tries = []

    def after(path: str, reply: HTTPReply) -> HTTPReply | None:
        if not path.startswith("/v1/roots/"):
            return None
        tries.append(path)
        if len(tries) < 3:
            return HTTPReply(503, error_body(UnavailableError("visits is being opened")))
        served.about = there
        return None

    served.after = after
    with served.connect() as connection:
        if first == "table":
            assert connection.table(ROOT).count() == Table(DATA).count()
        outline = connection[ROOT]._root.outline
    assert outline is not None
    assert outline.count() == Table(DATA).count()


def test_data_that_are_not_opened_in_time(served: Served) -> None:
    served.about = {}
    unopened = HTTPReply(503, error_body(UnavailableError("visits is being opened")))
    served.after = lambda path, _: unopened if path.startswith("/v1/roots/") else None
    with (
        served.connect(patience=0.2) as connection,
        pytest.raises(UnavailableError, match="visits is being opened"),
    ):
        connection.table(ROOT)


def test_a_reply_of_another_protocol(served: Served) -> None:
    table = served.handle()
    served.after = lambda *_: HTTPReply(200, b"<html>")
    with pytest.raises(WireError, match="not JSON"):
        table(NOISY)
    served.after = None
    assert table(NOISY) is not None
    assert len(table.view) == 1


def test_a_forked_process_is_refused(served: Served) -> None:
    table = served.handle()
    table._root._process += 1
    assert os.getpid() != table._root._process
    for call in (lambda: table(NOISY), table.tree):
        with pytest.raises(HandleError, match="fork"):
            call()


def test_a_token_has_its_own_tree(served: Served) -> None:
    owner = served.handle()
    for budget in ("1/4", "1/2"):
        owner(FiltCon(q.ZCDP(budget)))
    served.paths |= {"ada": (0,), "bob": (1,)}
    ada, bob = served.handle("ada"), served.handle("bob")
    search = ada(SEARCH)
    bob(NOISY)
    assert search(OLD) in (True, False)
    assert ada.privacy_loss() == q.ZCDP(ada.ledger()[0].total.rho)
    assert repr(ada) == "<Queryable FiltCon>"
    assert (len(ada.view), len(bob.view), len(owner.view)) == (3, 1, 5)  # ada's poll is hers
    assert "rho=0.25" in ada.tree()
    assert "rho=0.5" not in ada.tree()


@pytest.mark.parametrize("child", [True, 1.5, None, ((0,),), [0]])
def test_an_id_that_is_none_is_unknown_before_it_is_sent(served: Served, child: object) -> None:
    table = served.handle()
    sent = len(served.requests)
    with pytest.raises(UnknownChildError, match="an int or a name"):
        table.ask(q.Ask(child, OLD))
    assert len(served.requests) == sent


def test_a_client_of_another_version_is_told_which_fit(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "VERSION", 2)
    with pytest.raises(WireError, match="is '2'; this curator speaks version 1"):
        served.connect()
    assert len(served.requests) == 1  # it is not sent again
