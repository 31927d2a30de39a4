"""What an analyst may send: every tag is classified, and only listed ones are read."""

import re

import pytest

from curator.codec import ANALYST_TAGS, CODEC, OWN_TAGS, QUERIES, CodecError, queries_of
from curator.codec.codec import Codec
from tests.encoded import OWN, TESTED
from tests.unit.curator.codec.test_schema import WRITTEN, examples, tag_in

TAGS = {entry.tag for entry in CODEC.entries}


def test_every_tag_is_classified() -> None:
    """A new tag is what an analyst sends, or what only code of the packages makes.

    One with a dot would be a site's, which are read from everybody. Old ones are in logs alone.
    """
    assert not TAGS - ANALYST_TAGS - OWN_TAGS
    assert not (ANALYST_TAGS | OWN_TAGS) - TAGS
    assert not ANALYST_TAGS & OWN_TAGS
    assert not any("." in tag for tag in TAGS)
    assert {entry.tag for entry in CODEC.entries if entry.old} <= OWN_TAGS


@pytest.mark.parametrize("text", examples(), ids=tag_in)
def test_an_analysts_text_is_read_if_all_its_tags_are_listed(text: str) -> None:
    """Of every tag; a listed one may hold what is not listed, and is then refused."""
    tags = set(re.findall(r'"@":"([^"]*)"', text))
    if tags <= ANALYST_TAGS:
        assert QUERIES.encode(QUERIES.decode(text)) == text.encode()
    else:
        with pytest.raises(CodecError, match=" is what the curator makes; no message has it"):
            QUERIES.decode(text)


@pytest.mark.parametrize("text", examples(), ids=tag_in)
def test_a_tag_that_is_not_listed_is_refused_at_any_depth(text: str) -> None:
    """In every field that takes any value, inside what may be sent."""
    if tag_in(text) in ANALYST_TAGS:
        return
    for around in (
        '{"@":"launch/1","mechanism":%s}',
        '{"@":"ask/1","child":0,"query":%s}',
        '{"@":"ask-many/1","queries":[%s]}',
        '{"@":"can-afford/1","launch":{"@":"launch/1","mechanism":%s}}',
        '{"@":"launch-many/1","launches":[{"@":"launch/1","mechanism":%s}]}',
        '{"@":"open/1","schedule":["1"],"statistic":%s}',
        '{"@":"literal/1","value":%s}',
        '{"@":"list/1","items":[[%s]]}',
        '{"@":"dict/1","items":[[1,%s]]}',
        '{"@":"dict/1","items":[[%s,1]]}',
        '{"@":"array/1","dtype":"object","items":[%s],"shape":[1]}',
    ):
        with pytest.raises(CodecError, match=" is what the curator makes; no message has it"):
            QUERIES.decode(around % text)


def test_nothing_that_is_not_listed_is_written_for_an_analyst() -> None:
    """The codec of messages writes what it reads, and no more."""
    for value in WRITTEN:
        tags = set(re.findall(rb'"@":"([^"]*)"', encode_or_none(CODEC, value)))
        written = encode_or_none(QUERIES, value)
        assert not written or {tag.decode() for tag in tags} <= ANALYST_TAGS


def encode_or_none(codec: Codec, value: object) -> bytes:
    """The text of a value; empty if it has none."""
    try:
        return codec.encode(value)
    except CodecError:
        return b""


def test_what_a_site_declares_is_read() -> None:
    """The owner has named its entry points in the configuration."""
    codec = queries_of(TESTED)
    (entry,) = (each for each in OWN if each.tag == "tests.randombits/1")
    value = entry.build()
    assert type(codec.decode(codec.encode(value))) is type(value)


def test_limits_and_further_entries_keep_the_list() -> None:
    """No method gives back a codec that reads more."""
    (text,) = (each for each in examples() if tag_in(each) == "weighted/1")
    for codec in (QUERIES.within(CODEC.limits), QUERIES.joined(OWN)):
        with pytest.raises(CodecError, match="weighted/1 is what the curator makes"):
            codec.decode(text)
