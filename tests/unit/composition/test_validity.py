"""The table of theorems, and that the code does what it says."""

from typing import Any

import pytest

from composition import VALIDITY, FiltCon
from composition.validity import Proven, Row, Unproven, as_markdown, has_coin, require_proof
from queryable import (
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Launch,
    Loss,
    PureDP,
    UnprovenCompositionError,
)
from tests.strategies import LOSSES, Courier, RandomWord, Toy


def test_every_row_has_a_verdict_for_each_kind() -> None:
    """A cell names its theorem, or the problem and what to do instead."""
    for row in VALIDITY:
        for verdict in (row.fixed, row.adaptive, row.sequential):
            assert isinstance(verdict, Proven | Unproven)
            assert verdict.theorem if isinstance(verdict, Proven) else verdict.instead


def test_the_table_is_what_the_readme_shows() -> None:
    """One line a row, the refusals marked."""
    lines = as_markdown().splitlines()
    assert len(lines) == 2 + len(VALIDITY)
    for row, line in zip(VALIDITY, lines[2:], strict=True):
        assert row.measure in line
        assert ("**no**" in line) == any(
            isinstance(verdict, Unproven) for verdict in (row.fixed, row.adaptive, row.sequential)
        )


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_basic_composition_of_each_measure_has_a_row(loss: Loss) -> None:
    """What `FiltCon` admits by default is proven in the table, for adaptive interleaving."""
    name = type(loss).__name__
    rows = [row for row in VALIDITY if row.measure.startswith(name) and row.rule == "Basic"]
    assert any(isinstance(row.adaptive, Proven) for row in rows)


def unproven(rows: tuple[Row, ...]) -> list[Row]:
    """The rows that may not be interleaved."""
    return [row for row in rows if isinstance(row.adaptive, Unproven)]


def test_the_one_open_cell_is_refused_and_the_rest_is_not() -> None:
    """Interactive and known only as approximate zCDP with delta > 0: nothing else."""
    (row,) = (row for row in unproven(VALIDITY) if row.measure.startswith("ApproxZCDP"))
    assert row.measure == "ApproxZCDP alone, interactive"
    filtered = FiltCon(ApproxZCDP(1, "1e-6"))
    state, _ = filtered.init(None)
    with pytest.raises(UnprovenCompositionError, match="is open") as caught:
        filtered.step(state, Launch(Toy(ApproxZCDP("0.1", "1e-9"))))
    assert isinstance(row.adaptive, Unproven)
    assert row.adaptive.problem in str(caught.value)
    assert row.adaptive.instead in str(caught.value)


COINED: list[tuple[Any, bool]] = [
    (Toy(ApproxZCDP("0.1", 0)), True),
    (Toy(ApproxDP("0.1", "1e-9")), True),
    (Toy(PureDP("0.1")), True),
    (Toy(ZCDP("0.1")), True),
    (RandomWord(ApproxZCDP("0.1", "1e-9")), True),
    (Courier() @ RandomWord(ApproxZCDP("0.1", "1e-9")), True),
    (FiltCon(ApproxZCDP("0.1", "1e-9")), True),
    (Toy(ApproxZCDP("0.1", "1e-9")), False),
    (Courier() @ Toy(ApproxZCDP("0.1", "1e-9")), False),
]


@pytest.mark.parametrize(("mechanism", "coined"), COINED)
def test_where_the_delta_comes_from(mechanism: Any, coined: bool) -> None:
    """From (epsilon, delta)-DP, a coin at launch, or nowhere: those interleave."""
    assert has_coin(mechanism, 1) is coined
    if coined:
        require_proof(mechanism, ApproxZCDP, 1)
    else:
        with pytest.raises(UnprovenCompositionError):
            require_proof(mechanism, ApproxZCDP, 1)


@pytest.mark.parametrize("measure", [PureDP, ApproxDP, ZCDP])
def test_other_measures_need_no_coin(measure: Any) -> None:
    """The open problem is about approximate zCDP alone."""
    require_proof(Toy(ApproxZCDP("0.1", "1e-9")), measure, 1)
