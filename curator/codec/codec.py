"""`Codec`: writes values as texts and reads them, by a table of entries.

Theory of operation. A text is written from the outside in. It is read from the inside out: JSON's
parser gives every object to `_made`, which finds the entry of its tag and calls the constructor of
the class. So reading needs no recursion of ours. At the end the value is written again, and has to
give the same text. That one comparison refuses every other spelling: white space, another order of
the fields, a field twice, a number that is not in lowest terms, a list that a constructor sorts.
A value that was read from an old tag is written by the new one, so such a text is compared as JSON.

Names of tags are looked up in the table, never imported.
"""

import json
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from math import isfinite
from types import NoneType
from typing import Any, NamedTuple, Never

from curator.codec.entries import Entry
from curator.codec.fields import (
    FieldKind,
    Plain,
    UnreadableError,
    UnwritableError,
    Write,
    kind_of,
    quote,
)
from curator.codec.limits import DIGITS, Limits, has_long_numbers
from curator.codec.refusals import refusal_text, why_not
from queryable.errors import CodecError
from queryable.wording.quoting import quoted

_TAG = "@"
_EXACT = 2**53
_CACHED, _CACHE = 1024, 4096  # characters, texts
_LONGEST_ERROR = 300
_CHANGEABLE = re.compile(r'"@":"(list|dict|array|noisy-array)/')  # in place


class _Reading(NamedTuple):
    """How objects of one tag are read."""

    entry: Entry
    fields: tuple[tuple[str, FieldKind], ...]


class Codec:
    """Writes and reads values by a closed schema.

    Args:
        entries: the schema.
        limits: the largest texts.
        dropped: the tags that another codec reads, and this one does not.
    """

    def __init__(
        self,
        entries: Iterable[Entry],
        limits: Limits = Limits(),  # noqa: B008 (it is frozen)
        dropped: Iterable[str] = (),
    ) -> None:
        self.entries, self.limits, self.dropped = tuple(entries), limits, frozenset(dropped)
        self._plain = Plain(self._dump, limits)
        self._writes: dict[type, Write] = {
            NoneType: lambda _: "null",
            bool: lambda value: "true" if value else "false",
            str: quote,
            tuple: kind_of(tuple[Any, ...], self._plain).write,
        }
        self._waiting: dict[type, Entry] = {}
        self._entries: dict[str, Entry] = {}
        self._readings: dict[str, _Reading] = {}
        for entry in self.entries:
            self._add(entry)
        self._long_int, self._long_float = (self._object_writer(each) for each in self._inner())
        self._writes[int] = self._write_int
        self._writes[float] = self._write_float
        old = "|".join(re.escape(each.tag) for each in self.entries if each.old)
        self._old = re.compile(f'"@":"({old})"') if old else None
        self._decoder = self._decoder_for({})
        self._careful = self._decoder_for({"parse_int": _short_int, "parse_float": _short_float})
        self._remembered = lru_cache(maxsize=_CACHE)(self._read)

    def _add(self, entry: Entry) -> None:
        if entry.tag in self._entries:
            raise ValueError(f"the tag {entry.tag} is there twice")
        self._entries[entry.tag] = entry
        if entry.old:
            return
        for kind in entry.classes:
            if kind in self._waiting:
                raise ValueError(f"{kind.__name__} has two tags; mark one of them as old")
            self._waiting[kind] = entry

    def _inner(self) -> tuple[Entry, Entry]:
        return self._waiting.pop(int), self._waiting.pop(float)

    def _decoder_for(self, more: dict[str, Any]) -> json.JSONDecoder:
        return json.JSONDecoder(object_hook=self._made, parse_constant=_no_constant, **more)

    def within(self, limits: Limits) -> "Codec":
        """The same schema with other limits."""
        return type(self)(self.entries, limits, self.dropped)

    def only(self, wanted: Callable[[str], bool]) -> "Codec":
        """The schema of the wanted tags: the others are neither read nor written, at any depth."""
        kept = [entry for entry in self.entries if wanted(entry.tag)]
        dropped = self.dropped.union(entry.tag for entry in self.entries if not wanted(entry.tag))
        return type(self)(kept, self.limits, dropped)

    def joined(self, entries: Iterable[Entry]) -> "Codec":
        """The schema with further entries.

        Raises:
            ValueError: a tag or a class is there already.
        """
        return type(self)((*self.entries, *entries), self.limits, self.dropped)

    def tag_of(self, kind: type) -> str | None:
        """The tag of values of exactly this class; None if they have none."""
        entry = next((e for e in self.entries if kind in e.classes and not e.old), None)
        return None if entry is None else entry.tag

    def classes_of(self, tag: str) -> tuple[type, ...]:
        """The classes of values with a tag; () if the tag is unknown."""
        entry = self._entries.get(tag)
        return () if entry is None else entry.classes

    # Writing

    def encode(self, value: Any) -> bytes:
        """The canonical text of a value, as ASCII bytes.

        Raises:
            CodecError: the value, or one within it, has no tag, or the text is beyond a limit.
        """
        return self._text(value).encode("ascii")

    def _text(self, value: Any) -> str:
        try:
            text = self._dump(value)
        except CodecError:
            raise
        except UnwritableError as refusal:
            raise CodecError(refusal_text(refusal.reason, refusal.place)) from None
        except RecursionError:
            raise CodecError("the value is nested too deep, or contains itself") from None
        except Exception as error:  # of an entry of a site; its text may quote the value
            raise CodecError(f"the value cannot be written: {type(error).__name__}") from None
        self.limits.check(text)
        return text

    def _dump(self, value: Any) -> str:
        writer = self._writes.get(type(value))
        return writer(value) if writer is not None else self._first(value)

    def _first(self, value: Any) -> str:
        """The text of the first value of its class; the writer of a class is made when needed."""
        kind = type(value)
        entry = self._waiting.get(kind)
        if entry is None:
            raise UnwritableError(why_not(value))
        writer = self._writes[kind] = self._object_writer(entry)
        return writer(value)

    def _write_int(self, value: int) -> str:
        return repr(value) if -_EXACT <= value <= _EXACT else self._long_int(value)

    def _write_float(self, value: float) -> str:
        return repr(value) if isfinite(value) else self._long_float(value)

    def _object_writer(self, entry: Entry) -> Write:
        names = list(entry.fields)
        rows = []
        for name in sorted(names):
            kind = kind_of(entry.fields[name], self._plain)
            rows.append((names.index(name), f',"{name}":', kind.write, kind.optional))
        head, parts_of = f'{{"{_TAG}":"{entry.tag}"', entry.parts

        def write(value: Any) -> str:
            text, parts, place = head, parts_of(value), 0
            try:
                for place, prefix, write_part, optional in rows:
                    part = parts[place]
                    if part is not None:
                        text += prefix + write_part(part)
                    elif not optional:
                        raise UnwritableError("None stands where a value should be")
            except UnwritableError as refusal:
                refusal.place.append(names[place])
                raise
            return text + "}"

        return write

    # Reading

    def decode(self, body: Any) -> Any:
        """The value of a text; see `read`."""
        return self.read(body)[0]

    def read(self, body: Any) -> tuple[Any, str]:
        """The value of a text, and the text that it is written as: another one for an old tag.

        Args:
            body: bytes, or a str of ASCII.

        Raises:
            CodecError: the text is beyond a limit, has an unknown tag or field, is refused by a
                class, or is not canonical. Nothing else is raised, whatever the text is.
        """
        try:
            text = body if type(body) is str else str(body, "ascii")
        except UnicodeDecodeError:
            raise CodecError("the text is not ASCII") from None
        except Exception:
            raise CodecError(f"give the text as bytes, not {type(body).__name__}") from None
        if len(text) <= _CACHED and not _CHANGEABLE.search(text):
            return self._remembered(text)
        return self._read(text)

    def _read(self, text: str) -> tuple[Any, str]:
        self.limits.check(text)
        decoder = self._careful if has_long_numbers(text) else self._decoder
        try:
            value = self._plain.read(decoder.decode(text))
            again = self._dump(value)
        except CodecError:
            raise
        except json.JSONDecodeError as error:
            raise CodecError(f"the text is not JSON: {error.msg} at {error.pos}") from None
        except (UnreadableError, UnwritableError) as error:
            raise CodecError(f"the text cannot be read: {error}") from None
        except Exception as error:
            raise CodecError(f"the text cannot be read: {type(error).__name__}") from None
        if again != text and not (self._old is not None and self._reads_old(text)):
            raise CodecError("the text is not canonical: its value has another text")
        return value, again

    def _reads_old(self, text: str) -> bool:
        """Whether a text with an old tag is spelled as JSON should be."""
        assert self._old is not None
        if not self._old.search(text):
            return False
        again = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"))
        return again == text

    def _made(self, fields: dict[str, Any]) -> Any:
        """The value of one object, whose inner objects are values already."""
        tag = fields.pop(_TAG, None)
        reading = self._readings.get(tag) if type(tag) is str else None
        if reading is None:
            reading = self._first_reading(tag)
        given: list[Any] = []
        name = ""
        try:
            for name, kind in reading.fields:
                raw = fields.pop(name, None)
                if raw is not None:
                    given.append(kind.read(raw))
                elif kind.optional:
                    given.append(None)
                else:
                    raise CodecError(f"{tag} lacks {name}")
            if fields:
                raise CodecError(f"{tag} has no field {quoted(next(iter(fields)))}")
            name = ""
            return reading.entry.build(*given)
        except CodecError:
            raise
        except Exception as error:
            place = f"{name} of {tag}" if name else tag
            raise CodecError(f"{place}: {_text_of_error(error)}") from None

    def _first_reading(self, tag: Any) -> _Reading:
        entry = self._entries.get(tag) if type(tag) is str else None
        if entry is None:
            if type(tag) is str and tag in self.dropped:
                raise CodecError(f"{tag} is what the curator makes; no message has it")
            told = "has no tag" if tag is None else f"has the unknown tag {quoted(tag)}"
            raise CodecError(f"an object {told}; the schema of tags is closed")
        fields = tuple(
            (name, kind_of(annotation, self._plain)) for name, annotation in entry.fields.items()
        )
        return self._readings.setdefault(entry.tag, _Reading(entry, fields))


def _no_constant(name: str) -> Never:
    raise CodecError(f"the text is not JSON: {name} is no number")


def _short_int(digits: str) -> int:
    if not len(digits) <= DIGITS:
        raise CodecError(f"a number has more than {DIGITS} digits")
    return int(digits)


def _short_float(digits: str) -> float:
    if not len(digits) <= DIGITS:
        raise CodecError(f"a number has more than {DIGITS} digits")
    return float(digits)


def _text_of_error(error: Exception) -> str:
    """What a class says about wrong arguments, which are the text's."""
    try:
        text = str(error)
    except Exception:
        text = ""
    return (text or type(error).__name__)[:_LONGEST_ERROR]
