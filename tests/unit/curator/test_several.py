"""What a skim takes from texts of several launches or questions, and what it leaves to folding."""

import json
from typing import Any

import pytest

from curator.several import FAILED, LAUNCHED, REFUSED, account_after, outcomes, questions
from queryable.running.telling import Tells


def text(tag: str, **fields: Any) -> dict[str, Any]:
    return {"@": tag, **fields}


def launches(*tags: str, **fields: Any) -> str:
    each = [text("launch/1", mechanism=text(tag), **fields) for tag in tags]
    return json.dumps(text("launch-many/1", launches=each))


NOISY, CHILD, ASK = "gaussian/1", "filt-con/1", "count/1"
TOLD = [text(LAUNCHED, answer=7), text(FAILED), text(REFUSED, reason="insufficient budget")]


def told(query: str, answer: Any) -> Any:
    return outcomes(query, json.dumps(answer), NOISY.__eq__)


def test_outcomes_of_launches() -> None:
    every = [Tells.MEASURED, Tells.EXCHANGE, Tells.REFUSED]
    assert told(launches(NOISY, NOISY, NOISY), TOLD) == every
    assert told(launches(NOISY, d_out=text("zcdp/1")), TOLD[:1]) == every[:1]
    assert told(launches(CHILD), TOLD[2:]) == every[2:]  # it did not run


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        (launches(NOISY), TOLD),
        (launches(NOISY), TOLD[0]),
        (launches(NOISY), [7]),
        (launches(NOISY), [text("halted/1")]),
        (launches(NOISY), [text(LAUNCHED, child=3)]),
        (launches(CHILD), TOLD[:1]),
        (launches(CHILD), TOLD[1:2]),
        (json.dumps(text("launch-many/1", launches=["bits"])), TOLD[2:]),
        (json.dumps(text("launch-many/1", launches=[text("launch/1", mechanism=7)])), TOLD[:1]),
    ],
)
def test_launches_that_are_folded(query: str, answer: Any) -> None:
    assert not told(query, answer)


def receipt(place: int, **fields: Any) -> dict[str, Any]:
    return {"account": f'"{place}"', "charged": "c", "d_in": 1, "place": place, **fields}


def test_the_account_after_launches() -> None:
    """It is the last one, spelled as a text within a text is."""
    assert account_after([receipt(0), receipt(1)], 2) == r"\"1\""
    assert not account_after([receipt(0), receipt(1)], 1)
    assert not account_after([receipt(0)], 2)
    assert not account_after([receipt(1), receipt(0)], 2)
    assert not account_after([receipt(0, mechanism="m")], 1)
    assert not account_after([{"ask": "a", "place": 0}], 1)


def asked(*queries: Any) -> str:
    return json.dumps(text("ask-many/1", queries=[*queries]))


def test_questions() -> None:
    answers = json.dumps([1, text("above/1")])
    assert questions(asked(text(ASK), "bits"), answers) == ["", "above/1"]
    assert not questions(asked(text(ASK)), "[1,2]")
    assert not questions(asked(text(ASK)), json.dumps(text(FAILED)))


@pytest.mark.parametrize("tag", ["ask", "can-afford", "measure-query", "privacy-loss-query"])
def test_questions_that_are_folded(tag: str) -> None:
    assert not questions(asked(text(ASK), text(f"{tag}/1")), "[1,2]")
