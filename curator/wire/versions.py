"""Versions of the protocol: every request and every reply names its version in a header."""

from curator.wire.errors import WireError
from queryable.wording.quoting import quoted

HEADER = "Queryable-Protocol"
"""The header that names the version."""

VERSION = 1
"""The version that this code writes."""

VERSIONS = (1,)
"""The versions that this code reads."""


def chosen_version(text: str | None) -> int:
    """The version that a header names.

    Raises:
        WireError: there is none, or it is not one that fits; the text says which do.
    """
    for version in VERSIONS:
        if text == str(version):
            return version
    fits = ", ".join(map(str, VERSIONS))
    named = "is missing" if text is None else f"is {quoted(text)}"
    raise WireError(
        f"the header {HEADER} {named}; this curator speaks version {fits}. Use a version of "
        "queryable that speaks it too"
    )
