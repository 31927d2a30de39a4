"""Make each mutant and run its test: `python -m tests.mutants`, or `make mutants`.

--room R     only the tables whose name or rooms contain R
--jobs N     so many at once

Each job has a copy of the tree. It makes a mutant there, runs the one test that should find it, and
puts the file back. First all of these tests run unchanged. The status is 1 if a mutant was not
found or could not be tried. All of them take about 10 minutes on 2 quiet cores.
"""

import os
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from compileall import compile_dir
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

from tests.mutants.tables import ROOT, Mutant, tables, wrong

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "__pycache__", ".*_cache", ".hypothesis"
)
LIMIT = 300.0
"""Seconds that a test may take: some mutants never end."""


class Tree:
    """A copy of the project in which tests run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(ROOT, root, ignore=LEFT_OUT, symlinks=True)
        compile_dir(root, quiet=2)

    def status(self, *tests: str) -> int:
        """What pytest says of these tests: 0 if they pass, 1 if one fails."""
        paths = {"PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1", "CI": "1"}
        options = ("-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--tb=no")
        return subprocess.run(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=self.root,
            env=os.environ | paths,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LIMIT * len(tests),
            check=False,
        ).returncode

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        """The tree with a mutant. What is compiled fits a file of the same time only."""
        path = self.root / mutant.file
        text, was = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        os.utime(path, (1, 1))
        try:
            yield
        finally:
            path.write_text(text, encoding="utf-8")
            os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def outcome(mutant: Mutant, tree: Tree) -> str:
    """Why a mutant counts as not found; nothing if its test fails."""
    try:
        with tree.changed(mutant):
            status = tree.status(mutant.test)
    except subprocess.TimeoutExpired:
        return "its test does not end"
    known = {0: f"not found by {mutant.test}", 1: ""}
    return known.get(status, f"its test does not run: pytest ends with {status}")


def unchanged(mutants: Sequence[Mutant], tree: Tree) -> dict[Mutant, str]:
    """The mutants that cannot be tried, and why."""
    found = {each: "; ".join(wrong(each, tree.root)) for each in mutants}
    tests = dict.fromkeys(each.test for each in mutants if not found[each])
    if tests and tree.status(*tests):
        broken = {each for each in tests if tree.status(each)}
        found |= {it: f"{it.test} fails unchanged" for it in mutants if it.test in broken}
    return {mutant: why for mutant, why in found.items() if why}


def tried(mutants: Sequence[Mutant], jobs: int) -> Iterator[tuple[Mutant, str]]:
    """Each mutant, and why it counts as not found, in turn."""
    with ExitStack() as stack:
        trees: SimpleQueue[Tree] = SimpleQueue()
        for number in range(jobs):
            trees.put(Tree(Path(stack.enter_context(TemporaryDirectory())) / str(number)))
        tree = trees.get()
        errors = unchanged(mutants, tree)
        trees.put(tree)

        def one(mutant: Mutant) -> tuple[Mutant, str]:
            if mutant in errors:
                return mutant, errors[mutant]
            own = trees.get()
            try:
                return mutant, outcome(mutant, own)
            finally:
                trees.put(own)

        yield from stack.enter_context(ThreadPoolExecutor(jobs)).map(one, mutants)


def run(mutants: Sequence[Mutant], jobs: int = 1) -> int:
    """Try mutants and print what becomes of each; 1 if one was not found."""
    missed = 0
    for mutant, why in tried(mutants, jobs):
        missed += bool(why)
        sys.stdout.write(f"{mutant}: {why or 'found'}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{len(mutants) - missed} of {len(mutants)} mutants were found\n")
    return int(missed > 0)


def main(arguments: Sequence[str]) -> int:
    """Run the mutants of some tables."""
    parser = ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("--room", default="")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    chosen = [one for one in tables() if any(given.room in it for it in (one.name, *one.rooms))]
    return run([mutant for one in chosen for mutant in one.mutants], given.jobs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
