"""Messages and replies are written and read; everything else is refused in words."""

import json
from typing import Any

import pytest

from curator.wire import QUERY_ERROR, Head, MessageOutcome, MessageReply, Tell, WireError

KEY, HASH = "0123456789abcdef" * 2, "ab" * 32
QUERY = '{"@":"launch/1","mechanism":{"@":"count/1","name":"\\"query\\":,\\"seen\\":"}}'
TELLS = [
    Tell((), QUERY, (), KEY),
    Tell((0, "part"), '"a text"', ("x", None), KEY, Head(3, HASH)),
    Tell((7,), "[1,2,null]", (), KEY, Head(0, HASH)),
]
OUTCOMES = [
    MessageOutcome("answer", '{"@":"x/1","answer":{"kind":"answer"},"b":[1]}'),
    MessageOutcome("refused", "null"),
    MessageOutcome(QUERY_ERROR, type="QueryError", text='not "so"'),
]


@pytest.mark.parametrize("message", TELLS)
def test_a_message_is_read_as_it_was_written(message: Tell) -> None:
    assert Tell.read(message.written()) == message


@pytest.mark.parametrize("message", TELLS)
def test_another_spelling_of_a_message_is_read(message: Tell) -> None:
    """White space, another order of the fields, and null for no head."""
    fields = json.loads(message.written())
    body = json.dumps(dict(reversed(fields.items())), indent=1).encode()
    assert Tell.read(body) == message


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_a_reply_is_read_as_it_was_written(outcome: MessageOutcome) -> None:
    told = MessageReply(12, 1, Head(40, HASH), outcome)
    assert MessageReply.read(told.written()) == told
    assert MessageReply.read(json.dumps(json.loads(told.written()), indent=1).encode()) == told


def test_what_is_optional_may_be_left_out() -> None:
    body = json.dumps({"key": KEY, "path": [], "query": 1}).encode()
    assert Tell.read(body) == Tell((), "1", (), KEY)


FIELDS: dict[str, Any] = {"key": KEY, "path": [0], "query": {"@": "a/1"}, "seen": None}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"key": KEY.upper()}, "key should be 32 hexadecimal digits"),
        ({"key": 1}, "key should be 32 hexadecimal digits"),
        ({"path": "0"}, "path should be a list"),
        ({"path": [True]}, "should be a string"),
        ({"path": [-1]}, "should be an integer from 0"),
        ({"path": [0] * 401}, "400 is the most"),
        ({"path": ["x" * 1001]}, "1000 is the most"),
        ({"path": ["\ud800"]}, "surrogate"),
        ({"names": [1]}, "should be a string"),
        ({"names": "ab"}, "names should be a list"),
        ({"seen": {"seq": 1}}, "seen lacks hash"),
        ({"seen": {"seq": 1, "hash": "x"}}, "hash should be 64"),
        ({"seen": {"seq": 1.5, "hash": HASH}}, "seq should be an integer"),
        ({"extra": 1}, "has no field 'extra'"),
    ],
)
def test_a_wrong_field_is_refused(change: dict[str, Any], told: str) -> None:
    for body in (json.dumps(FIELDS | change), json.dumps(FIELDS | change, separators=(",", ":"))):
        with pytest.raises(WireError, match=told):
            Tell.read(body.encode())


@pytest.mark.parametrize("missing", ["key", "path", "query"])
def test_a_missing_field_is_refused(missing: str) -> None:
    fields = {name: value for name, value in FIELDS.items() if name != missing}
    with pytest.raises(WireError, match=f"lacks {missing}"):
        Tell.read(json.dumps(fields).encode())


@pytest.mark.parametrize("query", ["1,2", '1,"query":2', '1,"key":"b"', '1},"path":{"a":2'])
def test_a_field_that_is_there_twice_is_refused(query: str) -> None:
    """Either at once, or because the value that was cut out is not JSON."""
    written = Tell((), query, (), KEY).written()
    try:
        cut = Tell.read(written).query
    except WireError:
        return
    with pytest.raises(ValueError, match=r"."):
        json.loads(cut)


def test_outcomes_have_what_belongs_to_them() -> None:
    for wrong in (("answer", None), ("nothing", "1"), (QUERY_ERROR, "1"), (QUERY_ERROR, None, "a")):
        with pytest.raises(WireError):
            MessageOutcome(*wrong)
