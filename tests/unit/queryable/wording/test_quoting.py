"""Error messages come about whatever the value in them is."""

from fractions import Fraction
from typing import Any

import pytest

from queryable.wording.quoting import an_instance, one_of, quoted
from tests.hostile import MAKERS


@pytest.mark.parametrize("label", MAKERS)
def test_any_value_is_quoted_briefly(label: str) -> None:
    said = quoted(MAKERS[label]())
    assert type(said) is str
    assert 0 < len(said) <= 60


def test_what_is_quoted_is_readable() -> None:
    assert quoted(Fraction(1, 3)) == "1/3"
    assert quoted("x") == "'x'"
    assert quoted(10**5000) == "<int>"


def test_validators_name_the_parameter_and_what_is_right() -> None:
    class Field:
        name = "rule"

    one: Any = None
    an_instance(int)(one, Field, 3)
    one_of("a", "b")(one, Field, "b")
    with pytest.raises(TypeError, match="rule is 'x'; it should be a int"):
        an_instance(int)(one, Field, "x")
    for label in ("raising repr", "lying text", "deep tuple"):
        with pytest.raises(ValueError, match="it should be 'a' or 'b'"):
            one_of("a", "b")(one, Field, MAKERS[label]())
