"""What is known of a class is forgotten with the class, whatever interrupts come."""

import gc
import sys
from typing import Any

import pytest

from queryable.checks import kinds
from queryable.checks.kinds import KINDS, kind_of_class


def interrupts(frame: Any, event: str, argument: Any) -> None:
    if frame.f_code.co_filename == kinds.__file__:
        raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_leaves_nothing_known_of_a_class_that_has_ended() -> None:
    """A class that comes at its number later would be walked over as the old one was."""

    class Ends: ...

    number, before = id(Ends), sys.gettrace()
    assert kind_of_class(Ends) is KINDS[number]
    del Ends
    try:
        sys.settrace(interrupts)
        gc.collect()
    finally:
        sys.settrace(before)
    assert number not in KINDS
