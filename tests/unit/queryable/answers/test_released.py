"""Released answers: labels, frames, intervals and what they may be compared with."""

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

from mechanisms import SparseVector
from queryable.answers.estimates import Axis, Bin, Evidence
from queryable.answers.released import Released
from queryable.answers.values import frame_numbers
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


def test_interval_checks_the_confidence() -> None:
    assert ONE.interval(confidence="0.9") == (312, 512)
    assert ONE.interval(0.9, simultaneous=True) == (212, 612)
    for wrong in (0, 1, 2, "x"):
        with pytest.raises(ValueError, match="confidence"):
            ONE.interval(wrong)


def test_estimate_and_intervals_are_read_only() -> None:
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


def test_a_tiny_interval_is_no_reason_for_many_digits() -> None:
    """Such as that of a share whose ends differ by a rounding error."""

    class Tiny(Evidence):
        def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Any, Any]:
            return 1 - 2.0**-52, 1.0

    tiny = Released(1.0, (), "Share", evidence=Tiny())
    assert str(tiny) == "Share: 1.000000000 (95% interval: 1.000000000 to 1.000000000)"


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


def test_difference_needs_equal_keys() -> None:
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


def test_equal_answers_are_equal() -> None:
    again = released(np.arange(6).reshape(2, 3), STATES, AGES, title="Count by state and age")
    assert (again == TABLE, hash(again) == hash(TABLE)) == (True, True)
    assert again != released(np.arange(6).reshape(2, 3), STATES, AGES)
    assert ONE != "412"
    assert released(float("nan")) != released(1.0)


def test_stands_for_its_estimate_as_a_threshold_and_under_a_name() -> None:
    one = SparseVector(ONE, "1/4")  # type: ignore[arg-type]
    assert one == SparseVector(412, "1/4")
    assert not difference(mark(ONE), mark(412))
    assert difference(mark(ONE), mark(released(413)))
    assert not difference(mark(TABLE), mark(np.arange(6).reshape(2, 3)))
    assert not difference(mark(MEANS), mark(MEANS))


def test_sums_and_differences_of_large_integers_are_exact() -> None:
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


def test_ends_beyond_64_bits_are_rounded_outward_in_frames() -> None:
    ends = [2**70 + 1, -(2**70) - 1, 3]
    low, high = frame_numbers(ends, -float("inf")), frame_numbers(ends, float("inf"))
    assert all(a <= end <= b for a, end, b in zip(low, ends, high, strict=True))
    assert low[0] < ends[0] < high[0]
    assert low[2] == high[2] == 3
