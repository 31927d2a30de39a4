"""Sums, multiples and quotients of answers, and answers of single keys: their intervals."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Count, GroupBy, Histogram, Laplace, Mean, Std, Sum, column
from mechanisms.tables.statistics.releases import Release
from queryable import ZCDP, Queryable, SeededCoins
from queryable.answers.half_widths import half_width
from queryable.answers.released import Released

ROWS = np.random.default_rng(5)
DATA = {
    "age": ROWS.integers(0, 101, 3000),
    "sex": np.where(ROWS.random(3000) < 0.4, "m", "w"),
    "state": ROWS.choice(["CA", "NY"], 3000),
}
SEXES, STATES = {"sex": ["m", "w"]}, {"state": ["CA", "NY"]}
OLD = column("age") > 50


def opened(seed: int = 1) -> Queryable:
    return Queryable(FiltCon(ZCDP(10**9)), DATA, coins=SeededCoins(seed), allow_seeded=True)


TABLE = opened()
COUNTS = TABLE.release(GroupBy(SEXES, Count()), within=40)
BOTH = TABLE.release(GroupBy(SEXES | STATES, Count()), within=40)
MEANS = TABLE.release(GroupBy(SEXES, Mean("age", 0, 100)), loss=ZCDP("1/20"))
ALL, SOME = TABLE.release(Count(), within=40), TABLE.release(Count(OLD), within=40)


def wide(answer: Released, **options: Any) -> float:
    low, high = answer.interval(**options)
    return float(high) - float(low)


def test_an_entry_has_the_interval_of_its_key() -> None:
    each = COUNTS["m"]
    assert each.estimate == COUNTS.estimate[0]
    assert each.interval() == tuple(int(end[0]) for end in COUNTS.interval())
    assert each.axes == ()
    assert each.title == "Count by sex, sex = m"
    part = BOTH["w"]
    assert part.axes == BOTH.axes[1:]
    assert part["NY"].estimate == BOTH["w", "NY"].estimate == BOTH.estimate[1, 1]
    bins = TABLE.release(Histogram("age", bins=[0, 50, 101]), within=40)
    assert bins["[0, 50)"].estimate == bins.estimate[0]


def test_wrong_keys_are_named() -> None:
    with pytest.raises(KeyError, match="no key 'x' of sex: they are 'm', 'w'"):
        COUNTS["x"]
    with pytest.raises(KeyError, match="one number: it has no keys"):
        ALL["m"]
    with pytest.raises(KeyError, match="one key for each of 2 dimensions"):
        BOTH["m", "NY", 1]


def test_the_same_noise_is_counted_once() -> None:
    """By the union bound the interval of a difference would be 1.6 times as wide."""
    men, women = COUNTS["m"], COUNTS["w"]
    for answer in (men - women, men + women):
        assert wide(answer) < 1.08 * 2**0.5 * wide(men)
    assert wide(men - men) < 1e-6
    assert wide(men + men) == 2 * wide(men) == wide(2 * men)
    assert wide(men + women - women) < 1.05 * wide(men)
    again = (men - women) - (men + women)
    assert again.estimate == -2 * women.estimate
    assert wide(again) < 1.05 * 2 * wide(women)


def test_truncation_widens_what_is_computed_from_means() -> None:
    """It takes up to 3 years from each of two means in units of 3 years."""
    by = TABLE.release(GroupBy(SEXES, Mean("age", 0, 100, unit=3)), loss=ZCDP(10**8))
    assert wide(by["m"] - by["w"]) == pytest.approx(6, abs=0.01)


def test_multiples_are_exact_and_turn_around() -> None:
    low, high = ALL.interval()
    assert (-ALL).interval() == (-high, -low)
    assert (ALL * 3).interval() == (3 * low, 3 * high)
    assert (3 * ALL).estimate == 3 * ALL.estimate
    tenth = ALL / 10
    assert tenth.interval()[0] <= Fraction(low, 10) <= Fraction(high, 10) <= tenth.interval()[1]
    assert str(2 * ALL - SOME).startswith("2 * Count minus Count where age > 50: ")
    assert type(ALL * 0) is int
    assert type(ALL // 4) is int


def test_separate_answers_have_the_union_bound() -> None:
    """The second question, or its accuracy, may have depended on the first answer."""
    difference = ALL - SOME
    law = ALL.evidence.noisy.noise  # type: ignore[attr-defined]
    assert wide(difference) == 4 * half_width(law, Fraction(39, 40))
    narrow = wide(difference, fixed_in_advance=True)
    assert 1.38 * wide(ALL) < narrow < 1.5 * wide(ALL) < 0.95 * wide(difference)
    share = SOME / ALL
    assert wide(share, fixed_in_advance=True) < wide(share)
    mixed = COUNTS["m"] - COUNTS["w"] + ALL
    assert wide(mixed) > wide(mixed, fixed_in_advance=True)
    assert wide(ALL, fixed_in_advance=True) == wide(ALL)


def test_releases_share_what_is_missed_also_below_a_quotient() -> None:
    """The scale of the second may depend on the noise of the first, which is above and below."""
    same = (COUNTS["m"] + COUNTS["w"]) / COUNTS["m"]
    assert wide(same) == wide(same, fixed_in_advance=True)
    for quotient in ((ALL + SOME) / ALL, ALL / (ALL + SOME)):
        assert wide(quotient) > 1.05 * wide(quotient, fixed_in_advance=True)
    both = (COUNTS - ALL)["m"] - COUNTS["w"]
    assert wide(both) > 1.05 * wide(both, fixed_in_advance=True)


def test_quotients_of_zero_have_no_ends() -> None:
    nobody = TABLE.release(Count(column("age") > 500), within=40)
    assert (ALL / nobody).interval() == (-np.inf, np.inf)
    low, high = (nobody / ALL).interval()
    assert -0.03 < low <= 0 <= high < 0.03
    shares = COUNTS / ALL
    assert shares.estimate.shape == (2,)
    assert (shares.interval(simultaneous=True)[0] < shares.interval()[0]).all()


def test_what_is_not_known_is_not_claimed() -> None:
    spread = TABLE.release(Std("age", 0, 100), loss=ZCDP("1/20"))
    low, high = (spread - MEANS["m"]).interval()
    assert low < spread.estimate - MEANS["m"].estimate < high
    with pytest.raises(ValueError, match=r"read \.estimate"):
        (spread / ALL).interval()
    assert "interval" not in str(spread / ALL)
    with pytest.raises(ValueError, match="equal keys"):
        COUNTS / TABLE.release(GroupBy(STATES, Count()), within=40)


def covered(release: Callable[[Queryable], Released], exact: float, **options: Any) -> float:
    """The share of 400 intervals at 80% that hold."""
    held = 0
    for seed in range(400):
        low, high = release(opened(seed)).interval("0.8", **options)
        held += bool(low <= exact <= high)
    return held / 400


def means(table: Queryable) -> Released:
    by = table.release(GroupBy(SEXES, Mean("age", 0, 100)), loss=ZCDP("1/50"))
    return by["m"] - by["w"]


def share(table: Queryable) -> Released:
    by = table.release(GroupBy(SEXES, Count()), within=100)
    return by["m"] / (by["m"] + by["w"])


def laplace(table: Queryable) -> Released:
    by = table.launch(Release(Laplace(GroupBy(SEXES, Sum("age", 0, 100)), scale=2000)))
    return by["m"] - 2 * by["w"]


MEN = DATA["sex"] == "m"
EXACT: dict[Any, Any] = {
    means: DATA["age"][MEN].mean() - DATA["age"][~MEN].mean(),
    share: MEN.mean(),
    laplace: DATA["age"][MEN].sum() - 2 * DATA["age"][~MEN].sum(),
}


@pytest.mark.slow
@pytest.mark.parametrize("release", EXACT, ids=lambda release: release.__name__)
def test_intervals_of_combinations_cover(release: Any) -> None:
    """Below 0.72 at a chance of 0.8 has a probability of 5e-5; above 0.9 they would be wide."""
    assert 0.72 < covered(release, EXACT[release]) < 0.9


@pytest.mark.slow
def test_a_scale_chosen_by_an_answer_breaks_the_narrow_interval_only() -> None:
    """An analyst who sees that the first noise is large asks the second question exactly."""
    true = Fraction(int(MEN.sum()) + 3000)

    def chosen(table: Queryable) -> Released:
        first = table.release(Count(), within=100)
        far = abs(first.estimate - 3000) > 71
        return first + table.release(Count(column("sex") == "m"), within=1 if far else 100)

    assert covered(chosen, float(true)) > 0.72
    assert covered(chosen, float(true), fixed_in_advance=True) < 0.78
