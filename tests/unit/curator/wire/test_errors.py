"""An error travels as its class and its text; anything else becomes an error of the curator's."""

import pytest

from curator.wire import CuratorError, RolledBackError, error_body, error_of


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
