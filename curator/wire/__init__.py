"""The protocol between an analyst's process and the curator, for both sides.

Bodies are JSON objects. Values, such as queries and answers, are objects of `curator.codec`; here
they are texts that nothing in this room reads.

- `messages`: a message and its reply. `views`: what is read. `versions`: versions of the protocol.
- `outlines`: a table as its description has it. `texts`: JSON, read strictly.
- `errors`: what either side may have to say about the other.
"""

from curator.wire.bodies import (
    ANSWER,
    FAILED,
    HALTED,
    KINDS,
    QUERY_ERROR,
    REFUSED,
    Head,
    MessageOutcome,
    MessageReply,
    Tell,
)
from curator.wire.errors import (
    AccessError,
    CuratorError,
    RequestKeyError,
    RolledBackError,
    UnavailableError,
    WireError,
    error_body,
    error_of,
)
from curator.wire.versions import HEADER, VERSION, VERSIONS, chosen_version
from curator.wire.views import (
    PAGE,
    DataSet,
    Page,
    RootDescription,
    ShownExchange,
    datasets_of,
    datasets_text,
)

__all__ = [
    "ANSWER",
    "FAILED",
    "HALTED",
    "HEADER",
    "KINDS",
    "PAGE",
    "QUERY_ERROR",
    "REFUSED",
    "VERSION",
    "VERSIONS",
    "AccessError",
    "CuratorError",
    "DataSet",
    "RootDescription",
    "Head",
    "MessageOutcome",
    "Page",
    "RequestKeyError",
    "RolledBackError",
    "ShownExchange",
    "Tell",
    "MessageReply",
    "UnavailableError",
    "WireError",
    "chosen_version",
    "datasets_of",
    "datasets_text",
    "error_body",
    "error_of",
]
