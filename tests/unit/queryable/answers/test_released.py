"""Released answers with the law of their noise."""

import copy
import json
import pickle
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from math import tanh
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pandas as pd
import polars as pl
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian, Histogram, Laplace, SparseVector
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import PureDP, Queryable, SeededCoins
from queryable.answers.estimates import Axis, Bin
from queryable.answers.evidence import Evidence
from queryable.answers.noisy import NoisyArray, NoisyInt, noisy_array
from queryable.answers.released import Released
from queryable.answers.values import frame_numbers, in_words
from queryable.audit import hashable, view_law
from queryable.randomness.intervals import high, low
from queryable.running.sameness import difference, mark


@attrs.frozen
class Around(Evidence):
    """An interval whose half-width is 10 / (1 - confidence); twice that if simultaneous."""

    middle: Any = attrs.field(eq=attrs.cmp_using(eq=np.array_equal))

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Any, Any]:
        width = int(Fraction(10, 1) / (1 - confidence)) * (2 if simultaneous else 1)
        return self.middle - width, self.middle + width


def released(value: Any, *axes: Axis, title: str = "Count of rows") -> Released:
    return Released(value, axes, title, evidence=Around(value))


ONE = released(412)
STATES = Axis(("state",), (("CA",), ("NY",)))
AGES = Axis(("age",), ((Bin(0, 10),), (Bin(10, 20),), (Bin(20, 30),)))
TABLE = released(np.arange(6).reshape(2, 3), STATES, AGES, title="Count by state and age")
MEANS = released(np.array([1.5, np.nan]), STATES, title="Mean(x) by state")


def test_intervals_check_the_confidence_and_are_read_only() -> None:
    assert ONE.interval(confidence="0.9") == (312, 512)
    assert ONE.interval(0.9, simultaneous=True) == (212, 612)
    for wrong in (0, 1, 2, "x"):
        with pytest.raises(ValueError, match="confidence"):
            ONE.interval(wrong)
    for array in (TABLE.estimate, *TABLE.interval()):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_frames_have_keys_beside_values(library: str) -> None:
    frame = getattr(TABLE, f"to_{library}")("0.9")
    rows = frame.to_dict("list") if library == "pandas" else None
    rows = rows or (frame.to_dict(as_series=False) if library == "polars" else frame.to_pydict())
    assert rows == {
        "state": ["CA"] * 3 + ["NY"] * 3,
        "age": ["[0, 10)", "[10, 20)", "[20, 30)"] * 2,
        "estimate": [0, 1, 2, 3, 4, 5],
        "low": [-100, -99, -98, -97, -96, -95],
        "high": [100, 101, 102, 103, 104, 105],
    }
    assert len(getattr(ONE, f"to_{library}")()) == 1


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
def test_frames_hold_mixed_keys_equal_names_and_large_integers(library: str) -> None:
    axes = Axis(("low", "x"), ((1, "a"), ("b", "b"))), Axis(("x",), ((None,),))
    large = np.array([[10**30], [5]], dtype=object)
    frame = getattr(released(large, *axes), f"to_{library}")()
    names = list(frame.column_names if library == "arrow" else frame.columns)
    assert names == ["low_key", "x", "x_key", "estimate", "low", "high"]


def test_a_pandas_frame_says_what_it_is_about() -> None:
    usual = TABLE.to_pandas().attrs
    assert usual == {
        "title": "Count by state and age",
        "confidence": 0.95,
        "about": "each by itself",
        "caption": str(TABLE).splitlines()[0],
    }
    all_at_once = TABLE.to_pandas("0.9", simultaneous=True)
    assert all_at_once.attrs["confidence"] == 0.9
    assert all_at_once.attrs["caption"] == "Count by state and age; 90% intervals, all at once"
    assert all_at_once[all_at_once.estimate > 2].attrs == all_at_once.attrs

    @attrs.frozen
    class Never(Around):
        most = None

    alone = Released(1, (), "Count", evidence=Never(1)).to_pandas()
    assert alone.attrs == {"title": "Count", "caption": "Count"}


def test_a_pandas_frame_is_written_by_to_excel(tmp_path: Path) -> None:
    """Excel has no zones of time, no bytes and no intervals of values."""
    east = timezone(timedelta(hours=2))
    moments = Axis(("when",), ((datetime(2020, 1, 1, 1, tzinfo=east),),))
    others = Axis(("bin", "key"), ((Bin(0, 10), b"a\xff"), (None, b"b")))
    answer = released(np.array([[1, 10**30]], dtype=object), moments, others)
    frame = answer.to_pandas()
    assert frame["when"].tolist() == [datetime(2019, 12, 31, 23)] * 2  # noqa: DTZ001 (no zone)
    assert frame["key"].tolist() == ["a\\xff", "b"]
    assert all(type(name) is str for name in frame.columns)
    pytest.importorskip("openpyxl")
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    read = pd.read_excel(tmp_path / "a.xlsx")
    assert read["estimate"].tolist() == [1, 1e30]
    assert read["when"].tolist() == frame["when"].tolist()


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(ImportError, match="install polars first"):
        ONE.to_polars()


def test_printed_as_a_small_table() -> None:
    assert str(ONE) == repr(ONE) == "Count of rows: 412 (95% interval: 212 to 612)"
    assert str(TABLE).splitlines()[:3] == [
        "Count by state and age; 95% intervals, each by itself",
        "state  age       estimate   low  high",
        "CA     [0, 10)          0  -200   200",
    ]
    many = released(np.arange(50), Axis(("n",), tuple((n,) for n in range(50))))
    assert str(many).endswith("and 30 more rows: see to_pandas(), to_polars(), to_arrow()")
    assert "nan" in str(MEANS)
    assert f"{ONE:.1f}" == "412.0"
    # Such as that of a share whose ends differ by a rounding error.

    class Tiny(Evidence):
        def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Any, Any]:
            return 1 - 2.0**-52, 1.0

    tiny = Released(1.0, (), "Share", evidence=Tiny())
    assert str(tiny) == "Share: 1.000000000 (95% interval: 0.999999999 to 1.000000000)"


def test_html_escapes_keys() -> None:
    hostile = released(np.array([1]), Axis(("<b>",), (("<script>",),)), title="<i>")
    assert "<script>" not in hostile._repr_html_()
    assert "<i>" not in hostile._repr_html_()
    assert "<p>" in ONE._repr_html_()


def test_difference_has_an_interval_by_the_union_bound() -> None:
    other = released(300, title="Count where old")
    both = ONE - other
    assert (both.estimate, both.title) == (112, "Count of rows minus Count where old")
    assert both.interval("0.9") == (112 - 400, 112 + 400)  # each part at 0.95
    assert (ONE + other).interval("0.9") == (712 - 400, 712 + 400)
    assert (both - ONE).estimate == -300
    shares = released(np.array([0.1, 0.2]), STATES)
    low, high = (shares - shares).interval(0.5)
    assert (low < -40).all()  # rounded outward
    assert (high > 40).all()
    assert (TABLE - ONE).axes == TABLE.axes
    with pytest.raises(ValueError, match="give answers with equal keys"):
        _ = TABLE - MEANS
    with pytest.raises(TypeError, match=r"compute with \.estimate"):
        _ = ONE * ONE


def test_single_number_computes_as_its_estimate() -> None:
    assert (ONE // 4, 4 * ONE, ONE + 1, 1 - ONE, ONE / 2) == (103, 1648, 413, -411, 206.0)
    assert type(ONE // 4) is int
    assert (int(ONE), float(ONE), round(released(1.26), 1)) == (412, 412.0, 1.3)
    assert ONE > 400
    assert ONE == 412 != released(413)
    assert hash(ONE) == hash(412)
    assert max(ONE, released(500)).estimate == 500
    assert (np.array([1, 2]) + TABLE.estimate[0, :2]).tolist() == [1, 3]
    assert (np.ones(2) * released(3)).tolist() == [3.0, 3.0]
    assert np.asarray(TABLE).tolist() == TABLE.estimate.tolist()


@pytest.mark.parametrize(
    "compare",
    [
        lambda: TABLE > 3,
        lambda: TABLE == 3,
        lambda: np.arange(3) == ONE,
        lambda: bool(ONE),
        lambda: float(TABLE),
        lambda: round(TABLE),
    ],
)
def test_several_numbers_are_not_compared_as_one(compare: Any) -> None:
    with pytest.raises(TypeError, match=r"compare|estimate"):
        compare()


@pytest.mark.parametrize("other", [None, "text", [1, 2], {}], ids=str)
def test_an_answer_equals_nothing_else(other: object) -> None:
    assert other != TABLE
    assert other not in [TABLE, ONE]


def test_equal_answers_are_equal() -> None:
    again = released(np.arange(6).reshape(2, 3), STATES, AGES, title="Count by state and age")
    assert (again == TABLE, hash(again) == hash(TABLE)) == (True, True)
    assert again != released(np.arange(6).reshape(2, 3), STATES, AGES)
    assert ONE != "412"
    assert released(float("nan")) != released(1.0)
    one = SparseVector(ONE, "1/4")  # type: ignore[arg-type]
    assert one == SparseVector(412, "1/4")
    assert not difference(mark(ONE), mark(412))
    assert difference(mark(ONE), mark(released(413)))
    assert not difference(mark(TABLE), mark(np.arange(6).reshape(2, 3)))
    assert not difference(mark(MEANS), mark(MEANS))


def test_large_integers_are_exact_and_their_ends_rounded_outward() -> None:
    """They wrapped around with numpy's integers, and integers became floats before a difference."""
    large = released(np.array([2**62, 1]), STATES)
    total = large + large
    assert total.estimate.tolist() == [2**63, 2]
    low, high = total.interval(0.8)
    assert low[0] <= 2**63 <= high[0]
    odd, even = released(2**53 + 101), released(float(2**53))
    low, high = (odd - even).interval(0.8)
    assert low <= 101 - 200 <= 101 + 200 <= high
    assert (odd - even).estimate == 101
    ends = [2**70 + 1, -(2**70) - 1, 3]
    low, high = frame_numbers(ends, -float("inf")), frame_numbers(ends, float("inf"))
    assert all(a <= end <= b for a, end, b in zip(low, ends, high, strict=True))
    assert low[0] < ends[0] < high[0]
    assert low[2] == high[2] == 3
    edge = noisy_array(np.array([2**63 - 1]), LAW)
    least, most = edge.interval(0.95)
    assert least[0] < 2**63 - 1 < most[0]


LAW = DiscreteLaplace(2)
SEVEN = NoisyInt(7, LAW)
ARRAY = noisy_array(np.array([1, 2, 3]), LAW)


def test_released_numbers_carry_the_law_of_their_noise() -> None:
    """Straight from a mechanism, and through a filter and its handle."""
    data = {"a": np.arange(10)}
    q = Queryable(FiltCon(PureDP(9)), data, coins=SeededCoins(1), allow_seeded=True)
    answer = q.launch(Laplace(Count(), epsilon=1))
    assert answer.interval(0.95) == (answer - 3, answer + 3)
    counts = q.launch(Laplace(Histogram("a", [1, 2]), epsilon=1))
    least, most = counts.interval(0.95)
    assert (most - least == 6).all()
    assert type(least) is np.ndarray
    wide, _ = counts.interval(0.95, simultaneous=True)
    assert (wide < least).all()
    # Equal answers with different noise laws are one outcome.
    assert hashable(SEVEN) == hashable(7) == hashable(NoisyInt(7, DiscreteLaplace(5)))
    assert hashable(ARRAY) == (1, 2, 3)
    mechanism = Laplace(Count(), epsilon=3)
    law = view_law(mechanism, [1, 2], lambda view: None, tail="1e-6")
    chance = law[(2,)]
    assert low(chance) <= tanh(1.5) + 1e-12
    assert tanh(1.5) - 1e-12 <= high(chance)


def test_a_noisy_int_is_an_int_in_every_other_respect() -> None:
    assert SEVEN == 7
    assert hash(SEVEN) == hash(7)
    assert {7: "x"}[SEVEN] == "x"
    assert f"{SEVEN:,} {SEVEN!r} {SEVEN}" == "7 7 7"
    assert json.dumps({"n": SEVEN}) == '{"n": 7}'
    assert [10, 20, 30][NoisyInt(1, LAW)] == 20
    assert Fraction(SEVEN, 2) == Fraction(7, 2)
    assert isinstance(SEVEN, int)
    assert np.array([SEVEN, 8]).dtype == np.int64
    assert pd.Series([SEVEN, 8]).dtype == np.int64
    assert pl.Series([SEVEN, 8]).dtype == pl.Int64
    assert type(SEVEN + np.int64(1)) is np.int64


@pytest.mark.parametrize(
    "work",
    [
        lambda n: n + 1,
        lambda n: 1 + n,
        lambda n: -n,
        lambda n: +n,
        abs,
        lambda n: n // 2,
        round,
        int,
        lambda n: sum([n, n]),
    ],
)
def test_results_of_arithmetic_are_plain(work) -> None:
    """The noise of twice an answer has another law."""
    assert type(work(SEVEN)) is int


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_a_copy_of_a_noisy_int_keeps_its_noise(again) -> None:
    other = again(SEVEN)
    assert other == 7
    assert other.interval(0.9) == SEVEN.interval(0.9)


def test_a_noisy_array_is_an_array_in_every_other_respect() -> None:
    assert isinstance(ARRAY, np.ndarray)
    assert ARRAY.tolist() == [1, 2, 3]
    assert type(ARRAY[0]) is np.int64
    with pytest.raises(ValueError, match="read-only"):
        np.add(ARRAY, 1, out=ARRAY)
    assert pd.Series(ARRAY).tolist() == [1, 2, 3]
    assert pl.Series(ARRAY).to_list() == [1, 2, 3]
    assert (
        pickle.loads(pickle.dumps(ARRAY)).interval(0.9)[0].tolist()
        == ARRAY.interval(0.9)[0].tolist()
    )


@pytest.mark.parametrize(
    "work",
    [
        lambda a: a + 1,
        lambda a: 2 * a,
        lambda a: a[a > 1],
        lambda a: a[1:],
        lambda a: a.sum(),
        np.cumsum,
        lambda a: np.concatenate([a, a]),
        np.sort,
        lambda a: a == 2,
        lambda a: a @ np.ones((3, 1)),
    ],
)
def test_parts_and_copies_of_a_noisy_array_are_plain(work) -> None:
    """A part that was selected after the values were seen has a smaller coverage."""
    assert not isinstance(work(ARRAY), NoisyArray)


@pytest.mark.parametrize(
    "work", [lambda a: a.reshape(3, 1), lambda a: a.astype(float), lambda a: a.copy()]
)
def test_derived_noisy_arrays_have_no_interval(work) -> None:
    with pytest.raises(ValueError, match="interval of the answer itself"):
        work(ARRAY).interval(0.9)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, float("nan"), 2, True])
def test_a_confidence_is_a_probability_between(confidence) -> None:
    with pytest.raises(ValueError, match="confidence"):
        SEVEN.interval(confidence)


def test_intervals_cover_as_often_as_they_say() -> None:
    """2,000 releases; a true coverage of 0.9 falls below 0.87 with probability under 1e-5."""
    mechanism, hits = Gaussian(Count(), scale=3), 0
    for seed in range(2000):
        least, most = mechanism.release([0] * 50, SeededCoins(seed)).interval(0.9)
        hits += least <= 50 <= most
    assert hits >= 0.87 * 2000


def test_an_end_that_rounds_to_0_has_no_sign() -> None:
    assert in_words(0.31, 0.02, 1.1) == ("0.3", "0.0", "1.1")
    assert in_words(-0.31, -1.2, -0.02) == ("-0.3", "-1.2", "0.0")
    assert in_words(-0.02, -0.9, 0.9) == ("0.0", "-0.9", "0.9")


def test_an_error_says_how_a_key_is_asked_for() -> None:
    """Of intervals by their text; 3, 0 and (0, 5) are none."""
    answer = released(np.array([1, 2]), Axis(("n",), ((Bin(0, 5),), (Bin(5, 10),))))
    for wrong in (3, 0, (0, 5)):
        with pytest.raises(KeyError, match=r"there is no key .* they are '\[0, 5\)', '\[5, 10\)'"):
            answer[wrong]
    assert answer["[0, 5)"].estimate == 1


def test_answers_are_not_walked_through() -> None:
    """Python would ask for the keys 0, 1, ..; and one answer is one cell of a pandas frame."""
    answer = released(np.array([1, 2]), Axis(("n",), ((0,), (1,))))
    for each in (answer, answer[0]):
        with pytest.raises(TypeError, match="not iterable"):
            list(each)
        with pytest.raises(TypeError, match="not iterable"):
            _ = 0 in each
        assert pd.DataFrame({"at": [1, 2]}).assign(n=each)["n"][1] is each
