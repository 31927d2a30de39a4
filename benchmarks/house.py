"""How large the house is: figures that `make house` prints, each beside what it should be.

Counts lines, modules, names and words of the checkout that it is run in. Lines are those of the
files, with docstrings and empty lines.
"""

import ast
import importlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGES = ("queryable", "mechanisms", "composition", "curator")
HEART = (
    "queryable/mechanism.py",
    "queryable/messages.py",
    "queryable/conversation",
    "queryable/running/root.py",
    "queryable/running/moments.py",
    "queryable/faults.py",
    "queryable/running/log.py",
    "composition/compositors/adaptive.py",
    "composition/compositors/claims.py",
    "composition/compositors/launching.py",
    "composition/compositors/filters.py",
)
"""What a launch in a filter and an ask run through, without losses and randomness."""
NAMES = {"queryable": 48, "mechanisms": 60, "composition": 40}
"""At most so many names in the `__all__` of a package."""


class Figure(NamedTuple):
    """A figure, and the most that it should be; None if it is told only."""

    name: str
    value: int
    most: int | None = None

    def __str__(self) -> str:
        target = "" if self.most is None else f"at most {self.most:,}"
        missed = "" if self.most is None or self.value <= self.most else "  missed"
        return f"{self.name:<52}{self.value:>9,}  {target}{missed}"


def modules(*names: str) -> list[Path]:
    """The Python files at or below these paths of the checkout."""
    paths = [ROOT / name for name in names]
    found = [each for path in paths for each in ([path] if path.is_file() else path.rglob("*.py"))]
    return sorted(each for each in found if "__pycache__" not in each.parts)


def lines(paths: list[Path]) -> int:
    """Their lines together."""
    return sum(each.read_text(encoding="utf-8").count("\n") for each in paths)


def words(*names: str) -> int:
    """The words of pages, as `wc -w` counts them."""
    return sum(len((ROOT / name).read_text(encoding="utf-8").split()) for name in names)


def classes_of(path: Path) -> Iterator[str]:
    """The public classes that a module defines."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def largest_folders() -> list[tuple[int, str]]:
    """Folders of the packages with their number of modules, the largest first."""
    counts: dict[str, int] = defaultdict(int)
    for each in modules(*PACKAGES):
        counts[each.parent.relative_to(ROOT).as_posix()] += 1
    return sorted(((count, name) for name, count in counts.items()), reverse=True)


def names_in_several_modules() -> list[str]:
    """Names of public classes that several modules define."""
    where: dict[str, int] = defaultdict(int)
    for path in modules(*PACKAGES):
        for name in classes_of(path):
            where[name] += 1
    return sorted(name for name, count in where.items() if count > 1)


def figures() -> Iterator[Figure]:
    """All of them."""
    for package in PACKAGES:
        paths = modules(package)
        yield Figure(f"{package}: lines in {len(paths)} modules", lines(paths))
    yield Figure("the heart: lines", lines(modules(*HEART)), 2_000)
    kernel = modules(*HEART, "queryable/running", "queryable/view.py", "composition/compositors")
    yield Figure("kernel and compositors: lines", lines(sorted({*kernel})), 5_800)
    longest = max(lines([each]) for each in modules("queryable", "composition"))
    yield Figure("the longest module of queryable and composition", longest, 330)
    for count, name in largest_folders()[:5]:
        yield Figure(f"modules in {name}", count, 16)
    yield Figure("modules in queryable", len(list((ROOT / "queryable").glob("*.py"))), 16)
    for package, most in NAMES.items():
        yield Figure(
            f"names in {package}.__all__", len(importlib.import_module(package).__all__), most
        )
    yield Figure("class names that several modules have", len(names_in_several_modules()), 0)
    yield Figure("README.md: words", words("README.md"), 2_200)
    yield Figure("CHANGELOG.md: words", words("CHANGELOG.md"), 500)
    yield Figure("tests: lines", lines(modules("tests")), 72_000)


def main() -> None:
    """Print them."""
    for each in figures():
        print(each)
    print("class names that several modules have:", ", ".join(names_in_several_modules()))


if __name__ == "__main__":
    main()
