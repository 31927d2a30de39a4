"""Tests that cannot run behind a socket, each with its reason; see `tests/on_socket.py`.

What cannot run on a ledger cannot run behind a socket either. A name without parameters stands for
all of them. Every test that is named here has to fail there.
"""

from collections.abc import Iterator

from tests.not_on_ledger import LAWS, UNIT
from tests.not_on_ledger import REASONS as ON_LEDGER

_INTERRUPT = "an interrupt in the mechanism ends the worker, and does not reach the analyst"
WAITS = "what runs in the curator asks the client's handle, which waits for the curator"
_INSIDES = "looks into a root in memory"
_RUNS = "compares the mechanism that the receipt has, in the analyst's process"
_ANOTHER, _EVERY = "another_queryable_may_be_used_inside", "every_use_from_inside_is_reentrant"

_REFUSED = ("surrogate", "text of digits", "long text", "lying list")
"""What the client refuses, so that the curator never hears of it, and its noise stays the same."""
TREE = f"{LAWS}/test_hostile_values.py::test_a_live_tree_answers_as_if_it_had_not_been_asked"


def _listed() -> Iterator[tuple[str, str]]:
    handle = f"{UNIT}/test_handle.py::test_"
    other = tuple(f"{handle}{name}" for name in ("the_data_are_read_only", _ANOTHER, _EVERY))
    refused = {f"{TREE}[{label}]" for label in _REFUSED}
    for name, why in ON_LEDGER.items():
        if not (name.startswith(other) or name in refused):
            yield name, why
    for interrupt in ("KeyboardInterrupt", "SystemExit"):
        for case in ("True-True", "True-False", "False-True", "False-False"):
            yield f"{handle}a_fault_is_charged_contained_and_silent[{interrupt}-{case}]", _INTERRUPT
    yield f"{handle}a_reentrant_statistic_is_a_fault", WAITS
    yield f"{handle}{_EVERY}", WAITS
    yield f"{handle}the_curator_may_ask", WAITS
    running = f"{UNIT}/running/test_"
    yield f"{running}log.py::test_packed_launches_are_read_back", _INSIDES
    again = "test_a_failed_launch_fails_again_and_is_charged_once[interrupted]"
    yield f"{running}sameness.py::{again}", _INTERRUPT
    yield f"{running}sameness.py::test_a_named_launch_from_inside_a_query_is_refused", WAITS
    yield f"{running}sameness.py::test_no_comparison_of_the_user_runs", _RUNS


REASONS = dict(_listed())
"""By the name of a test."""
