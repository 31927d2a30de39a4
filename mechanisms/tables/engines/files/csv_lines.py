"""How a CSV file is written, and its lines and records; each record is split on its own.

Lines end in LF or CRLF. A CR elsewhere is a character of its cell, as programs write it that end
lines in LF. A record that closes the quotations that it opens is a row on its own, whatever comes
before or after it, because the reader is in the same state at its beginning and at its end. If its
number of cells differs from the header's, it is one row of missing cells. A record that leaves a
quotation open, or continues after it was closed, does not parse: its first line is a row of missing
cells, and reading continues with the second line.
"""

import codecs
import csv
import io
import re
from collections import deque
from collections.abc import Iterator
from typing import Any, BinaryIO, Self

import attrs

from mechanisms.tables.engines.files.encodings import by_line
from queryable.losses.numbers import several
from queryable.wording.quoting import quoted

PIECE = 2**22
LONGEST_RECORD = 2**24
_RETURN = "\ud800"  # replaces a CR within a cell; decoded text never contains it


def _texts(values: Any) -> tuple[str, ...]:
    texts = () if isinstance(values, str) else several(values, "null_values")
    if isinstance(values, str) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"null_values is {quoted(values)}; it should be a list such as ['n/a']")
    return tuple(texts)


@attrs.frozen
class CsvFormat:
    """How a CSV file is written: public, and given by its owner.

    Args:
        separator: one character between cells.
        quote: one character around cells that contain separators, line breaks or the character
            itself, which is then doubled. None: each line is a row, whatever it contains.
        encoding: UTF-8, ASCII, or one with a character for each byte of the families ISO 8859,
            cp125x, cp85x and KOI8, such as "latin-1" or "cp1252". A file in another one is copied
            in UTF-8 first, by `csv_files`.
        null_values: cells that are missing, besides empty ones: their whole text, as it is written.
    """

    separator: str = ","
    quote: str | None = '"'
    encoding: str = "utf-8"
    null_values: tuple[str, ...] = attrs.field(default=(), converter=_texts)

    def __attrs_post_init__(self) -> None:
        for name, value in (("separator", self.separator), ("quote", self.quote)):
            if value is None and name == "quote":
                continue
            if not (isinstance(value, str) and len(value) == 1 and value.isascii()):
                raise ValueError(f"{name} is {value!r}; it should be one ASCII character")
            if value in "\r\n\0":
                raise ValueError(f"{name} is {value!r}; it should be a character within lines")
        if self.separator == self.quote:
            raise ValueError("separator and quote should be different characters")
        if not by_line(self.encoding):
            raise ValueError(
                f"encoding is {self.encoding!r}; it should be utf-8, or one with a character for "
                "each byte, such as latin-1 or cp1252"
            )

    def text(self, line: bytes) -> str:
        """The text of bytes, with U+FFFD for bytes that do not decode."""
        return line.decode(self.encoding, "replace")


class TooLongError(Exception):
    """A record is longer than the limit for records in memory."""


class Lines:
    """The lines of a file, one at a time, with the position where the current record began."""

    def __init__(self, stream: BinaryIO, csv_format: CsvFormat) -> None:
        self.stream, self.csv_format = stream, csv_format
        self.waiting: deque[bytes] = deque()
        self.record: list[bytes] = []
        self.size = 0  # of the lines in the record
        self.returns = False  # whether one of them has a CR that does not end a line
        self.rest = b""  # read, not yet a whole line
        self.start = len(codecs.BOM_UTF8) if stream.read(3) == codecs.BOM_UTF8 else 0
        stream.seek(self.start)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if not self.waiting:
            self.waiting.extend(io.BytesIO(self.block()))
            if not self.waiting:
                raise StopIteration
        line = self.waiting.popleft()
        self.record.append(line)
        self.size += len(line)
        if self.size > LONGEST_RECORD:
            raise TooLongError
        text = self.csv_format.text(line)
        if b"\r" not in line[:-2] and not text.endswith("\r"):
            return text
        self.returns = True
        body, end = (text[:-2], "\r\n") if text.endswith("\r\n") else (text, "")
        return body.replace("\r", _RETURN) + end

    def block(self) -> bytes:
        """The next whole lines; empty at the end of the file."""
        while True:
            chunk = self.stream.read(PIECE)
            block = self.rest + chunk
            cut = block.rfind(b"\n") + 1 if chunk else len(block)
            self.rest = block[cut:]
            if cut or not chunk:
                return block[:cut]
            if len(block) > LONGEST_RECORD:
                raise TooLongError

    def next_record(self, reader: Iterator[list[str]]) -> list[str] | None:
        """The cells of the next record, None if it does not parse.

        Raises:
            StopIteration: the file has ended.
        """
        row = None
        try:
            row = next(reader)
        except csv.Error:
            self.waiting.extendleft(reversed(self.record[1:]))
            self.size = len(self.record[0])
        except TooLongError:
            self.go(_end(self.stream, self.start, self.csv_format))
            return None
        if row and self.returns:
            row = [cell.replace(_RETURN, "\r") for cell in row]
        self.passed(self.size)
        return row

    def passed(self, size: int) -> None:
        """Move the beginning of the record forward by this many bytes."""
        self.start += size
        self.record, self.size, self.returns = [], 0, False

    def go(self, position: int) -> None:
        """Continue at a position where a record begins."""
        self.stream.seek(position)
        self.start, self.rest = position, b""
        self.waiting.clear()
        self.passed(0)


def _end(stream: BinaryIO, start: int, csv_format: CsvFormat) -> int:
    """Where the record that begins at `start` ends, or its first line if it is not closed."""
    mark, separator = (csv_format.quote or "").encode(), csv_format.separator.encode()
    stop = re.compile(b"[" + re.escape(separator) + b"\n]")
    first_line = attrs.evolve(csv_format, quote=None)
    stream.seek(start)
    state, position = "begun", start
    while chunk := stream.read(PIECE):
        i = 0
        while i < len(chunk):
            here = chunk[i : i + 1]
            if state == "quoted":
                found = chunk.find(mark, i)
                i = found if found >= 0 else len(chunk) - 1
                state = "closed" if found >= 0 else state
            elif here == b"\n":
                return position + i + 1
            elif here == mark and state in ("begun", "closed"):
                state = "quoted"
            elif here == separator and state != "return":
                state = "begun"
            elif state in ("closed", "return"):
                if here != b"\r" or state == "return":
                    return _end(stream, start, first_line)
                state = "return"
            else:
                next_stop = stop.search(chunk, i)
                i = next_stop.start() - 1 if next_stop else len(chunk) - 1
                state = "plain"
            i += 1
        position += len(chunk)
    return _end(stream, start, first_line) if state in ("quoted", "return") else position
