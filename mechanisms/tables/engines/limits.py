"""The time that an engine may take for one question.

A timeout is a guard for the owner's machine. Whether it strikes depends on the data.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from threading import TIMEOUT_MAX, Event, Lock, Thread
from typing import Any

from queryable.losses.numbers import positive, shown

_AGAIN = 0.1
"""An engine that has not begun with a statement when it is interrupted may forget it."""


def seconds(value: Any) -> Fraction:
    """Read a timeout.

    Raises:
        TypeError, ValueError: it is no number above zero, or is longer than a timer can wait.
    """
    given = positive(value, "timeout")
    if not given <= TIMEOUT_MAX:
        raise ValueError(f"timeout is {shown(given)} seconds; it should be at most {TIMEOUT_MAX:g}")
    return given


@contextmanager
def limited(timeout: Fraction | None, interrupt: Callable[[], object]) -> Iterator[None]:
    """Call `interrupt`, from another thread, if the block is still running after the timeout.

    Args:
        timeout: in seconds; None for no limit.
        interrupt: makes the block raise an exception. It is called again while the block runs on,
            and never after it.

    Raises:
        TimeoutError: the block raised after it was interrupted. An interrupt by the user, which
            reaches Python in another way, is not replaced.
    """
    if timeout is None:
        yield
        return
    lock, over, struck = Lock(), Event(), False

    def strike() -> None:
        nonlocal struck
        wait = float(timeout)
        while not over.wait(wait):
            with lock:
                if not over.is_set():
                    struck = True
                    interrupt()
            wait = _AGAIN

    try:
        Thread(target=strike, daemon=True).start()
        yield
    except Exception as error:
        if struck and str(error).strip() != "Query interrupted":
            raise TimeoutError(f"it took longer than timeout={shown(timeout)} seconds") from None
        raise
    finally:
        with lock:
            over.set()
