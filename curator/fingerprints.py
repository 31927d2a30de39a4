"""Fingerprints of data: whether a ledger is opened on the data that it was made with.

A fingerprint is a dict of texts: what kind of source it is, and a hash of its contents where there
is one. A database is recognised by the name and the columns of its table only; `contents` then says
that nothing of its rows is in the fingerprint. A hash of private contents is stored in the ledger.
It is keyed with the key of the noise, so that nobody without the key can try out contents.
"""

import hmac
import os
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from mechanisms import Table
from queryable.data.guarded import safely
from queryable.data.keys import plain_cell
from queryable.faults import called
from queryable.wording.quoting import quoted

_CHUNK = 1 << 20
_ARROW = ("to_arrow", "__arrow_c_stream__", "__arrow_c_array__")


def fingerprint(dataset: Any, key: bytes) -> dict[str, str]:
    """The fingerprint of a dataset, keyed so that only whoever has the key can compare contents.

    Raises:
        TypeError: its contents cannot be read without running a mechanism.
    """
    digest = hmac.new(key, b"fingerprint", sha256)
    if not isinstance(dataset, Table):
        if type(dataset).__module__.partition(".")[0] == "ibis":  # its rows have no order
            raise TypeError(
                f"give a frame or files: the contents of {quoted(type(dataset))} cannot be "
                "recognised after a restart"
            )
        _feed(dataset, digest)
        return {"kind": "values", "contents": digest.hexdigest()}
    if not dataset.as_opened:
        raise TypeError(
            "give the table as it was opened, and feed the batches: an appended table cannot be "
            "recognised after a restart"
        )
    described = {"kind": "table", "columns": dataset.layout, "unit": _unit(dataset)}
    _feed(sorted((name, repr(value)) for name, value in dataset._reading.items()), digest)
    for part in dataset.made_of:
        digest.update(repr(fingerprint(part, key)).encode())
    for part in dataset._public:
        _of_public(part, digest, key)
    if dataset.made_of:
        return described | {"source": "joined tables", "contents": digest.hexdigest()}
    engine: Any = dataset._engine
    frame = getattr(engine, "_frame", None)
    if dataset._source is not None:
        _of_files(dataset._source, digest)
        return described | {"source": "files", "contents": digest.hexdigest()}
    if frame is not None:
        _feed(frame, digest)
        return described | {"source": "values", "contents": digest.hexdigest()}
    source = getattr(engine, "source", None)
    if type(source).__module__.partition(".")[0] == "ibis":
        return described | {"source": _name_of(source), "contents": "not known: a database"}
    raise TypeError(
        f"open a Table of a file, a frame or a database: {quoted(type(engine))} is an engine whose "
        "data cannot be recognised after a restart"
    )


def fingerprint_of_files(source: str | Path, key: bytes) -> dict[str, str]:
    """The fingerprint of the contents of files: of a path, a pattern or a folder.

    Raises:
        TypeError: there are no such files.
    """
    digest = hmac.new(key, b"fingerprint of files", sha256)
    _of_files(source, digest)
    return {"kind": "files", "contents": digest.hexdigest()}


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """In which parts two fingerprints differ, in words."""
    return "; ".join(
        f"{part}: {before.get(part, 'none')} then, {now.get(part, 'none')} now"
        for part in sorted({*before, *now})
        if before.get(part) != now.get(part)
    )


def _unit(table: Table) -> str:
    """Who is protected, with the bounds, and the column that chooses a unit's rows."""
    choice = table._choice.column
    return f"{table.unit or 'each row'}" + (f", rows by {choice}" if choice is not None else "")


def _of_public(part: Any, digest: "hmac.HMAC", key: bytes) -> None:
    """A public table that was joined, or how it was joined."""
    if isinstance(part, Table):
        digest.update(repr(fingerprint(part, key)).encode())
    elif isinstance(part, str | Path):
        _of_files(part, digest)
    elif type(part).__module__.partition(".")[0] == "ibis":
        digest.update(_name_of(part).encode())
    elif attrs.has(type(part)):
        digest.update(repr(part).encode())
    else:
        _feed(part, digest)


def _name_of(source: Any) -> str:
    """The names of the tables that an expression reads."""
    from ibis.expr.operations import DatabaseTable

    return ", ".join(sorted(each.name for each in source.op().find(DatabaseTable))) or "a query"


def _of_files(source: str | Path, digest: "hmac.HMAC") -> None:
    paths = sorted(Path().glob(str(source))) if not Path(source).is_absolute() else []
    found = [Path(source)] if Path(source).exists() else paths or _absolute(Path(source))
    if not found:
        raise TypeError(
            f"open a Table of files on this machine: the contents of {source} cannot be recognised "
            "after a restart"
        )
    for path, whole in ((file, each) for each in found for file in _in_folder(each)):
        if path != whole:  # the folders of blocks are their names
            digest.update(f"{path.relative_to(whole).as_posix()}:".encode(errors="surrogateescape"))
        digest.update(b"%d:" % path.stat().st_size)
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)


def _in_folder(path: Path) -> list[Path]:
    """The files of a folder of blocks, or the file itself."""
    return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def _absolute(pattern: Path) -> list[Path]:
    anchor = Path(pattern.anchor or os.curdir)
    return sorted(anchor.glob(str(pattern.relative_to(pattern.anchor))))


def _feed(value: Any, digest: "hmac.HMAC") -> None:
    """Hash a value, with the type and length of each part."""
    for part in _parts(value):
        digest.update(b"%d:" % len(part))
        digest.update(part)


def _parts(value: Any) -> Iterator[bytes]:
    """The parts of a data set, a column, or a setting.

    Raises:
        TypeError: it is of a class whose contents cannot be read.
    """
    kind = type(value)
    if _holds(kind) or value is None or plain_cell(value) is not None:
        yield from _of_cell(value)
    elif isinstance(value, np.ndarray):
        yield kind.__name__.encode()
        yield from _of_array(value)
    elif isinstance(value, Mapping):
        yield kind.__name__.encode()
        for name, column in value.items():
            yield from _parts(name)
            if isinstance(column, Mapping):  # otherwise it could end at another place
                yield b"%d" % len(column)
            yield from _parts(column)
    elif any(hasattr(value, name) for name in _ARROW):
        yield kind.__name__.encode()
        yield from _of_frame(value)
    elif isinstance(value, list | tuple):  # of a class of somebody's own
        yield from _of_cell([*value])
    else:
        raise TypeError(
            f"open a Table, a frame, arrays or lists: the contents of {quoted(kind)} cannot be "
            "recognised after a restart"
        )


def _of_cell(value: Any, depth: int = 0) -> Iterator[bytes]:
    """The parts of a record or a cell, and of what is in it.

    No cell makes it fail, since a batch may not be refused for what is in it. Of a cell of another
    class, or deeper in others, only the name of its class is a part.
    """
    kind = type(value)
    yield called(kind).encode(errors="replace")
    if depth == _DEEPEST:
        return
    if kind is np.ndarray:
        yield from _of_array(value, depth + 1)
    elif kind is dict:
        yield b"%d" % len(value)
        for name, each in value.items():
            yield from _of_cell(name, depth + 1)
            yield from _of_cell(each, depth + 1)
    elif _holds(kind):
        yield b"%d" % len(value)
        parts = ([*_of_cell(each, depth + 1)] for each in value)
        for each in parts if kind is list or kind is tuple else sorted(parts):
            yield from each
    else:
        plain = value if kind is float or kind is complex else plain_cell(value)
        yield (safely(_text, plain) or "").encode()


_DEEPEST = 50
_LONG = 10**4


def _holds(kind: type) -> bool:
    """Whether it is a class of containers, not of one's own; a metaclass may define `==`."""
    return kind is list or kind is tuple or kind is set or kind is frozenset


def _text(value: Any) -> str:
    if type(value) is int and value.bit_length() > _LONG:  # Python refuses to write it in digits
        return hex(value)
    return repr(value)


def _of_array(array: "np.ndarray[Any, Any]", depth: int = 0) -> Iterator[bytes]:
    yield f"{array.dtype} {array.shape}".encode()
    if array.dtype.hasobject:
        yield from _of_cell(array.tolist(), depth)
    else:
        yield np.ascontiguousarray(array).tobytes()
    if isinstance(array, np.ma.MaskedArray):
        yield from _parts(np.ma.getmaskarray(array))


def _of_frame(frame: Any) -> Iterator[bytes]:
    import pyarrow as pa

    if isinstance(frame, pa.Array | pa.ChunkedArray):
        frame = {"": frame}
    elif callable(getattr(frame, "to_frame", None)):  # a series
        frame = frame.to_frame("series")
    for name, column in _of_objects(frame):  # Arrow would look for a type of all cells
        yield from _of_cell(name)
        yield from _of_cell(column)
        frame = frame.drop(columns=name) if hasattr(frame, "iloc") else frame.drop(name)
    table = pa.table(frame).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as writer:
        writer.write_table(table.replace_schema_metadata(None))
    yield sink.getvalue().to_pybytes()


def _of_objects(frame: Any) -> list[tuple[Any, list[Any]]]:
    """The columns of Python objects of a frame of pandas or polars, by their names."""
    if hasattr(frame, "iloc"):
        objects = [name for name, kind in frame.dtypes.items() if kind == np.dtype(object)]
        return [(name, frame[name].to_numpy().tolist()) for name in dict.fromkeys(objects)]
    if hasattr(frame, "get_columns"):
        columns = frame.get_columns()
        return [(each.name, each.to_list()) for each in columns if str(each.dtype) == "Object"]
    return []
