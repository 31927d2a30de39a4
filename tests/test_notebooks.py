"""The notebooks run in an empty folder, and their outputs equal the committed ones.

`python tests/test_notebooks.py [name ...]` (`make notebooks`) runs them and saves their outputs.
"""

import os
import re
import sys
from base64 import b64decode, b64encode
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

# These warnings are Jupyter's own, in this process. Warnings of a notebook's kernel are checked.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

ROOT = Path(__file__).parent.parent
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PARAMETERS = [pytest.param(path, id=path.stem) for path in NOTEBOOKS]
LONG = {  # run for 4 to 20 seconds
    "3_choosing_a_rule",
    "4_accuracy_first",
    "5_auditing_your_own_mechanism",
    "6_writing_your_own",
    "7_a_budget_that_survives",
    "8_a_year_of_visits",
    "9_an_agents_session",
}
RUNS = [
    pytest.param(path, id=path.stem, marks=[pytest.mark.slow] if path.stem in LONG else [])
    for path in NOTEBOOKS
]
LARGEST = 300_000  # bytes of a notebook with its outputs
PATHS = re.compile(
    r"/(home|Users|tmp|root|usr|opt|var|private|mnt)/|[A-Z]:\\\\|site-packages|ipykernel_"
)
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def run(notebook: NotebookNode) -> NotebookNode:
    """Run the cells in a fresh kernel and an empty folder; errors become outputs."""
    import matplotlib.font_manager  # noqa: F401 - builds its cache, which prints a message

    fresh = nbformat.from_dict(notebook)
    with TemporaryDirectory() as folder, TemporaryDirectory() as settings:
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "IPYTHONDIR": settings,
        }
        client = NotebookClient(
            fresh,
            timeout=300,
            allow_errors=True,
            kernel_name="python3",
            record_timing=False,
            coalesce_streams=True,  # else printed text may be split at random
            extra_arguments=["--log-level=ERROR"],  # else it warns about local TCP
            resources={"metadata": {"path": folder}},
        )
        client.execute(env=environment)
    for _, output in outputs(fresh):
        if picture := output.get("data", {}).get("image/png"):
            output.data["image/png"] = small(picture)
    return cleaned(fresh)


def small(picture: str) -> str:
    """Reduce a picture (base64) to 128 colours, which saves three quarters of its bytes."""
    from PIL import Image

    image = Image.open(BytesIO(b64decode(picture))).convert("RGBA")
    if image.getchannel("A").getextrema() == (255, 255):  # fully opaque
        image = image.convert("RGB")
    few = image.quantize(128, dither=Image.Dither.NONE)
    few.save(into := BytesIO(), "png", optimize=True)
    return b64encode(into.getvalue()).decode()


def cleaned(notebook: NotebookNode) -> NotebookNode:
    """Remove the metadata that differ between two runs or two machines."""
    notebook.metadata = nbformat.from_dict({**KERNEL, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        tags = cell.metadata.get("tags")
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
    return notebook


def outputs(notebook: NotebookNode) -> Iterator[tuple[NotebookNode, NotebookNode]]:
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            yield cell, output


def text(output: NotebookNode) -> str:
    content = output.get("text") or output.get("data", {}).get("text/plain", "")
    return f"{output.output_type}: {content}"


def disturbances(notebook: NotebookNode) -> list[str]:
    """Return errors, and everything written to stderr, such as warnings."""
    return [
        f"{cell.source[:60]!r}: {text(output)}"
        for cell, output in outputs(notebook)
        if output.output_type == "error" or output.get("name") == "stderr"
    ]


def differences(committed: NotebookNode, fresh: NotebookNode) -> list[str]:
    """Return the cells whose committed text outputs differ from a run; pictures are ignored."""
    return [
        f"{old.source[:60]!r}: {said!r} is now {says!r}"
        for old, new in zip(committed.cells, fresh.cells, strict=True)
        if (said := [text(each) for each in old.get("outputs", ())])
        != (says := [text(each) for each in new.get("outputs", ())])
    ]


def complaints(notebook: NotebookNode) -> list[str]:
    """Return the reasons why a notebook must not be committed."""
    found = []
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    if counts != list(range(1, len(counts) + 1)):
        found.append(f"not saved after a run from top to bottom: cells numbered {counts}")
    if not any(True for _ in outputs(notebook)):
        found.append("no outputs")
    size = len(nbformat.writes(notebook).encode())
    if size > LARGEST:
        found.append(f"{size:,} bytes; at most {LARGEST:,}")
    for cell, output in outputs(notebook):
        data = output.get("data", {})
        said = f"{text(output)} {[data[kind] for kind in data if 'image' not in kind]}"
        if PATHS.search(said) or str(ROOT) in said:
            found.append(f"a path of this machine after {cell.source[:60]!r}")
        if re.search(r"\b0x[0-9a-f]{6,}", said):
            found.append(f"an address in memory after {cell.source[:60]!r}")
    if cleaned(nbformat.from_dict(notebook)) != notebook:
        found.append("metadata of one machine or run")
    return found


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", RUNS)
def test_outputs_equal_the_committed_ones(path: Path) -> None:
    fresh = run(read(path))
    assert disturbances(fresh) == []
    assert differences(read(path), fresh) == [], "run `make notebooks`"


@pytest.mark.parametrize("path", PARAMETERS)
def test_is_fit_to_be_committed(path: Path) -> None:
    assert complaints(read(path)) == [], "run `make notebooks`"


BAD = {
    "error": "1 / 0",
    "warning": "import warnings\nwarnings.warn('look out')",
    "path": "import os\nos.getcwd()",
    "address": "object()",
    "size": "print('a line\\n' * 50_000)",
}


@pytest.fixture(scope="module")
def tried() -> NotebookNode:
    """A notebook after a run that has every fault which the checks must find."""
    sources = ["import os\nos.listdir()", "'queryable' in globals()", *BAD.values()]
    return run(new_notebook(cells=[new_code_cell(source) for source in sources]))


def only(notebook: NotebookNode, source: str) -> NotebookNode:
    """Return a notebook with one of the cells, as if it were the first."""
    cell = nbformat.from_dict(next(cell for cell in notebook.cells if cell.source == source))
    for each in (cell, *(output for output in cell.outputs if "execution_count" in output)):
        each.execution_count = 1
    return cleaned(new_notebook(cells=[cell]))


def test_the_folder_is_empty_and_the_kernel_fresh(tried: NotebookNode) -> None:
    said = [text(output) for _, output in outputs(tried)]
    assert said[:2] == ["execute_result: []", "execute_result: False"]


def test_errors_and_warnings_are_noticed(tried: NotebookNode) -> None:
    error, warning = disturbances(tried)
    assert "1 / 0" in error
    assert "look out" in warning


@pytest.mark.parametrize("bad", ["path", "address", "size"])
def test_unfit_outputs_are_noticed(tried: NotebookNode, bad: str) -> None:
    assert len(complaints(only(tried, BAD[bad]))) == 1


def test_unsaved_and_edited_cells_are_noticed(tried: NotebookNode) -> None:
    saved = only(tried, "'queryable' in globals()")
    assert complaints(saved) == []
    edited = nbformat.from_dict(saved)
    edited.cells[0].outputs[0].data["text/plain"] = "True"
    assert len(differences(edited, saved)) == 1
    edited.cells.append(new_code_cell("2 + 2"))
    assert len(complaints(edited)) == 1
    assert len(complaints(cleaned(new_notebook(cells=[new_code_cell("1 + 1")])))) == 2
    saved.cells.append(new_markdown_cell("text", metadata={"editable": False}))
    assert complaints(saved) == ["metadata of one machine or run"]


def main(names: list[str]) -> int:
    failed = 0
    for path in [path for path in NOTEBOOKS if not names or path.stem in names]:
        fresh = run(read(path))
        if found := disturbances(fresh):
            failed += 1
            print(f"{path.name} is not saved", *found, sep="\n  ")  # noqa: T201 - a command's answer
        else:
            nbformat.write(fresh, path)
            print(f"{path.name}: {path.stat().st_size:,} bytes")  # noqa: T201 - a command's answer
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
