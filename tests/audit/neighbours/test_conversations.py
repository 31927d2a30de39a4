"""Every conversation and every mechanism takes the same steps on neighbours.

Also where something fails or is refused. No change is above its claim.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from queryable import InteractiveError, Queryable, SeededCoins, Update
from queryable.audit import NeighbourReport, keep_batches, on_neighbours
from queryable.messages import CloseBlock
from tests.laws.conversing import CONVERSATIONS, Conversation
from tests.laws.subjects import SUBJECTS, Subject


def held(mechanism: Any, rows: Any, script: Sequence[Any]) -> NeighbourReport:
    """What is found in an analysis that asks a list of queries."""
    root = Queryable(mechanism, rows, coins=SeededCoins(3), allow_seeded=True)
    keep_batches(root)
    for query in script:
        with suppress(InteractiveError):
            if isinstance(query, Update):
                root.feed(query.records, query.block)
            elif isinstance(query, CloseBlock):
                root.feed.close(query.block)
            else:
                root.ask(query)
    return on_neighbours(root, 8)


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=str)
def test_steps_depend_on_answers_alone(conversation: Conversation) -> None:
    report = held(conversation.mechanism, conversation.rows, conversation.script)
    assert report.holds, report
    assert report.steps >= 8 * report.messages  # none was left at a different step


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_no_mechanism_is_beyond_its_claim(subject: Subject) -> None:
    rows: Any = np.arange(20)
    if "of users" in subject.name:
        rows = {"who": rows}
    report = held(subject.mechanism, rows, subject.script)
    assert report.holds, report
    assert report.steps >= 8 * report.messages
