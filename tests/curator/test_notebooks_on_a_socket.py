"""The cells of the notebooks with every `Queryable(..)` behind a socket, and in this process.

Both are on ledgers with one key and one salt a seed, and with the codec of a curator. What a cell
prints has to be the same, and at the end each view, tree and ledger are compared with those of
memory. Notebooks 5, 7 and 9 open no `Queryable`. No handle over a socket can feed: the cell of
notebook 6 that does is left out, and notebook 8, whose analysis of a curator whose owner feeds
files is in `test_feeding`.
"""

import re
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat
import pytest

from curator.codec import CODEC
from queryable import Queryable
from tests.on_ledger import OnLedger
from tests.on_socket import OnSocket

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
PARTS: dict[str, dict[int, str]] = {
    "1_first_analysis": {},
    "2_interleaving_and_nesting": {
        9: "Rounding has no tag",
        11: "Talkative has no tag",
        12: "Talkative has no tag",
    },
    "3_choosing_a_rule": {},
    "4_accuracy_first": {
        3: "a Python function has no tag",
        5: "a Statistic holds a Python function",
    },
    "6_writing_your_own": {
        5: "Roster has no tag",
        6: "name 'asked' is not defined",  # what the cell before would have launched
        9: "Bisection has no tag",
        10: "name 'search' is not defined",
        13: "Vouchers has no tag",
    },
}
"""The cells that are refused, by notebook and number among its cells of code, with the reason.

What has no tag is a class of the notebook's own: a site would give it one by an entry point.
"""
REASON = re.compile(
    r"(\w+ has no tag|a Python function has no tag|a Statistic holds a Python "
    r"function|name '\w+' is not defined)"
)


def ran(name: str, way: OnLedger) -> list[str]:
    """What each cell prints, or the class and text of what it raises."""
    cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    with way.running(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for cell in cells:
            if cell.cell_type != "code":
                continue
            if ".feed(" in cell.source:
                printed.append("")
                continue
            with redirect_stdout(StringIO()) as text:
                try:
                    exec(compile(cell.source, name, "exec"), names)
                except Exception as error:
                    text.write(f"raises {type(error).__name__}: {error}")
            shown = [repr(each) for each in names.values() if isinstance(each, Queryable)]
            printed.append(text.getvalue() + "".join(shown))
    return printed


def refused(text: str) -> str | None:
    """Why a cell was refused."""
    if "raises " not in text and "CodecError" not in text:
        return None
    found = REASON.search(text)
    return found[0] if found else None


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_a_notebook_through_a_socket(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLBACKEND", "Agg")
    told = []
    for way in (OnSocket(), OnLedger(None)):
        folder = tmp_path / type(way).__name__
        folder.mkdir()
        monkeypatch.chdir(folder)
        with patch("tests.on_ledger.LENIENT", CODEC), patch("tests.on_socket.LENIENT", CODEC):
            told.append(ran(name, way))
    assert any(told[0])
    # A refusal says where in the message it is, and a ledger's message has a path before it.
    remote, local = ([re.sub(r"; it is in [\w.]+", "", each) for each in cells] for cells in told)
    assert remote == local
    reasons = {number: refused(text) for number, text in enumerate(remote)}
    assert {number: why for number, why in reasons.items() if why} == PARTS[name]
    others = [text for number, text in enumerate(remote) if number not in PARTS[name]]
    assert not [text for text in others if "raises " in text and "Error: " in text]
