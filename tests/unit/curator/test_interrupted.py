"""Interrupts between any two instructions of the journal: the log can be opened afterwards."""

import sys
from fractions import Fraction
from types import FrameType
from typing import Any

import pytest

import curator
from composition import FiltCon
from mechanisms import Count, Gaussian
from queryable import ZCDP, Queryable
from queryable.errors import HandleError
from tests.stored import KEY, MemoryLedger

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

NOISY = Gaussian(Count(), rho="1/50")


class Interrupting:
    """Raises an interrupt before the n-th instruction of two functions of the journal."""

    def __init__(self, nth: int) -> None:
        self.left = nth

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if not code.co_filename.endswith("journal.py") or code.co_name not in {"append", "intend"}:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return self._step

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.left -= event == "opcode"
        if not self.left:
            sys.settrace(None)
            raise KeyboardInterrupt
        return self._step


def opened(ledger: MemoryLedger) -> Queryable:
    return curator.open(ledger, FiltCon(ZCDP(1)), {"age": [31, 47]}, name="visits", key=KEY)


def interrupted(table: Queryable, nth: int) -> bool:
    """Whether a launch was interrupted before the n-th instruction; there may be fewer."""
    before = sys.gettrace()
    sys.settrace(Interrupting(nth))
    try:
        table.launch(NOISY)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_a_root_can_be_opened_after_any_interrupt() -> None:
    """The next message is either refused until then, or is stored in its place."""
    nth, refused = 1, 0
    while True:
        ledger = MemoryLedger()
        table = opened(ledger)
        if not interrupted(table, nth):
            break
        try:
            table.launch(NOISY)
        except HandleError:
            refused += 1
        again = opened(ledger)
        again.launch(NOISY)
        launches = len(again.view)
        assert again.privacy_loss() == ZCDP(Fraction(launches, 50))
        nth += 1
    assert 0 < refused < nth - 1
