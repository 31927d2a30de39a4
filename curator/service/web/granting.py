"""A grant, step by step: the message that launches the filter, and what its reply means.

Responsible for the order: first the filter is launched under the name of the grant, then the grant
is stored. If the process ends between the two, the same grant is given again: a launch under a name
that was used returns the old answer, so nothing is charged twice.
"""

import json
from typing import Any

from curator.access import Access, AccessChangeError, Granted
from curator.wire import ANSWER, QUERY_ERROR, MessageReply, Tell
from queryable.randomness.entropy import random_bytes


def granting_message(access: Access, analyst: str, dataset: str, mechanism: str) -> Tell:
    """The message to the root of a data set that launches the filter of a grant.

    Args:
        mechanism: the filter, as a text of the codec.

    Raises:
        AccessChangeError: there is no such analyst.
    """
    name = access.grant_name(analyst, dataset)
    query = f'{{"@":"launch/1","mechanism":{mechanism}}}'
    return Tell((), query, (name,), random_bytes(16).hex())


def grant_of(analyst: str, dataset: str, mechanism: str, sent: Tell, reply: bytes) -> Granted:
    """The grant that a reply means.

    Raises:
        AccessChangeError: the filter was not launched.
    """
    outcome = MessageReply.read(reply).outcome
    (name,) = sent.names
    if outcome.kind == QUERY_ERROR:
        raise AccessChangeError(
            f"{dataset} has not granted this: {outcome.text}. If a grant {name!r} was interrupted, "
            "give it again with the same budget first"
        )
    answer: Any = {} if outcome.answer is None else json.loads(outcome.answer)
    if outcome.kind != ANSWER or type(answer.get("child")) is not int:
        raise AccessChangeError(
            f"{dataset} has not granted this: launching the filter was {outcome.kind}; `curator "
            "status` says what is spent, and the budget has to have room for the whole grant"
        )
    assert name is not None
    return Granted(analyst, dataset, answer["child"], name, mechanism)
