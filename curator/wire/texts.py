"""JSON of the protocol, read strictly: no field twice, no unknown field, no number without a value.

Theory of operation. A body holds one large value, a query or an answer, which the codec reads on
its own from its text. So the value is cut out of the body, and the rest is read with null in its
place. The cut is right if the rest is JSON and the codec reads the value: a key, with its quotes,
cannot occur within a string. A body in which the value cannot be cut out is read as a whole.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Never, TypeAlias

from curator.codec import Limits
from curator.codec.limits import DIGITS, has_long_numbers
from curator.wire.errors import WireError
from queryable.errors import CodecError
from queryable.wording.quoting import quoted

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)

Fields: TypeAlias = dict[str, Any]
Read: TypeAlias = Callable[[Any, str], Any]
"""Reads a field; its arguments are what JSON has there, and the field's name."""


def dumped(value: Any) -> str:
    """A value of JSON as text in the spelling of the codec: sorted, without white space."""
    return _ENCODER.encode(value)


def text_of(body: Any, limits: Limits) -> str:
    """The text of a body.

    Raises:
        WireError: it is no UTF-8, too long, or nested too deep.
    """
    try:
        text = str(body, "utf-8")
    except (TypeError, UnicodeDecodeError):
        raise WireError("the body is not a text in UTF-8") from None
    try:
        limits.check(text)
    except CodecError as error:
        raise WireError(str(error)) from None
    return text


def loaded(text: str) -> Any:
    """The value of a text of JSON.

    Raises:
        WireError: it is not JSON, or an object has a field twice.
    """
    return _loaded(text, _CAREFUL if has_long_numbers(text) else _DECODER)


def require_json(text: str) -> None:
    """Check that a text is JSON. It may have a field twice.

    Raises:
        WireError: it is not.
    """
    _loaded(text, _CAREFUL if has_long_numbers(text) else _QUICK)


def _loaded(text: str, decoder: json.JSONDecoder) -> Any:
    try:
        return decoder.decode(text)
    except WireError:
        raise
    except json.JSONDecodeError as error:
        raise WireError(f"the body is not JSON: {error.msg} at {error.pos}") from None
    except (ValueError, RecursionError):
        raise WireError("the body is not JSON that can be read") from None


def cut(text: str, key: str, following: str) -> tuple[str, str] | None:
    """The text with null in place of the value of `key`, and the value's text.

    Args:
        following: the key after it, as it is spelled here; or the end of the body.
    """
    start = text.find(f'"{key}":')
    end = text.rfind(following)
    start += len(key) + 3
    if start < len(key) + 3 or end <= start:
        return None
    return f"{text[:start]}null{text[end:]}", text[start:end]


def fields_of(value: Any, reads: Mapping[str, Read], what: str, optional: Any = ()) -> Fields:
    """The fields of an object of JSON.

    Raises:
        WireError: it is no object, one is missing, unknown, or of another type.
    """
    if type(value) is not dict:
        raise WireError(f"{what} should be an object")
    for name in value:
        if name not in reads:
            raise WireError(f"{what} has no field {quoted(name)}; it has {', '.join(reads)}")
    found = {}
    for name, read in reads.items():
        if name in value:
            found[name] = read(value[name], name)
        elif name not in optional:
            raise WireError(f"{what} lacks {name}")
    return found


def a_text(value: Any, name: str) -> str:
    """A string."""
    if type(value) is not str:
        raise WireError(f"{name} should be a string")
    return value


def a_text_or_null(value: Any, name: str) -> str | None:
    """A string, or null."""
    return None if value is None else a_text(value, name)


def a_flag(value: Any, name: str) -> bool:
    """True or false."""
    if type(value) is not bool:
        raise WireError(f"{name} should be true or false")
    return value


def a_count(value: Any, name: str) -> int:
    """An integer of at least 0."""
    if type(value) is not int or not 0 <= value <= 2**53:
        raise WireError(f"{name} should be an integer from 0 to 2**53")
    return value


def a_duration(value: Any, name: str) -> float | None:
    """Seconds, or null."""
    if value is None:
        return None
    if type(value) not in (int, float) or not value >= 0:
        raise WireError(f"{name} should be a number of seconds, or null")
    return float(value)


def a_value(value: Any, _: str) -> str:
    """A value of the codec, as text; nothing here knows whether the codec reads it."""
    try:
        return dumped(value)
    except ValueError:
        raise WireError("the body is not JSON that can be read: a number is too large") from None


def anything(value: Any, _: str) -> Any:
    """Whatever JSON has there."""
    return value


def listed(read: Read, most: int) -> Read:
    """A list of at most so many."""

    def items(value: Any, name: str) -> tuple[Any, ...]:
        if type(value) is not list:
            raise WireError(f"{name} should be a list")
        if not len(value) <= most:
            raise WireError(f"{name} has {len(value)} entries; {most} is the most")
        return tuple(read(each, f"an entry of {name}") for each in value)

    return items


def _once(pairs: list[tuple[str, Any]]) -> Fields:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise WireError("the body is not JSON that can be read: an object has a field twice")
    return found


def _no_constant(name: str) -> Never:
    raise WireError(f"the body is not JSON: {name} is no number")


def _integer(digits: str) -> int:
    if not len(digits) <= DIGITS:
        raise WireError(f"a number has more than {DIGITS} digits")
    return int(digits)


def _number(digits: str) -> float:
    if not len(digits) <= DIGITS:
        raise WireError(f"a number has more than {DIGITS} digits")
    return float(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)
_QUICK = json.JSONDecoder(parse_constant=_no_constant)
_CAREFUL = json.JSONDecoder(
    object_pairs_hook=_once,
    parse_constant=_no_constant,
    parse_int=_integer,
    parse_float=_number,
)
