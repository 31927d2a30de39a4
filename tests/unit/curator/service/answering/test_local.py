"""`LocalService`: messages in, replies out, from the paths of tokens."""

import itertools
import json
from typing import Any

import attrs
import pytest

import curator
import queryable as q
from composition import ExPost, FiltCon
from curator.codec import decode, encode
from curator.ledgers import LedgerFullError
from curator.service import LocalService
from curator.service.answering.reading import RootReader
from curator.wire import Head, MessageReply, Page, RootDescription, Tell, error_of
from mechanisms import Count, Gaussian, LaplaceNoiseReduction, Refine, SparseVector, Table, column
from queryable.messages import AskMany, LaunchMany
from tests.stored import KEY, STORED, Crash, MemoryLedger
from tests.strategies import raising

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

DATA = {"age": [31, 47, 62]}
BUDGET = FiltCon(q.ZCDP(1))
NOISY = q.Launch(Gaussian(Count(column("age") >= 40), rho="1/50"))
SEARCH = q.Launch(SparseVector(2, epsilon="1/4", cutoff=9))
OLD = Count(column("age") >= 50)
_keys = itertools.count()


def opened(ledger: MemoryLedger, **more: Any) -> q.Queryable:
    return curator.open(ledger, BUDGET, DATA, name="visits", key=KEY, **more)


def key() -> str:
    return f"{next(_keys):032x}"


class Client:
    """Sends messages from one path, with a new key each."""

    def __init__(self, service: LocalService, token: Any = (), codec: Any = curator.codec.CODEC):
        self.service, self.token, self.codec = service, token, codec

    def __call__(
        self, query: Any, path: Any = (), names: Any = (), key: Any = None
    ) -> MessageReply:
        return self.told(self.sent(query, path, names, key))

    def sent(self, query: Any, path: Any = (), names: Any = (), key_: Any = None) -> bytes:
        text = str(self.codec.encode(query), "ascii")
        return Tell(path, text, names, key_ or key()).written()

    def told(self, body: bytes) -> MessageReply:
        status, reply = self.service.tell(self.token, body)
        if status != 200:
            raise error_of(status, reply)
        return MessageReply.read(reply)

    def answer(self, told: MessageReply) -> Any:
        assert told.outcome.answer is not None
        return self.codec.decode(told.outcome.answer)

    def page(self, after: int = 0) -> Page:
        return Page.read(self.service.view(self.token, after).body)


@pytest.fixture
def ledger() -> MemoryLedger:
    return MemoryLedger()


@pytest.fixture
def client(ledger: MemoryLedger) -> Client:
    return Client(LocalService(opened(ledger)))


def test_answers_are_those_of_the_handle(client: Client) -> None:
    """With receipts, and the number of exchanges."""
    memory = opened(MemoryLedger())
    told = client(NOISY)
    answer = client.answer(told)
    assert (told.seq, told.new, told.outcome.kind) == (1, 1, "answer")
    assert isinstance(answer, q.Launched)
    assert answer.receipt.charged == q.ZCDP("1/50")
    memory(NOISY.mechanism)
    assert encode(memory.view[0].answer.receipt) == encode(answer.receipt)


def test_no_question_is_faster_because_a_colleague_asked_it() -> None:
    """Each grant has totals of its own: the engine reads rows for the first question of each.

    At 1b177ec it reads none for a question that another grant asked, which shows in the time.
    """
    table = Table(DATA)
    read: list[Any] = []
    run = type(table._engine).run

    def counted(engine: Any, plan: Any) -> Any:
        read.append(plan)
        return run(engine, plan)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(table._engine), "run", counted)
        ledger = MemoryLedger()
        root = curator.open(ledger, BUDGET, table, name="visits", key=KEY)
        service = LocalService(root)
        owner = Client(service)
        for _ in range(2):
            owner(q.Launch(FiltCon(q.ZCDP("1/4"))))
        ada, bo = Client(service, (0,)), Client(service, (1,))
        counts = []
        for each in (ada, ada, bo, bo, ada, owner, owner):
            assert each(NOISY).outcome.kind == "answer"
            counts.append(len(read))
    assert counts == [1, 1, 2, 2, 2, 3, 3]
    table.close()


def test_failures_and_their_charge() -> None:
    faults: list[BaseException] = []
    root = opened(MemoryLedger(), codec=STORED, on_fault=faults.append)
    failing = Client(LocalService(root, codec=STORED), codec=STORED)
    wrong = q.Launch(Gaussian(q.Statistic(raising, l1=1, l2=1), rho="1/10"))
    told = failing(wrong)
    assert (told.outcome.kind, told.new) == ("failed", 1)
    assert failing.answer(told).receipt.charged == q.ZCDP("1/10")
    assert len(faults) == 1


@pytest.mark.parametrize(
    ("query", "path", "kind"),
    [
        (OLD, (), "UnknownQueryError"),
        (OLD, (3,), "UnknownChildError"),
        (q.Launch(SparseVector(2, epsilon="1/4"), q.PureDP("1/8")), (), "PrivacyClaimError"),
        (q.Launch(3), (), "QueryError"),
    ],
)
def test_wrong_queries_have_the_class_and_text_of_in_process(
    client: Client, query: Any, path: Any, kind: str
) -> None:
    told = client(query, path)
    assert (told.new, told.outcome.type) == (0, kind)
    with pytest.raises(Exception, match=r".") as raised:
        opened(MemoryLedger())._root.tell(path, query)
    assert told.outcome.text == str(raised.value)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ('{"@":"unheard-of/1"}', "unknown tag"),
        ('{"@":"count/1","where":3}', "should be"),
        ('{"@":"gaussian/1","variance":"2","statistic":{"@":"count/1"}}', "not canonical"),
        ('"' + "x" * (2**17 + 1) + '"', "is the most"),
        ("[" * 251 + "]" * 251, "nested"),
    ],
)
def test_a_text_that_is_no_query_is_a_wrong_query(client: Client, query: str, told: str) -> None:
    outcome = client.told(Tell((), query, (), key()).written()).outcome
    assert outcome.type == "CodecError"
    assert told in str(outcome.text)


@pytest.mark.parametrize(
    "query",
    [
        '{"@":"update/1","contents":"%s","number":1}' % ("0" * 64),
        '{"@":"update/1","records":{"age":[1]}}',
        '{"@":"close-block/1","block":"a"}',
        '{"@":"ask/1","child":0,"query":{"@":"update/1","number":1}}',
    ],
)
def test_messages_of_the_owner_are_wrong_queries(
    ledger: MemoryLedger, client: Client, query: str
) -> None:
    """They have no tag on the wire, so that no analyst gives a batch; nothing changes."""
    client(SEARCH)
    events = [*ledger.read("visits")]
    told = client.told(Tell((), query, (), key()).written())
    assert (told.outcome.kind, told.outcome.type) == ("query error", "CodecError")
    assert [*ledger.read("visits")] == events


def test_batches_between_messages(ledger: MemoryLedger) -> None:
    """The owner feeds in the same process: analysts see answers and no batch; heads go on."""
    handle = opened(ledger)
    client = Client(LocalService(handle))
    first = client(NOISY)
    handle.feed({"age": [70]}, block="a")
    text = str(encode(NOISY), "ascii")
    second = client.told(Tell((), text, (), key(), first.head).written())
    assert second.seq == first.seq + 1
    handle = opened(ledger, updates=[{"age": [70]}])
    client = Client(LocalService(handle))
    third = client.told(Tell((), text, (), key(), second.head).written())
    assert third.seq == second.seq + 1
    assert len(client.page().exchanges) == 3


def test_a_body_that_is_no_message_is_told_so(client: Client) -> None:
    for body in (b"", b"{}", Tell((), "1,2", (), key()).written()):
        status, reply = client.service.tell((), body)
        assert status == 400
        assert json.loads(reply)["type"] == "WireError"
    assert client.page().seq == 0


# Request keys


def test_a_message_is_answered_once(ledger: MemoryLedger, client: Client) -> None:
    """Also after a restart; and what was answered since does not count."""
    body = client.sent(NOISY)
    first = client.told(body)
    client(SEARCH)
    again = client.told(body)
    assert (again.seq, again.new, again.outcome) == (first.seq, first.new, first.outcome)
    restarted = Client(LocalService(opened(ledger))).told(body)
    assert (restarted.seq, restarted.outcome) == (first.seq, first.outcome)
    assert client.page().seq == 2


def test_a_key_is_for_one_message(client: Client) -> None:
    client(NOISY, key="a" * 32)
    for query, path, names in ((SEARCH, (), ()), (NOISY, (0,), ()), (NOISY, (), ("x",))):
        status, reply = client.service.tell((), client.sent(query, path, names, "a" * 32))
        assert (status, json.loads(reply)["type"]) == (409, "RequestKeyError")
    assert client.page().seq == 1


def test_polls_and_wrong_queries_are_asked_again(client: Client) -> None:
    poll, wrong = client.sent(q.PrivacyLossQuery()), client.sent(OLD)
    assert client.answer(client.told(poll)) == q.ZCDP(0)
    client(NOISY)
    assert client.answer(client.told(poll)) == q.ZCDP("1/50")
    assert client.told(wrong).outcome == client.told(wrong).outcome


@pytest.mark.parametrize("restart", [False, True])
def test_several_entries_are_answered_once(
    ledger: MemoryLedger, client: Client, *, restart: bool
) -> None:
    """Launches of which some were made before under their names, or are there twice."""
    client(NOISY, names=("old",))
    many = LaunchMany((NOISY, NOISY, SEARCH, NOISY, NOISY))
    body = client.sent(many, (), (None, "old", "new", "twice", "twice"))
    first = client.told(body)
    assert (first.seq, first.new) == (4, 3)
    client(NOISY)
    if restart:
        client = Client(LocalService(opened(ledger)))
    again = client.told(body)
    assert (again.seq, again.new) == (first.seq, first.new)
    assert client.answer(again) == client.answer(first)
    assert client.page().seq == 5


def test_questions_to_a_child_are_answered_once(client: Client) -> None:
    client(SEARCH)
    body = client.sent(AskMany((OLD, OLD)), (0,))
    first = client.told(body)
    assert (first.seq, first.new) == (3, 2)
    assert client.told(body) == first


@pytest.mark.parametrize("stored", [False, True])
@pytest.mark.parametrize("at", range(3))
def test_a_crash_anywhere_leaves_a_message_answered_once(at: int, *, stored: bool) -> None:
    ledger = MemoryLedger()
    client = Client(LocalService(opened(ledger)))
    body = client.sent(NOISY)
    ledger.crash_at, ledger.stored = ledger.appends + at, stored
    try:
        client.told(body)
        client(SEARCH)
    except Crash:
        pass
    ledger.crash_at = None
    undisturbed = Client(LocalService(opened(ledger)))
    first = undisturbed.told(body)
    assert undisturbed.told(body) == first
    noisy = [each for each in undisturbed.page().exchanges if "gaussian" in each.query]
    assert len(noisy) == 1


# Heads


def test_a_client_that_saw_more_is_not_answered(ledger: MemoryLedger, client: Client) -> None:
    """An old copy of the ledger, at any number of the seen head."""
    copy = ledger.copy()
    seen = client(NOISY).head
    text = str(encode(SEARCH), "ascii")
    old = LocalService(opened(copy))
    status, reply = old.tell((), Tell((), text, (), key(), seen).written())
    assert (status, json.loads(reply)["type"]) == (409, "RolledBackError")
    for _ in range(2):
        Client(old)(NOISY)
    assert old.tell((), Tell((), text, (), key(), seen).written()).status == 409
    assert client.told(Tell((), text, (), key(), seen).written()).new == 1


def test_a_head_of_before_the_restart_is_known(ledger: MemoryLedger, client: Client) -> None:
    seen = client(NOISY).head
    client(SEARCH)
    text = str(encode(SEARCH), "ascii")
    restarted = Client(LocalService(opened(ledger)))
    assert restarted.told(Tell((), text, (), key(), seen).written()).new == 1
    for wrong in (Head(seen.seq, "0" * 64), Head(0, "0" * 64), Head(10**6, seen.hash)):
        assert restarted.service.tell((), Tell((), text, (), key(), wrong).written()).status == 409


# Paths of tokens


@pytest.fixture
def ada(client: Client) -> Client:
    """A client of the second of two analysts."""
    for _ in range(2):
        client(q.Launch(FiltCon(q.ZCDP("1/4"))))
    Client(client.service, (0,))(NOISY)
    return Client(client.service, (1,))


def test_a_token_sees_what_is_below_its_path(client: Client, ada: Client) -> None:
    """Paths and numbers start there, and receipts are those of compositors there."""
    told = ada(SEARCH, names=("search",))
    assert (told.seq, told.new) == (1, 1)
    assert ada.answer(told).receipt.account.budget == q.ZCDP("1/4")
    assert ada(OLD, (0,)).seq == 2
    page = ada.page()
    assert [(each.path, each.name) for each in page.exchanges] == [((), "search"), ((0,), None)]
    assert [each.path for each in client.page().exchanges] == [(), (), (0,), (1,), (1, 0)]
    assert ada.page(1).exchanges == page.exchanges[1:]
    assert page.seq == 2


@pytest.mark.parametrize("child", [NOISY.mechanism, 0.0, True, None, (0,), q.PrivacyLossQuery()])
def test_a_child_has_an_integer_or_a_text_as_its_id(client: Client, child: Any) -> None:
    """Anything else has no place in the ledger; it is wrong, and no fault of the curator."""
    faults: list[BaseException] = []
    client.service._on_fault = faults.append
    assert client(q.Ask(child, q.PrivacyLossQuery())).outcome.type == "UnknownChildError"
    assert client(q.Ask(0, q.Ask(child, NOISY))).outcome.type == "UnknownChildError"
    assert faults == []


def test_a_path_leads_nowhere_above(ada: Client) -> None:
    told = ada(q.Ask(0, q.PrivacyLossQuery()))
    assert told.outcome.type == "UnknownChildError"
    assert ada(NOISY, (0,)).outcome.type == "UnknownChildError"


def test_the_description_is_of_the_path(client: Client, ada: Client) -> None:
    described = RootDescription.read(ada.service.describe((1,)).body)
    assert decode(described.mechanism) == FiltCon(q.ZCDP("1/4"))
    assert (decode(described.opening), described.seq) == (None, 0)
    assert decode(RootDescription.read(client.service.describe(()).body).mechanism) == BUDGET
    for nowhere in ((2,), ("x",), (1, 0)):
        status, reply = client.service.describe(nowhere)
        assert (status, json.loads(reply)["type"]) == (404, "AccessError")


def test_a_description_reads_what_is_above_its_path_only(
    client: Client, ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise every token's first request after a restart would read the whole log."""
    for _ in range(5):
        ada(NOISY)
        client(NOISY)
    read: list[int] = []
    log = client.service._root.log
    exchange = log.exchange
    monkeypatch.setattr(log, "exchange", lambda index: read.append(index) or exchange(index))
    ada.service.describe((1,))
    assert {log.path(index) for index in read} == {()}
    assert not any(exchange(index).query == NOISY for index in read)  # these start nothing


def test_the_page_is_of_the_path(client: Client, ada: Client) -> None:
    client.service._journal._now = lambda: 1_800_000_000.9
    ada(NOISY)
    page = json.loads(ada.service.page((1,)).body)
    assert page["messages"] == len(page["rows"]) == 1
    assert page["tree"]["price"] == "ZCDP(rho=0.25)"
    (row,) = page["rows"]
    assert (row["number"], row["path"], row["on"]) == (1, [], 1_800_000_000)
    whole = json.loads(client.service.page(()).body)
    assert [each["title"] for each in whole["tree"]["children"]] == ["[0] FiltCon", "[1] FiltCon"]
    assert [each["path"] for each in whole["below"]] == [[0], [1]]
    assert [each["path"] for each in whole["rows"]] == [[], [], [0], [1]]
    assert whole["rows"][3]["exact"]["loss"] == page["rows"][0]["exact"]["loss"]


def test_a_page_goes_on_with_what_is_new(client: Client, ada: Client) -> None:
    """What a page keeps from the last time is what a new page would have."""
    for _ in range(3):
        ada(NOISY)
        for path in ((), (1,)):
            page = ada.service.page(path).body.decode()
            times = ada.service._journal.requests.time_of
            assert page == RootReader(ada.service._root, curator.codec.CODEC, times).page(path)
    asked = json.loads(ada.service.page((1,), 1).body)
    assert sorted(asked) == ["messages", "rows"]
    assert [each["number"] for each in asked["rows"]] == [2, 3]
    assert json.loads(ada.service.page((1,), 7).body)["rows"] == []


def test_what_ex_post_compositors_above_charge_is_not_seen() -> None:
    """A receipt of the root is for tokens of the root, also with a retry and in a view."""
    root = curator.open(MemoryLedger(), ExPost(q.PureDP(1)), DATA, name="visits", key=KEY)
    whole = Client(LocalService(root))
    whole(q.Launch(LaplaceNoiseReduction(Count(), scales=[100, 10, 1])))
    child = Client(whole.service, (0,))
    for client, path, seen in ((whole, (0,), True), (child, (), False)):
        body = client.sent(Refine(), path)
        for told in (client.told(body), client.told(body)):
            assert bool(told.outcome.receipts) is seen
        assert bool(client.page().exchanges[-1].receipts) is seen


# Faults of ours


def test_a_full_ledger_is_told(ledger: MemoryLedger, client: Client) -> None:
    ledger.crash_at, ledger.stored, ledger.crash = ledger.appends, False, LedgerFullError("full")
    status, reply = client.service.tell((), client.sent(NOISY))
    assert (status, json.loads(reply)["type"]) == (503, "UnavailableError")
    assert "nothing was read or charged" in json.loads(reply)["error"]
    assert client(NOISY).new == 1


def test_a_lost_answer_breaks_the_service(ledger: MemoryLedger) -> None:
    """Between intent and answer: the data set is opened again, and the retry is answered."""
    faults: list[BaseException] = []
    service = LocalService(opened(ledger), on_fault=faults.append)
    client = Client(service)
    ledger.crash_at, ledger.stored = ledger.appends + 1, False
    ledger.crash = OSError("secret 42")
    body = client.sent(NOISY)
    for _ in range(2):
        status, reply = service.tell((), body)
        assert (status, json.loads(reply)["type"]) == (503, "UnavailableError")
        assert b"42" not in reply
    assert service.broken
    assert [str(each) for each in faults] == ["secret 42"]
    ledger.crash_at = None
    again = Client(LocalService(opened(ledger)))
    assert again.told(body).new == 1
    assert again.page().seq == 1


def test_an_exception_of_ours_says_nothing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it is about. The analyst is told that nothing has changed, which is so."""

    def broken(*_: object) -> None:
        raise RuntimeError("42 patients")

    with monkeypatch.context() as patch:
        patch.setattr(type(client.service._root), "tell", broken)
        outcome = client(NOISY).outcome
    assert (outcome.type, "42" in str(outcome.text)) == ("QueryError", False)
    with monkeypatch.context() as patch:
        patch.setattr(client.service._reader, "shown", broken)
        status, reply = client.service.view((), 0)
    assert (status, b"42" in reply) == (500, False)
    assert client(NOISY).seq == 1


def test_an_answer_whose_receipt_cannot_be_written(client: Client) -> None:
    """A person may have put anything there; the answer is told without it."""
    root = client.service._root
    tell = type(root).tell

    def forged(*arguments: Any) -> Any:
        return attrs.evolve(tell(*arguments), receipt="free")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(root), "tell", forged)
        told = client(NOISY)
    assert (told.new, told.outcome.kind, client.answer(told).receipt) == (1, "answer", None)


def test_a_handle_without_a_ledger_is_not_served() -> None:
    with pytest.raises(TypeError, match="no ledger"):
        LocalService(q.Queryable(BUDGET, DATA))


def test_statuses_tell_the_loss(client: Client) -> None:
    client(NOISY)
    client(q.Launch(Gaussian(Count(), rho=2)))
    status = json.loads(client.service.status().body)
    assert (status["spent"], status["share"], status["messages"]) == ("ZCDP(rho=0.02)", 0.02, 2)
    assert status["broken"] is False


def test_polls_among_several_questions(client: Client) -> None:
    """A message of polls only is not stored."""
    told = client(q.CanAfford(NOISY))
    assert (told.new, told.outcome.kind, client.answer(told)) == (0, "answer", True)
    told = client(q.Launch(Gaussian(Count(), rho=2)))
    assert told.outcome.kind == "refused"
    assert isinstance(client.answer(told), q.Refused)
