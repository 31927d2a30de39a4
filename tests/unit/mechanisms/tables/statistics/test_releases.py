"""Releases: their noise, their claims, and intervals that contain the exact values."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from composition import (
    ExPost,
    FiltCon,
    GDPResidue,
    OdomCon,
    Parallel,
    Partition,
    Universal,
    ViaGDP,
    ViaRenyi,
    budget,
)
from mechanisms import (
    BrownianNoiseReduction,
    Count,
    Gaussian,
    GroupBy,
    Histogram,
    Laplace,
    Mean,
    Open,
    PrivateMultiplicativeWeights,
    SparseVector,
    Std,
    Sum,
    Table,
    Variance,
    column,
)
from mechanisms.sampling.laws import DiscreteGaussian
from mechanisms.tables.statistics.aggregates import Aggregate
from mechanisms.tables.statistics.ranges import Range
from mechanisms.tables.statistics.releases import Noisy, Release, labelled
from queryable import (
    FDP,
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Launch,
    Loss,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    Statistic,
    accuracy,
)
from queryable.answers.half_widths import half_width
from queryable.answers.noisy import NoisyArray
from queryable.answers.released import Released
from queryable.losses import Dominated
from queryable.messages import MeasureQuery, Stated
from queryable.optional import guarantee

DATA = {
    "age": np.arange(100) % 50,
    "state": np.array(["CA", "NY"] * 50),
    "x": np.linspace(0, 10, 100),
}
STATES = {"state": ["CA", "NY", "TX"]}
MEAN = Mean("x", 0, 10, unit="1/1000")


def opened(mechanism: Any, seed: int = 5) -> Queryable:
    return Queryable(mechanism, DATA, coins=SeededCoins(seed), allow_seeded=True)


# What is charged, and how accurate the answer is.


@pytest.mark.parametrize(
    ("filtered", "loss", "charged", "noise"),
    [
        (FiltCon(ZCDP(1)), ZCDP("1/50"), ZCDP("1/50"), Gaussian),
        (FiltCon(ZCDP(1), d_in=2), ZCDP("1/50"), ZCDP("1/50"), Gaussian),
        (FiltCon(PureDP(1)), PureDP("1/5"), PureDP("1/5"), Laplace),
        (FiltCon(PureDP(1), d_in=3), PureDP("1/5"), PureDP("1/5"), Laplace),
        (FiltCon(ApproxDP(1, "1e-6")), PureDP("1/5"), ApproxDP("1/5", 0), Laplace),
        (FiltCon(ApproxDP(1, "1e-6")), ApproxDP("1/5", 0), ApproxDP("1/5", 0), Laplace),
        (FiltCon(RDP(8, 1)), RDP(8, "1/10"), RDP(8, "1/10"), Gaussian),
        (FiltCon(ApproxZCDP(1, "1e-6")), ApproxZCDP("1/5", 0), ApproxZCDP("1/5", 0), Gaussian),
        (OdomCon(ZCDP), ZCDP("1/50"), ZCDP("1/50"), Gaussian),
        (BrownianNoiseReduction() @ FiltCon(ZCDP(1)), ZCDP("1/50"), ZCDP("1/50"), Gaussian),
    ],
)
def test_charge_is_the_given_loss(filtered: Any, loss: Loss, charged: Loss, noise: type) -> None:
    """It is charged at the filter's own d_in."""
    table = opened(filtered)
    table.release(Count(), loss=loss)
    assert table.privacy_loss() == charged
    launches = [each.query for each in table.view if isinstance(each.query, Launch)]
    assert type(launches[0].mechanism.mechanism) is noise


@pytest.mark.parametrize(
    ("filtered", "loss"),
    [
        (budget(epsilon=1, delta="1e-6"), ApproxDP("1/10", "1e-7")),
        (FiltCon(ZCDP(1)), ApproxDP("1/10", "1e-7")),
        (FiltCon(ZCDP(1)), PureDP("1/10")),
        (FiltCon(ZCDP(1)), RDP(8, "1/10")),
        (FiltCon(PureDP(1)), ZCDP("1/100")),
        (FiltCon(ApproxDP(1, "1e-6"), ViaGDP()), GDP("1/10")),
        (FiltCon(ApproxDP(1, "1e-6"), ViaRenyi([16, 32])), ZCDP("1/100")),
        (FiltCon(ApproxDP(1, "1e-6"), GDPResidue("1e-7")), Dominated(0, "1/10", "1e-9")),
        (ExPost(PureDP(1)), PureDP("1/10")),
    ],
)
def test_release_loses_at_most_what_was_said(filtered: Any, loss: Loss) -> None:
    """Also if the loss is stated in another measure than the budget's."""
    table = opened(filtered)
    table.release(Count(), loss=loss)
    (launch,) = [each.query for each in table.view if isinstance(each.query, Launch)]
    if isinstance(loss, ApproxDP):
        assert launch.mechanism.privacy_map(1).to(ApproxDP, loss.delta) <= loss
    else:
        assert launch.mechanism.privacy_map(1, loss.measure) <= loss


@pytest.mark.parametrize(
    "measure", [PureDP, ApproxDP, ZCDP, ApproxZCDP, RDP.at(4), GDP, FDP, Dominated]
)
def test_every_measure_has_a_noise(measure: Any) -> None:
    release = Count().measurement(measure, 1, within=50)
    assert isinstance(release.privacy_map(1, measure), Loss)
    assert accuracy(release) <= 50
    assert release == Count().measurement(measure, 1, within=50, confidence="0.95")


@pytest.mark.parametrize("confidence", ["0.5", "0.95", "0.999"])
@pytest.mark.parametrize("filtered", [FiltCon(ZCDP(9)), FiltCon(PureDP(9))], ids=["zCDP", "pure"])
def test_within_is_the_half_width_in_units_of_the_estimate(filtered: Any, confidence: str) -> None:
    table = opened(filtered)
    answers = [
        (table.release(Count(), within=20, confidence=confidence), 20),
        (table.release(Sum("x", 0, 10, unit="0.01"), within="250.00", confidence=confidence), 250),
        (table.release(GroupBy(STATES, Count()), within=30, confidence=confidence), 30),
    ]
    for answer, width in answers:
        low, high = answer.interval(confidence)
        assert np.all(abs((high - low) / 2 - width) <= width * 0.05)
        assert np.all((high - low) / 2 <= width + 1e-9)


def test_claim_is_that_of_the_mechanism() -> None:
    inner = Gaussian(MEAN, rho="1/8")
    release = Release(inner)
    assert release.privacy_map(3) == inner.privacy_map(3)
    assert release.privacy_map(2, RDP.at(8)) == inner.privacy_map(2, RDP.at(8))
    assert release.added_noise() == inner.added_noise()
    assert release.public_name == inner.public_name
    own, noise = guarantee(release), guarantee(inner)
    assert own.theorem == f"{noise.theorem} The estimate is a postprocessing."
    assert (own.claim, own.assumes) == (noise.claim, noise.assumes)
    laplace = Release(Laplace(Count(), epsilon=1))
    assert laplace.privacy_map(1, ZCDP) == laplace.mechanism.privacy_map(1, ZCDP)
    # Laplace noise has no use for a delta, and is charged none.
    for total in (PureDP(1), ApproxDP(1, "1e-6")):
        table = opened(FiltCon(total))
        table.release(Count(), loss=ApproxDP("1/10", "1e-7"))
        assert table.privacy_loss() == PureDP("1/10").to(total.measure)


# Wrong arguments change nothing.


@pytest.mark.parametrize(
    ("statistic", "arguments", "says"),
    [
        (Count(), {}, "give exactly one"),
        (Count(), {"within": 3, "loss": ZCDP(1)}, "give exactly one"),
        (Count(), {"loss": 3}, "should be a loss"),
        (Count(), {"loss": ZCDP}, "should be a loss"),
        (Count(), {"loss": ZCDP(0)}, "the budget is spent"),
        (Count(), {"within": -1}, "negative"),
        (Count(), {"within": float("nan")}, "within"),
        (Count(), {"within": "many"}, "within"),
        (Count(), {"within": 3, "confidence": 1}, "below 1"),
        (Count(), {"within": 3, "confidence": []}, "confidence"),
        (Count(), {"within": 3, "name": ""}, "name"),
        (MEAN, {"within": 3}, "give loss="),
        (GroupBy(STATES, Variance("x", 0, 10)), {"within": 3}, "give loss="),
        (Statistic(len, l1=1, l2=1), {"within": 3}, "launch Gaussian"),
        (Laplace(Count(), scale=3), {"within": 3}, "release a statistic"),
        (None, {"within": 3}, "release a statistic"),
        (Count, {"within": 3}, "release a statistic"),
    ],
)
@pytest.mark.parametrize("total", [ZCDP(1), PureDP(1)])
def test_wrong_arguments_change_nothing(
    total: Loss, statistic: Any, arguments: dict[str, Any], says: str
) -> None:
    table = opened(FiltCon(total))
    with pytest.raises(QueryError, match=says):
        table.release(statistic, **arguments)
    assert table.privacy_loss() == total.zero()
    assert not table.ledger()


def test_only_what_launches_releases() -> None:
    table = opened(FiltCon(ZCDP("1/10")))
    with pytest.raises(QueryRefusedError):
        table.release(Count(), loss=ZCDP("1/5"))
    assert table.privacy_loss() == ZCDP(0)
    search = opened(SparseVector(3, "1/10"))
    with pytest.raises(QueryError, match="release from a filter"):
        search.release(Count(), within=3)
    assert search(Count()) in (True, False)  # the child is alive
    table = opened(FiltCon(ZCDP("1/10"), on_exceed="halt"))
    for _ in range(2):
        with pytest.raises(QueryRefusedError):
            table.release(Count(), loss=ZCDP("1/5"))


def test_releases_go_through_compositors_and_persons() -> None:
    """Where children are launched, a release is; a person that answers for itself refuses it."""
    parts = Partition("state", ["CA", "NY"])
    both = opened(Parallel(parts, {name: FiltCon(ZCDP(1)) for name in parts.parts}))
    assert both.children["CA"].release(Count(), within=20).estimate == pytest.approx(50, abs=60)
    chosen = opened(Universal(ZCDP(1), d_in=2))
    assert chosen.ask(MeasureQuery()) == Stated(ZCDP, 2)
    chosen.ask(Launch(FiltCon(ZCDP(1), d_in=2)))
    assert chosen.release(Count(), loss=ZCDP("1/2")).axes == ()
    nested = opened(FiltCon(ZCDP(1))).launch(FiltCon(ZCDP("1/2"), d_in=3))
    assert nested.ask(MeasureQuery()) == Stated(ZCDP, 3)
    weights = PrivateMultiplicativeWeights(
        50, encode=lambda data: data["age"], records=100, updates=2, threshold=9, epsilon="1/10"
    )
    estimate = opened(BrownianNoiseReduction() @ FiltCon(ZCDP(1))).ask(Open(Count(), (900, 30)))
    for other in (both, estimate, opened(weights @ FiltCon(PureDP(1)))):
        with pytest.raises(QueryError, match="release from a filter"):
            other.release(Count(), within=20)


def test_release_under_a_name_happens_once() -> None:
    table = opened(FiltCon(ZCDP(1)))
    first = table.release(Count(column("age") >= 20), within=20, name="old")
    assert table.release(Count(column("age") >= 20), within=20, name="old") is first
    assert len(table.ledger()) == 1
    with pytest.raises(QueryError, match="belongs to another"):
        table.release(Count(column("age") >= 21), within=20, name="old")


# Estimates and labels.


def test_answers_are_labelled_in_real_units() -> None:
    table = opened(FiltCon(ZCDP(100)))
    both = GroupBy(STATES, Histogram("age", [1, 2]))
    frame = table.release(both, within=1).to_pandas()
    assert list(frame.columns) == ["state", "age", "estimate", "low", "high"]
    assert frame[["state", "age"]].to_numpy().tolist() == [
        [state, age] for state in ("CA", "NY", "TX") for age in (1, 2)
    ]
    counted = table.release(Count(column("age") >= 40), loss=ZCDP(50))
    assert str(counted).startswith("Count where age >= 40: 20 (95% interval")
    assert type(counted.estimate) is int
    table = opened(FiltCon(ZCDP(10**9)))
    total = table.release(Sum("x", 0, 10, unit="0.01"), loss=ZCDP(10**8))
    exact = sum(int(each * 100) for each in DATA["x"].tolist())
    assert total.estimate == exact / 100
    low, high = total.interval()
    assert low <= exact / 100 <= high


def answer(statistic: Aggregate, values: Any) -> Noisy:
    """The evidence of a release whose noise was small."""
    noise = Gaussian(statistic, scale=3).added_noise().law
    noisy = np.asarray(values).view(NoisyArray)
    noisy.noise = noise
    return Noisy(statistic, noisy)


def test_intervals_are_wider_where_less_is_known() -> None:
    evidence = answer(GroupBy(STATES, MEAN), [[500_000, 3]] * 3)
    each, every = (
        evidence.interval(Fraction(9, 10), simultaneous=simultaneous)
        for simultaneous in (False, True)
    )
    assert (every[0] < each[0]).all()
    assert (every[1] > each[1]).all()
    noisy, law = np.array([8, 0, 0], dtype=object), DiscreteGaussian(36)
    assert Mean("x", -5, 5).interval(noisy[:2], law, Fraction(1, 20)) == (-5, 5)
    assert Variance("x", -5, 5).interval(noisy, law, Fraction(1, 20))[1] == pytest.approx(25)
    assert not any(misses(Mean))
    assert any(misses(Untruncated))
    assert any(misses(ExactCount))


# Intervals contain the exact value of the clipped numbers if the box contains the exact integers.

fractions = st.fractions(-40, 40, max_denominator=50)


@st.composite
def cases(draw: st.DrawFn, kind: Any) -> tuple[Any, list[Fraction], Any, Any]:
    """A statistic, cells, noisy integers of the cells, and a law of that noise."""
    lower, upper = sorted(draw(st.tuples(fractions, fractions)))
    unit = draw(st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(3, 7), Fraction(20)]))
    statistic = kind("x", lower, upper, unit=unit)
    cells = draw(st.lists(fractions, min_size=1, max_size=12))
    exact = np.array(statistic({"x": cells}), dtype=object)
    size = max(statistic.largest)
    width = draw(st.integers(0, 3 * size) | st.integers(0, 12 * size))
    moved = exact + np.array(draw(st.tuples(*[st.integers(-width, width)] * len(exact))), object)
    return statistic, cells, moved, reaching(width, len(exact))


def reaching(width: int, many: int) -> DiscreteGaussian:
    """Noise whose intervals at 95% hold wherever each of several draws is within a width.

    The length of such noise is at most sqrt(many) widths, so in every direction it is below 1.9
    standard deviations.
    """
    return DiscreteGaussian(Fraction(many * max(width, 1) ** 2) / Fraction("3.6"))


def clipped(statistic: Any, cells: list[Fraction]) -> list[Fraction]:
    return [min(max(cell, statistic.lower), statistic.upper) for cell in cells]


def variance_of(values: list[Fraction]) -> Fraction:
    mean = sum(values, Fraction(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / len(values)


def in_its_interval(kind: Any, data: st.DataObject) -> None:
    statistic, cells, moved, law = data.draw(cases(kind))
    values = clipped(statistic, cells)
    least, most = (Fraction(end) for end in statistic.interval(moved, law, Fraction(1, 20)))
    if kind is Mean:
        assert least <= sum(values) / len(values) <= most
    elif kind is Variance:
        assert least <= variance_of(values) <= most
    else:
        assert least**2 <= variance_of(values) <= most**2


@pytest.mark.parametrize("kind", [Mean, Variance, Std])
@settings(max_examples=30)
@given(data=st.data())
def test_each_is_in_its_interval(kind: Any, data: st.DataObject) -> None:
    in_its_interval(kind, data)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Mean, Variance, Std])
@settings(max_examples=500)
@given(data=st.data())
def test_many_are_in_their_intervals(kind: Any, data: st.DataObject) -> None:
    in_its_interval(kind, data)


@attrs.frozen
class Untruncated(Mean):
    """Wrong: its interval forgets what truncation has taken."""

    @property
    def _truncated(self) -> Range:
        return Range.between(0, 0)


@attrs.frozen
class ExactCount(Mean):
    """Wrong: its interval takes the noisy count for the exact one."""

    def interval(self, noisy: Any, law: Any, missed: Any) -> Any:
        width = half_width(law, 1 - missed)
        ends = (noisy[1] + side * width for side in (-1, 1))
        return tuple(self.center + float(end) / noisy[0] * self.radius for end in ends)


def misses(kind: Any) -> Iterator[bool]:
    """Whether intervals miss the mean, at corners of the noise that they allow for."""
    for lower, copies in product((0, -10), (1, 1000)):
        statistic = kind("x", lower, 10)
        cells = [Fraction(19, 2), Fraction(7, 3), Fraction(lower)] * copies
        exact = np.array(statistic({"x": cells}), dtype=object)
        for one, other in product((-7, 0, 7), repeat=2):
            moved = exact + np.array([one, other], dtype=object)
            low, high = statistic.interval(moved, reaching(7, 2), Fraction(1, 20))
            yield not Fraction(low) <= sum(cells) / len(cells) <= Fraction(high)


@pytest.mark.parametrize(
    ("source", "narrow"),
    [
        (lambda: {"n": np.arange(100)}, True),
        (lambda: {"n": np.arange(100) * 1.0}, False),
        (lambda: {"n": list(range(100))}, False),
        (lambda: pd.DataFrame({"n": np.arange(100)}), True),
        (lambda: pd.DataFrame({"n": np.arange(100)}, dtype="Int64"), True),
        (lambda: pl.DataFrame({"n": np.arange(100)}), True),
        (lambda: pa.table({"n": np.arange(100)}), True),
        (lambda: np.array([(3,)] * 100, dtype=[("n", "u2")]), True),
        (lambda: Table({"n": np.arange(100)}), True),
        (lambda: Table({"n": np.arange(100) * 1.0}), False),
        (lambda: Table({"n": list(range(100))}), False),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_intervals_are_narrow_where_nothing_is_truncated(source: Any, narrow: bool) -> None:
    """The public type of the column says so, and the bounds are whole units too."""
    data = source()
    table = Queryable(FiltCon(ZCDP(10**9)), data)

    def length(statistic: Aggregate) -> float:
        low, high = table.release(statistic, loss=ZCDP(10**8)).interval()
        return float(np.max(high - low))

    assert (length(Mean("n", 0, 100)) < 0.5) is narrow
    assert (length(Std("n", 0, 100)) < 0.5) is narrow
    assert length(Mean("n", "0.5", 100)) > 0.5
    assert length(Mean("n", 0, 100, unit=3)) > 0.5
    if isinstance(data, Table):
        data.close()


@pytest.mark.parametrize(
    ("statistic", "exact"),
    [
        (MEAN, float(DATA["x"].mean())),
        (Variance("x", 0, 10, unit="1/1000"), float(DATA["x"].var())),
        (Std("x", 0, 10, unit="1/1000"), float(DATA["x"].std())),
        (Sum("age", 0, 50), int(DATA["age"].sum())),
    ],
)
def test_intervals_cover(statistic: Aggregate, exact: float) -> None:
    """At least 80% of 100 intervals at 80%; with exact coverage fewer than 60 have p < 3e-6."""
    table = opened(FiltCon(ZCDP(10**6)), seed=11)
    intervals = [table.release(statistic, loss=ZCDP("1/20")).interval("0.8") for _ in range(100)]
    assert sum(low <= exact <= high for low, high in intervals) >= 60


def test_estimates_are_released_values() -> None:
    table = opened(FiltCon(ZCDP(10**6)))
    means = table.release(GroupBy(STATES, MEAN), loss=ZCDP(100))
    assert isinstance(means, Released)
    assert means.estimate[:2] == pytest.approx([4.95, 5.05], abs=0.1)
    low, high = means.interval()
    assert (low[2], high[2]) == (0, 10)
    differences = means - means
    assert differences.interval()[0][0] < 0


def test_answers_of_persons_get_labels() -> None:
    """Estimates in the statistic's unit, ends rounded outward, and more room for all at once."""
    asked: list[Fraction] = []

    def ends(confidence: Fraction) -> tuple[np.ndarray, np.ndarray]:
        asked.append(confidence)
        return np.array([1.0, 3.0]), np.array([5.0, 7.0])

    statistic = GroupBy({"b": ["x", "y"]}, Sum("a", 0, 9, unit="1/4"))
    answer = labelled(statistic, np.array([3.0, 5.0]), ends)
    assert answer._columns(None, simultaneous=False) == {
        "b": ["x", "y"],
        "estimate": [0.75, 1.25],
        "low": [0.25, 0.75],
        "high": [1.25, 1.75],
    }
    answer.interval("0.9", simultaneous=True)
    assert asked[-1] == Fraction(19, 20)


def test_wrong_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="give the statistic that was asked"):
        labelled(GroupBy({"b": ["x", "y"]}, Count()), Fraction(3), lambda _: (1, 2))
    for wrong in (None, Mean("a", 0, 1)):
        with pytest.raises(TypeError, match="it should be the one that was asked"):
            labelled(wrong, Fraction(3), lambda _: (1, 2))
    answer = labelled(Count(), 3.5, lambda _: None)
    assert str(answer) == "Count: 3.5"
    with pytest.raises(ValueError, match="nothing is known about the error"):
        answer.interval()
