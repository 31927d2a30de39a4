"""Messages of several launches or questions, as texts: what became of each entry.

Responsible for telling which of them a skim need not fold. The texts are read as JSON, and no value
of the codec is made. What is not as it should be is left to folding, which says what is wrong.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from queryable.running.telling import Tells

LAUNCHED, FAILED, REFUSED = "launched/1", "failed/1", "refused/1"
OTHER = ""
_TOLD = {LAUNCHED: Tells.MEASURED, FAILED: Tells.EXCHANGE, REFUSED: Tells.REFUSED}
_RECEIPT = {"account", "charged", "d_in", "place"}
_NOT_PLAIN = ("ask", "ask-many", "launch-many", "can-afford", "measure-query", "privacy-loss-query")


def outcomes(query: str, answer: str, measures: Callable[[str], bool]) -> Sequence[Tells]:
    """For each launch of a `LaunchMany`, what it tells; () if the message is to be folded.

    Args:
        measures: whether a tag is that of measurements.
    """
    launches, answers = json.loads(query)["launches"], json.loads(answer)
    if type(answers) is not list or len(answers) != len(launches):
        return ()
    told = []
    for launch, given in zip(launches, answers, strict=True):
        tag = _tag_of(given)
        if tag not in _TOLD or "child" in given or _tag_of(launch) != "launch/1":
            return ()
        if tag != REFUSED and not measures(_tag_of(launch["mechanism"])):
            return ()
        told.append(_TOLD[tag])
    return told


def account_after(receipts: Sequence[dict[str, Any]], count: int) -> str:
    """The account after so many launches, as it stands in a body; "" if there are other receipts.

    Args:
        receipts: those of the message, in order.
    """
    if len(receipts) != count:
        return ""
    for place, receipt in enumerate(receipts):
        if receipt.keys() != _RECEIPT or receipt["place"] != place:
            return ""
    return json.dumps(receipts[-1]["account"])[1:-1]


def questions(query: str, answer: str) -> Sequence[str]:
    """The tags of the answers to the questions of an `AskMany`; () if the message is folded.

    Questions that go further down, and those that may be polls, are folded.
    """
    queries, answers = json.loads(query)["queries"], json.loads(answer)
    if type(answers) is not list or len(answers) != len(queries):
        return ()
    for each in queries:
        if _tag_of(each).rpartition("/")[0] in _NOT_PLAIN:
            return ()
    return [_tag_of(each) for each in answers]


def _tag_of(value: Any) -> str:
    """The tag of a value; `OTHER` for one that JSON has."""
    return str(value["@"]) if type(value) is dict else OTHER
