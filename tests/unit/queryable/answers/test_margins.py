"""Margins: the sums of noisy cells and the intervals of their noise."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon
from curator.codec import CodecError, decode, encode
from mechanisms import Keys, Table
from mechanisms.sampling.laws import DiscreteGaussian
from queryable import ZCDP, Queryable, SeededCoins
from queryable.answers.half_widths import half_width
from queryable.answers.near import Near, Part
from queryable.answers.noisy import noisy_array
from queryable.answers.weighted_noise import weighted_half_width

RANDOM = np.random.default_rng(3)
ROWS = {
    "who": RANDOM.integers(0, 300, 900),
    "clinic": RANDOM.choice(["Graz", "Linz", "Wien"], 900),
    "sex": RANDOM.choice(["m", "w"], 900),
    "cost": RANDOM.integers(0, 100, 900),
}
BY = {"clinic": ["Graz", "Linz", "Wien"], "sex": ["m", "w"]}


def released(ask: Any, **options: Any) -> Any:
    with Table(ROWS, seed=1, **options) as visits:
        root = Queryable(FiltCon(ZCDP(9)), visits, coins=SeededCoins(1), allow_seeded=True)
        return root.release(ask(visits), loss=ZCDP("1/50"))


COUNTS = released(lambda visits: visits.group_by(BY).count())


def exact(clinic: str | None, sex: str | None) -> int:
    chosen = np.ones(900, dtype=bool)
    for name, key in (("clinic", clinic), ("sex", sex)):
        if key is not None:
            chosen &= ROWS[name] == key
    return int(chosen.sum())


def test_margins_are_the_sums_of_cells() -> None:
    clinics, sexes, whole = COUNTS.margin("clinic"), COUNTS.margin("sex"), COUNTS.total()
    assert clinics.estimate.tolist() == COUNTS.estimate.sum(axis=1).tolist()
    assert sexes.estimate.tolist() == COUNTS.estimate.sum(axis=0).tolist()
    assert type(whole.estimate) is int
    assert whole == COUNTS.margin()
    assert whole.estimate == clinics.total().estimate == sexes.total().estimate
    assert COUNTS.margin("clinic", "sex") is COUNTS
    assert clinics.axes == COUNTS.axes[:1]
    assert whole.title == "Count by clinic, sex, summed over clinic, sex"


def test_the_interval_of_a_margin_is_that_of_its_noise() -> None:
    """A sum of n cells has weights of 1: about sqrt(n) times as wide as a cell."""
    law = COUNTS.evidence.noisy.noise
    for margin, cells in ((COUNTS.margin("clinic"), 2), (COUNTS.margin("sex"), 3)):
        low, high = margin.interval("0.9")
        weights, missed = np.ones(cells), Fraction(1, 10) * Fraction(24, 25)
        far = float(weighted_half_width([law] * cells, weights, missed))
        assert (high - low) / 2 == pytest.approx(np.full(low.shape, far), rel=1e-9)
        assert (high + low) / 2 == pytest.approx(margin.estimate, rel=1e-9)
    joint = COUNTS.margin("clinic").interval("0.9", simultaneous=True)
    single = COUNTS.margin("clinic").interval("29/30")
    assert joint[0].tolist() == single[0].tolist()
    low, high = COUNTS.total().interval("0.999999")
    assert low <= 900 <= high


def test_margins_and_cells_have_the_same_noise() -> None:
    for one, other in (
        (COUNTS["Graz"].total(), COUNTS.margin("clinic")["Graz"]),
        (COUNTS.margin("clinic").total(), COUNTS.total()),
        (COUNTS["Graz", "m"] + COUNTS["Graz", "w"], COUNTS["Graz"].total()),
    ):
        low, high = (one - other).interval()
        assert -1e-6 < low <= 0 <= high < 1e-6
    rest = COUNTS.total() - COUNTS["Graz"].total() - COUNTS["Linz"].total()
    low, high = rest.interval("0.999999")
    assert low <= exact("Wien", None) <= high
    widths = [high - low for low, high in (rest.interval(), COUNTS["Wien"].total().interval())]
    assert widths[0] < 1.1 * widths[1]


@pytest.mark.slow
@pytest.mark.parametrize("scale", [3, 30])
def test_intervals_of_margins_hold(scale: int) -> None:
    """At 95% at most 5% and 4 standard errors are missed, but for a probability of 4e-5 each."""
    law, runs = DiscreteGaussian(scale**2), 4000
    noise = np.asarray(SeededCoins(5).draw(law, (runs, 3, 2)))
    for name in ("clinic", "sex", None):
        missed = 0
        for each in noise[: runs if name is None else runs // 4]:
            evidence = attrs.evolve(COUNTS.evidence, noisy=noisy_array(each.copy(), law))
            answer = attrs.evolve(COUNTS, estimate=each, evidence=evidence)
            margin = answer.margin(*([name] if name else []))
            low, high = np.atleast_1d(*margin.interval())
            missed += int((low[0] > 0) | (high[0] < 0))
        tried = runs if name is None else runs // 4
        assert missed <= tried / 20 + 4 * np.sqrt(tried * 0.0475), name


def test_a_sum_has_margins_in_its_unit() -> None:
    costs = released(lambda visits: visits.group_by(BY).sum("cost", 0, 99, unit="1/2"))
    low, high = costs.total().interval("0.999999")
    assert low <= int(ROWS["cost"].sum()) <= high
    assert costs.margin("sex").estimate == pytest.approx(costs.estimate.sum(axis=0))


def test_a_histogram_has_a_total_and_three_dimensions_have_margins() -> None:
    ages = released(lambda visits: visits.histogram("cost", bins=[0, 30, 60, 100]))
    assert ages.total().estimate == ages.estimate.sum()
    deep = released(lambda visits: visits.group_by(BY, Keys.bins("cost", [0, 50, 100])).count())
    assert deep.margin("cost", "clinic").estimate.tolist() == deep.estimate.sum(axis=1).tolist()
    assert deep.margin("sex").estimate.tolist() == deep.estimate.sum(axis=(0, 2)).tolist()
    with pytest.raises(TypeError, match="has 3"):
        deep.table()


def test_only_sums_of_rows_add_up() -> None:
    unit = {"privacy_unit": "who", "max_rows": 3}
    asks = (
        lambda visits: visits.group_by(BY).mean("cost", 0, 99),
        lambda visits: visits.group_by(BY).count_units(),
        lambda visits: visits.mean("cost", 0, 99),
    )
    for ask in asks:
        with pytest.raises(TypeError, match="add up"):
            released(ask, **unit).margin()
    with pytest.raises(TypeError, match="add up"):
        (COUNTS - COUNTS["Graz"]["m"]).total()
    with pytest.raises(KeyError, match="no column"):
        COUNTS.margin("town")


def test_a_table_has_cells_margins_and_the_sum() -> None:
    lines = COUNTS.table("0.9").splitlines()
    law = COUNTS.evidence.noisy.noise
    assert lines[0].endswith("half-widths of 90% intervals, each by itself")
    assert lines[1].split() == ["clinic", "m", "w", "total"]
    first = f"{COUNTS.estimate[0, 0]} ± {half_width(law, '0.9')}"
    assert lines[2].startswith("Graz ")
    assert first in lines[2]
    assert lines[2].count("±") == 3
    assert lines[-1].startswith("total")
    assert f"{COUNTS.total().estimate}" in lines[-1]


def test_a_frame_has_rows_of_margins() -> None:
    frame = COUNTS.to_pandas("0.9", margins=True)
    assert len(frame) == 6 + 3 + 2 + 1
    assert frame[frame.sex == "all"].clinic.tolist() == [*BY["clinic"], "all"]
    assert frame.estimate.tolist()[-1] == COUNTS.total().estimate
    assert frame.low.tolist()[6] == COUNTS.margin("clinic").interval("0.9")[0][0]
    joint = COUNTS.to_pandas("0.9", margins=True, simultaneous=True)
    each = Fraction(1) - Fraction(1, 10) / 4
    assert joint.low.tolist()[-1] == COUNTS.total().interval(each)[0]
    assert joint.low.tolist()[0] == COUNTS.interval(each, simultaneous=True)[0][0, 0]
    assert COUNTS.to_pandas("0.9").equals(frame[:6].astype({"low": int, "high": int}))


def test_noise_that_enters_several_cells_is_added_up() -> None:
    """Two cells that share a draw: its weights add up, and are no two draws."""
    law = DiscreteGaussian(100)
    places = np.array([[[0, 1], [1, 2]]])
    weights = np.array([[[1.0, 2.0], [3.0, 4.0]]])
    part = Part("one", law, places, weights, weights)
    infinite = np.full((1, 2), np.inf)
    near = Near(np.zeros((1, 2)), np.zeros((1, 2)), (part,), np.zeros((1, 2)), -infinite, infinite)
    [low], [high] = near.summed((1,)).interval(Fraction(1, 20), joint=True)
    far = weighted_half_width([law] * 4, [1.0, 5.0, 4.0, 0.0], Fraction(1, 20))
    assert high == pytest.approx(float(far), rel=1e-9) == -low


def test_a_margin_that_does_not_fit_is_not_read() -> None:
    answer = COUNTS.margin("sex")
    assert decode(encode(answer)) == answer
    for along in ((2,), (-1,), (0, 1), (0, 0)):
        evidence = attrs.evolve(answer.evidence, along=along)
        with pytest.raises(CodecError):
            decode(encode(attrs.evolve(answer, evidence=evidence)))
