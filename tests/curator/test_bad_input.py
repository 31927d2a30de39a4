"""Wrong keys, files and messages: each is a clear error before data are read or charged."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

import curator
from composition import FiltCon
from curator import LedgerError
from curator.codec import CODEC, CodecError, Limits, entry_of
from curator.fingerprints import fingerprint
from curator.ledgers import SQLiteLedger
from mechanisms import Count, Gaussian, SparseVector, column
from queryable import ZCDP, Ask, Launch, Measurement, Queryable, QueryError, Statistic
from tests.curator import analyses
from tests.curator.analyses import DATA, WATCHED, Watched
from tests.postgres import POSTGRES, database
from tests.stored import KEY

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")


def opened(ledger: Any, **more: Any) -> Queryable:
    given = {"name": "visits", "codec": WATCHED, **more}
    return curator.open(ledger, FiltCon(ZCDP(1)), DATA, **given)


def used(path: Path, key: Any = None) -> None:
    """A ledger with one launch."""
    table = opened(path, key=key)
    table.launch(Gaussian(Watched(1), rho="1/50"))
    curator.release(table)


def _lost_key(path: Path) -> None:
    used(path)
    Path(f"{path}.key").unlink()


def _no_folder(path: Path) -> None:
    """Also root cannot write below a file."""
    path.parent.rmdir()
    path.parent.write_text("a file")


Wrong = tuple[Callable[[Path], object], dict[str, Any], type[Exception], str]
OPENINGS: dict[str, Wrong] = {
    "another key": (lambda p: used(p, KEY), {"key": bytes(32)}, LedgerError, "another key"),
    "lost key": (_lost_key, {}, FileNotFoundError, "there is no key file"),
    "no key": (lambda _: None, {"key": "env:NO_SUCH_KEY"}, ValueError, "set the environment"),
    "a CSV file": (lambda p: p.write_text("a,b\n" * 99), {}, LedgerError, "not an SQLite"),
    "no folder": (_no_folder, {}, LedgerError, "cannot be opened for writing"),
    "no name": (lambda _: None, {"name": "", "key": KEY}, ValueError, "name"),
}
"""What is wrong when a root is opened, with which arguments, and the error."""


@pytest.mark.parametrize("wrong", OPENINGS)
def test_what_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    """The file and its folder are left as they were."""
    path, (arrange, more, kind, says) = tmp_path / "folder" / "a.db", OPENINGS[wrong]
    path.parent.mkdir()
    arrange(path)
    before, reads = _events(path), list[Any]()
    files = sorted(path.parent.glob("*"))
    monkeypatch.setattr(analyses, "SEEN", [reads.append])
    monkeypatch.setattr(
        "curator.identities.fingerprint", lambda *given: reads.append(given) or fingerprint(*given)
    )
    with pytest.raises(kind, match=says) as caught:
        opened(path, **more)
    assert len(str(caught.value)) < 600
    assert reads == []
    assert _events(path) == before
    assert not files or sorted(path.parent.glob("*")) == files


def _events(path: Path) -> list[Any]:
    """The events of a ledger; nothing where there is none."""
    try:
        ledger = SQLiteLedger(path)
    except LedgerError:
        return []
    events = list(ledger.read("visits"))
    ledger.close()
    return events


def test_a_tag_that_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log has a tag of a site, and the root goes on without the site's schema."""
    used(tmp_path / "a.db", KEY)
    before, reads = _events(tmp_path / "a.db"), list[Any]()
    monkeypatch.setattr(analyses, "SEEN", [reads.append])
    with pytest.raises(CodecError, match=r"the unknown tag 'tests\.watched/1'"):
        opened(tmp_path / "a.db", key=KEY, codec=CODEC).launch(Gaussian(Count(), rho="1/50"))
    assert (_events(tmp_path / "a.db"), reads) == (before, [])


@POSTGRES
def test_a_ledger_in_a_database_needs_a_key() -> None:
    """No file is made beside it."""
    with pytest.raises(ValueError, match="give a key"):
        opened(database())


@attrs.frozen
class Untagged(Measurement):
    """A mechanism that no schema knows."""

    def loss(self, d_in: int) -> ZCDP:
        return ZCDP("1/50")

    def release(self, dataset: Any, coins: Any) -> int:
        return len(dataset["value"])


def _deep() -> Count:
    value = column("value")
    for number in range(60):
        value = value + number
    return Count(value >= 3)


SITE = CODEC.joined([entry_of("tests.watched/1", Watched)])
FUNCTION = Statistic(lambda dataset: len(dataset["value"]), l1=1, l2=1)
LONG = Count(column("part").is_in([f"{number:050}" for number in range(1000)]))
MESSAGES = {
    "a Python function": (Launch(Gaussian(FUNCTION, rho="1/50")), "Python function"),
    "a lambda in a sparse vector": (Ask(0, FUNCTION), "Python function"),
    "a mechanism without a tag": (Launch(Untagged()), "Untagged"),
    "a long message": (Launch(Gaussian(LONG, rho="1/50")), "10000 is the most"),
    "a deep message": (Launch(Gaussian(_deep(), rho="1/50")), "deep; 50 is the most"),
    "an object": (Launch(object()), "object"),
    "bytes of a pickle": (Ask(0, b"\x80\x04N."), "ask SparseVector an IntegerStatistic"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_wrong_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Nothing is read, charged or stored, and the root goes on."""
    query, says = MESSAGES[name]
    codec = CODEC.joined([entry_of("tests.watched/1", Watched)]).within(
        Limits(bytes=10_000, depth=50)
    )
    ledger = SQLiteLedger(tmp_path / "a.db")
    table = opened(ledger, key=KEY, codec=codec)
    search = table.launch(SparseVector(20, epsilon="1/10", cutoff=2))
    search(Watched(1))
    loss, events = table.privacy_loss(), list(ledger.read("visits"))
    reads: list[Watched] = []
    monkeypatch.setattr(analyses, "SEEN", [reads.append])
    with pytest.raises(QueryError, match=says) as caught:
        table.ask(query)
    assert len(str(caught.value)) < 600
    assert (reads, table.privacy_loss()) == ([], loss)
    assert [e for e in list(ledger.read("visits"))[len(events) :] if not _is_void(e)] == []
    assert search(Watched(2)) in {True, False}
    ledger.close()


def _is_void(event: Any) -> bool:
    """Whether an event belongs to a message of which the mechanism found that it is wrong."""
    return event.kind == "intent" or '"void":true' in event.body
