"""The tables of mutants: small wrong changes of the packages, each with a test that finds it.

One TOML file for each group of rooms. Its `rooms` are the folders that it is about; a package
stands for its own modules, a room for all that is below it. Every other entry is a mutant: its name
says what is wrong, `change` is a file, the old text and the new one, and `test` a test without its
parameters.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PACKAGES = ("queryable", "mechanisms", "composition", "curator")


@attrs.frozen
class Mutant:
    """One text of a file, replaced by another; `test` has to fail then."""

    table: str
    name: str
    file: str
    old: str
    new: str
    test: str

    def __str__(self) -> str:
        return f"{self.table}: {self.name}"


@attrs.frozen
class Table:
    """The mutants of some rooms."""

    name: str
    rooms: tuple[str, ...]
    mutants: tuple[Mutant, ...]


def table(path: Path) -> Table:
    """Read one table."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))
    rooms = tuple(entries.pop("rooms"))
    rows = (
        Mutant(path.stem, name, *entry["change"], entry["test"]) for name, entry in entries.items()
    )
    return Table(path.stem, rooms, tuple(rows))


def tables() -> list[Table]:
    """Every table."""
    return [table(path) for path in sorted(HERE.glob("*.toml"))]


def room(file: str, rooms: Sequence[str]) -> str | None:
    """The innermost of these rooms that a file is in; a package has its own modules only."""
    folder = Path(file).parent
    above = [folder, *folder.parents]
    inner = (str(each) for each in above if str(each) not in PACKAGES or each == folder)
    return next((each for each in inner if each in rooms), None)


def complaints(every: Sequence[Table], root: Path = ROOT) -> Iterator[str]:
    """What is wrong with tables, without running anything."""
    owners = Counter(each for one in every for each in one.rooms)
    yield from (f"{each} is in {count} tables" for each, count in owners.items() if count > 1)
    for package in PACKAGES:
        folders = {path.parent for path in (root / package).rglob("*.py")}
        for folder in sorted(str(each.relative_to(root)) for each in folders):
            if room(f"{folder}/module.py", [*owners]) is None:
                yield f"{folder} is in no table"
    changes = Counter((it.file, it.old, it.new) for one in every for it in one.mutants)
    for one in every:
        for mutant in one.mutants:
            if room(mutant.file, [*owners]) not in one.rooms:
                yield f"{mutant}: {mutant.file} is in another table's room"
            if changes[mutant.file, mutant.old, mutant.new] > 1:
                yield f"{mutant} is there twice"
            yield from (f"{mutant}: {each}" for each in wrong(mutant, root))


def wrong(mutant: Mutant, root: Path = ROOT) -> Iterator[str]:
    """Why a mutant cannot be made and tested in a tree."""
    path, old = root / mutant.file, mutant.old
    count = path.read_text(encoding="utf-8").count(old) if path.is_file() else 0
    if count != 1:
        yield f"its old text is {count} times in {mutant.file}"
    if old == mutant.new:
        yield "it changes nothing"
    file, _, function = mutant.test.partition("::")
    tests = (root / file).read_text(encoding="utf-8") if (root / file).is_file() else ""
    if f"def {function.rpartition('::')[2]}(" not in tests:
        yield f"there is no test {mutant.test}"
