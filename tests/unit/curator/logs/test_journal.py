"""The journal writes a query's text once, and after an interrupt the log can be opened."""

import gc
import sys
from fractions import Fraction
from types import FrameType
from typing import Any

import pytest

import curator
from composition import FiltCon
from curator.codec import CODEC, CodecError
from curator.logs.query_text import Written
from mechanisms import Count, Gaussian, column
from queryable import ZCDP, Launch, Queryable
from queryable.errors import HandleError
from tests.stored import KEY, MemoryLedger
from tests.strategies import RandomWord

pytestmark = pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")

LAUNCH = Launch(Gaussian(Count(column("age") >= 65), rho="1/50"))
PATH = (0, "by name")


class Counting:
    """A codec that counts how often a query is written."""

    def __init__(self) -> None:
        self.limits, self.queries = CODEC.limits, 0

    def encode(self, value: Any) -> bytes:
        self.queries += type(value) is not tuple
        return CODEC.encode(value)


def test_a_query_is_written_once() -> None:
    codec = Counting()
    written = Written(codec)  # type: ignore[arg-type]
    assert written.canonical((PATH, LAUNCH)) == CODEC.encode((PATH, LAUNCH))
    assert written.query(LAUNCH).encode() == CODEC.encode(LAUNCH)
    assert codec.queries == 1


def test_a_query_that_was_sent_as_a_text_is_not_written() -> None:
    codec = Counting()
    written = Written(codec)  # type: ignore[arg-type]
    query, text = CODEC.read(CODEC.encode(LAUNCH))
    written.send(query, text)
    assert written.canonical((PATH, query)) == CODEC.encode((PATH, LAUNCH))
    assert written.query(query).encode() == CODEC.encode(LAUNCH)
    assert codec.queries == 0
    written.send(None, None)
    written.canonical((PATH, query))
    assert codec.queries == 1


def test_a_query_that_has_changed_has_its_new_text() -> None:
    """A list can be changed between two messages."""
    written, query = Written(CODEC), [1, 2]
    first = written.canonical(((), query))
    query.append(3)
    assert written.canonical(((), query)) == CODEC.encode(((), query)) != first
    assert written.query(query).encode() == CODEC.encode(query)


@pytest.mark.parametrize("answer", [None, False, 3, (False, 2), ((0,), 2), ((0,), (1, 2))])
def test_answers_are_written_as_by_the_codec(answer: Any) -> None:
    """An answer to several questions may look like a path and a query."""
    written = Written(CODEC)
    written.canonical((PATH, LAUNCH))
    assert written.canonical(answer) == CODEC.encode(answer)
    assert written.query(LAUNCH).encode() == CODEC.encode(LAUNCH)


def test_what_cannot_be_written_is_refused_as_by_the_codec() -> None:
    """Something without a tag, and a query that is nested as deep as a text may be."""
    nested: Any = 1
    for _ in range(CODEC.limits.depth):
        nested = (nested,)
    CODEC.encode(nested)
    for query in (Launch(RandomWord()), nested):
        for write in (CODEC.encode, Written(CODEC).canonical):
            with pytest.raises(CodecError):
                write((PATH, query))


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
    """Whether a launch was interrupted before the n-th instruction; there may be fewer.

    Garbage is not collected meanwhile: Python drops what is raised in a finalizer.
    """
    before = sys.gettrace()
    gc.disable()
    sys.settrace(Interrupting(nth))
    try:
        table.launch(NOISY)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
        gc.enable()
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
