"""CSV files by their records, each kept byte by byte as it is in the file.

Records are told apart as in `engines.files.csv_lines`. What is added is written as RFC 4180 has it.
"""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from mechanisms.tables.engines.files.csv_files import CsvFile, csv_files
from mechanisms.tables.engines.files.csv_lines import Lines
from mechanisms.tables.engines.files.encodings import decode_file, opened
from mechanisms.tables.engines.files.opening import Sources
from mechanisms.tables.neighbours.written import discard_folder, in_new_folder, number_of
from queryable.audit.rows.forms import AddedRecord, Form, Name

_FORMAT = ("separator", "sep", "quote", "encoding", "null_values")


@attrs.frozen
class _Record:
    """A record: its bytes, its cells if it has one for each column, and in which file it is."""

    raw: bytes
    cells: Sequence[str] | None
    file: int


class CsvForm(Form):
    """The records of CSV files with one header. Cells are text, so that a column holds any.

    Args:
        sources: the files. reading: the options by which the table reads them.
    """

    most = 100

    def __init__(self, sources: Sources, reading: Mapping[str, Any]) -> None:
        self._paths = sources.paths
        given = {name: reading[name] for name in _FORMAT if name in reading}
        self._heads: list[bytes] = []
        self._records: list[_Record] = []
        with TemporaryDirectory(prefix="queryable-") as folder:
            names, files = csv_files(sources.paths, given, Path(folder))
            for number, file in enumerate(files):
                self._records += self._read_file(file, number)
        self._format, self._encoding = files[0].csv_format, files[0].encoding
        self._whole = files[0].copy is not None
        self.names: tuple[Name, ...] = names
        self._places = {name: place for place, name in enumerate(names)}
        self.count = len(self._records)
        self._end = "\r\n" if self._heads[0].endswith(b"\r\n") else "\n"

    def _read_file(self, file: CsvFile, number: int) -> Iterator[_Record]:
        with opened(file.copy or file.path) as stream:
            content = stream.read()
        with opened(file.copy or file.path) as stream:
            lines = Lines(stream, file.csv_format)
            reader = file.reader(lines)
            header = lines.next_record(reader) or []
            self._heads.append(content[: lines.start])
            while True:
                begin = lines.start
                try:
                    row = lines.next_record(reader)
                except StopIteration:
                    return
                if row != []:  # an empty line is no record
                    fits = row is not None and len(row) == len(header)
                    yield _Record(content[begin : lines.start], row if fits else None, number)

    def read(self, name: Name) -> Sequence[Any]:
        """The cells of a column, as numbers where they are written as numbers."""
        place = self._places[str(name)]
        missing = ("", *self._format.null_values)
        texts = (each.cells[place] if each.cells else "" for each in self._records)
        return [None if text in missing else number_of(text) for text in texts]

    def admits(self, name: Name, cell: Any) -> bool:
        """Whether the cell has a text, which the file can hold."""
        text = _text(cell)
        if text is None:
            return False
        try:
            text.encode(self._encoding)
        except UnicodeError:
            return False
        ends = (self._format.separator, "\r", "\n")
        return self._format.quote is not None or not any(end in text for end in ends)

    def edited(self, removed: Sequence[int], added: Sequence[AddedRecord]) -> Any:
        """The path of a new file, or a pattern of several, of which unchanged ones are links."""
        left_out = set(removed)
        changed = {self._records[place].file for place in removed}
        kept = [each for place, each in enumerate(self._records) if place not in left_out]
        for each in added:
            record = self._made(each, kept)
            changed.add(record.file)
            kept.insert(len(kept) if each.place is None else each.place, record)
        tabs = ".tsv" in self._paths[0].suffixes[-2:]
        ending = "tsv" if tabs else "csv"
        first = in_new_folder(f"000000.{ending}")
        for number, path in enumerate(self._paths):
            name = first.with_stem(f"{number:06}")
            if number in changed or path.suffix.lower() == ".gz":
                self._write(name, number, [it for it in kept if it.file == number])
            else:
                name.symlink_to(path)
        return first if len(self._paths) == 1 else str(first.with_stem("*"))

    def _write(self, path: Path, number: int, records: Sequence[_Record]) -> None:
        """Write a file, in its encoding. All lines but the last one are ended."""
        end = self._end.encode()
        lines = [self._heads[number], *(each.raw for each in records)]
        ended = [line if line.endswith(b"\n") else line + end for line in lines[:-1]]
        content = b"".join([*ended, lines[-1]])
        if not self._whole:
            path.write_bytes(content)
            return
        plain = path.with_suffix(".utf8")
        plain.write_bytes(content)
        decode_file(plain, "utf-8", path, self._encoding)
        plain.unlink()

    def _made(self, added: AddedRecord, kept: Sequence[_Record]) -> _Record:
        base = None if added.base is None else self._records[added.base]
        if base is not None and not added.cells:
            return base
        cells = list(base.cells) if base is not None and base.cells else [""] * len(self.names)
        for name, cell in added.cells.items():
            cells[self._places[str(name)]] = _text(cell) or ""
        line = self._format.separator.join(map(self._written, cells)) + self._end
        if not line.strip():  # an empty line would be no record
            line = f'""{self._end}' if self._format.quote == '"' else line
        encoding = "utf-8" if self._whole else self._format.encoding
        where = 0 if base is None else base.file
        if added.place is not None and added.place < len(kept):
            where = kept[added.place].file
        return _Record(line.encode(encoding), cells, where)

    def _written(self, cell: str) -> str:
        quote = self._format.quote
        if quote is None or not any(
            it in cell for it in (quote, self._format.separator, "\r", "\n")
        ):
            return cell
        return f"{quote}{cell.replace(quote, 2 * quote)}{quote}"

    def discard(self, data: Any) -> None:
        """Delete the folder of the new files."""
        discard_folder(data)


def _text(cell: Any) -> str | None:
    """The text of a cell in a file; None if there is none."""
    match cell:
        case None:
            return ""
        case bool():
            return "true" if cell else "false"
        case str():
            return cell
        case int() | float() | Decimal():
            return str(cell)
        case dt.date():
            return cell.isoformat()
    return None
