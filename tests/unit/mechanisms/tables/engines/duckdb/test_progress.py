"""Progress: a bar for the owner, which is off by default and never fails a question."""

import os
import signal
import sys
import threading
from fractions import Fraction
from pathlib import Path
from threading import Event, Thread, Timer, main_thread
from typing import Any, Self

import duckdb
import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

from mechanisms import Count, Table
from mechanisms.tables.engines.duckdb import progress
from mechanisms.tables.engines.duckdb.progress import bar_of
from mechanisms.tables.engines.sql.statements import Plan

ROOT = Path(__file__).parents[6]
ENDLESS = Plan("SELECT sum(hash(a.range, b.range)) FROM range(10000000) a, range(10000000) b", ())


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bar appears as soon as a question begins."""
    monkeypatch.setattr(progress, "_DELAY", 0)
    monkeypatch.setattr(progress, "_EVERY", 0.01)


def watched(engine: Any) -> tuple[list[float], Event]:
    """What DuckDB says its progress is, and an event when its statement has got on five times."""
    found: list[float] = []
    enough = Event()
    query_progress = engine._progress

    def looked() -> float:
        found.append(query_progress())
        if sum(each > 0 for each in found) >= 5:
            enough.set()
        return found[-1]

    engine._progress = looked
    return found, enough


@pytest.mark.usefixtures("_at_once")
def test_a_long_question_has_a_bar_with_the_progress_of_duckdb(
    capsys: pytest.CaptureFixture[str],
) -> None:
    table = Table({"age": np.arange(100)}, progress=True, timeout=60, threads=1)
    engine: Any = table._engine
    found, enough = watched(engine)
    stop = Thread(target=lambda: enough.wait(60) and engine._connection.interrupt())
    stop.start()
    with pytest.raises(duckdb.InterruptException):
        engine.run(ENDLESS)
    stop.join()
    assert max(found) >= 0
    assert all(each <= 100 for each in found)
    assert "reading rows" in capsys.readouterr().err
    assert Count()(table) == 100


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("options", [{}, {"progress": False}])
def test_no_bar_by_default(capsys: pytest.CaptureFixture[str], options: dict[str, bool]) -> None:
    table = Table({"age": np.arange(100)}, timeout=Fraction(1, 5), **options)
    engine: Any = table._engine
    with pytest.raises(TimeoutError):
        engine.run(ENDLESS)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")
    settings = engine.fetch("SELECT current_setting('enable_progress_bar')")
    assert settings == [(False,)]


def test_a_short_question_has_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with bar_of(lambda: 50.0):
        pass
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("_at_once")
def test_an_interrupt_stops_the_bar() -> None:
    engine: Any = Table({"age": np.arange(100)}, progress=True, timeout=60, threads=1)._engine
    main = main_thread().ident
    assert main is not None
    before = set(threading.enumerate())
    _, enough = watched(engine)
    timer = Timer(0, lambda: enough.wait(60) and signal.pthread_kill(main, signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.run(ENDLESS)
    timer.join()
    drawing = [it for it in set(threading.enumerate()) - before if "_draw" in it.name]
    assert not drawing
    assert engine.run(Plan("SELECT 7", ())) == [(7,)]


@pytest.mark.usefixtures("_at_once")
@pytest.mark.parametrize("fails", ["progress", "tqdm", "thread"])
def test_an_error_of_the_bar_fails_no_question(
    fails: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Event()

    def broken(*given: Any, **named: Any) -> Any:
        looked.set()
        raise RuntimeError("the bar is broken")

    engine: Any = Table({"age": np.arange(100)}, progress=True)._engine
    match fails:
        case "progress":
            engine._progress = broken
        case "tqdm":
            monkeypatch.setattr("tqdm.auto.tqdm", broken)
        case "thread":
            monkeypatch.setattr(Thread, "start", broken)
    with engine._reading():
        assert looked.wait(60)
    assert engine.run(Plan("SELECT 7", ())) == [(7,)]
    assert "broken" not in capsys.readouterr().err


@pytest.mark.usefixtures("_at_once")
def test_a_bar_follows_the_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays while the progress is unknown, and begins anew with the next statement."""
    done, shown = Event(), []
    values = iter([-1.0, 40.0, -1.0, 100.5, 3.0])

    class Bar:
        n: float = 0

        def __init__(self, **named: Any) -> None:
            assert named["total"] == 100

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *raised: object) -> None:
            shown.append(("closed", self.n))

        def refresh(self) -> None:
            shown.append(("at", self.n))

    def looked() -> float:
        if (found := next(values, None)) is None:
            done.set()
            return -1
        return found

    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    with bar_of(looked):
        assert done.wait(60)
    assert [n for _, n in shown[:5]] == [0, 40, 40, 100, 3]
    assert shown[-1] == ("closed", 100)


def test_a_question_does_not_wait_for_a_bar_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DELAY", 0)
    monkeypatch.setattr(progress, "_LAST", 0.01)
    drawn, end = Event(), Event()
    monkeypatch.setattr("tqdm.auto.tqdm", lambda **named: (drawn.set(), end.wait(60)))
    with bar_of(lambda: 1.0):
        assert drawn.wait(60)
    end.set()


def test_what_is_missing_is_named_at_opening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="install tqdm"):
        Table({"age": [1]}, progress=True)
    assert Count()(Table({"age": [1]})) == 1


CELLS = [
    """
from mechanisms import Count, Table
print(Count()(Table({"age": [1, 2]})))
""",
    """
import duckdb
from mechanisms.tables.engines.duckdb import progress
from mechanisms.tables.engines.sql.statements import Plan
progress._DELAY = 0
engine = Table({"age": [1, 2]}, progress=True)._engine
look = engine._progress
def looked():
    seen = look()
    if seen >= 0:
        engine._connection.interrupt()
    return seen
engine._progress = looked
try:
    engine.run(Plan(ENDLESS, ()))
except duckdb.InterruptException:
    print("counted")
""".replace("ENDLESS", repr(ENDLESS.statement)),
]


@pytest.mark.slow
def test_a_notebook_has_a_bar_or_is_told_what_to_install(tmp_path: Path) -> None:
    """In a real kernel. Without ipywidgets DuckDB refuses to count progress there."""
    notebook = nbformat.v4.new_notebook(cells=[*map(nbformat.v4.new_code_cell, CELLS)])
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        allow_errors=True,
        timeout=300,
        extra_arguments=["--log-level=ERROR"],  # else it warns about local TCP
    )
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    client.execute(env={**os.environ, "PYTHONPATH": path, "IPYTHONDIR": str(tmp_path)})
    first, second = (cell.outputs for cell in notebook.cells)
    assert [it.text for it in first] == ["2\n"]
    if second[-1].output_type == "error":
        assert second[-1].ename == "ImportError"
        assert "install ipywidgets" in second[-1].evalue
    else:
        assert second[-1].text == "counted\n"
        assert any(
            "application/vnd.jupyter.widget-view+json" in it.get("data", {}) for it in second
        )
