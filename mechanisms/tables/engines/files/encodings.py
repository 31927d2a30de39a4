"""The encodings of files: which may be read, and which one a file was probably written in.

A file in UTF-8, or in an encoding of one byte for each character, is decoded line by line. Other
encodings of Python's codecs, such as UTF-16, are decoded as a whole into a copy in UTF-8. A byte
that does not decode becomes U+FFFD. Encodings in which one record could change the meaning of those
behind it are refused.
"""

import codecs
import gzip
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from queryable.wording.quoting import quoted

REPLACED = "\N{REPLACEMENT CHARACTER}"
_SEEN = 2**20
"""How many bytes of a file are looked at to find its encoding."""

_PIECE = 2**22
_BY_LINE = r"utf-8(-sig)?|ascii|iso8859-\d+|cp(125\d|437|85\d|866)|koi8-[rtu]|mac-roman"
_SHIFTED = r"hz|utf-7|iso2022.*|punycode|idna|(raw-)?unicode-escape|undefined|mbcs|oem"
_MARKS = (
    ("utf-32", (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)),
    ("utf-16", (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)),
)


def by_line(encoding: Any) -> bool:
    """Whether in this encoding no byte changes the meaning of later ones.

    Raises:
        ValueError: there is no such encoding, or records are not decoded on their own in it.
    """
    name = _name_of(encoding)
    if name is None or re.fullmatch(_SHIFTED, name):
        raise ValueError(
            f"encoding is {quoted(encoding)}; it should be a text encoding of Python, such as "
            "'utf-8', 'cp1252', 'utf-16' or 'shift_jis', and none with shifts, such as utf-7"
        )
    return re.fullmatch(_BY_LINE, name) is not None


def _name_of(encoding: Any) -> str | None:
    """The codec's own name; None if it is none of texts."""
    try:
        "a".encode(encoding)
        return codecs.lookup(encoding).name.replace("_", "-")
    except (LookupError, TypeError, ValueError):
        return None


def opened(path: Path) -> Any:
    """The bytes of a file, decompressed if its name ends in .gz."""
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


def decode_file(
    path: Path, encoding: str, to: Path, other: str = "utf-8", errors: str = "replace"
) -> None:
    """Write a copy of a file in another encoding, decompressed.

    Raises:
        UnicodeError: `errors` is "strict", and some bytes do not decode, or some characters are not
            in the other encoding.
    """
    decoder = codecs.getincrementaldecoder(encoding)(errors)
    encoder = codecs.getincrementalencoder(other)("strict")
    with opened(path) as given, to.open("wb") as copy:
        while piece := given.read(_PIECE):
            copy.write(encoder.encode(decoder.decode(piece)))
        copy.write(encoder.encode(decoder.decode(b"", final=True), final=True))


def first_bytes(path: Path) -> bytes:
    """What is looked at to find the encoding of a file."""
    with opened(path) as stream:
        found: bytes = stream.read(_SEEN)
    return found


def likely(seen: bytes, encoding: str) -> str:
    """The encoding that bytes of a file are probably written in, if not in this one.

    Empty if nothing speaks against this one. That depends on rows, so it is for the owner alone,
    except of the header, which is public.
    """
    given = _name_of(encoding)
    for name, marks in _MARKS:
        if seen.startswith(marks):
            return "" if given and given.startswith(name) else name
    if seen.count(0) > len(seen) // 8:
        little = seen[1::2].count(0) >= seen[::2].count(0)
        wide = given is not None and given.startswith(("utf-16", "utf-32"))
        return "" if wide else f"utf-16-{'l' if little else 'b'}e"
    if _decodes(seen, "utf-8"):
        other = not seen.isascii() and given not in ("utf-8", "utf-8-sig")
        return "utf-8" if other else ""
    return "" if _decodes(seen, encoding) else "cp1252"


def _decodes(seen: bytes, encoding: str) -> bool:
    """Whether bytes decode, but for a character that is cut off at their end."""
    with suppress(ValueError, LookupError):
        codecs.getincrementaldecoder(encoding)().decode(seen)
        return True
    return False


def advice(name: str) -> str:
    """The option of `Table` for an encoding that was found."""
    others = ", or the encoding that the file was written in" if name == "cp1252" else ""
    return f"encoding={name!r}{others}"
