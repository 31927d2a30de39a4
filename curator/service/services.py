"""`Service`: what a server asks of one data set, wherever the data are.

Arguments and results are bytes and paths, so that a server reads no query and no answer.
"""

from typing import NamedTuple, Protocol

from queryable.running.handles import Path


class HTTPReply(NamedTuple):
    """An HTTP status and a body of JSON. A status that is not 200 has `{"error", "type"}`."""

    status: int
    body: bytes


class Service(Protocol):
    """Answers the messages to one root. Methods may be called from several threads."""

    def describe(self, path: Path) -> HTTPReply:
        """The mechanism at a path: `curator.wire.Described`, or 404 if there is none.

        Args:
            path: the one that a token is bound to.
        """

    def tell(self, path: Path, body: bytes, deadline: float | None = None) -> HTTPReply:
        """Send a message: `curator.wire.Tell`, answered by `curator.wire.Told`.

        Args:
            path: the one that the token is bound to; the message's path starts there.
            deadline: the seconds that the message may take. Whoever can end the process that runs
                it enforces that.
        """

    def feed(self, body: bytes) -> HTTPReply:
        """Take what the data's owner feeds: `curator.wire.feeds.Feeding`, answered by `Fed`.

        An order that is sent again is carried out once. Status 409: it is wrong.
        """

    def view(self, path: Path, after: int) -> HTTPReply:
        """The exchanges at or below a path, but for the first `after`: `curator.wire.Page`."""

    def page(self, path: Path, after: int | None = None) -> HTTPReply:
        """What a page for people shows: the tree, and the last messages at or below a path.

        Args:
            after: a number of messages: rows after these are given, and no tree.
        """

    def status(self) -> HTTPReply:
        """What the owner wants to know: the loss so far, the number of messages, the head."""
