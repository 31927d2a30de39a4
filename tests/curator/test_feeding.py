"""`curator feed`, with real processes: batches of a data set that is served, and of another one.

The budget is so large that a counter tells the number of rows, so a batch that is lost or fed twice
is found.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import queryable
from composition import Blocks, FiltCon
from curator import commands
from curator.ledgers import LedgerError
from curator.owner import orders
from curator.owner.feeding import feed
from curator.owner.orders import OrderError
from mechanisms import Count, Gaussian, ToeplitzCounter, Total
from queryable import ZCDP, Last, QueryError, Update
from queryable.errors import HandleError
from queryable.streams.blocks import BlocksQuery
from tests.curator.feeding import DIE, STEPS, Dying
from tests.curator.serving import ROOT, STATED, growing, served, written

COUNT = Gaussian(Count(), rho="1000000")
COUNTER = ToeplitzCounter(Count(), rho="1000000", horizon=1000)


@pytest.fixture
def stated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # a killed curator's worker may end late
    monkeypatch.setattr("curator.owner.feeding._LEASED", 300.0)
    return growing(tmp_path / "served")


@pytest.fixture
def token(stated: Path) -> str:
    token = orders.add_analyst(stated, "ada")
    orders.grant(stated, "visits", "ada", zcdp="100000000")
    return token


def rows(folder: Path, count: int, name: str = "new.csv") -> Path:
    path = folder / name
    path.write_text("patient,age\n" + "1,50\n" * count)
    return path


def batches(stated: Path) -> str:
    (line,) = [each for each in commands.status(str(stated)).splitlines() if "visits: " in each][:1]
    return line


@pytest.mark.slow
@pytest.mark.parametrize("killed", [False, True])
def test_the_owner_feeds_while_an_analyst_asks(
    stated: Path, token: str, tmp_path: Path, *, killed: bool
) -> None:
    """One story, since each process takes a second to start. The second one kills the front too."""
    assert "first is batch 1" in feed(stated, "visits", rows(tmp_path, 3), identity="first")
    assert "1 batch;" in batches(stated)
    with served(stated, Dying) as curator:
        table = curator.connect(token)["visits"]
        counter = table(COUNTER)
        days = table(Blocks(FiltCon(ZCDP("10000000"))), name="days")
        assert table(COUNT) == 503
        before = list(map(str, table.view))

        # The analyst sees that time went on, and nothing else.
        assert feed(stated, "visits", rows(tmp_path, 4), "monday").endswith("2 in block monday")
        assert feed(stated, "visits", rows(tmp_path, 5), "monday").endswith("3 in block monday")
        assert "monday is closed" in feed(stated, "visits", close="monday")
        assert list(map(str, table.view)) == before
        assert (counter(Total()), table(COUNT)) == (9, 512)
        assert days.launch_over(COUNT, ["monday"]) == 9
        for attempt in (lambda: table.feed, lambda: table.ask(Update({"age": [1]}))):
            with pytest.raises((HandleError, QueryError)):
                attempt()

        # Cells that do not fit are missing, and the owner alone is told.
        odd = rows(tmp_path, 1)
        odd.write_text("patient,age\n1,old\n")
        assert "1 cells are no valid integer" in feed(stated, "visits", odd, "tuesday", "", "odd")
        assert "nothing has changed" in feed(stated, "visits", odd, "tuesday", "", "odd")
        assert "3 blocks" not in batches(stated)
        assert "4 batches in 2 blocks: monday (closed), tuesday" in batches(stated)
        assert counter(Total()) == 10

        # Wrong files change nothing, and leave no copy.
        for wrong in wrong_orders(tmp_path):
            files, events = sorted(stated.parent.glob("batches/*")), batches(stated)
            with pytest.raises((OrderError, QueryError, OSError), match=wrong.pop("match")):
                feed(stated, "visits", **wrong)
            assert (sorted(stated.parent.glob("batches/*")), batches(stated)) == (files, events)
        with pytest.raises(OrderError, match="add batches = "):
            feed(written(tmp_path / "other"), "calls", odd)

        # A worker is killed while a batch is on disk and nobody knows, and then the front, which
        # `test_serving.py` kills in the quick suite.
        (stated.parent / DIE).write_text("logged worker")
        assert "fed before" in feed(stated, "visits", rows(tmp_path, 6))
        assert not (stated.parent / DIE).exists()
        assert (counter(Total()), table(COUNT)) == (16, 519)
        if killed:
            curator.process.kill()
            curator.process.wait()
            feed(stated, "visits", rows(tmp_path, 7))
            curator.start()
            assert (counter(Total()), table(COUNT)) == (23, 526)
        assert days.launch_over(COUNT, Last(1)) == 9
        assert "Traceback" not in (curator.folder / "log").read_text()
    assert f"{5 + killed} batches fed again" in commands.replay(str(stated), "visits")
    folder = stated.parent / "batches"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {each.stat().st_mode & 0o777 for each in folder.iterdir()} == {0o600}
    (folder / "odd.csv").write_text("patient,age\n1,2\n")
    with pytest.raises(LedgerError, match=r"batch 4 is not .* put back .*odd.csv as it was fed"):
        feed(stated, "visits", close="tuesday")
    (folder / "odd.csv").unlink()
    with pytest.raises(LedgerError, match=r"batch 4 is missing: put it back .* as odd.csv"):
        feed(stated, "visits", close="tuesday")


def wrong_orders(folder: Path) -> Iterator[dict[str, Any]]:
    """What cannot be fed, each with what is said of it."""
    good = rows(folder, 1, "good.csv")
    for name, text, match in (
        ("less.csv", "patient\n1\n", "no column 'age'"),
        ("more.csv", "patient,age,x\n1,2,3\n", "a column 'x'"),
        ("broken.parquet", "PAR1 and so on", "cannot be read"),
        ("rows.txt", "1,2\n", "should end in"),
    ):
        (folder / name).write_text(text)
        yield {"source": folder / name, "block": "tuesday", "match": match}
    whole = pa.table({"patient": np.arange(9999), "age": np.arange(9999)})
    parquet.write_table(whole, folder / "page.parquet", compression="none")
    body = bytearray((folder / "page.parquet").read_bytes())
    body[4:600] = bytes(596)  # the first page; what the footer says is whole
    (folder / "page.parquet").write_bytes(body)
    yield {"source": folder / "page.parquet", "block": "tuesday", "match": "cannot be read"}
    yield {"source": folder / "none.csv", "match": "no file"}
    yield {"source": good, "block": "monday", "match": "is closed"}
    yield {"source": good, "identity": "odd", "match": "used for another file"}
    yield {"close": "tuesday", "identity": "odd", "match": "used for another batch or block"}
    yield {"close": "sunday", "match": "no open block"}
    yield {"source": good, "identity": "../x", "match": "the id is"}
    yield {"source": good, "close": "tuesday", "match": "give a file"}
    yield {"match": "give a file"}


@pytest.mark.slow  # the story above has a kill after the event is on disk
@pytest.mark.parametrize("who", ["worker", "both"])
def test_a_kill_at_each_step(stated: Path, token: str, tmp_path: Path, who: str) -> None:
    """Of the worker, or of worker and front: each batch is fed once, and an analyst asks."""
    with served(stated, Dying) as curator:
        counter, total = curator.connect(token)["visits"](COUNTER), 0
        for number, step in enumerate(STEPS, start=1):
            (stated.parent / DIE).write_text(f"{step} {who}")
            told = feed(stated, "visits", rows(tmp_path, number), "monday", identity=step)
            assert f"{step} is batch {number}" in told
            assert ("fed before" in told) is (step in ("logged", "moved", "answered"))
            assert not (stated.parent / DIE).exists(), step
            if curator.process.poll() is not None or who == "both":
                curator.process.wait()
                curator.start()
            total += number
            assert counter(Total()) == total
            told = feed(stated, "visits", rows(tmp_path, number), "monday", identity=step)
            assert "nothing has changed" in told
    assert f"{len(STEPS)} batches in 1 block" in batches(stated)
    assert f"{len(STEPS)} batches fed again" in commands.replay(str(stated), "visits")


@pytest.mark.slow
def test_a_command_that_is_killed_is_given_again(stated: Path, tmp_path: Path) -> None:
    """Without a curator that runs: the command opens the data set itself."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHON_DIE_IN": str(stated.parent)}
    for number, step in enumerate(STEPS, start=1):
        (stated.parent / DIE).write_text(f"{step} command")
        path = rows(tmp_path, number)
        command = [sys.executable, "-c", Dying.program, "feed", str(stated), "visits", str(path)]
        killed, again = (
            subprocess.run(
                [*command, "--id", step], capture_output=True, text=True, env=environment,
                check=False,
            )
            for _ in range(2)
        )  # fmt: skip
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert f"{step} is batch {number}" in again.stdout, again.stderr
        assert ("fed before" in again.stdout) is (step in ("logged", "moved", "answered"))
    assert f"{len(STEPS)} batches;" in batches(stated)


@pytest.mark.slow
def test_the_year_of_notebook_8_through_a_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cells, where the owner feeds files each evening, and all others are the analyst's."""
    monkeypatch.setenv("MPLBACKEND", "Agg")
    text = STATED.replace("visits.csv", "visits.parquet").replace("1/10", "1/4")
    text = text.replace('types = { patient = "integer", age = "integer" }', 'batches = "days"')
    stated = written(tmp_path / "served", text)
    token = orders.add_analyst(stated, "ada")
    whole = nbformat.read(ROOT / "notebooks" / "8_a_year_of_visits.ipynb", as_version=4).cells
    first, *cells = [cell.source for cell in whole if cell.cell_type == "code"]
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(first, names)
    arrivals, days = [pa.table(each) for each in names["arrivals"]], names["days"]
    parquet.write_table(arrivals[0].slice(0, 0), stated.parent / "visits.parquet")
    orders.grant(stated, "visits", "ada", zcdp="1/5")

    def evening(number: int) -> None:
        path = tmp_path / "day.parquet"
        parquet.write_table(arrivals[number], path)
        feed(stated, "visits", path, block=days[number])
        feed(stated, "visits", close=days[number])

    with served(stated) as curator:
        for source in cells:
            if "visits = Queryable(" in source:
                names |= {"visits": curator.connect(token)["visits"], "empty": {"day": []}}
                names |= {name: getattr(queryable, name) for name in ("ZCDP", "Queryable")}
                names["FiltCon"] = FiltCon
            elif "def evening(" in source:
                names["evening"] = evening
            else:
                exec(compile(source, "notebook 8", "exec"), names)
        assert [each.block for each in names["by_day"].ask(BlocksQuery())] == days
    assert names["said"][-1] is True
    assert len(names["said"]) > 200
    assert names["inside"] > 0.5
    assert "365 batches in 365 blocks" in batches(stated)
    assert "365 batches fed again" in commands.replay(str(stated), "visits")
