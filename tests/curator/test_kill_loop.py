"""A served curator that is killed again and again, while children of all kinds are alive.

The data grow, and one analyst asks a sparse vector, a Brownian reduction, a `Frugal` person, an
`Individual` filter and a counter in turn, and launches a `Best` in between, while the curator is
killed without a word. Then nobody is retired, the view has every answer that was heard, once and
as it was heard, no batch is lost, and the whole analysis, run again from its log, is the same.

At 1b177ec two kills in the middle of one message retire its child for good: loops of 40 kills lost
a sparse vector. `test_crashes.py` has the rule, which no timing decides.
"""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import pytest

import mechanisms as m
from composition import FiltCon, Individual
from curator import commands
from curator.codec import CODEC
from curator.owner import orders
from curator.owner.feeding import feed
from queryable import ZCDP, Queryable
from queryable.messages import Failed, Launched, without_receipts
from tests.curator.serving import Served, growing, served

AGE = m.column("age")
CHILDREN = {
    "search": m.SparseVector(10**6, epsilon="1/10", cutoff=9),
    "reduction": m.BrownianNoiseReduction() @ FiltCon(ZCDP(1)),
    "frugal": m.Frugal() @ FiltCon(ZCDP(100)),
    "individual": Individual(10**4),
    "counter": m.ToeplitzCounter(m.Count(), rho=10**6, horizon=1000),
}
_TIMES = m.TruncatedNegativeBinomial(1, "1/3")


def written_as(answer: Any) -> str:
    """An answer as the view has it."""
    value = without_receipts(answer)
    return str(CODEC.encode(value.answer if isinstance(value, Launched) else value), "ascii")


@attrs.define(eq=False, slots=False)
class Analyst:
    """Asks each child in turn until it is told to stop, and keeps what it heard, in order."""

    table: Queryable
    ended: threading.Event = attrs.field(factory=threading.Event)
    heard: list[str] = attrs.field(factory=list)
    errors: list[BaseException] = attrs.field(factory=list)

    def start(self) -> None:
        """Launch the children, and open an estimate."""
        self.kids = {name: self.table.launch(each, name=name) for name, each in CHILDREN.items()}
        self.estimate = self.kids["reduction"].ask(m.Open(m.Count(AGE >= 30)))
        self.first = len(self.table.view)

    def questions(self) -> Iterator[Callable[[], Any]]:
        """One for each child in turn; no two are alike."""
        kids, number = self.kids, 0
        while True:
            number += 1
            above = m.Count(number % 90 <= AGE)
            within = 4000 / (1 + number / 10)
            best = m.Best([m.Laplace(above, epsilon="1/1000")] * 2, "largest", _TIMES)
            variance = 10**6 / number
            yield lambda above=above: kids["search"](above)
            yield lambda variance=variance: self.estimate(m.Refine(variance))
            yield lambda above=above, w=within: kids["frugal"].ask(m.Estimate(above, w))
            yield lambda above=above: kids["individual"].launch(m.Gaussian(above, rho="1/1000"))
            yield lambda: kids["counter"](m.Total())
            yield lambda best=best: self.table.launch(best)

    def run(self) -> None:
        """Ask until the end, and then each child once more: none of them is retired."""
        try:
            left = len(CHILDREN) + 1
            for ask in self.questions():
                if self.ended.is_set():
                    left -= 1
                if left < 0:
                    return
                self.heard.append(written_as(ask()))
        except BaseException as error:
            self.errors.append(error)


def processes_of(front: int) -> list[int]:
    """A curator's processes, the front last. Workers are its children."""
    told = Path(f"/proc/{front}/task/{front}/children").read_text().split()
    return [*map(int, told), front]


def kill(curator: Served, *, whole: bool) -> int:
    """Kill the workers, and the front too if the whole is to be killed; how many were killed."""
    killed = 0
    for number in processes_of(curator.process.pid):
        if whole or number != curator.process.pid:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
                killed += 1
    if whole:
        curator.process.wait()
    return killed


def configured(folder: Path) -> tuple[Path, str]:
    """A configuration whose data grow, and an analyst's token."""
    stated = growing(folder / "served")
    token = orders.add_analyst(stated, "ada")
    orders.grant(stated, "visits", "ada", zcdp="100000000")
    return stated, token


@pytest.mark.parametrize(
    ("kills", "every"),
    [pytest.param(12, 4, marks=pytest.mark.slow), pytest.param(200, 10, marks=pytest.mark.long)],
)
def test_nobody_is_retired_by_kills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kills: int, every: int
) -> None:
    """Each kill comes 0.6 to 2 s after the last one; one of `every` takes the front too.

    A start may take longer than that, on a busy machine most of them do. So every other kill comes
    so long after an answer that was heard since the last one, and hits a curator that is at work.
    """
    monkeypatch.setattr("curator.owner.feeding._LEASED", 300.0)
    stated, token = configured(tmp_path)
    coins, fed, done = random.Random(30), 0, 0
    batch = tmp_path / "batch.csv"
    batch.write_text("patient,age\n1,50\n")
    with served(stated) as curator:
        analyst = Analyst(curator.connect(token, patience=600)["visits"])
        analyst.start()
        thread = threading.Thread(target=analyst.run)
        thread.start()
        while done < kills and not analyst.errors:
            heard, latest = len(analyst.heard), time.monotonic() + 120
            while done % 2 and len(analyst.heard) == heard and time.monotonic() < latest:
                time.sleep(0.01)
            time.sleep(coins.uniform(0.6, 2))
            whole = done % every == every - 1
            done += kill(curator, whole=whole) > 0
            if whole:
                curator.start()
                feed(stated, "visits", batch, identity=f"batch-{fed}")
                fed += 1
        analyst.ended.set()
        thread.join(600)
        assert not analyst.errors, analyst.errors[0]
        assert not thread.is_alive()

        handle = curator.connect(token)["visits"]
        answers = [each.answer for each in handle.view][analyst.first :]
        assert not any(isinstance(each, Failed) for each in answers)
        assert list(map(written_as, answers)) == analyst.heard
        assert len(analyst.heard) > len(CHILDREN) + 1
        assert handle.children[4](m.Total()) == fed
        assert curator.stop() == 0
    assert f"{fed} batches" in commands.status(str(stated))
    assert "failed" not in (told := commands.replay(str(stated), "visits")), told
    assert f"{fed} batches fed again" in told
    assert "visits: " in commands.check(str(stated))
