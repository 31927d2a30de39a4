"""Which rows of units count in blocks."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from composition.compositors.blocks.units import NO_UNITS, kept_rows


class Loud:
    """A cell that raises when it is compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __hash__(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("records", "kept"),
    [
        ({"who": ["x", None, "x", "y"], "n": [0, 1, 2, 3]}, {"who": ["x", "y"], "n": [0, 3]}),
        ({"who": np.array([1.0, np.nan, 1.0, 2.0])}, {"who": np.array([1.0, 2.0])}),
        ([{"who": "x"}, {}, {"who": "y"}], [{"who": "x"}, {"who": "y"}]),
        ([{"who": [1]}, {"who": Loud()}, {"who": "y"}], [{"who": "y"}]),
    ],
)
def test_rows_without_a_unit_and_beyond_the_limit_do_not_count(records: Any, kept: Any) -> None:
    found, _ = kept_rows(records, "who", NO_UNITS, 0, 1, 1)
    np.testing.assert_equal(found, kept)


def test_a_frame() -> None:
    found, _ = kept_rows(pd.DataFrame({"who": [1, 1, 2]}), "who", NO_UNITS, 0, 1, 1)
    assert found["who"].tolist() == [1, 2]


def test_a_batch_of_which_all_rows_count_is_not_copied() -> None:
    records = {"who": ["x", "y"]}
    assert kept_rows(records, "who", NO_UNITS, 0, 1, 1)[0] is records


def test_other_units_change_nothing() -> None:
    """The rows of a unit that count are the same, whichever other units there are."""
    batches = [["x", "y", "x"], ["y", "x"], ["x"], ["z", "x"]]
    places, alone, among = [0, 0, 1, 2], [], []
    units = others = NO_UNITS
    for place, batch in zip(places, batches, strict=True):
        rows: Any = [{"who": name, "at": at} for at, name in enumerate(batch)]
        both, others = kept_rows(rows, "who", others, place, 2, 2)
        mine, units = kept_rows(
            [each for each in rows if each["who"] == "x"], "who", units, place, 2, 2
        )
        among.append([each for each in both if each["who"] == "x"])
        alone.append(mine)
    assert among == alone
    assert [len(each) for each in alone] == [2, 0, 1, 0]
