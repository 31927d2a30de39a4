"""`Ranges`: exact values, claims, and answers whose ranges add up and have intervals."""

import datetime as dt
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pandas as pd
import pytest

from composition import FiltCon
from curator.codec import CodecError, decode, encode
from mechanisms import (
    Count,
    Gaussian,
    Keys,
    Laplace,
    Mean,
    PrivacyUnit,
    Sum,
    Table,
    Total,
    TreeCounter,
    column,
)
from mechanisms.tables.spans.designs import design_of
from mechanisms.tables.spans.ranges import Ranges
from queryable import ZCDP, ApproxDP, Loss, PureDP, Queryable, QueryError, SeededCoins, Update
from queryable.answers.released import Released
from queryable.effort import within_effort
from tests.engines import mostly, opened

RANDOM = np.random.default_rng(5)
START = dt.date(2024, 1, 1)
PLACES = RANDOM.integers(-5, 80, 3000).tolist()
ROWS = [(place % 40, START + dt.timedelta(place), place % 7) for place in PLACES]
TYPES = {"who": "integer", "day": "date", "cost": "integer"}
DAYS = Keys.days("day", "2024-01-01", "2024-03-10")
VISITS = pd.DataFrame(ROWS, columns=list(TYPES)).astype({"day": "datetime64[ns]"})


def by_day(rows: Any, value: Any) -> list[int]:
    return [sum(value(row) for row in rows if row[1] == day) for day in DAYS.values]


COUNTS = by_day(ROWS, lambda row: 1)
COSTS = by_day(ROWS, lambda row: min(row[2], 5))


def released(statistic: Any, loss: Loss, **options: Any) -> Any:
    budget = PureDP(9) if isinstance(loss, PureDP) else ZCDP(9)
    with Table(VISITS, **options) as table:
        root = Queryable(FiltCon(budget), table, coins=SeededCoins(3), allow_seeded=True)
        return root.release(statistic, loss=loss)


@pytest.mark.parametrize("engine", mostly("duckdb", "ibis on sqlite", "ibis on postgres"))
def test_the_integers_are_sums_of_keys_on_every_engine(engine: str) -> None:
    with opened(engine, TYPES, ROWS) as visits:
        for of, exact in ((None, COUNTS), (visits.sum("cost", 0, 5), COSTS)):
            ranges = visits.ranges(DAYS, of)
            for design in ("root", "blocks"):
                asked = Ranges(ranges.by, ranges.statistic, design)
                entries = design_of(design, 70).applied(np.array(exact, dtype=object))
                assert asked(visits).tolist() == entries.tolist()


def test_a_file_in_memory_has_the_same_integers() -> None:
    data = {name: VISITS[name].to_numpy() for name in TYPES}
    with Table(VISITS) as table:
        assert Ranges(DAYS)(data).tolist() == table.ranges(DAYS)(table).tolist()


def test_only_the_rows_of_a_unit_that_count_do() -> None:
    with Table(VISITS, privacy_unit="who", max_rows=7, seed=1) as visits:
        asked = visits.ranges(Keys.bins("cost", range(8)))
        cells = asked._design.solved(asked(visits).tolist())
        assert sum(cells) == 7 * 40
        of_rows = Ranges(asked.by)
        assert asked.l1 == 7 * of_rows.l1
        assert float(asked.l2) == pytest.approx(7 * float(of_rows.l2), rel=1e-20)


def test_a_unit_in_few_rows_a_day_is_cheaper() -> None:
    """With 30 rows on 30 days the norm is two thirds of that on one day."""
    one, spread = (
        Ranges(DAYS, Count(per=PrivacyUnit("who", max_rows=30, max_rows_per_group=each)))
        for each in (30, 1)
    )
    assert spread.l1 == one.l1
    assert spread.l2 < one.l2 * Fraction(2, 3)


@pytest.mark.parametrize("loss", [ZCDP("1/2"), PureDP(1)], ids=["gaussian", "laplace"])
def test_all_estimates_add_up_and_are_in_their_intervals(loss: Loss) -> None:
    answer = released(Ranges(DAYS), loss)
    assert answer.estimate.shape == (70,)
    for first, last in ((0, 69), (3, 3), (10, 41)):
        low, high = (DAYS.values[place] for place in (first, last))
        range_ = answer.total(low, high)
        assert range_.estimate == pytest.approx(answer.estimate[first : last + 1].sum(), abs=1e-9)
        ends = range_.interval("0.999999")
        assert ends[0] <= sum(COUNTS[first : last + 1]) <= ends[1]
        assert ends[0] < range_.estimate < ends[1]
    assert answer.total() == answer[:] == answer["2024-01-01":"2024-03-10"]
    low, high = answer.interval("0.999999", simultaneous=True)
    assert (low <= COUNTS).all()
    assert (high >= COUNTS).all()
    single = answer["2024-01-31"].interval()
    assert single == tuple(end[30] for end in answer.interval())
    assert single == answer.total("2024-01-31", dt.date(2024, 1, 31)).interval()


def test_the_noise_of_a_range_is_one_and_the_same() -> None:
    """A range less its parts has no noise left; one day less is as accurate as the day."""
    answer = released(Ranges(DAYS), ZCDP("1/8"))
    long, short = answer["2024-01-01":"2024-02-10"], answer["2024-01-01":"2024-02-09"]
    day = answer["2024-02-10"]
    low, high = (long - short - day).interval()
    assert -1e-6 < low <= 0 <= high < 1e-6

    def width(one: Released) -> float:
        low, high = one.interval()
        return float(high - low)

    assert width(long - short) == pytest.approx(width(day), rel=0.02)
    assert width(answer.total()) < 4 * width(day)
    assert width(long / answer.total()) < 0.1


@pytest.mark.parametrize(
    ("loss", "budget", "design"),
    [
        (ZCDP(1), ZCDP(9), "root"),
        (ApproxDP(1, "1e-6"), ZCDP(9), "root"),
        (PureDP(1), ZCDP(9), "blocks"),
        (PureDP(1), PureDP(9), "blocks"),
        (ApproxDP(1, 0), PureDP(9), "blocks"),
    ],
)
def test_the_design_is_that_for_the_noise(loss: Loss, budget: Loss, design: str) -> None:
    asked = Ranges(DAYS)
    for given in ("root", "blocks"):
        one = Ranges(asked.by, asked.statistic, given)
        made = one.measurement(type(budget), 2, loss=loss)
        assert made.statistic.design == design
        kind: Any = PureDP if design == "blocks" else ZCDP
        assert made.loss(2) <= kind.within(loss)


def test_intervals_of_numbers_have_edges() -> None:
    answer = released(Ranges(Keys.bins("cost", range(8))), ZCDP(9))
    assert answer.total(2, 5).estimate == pytest.approx(answer.estimate[2:5].sum())
    assert answer[:3].estimate == pytest.approx(answer.estimate[:3].sum())
    assert answer[5:].estimate == pytest.approx(answer.estimate[5:].sum())
    assert "cost = [2, 3) to [4, 5)" in answer[2:5].title
    for wrong in ((5, 2), (9, None), (None, 9), ("2.5", None)):
        with pytest.raises(KeyError):
            answer.total(*wrong)
    with pytest.raises(KeyError, match="step"):
        _ = answer[0:6:2]
    with pytest.raises(KeyError, match="no key"):
        _ = answer[11]


def test_a_sum_is_in_its_unit() -> None:
    answer = released(Ranges(DAYS, Sum("cost", 0, 5, unit="1/4")), ZCDP(9))
    low, high = answer.total().interval("0.999999")
    assert low <= sum(COSTS) <= high
    assert high - low < 60


def test_counters_add_the_integers_of_batches() -> None:
    """Of data that grow too: what a counter answers is solved as a release is."""
    asked = Ranges(Keys.bins("cost", range(8)))
    counter: Any = TreeCounter(asked, rho=10**9, horizon=2)
    state, _ = counter.init(None)
    for part in (VISITS[:1000], VISITS[1000:]):
        state, _ = counter.step(state, Update(part), SeededCoins(1))
    _, total = counter.step(state, Total())
    assert asked.estimate(total).round().tolist() == by_cost()


def by_cost() -> list[int]:
    return [sum(row[2] == cost for row in ROWS) for cost in range(7)]


def test_within_is_refused_and_groups_too() -> None:
    with pytest.raises(QueryError, match="give loss="):
        Ranges(DAYS).measurement(ZCDP, 1, within=3)
    with Table(VISITS) as visits, pytest.raises(TypeError, match="whole table"):
        visits.group_by({"cost": [1, 2]}).ranges(DAYS)


def test_a_where_is_kept() -> None:
    with Table(VISITS) as visits:
        some = visits.ranges(DAYS, visits.count(column("cost") > 3))
        assert some.request.where == (column("cost") > 3)
        assert some.public_name == "Ranges of Count by day truncated to day"


def test_many_designs_are_too_much_for_one_message() -> None:
    """Their steps are counted when they are read, each design once, and those of each release."""
    with within_effort() as left:
        for _ in range(3):
            Ranges(Keys.bins("cost", range(1001)))
        assert left.taken == 10**6
        with pytest.raises(QueryError, match="fewer keys"):
            _ = [Ranges(Keys.bins("cost", range(each))) for each in range(990, 1000)]
    asked = Ranges(Keys.bins("cost", range(1001)))
    assert Gaussian(asked, rho=1).effort.steps > 10**6 // 2 < Laplace(asked, epsilon=1).effort.steps


WRONG: dict[str, tuple[Any, ...]] = {
    "one column": ({"cost": [1], "who": [2]},),
    "at most 1024": (Keys.bins("cost", range(1026)),),
    "a Count or a Sum": (DAYS, Mean("cost", 0, 5)),
    "design is": (DAYS, Count(), "tree"),
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_keys_and_statistics_are_named(text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        Ranges(*WRONG[text])


@pytest.mark.parametrize("ends", [(-1, 3), (4, 3), (3, 70)])
def test_a_range_that_does_not_fit_is_not_read(ends: tuple[int, int]) -> None:
    answer = released(Ranges(DAYS), ZCDP(9)).total()
    assert decode(encode(answer)) == answer
    first, last = ends
    wrong = attrs.evolve(answer, evidence=attrs.evolve(answer.evidence, first=first, last=last))
    with pytest.raises(CodecError, match="range"):
        decode(encode(wrong))


def test_days_are_named_as_in_a_calendar() -> None:
    days = Keys.days("day", "2024-02-28", dt.date(2024, 3, 1))
    assert [str(day) for day in days.values] == ["2024-02-28", "2024-02-29", "2024-03-01"]
    with pytest.raises(ValueError, match="after last"):
        Keys.days("day", "2024-02-02", "2024-02-01")
    for wrong in ("2024-02", "1.2.2024", 20240201):
        with pytest.raises(TypeError, match="should be a date"):
            Keys.days("day", wrong, "2024-12-31")
