"""Random use of a nested tree on a ledger, with restarts, compared with a model and with memory."""

import pytest
from hypothesis import settings
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from queryable import Queryable
from tests.laws.test_state_machine import DATA, NestedTree
from tests.on_ledger import Opened, compare, opened
from tests.stored import MemoryLedger


class TreeOnLedger(NestedTree):
    """The tree of `tests/laws`, whose process may end between any two messages."""

    def opened(self) -> Queryable:
        """Open the root on a ledger."""
        self.ledger = MemoryLedger()
        return opened(self.ledger, self.root, DATA, self.faults.append)

    @rule()
    def restart(self) -> None:
        """Go on with a new handle. All that the analyst holds is at its place in it."""
        handle = opened(self.ledger, self.root, DATA, self.faults.append)
        for each in (*self.tree, *self.placed):
            path, each.handle = each.handle._path, handle
            for child in path:
                each.handle = each.handle.children[child]

    @invariant()
    def refused_launches_never_ran(self) -> None:
        """What was admitted runs and fails again, where it is below a person that is asked."""
        assert "refused" not in self.runs
        assert len(self.runs) >= self.expected_runs
        assert len(self.faults) >= self.expected_faults

    def teardown(self) -> None:
        """The view is that of the ledger, and that of memory with the same coins."""
        if self.tree:
            compare(Opened(self.tree[0].handle, self.ledger, self.root, DATA, []))


@pytest.mark.parametrize(
    ("examples", "steps"), [(6, 30), pytest.param(1000, 50, marks=pytest.mark.long)]
)
def test_a_nested_tree_on_a_ledger(examples: int, steps: int) -> None:
    chosen = settings(max_examples=examples, stateful_step_count=steps)
    run_state_machine_as_test(TreeOnLedger, settings=chosen)
