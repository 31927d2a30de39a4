"""Errors of the protocol, for both sides, and the replies that tell of them.

A reply whose HTTP status is not 200 has the body `{"error": text, "type": class}`. Texts depend on
public things only: the request, the token's path, whether the curator is there.
"""

import json

from queryable.errors import InteractiveError


class WireError(InteractiveError):
    """A body, a header or a reply is not of this protocol. The text says what is wrong with it."""


class AccessError(InteractiveError):
    """The token is unknown, or what was asked for is not there for it."""


class RequestKeyError(InteractiveError):
    """The request key was used for another message. Nothing has changed."""


class RolledBackError(InteractiveError):
    """The curator's ledger does not have what this client has seen: an old copy was restored."""


class UnavailableError(InteractiveError):
    """The curator does not answer now. A message that is sent again is asked once."""


class CuratorError(InteractiveError):
    """The curator has an error of its own, which its owner has been told."""


ERRORS: dict[str, type[InteractiveError]] = {
    each.__name__: each
    for each in (
        WireError,
        AccessError,
        RequestKeyError,
        RolledBackError,
        UnavailableError,
        CuratorError,
    )
}
"""The errors that a reply may name."""


def error_body(error: InteractiveError) -> bytes:
    """The body of a reply that tells of an error."""
    return json.dumps({"error": str(error), "type": type(error).__name__}).encode()


def error_of(status: int, body: bytes) -> InteractiveError:
    """The error that a reply tells of; whatever the body is."""
    try:
        told = json.loads(body)
        kind, text = ERRORS[told["type"]], told["error"]
    except (ValueError, TypeError, KeyError, RecursionError):
        kind, text = CuratorError, f"the curator replied with status {status}"
    return kind(text)
