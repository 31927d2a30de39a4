"""Faults that are seeded into the packages are found, and nothing is found without them."""

import pytest

from queryable.audit import NeighbourReport, on_neighbours
from tests.audit.neighbours.analyses import ANALYSES
from tests.audit.neighbours.seeded import SEEDS

NEIGHBOURS = {
    "counts": 80,
    "units": 12,
    "found": 12,
    "in_a_file": 24,
}  # those of tables take longest


def checked(name: str) -> NeighbourReport:
    return on_neighbours(ANALYSES[name](), NEIGHBOURS.get(name, 40))


@pytest.mark.parametrize("name", ANALYSES)
def test_nothing_is_found_without_a_fault(name: str) -> None:
    report = checked(name)
    assert report.holds, report
    assert not report.unchecked, report
    assert report.ratio == 1, report  # some neighbour comes as far as the claim allows


@pytest.mark.parametrize("name", SEEDS)
def test_a_seeded_fault_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    analysis, measure, seed = SEEDS[name]
    seed(monkeypatch)
    report = checked(analysis)
    assert not report.holds
    assert measure in {each.measure for each in report.broken}, report


def test_there_are_enough_faults() -> None:
    assert len(SEEDS) >= 20
