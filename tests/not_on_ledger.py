"""Tests that cannot run on a ledger, each with its reason; see `tests/on_ledger.py`.

A name without parameters stands for all of them. Every test that is named here has to fail there.
"""

from collections.abc import Iterator

UNIT, LAWS = "tests/unit/queryable", "tests/laws"

_COINS = "gives coins of its own, which no ledger takes"
_SEED = "expects the noise of a seed: the coins of a ledger depend on all that was asked before"
_AGAIN = "what it runs does something else the second time: it counts, asks a handle, or is closed"
_KEEPS = "counts what is kept in memory, where the comparison keeps every root"
COSTS = "counts calls and bytes of a queryable in memory"
"""Such a test may pass too: what is allocated depends on what ran before."""
_OPAQUE = "its data cannot be recognised after a restart"
_CODEC = "the query is refused by the codec, before the mechanism refuses it in other words"
_FILES = "the ledger refuses the path, whose contents it cannot recognise, in other words"
_CHANGES = "changes what it has launched, and the text of that stands for what it is now"
_COMPARED = "counts comparisons, and an object of a test is compared to find its text"
_LINE = "expects the line of the test that warns"

_LABELS = (
    *("NUL", "text 1e-400", "text 1e401", "text 1/0", "text nan", "text -1"),
    *("text of digits", "long text", "text 1/2", "other digits", "None", "np.str_", "statistic"),
    *("dict in itself", "list of None", "dict of None", "lying list"),
)


COLLECTED = "a_launch_leaves_little_to_the_collector"


def _listed() -> Iterator[tuple[str, str]]:
    handle = f"{UNIT}/test_handle.py::test_"
    yield f"{handle}the_data_are_read_only_and_shared", _AGAIN
    for use in range(2):
        yield f"{handle}every_use_from_inside_is_reentrant[<lambda>{use}]", _AGAIN
    yield f"{handle}another_queryable_may_be_used_inside", _AGAIN
    case = r"Gaussian-write Gaussian\\(\\.\\.\\), with its arguments"
    yield f"{handle}what_cannot_be_launched_is_corrected[{case}]", _CODEC
    several = f"{UNIT}/verbs/test_several.py::test_"
    yield f"{several}a_person_may_send_several_itself", _SEED
    yield f"{several}persons_that_refine_pass_launches_on_and_answer_one_by_one", _SEED
    yield f"{several}several_statistics_are_released_like_each_alone", _SEED
    yield f"{several}several_statistics_of_blocks_are_released_like_each_alone", _SEED
    fit = f"{UNIT}/checks/test_fit.py::test_"
    yield f"{fit}a_statistic_that_does_not_fit_is_an_error_and_not_charged", _AGAIN
    yield f"{fit}an_error_of_the_description_is_left_to_the_launch", _OPAQUE
    yield f"{fit}a_class_of_an_analysts_own_may_end", _KEEPS
    yield f"{fit}what_can_change_is_looked_through_again", _CHANGES
    data = f"{UNIT}/checks/test_datasets.py::test_"
    yield f"{data}a_bare_frame_is_warned_about", _LINE
    yield f"{data}a_second_queryable_over_the_same_data_is_warned_about", _KEEPS
    yield f"{data}a_missing_file_is_named", _FILES
    running = f"{UNIT}/running/test_"
    yield f"{running}handles.py::test_dropping_the_last_handle_frees_the_data", _KEEPS
    yield f"{running}handles.py::test_a_child_keeps_its_tree", _KEEPS
    yield f"{running}log.py::test_{COLLECTED}", COSTS
    yield f"{running}sameness.py::test_a_named_launch_from_inside_a_query_is_refused", _AGAIN
    yield f"{running}sameness.py::test_no_comparison_of_the_user_runs", _COMPARED
    history = f"{UNIT}/display/test_history.py::test_"
    yield f"{history}an_inconsistent_privacy_map_is_shown_as_charged", _AGAIN
    tree = f"{LAWS}/test_state_machine.py::"
    yield f"{tree}TestNestedTree::runTest", _SEED  # tests/curator/test_state_machine.py has its own
    yield f"{tree}test_the_bits_of_a_leaf_are_those_of_its_path", _SEED
    hostile = f"{LAWS}/test_hostile_values.py::test_"
    yield f"{hostile}some_values_in_every_argument", _COINS
    for label in _LABELS:
        yield f"{hostile}a_live_tree_answers_as_if_it_had_not_been_asked[{label}]", _SEED
    cost = f"{LAWS}/test_cost.py::test_"
    yield f"{cost}what_everybody_pays_for_takes_few_calls", COSTS
    yield f"{cost}calls_of_a_launch_grow_with_the_blocks_that_it_names_only", COSTS
    yield f"{cost}calls_do_not_grow_with_the_children", COSTS
    yield f"{cost}an_ask_allocates_a_log_entry_and_no_more", COSTS


REASONS = dict(_listed())
"""By the name of a test."""


def reasons_on(ledger: str) -> dict[str, str]:
    """The reasons by name, for one kind of ledger.

    A ledger in memory keeps objects for the collector, one on disk does not.
    """
    return {name: REASONS[name] for name in REASONS if ledger == "memory" or COLLECTED not in name}
