"""A bar that shows how much of a question DuckDB has read, for the owner of the data.

The time of a question depends on the data, so an analyst must not see the bar.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any

_DELAY = 1.0
"""Seconds until a question has a bar."""
_EVERY = 0.1
"""Seconds between two looks at the progress."""
_LAST = 1.0
"""Seconds that a question waits at most until its bar is removed."""
_FORMAT = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}"


def count_progress(connection: Any, *, wanted: bool) -> None:
    """Make a connection count its progress, or not. It never prints a bar of its own.

    Raises:
        TypeError: `wanted` is not a truth value.
        ImportError: a package that a bar needs is missing.
    """
    import duckdb

    if not isinstance(wanted, bool):
        raise TypeError("progress should be True or False")
    if wanted:
        try:
            connection.execute("SET enable_progress_bar_print = false")
            connection.execute("SET enable_progress_bar = true")
        except duckdb.InvalidInputException as error:
            if "ipywidgets" not in str(error):
                raise
            raise ImportError(
                "install ipywidgets: DuckDB counts progress in a notebook only with it"
            ) from None
        try:
            import tqdm.auto  # noqa: F401
        except ImportError:
            raise ImportError("install tqdm: progress=True shows a bar of it") from None
        return
    # In Jupyter without ipywidgets the bar is off, and DuckDB 2.0 refuses to set it.
    bar = connection.execute("SELECT current_setting('enable_progress_bar')")
    if bar.fetchall() != [(False,)]:
        connection.execute("SET enable_progress_bar = false")


@contextmanager
def bar_of(progress: Callable[[], float] | None) -> Iterator[None]:
    """Show a bar, drawn by another thread, while the block runs. It raises nothing of its own.

    Args:
        progress: returns the percentage of the running statement, or a negative number if there is
            none; None for no bar.
    """
    if progress is None:
        yield
        return
    over = Event()
    thread = Thread(target=_draw, args=(progress, over), daemon=True)
    try:
        with suppress(RuntimeError):  # the system starts no further thread
            thread.start()
        yield
    finally:
        over.set()
        with suppress(RuntimeError):  # it was not started
            thread.join(_LAST)


def _draw(progress: Callable[[], float], over: Event) -> None:
    if over.wait(_DELAY):
        return
    with suppress(Exception):
        from tqdm.auto import tqdm

        with tqdm(total=100, desc="reading rows", leave=False, bar_format=_FORMAT) as bar:
            while not over.wait(_EVERY):
                if (found := progress()) >= 0:
                    bar.n = min(found, 100)
                bar.refresh()
            bar.n = 100  # in a notebook a bar that did not reach its end would stay
