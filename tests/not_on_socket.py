"""Tests that cannot run behind a socket, each with its reason; see `tests/on_socket.py`.

What cannot run on a ledger cannot run behind a socket either. A name without parameters stands for
all of them. Every test that is named here has to fail there.
"""

from collections.abc import Iterator

from tests.not_on_ledger import LAWS, UNIT
from tests.not_on_ledger import REASONS as ON_LEDGER

_INTERRUPT = "an interrupt in the mechanism ends the worker, and does not reach the analyst"
WAITS = "what runs in the curator asks the client's handle, which waits for the curator"
_PIECES = "counts calls for a log in memory, where a client reads the view in more pieces"
_INSIDES = "looks into a root in memory"
_FEEDS = "feeds records, which only the owner's handle does, in the process of the root"
_RUNS = "compares the mechanism that the receipt has, in the analyst's process"
_ANOTHER, _EVERY = "another_queryable_may_be_used_inside", "every_use_from_inside_is_reentrant"

_REFUSED = ("text of digits", "long text", "lying list")
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
    log = f"{running}log.py::test_"
    yield f"{log}packed_launches_are_read_back", _INSIDES
    yield f"{log}packed_children_are_shown_as_they_were", _INSIDES
    yield f"{log}a_report_is_not_told_again_past_a_journal", _INSIDES
    yield f"{log}a_report_that_is_told_again_is_a_message_like_another", _FEEDS
    explanation = f"{UNIT}/display/test_explanation.py::test_what_is_launched_is_explained_for_what"
    yield f"{explanation}_it_was_charged_for", _FEEDS
    yield f"{UNIT}/display/test_history.py::test_calls_do_not_grow_with_the_launches", _PIECES
    several = f"{UNIT}/verbs/test_several.py::test_several_statistics_of_blocks_are_released"
    yield f"{several}_like_each_alone", _FEEDS
    releasing = f"{UNIT}/verbs/test_releasing.py::test_"
    yield f"{releasing}blocks_have_less_left_than_the_one_that_has_least", _FEEDS
    yield f"{releasing}what_fits_in_blocks_fits_in_each", _FEEDS
    yield f"{releasing}nothing_is_said_to_fit_where_a_person_would_refuse_it", _FEEDS
    yield f"{UNIT}/display/test_text.py::test_blocks_are_shown_in_one_measure", _FEEDS
    checks = f"{UNIT}/checks/test_"
    yield f"{checks}datasets.py::test_a_missing_file_is_named", _FEEDS
    yield f"{checks}fit.py::test_a_column_of_units_that_is_not_there_is_not_charged", _FEEDS
    again = "test_a_failed_launch_fails_again_and_is_charged_once[interrupted]"
    yield f"{running}sameness.py::{again}", _INTERRUPT
    yield f"{running}sameness.py::test_a_named_launch_from_inside_a_query_is_refused", WAITS
    yield f"{running}sameness.py::test_no_comparison_of_the_user_runs", _RUNS


REASONS = dict(_listed())
"""By the name of a test."""
