"""Every printed interval contains the interval that the answer has."""

import re
from collections.abc import Iterator
from fractions import Fraction
from math import inf, ulp
from typing import Any

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mechanisms.frugal.frugal_queries import Estimated
from mechanisms.frugal.spread import Spread, Spreads
from mechanisms.tables.in_sql.answers import SqlAnswer
from queryable import ZCDP
from queryable.answers.estimates import Axis
from queryable.answers.evidence import Evidence
from queryable.answers.margins import crossed
from queryable.answers.released import Released
from queryable.answers.values import array_of
from queryable.display.asked import brief, table_of

Interval = tuple[Any, Any, Any]
CELL = re.compile(r"(\S+) ± (\S+)")


@attrs.frozen
class Known(Evidence):
    """That of the given ends."""

    ends: Any = attrs.field(eq=False)

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Any, Any]:
        return self.ends


def released(*intervals: Interval) -> Released:
    """An answer of one number, or in groups "0", "1" and so on."""
    if len(intervals) == 1:
        [(estimate, low, high)] = intervals
        return Released(estimate, (), "Sum(x)", evidence=Known((low, high)))
    estimates, low, high = map(array_of, zip(*intervals, strict=True))
    axis = Axis(("g",), tuple((str(place),) for place in range(len(intervals))))
    return Released(estimates, (axis,), "Sum(x)", evidence=Known((low, high)))


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    """Integers, multiples of a unit, or floats; wide or narrow, near 0 or far away."""
    middle = draw(st.integers(-(10 ** draw(st.integers(0, 15))), 10 ** draw(st.integers(0, 15))))
    below, above = (draw(st.integers(0, 10 ** draw(st.integers(0, 7)))) for _ in range(2))
    kind = draw(st.sampled_from(["integers", "units", "floats", "tiny", "half open"]))
    if kind == "integers":
        return middle, middle - below, middle + above
    unit = Fraction(1, draw(st.sampled_from([2, 3, 10, 64, 1000, 10**9])))
    estimate, low, high = (float(each * unit) for each in (middle, middle - below, middle + above))
    if kind == "floats":
        far = draw(st.floats(0, 1e6))
        return estimate, estimate - far, estimate + draw(st.sampled_from([far, 0.0]))
    if kind == "tiny":
        return estimate, estimate - ulp(estimate), estimate + draw(st.integers(0, 9)) * 1e-9
    if kind == "half open":
        return draw(st.sampled_from([(estimate, -inf, high), (estimate, low, inf)]))
    return estimate, low, high


def number(text: str) -> Any:
    plain = text.replace(",", "").strip(".;)")
    return float(plain) if "inf" in plain else Fraction(plain)


def contains(low: Any, high: Any, interval: Interval) -> bool:
    """Whether an interval of texts contains one of numbers; a float is what its text says."""
    least, most = (Fraction(repr(e)) if abs(e) < inf else e for e in map(float, interval[1:]))
    if type(interval[1]) is int:
        least, most = interval[1:]
    return bool(low <= least and most <= high)


def printed(answer: Released) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """The estimate and ends of each number, in each form that has all of them as texts."""
    if not answer.axes:
        found = re.compile(r"(\S+) \(95% interval: (\S+) to ([^)\s]+)\)")
        for form in (str(answer), answer._repr_html_(), brief(answer, 10**4)):
            yield form, [tuple(map(number, row)) for row in found.findall(form)]
        return
    _, rows, keys = answer.as_texts()
    yield "as_texts", [tuple(map(number, row[keys:])) for row in rows]
    lines = str(answer).splitlines()[2:]
    yield str(answer), [tuple(map(number, line.split()[1:])) for line in lines]
    html = re.findall(r"<tr><td>.*?</tr>", answer._repr_html_())
    cells = [re.findall("<td>(.*?)</td>", row)[1:] for row in html]
    yield "html", [tuple(map(number, row)) for row in cells]
    table = table_of(answer)
    assert table is not None
    yield "report", [tuple(map(number, row[1:])) for row in table.rows]
    text = brief(answer, 10**4)
    found = re.findall(r": (\S+) \((\S+) to (\S+)\)", text)
    yield text, [tuple(map(number, row)) for row in found]


NARROW = (49_997_784.125, 49_997_753.0625, 49_997_815.4)


@given(st.lists(intervals(), min_size=1, max_size=4))
@example([NARROW])
@example([NARROW, (0.5, 0.5, 0.5)])
@example([(49_997_784.5,) * 3])
@example([(0.1 + 0.2, -inf, 0.30000000000000004)])
def test_what_an_answer_prints_contains_its_interval(given_: list[Interval]) -> None:
    forms = list(printed(released(*given_)))
    assert len(forms) >= 3
    for form, rows in forms:
        assert len(rows) == len(given_), form
        for (estimate, low, high), interval in zip(rows, given_, strict=True):
            assert contains(low, high, interval), (form, interval)
            assert low <= estimate <= high, (form, interval)


@given(st.lists(intervals(), min_size=1, max_size=4))
@example([NARROW])
def test_what_an_answer_in_sql_prints_contains_its_intervals(given_: list[Interval]) -> None:
    rows = tuple((f"k{place}", *each, *each) for place, each in enumerate(given_))
    names = ("k", *(f"{name}{end}" for name in "ab" for end in ("", "_low", "_high")))
    answer = SqlAnswer(names, rows, Fraction(19, 20), (), keys=frozenset({0}))
    html = re.findall(r"<tr><td>.*?</tr>", answer._repr_html_())
    forms = (
        [line.split()[1:] for line in str(answer).splitlines()[1:-1]],
        [re.findall("<td>(.*?)</td>", row)[1:] for row in html],
    )
    for form in forms:
        for texts, interval in zip(form, given_, strict=True):
            for at in (0, 3):
                estimate, low, high = map(number, texts[at : at + 3])
                assert contains(low, high, interval), (texts, interval)
                assert low <= estimate <= high, (texts, interval)


@given(intervals())
@example((52.5, 46.0, 59.0))
@example((3, 0, 9))
def test_a_half_width_covers_the_interval_and_the_rounding(interval: Interval) -> None:
    axes = [Axis((name,), (("k",),)) for name in "ab"]
    estimate, low, high = (array_of([each]).reshape(1, 1) for each in interval)
    part = (estimate, (low, high))
    row = (estimate[0], (low[0], high[0]))
    text = crossed(axes, [part, row, row, (interval[0], interval[1:])], "")
    cells = CELL.findall(text)
    assert len(cells) == 4
    for middle, half in (map(number, cell) for cell in cells):
        assert contains(middle - half, middle + half, interval), (text, interval)


@pytest.mark.parametrize("unit", [Fraction(1), Fraction(1, 10), Fraction(1, 3), Fraction(1, 7000)])
@given(value=st.integers(-(10**12), 10**12), half=st.integers(0, 10**6))
def test_an_estimate_from_earlier_noise_prints_its_interval(
    unit: Fraction, value: int, half: int
) -> None:
    spread = Spread(Fraction(half), Fraction(0), 0, Fraction(0), Fraction(half), ())
    answer = Estimated(value * unit, "", ZCDP(1), ZCDP(1), Spreads.of([spread]), unit=unit)
    [texts] = re.findall(r"interval: (\S+) to (\S+)\)", str(answer))
    low, high = map(number, texts)
    least, most = answer.interval()
    assert low <= least
    assert most <= high


def test_numbers_of_a_narrow_interval_have_its_digits() -> None:
    assert str(released(NARROW)) == "Sum(x): 49,997,784 (95% interval: 49,997,753 to 49,997,816)"
    answer = SqlAnswer(("s", "s_low", "s_high"), (NARROW,), Fraction(19, 20), ())
    assert str(answer).splitlines()[1].split() == ["49,997,784", "49,997,753", "49,997,816"]
