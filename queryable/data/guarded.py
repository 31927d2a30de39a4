"""Code that one cell or record may make fail: it fails for that one alone.

A cell may be of any class, whose methods may raise anything, also what is no `Exception`.
"""

from collections.abc import Callable
from typing import Any


def safely(read: Callable[[Any], Any], place: Any) -> Any:
    """Return what a function gives of a cell, a record or a place; None if it fails.

    It may call methods of the cell's own class, which may raise anything. Then only this cell has
    no value.
    """
    try:
        return read(place)
    except BaseException as error:
        pass_on(error)
        return None


def pass_on(error: BaseException) -> None:
    """Raise the error again if it is an interrupt, which is not caused by a cell."""
    if isinstance(error, KeyboardInterrupt | SystemExit | GeneratorExit):
        raise error
