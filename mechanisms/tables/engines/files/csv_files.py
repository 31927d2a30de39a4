"""Rows and cells of a CSV file, as columns of text.

The format is RFC 4180 with the options that the caller gives; nothing is guessed from rows. Cells
are text here; `cells` reads them as values, and `csv_lines` finds the records. A record whose
number of cells differs from the header's is one row of missing cells.
"""

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from mechanisms.tables.engines.files import csv_lines
from mechanisms.tables.engines.files.csv_lines import (
    CsvFormat,
    Lines,
    TooLongError,
)
from mechanisms.tables.engines.files.encodings import (
    REPLACED,
    advice,
    by_line,
    decode_file,
    first_bytes,
    likely,
    opened,
)
from mechanisms.tables.expressions.corrections import require_distinct

LONGEST_CELL = 2**16


@attrs.define
class CsvFile:
    """A file that is read once: its header, then its rows in batches.

    Args:
        encoding: that the file is written in.
        copy: of the file in UTF-8, if it is written in an encoding that is decoded as a whole.
        likely: the encoding that it was probably written in, if another; an empty text if not.
            Private.
        misfits: how many rows do not parse or do not fit the header. Private.
        undecoded: how many cells of each column are missing because their bytes do not decode.
            Private.
        too_long: how many are missing because they are longer than `LONGEST_CELL`. Private.
    """

    path: Path
    csv_format: CsvFormat
    encoding: str = ""
    copy: Path | None = None
    likely: str = ""
    misfits: int = 0
    undecoded: Counter[int] = attrs.field(factory=Counter)
    too_long: Counter[int] = attrs.field(factory=Counter)

    def header(self) -> tuple[str, ...]:
        """The names of the columns: the first record.

        Raises:
            ValueError: the file has none, or it is no text in the encoding.
        """
        with opened(self.copy or self.path) as stream:
            lines = Lines(stream, self.csv_format)
            try:
                row = lines.next_record(self.reader(lines))
            except StopIteration:
                row = None
        if not row:
            raise ValueError("the first line of a CSV file should name its columns")
        if any(REPLACED in name or "\0" in name for name in row):
            raise ValueError(self._broken())
        return tuple(name or f"column{i}" for i, name in enumerate(row))

    def _broken(self) -> str:
        """The message for a header that does not decode. It depends on the first line alone."""
        encoding = self.encoding or self.csv_format.encoding
        likely_one = likely(first_bytes(self.path).partition(b"\n")[0], encoding)
        return (
            f"write {advice(likely_one or 'cp1252')}: the names of the columns, in the first line "
            f"of {self.path.name}, are no text of {encoding}"
        )

    def batches(self, width: int) -> Iterator[Any]:
        """Arrow tables of text with columns named 0, 1, ...; null where a cell is missing."""
        with opened(self.copy or self.path) as stream:
            lines = Lines(stream, self.csv_format)
            reader = self.reader(lines)
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

    def remove_copy(self) -> None:
        """Remove the copy, after the file was read."""
        if self.copy is not None:
            self.copy.unlink()

    def _at_once(self, lines: Lines, width: int) -> tuple[list[Any], int] | None:
        """The next lines as columns and misfits if they are whole records; else they are queued.

        This is only faster: record by record the result is the same.
        """
        try:
            block = lines.block()
        except TooLongError:
            return None
        found = None
        if (
            block
            and len(block) <= csv_lines.LONGEST_RECORD
            and block.count(b"\r") == block.count(b"\r\n")
        ):
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
            rows = list(self.reader(io.StringIO(self.csv_format.text(block), newline="\n")))
        except csv.Error:
            return None
        fitting = [row for row in rows if len(row) == width]
        return _columns(fitting, width), len(rows) - len(fitting) - rows.count([])

    def _table(self, columns: list[Any], misfits: int) -> Any:
        import pyarrow as pa

        self.misfits += misfits
        none, cells = pa.nulls(misfits, "string"), []
        for i, each in enumerate(columns):
            cells.append(pa.chunked_array([self._present(each, i), none]))
        return pa.table(cells, names=[str(i) for i in range(len(cells))])

    def _present(self, cells: Any, column: int) -> Any:
        """The cells, null where they are empty, too long, undecodable or among the null values."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(cells, pa.ChunkedArray):
            cells = cells.combine_chunks()
        size = pc.binary_length(cells)
        short = pc.less_equal(size, LONGEST_CELL)
        decoded = pc.invert(pc.match_substring(cells, REPLACED))
        for counts, good in ((self.too_long, short), (self.undecoded, decoded)):
            if lost := len(cells) - (good.true_count if len(cells) else 0):
                counts[column] += lost
        good = pc.and_(pc.greater(size, 0), pc.and_(short, decoded))
        if null_values := self.csv_format.null_values:
            good = pc.and_(good, pc.invert(pc.is_in(cells, pa.array(null_values, pa.string()))))
        return pc.if_else(good, cells, pa.scalar(None, pa.string()))

    def reader(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """The cells of each record of some lines."""
        csv.field_size_limit(max(csv.field_size_limit(), csv_lines.LONGEST_RECORD))
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
    paths: Iterable[Path], csv_format: Mapping[str, Any], folder: Path
) -> tuple[tuple[str, ...], list[CsvFile]]:
    """Files with one header, and the names of their columns.

    Args:
        folder: for copies of files whose encoding is not decoded line by line.

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
    encoding = csv_format.get("encoding", "utf-8")
    whole = "encoding" in csv_format and not by_line(encoding)
    if whole:
        csv_format["encoding"] = "utf-8"
    for i, path in enumerate(paths):
        tabs = {"separator": "\t"} if ".tsv" in path.suffixes[-2:] else {}
        written = CsvFormat(**(tabs | csv_format))
        seems = likely(first_bytes(path), encoding)
        if whole:
            copy = folder / f"decoded{i}"
            decode_file(path, encoding, copy)
            files.append(CsvFile(path, written, encoding, copy, seems))
        else:
            files.append(CsvFile(path, written, encoding, likely=seems))
    headers = [file.header() for file in files]
    if any(header != headers[0] for header in headers):
        raise ValueError("give files with the same columns in the same order")
    names = headers[0]
    require_distinct(names)
    return names, files
