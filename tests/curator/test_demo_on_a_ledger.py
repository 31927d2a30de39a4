"""The demo's analysis on a ledger, with restarts, prints and shows what it does in memory."""

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
from curator.codec import CODEC
from mechanisms import Table
from queryable import Queryable
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
