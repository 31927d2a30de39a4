"""Other projects have packages of the same names, and two distributions overwrite each other."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from queryable.installed import PACKAGES, stranger

ROOT = Path(__file__).parents[3]


def imported(name: str, *path: Path) -> subprocess.CompletedProcess[str]:
    """Import a package in a process with this path."""
    program = f"import sys; sys.path[:0] = {[str(each) for each in path]!r}; import {name}"
    return subprocess.run(
        [sys.executable, "-P", "-W", "always", "-c", program],
        env={},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages, as an installation has them."""
    folder = tmp_path_factory.mktemp("site-packages")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def test_all_packages_are_ours() -> None:
    """A package without the line in its `__init__.py` would be taken for a stranger's."""
    assert [stranger(name) for name in PACKAGES] == [None] * 4
    assert stranger("json") is not None


@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize("merged", [False, True])
def test_another_projects_package_is_named(
    copied: Path, tmp_path: Path, name: str, merged: bool
) -> None:
    """First on the path, or installed over ours, which leaves our other files in its folder."""
    if merged:
        folder = tmp_path / "all"
        shutil.copytree(copied, folder)
        path = [folder]
    else:
        folder = tmp_path
        (folder / name).mkdir()
        path = [folder, copied]
    (folder / name / "__init__.py").write_text("'''Other.'''\n")
    other = "mechanisms" if name == "queryable" else "queryable"
    run = imported(other, *path)
    assert "another project's" in run.stderr
    assert (run.returncode != 0) == (name == "queryable")
    if name != "queryable":
        assert str(folder / name) in run.stderr
        assert run.stderr.count("another project's") == 1


def test_nothing_is_said_where_all_is_ours(copied: Path) -> None:
    run = imported("queryable, mechanisms, composition, curator", copied)
    assert (run.returncode, run.stderr) == (0, "")


def test_no_page_installs_the_strangers_distribution() -> None:
    """`queryable` on the package index is another project."""
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.ipynb")]
    sources = [each for name in PACKAGES for each in ROOT.glob(f"{name}/**/*.*")]
    assert len(pages) > 50
    for page in [*pages, *(each for each in sources if each.suffix in (".py", ".toml"))]:
        text = page.read_text()
        for quote in ('"', "'", '\\"', ""):
            assert f"pip install {quote}queryable" not in text, page
