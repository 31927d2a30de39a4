"""Fields: read by the type that a class annotates, and checked in both directions."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs
import pytest

from curator.codec import CODEC, CodecError, entry_of
from queryable import Loss, PureDP
from queryable.losses import Measure


@attrs.frozen(kw_only=True)
class Fields:
    """A field of every kind."""

    number: Fraction = Fraction(1, 3)
    perhaps: Fraction | None = None
    numbers: tuple[Fraction, ...] = (Fraction(1), Fraction(1, 2))
    either: Fraction | tuple[Fraction, ...] = Fraction(2)
    pairs: tuple[tuple[str, Fraction], ...] = (("a", Fraction(1)),)
    holes: tuple[int | None, ...] = (1, None)
    several: tuple[Any, ...] | None = None
    mixed: Fraction | str = "1/2"
    loss: Loss = PureDP(1)
    measure: Measure = PureDP
    real: float = 1.5
    count: int = 3
    flag: bool = True
    name: str = "a"
    function: str | Callable[[Any], Any] = "key"
    _hidden: int = 4


TESTED = CODEC.joined([entry_of("tests.fields/1", Fields)])


def test_every_kind_of_field_comes_back() -> None:
    others = Fields(
        perhaps=Fraction(-1, 7),
        either=(Fraction(1), Fraction(2)),
        several=(1, "a", (None, 2.5)),
        mixed=Fraction(1, 2),
        real=2,
    )
    for value in (Fields(), others):
        assert TESTED.decode(TESTED.encode(value)) == value


def test_numbers_are_text_where_the_annotation_says_so() -> None:
    """Elsewhere they have a tag, so that they are not taken for strings."""
    text = TESTED.encode(Fields(mixed=Fraction(1, 2))).decode()
    assert '"number":"1/3"' in text
    assert '"either":"2"' in text
    assert '"pairs":[["a","1"]]' in text
    assert '"holes":[1,null]' in text
    assert '"mixed":{"@":"fraction/1","value":"1/2"}' in text
    assert '"hidden":4' in text


@pytest.mark.parametrize(
    ("field", "wrong"),
    [
        ("number", 1),
        ("number", Decimal(1)),
        ("number", None),
        ("numbers", [Fraction(1)]),
        ("numbers", (Fraction(1), 2)),
        ("either", 2),
        ("pairs", (("a",),)),
        ("pairs", (("a", Fraction(1), 2),)),
        ("holes", (1.5,)),
        ("several", [1]),
        ("loss", 7),
        ("loss", PureDP),
        ("measure", int),
        ("real", "1"),
        ("real", True),
        ("count", 1.0),
        ("count", True),
        ("flag", 1),
        ("name", 7),
        ("name", None),
        ("function", 7),
    ],
)
def test_a_value_of_another_type_is_not_written(field: str, wrong: Any) -> None:
    """A text of it could not be read: the schema says what a field holds."""
    with pytest.raises(CodecError, match=f"it is in {field}"):
        TESTED.encode(Fields(**{field: wrong}))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"count":3', '"count":true'),
        ('"count":3', '"count":3.0'),
        ('"count":3', '"count":"3"'),
        ('"count":3', '"count":null'),
        ('"real":1.5', '"real":"1.5"'),
        ('"flag":true', '"flag":1'),
        ('"name":"a"', '"name":7'),
        ('"number":"1/3"', '"number":0.3'),
        ('"numbers":["1","1/2"]', '"numbers":"1"'),
        ('"numbers":["1","1/2"]', '"numbers":["1",null]'),
        ('"pairs":[["a","1"]]', '"pairs":[["a"]]'),
        ('"holes":[1,null]', '"holes":[null,"a"]'),
        ('"measure":{"@":"measure/1","name":"pure-dp"}', '"measure":{"@":"measure/1","name":"x"}'),
        ('"loss":{"@":"pure-dp/1","epsilon":"1"}', '"loss":{"@":"measure/1","name":"pure-dp"}'),
        ('"loss":{"@":"pure-dp/1","epsilon":"1"}', '"loss":{"@":"basic/1"}'),
    ],
)
def test_a_text_of_another_type_is_refused(old: str, new: str) -> None:
    """Before the class is built."""
    text = TESTED.encode(Fields()).decode()
    assert old in text
    with pytest.raises(CodecError, match=r"tests\.fields/1|measure/1"):
        TESTED.decode(text.replace(old, new))


def test_the_place_of_a_refusal_is_its_path() -> None:
    """Names of fields and places in tuples, from the outside in."""
    value = Fields(several=(1, (2, Fields(several=(object(),)))))
    with pytest.raises(CodecError, match=r"object has no tag; it is in several\.1\.1\.several\.0"):
        TESTED.encode(value)
