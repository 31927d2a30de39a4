"""An analysis that is run again from its log: equal, or the first difference is found."""

import json
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest

import curator
import curator.codec
from composition import FiltCon, Individual
from curator import commands
from curator.keys import make_key
from curator.ledgers import LedgerError, SQLiteLedger
from curator.logs.story import TRIES
from mechanisms import (
    Count,
    Fit,
    FromModel,
    Gaussian,
    Keys,
    Laplace,
    SampleRows,
    SparseVector,
    Synthetic,
    Table,
    column,
)
from mechanisms.synthetic import fitting
from queryable import ZCDP, Launch, MechanismFault, PureDP, Queryable, QueryError
from queryable.messages import LaunchMany
from queryable.randomness.sealed import SealedCoins
from tests.curator.cases import CASES, TAGGED, Case, visits
from tests.curator.test_same_views import opened, told
from tests.ledgers import chained_again, edited
from tests.stored import KEY, STORED, Crash, MemoryLedger, ledger_of
from tests.strategies import Faulty, RandomBits

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

BUDGET = FiltCon(ZCDP(1))
ROWS = {"age": [*range(60)]}


def again(ledger: Any, mechanism: Any = BUDGET, data: Any = ROWS, **named: Any) -> Any:
    given = {"name": "a", "key": KEY, "codec": STORED} | named
    return curator.replay(ledger, mechanism, data, **given)


def analysed(ledger: Any, data: Any = ROWS) -> Queryable:
    """An analysis with a sparse vector, a team and a refusal: seven messages."""
    table = curator.open(ledger, BUDGET, data, name="a", key=KEY, codec=STORED)
    above = table.launch(SparseVector(30, epsilon="1/10", cutoff=9), name="search")
    team = table.launch(FiltCon(ZCDP("1/10")))
    team(Gaussian(Count(column("age") > 9), rho="1/50"))
    above(Count(column("age") > 20))
    table.launch_many([Gaussian(Count(), rho="1/50"), Laplace(Count(), epsilon="1/10")])
    assert not table.can_afford(Gaussian(Count(), rho=2))
    told(table, Launch(Gaussian(Count(), rho=2)), by_path=True)
    above(Count(column("age") > 50))
    return table


FEW = {"Individual on a table", "a sparse vector on a table"}
"""Of the cases on a table, which is opened three times for each, those of the quick run."""


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            case,
            id=str(case),
            marks=pytest.mark.slow if case.data is visits and str(case) not in FEW else (),
        )
        for case in CASES
    ],
)
def test_every_case_has_the_answers_of_its_log(case: Case) -> None:
    """Also if it was continued by another process; and nothing is written or leased."""
    ledger, half = MemoryLedger(), len(case.script) // 2
    for part in (case.script[:half], case.script[half:]):
        handle = opened(ledger, case)
        for query in part:
            told(handle, query, by_path=True)
    events, epochs, appends = [*ledger.events["a"]], {**ledger.epochs}, ledger.appends
    found = again(ledger, case.mechanism, case.data(), codec=TAGGED)
    assert found.difference is None, found
    assert (ledger.events["a"], ledger.epochs, ledger.appends) == (events, epochs, appends)
    kept = [event for event in events if event.kind in {"intent", "exchange"}]
    void = [event for event in events if '"void"' in event.body]
    assert found.messages == len(kept) - len(void)


def test_the_report_says_what_was_compared() -> None:
    ledger = MemoryLedger()
    analysed(ledger)
    found = again(ledger)
    assert (found.messages, found.failed, found.unanswered) == (7, 0, False)
    assert str(found) == "a: 7 messages have the answers and charges of the log"


def test_a_wrong_message_is_no_part_of_it() -> None:
    ledger = MemoryLedger()
    above = analysed(ledger).children[0]
    with pytest.raises(QueryError):
        above(3)
    assert [event.kind for event in ledger.events["a"] if '"void"' in event.body] == ["answer"]
    above(Count(column("age") > 40))
    found = again(ledger)
    assert (found.messages, found.failed, found.difference) == (8, 0, None)


def test_a_model_is_fitted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a restart it gives the same answers bit for bit; another model is noticed."""
    ledger, sexes = MemoryLedger(), {"sex": [0, 1] * 200, "age": [20, 50] * 200}
    person = Synthetic([{"sex": [0, 1]}, Keys.bins("age", [0, 40, 80])])
    table = curator.open(ledger, BUDGET, sexes, name="a", key=KEY)
    model = table.launch(person @ FiltCon(ZCDP("1/2")), name="model")
    asked = FromModel(Count((column("sex") == 1) & (column("age") >= 40)))
    model(Fit("1/10", rounds=1))
    first, rows = model(asked), model(SampleRows(300))
    table = curator.open(ledger, BUDGET, sexes, name="a", key=KEY)
    assert table.children[0](asked) == first
    assert table.children[0](SampleRows(300)) != rows  # by chance equal: below 1e-9
    found = again(ledger, data=sexes, codec=curator.codec.CODEC)
    assert (found.messages, found.difference) == (6, None)
    real = fitting.fitted
    monkeypatch.setattr(
        fitting, "fitted", lambda *args: attrs.evolve(real(*args), total=real(*args).total + 1)
    )
    found = again(ledger, data=sexes, codec=curator.codec.CODEC)
    assert found.difference is not None
    assert (found.difference.what, found.messages) == ("answer", 2)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("inner", [False, True])
def test_individual_goes_on_after_a_launch_that_failed(
    fault: type[BaseException], inner: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every record pays for it, and a later process knows that, where the launch would not fail."""
    ledger, mechanism = MemoryLedger(), BUDGET if inner else Individual(1)

    def reopened() -> Queryable:
        root = curator.open(ledger, mechanism, ROWS, name="a", key=KEY, on_fault=faults.append)
        return root.children[0] if inner and root.children else root

    def failing(*given: Any) -> Any:
        raise fault

    faults: list[BaseException] = []
    mine = reopened().launch(Individual(1)) if inner else reopened()
    few, all_of_them = Gaussian(Count(column("age") < 6), rho="1/2"), Gaussian(Count(), rho="1/2")
    team = mine.launch(FiltCon(ZCDP("1/4")))
    with monkeypatch.context() as patch:
        patch.setattr(Gaussian, "release", failing)
        for asked in (lambda: mine.launch(few), lambda: team(Gaussian(Count(), rho="1/8"))):
            with pytest.raises(KeyboardInterrupt if fault is KeyboardInterrupt else MechanismFault):
                asked()
    faults.clear()
    mine = reopened()
    left = mine.launch(Gaussian(Count(), rho="1/4"), name="last")
    assert left > 40  # 60, and noise of 1.4: below it once in e^90
    none = mine.launch(all_of_them)
    assert none < 20
    mine.children[0](Gaussian(Count(), rho="1/8"))  # the team lives, and has paid for its failure
    assert mine.children[0].privacy_loss() == ZCDP("1/4")
    assert reopened().launch(Gaussian(Count(), rho="1/4"), name="last") == left
    assert mine.privacy_loss() == ZCDP(1)
    assert not faults


def test_an_interrupt_while_earlier_messages_run_again_retires_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Although the launch that it stops is inside a boundary, which contains it."""

    def interrupted(*given: Any) -> Any:
        raise KeyboardInterrupt

    ledger, count = MemoryLedger(), Gaussian(Count(), rho="1/8")
    curator.open(ledger, Individual(1), ROWS, name="a", key=KEY).launch(count)
    mine = curator.open(ledger, Individual(1), ROWS, name="a", key=KEY)
    with monkeypatch.context() as patch:
        patch.setattr(Gaussian, "release", interrupted)
        with pytest.raises(KeyboardInterrupt):
            mine.launch(count)
    assert mine.launch(count) > 30  # 60, and noise of 2


def rewritten(ledger: MemoryLedger, change: Callable[[str, Any], None]) -> MemoryLedger:
    """The ledger with other bodies, and the chain of hashes made again."""
    changed = (edited(each, partial(change, each.kind)) for each in ledger.events["a"])
    return ledger_of(chained_again(changed))


@pytest.mark.parametrize("place", range(7))
def test_each_changed_answer_is_found_where_it_is(place: int) -> None:
    ledger = MemoryLedger()
    analysed(ledger)
    count = [-1]

    def change(kind: str, body: Any) -> None:
        if "answer" in body and (kind == "exchange" or body["of"] > 1):
            count[0] += 1
            if count[0] == place:
                answer = json.loads(body["answer"])
                body["answer"] = json.dumps(_other(answer), separators=(",", ":"), sort_keys=True)

    changed = rewritten(ledger, change)
    found = again(changed)
    assert found.difference is not None
    assert found.messages == place
    assert found.difference.what == "answer"
    assert (
        changed.events["a"][found.difference.event - 1]
        != ledger.events["a"][found.difference.event - 1]
    )


def _other(answer: Any) -> Any:
    """Another answer of the same kind."""
    if isinstance(answer, bool):
        return not answer
    if isinstance(answer, int):
        return answer + 1
    if isinstance(answer, str):
        return "1/2"
    if isinstance(answer, list):
        return [_other(answer[0]), *answer[1:]]
    changed = dict(answer)
    for name in ("answer", "requested", "of", "items", "child"):
        if changed.get(name) is not None:
            return changed | {name: _other(changed[name])}
    return changed | {name: _other(value) for name, value in changed.items() if name != "@"}


def test_a_changed_charge_is_found() -> None:
    ledger = MemoryLedger()
    analysed(ledger)

    def change(kind: str, body: Any) -> None:
        for charge in body.get("charges", ()):
            charge["d_in"] = 2

    found = again(rewritten(ledger, change))
    assert (found.messages, found.difference.what) == (0, "charges")


def test_a_changed_message_is_found() -> None:
    ledger = MemoryLedger()
    analysed(ledger)

    def change(kind: str, body: Any) -> None:
        if kind == "intent" and body["n"] == 3:
            body["query"] = body["query"].replace('"1/50"', '"1/40"').replace('"25"', '"20"')

    changed = rewritten(ledger, change)
    assert changed.events["a"] != ledger.events["a"]
    found = again(changed)
    assert (found.messages, found.difference.what) == (2, "history")
    assert found.difference.path == (1,)


def test_changed_data_and_mechanisms_are_found() -> None:
    ledger = MemoryLedger()
    analysed(ledger)
    found = again(ledger, data={"age": [*range(59), 0]})
    assert (found.messages, found.difference.event, found.difference.what) == (0, 1, "fingerprint")
    found = again(ledger, FiltCon(ZCDP(2)))
    assert (found.difference.event, found.difference.what) == (1, "mechanism")
    assert "59" not in str(found)


def test_a_changed_row_of_a_database_is_found(tmp_path: Path) -> None:
    """Its fingerprint does not see rows, and its answers do."""
    import ibis

    with sqlite3.connect(tmp_path / "rows.db") as connection:
        connection.execute("CREATE TABLE rows (age BIGINT)")
        connection.executemany("INSERT INTO rows VALUES (?)", [(age,) for age in range(60)])

    def table() -> Table:
        return Table(ibis.sqlite.connect(tmp_path / "rows.db").table("rows"))

    ledger = MemoryLedger()
    analysed(ledger, table())
    assert again(ledger, data=table()).difference is None
    with sqlite3.connect(tmp_path / "rows.db") as connection:
        connection.execute("UPDATE rows SET age = 5 WHERE age = 15")
    found = again(ledger, data=table())
    assert (found.messages, found.difference.what) == (2, "answer")
    assert found.difference.path == (1,)


def test_changed_code_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = MemoryLedger()
    analysed(ledger).launch(Gaussian(Count(), variance=10**24))  # equal noise: below 1e-12
    bits = SealedCoins.bits
    monkeypatch.setattr(
        SealedCoins, "bits", lambda self, count: (bits(self, count), bits(self, count))[1]
    )
    found = again(ledger)
    assert found.difference is not None
    assert found.difference.what == "answer"


def test_a_table_has_the_rows_of_then(tmp_path: Path) -> None:
    """The rows of each person that are counted are those of the first opening."""
    (tmp_path / "rows.csv").write_text("who,age\n" + "".join(f"p{i % 9},{i}\n" for i in range(90)))

    def table() -> Table:
        return Table(tmp_path / "rows.csv", privacy_unit="who", max_rows=2)

    ledger = MemoryLedger()
    rows = table()
    large = FiltCon(ZCDP(100))
    handle = curator.open(ledger, large, rows, name="a", key=KEY, codec=STORED)
    handle(Gaussian(Count(column("age") > 40, per=rows.unit), scale="1/5"))
    assert again(ledger, large, table()).difference is None


def test_failures_and_crashes() -> None:
    """What was run twice has its answer; what failed keeps its charge and is not run again."""
    ledger, runs = MemoryLedger(), list[Any]()
    table = analysed(ledger)
    faulty = table.launch(Faulty(lambda _: runs.append(1) or 1 / 0))
    with pytest.raises(MechanismFault):
        faulty("bits")
    table(Gaussian(Count(), rho="1/50"))
    crashed = ledger.copy()
    handle = curator.open(crashed, BUDGET, ROWS, name="a", key=KEY, codec=STORED)
    crashed.crash_at, crashed.stored = crashed.appends + 1, False
    with pytest.raises(Crash):
        handle(Gaussian(Count(), rho="1/40"))
    assert again(crashed).unanswered
    crashed.crash_at = None
    curator.open(crashed, BUDGET, ROWS, name="a", key=KEY, codec=STORED)
    assert "again" in [event.kind for event in crashed.events["a"]]
    ran = len(runs)
    found = again(crashed)
    assert (found.difference, found.messages, found.failed) == (None, 11, 1)
    assert "; 1 of them failed and were not run again" in str(found)
    assert len(runs) == ran


def test_the_answers_beside_a_failure_are_compared() -> None:
    """And what such a message has launched goes on."""
    ledger, data = MemoryLedger(), ROWS
    table = curator.open(ledger, BUDGET, data, name="a", key=KEY, codec=STORED)
    fails = Faulty(lambda _: 1 / 0, at_launch=True)
    launches = [Gaussian(Count(), rho="1/50"), fails, SparseVector(30, epsilon="1/10", cutoff=9)]
    told(table, LaunchMany(tuple(map(Launch, launches))), by_path=True)
    *_, above = table.children.values()
    above(Count(column("age") > 10))
    found = again(ledger)
    assert (found.messages, found.failed, found.difference) == (2, 1, None)

    def change(kind: str, body: Any) -> None:
        if kind == "answer" and "failed/1" in body["answer"]:
            answer = json.loads(body["answer"])
            listed = answer["items"] if isinstance(answer, dict) else answer
            listed[0]["answer"] = _other(listed[0]["answer"])
            body["answer"] = json.dumps(answer, separators=(",", ":"), sort_keys=True)

    changed = rewritten(ledger, change)
    assert changed.events["a"] != ledger.events["a"]
    found = again(changed)
    assert (found.messages, found.difference.what) == (0, "answer")


def test_a_message_that_crashed_eight_times_is_not_run_again() -> None:
    ledger = MemoryLedger()
    analysed(ledger)
    kept = ledger.events["a"]
    handle = curator.open(ledger, BUDGET, ROWS, name="a", key=KEY, codec=STORED)
    ledger.crash_at, ledger.stored = ledger.appends + 1, False
    with pytest.raises(Crash):
        handle(Gaussian(Count(), rho="1/40"))
    for _ in range(TRIES - 1):
        ledger.crash_at = ledger.appends + 1
        with pytest.raises(Crash):
            curator.open(ledger, BUDGET, ROWS, name="a", key=KEY, codec=STORED)
    ledger.crash_at = None
    curator.open(ledger, BUDGET, ROWS, name="a", key=KEY, codec=STORED)
    assert [event.kind for event in kept[-9:]] == ["intent", *["again"] * (TRIES - 1), "answer"]
    found = again(ledger)
    assert (found.difference, found.messages, found.failed) == (None, 8, 1)


def test_wrong_keys_names_and_logs_are_refused() -> None:
    ledger = MemoryLedger()
    analysed(ledger)
    with pytest.raises(LedgerError, match="opened with another key"):
        again(ledger, key=bytes(32))
    with pytest.raises(LedgerError, match="no root 'b'"):
        again(ledger, name="b")

    def change(kind: str, body: Any) -> None:
        body.pop("path", None)

    with pytest.raises(LedgerError, match="is not what a curator writes"):
        again(rewritten(ledger, change))
    ledger.events["a"][3] = attrs.evolve(ledger.events["a"][3], body="{}")
    with pytest.raises(LedgerError):
        again(ledger)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a configuration and an analysis."""
    make_key(tmp_path / "noise.key")
    SQLiteLedger(tmp_path / "ledger.db").close()
    (tmp_path / "visits.csv").write_text("age\n" + "".join(f"{i}\n" for i in range(60)))
    (tmp_path / "curator.toml").write_text(
        'ledger = "ledger.db"\nkey = "noise.key"\n[datasets.visits]\nsource = "visits.csv"\n'
        'budget = { epsilon = 1 }\n[datasets.calls]\nsource = "visits.csv"\n'
        "budget = { epsilon = 1 }\n"
    )
    rows, table = curator.open_configured(tmp_path / "curator.toml", "visits")
    for each in ("1/10", "1/5"):
        table.release(rows.count(), loss=PureDP(each))
    return tmp_path


def test_the_command(folder: Path) -> None:
    """Exit code 1 on a difference; the ledger's file stays as it is."""
    from typer.testing import CliRunner

    stated = str(folder / "curator.toml")

    def run(*words: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(commands.application(), ["replay", *words])
        return result.exit_code, result.stdout.strip(), result.stderr.strip()

    before = (folder / "ledger.db").read_bytes(), SQLiteLedger(folder / "ledger.db").lease
    line = "visits: 2 messages have the answers and charges of the log"
    assert run(stated) == (0, line, "")
    assert run(stated, "visits") == (0, line, "")
    assert (folder / "ledger.db").read_bytes() == before[0]
    assert run(stated, "calls")[0] == 1
    assert run(stated, "none")[0] == 1
    assert "give a configuration" in run(str(folder / "ledger.db"))[2]
    (folder / "visits.csv").write_text("age\n" + "".join(f"{i}\n" for i in range(61)))
    code, _, error = run(stated)
    assert code == 1
    assert "then event 1, path []: the data are others: contents: " in error
    commands.close(stated, "visits")
    assert run(stated) == (0, "root 'visits' is closed, and its key is not there", "")


def test_a_replay_beside_a_curator(folder: Path) -> None:
    """It needs no lease, and the curator goes on."""
    stated = curator.read_configuration(folder / "curator.toml")
    rows, table = stated.open("visits")
    assert stated.replay("visits").difference is None
    table.release(rows.count(), loss=PureDP("1/10"))
    assert stated.replay("visits").messages == 3


def test_a_tag_that_is_not_read_is_named_with_what_to_do() -> None:
    """At 1b177ec it was a bare error of the codec."""
    ledger = MemoryLedger()
    table = curator.open(ledger, FiltCon(PureDP(9)), ROWS, name="a", key=KEY, codec=STORED)
    table(RandomBits())
    table(Laplace(Count(), epsilon="1/10"))
    assert not again(ledger, FiltCon(PureDP(9))).difference
    with pytest.raises(LedgerError, match=r"tests.randombits/1.*codec=.*nothing is wrong"):
        again(ledger, FiltCon(PureDP(9)), codec=curator.codec.CODEC)
