"""Queries and answers as canonical JSON, by a closed schema of versioned tags.

`encode(value)` gives ASCII bytes, and `decode(body)` gives the equal value. Equal bytes and equal
values correspond: `decode` refuses a text that `encode` would spell in another way. Both raise
`CodecError` and nothing else. `canonical` is another name of `encode`, for `SealedCoins`.

    >>> from curator.codec import decode, encode
    >>> from mechanisms import Count, Gaussian
    >>> encode(Gaussian(Count(), scale=3))
    b'{"@":"gaussian/1","statistic":{"@":"count/1"},"variance":"9"}'
    >>> decode(b'{"@":"gaussian/1","statistic":{"@":"count/1"},"variance":"9"}')
    Gaussian(statistic=Count(where=None, per=None), variance=Fraction(9, 1))

`QUERIES` has the same methods for bytes that come from an analyst: it has narrow limits, and reads
the tags of `ANALYST_TAGS` only. A codec with the mechanisms of a site is `with_site(names)`.

- `schema`: the table of tags. `refusals`: what has none, and why.
- `entries`: how one class is written and read. `fields`: how one field is.
- `values`: numbers, dates, lists and others that are not classes of ours. `arrays`: of numpy.
- `fits`: whether the parts of an answer fit together.
- `codec`: `Codec`, which writes and reads texts. `limits`: of bytes, depth, digits and lists.
- `analysts`: the tags that an analyst may send.
- `sites`: mechanisms of a site, by entry points.
"""

from curator.codec.analysts import ANALYST_TAGS, OWN_TAGS, for_analysts, is_analysts
from curator.codec.codec import Codec
from curator.codec.entries import Entry, entry_of
from curator.codec.limits import Limits
from curator.codec.schema import ENTRIES
from curator.codec.sites import site_entries
from queryable.errors import CodecError

CODEC = Codec(ENTRIES)
"""The codec of everything that has a tag, with limits that all answers are within."""

QUERY_LIMITS = Limits(
    bytes=2**17, items=8000, parts=1000, commas=8000, alike=100, long=2**13, digits=400
)
"""The largest query of an analyst. Reading and checking the worst of them takes some 50 ms."""


def queries_of(codec: Codec) -> Codec:
    """The codec for bytes that come from an analyst; each call gives one that remembers nothing."""
    return for_analysts(codec, QUERY_LIMITS)


QUERIES = queries_of(CODEC)
"""The codec for bytes that come from an analyst: of `ANALYST_TAGS` only, with narrow limits."""

encode = canonical = CODEC.encode
decode = CODEC.decode


def with_site(names: list[str]) -> Codec:
    """The codec with the mechanisms of a site, by the names of their entry points."""
    return CODEC.joined(site_entries(names))


__all__ = [
    "ANALYST_TAGS",
    "CODEC",
    "OWN_TAGS",
    "QUERIES",
    "QUERY_LIMITS",
    "Codec",
    "CodecError",
    "Entry",
    "Limits",
    "canonical",
    "decode",
    "encode",
    "entry_of",
    "is_analysts",
    "queries_of",
    "with_site",
]
