"""What could not be read in a source, for its owner alone.

All of this depends on rows, so it is private: no error, `repr` or display that an analyst sees
contains any of it, and nothing of it decides whether a batch arrives.
"""

import warnings
from collections.abc import Iterator, Mapping

import attrs

from mechanisms.tables.engines.files.cell_formats import PLAIN
from mechanisms.tables.engines.files.encodings import advice as encoding_advice
from mechanisms.tables.engines.files.samples import Sample, advice_for, short, to_do, without_cells
from queryable.errors import MisreadWarning


@attrs.frozen
class MisreadFinding:
    """One thing that was lost or is probably not read as intended.

    Args:
        column: its name; an empty text for all of them.
        text: for the owner. It may contain a cell.
        most: whether the owner is warned without having asked: most of a column is not read, or
            its type follows from one cell.
        remedy: what to write, without a cell; an empty text if nothing is known.
    """

    column: str
    text: str
    most: bool
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.column}: {self.text}" if self.column else self.text

    @property
    def named(self) -> str:
        """What a warning says of it: the column and what to write, no cell and no number."""
        named = repr(self.column) if self.column else "the rows"
        return f"{named} ({self.remedy})" if self.remedy else named


@attrs.frozen(repr=False)
class Misread:
    """What could not be read in a source. Private: for the data's owner alone.

    `str` of it contains cells of the data. Its `repr` contains nothing.

    Args:
        rows: the number of rows.
        misfits: how many rows are missing entirely: lines of a CSV file that do not parse, or that
            have another number of cells than the header.
        cells: for each column with a declared type, or of a Parquet file with text or times, how
            many cells are missing because they are not valid values of the type.
        examples: for columns with a declared type, one such cell.
        samples: for columns without a declared type, how the cells of the first rows are read.
        declared: the declared types.
        undecoded: for each column of text, how many cells of a file are missing because their bytes
            are no text in its encoding.
        too_long: for columns of a CSV file, how many cells are missing because they are too long.
        unread: for columns of Python objects, how many objects are missing because they are no
            text, number, truth value, date, time, duration or bytes.
        encoding: of the files.
        likely: the encoding that they were probably written in, if another.
        notes: further findings, about names and types.
        options: whether the source takes options; the cells of a frame are converted before.
    """

    rows: int
    misfits: int
    cells: Mapping[str, int]
    examples: Mapping[str, str] = attrs.field(factory=dict)
    samples: Mapping[str, Sample] = attrs.field(factory=dict)
    declared: Mapping[str, str] = attrs.field(factory=dict)
    undecoded: Mapping[str, int] = attrs.field(factory=dict)
    too_long: Mapping[str, int] = attrs.field(factory=dict)
    unread: Mapping[str, int] = attrs.field(factory=dict)
    encoding: str = "utf-8"
    likely: str = ""
    notes: tuple[MisreadFinding, ...] = ()
    options: bool = True

    @property
    def findings(self) -> tuple[str, ...]:
        """What was lost or is probably not read as intended; one text each, empty if nothing."""
        return tuple(map(str, self._found()))

    def _found(self) -> Iterator[MisreadFinding]:
        if self.misfits:
            text = (
                f"{self.misfits:,} rows are missing: they do not parse, or do not have as many "
                "cells as the header"
            )
            yield MisreadFinding("", text, self._is_most(self.misfits))
        yield from self.notes
        yield from self._of_encoding()
        for name, lost in self.cells.items():
            if lost and (self.options or not self.undecoded.get(name)):
                text, remedy = self._type(name)
                yield MisreadFinding(
                    name, f"{lost:,} cells are no valid {text}", self._is_most(lost), remedy
                )
        for name, lost in self.too_long.items():
            if lost:
                text = f"{lost:,} cells are longer than 65,536 bytes and are missing"
                yield MisreadFinding(name, text, self._is_most(lost))
        for name, lost in self.unread.items():
            if lost:
                text = f"{lost:,} objects are no text, number, date or time and are missing"
                yield MisreadFinding(name, text, self._is_most(lost))
        for name, sample in self.samples.items():
            if text := sample.finding():
                yield MisreadFinding(name, text, sample.is_most, sample.remedy)

    def _is_most(self, lost: int) -> bool:
        return 2 * lost > self.rows

    def _of_encoding(self) -> Iterator[MisreadFinding]:
        where, remedy = self.encoding, f"write {encoding_advice(self.likely or 'cp1252')}"
        if not self.options:
            remedy = "write the file again, with text in UTF-8"
        for name, lost in self.undecoded.items():
            if lost:
                text = f"{lost:,} cells are no text of {where} and are missing; {remedy}"
                yield MisreadFinding(name, text, True, remedy)
        if self.likely and not any(self.undecoded.values()):
            text = f"the files are read as {where}, but seem to be {self.likely}; {remedy}"
            yield MisreadFinding("", text, True, remedy)

    def require_decoded(self, column: str) -> None:
        """Check that all cells of a column of a file are text in its encoding.

        Raises:
            ValueError: some are not; the text says how many, so it is for the owner.
        """
        for finding in self._of_encoding():
            if finding.column == column:
                raise ValueError(
                    f"{finding.remedy}: {self.undecoded[column]:,} cells of {column!r}, the "
                    f"privacy unit, are no text of {self.encoding}: their rows would count for "
                    "nobody"
                )

    def warn(self, stacklevel: int = 2) -> None:
        """Warn the owner if most of a column is not read, or its type follows from one cell."""
        found = dict.fromkeys(each.named for each in self._found() if each.most)
        if found:
            warnings.warn(
                f"much of the data is probably not read as it is meant: {', '.join(found)}. "
                "print(table.misread) says why, and on_misread=print does so at each opening. This "
                "depends on rows, so it is for the data's owner only",
                MisreadWarning,
                stacklevel=stacklevel + 1,
            )

    def _type(self, name: str) -> tuple[str, str]:
        """The type that cells are missing of, with an example, and what to write."""
        kind = self.declared.get(name, "text or time")
        if name not in self.examples:
            return f"{kind} and are missing", ""
        advice = advice_for([self.examples[name]], PLAIN, kind, name)
        write, remedy = "", ""
        if advice:
            write = f"; {to_do(advice, options=self.options)}"
            remedy = to_do(without_cells(advice), options=self.options)
        return f"{kind} and are missing, for example {short(self.examples[name])}{write}", remedy

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows", *self.findings]
        return "\n- ".join(lines if self.findings else [f"{lines[0]}, all read"])

    def __repr__(self) -> str:
        return "<Misread: private, for the owner>"
