"""The checks are a second opinion: they use no rule, and no rule uses them when it decides."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import composition
from tests.test_layout import imports

RULES = Path(composition.__file__).parent / "rules"
CHECKS = "composition.rules.checks"
LOSSES = "queryable.losses"
CLASSES = {"GDP", "ZCDP", "AdditiveLoss", "ApproxDP", "ApproxZCDP", "Dominated", "Loss", "Parts"}
ASKED = {"added", "check", "fits", "keeps", "wrong_step", "wrong_terms", "in_balls"}
"""What only whoever checks an account asks of it and of its rule."""


def _used(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names imported from the checks, each with the functions or fields of classes that use it."""
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(CHECKS)
        for alias in node.names
    } - {"Accountable", "Verdict"}
    for kind in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for part in kind.body:
            name = getattr(part, "name", "") or ast.unparse(part).partition(" ")[0]
            for node in ast.walk(part):
                if isinstance(node, ast.Name) and node.id in names:
                    yield node.id, name.rstrip(":")
    for node in tree.body:
        if not isinstance(node, ast.ClassDef | ast.ImportFrom):
            yield from ((n.id, "") for n in ast.walk(node) if _is_name(n, names))


def _is_name(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


@pytest.mark.parametrize("path", sorted((RULES / "checks").glob("*.py")), ids=lambda p: p.stem)
def test_checks_import_classes_of_losses_and_exact_numbers_only(path: Path) -> None:
    ours = {
        name
        for name in imports(ast.parse(path.read_text()))
        if name.partition(".")[0] in {"composition", "queryable"}
    }
    allowed = {f"{LOSSES}.{name}" for name in CLASSES}
    left = {each for each in ours - allowed if not each.startswith((CHECKS, f"{LOSSES}.numbers"))}
    assert left == set()


def test_no_rule_uses_a_check_when_it_decides() -> None:
    found = set[str]()
    for path in RULES.rglob("*.py"):
        if path.parent != RULES / "checks":
            found |= {where for _, where in _used(ast.parse(path.read_text()))}
    assert found == ASKED


def test_a_rule_that_does_is_found() -> None:
    text = f"from {CHECKS}.curves import below\nclass A:\n    def within(self): return below(1)\n"
    assert [*_used(ast.parse(text))] == [("below", "within")]
