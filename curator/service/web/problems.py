"""`Problem`: why a request has no outcome, as a status code and a text for the analyst.

The texts depend on the request and on public things only. They hold no token and no trace.
"""

import json

from curator.wire import HEADER, VERSION

HEADERS = {
    HEADER: str(VERSION),
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
}
"""The headers of every reply."""


class Problem(Exception):  # noqa: N818 (it becomes a reply)
    """A request that is answered with an error of transport.

    Args:
        status: the HTTP status code.
        kind: the class of `curator.wire.errors` that a client raises.
        text: a sentence for people.
        headers: beside those of every reply.
    """

    def __init__(
        self, status: int, kind: str, text: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(text)
        self.status, self.kind, self.text, self.headers = status, kind, text, headers or {}

    @property
    def body(self) -> bytes:
        """The body of the reply."""
        return json.dumps({"error": self.text, "type": self.kind}).encode("ascii")


def malformed(text: str) -> Problem:
    """The request is not of this protocol."""
    return Problem(400, "WireError", text)


def no_token() -> Problem:
    """There is no token, or it is unknown."""
    return Problem(
        401,
        "AccessError",
        "give your token, in Python as connect(.., token=), in HTTP in the header Authorization as "
        "`Bearer qy_...`: there is none, it is unknown, or it was revoked",
        {"WWW-Authenticate": "Bearer"},
    )


def not_there() -> Problem:
    """What is asked for does not exist, or is not the caller's; both have this text."""
    return Problem(404, "AccessError", "there is nothing at this address for this token")


def other_version(text: str) -> Problem:
    """The version of the protocol does not fit."""
    return Problem(426, "WireError", text, {"Upgrade": f"queryable/{VERSION}"})


def too_large(limit: int) -> Problem:
    """The body is too large."""
    return Problem(413, "WireError", f"the body has more than {limit} bytes")


def unread() -> Problem:
    """A client has not read its replies, so it gets no further large one now."""
    return Problem(
        429,
        "UnavailableError",
        "read the replies to the other requests of this token first; a message that is sent again "
        "has the answer that it had",
        {"Retry-After": "1"},
    )


def too_many(limit: int) -> Problem:
    """There are too many requests of one token at once."""
    return Problem(
        429,
        "UnavailableError",
        f"{limit} requests of this token are under way; send fewer at once",
        {"Retry-After": "1"},
    )


def unavailable(text: str, after: int = 1) -> Problem:
    """The data set has no worker now."""
    return Problem(503, "UnavailableError", text, {"Retry-After": str(after)})


def fault() -> Problem:
    """The curator has a defect; its cause is in the owner's log."""
    return Problem(500, "CuratorError", "the curator could not answer this message")
