"""The error of a body that is not of this protocol."""

from queryable.errors import InteractiveError


class WireError(InteractiveError):
    """A body, a header or a reply is not of this protocol. The text says what is wrong with it."""
