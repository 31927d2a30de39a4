"""kill -9 of a process in the middle of its analysis, and of the Postgres server that it uses.

No answer is lost or changed, and the launches of the whole analysis cost what the account says,
which is at most the budget. After some of the kills the budget is used up.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import curator
from curator.ledgers import chained, ledger_of
from queryable import ZCDP
from queryable.messages import Refused
from tests.curator import analyst
from tests.curator.processes import FORKED
from tests.postgres import POSTGRES, Server

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")


class Client:
    """Keeps what the analysis has answered, through all its processes."""

    def __init__(self, ledger: str, budget: Fraction) -> None:
        self.ledger, self.budget = ledger, budget
        self.heard: dict[int, str] = {}

    @contextmanager
    def process(self) -> Iterator[tuple[Any, Callable[[int], None]]]:
        """A process with the analysis, killed at the end; a function waits for more answers."""
        mine, its = FORKED.Pipe(duplex=False)
        process = FORKED.Process(
            target=analyst.run, args=(self.ledger, self.budget, its), daemon=True
        )
        process.start()
        its.close()

        def wait(more: int) -> None:
            most = len(self.heard) + more
            while len(self.heard) < most:
                assert mine.poll(300), "the analysis is stuck"
                try:
                    self._hear(*mine.recv())
                except EOFError:
                    raise AssertionError("the analysis has ended by itself") from None

        try:
            yield process, wait
            process.kill()
            while True:
                self._hear(*mine.recv())
        except EOFError:
            pass
        finally:
            process.kill()
            process.join()
            mine.close()

    def _hear(self, place: int, text: str) -> None:
        assert self.heard.setdefault(place, text) == text, "an answer has changed"

    def check(self) -> None:
        """Compare everything that was heard with what the ledger has."""
        table = analyst.opened(self.ledger, self.budget)
        kept = analyst.answers(table)
        assert [i for i, text in self.heard.items() if kept[i : i + 1] != [text]] == []
        loss = table.privacy_loss()
        assert loss == ZCDP(analyst.charged(table))
        assert loss <= table._root.mechanism.budget  # type: ignore[attr-defined]
        assert any(isinstance(each.answer, Refused) for each in table.view)
        curator.release(table)
        ledger = ledger_of(self.ledger)
        assert len(list(chained(ledger.read("visits")))) > len(self.heard)
        ledger.close()


def killed(client: Client, cycles: int, seed: int) -> None:
    """Kill the analysis so often, after one to three new answers and up to 20 ms."""
    chance = random.Random(seed)
    for _ in range(cycles):
        with client.process() as (process, wait):
            wait(chance.randint(1, 3))
            process.join(chance.uniform(0, 0.02))
    client.check()


@pytest.mark.parametrize(
    ("cycles", "budget"),
    [
        (7, Fraction(1, 20)),
        pytest.param(50, Fraction(1), marks=pytest.mark.slow),
        pytest.param(1000, Fraction(10), marks=pytest.mark.long),
    ],
)
def test_kills(tmp_path: Path, cycles: int, budget: Fraction) -> None:
    """So many that the budget is used up before the last of them."""
    client = Client(str(tmp_path / "visits.db"), budget)
    killed(client, cycles, 2)
    assert len(client.heard) >= cycles


def killed_on_postgres(cycles: int, budget: Fraction, seed: int) -> None:
    """As `killed`; every second time the server is killed too, and the same process goes on."""
    server, chance = Server(), random.Random(seed)
    client = Client(server.database(), budget)
    for number in range(cycles):
        with client.process() as (process, wait):
            wait(chance.randint(1, 3))
            process.join(chance.uniform(0, 0.02))
            if number % 2:
                server.kill()
                server.start()
                wait(chance.randint(1, 2))
    client.check()
    server.stop()


@pytest.mark.long
@POSTGRES
def test_200_kills_on_postgres() -> None:
    killed_on_postgres(200, Fraction(2), 4)
