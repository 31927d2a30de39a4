"""What a release says of itself, and that it is built reproducibly; `make dist` does the rest."""

import json
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.releases import (
    LICENCES,
    ROOT,
    bill,
    build,
    built,
    direct,
    first_example,
    licence,
    licences_page,
)

PACKAGES = [
    {"metadata": {"name": "Some_Name", "version": "1.2", "license_expression": "MIT"}},
    {"metadata": {"name": "other", "version": "3", "license": "a text\n" * 90}},
]


def test_the_page_of_licences_has_every_package_that_an_extra_names() -> None:
    rows = [line.split("|") for line in LICENCES.read_text(encoding="utf-8").splitlines()]
    known = {(row[1].strip(), each) for row in rows if len(row) > 3 for each in row[3].split()}
    missing = [(name, by) for name, by in direct() if (name, f"{by or 'always'}") not in known]
    missing = [each for each in missing if (each[0], f"{each[1] or 'always'},") not in known]
    assert missing == [], "make dist writes docs/licences.md anew"


def test_a_licence_is_what_the_package_states() -> None:
    approved = "License :: OSI Approved"
    assert licence({"license_expression": "MIT", "license": "BSD"}) == "MIT"
    assert licence({"classifier": [approved, f"{approved} :: BSD License"]}) == "BSD License"
    assert licence({"license": "Apache 2.0\nand a text"}) == "Apache 2.0"
    assert licence({"license": "word " * 90}) == licence({}) == "see the package"


def test_a_page_and_a_bill_name_each_package_once() -> None:
    page = licences_page({"": PACKAGES[:1], "table": PACKAGES})
    assert page.count("| some-name | MIT | always, table |") == 1
    assert page.count("| other | a text | table |") == 1
    text = bill("ours", "0.1", PACKAGES)
    assert text == bill("ours", "0.1", PACKAGES)
    read = json.loads(text)
    assert {each["purl"] for each in read["components"]} == {
        "pkg:pypi/some-name@1.2",
        "pkg:pypi/other@3",
    }
    (whole,) = (each for each in read["dependencies"] if "ours" in each["ref"])
    assert len(whole["dependsOn"]) == 2


def test_the_readme_has_an_example_first() -> None:
    example = first_example((ROOT / "README.md").read_text(encoding="utf-8"))
    assert "import" in example
    compile(example, "README.md", "exec")


def test_the_citation_names_the_present_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])


@pytest.mark.slow
def test_the_archives_are_built_reproducibly(tmp_path: Path) -> None:
    sdist, wheel = built(tmp_path / "one")
    assert sdist.read_bytes() == build(ROOT, tmp_path, "sdist").read_bytes()
    assert wheel.read_bytes() == build(ROOT, tmp_path, "wheel").read_bytes()
