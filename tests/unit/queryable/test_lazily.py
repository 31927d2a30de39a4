"""Names that are imported when they are first used; the packages' own tables are in test_layout."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


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
