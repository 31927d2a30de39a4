"""Whether a batch is taken, and by whom of a tree, depends on its public form alone.

Data of each form get batches of each form, with many contents. At 1b177ec a list for an array was
refused if one of its cells made numpy choose another type, a text in it made one part of a
`Parallel` refuse what the root had taken, and a cell whose comparison raises stopped a batch in
`Blocks` for all mechanisms (`test_units_in_batches` has such cells in every form).
"""

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from composition import Blocks, ConComp, FiltCon, Individual, Parallel, Partition
from mechanisms import Count, Gaussian, Laplace, Total, TreeCounter
from queryable import ZCDP, Launch, MechanismFault, PureDP, Queryable, QueryError, UserLevel
from queryable.streams.blocks import BlocksQuery
from tests.attacks.hostile_tables import objects
from tests.attacks.test_individual import Silent

CELLS: dict[str, list[list[Any]]] = {
    "numbers": [[], [25], [25] * 9 + [2**63], [1, 2.5], [10**400], [True], [1, None], [0.5]],
    "texts": [[], ["a"], ["a", "abcdef"], ["a", 1], [1], ["\ud800"], [None]],
    "anything": [[], [1], ["a", b"a"], [[1], [2]], [np.zeros(2), np.zeros(2)], [None], [object()]],
}
"""Columns of the same public form, if they are in lists."""


def listed(kind: Any, dtype: Any) -> Callable[[list[Any]], Any]:
    """A column of a type; what is no cell of it is left out, as the owner would."""

    def made(cells: list[Any]) -> Any:
        known = (str,) if dtype in ("U3", "str") else (int, float)
        fits = [each for each in cells if type(each) in known and abs_(each) < 2**31]
        return kind(fits, dtype)

    return made


def abs_(cell: Any) -> float:
    return 0 if isinstance(cell, str) else abs(cell)


COLUMNS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "objects": objects,
    "int64": listed(np.array, "i8"),
    "int32": listed(np.array, "i4"),
    "float64": listed(np.array, "f8"),
    "moment": lambda cells: np.zeros(len(cells), "M8[us]"),
    "day": lambda cells: np.zeros(len(cells), "M8[D]"),
    "text": listed(np.array, "U3"),
    "masked": lambda cells: np.ma.array(np.zeros(len(cells), dtype=np.int64)),
    "pandas": lambda cells: pd.Series(np.zeros(len(cells), dtype=np.int64)),
    "pandas of objects": lambda cells: pd.Series(objects(cells), dtype=object),
    "polars": lambda cells: pl.Series(np.zeros(len(cells), dtype=np.int64)),
}
ALONE = ("list", "tuple", "objects", "int64", "int32", "float64", "moment", "day", "text")
QUICK = ("list", "objects", "int64", "text")
WHOLE: dict[str, Callable[[list[Any]], Any]] = {
    "column": lambda column: {"u": column, "x": [0] * len(column)},
    "alone": lambda column: column,
}


def outcome_of(data: Any, batch: Any, *, column: bool) -> tuple[Any, ...]:
    """Whether a batch is taken, and who of the tree has failed."""
    root = Queryable(FiltCon(ZCDP(10**12)), data, coins=Silent(), allow_seeded=True)
    event, total = TreeCounter(Count(), rho=1, horizon=9), Total()
    parts = {1: FiltCon(PureDP(10)), "a": event, "other": FiltCon(PureDP(10))}
    pure = Laplace(Count(), epsilon=1)
    inner = root.launch(FiltCon(ZCDP(10**9)))
    key = "u" if column else lambda record: record
    divided = inner.launch(Parallel(Partition(key, [1, "a"]), parts)).children
    asked = [(root.launch(event), total), (inner.launch(event), total), (divided["a"], total)]
    asked += [(divided[1], pure), (divided["other"], pure), (inner, Gaussian(Count(), rho=1))]
    asked.append((root.launch(Individual(10)), Gaussian(Count(), rho=1)))
    if column:
        level = UserLevel("u", 2)
        counter = TreeCounter(Count(), rho=1, horizon=9, neighbours=level)
        asked += [
            (root.launch(counter), total),
            (inner.launch(ConComp([counter])).children[0], total),
        ]
        asked.append(
            (inner.launch(Blocks(FiltCon(ZCDP(10**6)), "u", 2, unit_rows=2)), BlocksQuery())
        )
    try:
        root.feed(batch, block="a")
        outcome = ["taken"]
    except QueryError as error:
        outcome = [str(error)]
    for handle, question in asked:
        try:
            handle.ask(Launch(question) if isinstance(question, Gaussian | Laplace) else question)
            outcome.append("answers")
        except MechanismFault:
            outcome.append("failed")
    return tuple(outcome)


def same_outcomes(whole: str, of_data: str, of_batch: str, contents: list[list[Any]]) -> None:
    """Batches of one form have one outcome, and one of the form of the data is taken."""
    make, column = WHOLE[whole], whole == "column"
    data, told = make(COLUMNS[of_data]([])), (whole, of_data, of_batch)
    outcomes = {
        outcome_of(data, make(COLUMNS[of_batch](cells)), column=column) for cells in contents
    }
    assert len(outcomes) == 1, (told, outcomes)
    [[taken, *alive]] = outcomes
    assert "failed" not in alive, told
    assert taken == "taken" or of_data != of_batch, told


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("of_data", QUICK)
@pytest.mark.parametrize("of_batch", QUICK)
def test_whether_a_batch_is_taken_depends_on_its_public_form(of_data: str, of_batch: str) -> None:
    """Some forms, with contents of which numpy makes other types, or none."""
    name = {"int64": "numbers", "text": "texts"}.get(of_data, "anything")
    same_outcomes("column", of_data, of_batch, CELLS[name][:4])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("of_data", COLUMNS)
@pytest.mark.parametrize("whole", WHOLE)
def test_so_it_does_for_all_forms(of_data: str, whole: str) -> None:
    """Data of each form, batches of each, and all contents."""
    known = COLUMNS if whole == "column" else ALONE
    cells = [each for several in CELLS.values() for each in several]
    for of_batch in COLUMNS if of_data in known else ():
        same_outcomes(whole, of_data, of_batch, cells)


def test_a_list_for_an_array_is_refused_whatever_is_in_it() -> None:
    """One integer beyond 64 bits made numpy choose another type, and the batch was dropped."""
    told = []
    for cells in ([], [25] * 1000, [*[25] * 1000, 2**63], ["a"]):
        q = Queryable(
            FiltCon(ZCDP(10**12)), {"u": np.array([25, 25])}, coins=Silent(), allow_seeded=True
        )
        with pytest.raises(QueryError, match=r"array of int64.*not list") as refused:
            q.feed({"u": cells})
        told.append((str(refused.value), int(q(Gaussian(Count(), rho=1)))))
    assert len(set(told)) == 1


# Who reads units or rows. Whoever else does is compared above, too.

ROOT = Path(__file__).parents[2]
OWNERS = ("queryable/audit", "mechanisms/tables/neighbours")  # they make data, for their owner
READING = {"column_keys", "column_values", "keys_of", "key_of", "rows_of", "take"}
KNOWN = {
    "composition/compositors/fixed/partition.py",  # Parallel
    "composition/compositors/blocks/units.py",  # Blocks
    "mechanisms/counters/contributions.py",  # counters
    "mechanisms/opendp/records.py",  # tests/unit/mechanisms/opendp/test_records.py
    "mechanisms/tables/requests/arrays.py",  # statistics: tests/attacks/test_one_record.py
    "mechanisms/tables/requests/found_in_arrays.py",  # found keys, too
    "mechanisms/tables/requests/keys.py",  # public keys
    "queryable/streams/contributions.py",  # Individual
}


def test_everybody_who_reads_rows_or_units_is_known() -> None:
    """A module that begins to read them needs a reader above."""
    found = set()
    for package in ("queryable", "mechanisms", "composition", "curator"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text()
            tree = ast.parse(text if "queryable.data" in text else "")
            names = {
                each.name
                for node in ast.walk(tree)
                if isinstance(node, ast.ImportFrom)
                and (node.module or "").startswith("queryable.data")
                for each in node.names
            }
            own = any(path.is_relative_to(ROOT / each) for each in ("queryable/data", *OWNERS))
            if names & READING and not own:
                found.add(str(path.relative_to(ROOT)))
    assert found == KNOWN
