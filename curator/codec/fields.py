"""How one field of a class is written and read, from the type that the class annotates it with.

A `Fraction` is text such as "1/3" where the annotation says so. A tuple is a list. Every other
value is written by its own tag, and checked against the annotation in both directions. So a text
that was written can be read, whatever the class itself checks.
"""

import re
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import repeat
from json.encoder import encode_basestring_ascii
from types import NoneType, UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin

import attrs

from curator.codec.limits import DIGITS, Limits
from curator.codec.refusals import why_not

Write: TypeAlias = Callable[[Any], str]
Read: TypeAlias = Callable[[Any], Any]

_NUMBER = re.compile(rf"-?[0-9]{{1,{DIGITS}}}(/[0-9]{{1,{DIGITS}}})?", re.ASCII)
_NO_NUMBER = f'should be a number as text, such as "1/10", of at most {DIGITS} digits'
_SHORT = 64
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CALLABLE = get_origin(Callable[[Any], Any])


class UnwritableError(Exception):
    """A value has no text. `place` has the names of the fields around it, the innermost first."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.place: list[str] = []


class UnreadableError(Exception):
    """A text is not that of a value."""


class TaggedList(list[Any]):
    """A list that a tag has made; a plain list is a tuple that is not read yet."""


@attrs.frozen
class FieldKind:
    """How a field is written and read. None is left out of a text, if `optional` admits it."""

    write: Write
    read: Read
    optional: bool = False


@attrs.frozen
class Plain:
    """Writes and reads a value of any type, by its own tag."""

    write: Write
    limits: Limits

    def read(self, raw: Any) -> Any:
        """The value: lists become tuples."""
        if type(raw) is list:
            self.limits.check_items(len(raw))
            return tuple(
                raw if {list, TaggedList}.isdisjoint(map(type, raw)) else map(self.read, raw)
            )
        return list(raw) if type(raw) is TaggedList else raw


def kind_of(annotation: Any, plain: Plain) -> FieldKind:
    """How a field of this type is written and read."""
    if isinstance(annotation, Custom):
        return annotation.kind(plain)
    options = [each for each in _options(annotation) if get_origin(each) is not _CALLABLE]
    optional = NoneType in options
    present = [each for each in options if each is not NoneType]
    if Any in present:
        return FieldKind(plain.write, plain.read, optional=True)
    tuples = [each for each in present if get_origin(each) is tuple]
    numbers = Fraction in present and str not in present
    rest = [each for each in present if each not in tuples and not (numbers and each is Fraction)]
    if len(present) == 1 and numbers:
        return FieldKind(write_number, read_number, optional)
    if len(present) == 1 and tuples:
        return attrs.evolve(_tuple(tuples[0], plain), optional=optional)
    if not tuples and not numbers:
        return _checked(rest, plain, optional=optional)
    return _mixed(tuples, rest, plain, numbers=numbers, optional=optional)


@attrs.frozen
class Custom:
    """An annotation of our own: how a field is written and read that no type describes."""

    kind: Callable[[Plain], FieldKind]


def quote(text: str) -> str:
    """A text as JSON.

    Raises:
        UnwritableError: it has a lone surrogate: JSON would read two of them as one character.
    """
    if not text.isascii() and _SURROGATE.search(text):
        raise UnwritableError("a text has a lone surrogate, which is no character")
    return encode_basestring_ascii(text)


def _options(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def write_number(value: Any) -> str:
    """An exact rational as text.

    Raises:
        UnwritableError: it is of another type, or has too many digits.
    """
    if type(value) is not Fraction:
        raise _misfit(value, "Fraction")
    try:
        text = str(value)
    except ValueError:
        text = ""
    if not (text and (len(text) <= DIGITS or _NUMBER.fullmatch(text))):
        raise UnwritableError(f"a number has more than {DIGITS} digits")
    return f'"{text}"'


def read_number(raw: Any) -> Fraction:
    """The exact rational in a text.

    Raises:
        UnreadableError: it is none.
    """
    if type(raw) is not str:
        raise UnreadableError(_NO_NUMBER)
    return _read_short(raw) if len(raw) <= _SHORT else _read_number(raw)


def _read_number(text: str) -> Fraction:
    if not _NUMBER.fullmatch(text):
        raise UnreadableError(_NO_NUMBER)
    top, _, bottom = text.partition("/")
    if bottom and not int(bottom):
        raise UnreadableError("should have a denominator above 0")
    return Fraction(int(top), int(bottom or "1"))


_read_short = lru_cache(maxsize=4096)(_read_number)


def _tuple(annotation: Any, plain: Plain) -> FieldKind:
    arguments = get_args(annotation)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return _row(kind_of(arguments[0], plain), plain)
    return _fixed([kind_of(each, plain) for each in arguments])


def _row(item: FieldKind, plain: Plain) -> FieldKind:
    """Any number of items of one type."""

    def write(value: Any) -> str:
        if type(value) is not tuple:
            raise _misfit(value, "tuple")
        plain.limits.check_items(len(value))
        return _list(repeat(item), value)

    def read(raw: Any) -> Any:
        if type(raw) is not list:
            raise UnreadableError("should be a list")
        if item.read == plain.read:
            return plain.read(raw)
        plain.limits.check_items(len(raw))
        inner, optional = item.read, item.optional
        return tuple(None if each is None and optional else inner(each) for each in raw)

    return FieldKind(write, read)


def _fixed(items: list[FieldKind]) -> FieldKind:
    """As many items as types."""

    def write(value: Any) -> str:
        if type(value) is not tuple or len(value) != len(items):
            raise _misfit(value, f"tuple of {len(items)}")
        return _list(items, value)

    def read(raw: Any) -> Any:
        if type(raw) is not list or len(raw) != len(items):
            raise UnreadableError(f"should be a list of {len(items)}")
        return tuple(
            None if each is None and item.optional else item.read(each)
            for item, each in zip(items, raw, strict=True)
        )

    return FieldKind(write, read)


def _list(items: Iterable[FieldKind], values: tuple[Any, ...]) -> str:
    texts: list[str] = []
    try:
        for item, each in zip(items, values, strict=False):
            texts.append("null" if each is None and item.optional else item.write(each))
    except UnwritableError as refusal:
        refusal.place.append(str(len(texts)))
        raise
    return f"[{','.join(texts)}]"


def _checked(options: list[Any], plain: Plain, *, optional: bool) -> FieldKind:
    """A value with a tag of its own, of one of some classes."""
    measures = any(get_origin(each) is type for each in options)
    classes = tuple(get_origin(each) or each for each in options)
    if not all(isinstance(each, type) for each in classes):  # a type variable, a literal
        return FieldKind(plain.write, plain.read, optional=True)
    classes += (int,) * (float in classes)
    wanted = " or ".join(dict.fromkeys(each.__name__ for each in classes)) or "left out"
    known: set[type] = set()  # classes of the schema whose values conform

    def conforms(value: Any) -> bool:
        kind = type(value)
        if kind is bool:
            return bool in classes
        return isinstance(value, classes) and (measures or not isinstance(value, type))

    def write(value: Any) -> str:
        if type(value) in known:
            return plain.write(value)
        if not conforms(value):
            raise _misfit(value, wanted)
        text = plain.write(value)  # so its class is of the schema
        known.add(type(value))
        return text

    def read(raw: Any) -> Any:
        value = plain.read(raw)
        if type(value) in known:
            return value
        if not conforms(value):
            raise UnreadableError(f"should be {wanted}")
        return value

    if classes == (str,):
        return FieldKind(_write_text, _read_text, optional)
    return FieldKind(write, read, optional)


def _misfit(value: Any, wanted: str) -> UnwritableError:
    """Why a value of another type is not written; of a function, that it is one."""
    reason = f"a {type(value).__name__} stands where a {wanted} should be"
    return UnwritableError(why_not(value) and reason)


def _write_text(value: Any) -> str:
    if type(value) is not str:
        raise _misfit(value, "str")
    return quote(value)


def _read_text(raw: Any) -> str:
    if type(raw) is not str:
        raise UnreadableError("should be a string")
    return raw


def _mixed(
    tuples: list[Any], rest: list[Any], plain: Plain, *, numbers: bool, optional: bool
) -> FieldKind:
    """A number, a tuple or another value, which JSON tells apart."""
    others = _checked(rest, plain, optional=False)
    rows = _tuple(tuples[0], plain) if tuples else others

    def write(value: Any) -> str:
        if numbers and type(value) is Fraction:
            return write_number(value)
        return rows.write(value) if type(value) is tuple else others.write(value)

    def read(raw: Any) -> Any:
        if numbers and type(raw) is str:
            return read_number(raw)
        return rows.read(raw) if type(raw) is list else others.read(raw)

    return FieldKind(write, read, optional)
