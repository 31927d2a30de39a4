"""Files of a batch, and folders of files that are blocks, as Hive and Spark write them.

Which files and folders there are, and their names, is public.
"""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import unquote

from mechanisms.tables.engines.files.opening import Sources

_ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet", ".pq")


def sources_of(source: str | Path) -> Sources | None:
    """The files of a path, a pattern or a folder; None if it is a folder without files.

    Raises:
        ValueError, FileNotFoundError: it is none of these.
    """
    if not Path(source).is_dir():
        return Sources.of(source)
    return of_files(_files(Path(source)))


def blocks_of(source: str | Path, column: str) -> list[tuple[str, Sources | None]]:
    """The folders `column=name` in a folder: for each block its name and its files, in order.

    Blocks are in the order of their names, by number if all of them are whole numbers.

    Raises:
        ValueError, FileNotFoundError: there is no such folder, or none with a file.
    """
    if not Path(source).is_dir():
        raise ValueError(
            f"give the folder that contains {column}=.. folders; source is {str(source)!r}"
        )
    found = {
        unquote(folder.name.partition("=")[2]): folder
        for folder in Path(source).iterdir()
        if folder.is_dir() and folder.name.partition("=")[:2] == (column, "=")
    }
    names = sorted(found, key=int) if all(map(_whole, found)) else sorted(found)
    files = [(name, of_files(_files(found[name]))) for name in names]
    if not any(sources for _, sources in files):
        raise FileNotFoundError(f"no folder {column}=.. in {str(source)!r} has a file")
    return files


def of_files(paths: Iterable[Path]) -> Sources | None:
    """Files that are opened together; None if there are none.

    Raises:
        ValueError: they are of two forms.
    """
    each = [Sources.of(path) for path in paths]
    if not each:
        return None
    if len({sources.form for sources in each}) > 1:
        raise ValueError("give files of one form: some are CSV files and others Parquet files")
    return Sources(
        each[0].form,
        tuple(path for sources in each for path in sources.paths),
        tuple(stamp for sources in each for stamp in sources.stamps),
    )


def _files(folder: Path) -> list[Path]:
    """Its files, also in folders below. Hidden files are what a writer has not finished."""
    return sorted(
        path
        for path in folder.rglob("*")
        if path.name.lower().endswith(_ENDINGS)
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    )


def _whole(name: str) -> bool:
    return name.isascii() and name.isdigit()
