"""Rows and cells of a CSV file; each record is split on its own.

The format is RFC 4180 with the options that the caller gives; nothing is guessed from rows. Cells
are text here; `cells` reads them as values.

Lines end in LF or CRLF. A CR elsewhere is a character of its cell, as programs write it that end
lines in LF. A record that closes the quotations that it opens is a row on its own, whatever comes
before or after it, because the reader is in the same state at its beginning and at its end. If its
number of cells differs from the header's, it is one row of missing cells. A record that leaves a
quotation open, or continues after it was closed, does not parse: its first line is a row of missing
cells, and reading continues with the second line.
"""

import codecs
import csv
import gzip
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

import attrs

from queryable.losses.numbers import several
from queryable.quoting import quoted

PIECE = 2**22
LONGEST_RECORD = 2**24
LONGEST_CELL = 2**16
_ENCODINGS = r"utf-8(-sig)?|ascii|iso8859-\d+|cp(125\d|437|85\d|866)|koi8-[rtu]|mac-roman"
_REPLACED = "\N{REPLACEMENT CHARACTER}"
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
            cp125x, cp85x and KOI8, such as "latin-1" or "cp1252".
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
        if not _stateless(self.encoding):
            raise ValueError(
                f"encoding is {self.encoding!r}; it should be utf-8, or one with a character for "
                "each byte, such as latin-1 or cp1252"
            )

    def text(self, line: bytes) -> str:
        """The text of bytes, with U+FFFD for bytes that do not decode."""
        return line.decode(self.encoding, "replace")


def _stateless(encoding: Any) -> bool:
    """Whether in this encoding no byte changes the meaning of later ones."""
    try:
        return re.fullmatch(_ENCODINGS, codecs.lookup(encoding).name) is not None
    except (LookupError, TypeError):
        return False


class _TooLongError(Exception):
    """A record is longer than the limit for records in memory."""


class _Lines:
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
            raise _TooLongError
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
                raise _TooLongError

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
        except _TooLongError:
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


@attrs.define
class CsvFile:
    """A file that is read once: its header, then its rows in batches.

    Args:
        misfits: how many rows do not parse or do not fit the header. Private.
    """

    path: Path
    csv_format: CsvFormat
    misfits: int = 0

    def header(self) -> tuple[str, ...]:
        """The names of the columns: the first record.

        Raises:
            ValueError: the file has none.
        """
        with self._opened() as stream:
            lines = _Lines(stream, self.csv_format)
            try:
                row = lines.next_record(self._reader(lines))
            except StopIteration:
                row = None
        if not row:
            raise ValueError("the first line of a CSV file should name its columns")
        return tuple(name or f"column{i}" for i, name in enumerate(row))

    def batches(self, width: int) -> Iterator[Any]:
        """Arrow tables of text with columns named 0, 1, ...; null where a cell is missing."""
        with self._opened() as stream:
            lines = _Lines(stream, self.csv_format)
            reader = self._reader(lines)
            lines.next_record(reader)
            lines.go(lines.start)
            rows: list[list[str]] = []
            misfits = 0
            while True:
                if not lines.waiting:
                    if rows or misfits:
                        yield self._table(_columns(rows, width), misfits)
                        rows, misfits = [], 0
                    if (found := self._at_once(lines, width)) is not None:
                        yield self._table(*found)
                        continue
                try:
                    row = lines.next_record(reader)
                except StopIteration:
                    break
                if row is not None and len(row) == width:
                    rows.append(row)
                elif row != []:  # an empty line is not a row
                    misfits += 1
            if rows or misfits:
                yield self._table(_columns(rows, width), misfits)

    def _at_once(self, lines: _Lines, width: int) -> tuple[list[Any], int] | None:
        """The next lines as columns and misfits if they are whole records; else they are queued.

        This is only faster: record by record the result is the same.
        """
        try:
            block = lines.block()
        except _TooLongError:
            return None
        found = None
        if block and len(block) <= LONGEST_RECORD and block.count(b"\r") == block.count(b"\r\n"):
            found = self._split(block, width) or self._parsed(block, width)
        if found is None:
            lines.waiting.extend(io.BytesIO(block))
        else:
            lines.passed(len(block))
        return found

    def _split(self, block: bytes, width: int) -> tuple[list[Any], int] | None:
        """Split lines that have no quotation mark."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        quote = self.csv_format.quote
        if (quote is not None and quote.encode() in block) or block.startswith(codecs.BOM_UTF8):
            return None  # Arrow would remove the byte order mark
        names, misfits = [str(i) for i in range(width)], []

        def misfit(row: Any) -> str:
            misfits.append(row.actual_columns)
            return "skip"

        text = self.csv_format.text(block).encode()
        table = arrow.read_csv(
            pa.BufferReader(text),
            read_options=arrow.ReadOptions(
                column_names=names, use_threads=False, block_size=len(text) + 1
            ),
            parse_options=arrow.ParseOptions(
                delimiter=self.csv_format.separator,
                quote_char=False,
                double_quote=False,
                escape_char=False,
                ignore_empty_lines=True,
                invalid_row_handler=misfit,
            ),
            convert_options=arrow.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
            ),
        )
        return [table.column(name).combine_chunks() for name in names], len(misfits)

    def _parsed(self, block: bytes, width: int) -> tuple[list[Any], int] | None:
        """Split lines that are whole records, each of which parses."""
        try:
            rows = list(self._reader(io.StringIO(self.csv_format.text(block), newline="\n")))
        except csv.Error:
            return None
        fitting = [row for row in rows if len(row) == width]
        return _columns(fitting, width), len(rows) - len(fitting) - rows.count([])

    def _table(self, columns: list[Any], misfits: int) -> Any:
        import pyarrow as pa

        self.misfits += misfits
        known, none = self.csv_format.null_values, pa.nulls(misfits, "string")
        cells = [pa.chunked_array([_missing(each, known), none]) for each in columns]
        return pa.table(cells, names=[str(i) for i in range(len(cells))])

    def _opened(self) -> Any:
        return gzip.open(self.path) if self.path.suffix.lower() == ".gz" else self.path.open("rb")

    def _reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_RECORD))
        return csv.reader(
            lines,
            delimiter=self.csv_format.separator,
            quotechar=self.csv_format.quote,
            quoting=csv.QUOTE_MINIMAL if self.csv_format.quote else csv.QUOTE_NONE,
            strict=True,
        )


def _columns(rows: list[list[str]], width: int) -> list[Any]:
    import pyarrow as pa

    columns = zip(*rows, strict=True) if rows else ((),) * width
    return [pa.array(column, "string") for column in columns]


def _missing(cells: Any, null_values: tuple[str, ...]) -> Any:
    """The cells, null where they are empty, too long, undecodable or among the null values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(cells, pa.ChunkedArray):
        cells = cells.combine_chunks()
    size = pc.binary_length(cells)
    good = pc.and_(pc.greater(size, 0), pc.less_equal(size, LONGEST_CELL))
    good = pc.and_(good, pc.invert(pc.match_substring(cells, _REPLACED)))
    if null_values:
        good = pc.and_(good, pc.invert(pc.is_in(cells, pa.array(null_values, pa.string()))))
    return pc.if_else(good, cells, pa.scalar(None, pa.string()))


_OPTIONS = (
    "the options of a CSV file are sep, quote, encoding, null_values, decimal, thousands, "
    "date_format, types and on_misread"
)
# What other readers of CSV files call the options.
_ELSEWHERE = {
    "delimiter": "sep=';'",
    "delim": "sep=';'",
    "quotechar": "quote='\"'",
    "na_values": "null_values=['n/a']",
    "nullstr": "null_values=['n/a']",
    "decimal_separator": "decimal=','",
    "dayfirst": "date_format='%d.%m.%Y'",
    "parse_dates": "date_format='%d.%m.%Y'",
    "dateformat": "date_format='%d.%m.%Y'",
    "dtype": "types={'age': 'SMALLINT'}",
    "usecols": "columns=['age']",
}


def csv_files(
    paths: Iterable[Path], csv_format: Mapping[str, Any]
) -> tuple[tuple[str, ...], list[CsvFile]]:
    """Files with one header, and the names of their columns.

    Raises:
        ValueError: the headers differ, or two names are equal when case is ignored.
        TypeError: the separator is given twice, or there is no such option.
    """
    csv_format, files = dict(csv_format), []
    if "sep" in csv_format:
        if "separator" in csv_format:
            raise TypeError("leave sep or separator out: they are two names of one option")
        csv_format["separator"] = csv_format.pop("sep")
    for name in csv_format:
        if name not in attrs.fields_dict(CsvFormat):
            fix = f"write {_ELSEWHERE[name]}" if name in _ELSEWHERE else f"leave {name} out"
            raise TypeError(f"{fix}: there is no option {name}; {_OPTIONS}")
    for path in paths:
        tabs = {"separator": "\t"} if ".tsv" in path.suffixes[-2:] else {}
        files.append(CsvFile(path, CsvFormat(**(tabs | csv_format))))
    headers = [file.header() for file in files]
    if any(header != headers[0] for header in headers):
        raise ValueError("give files with the same columns in the same order")
    names = headers[0]
    if len({name.lower() for name in names}) < len(names):
        raise ValueError("rename a column: two have the same name, ignoring case")
    return names, files
