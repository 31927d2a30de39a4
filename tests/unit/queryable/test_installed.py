"""What is installed, what is optional, and what is imported late."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from composition import ConComp, FiltCon, FiltSeq
from mechanisms import Count, Laplace
from queryable import PureDP
from queryable.installed import PACKAGES, stranger
from queryable.optional import (
    added_noise,
    empty_account,
    guarantee,
    interleaves,
    public_name,
    started_with,
)
from queryable.wording.guarantees import Guarantee, documented
from tests.strategies import Toy

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
    # `queryable` on the package index is another project.
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("notebooks/*.ipynb")]
    sources = [each for name in PACKAGES for each in ROOT.glob(f"{name}/**/*.*")]
    assert len(pages) > 50
    for page in [*pages, *(each for each in sources if each.suffix in (".py", ".toml"))]:
        text = page.read_text()
        for quote in ('"', "'", '\\"', ""):
            assert f"pip install {quote}queryable" not in text, page


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


def test_the_defaults_of_a_class_that_defines_none() -> None:
    toy = Toy()
    assert public_name(toy) == "Toy"
    assert guarantee(toy) == documented(Toy)
    assert (added_noise(toy), empty_account(toy), started_with(toy)) == (None, None, {})
    assert interleaves(toy) is True
    noisy = Laplace(Count(), epsilon=1)
    assert public_name(noisy) == "Laplace of Count"
    assert added_noise(noisy) == noisy.added_noise()
    filtered = FiltCon(PureDP(1))
    assert empty_account(filtered) == filtered.account()
    assert guarantee(filtered) == filtered.guarantee()
    assert list(started_with(ConComp([Toy(), Toy()]))) == [0, 1]
    assert not interleaves(FiltSeq(PureDP(1)))


def test_a_member_that_fails_or_is_wrong_is_left_out() -> None:
    @attrs.frozen
    class Broken(Toy):
        @property
        def public_name(self) -> Any:
            return 1 / 0

        def guarantee(self) -> Any:
            return 1 / 0

    @attrs.frozen
    class Wrong(Toy):
        public_name = " "

        def guarantee(self) -> Any:
            return "safe"

    for mechanism in (Broken(), Wrong()):
        assert public_name(mechanism) == type(mechanism).__name__
        assert guarantee(mechanism) == Guarantee()


def test_what_is_no_mechanism_has_no_guarantee_and_no_noise() -> None:
    """A class is no mechanism either."""
    for value in (None, Laplace, Count()):
        assert guarantee(value) == Guarantee()
        assert added_noise(value) is None


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package with a table, a module that is in it, one that is not, and one that fails."""
    place = tmp_path / "lazy_package"
    place.mkdir()
    (place / "__init__.py").write_text(
        "from queryable.lazily import lazily\n"
        "__all__ = ['known']\n"
        "__getattr__, __dir__ = lazily(__name__, {'lazy_package.home': 'known other'})\n"
    )
    (place / "home.py").write_text("known, other = object(), 2\n")
    (place / "room.py").write_text("")
    (place / "broken.py").write_text("import lazy_package_that_is_missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield "lazy_package"
    for name in [each for each in sys.modules if each.partition(".")[0] == "lazy_package"]:
        del sys.modules[name]


def test_a_name_is_loaded_when_it_is_used(package: str) -> None:
    module = __import__(package)
    assert f"{package}.home" not in sys.modules
    known = module.known
    assert f"{package}.home" in sys.modules
    assert vars(module)["known"] is known is module.known


def test_dir_has_names_and_loads_none(package: str) -> None:
    module = __import__(package)
    assert {"known", "other", "__all__"} <= set(dir(module))
    assert f"{package}.home" not in sys.modules


def test_a_star_imports_what_all_says(package: str) -> None:
    names: dict[str, object] = {}
    exec(f"from {package} import *", names)
    assert set(names) - {"__builtins__"} == {"known"}


def test_a_module_is_found_by_its_name(package: str) -> None:
    module = __import__(package)
    assert module.room is sys.modules[f"{package}.room"]


@pytest.mark.parametrize("name", ["missing", "__wrapped__"])
def test_a_missing_name_is_an_attribute_error(package: str, name: str) -> None:
    with pytest.raises(AttributeError, match=f"'{package}' has no attribute '{name}'"):
        getattr(__import__(package), name)


def test_an_error_inside_a_module_is_not_hidden(package: str) -> None:
    """A module that exists and lacks a dependency says which."""
    with pytest.raises(ModuleNotFoundError, match="lazy_package_that_is_missing"):
        _ = __import__(package).broken
