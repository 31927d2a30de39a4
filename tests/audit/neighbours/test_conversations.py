"""Every kind of conversation takes the same steps on neighbours, also with failures and refusals."""

from contextlib import suppress

import pytest

from queryable import InteractiveError, Queryable, SeededCoins, Update
from queryable.audit import keep_batches, on_neighbours
from queryable.messages import CloseBlock
from tests.laws.conversing import CONVERSATIONS, Conversation


@pytest.mark.parametrize("conversation", CONVERSATIONS, ids=str)
def test_steps_depend_on_answers_alone(conversation: Conversation) -> None:
    root = Queryable(
        conversation.mechanism, conversation.rows, coins=SeededCoins(3), allow_seeded=True
    )
    keep_batches(root)
    for query in conversation.script:
        with suppress(InteractiveError):
            if isinstance(query, Update):
                root.feed(query.records, query.block)
            elif isinstance(query, CloseBlock):
                root.feed.close(query.block)
            else:
                root.ask(query)
    report = on_neighbours(root, 8)
    assert report.holds, report
    assert report.steps >= 8 * report.messages  # none was left at a different step
