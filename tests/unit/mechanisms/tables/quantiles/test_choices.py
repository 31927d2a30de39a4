"""Private quantiles: answers, intervals, losses and bounds on units."""

from datetime import date, timedelta
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition import FiltCon
from mechanisms import GroupBy, PrivacyUnit, Quantile, Quantiles, Table, column
from mechanisms.tables.quantiles.choices import Enclosed, PrivateQuantiles
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    SeededCoins,
)
from queryable.audit import broken_laws, every_outcome
from queryable.losses import ApproxZCDP, Dominated

DATA = {"x": np.arange(1000), "g": np.arange(1000) % 3}
BY = {"g": [0, 1, 5]}
GRID = range(0, 1000, 10)


def launched(counts: Quantiles, data: Any = DATA, epsilon: Any = 20, **named: Any) -> Any:
    queryable = Queryable(FiltCon(PureDP(99)), data, coins=SeededCoins(1), allow_seeded=True)
    return queryable.launch(PrivateQuantiles(counts, epsilon, **named))


def test_a_median_with_its_interval() -> None:
    """The answer is a value of the grid, and the interval's ends are too."""
    answer = launched(Quantiles("x", "1/2", GRID))
    low, high = answer.interval()
    assert low <= 499
    assert high >= 500
    assert low <= answer.estimate <= high
    assert {low, answer.estimate, high} <= set(GRID)
    assert high - low <= 40
    assert str(answer).startswith("Median of x: ")


def test_several_levels_and_groups_are_labelled() -> None:
    """One launch; an empty group has an interval without ends."""
    answer = launched(Quantiles("x", ["1/4", "3/4"], GRID, column("x") >= 0, by=BY), epsilon=60)
    assert answer.estimate.shape == (3, 2)
    assert [axis.names for axis in answer.axes] == [("g",), ("level",)]
    low, high = answer.interval()
    assert (low[:2] <= [[250, 750]] * 2).all()
    assert (high[:2] >= [[249, 749]] * 2).all()
    assert (low[2].tolist(), high[2].tolist()) == ([-inf] * 2, [inf] * 2)
    frame = answer.to_pandas()
    assert list(frame.columns) == ["g", "level", "estimate", "low", "high"]
    assert frame["level"].tolist() == [0.25, 0.75] * 3


def misses(asked: PrivateQuantiles, cells: tuple[float, ...], value: float) -> float:
    """The exact probability that the interval of a released answer does not hold a value."""
    data = {"x": np.array(cells)}

    def missed(coins: Any) -> bool:
        low, high = asked.release(data, coins).interval("0.8")
        return not low <= value <= high

    outcomes = every_outcome(missed)
    return sum(float(chance.high) for chance, missed in outcomes if missed)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "cells",
    [(0,) * 3, (0,) * 9 + (2,) * 8, (1,) * 20, (-5,) * 20, (5,) * 20, (0,) * 6 + (1,) * 6],
    ids=str,
)
def test_released_intervals_hold_their_quantiles(cells: tuple[float, ...]) -> None:
    """The whole answer, for tied cells and cells beyond the grid; both middle cells are medians."""
    asked = PrivateQuantiles(Quantiles("x", "1/2", [0, 2]), 5, "0.8")
    middle = len(cells) // 2
    for value in (cells[middle], cells[-1 - middle]):
        assert misses(asked, cells, value) <= 0.2
    assert misses(asked, cells, 99) > 0.2 or max(cells) > 2  # the interval is not everything


@pytest.mark.parametrize(
    ("levels", "by", "name"),
    [
        ("0.5", {}, "Median of x"),
        ("9/10", {}, "9/10-quantile of x"),
        (["1/2"], {}, "Quantiles 1/2 of x"),
        (["1/4", "3/4"], BY, "Quantiles 1/4, 3/4 of x by g"),
    ],
)
def test_names(levels: Any, by: Any, name: str) -> None:
    assert Quantiles("x", levels, GRID, by=by).public_name == name


def test_differences_have_intervals() -> None:
    """Of dates too, where an end that is missing leaves the difference without that end."""
    data = {"day": [date(2024, 1, day) for day in range(1, 29)] * 40, "g": [1, 2] * 560}
    days = [date(2024, 1, day) for day in range(1, 29)]
    counts = [Quantiles("day", level, days) for level in ("1/4", "3/4")]
    one, other = (launched(each, data, confidence="0.99") for each in counts)
    low, high = (other - one).interval(0.95)
    assert low <= timedelta(14) <= high
    everything = launched(Quantiles("day", "1", days), data)
    assert (everything - one).interval()[1] is None
    groups = Quantiles("day", ["0", "1"], days, by={"g": [1, 2]})
    both = launched(groups, data) - launched(groups, data)
    assert both.interval()[0].tolist() == [[None, None]] * 2
    # An end that is beyond the grid is None where there is no infinity.
    days = [date(2024, 1, day) for day in range(1, 29)]
    answer = launched(Quantiles("day", "1/2", days), {"day": days * 40})
    assert answer.estimate in days
    assert answer.interval()[0] <= date(2024, 1, 14)
    beyond = launched(Quantiles("name", "1/2", ["a", "b"]), {"name": ["zoe"] * 400})
    assert beyond.interval() == ("b", None)
    above = launched(Quantiles("name", ["1/2", "1/3"], ["a", "b"]), {"name": ["A"] * 400})
    assert above.interval()[0].tolist() == [None, None]
    assert str(beyond).splitlines()[0] == "Median of name: b (95% interval: b to inf)"
    text = str(launched(Quantiles("x", "1/2", GRID), confidence="0.9"))
    assert text.splitlines()[0].endswith(")")
    cells = np.concatenate([np.full(500, np.nan), np.arange(200.0)])
    low, high = launched(Quantiles("x", "1/2", range(0, 200, 5)), {"x": cells}).interval()
    assert 80 <= low <= 99
    assert 100 <= high <= 120


@pytest.mark.parametrize(
    ("confidence", "wanted", "simultaneous", "fits"),
    [
        ("0.95", "0.95", False, True),
        ("0.95", "0.5", False, True),
        ("0.95", "0.96", False, False),
        ("0.99", "0.96", True, True),
        ("0.99", "0.97", True, False),
    ],
)
def test_intervals_serve_a_confidence_up_to_their_own(
    confidence: str, wanted: str, simultaneous: bool, fits: bool
) -> None:
    """Four of them at once by the union bound; what is missing is named."""
    answer = launched(Quantiles("x", ["1/4", "1/2", "3/4", "9/10"], GRID), confidence=confidence)
    if fits:
        answer.interval(wanted, simultaneous=simultaneous)
    else:
        with pytest.raises(ValueError, match=r"confidence=0\.9"):
            answer.interval(wanted, simultaneous=simultaneous)


def test_estimates_alone_have_all_of_epsilon() -> None:
    counts = Quantiles("x", "1/2", GRID)
    alone, both = PrivateQuantiles(counts, 1, None), PrivateQuantiles(counts, 1)
    zeros = counts({"x": np.zeros(0)})
    rates = [
        law.rate for law in (*alone.laws(counts.levels, zeros), *both.laws(counts.levels, zeros))
    ]
    # the estimate's cuts are sums of two, which halves its rate
    assert rates == [Fraction(1, 4), Fraction(1, 20), Fraction(1, 5), Fraction(1, 5)]
    answer = launched(counts, confidence=None)
    assert abs(answer.estimate - 500) <= 10
    with pytest.raises(ValueError, match="with a confidence"):
        answer.interval()
    assert str(answer) == f"Median of x: {answer.estimate}"


@pytest.mark.parametrize(
    ("measure", "loss"),
    [
        (PureDP, PureDP("1/3")),
        (ZCDP, ZCDP("1/20")),
        (ZCDP, PureDP("1/3")),
        (ZCDP, ApproxDP(1, "1e-6")),
        (ApproxDP, ApproxDP("1/3", "1e-6")),
        (ApproxZCDP, ApproxZCDP("1/20", "1e-6")),
        (RDP.at(4), RDP(4, "1/3")),
        (RDP.at(2, 8), ZCDP("1/20")),
        (GDP, GDP("1/3")),
        (Dominated, Dominated(1, 1, 0)),
    ],
    ids=str,
)
@pytest.mark.parametrize(("d_in", "confidence"), [(1, "0.95"), (3, "0.95"), (1, None)])
def test_a_release_costs_what_is_asked_at_most(
    measure: Any, loss: Any, d_in: int, confidence: Any
) -> None:
    """And more than nine tenths of it, in the measure in which it is stated."""
    counts = Quantiles("x", ["1/4", "1/2"], GRID, by=BY)
    chosen = counts.measurement(measure, d_in, loss=loss, confidence=confidence)
    if measure is ZCDP and isinstance(loss, ApproxDP):
        loss = ZCDP.within(loss)
    stated = loss.measure
    assert chosen.privacy_map(d_in, stated) <= loss
    more = PrivateQuantiles(counts, chosen.epsilon * Fraction(10, 9), confidence)
    assert not more.privacy_map(d_in, stated) <= loss or stated is ApproxDP
    chosen.privacy_map(d_in, measure)


def test_losses_by_hand() -> None:
    """A fifth of each level's half is for the estimate, two fifths for each end."""
    per = PrivacyUnit("id", max_rows=4, max_rows_per_group=2)
    plain = PrivateQuantiles(Quantiles("x", ["1/4", "1/2"], GRID), 1)
    grouped = PrivateQuantiles(Quantiles("x", ["1/4", "1/2"], GRID, by=BY, per=per), 1)
    squares = 2 * (Fraction(1, 10) ** 2 + 2 * Fraction(2, 10) ** 2)
    assert plain.privacy_map(1, ZCDP) == ZCDP(squares / 8)
    assert grouped.privacy_map(1, ZCDP) == ZCDP(squares / 8 * Fraction(8, 16))
    assert grouped.privacy_map(3, ZCDP) == ZCDP(9 * squares / 8 * Fraction(8, 16))
    assert grouped.privacy_map(3) == PureDP(3)
    assert grouped.privacy_map(0, ZCDP) == ZCDP(0)
    rate = grouped.laws(Fraction(1, 4), np.zeros(201, dtype=int))[1].rate
    assert rate == Fraction(1, 5) / (2 * 3 * 4)  # the end's epsilon, sensitivity 3, four rows
    # Without groups they do nothing; a person's three rows lie at three values.
    per = PrivacyUnit("who", max_rows=3, max_groups=1, max_rows_per_group=1)
    rows = [(1, "a", 0), (1, "a", 1), (1, "b", 2)]
    assert Quantiles("x", "1/2", [0, 1], per=per)(table(rows)).sum() == 3
    by = {"g": ["a", "b"]}
    assert Quantiles("x", "1/2", [0, 1], by=by, per=per)(table(rows)).sum() == 1


cells = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("ab"), st.integers(-1, 3)), max_size=16
)
units = st.builds(
    PrivacyUnit,
    st.just("who"),
    max_rows=st.integers(1, 4),
    max_groups=st.one_of(st.none(), st.integers(1, 2)),
    max_rows_per_group=st.one_of(st.none(), st.integers(1, 3)),
)


def table(rows: list[tuple[int, str, int]]) -> Table:
    names = ("who", "g", "x")
    kinds = (np.int64, object, np.int64)
    return Table(
        {
            name: np.array([row[i] for row in rows], dtype=kind)
            for i, (name, kind) in enumerate(zip(names, kinds, strict=True))
        },
        privacy_unit="who",
        max_rows=1,
        seed=3,
        types={"g": "VARCHAR"},
    )


@settings(max_examples=7)
@given(cells, units)
def test_a_person_changes_groups_within_the_bounds(
    rows: list[tuple[int, str, int]], per: PrivacyUnit
) -> None:
    """The rows that a person changes in each group have the norms that the claim is about."""
    counts = Quantiles("x", "1/2", [0, 1], by={"g": ["a", "b"]}, per=per)
    here = counts(table(rows))
    there = counts(table([row for row in rows if row[0] != 1]))
    changed = abs(here - there).sum(axis=-1)
    allowed = counts.request.contribution
    assert changed.sum() <= allowed.l1
    assert (changed**2).sum() <= allowed.l2_squared
    assert changed.max() <= per.rows_per_group
    assert (changed > 0).sum() <= per.groups
    assert counts.l1 == allowed.l1
    assert counts.contribution == allowed


def test_the_laws_of_every_mechanism_hold() -> None:
    """Equal coins give equal answers, and a wrong query changes nothing."""
    asked = PrivateQuantiles(Quantiles("x", ["1/4", "1/2"], GRID, by=BY), 1)
    assert not broken_laws(asked, DATA, (), wrong=(None, 1))
    # For audits, which count equal answers together.
    one, same = (Enclosed(np.array([1]), np.array([2]), Fraction(1, 2)) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != Enclosed(np.array([1]), np.array([3]), Fraction(1, 2))
    assert one != 1


def test_a_release_of_a_quantile_is_that_of_quantiles() -> None:
    """With the same where and unit; by name, the same answer again; a width is refused."""
    table = Table(
        {"who": np.arange(900) % 300, "x": np.arange(900)}, privacy_unit="who", max_rows=3
    )
    queryable = Queryable(FiltCon(ZCDP(9)), table)
    one = Quantile("x", "1/3", GRID, column("x") < 600, per=table.unit)
    answer = queryable.release(one, loss=ZCDP(4), name="a third", confidence="0.95")
    assert answer.title == "1/3-quantile of x where x < 600, at most 3 rows per who"
    low, high = answer.interval()
    assert low <= 200 <= high
    again = queryable.release(one, loss=ZCDP(4), name="a third", confidence="0.95")
    assert again is answer
    assert queryable.release(one, loss=PureDP(1)).evidence.most is None
    with pytest.raises(QueryError, match="give loss="):
        queryable.release(one, within=5)
    with pytest.raises(QueryError, match="confidence"):
        queryable.release(one, loss=ZCDP(1), confidence=1)
    spent = 4 + Fraction(1, 8)
    assert ZCDP(4) <= queryable.privacy_loss() <= ZCDP(spent)


def test_all_of_the_loss_is_for_the_estimate_unless_an_interval_is_asked() -> None:
    """The same for one quantile, for several, for groups and for releases together."""
    queryable = Queryable(FiltCon(PureDP(20)), DATA, coins=SeededCoins(1), allow_seeded=True)
    one, several = Quantile("x", "1/2", GRID), Quantiles("x", ["1/4", "3/4"], GRID, by=BY)
    for asked in (one, several):
        plain = asked.measurement(PureDP, 1, loss=PureDP(1))
        assert plain.confidence is None
        assert plain.epsilon == 1
        with_ends = asked.measurement(PureDP, 1, loss=PureDP(1), confidence="0.9")
        assert (with_ends.confidence, with_ends.epsilon) == (Fraction(9, 10), 1)
        [law] = plain.laws(Fraction(1, 2), plain.counts(DATA).reshape(-1, 2 * len(GRID) + 1)[0])
        wider = with_ends.laws(Fraction(1, 2), plain.counts(DATA).reshape(-1, 201)[0])[0]
        assert law.rate == 5 * wider.rate
    answer, quarters = queryable.release_many([one, several], loss=PureDP(5))
    with pytest.raises(ValueError, match="with a confidence, such as"):
        answer.interval()
    assert str(answer) == f"Median of x: {answer.estimate}"
    assert quarters.evidence.most is None
    ends = queryable.release_many([one, several], loss=PureDP(5), confidence="0.95")
    assert [each.evidence.most for each in ends] == [Fraction(19, 20)] * 2


def test_what_does_not_fit_is_refused() -> None:
    """A column that is not there, another unit, and a subclass that could count a row twice."""
    table = Table({"who": [1, 2], "x": [1, 2]}, privacy_unit="who", max_rows=1)
    queryable = Queryable(FiltCon(ZCDP(9)), table)
    for wrong in (
        Quantile("y", "1/2", GRID, per=table.unit),
        Quantiles("x", "1/2", GRID),
        Quantiles("x", "1/2", GRID, by={"y": [1]}, per=table.unit),
    ):
        with pytest.raises(QueryError, match="nothing is charged"):
            queryable.release(wrong, loss=ZCDP(1))
    assert queryable.privacy_loss() == ZCDP(0)

    class Twice(Quantiles):
        def combined(self, totals: Any) -> Any:
            return 2 * totals

    counts: Any = Twice("x", "1/2", [1])
    with pytest.raises(TypeError, match="Quantiles"):
        PrivateQuantiles(counts, 1)
    with pytest.raises(TypeError, match="statistic"):
        GroupBy(BY, Quantiles("x", "1/2", [1]))
    queryable = Queryable(FiltCon(PureDP(1)), {"x": [1]})
    with pytest.raises(MechanismFault):
        queryable.launch(PrivateQuantiles(Quantiles("x", "1/2", [1], lambda data: data["y"]), 1))
    assert queryable.privacy_loss() == PureDP(1)


@pytest.mark.parametrize("rho", [Fraction(1, 10**30), 10**12])
def test_a_loss_that_is_too_small_or_large_says_which_are_taken(rho: Any) -> None:
    queryable = Queryable(FiltCon(ZCDP(10**15)), DATA)
    quantile = Quantile("x", "1/2", GRID)
    text = r"it should be at least ZCDP\(rho=1\.25e-25\), and below ZCDP\(rho≈1e\+11\)"
    with pytest.raises(QueryError, match=text):
        queryable.release(quantile, loss=ZCDP(rho))
    assert queryable.privacy_loss() == ZCDP(0)
    for taken in (Fraction(125, 10**27), 9 * 10**10):
        queryable.release(quantile, loss=ZCDP(taken))
