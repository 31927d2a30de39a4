"""The files that a table opens, and the restriction of DuckDB to these files.

Paths are read literally, and a file that changes after opening is detected.
"""

import re
from collections.abc import Iterable
from glob import glob, has_magic
from pathlib import Path
from shutil import copyfile
from typing import Any

import attrs

SETTINGS = {
    # the statistics in a Parquet file are computed by its writer, and some writers leave out NaN
    "disabled_optimizers": "statistics_propagation,filter_pushdown",
    "preserve_insertion_order": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}
_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET = (".parquet", ".pq")


@attrs.frozen
class Sources:
    """Files, by their paths with all links resolved, and their stamps at opening.

    Args:
        more: further files that may be read later, such as those of blocks.
    """

    form: str = "frame"
    paths: tuple[Path, ...] = ()
    stamps: tuple[tuple[int, ...], ...] = attrs.field(default=(), repr=False)
    more: tuple[Path, ...] = attrs.field(default=(), repr=False)

    @classmethod
    def of(cls, source: str | Path) -> "Sources":
        """The files of a path, or of a pattern if it is a string that names no file itself.

        Raises:
            ValueError: an address on a network, a folder, a pipe, or another sort of file.
            FileNotFoundError: no file is there.
        """
        name = str(source)
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", name):
            raise ValueError(
                f"download the file first, and give its path: source is {name!r}, an address on a "
                "network"
            )
        form = "csv" if name.lower().endswith(_CSV) else "parquet"
        if form == "parquet" and not name.lower().endswith(_PARQUET):
            raise ValueError(
                f"source is {name!r}; it should end in .csv, .tsv, .parquet or .xlsx. With "
                "Ibis open a database, as in Table(ibis.duckdb.connect('a.duckdb').table('visits'))"
            )
        literal = isinstance(source, Path) or not has_magic(name) or Path(name).exists()
        found = [name] if literal else sorted(glob(name, recursive=True))  # noqa: PTH207
        if not found:
            raise FileNotFoundError(f"no file matches the pattern {name!r}")
        paths = tuple(Path(each).resolve(strict=True) for each in found)
        if any(path.is_dir() for path in paths):
            raise ValueError(f"give a file or a pattern of files; source is {name!r}, a folder")
        if not all(path.is_file() for path in paths):  # reading a pipe might never end
            raise ValueError(f"give a regular file; source is {name!r}, a pipe or a device")
        return cls(form, paths, tuple(map(_stamp, paths)))

    def require_unchanged(self) -> None:
        """Check size, inode and time of every file against those at opening.

        Raises:
            ValueError: one of them differs.
        """
        for path, stamp in zip(self.paths, self.stamps, strict=True):
            if _stamp(path) != stamp:
                raise ValueError("open the table again: a file has changed since it was opened")

    def plain(self, folder: str) -> list[str]:
        """Paths that DuckDB does not read as patterns; others are replaced by links."""
        return _plain(self.paths, folder, "")

    def plainly(self, folder: str) -> dict[Path, str]:
        """The same for the files that may be read later."""
        return dict(zip(self.more, _plain(self.more, folder, "more"), strict=True))


def _plain(paths: Iterable[Path], folder: str, prefix: str) -> list[str]:
    named = []
    for i, path in enumerate(paths):
        if has_magic(str(path)) or "\\" in str(path):
            link = Path(folder, f"{prefix}{i}.parquet")
            link.symlink_to(path)
            named.append(str(link))
        else:
            named.append(str(path))
    return named


def linked(path: Path, folder: str, name: str) -> str:
    """A second name of a file in a folder, or a copy of it if it is on another disk.

    A connection may read its own folder, and symbolic links lead out of it.
    """
    here = Path(folder, name)
    try:
        here.hardlink_to(path)
    except OSError:
        copyfile(path, here)
    return str(here)


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def lock_down(connection: Any, opened: Iterable[str], folder: str) -> None:
    """Restrict a connection to the opened files and its own folder, and lock its configuration."""
    paths = ", ".join("'" + path.replace("'", "''") + "'" for path in opened)
    connection.execute(f"SET allowed_paths = [{paths}]")
    own = folder.replace("'", "''")
    connection.execute(f"SET allowed_directories = ['{own}']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
