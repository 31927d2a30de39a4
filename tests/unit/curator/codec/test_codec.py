"""`Codec`: one text for each value, one value for each text, and `CodecError` for all else."""

import json
import sys
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from composition import ConComp, FiltCon, OdomCon
from curator.codec import CODEC, QUERIES, Codec, CodecError, Limits, canonical, decode, encode
from curator.codec.entries import Entry, entry_of
from mechanisms import BrownianNoiseReduction, Count, Gaussian, Histogram, LinearQuery, column, when
from queryable import Ask, Launch, PureDP, QueryError
from tests.encoded import TESTED, values
from tests.encoded_mutations import hostile

LAUNCH = Launch(Gaussian(Count(column("age") >= 30), scale=3))
TEXT = (
    b'{"@":"launch/1","mechanism":{"@":"gaussian/1","statistic":{"@":"count/1","where":'
    b'{"@":"comparison/1","column":"age","operator":">=","value":30}},"variance":"9"}}'
)


def test_a_text_is_short_and_sorted() -> None:
    """Fields are in order, None is left out, numbers are exact, and there is no white space."""
    assert encode(LAUNCH) == canonical(LAUNCH) == TEXT
    assert decode(TEXT) == decode(TEXT.decode()) == decode(bytearray(TEXT)) == LAUNCH


@pytest.mark.parametrize(
    "body",
    [
        b'{"@":"pure-dp/1", "epsilon":"1"}',
        b' {"@":"pure-dp/1","epsilon":"1"}',
        b'{"@":"pure-dp/1","epsilon":"1"}\n',
        b'{"epsilon":"1","@":"pure-dp/1"}',
        b'{"@":"pure-dp/1","epsilon":"2/2"}',
        b'{"@":"pure-dp/1","epsilon":"01"}',
        b'{"@":"pure-dp/1","epsilon":"2","epsilon":"1"}',
        b'{"@":"pure-dp\\/1","epsilon":"1"}',
        b'{"@":"count/1","where":null}',
        b"1.0e3",
        b"1e400",
        b"-0",
        b"9007199254740993",
        b'{"@":"int/1","value":"1"}',
        b'{"@":"float/1","value":"1.5"}',
        b'"\\u0041"',
        b'"\\u00E9"',
        b'{"@":"bytes/1","base64":"AB=="}',
        b'{"@":"date/1","value":"20240101"}',
        b'{"@":"array/1","dtype":"<i8","items":[1.5],"shape":[1]}',
        b'{"@":"array/1","dtype":"<i8","items":[true],"shape":[1]}',
        b'{"@":"array/1","dtype":"<u1","items":[256],"shape":[1]}',
        b'{"@":"array/1","dtype":"<i8","items":["1"],"shape":[1]}',
    ],
)
def test_every_other_spelling_is_refused(body: bytes) -> None:
    """So equal hashes of texts are equal values."""
    with pytest.raises(CodecError):
        decode(body)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"@":"gaussian/2","statistic":1}', "unknown tag 'gaussian/2'; the schema of tags is"),
        (b'{"@":"os.system/1"}', "unknown tag"),
        (b'{"@":["gaussian/1"]}', "unknown tag"),
        (b"{}", "an object has no tag"),
        (b'{"@":"pure-dp/1"}', "pure-dp/1 lacks epsilon"),
        (b'{"@":"pure-dp/1","epsilon":"1","rho":1}', "pure-dp/1 has no field 'rho'"),
        (b'{"@":"pure-dp/1","epsilon":1}', "epsilon of pure-dp/1: should be a number as text"),
        (b'{"@":"pure-dp/1","epsilon":"-1"}', "pure-dp/1: epsilon is .*negative"),
        (b'{"@":"pure-dp/1","epsilon":"1/0"}', "epsilon of pure-dp/1: should have a denominator"),
        (b'{"@":"gaussian/1","statistic":7,"variance":"1"}', "should be IntegerStatistic"),
        (b'{"@":"sum/1","column":"a","lower":"2","unit":"1","upper":"1"}', "lower is 2"),
        (b'{"@":"launched/1","child":true}', "child of launched/1: should be int or str"),
        (b'{"@":"launched/1","child":1.5}', "should be int or str"),
        (b"[1,2", "not JSON"),
        (b"NaN", "NaN is no number"),
        (b"", "not JSON"),
        (b"\xff", "not ASCII"),
        ('"é"', "not canonical"),
        (7, "give the text as bytes, not int"),
        (None, "give the text as bytes"),
    ],
)
def test_refusals_name_the_place(body: Any, reason: str) -> None:
    """In words, with the tag and the field."""
    with pytest.raises(CodecError, match=reason):
        decode(body)


def hostile_texts() -> list[str]:
    """The texts of small values that the packages' own schema has."""
    found = set()
    for value in values():
        try:
            found.add(CODEC.encode(value).decode())
        except CodecError:
            continue
    return sorted(text for text in found if len(text) < 3000)


def attack(count: int, seed: int) -> tuple[int, int]:
    """How many hostile texts are read, and how many are refused."""
    read = refused = 0
    for body in hostile(hostile_texts(), count, seed):
        try:
            value = QUERIES.decode(body)
        except CodecError:
            refused += 1
        else:
            read += 1
            assert encode(value) == body
    return read, refused


@pytest.mark.parametrize("count", [12_000, pytest.param(400_000, marks=pytest.mark.slow)])
def test_hostile_texts_are_read_or_refused(count: int) -> None:
    """`CodecError` is the only exception, and what is read is canonical. The seed is fixed."""
    read, refused = attack(count, seed=5)
    assert read > count // 10
    assert refused > count // 2
    assert issubclass(CodecError, QueryError)  # a wrong text is the analyst's fault


def test_random_bytes_are_refused() -> None:
    """They are no JSON, with a probability that nobody will see fail; the seed is fixed."""
    source = np.random.default_rng(1)
    for size in range(3_000):
        with pytest.raises(CodecError):
            decode(b"[" + source.bytes(size % 64 + 8))


def test_reading_imports_nothing() -> None:
    """A tag is looked up in the table, and is no path of a module."""
    before = set(sys.modules)
    for tag in ("antigravity/1", "antigravity.geohash/1", "os.system/1", "builtins.eval/1"):
        with pytest.raises(CodecError):
            decode(json.dumps({"@": tag, "value": "1"}, separators=(",", ":")))
    assert set(sys.modules) == before


def test_everything_that_the_packages_nest_is_within_the_limits() -> None:
    """The deepest expressions, mechanisms and asks that they admit, each by itself."""
    deep = column("a") > 1
    for _ in range(97):
        deep = when(deep).then(1).otherwise(column("a")) > 0
        if deep.depth > 97:
            break
    mechanism: Any = OdomCon(PureDP)
    for _ in range(40):
        mechanism = BrownianNoiseReduction() @ mechanism
    ask: Any = LAUNCH
    for _ in range(150):
        ask = Ask(0, ask)
    for value in (Launch(Gaussian(Count(deep), scale=1)), mechanism, ask):
        assert QUERIES.decode(QUERIES.encode(value)) == value


def test_endless_values_are_refused() -> None:
    """A value that contains itself, or is nested too deep to be written."""
    endless: list[Any] = []
    endless.append(endless)
    deep: Any = 0
    for _ in range(100_000):
        deep = Ask(0, deep)
    for value in (endless, deep):
        with pytest.raises(CodecError, match="nested too deep"):
            encode(value)


def test_other_exceptions_of_entries_are_codec_errors() -> None:
    """A site's class may raise anything; its text is not told, it may quote the value."""

    @attrs.frozen
    class Odd:
        secret: Any

    def raising(value: Any) -> Any:
        raise KeyError("the patient is 47")

    codec = CODEC.joined([Entry("tests.odd/1", (Odd,), {"secret": int}, raising, raising)])
    with pytest.raises(CodecError) as written:
        codec.encode(Odd(47))
    assert "47" not in str(written.value)
    with pytest.raises(CodecError, match=r"tests\.odd/1: 'the patient"):
        codec.decode('{"@":"tests.odd/1","secret":1}')


def test_values_that_can_be_changed_are_read_anew() -> None:
    """Repeated texts give the same frozen value; lists and arrays are never shared."""
    assert decode(TEXT) is decode(TEXT)
    for value in ([1], {"a": 1}, (1, [2]), np.arange(3), LinearQuery([1, 0])):
        body = encode(value)
        assert decode(body) is not decode(body)
    assert decode(encode('"@":"list/1"')) == '"@":"list/1"'


def test_limits_of_lists() -> None:
    """In every place where a list is read."""
    narrow = CODEC.within(Limits(items=3))
    for value in (
        tuple(range(4)),
        list(range(4)),
        dict.fromkeys(range(4)),
        np.arange(4),
        column("a").is_in(range(4)),
        Histogram("a", range(4)),
        ConComp([FiltCon(PureDP(1))] * 4),
    ):
        with pytest.raises(CodecError, match="a list has 4 items; 3 is the most"):
            narrow.decode(encode(value))
        with pytest.raises(CodecError, match="a list has 4 items; 3 is the most"):
            narrow.encode(value)


def test_old_tags_are_read_and_written_as_new_ones() -> None:
    """A new version has another field; a text of the old one gives today's value."""

    @attrs.frozen
    class Noise:
        variance: Fraction

    old = Entry(
        "tests.noise/1",
        (Noise,),
        {"deviation": Fraction},
        lambda value: (value.variance,),
        lambda deviation: Noise(deviation**2),
        old=True,
    )
    codec = CODEC.joined([old, entry_of("tests.noise/2", Noise)])
    assert codec.decode('{"@":"tests.noise/1","deviation":"3"}') == Noise(Fraction(9))
    new = '{"@":"tests.noise/2","variance":"9"}'
    assert codec.read('{"@":"tests.noise/1","deviation":"3"}') == (Noise(Fraction(9)), new)
    assert codec.encode(Noise(Fraction(9))) == b'{"@":"tests.noise/2","variance":"9"}'
    assert codec.tag_of(Noise) == "tests.noise/2"
    for body in ('{"@":"tests.noise/1", "deviation":"3"}', '{"deviation":"3","@":"tests.noise/1"}'):
        with pytest.raises(CodecError, match="not canonical"):
            codec.decode(body)


def test_a_joined_schema_leaves_the_other_as_it_was() -> None:
    """The tests' classes are in their codec only."""
    assert len(TESTED.entries) > len(CODEC.entries)
    assert isinstance(TESTED.within(Limits(depth=9)), Codec)
    assert CODEC.tag_of(int) == "int/1"
    assert CODEC.tag_of(object) is None


@pytest.mark.parametrize("text", ["\ud800\udc00", "\udc80", "a\ud83d"])
def test_lone_surrogates_have_no_text(text: str) -> None:
    """Two of them would have the text of one character."""
    for value in (text, (text,), column(text) >= 1):
        with pytest.raises(CodecError, match="lone surrogate"):
            encode(value)
    assert decode(encode("\U00010000")) == "\U00010000"
    with pytest.raises(CodecError, match="lone surrogate"):
        decode(b'"\\udc80"')
