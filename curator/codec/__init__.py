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

`QUERIES` has the same methods with narrow limits, for bytes that come from an analyst. A codec with
the mechanisms of a site is `with_site(names)`.

- `schema`: the table of tags. `refusals`: what has none, and why.
- `entries`: how one class is written and read. `fields`: how one field is.
- `values`: numbers, dates, lists and others that are not classes of ours. `arrays`: of numpy.
- `fits`: whether the parts of an answer fit together.
- `codec`: `Codec`, which writes and reads texts. `limits`: of bytes, depth, digits and lists.
- `sites`: mechanisms of a site, by entry points.
"""

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

QUERIES = CODEC.within(QUERY_LIMITS)
"""The same codec with narrow limits, for bytes that come from an analyst."""

encode = canonical = CODEC.encode
decode = CODEC.decode


def with_site(names: list[str]) -> Codec:
    """The codec with the mechanisms of a site, by the names of their entry points."""
    return CODEC.joined(site_entries(names))


__all__ = [
    "CODEC",
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
    "with_site",
]
