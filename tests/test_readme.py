"""The README and the page of claims: code runs, tables are true, paths exist.

`python tests/test_readme.py` (`make claims`) writes the generated table into docs/claims.md.
"""

import re
from pathlib import Path

import pytest

from composition import validity

ROOT = Path(__file__).parent.parent
README, CLAIMS = ROOT / "README.md", ROOT / "docs" / "claims.md"
BEGIN, END = "<!-- validity: begin (make claims) -->\n", "<!-- validity: end -->"


def text(page: Path = README) -> str:
    return page.read_text(encoding="utf-8")


def blocks(language: str, of: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", of, flags=re.MULTILINE | re.DOTALL)


def parted() -> tuple[str, str]:
    """What runs in one process, and the section about several."""
    before, title, rest = text().partition("## Analysts in other processes\n")
    section, end, after = rest.partition("\n## ")
    assert title
    return f"{before}{end}{after}", section


def with_validity(page: str) -> str:
    """The text with the validity table as the code has it now."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}{validity.as_markdown()}{END}{after}"


def claims() -> list[list[str]]:
    """The cells of the table claim, theorem, module, test."""
    table = text(CLAIMS).split("| Claim |")[1].split("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


def test_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The blocks, one after another, in an empty folder; `test_served_pages.py` runs the others."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for source in blocks("python", parted()[0]):
        exec(compile(source, str(README), "exec"), names)
    assert capsys.readouterr().err == ""


def test_there_is_code() -> None:
    assert all(blocks("python", part) for part in parted())


def test_validity_table_is_up_to_date() -> None:
    assert with_validity(text(CLAIMS)) == text(CLAIMS), "run `make claims`"


def test_a_stale_table_is_noticed() -> None:
    stale = text(CLAIMS).replace(BEGIN, f"{BEGIN}| GDP | Basic | yes | yes | yes |\n")
    assert with_validity(stale) != stale


def test_claims_name_what_exists() -> None:
    assert len(claims()) >= 5
    for cells in claims():
        assert len(cells) == 4, cells
        for path in re.findall(r"`([\w/]+\.py|[\w/]+/)`", cells[2] + cells[3]):
            assert (ROOT / path).exists(), f"{cells[0]}: {path}"
        assert re.search(r"`(queryable|mechanisms|composition)/", cells[2]), cells
        assert "`tests/" in cells[3], cells


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_make_targets_exist(page: str) -> None:
    rules = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"`make ([\w-]+)", (ROOT / page).read_text()))
    assert named
    assert named <= rules


def test_links_lead_somewhere() -> None:
    for page in (README, CLAIMS):
        for target in re.findall(r"\]\(([^)#:]+)\)", text(page)):
            assert (page.parent / target).exists(), target


def test_the_readme_is_short() -> None:
    assert len(text().split()) <= 2200


if __name__ == "__main__":
    CLAIMS.write_text(with_validity(text(CLAIMS)), encoding="utf-8")
