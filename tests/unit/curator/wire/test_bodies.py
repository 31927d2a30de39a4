"""Messages, replies, views and errors are written and read; everything else is refused in words."""

import json
from typing import Any

import pytest

from curator.wire import (
    QUERY_ERROR,
    VERSION,
    CuratorError,
    DataSet,
    Head,
    MessageOutcome,
    MessageReply,
    Page,
    RolledBackError,
    RootDescription,
    ShownExchange,
    Tell,
    WireError,
    chosen_version,
    datasets_of,
    datasets_text,
    error_body,
    error_of,
)
from queryable.checks.protection import Protected

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


HEAD = Head(40, "ab" * 32)
DESCRIBED = RootDescription(
    '{"@":"x/1"}', "null", Protected("patient", "four", "id"), 3, HEAD, 0.5, 2
)
PAGE = Page(
    (ShownExchange((0, "a"), '"q"', "[1]", ('{"@":"r/1"}',), "n"), ShownExchange((), "1", "2")),
    9,
    HEAD,
)
REPLIES = [MessageReply(12, 1, HEAD, each) for each in OUTCOMES]


@pytest.mark.parametrize("message", [*TELLS, *REPLIES, DESCRIBED, PAGE, Page((), 0, HEAD)])
def test_what_was_written_is_read(message: Any) -> None:
    """Also with white space and another order of the fields."""
    body = message.written()
    other = json.dumps(dict(reversed(json.loads(body).items())), indent=1).encode()
    for each in (body, other):
        assert type(message).read(each) == message


def test_what_is_optional_may_be_left_out() -> None:
    body = json.dumps({"key": KEY, "path": [], "query": 1}).encode()
    assert Tell.read(body) == Tell((), "1", (), KEY)
    assert chosen_version(str(VERSION)) == VERSION


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
        ({"seen": {"seq": True, "hash": HASH}}, "seq should be an integer"),
        ({"extra": 1}, "has no field 'extra'"),
        *(({missing: ...}, f"lacks {missing}") for missing in ("key", "path", "query")),
    ],
)
def test_a_wrong_field_is_refused(change: dict[str, Any], told: str) -> None:
    fields = {name: each for name, each in (FIELDS | change).items() if each is not ...}
    for body in (json.dumps(fields), json.dumps(fields, separators=(",", ":"))):
        with pytest.raises(WireError, match=told):
            Tell.read(body.encode())


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


def test_a_page_that_is_too_long_is_refused() -> None:
    with pytest.raises(WireError, match="1000 is the most"):
        Page.read(Page((ShownExchange((), "1", "2"),) * 1001, 1001, HEAD).written())


def test_outcomes_have_what_belongs_to_them() -> None:
    for wrong in (("answer", None), ("nothing", "1"), (QUERY_ERROR, "1"), (QUERY_ERROR, None, "a")):
        with pytest.raises(WireError):
            MessageOutcome(*wrong)


def test_data_sets_are_read_as_they_were_written() -> None:
    sets = (DataSet("visits", "visits", {"columns": {"age": "int64"}}), DataSet("b", "b", {}))
    assert datasets_of(datasets_text(sets)) == sets


@pytest.mark.parametrize(
    ("field", "value"),
    [("tick", -1), ("tick", True), ("deadline", "1"), ("seq", -1), ("protects", {}), ("head", 1)],
)
def test_a_wrong_description_is_refused(field: str, value: object) -> None:
    fields = json.loads(DESCRIBED.written()) | {field: value}
    with pytest.raises(WireError):
        RootDescription.read(json.dumps(fields).encode())


def test_an_error_is_read_as_it_was_written() -> None:
    error = error_of(409, error_body(RolledBackError("an old copy")))
    assert (type(error), str(error)) == (RolledBackError, "an old copy")


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b"\xff", b'{"type":"SystemExit","error":"x"}', b"[" * 5000]
)
def test_a_body_that_is_no_error_becomes_one(body: bytes) -> None:
    error = error_of(502, body)
    assert type(error) is CuratorError
    assert "502" in str(error)
