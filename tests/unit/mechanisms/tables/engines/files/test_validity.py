"""Cells that are invalid for Arrow become missing, each by itself."""

import pyarrow as pa

from mechanisms.tables.engines.files.validity import valid_cells

BYTES = [b"a", b"\xff", b"b", None, b"\xed\xa0\x80"]
VALID = ["a", None, "b", None, None]


def unchecked(cells: list[bytes | None]) -> pa.Array:
    """Bytes that Arrow takes for text."""
    data = pa.array(cells, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(cells), data.buffers())


def test_text_that_is_not_utf8_is_missing() -> None:
    text = unchecked(BYTES)
    lists = pa.ListArray.from_arrays(pa.array(range(6), pa.int32()), text)
    coded = pa.DictionaryArray.from_arrays(pa.array(range(5)), text)
    chunked = pa.chunked_array([text[:3], text[3:]])
    table = valid_cells(pa.table({"t": chunked, "l": lists, "d": coded, "n": range(5)}))
    assert table["t"].to_pylist() == VALID
    assert table["d"].to_pylist() == VALID
    assert table["l"].to_pylist() == [["a"], None, ["b"], [None], None]
    assert table["n"].to_pylist() == [0, 1, 2, 3, 4]


def test_valid_columns_are_not_copied() -> None:
    table = pa.table({"t": ["a", None], "n": [1, 2]})
    assert valid_cells(table) is table
