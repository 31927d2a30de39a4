"""Descriptions and pages are read as they were written."""

import json

import pytest

from curator.wire import (
    DataSet,
    Head,
    Page,
    RootDescription,
    ShownExchange,
    WireError,
    datasets_of,
    datasets_text,
)
from queryable.checks.protection import Protected

HEAD = Head(40, "ab" * 32)
DESCRIBED = RootDescription(
    '{"@":"x/1"}', "null", Protected("patient", "four", "id"), 3, HEAD, 0.5, 2
)
PAGE = Page(
    (ShownExchange((0, "a"), '"q"', "[1]", ('{"@":"r/1"}',), "n"), ShownExchange((), "1", "2")),
    9,
    HEAD,
)


def test_a_description_is_read_as_it_was_written() -> None:
    assert RootDescription.read(DESCRIBED.written()) == DESCRIBED
    json.loads(DESCRIBED.written())


def test_a_page_is_read_as_it_was_written() -> None:
    assert Page.read(PAGE.written()) == PAGE
    assert Page.read(Page((), 0, HEAD).written()) == Page((), 0, HEAD)


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


def test_a_page_that_is_too_long_is_refused() -> None:
    with pytest.raises(WireError, match="1000 is the most"):
        Page.read(Page((ShownExchange((), "1", "2"),) * 1001, 1001, HEAD).written())
