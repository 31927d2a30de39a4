"""Whether a message is small enough for a curator; said before it is sent.

A message of several launches or questions is not divided: if one of them is wrong, none is charged,
and that holds within one message only.
"""

from curator.codec import QUERY_LIMITS, Codec, Limits
from curator.wire.bodies import TELL_LIMITS
from queryable.errors import CodecError, QueryError
from queryable.messages import AskMany, LaunchMany, Query, entries_of, is_many

_SHORT = 400
"""Texts of at most so many characters are within all limits."""


def require_small(query: Query, text: str, codec: Codec) -> None:
    """Check the text of a query.

    Raises:
        CodecError: a curator would refuse it. For several launches or questions it says how many
            fit. Nothing was sent.
    """
    if len(text) <= _SHORT:
        return
    try:
        QUERY_LIMITS.check(text)
    except CodecError as error:
        if not is_many(query):
            raise CodecError(f"{error}, for a query to a curator; nothing was sent") from None
        raise CodecError(_too_many(query, codec)) from None


def require_short_names(body: bytes) -> None:
    """Check the length of a whole message, of which the query is small enough.

    Raises:
        QueryError: its names and its path are too long.
    """
    if not len(body) <= TELL_LIMITS.bytes:
        raise QueryError(
            f"take shorter names: the message has {len(body)} bytes, and {TELL_LIMITS.bytes} is "
            "the most; nothing was sent"
        )


def _too_many(query: LaunchMany | AskMany, codec: Codec) -> str:
    entries = entries_of(query)
    launches = isinstance(query, LaunchMany)
    what, done = ("launches", "charged") if launches else ("questions", "asked")
    call = "launch_many or release_many" if launches else "ask_many"
    first = how_many_fit([str(codec.encode(each), "ascii") for each in entries], QUERY_LIMITS)
    limits = (
        f"{QUERY_LIMITS.bytes // 1024} KiB, {QUERY_LIMITS.parts:,} lists and objects, "
        f"{QUERY_LIMITS.commas:,} commas"
    )
    fit = f"the first {first} of them fit" if first else "the first one alone does not fit"
    return (
        f"these {len(entries)} {what} are more than one message to a curator takes ({limits}); "
        f"{fit}. Give {call} fewer at a time. Only within one call is nothing {done} if an entry "
        "is wrong, so they are not divided here. Nothing was sent"
    )


def how_many_fit(texts: list[str], limits: Limits) -> int:
    """How many entries, from the first one on, one message takes."""
    frame = '{"@":"launch-many/1","launches":{"@":"list/1","items":[', "]}}"
    low, high = 0, len(texts)
    while low < high:
        middle = (low + high + 1) // 2
        try:
            limits.check(",".join(texts[:middle]).join(frame))
        except CodecError:
            high = middle - 1
        else:
            low = middle
    return low
