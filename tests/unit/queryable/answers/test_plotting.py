"""Pictures of answers: what is drawn, where, and with which labels."""

import sys
from datetime import date
from fractions import Fraction
from typing import Any

import attrs
import matplotlib as mpl
import numpy as np
import pytest

from composition import FiltCon
from mechanisms import Count, GroupBy, Keys
from queryable import PureDP, Queryable
from queryable.answers.estimates import Axis, Bin, Evidence
from queryable.answers.plotting import MOST_DRAWN
from queryable.answers.released import Released

mpl.use("Agg")


@attrs.frozen
class Between(Evidence):
    """These ends, for every confidence but one."""

    low: Any = attrs.field(eq=False)
    high: Any = attrs.field(eq=False)

    def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Any, Any]:
        wide = 2 if confidence > Fraction(96, 100) or simultaneous else 1
        return self.low * wide, self.high * wide


@attrs.frozen
class Alone(Between):
    most = None


AGES = Axis(("age",), ((Bin(0, 10),), (Bin(10, 20),), (Bin(20, 30),)))
SEXES = Axis(("sex",), (("F",), ("M",)))
VALUES = np.array([5.0, 6.0, 7.0])
ONE = Released(VALUES, (AGES,), "Count", evidence=Between(VALUES - 2, VALUES + 3))


@pytest.fixture(autouse=True)
def closed() -> Any:
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


def points(axes: Any) -> list[list[tuple[float, float]]]:
    """The points of each series."""
    lines = [line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata())]
    return [[*zip(line.get_xdata(), line.get_ydata(), strict=True)] for line in lines]


def intervals(axes: Any) -> list[tuple[float, float, float]]:
    """Each interval: where it is, its lower and its upper end."""
    drawn = [part for each in axes.collections for part in each.get_segments()]
    return [(start[0], start[1], stop[1]) for start, stop in drawn]


def labels(axes: Any) -> list[str]:
    return [each.get_text() for each in axes.get_xticklabels()]


def test_estimates_intervals_and_labels() -> None:
    axes = ONE.plot()
    assert points(axes) == [[(0, 5), (1, 6), (2, 7)]]
    assert intervals(axes) == [(0, 3, 8), (1, 4, 9), (2, 5, 10)]
    assert labels(axes) == ["[0, 10)", "[10, 20)", "[20, 30)"]
    assert axes.get_xlabel() == "age"
    assert axes.get_title() == "Count; 95% intervals, each by itself"
    assert axes.get_legend() is None


def test_the_confidence_is_that_which_is_asked_for() -> None:
    axes = ONE.plot(confidence="0.99")
    assert intervals(axes)[0] == (0, 6, 16)
    assert axes.get_title() == "Count; 99% intervals, each by itself"
    together = ONE.plot(simultaneous=True)
    assert intervals(together)[0] == (0, 6, 16)
    assert together.get_title() == "Count; 95% intervals, all at once"


def test_it_draws_where_it_is_told() -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots()
    assert ONE.plot(axes) is axes
    assert plt.get_fignums() == [figure.number]


def test_the_last_of_several_dimensions_is_series() -> None:
    values = np.arange(6.0).reshape(3, 2)
    answer = Released(values, (AGES, SEXES), "Count", evidence=Between(values - 1, values + 1))
    axes = answer.plot()
    women, men = points(axes)
    assert [y for _, y in women] == [0, 2, 4]
    assert [y for _, y in men] == [1, 3, 5]
    assert [round(x) for x, _ in women] == [round(x) for x, _ in men] == [0, 1, 2]
    assert all(one < other for (one, _), (other, _) in zip(women, men, strict=True))
    assert labels(axes) == ["[0, 10)", "[10, 20)", "[20, 30)"]
    legend = axes.get_legend()
    assert [each.get_text() for each in legend.get_texts()] == ["F", "M"]
    assert legend.get_title().get_text() == "sex"
    assert len(intervals(axes)) == 6


def test_many_keys_of_the_last_dimension_are_labels() -> None:
    many = Axis(("n", "m"), tuple((n, "x") for n in range(9)))
    values = np.arange(18).reshape(2, 9)
    axes = Released(values, (SEXES, many), "Count", evidence=Alone(0, 0)).plot()
    assert labels(axes)[:2] == ["F, 0, x", "F, 1, x"]
    assert axes.get_xlabel() == "sex, n, m"
    assert intervals(axes) == []
    assert [y for _, y in points(axes)[0]] == list(range(18))
    assert axes.get_title() == "Count"


def test_labels_of_many_groups_are_thinned() -> None:
    axis = Axis(("n",), tuple((n,) for n in range(100)))
    axes = Released(np.arange(100), (axis,), "Count", evidence=Alone(0, 0)).plot()
    assert len(labels(axes)) <= 40
    assert labels(axes)[1] == str(round(axes.get_xticks()[1]))
    assert len(points(axes)[0]) == 100


def test_a_single_number_and_a_date_are_drawn() -> None:
    one = Released(412, (), "Count", evidence=Between(400, 420))
    assert intervals(one.plot()) == [(0, 400, 420)]

    @attrs.frozen
    class Days(Evidence):
        def interval(self, confidence: Fraction, *, simultaneous: bool) -> tuple[Any, Any]:
            return date(2020, 1, 1), date(2020, 3, 1)

    axes = Released(date(2020, 2, 1), (), "Median", evidence=Days()).plot()
    assert len(intervals(axes)) == 1
    axes.figure.canvas.draw()


def test_an_end_that_is_infinite_or_missing_is_an_arrow() -> None:
    low, high = np.array([-np.inf, 1.0, np.nan]), np.array([3.0, np.inf, np.nan])
    answer = Released(np.array([1.0, 2.0, np.nan]), (AGES,), "Ratio", evidence=Between(low, high))
    axes = answer.plot()
    assert intervals(axes) == [(0, 1, 3), (1, 1, 2)]
    arrows = [line.get_marker() for line in axes.lines if line.get_marker() in "v^"]
    assert arrows == ["v", "^"]
    axes.figure.canvas.draw()


def test_texts_of_data_are_no_mathematics_and_are_never_hidden() -> None:
    hostile = Axis(("$_{$",), (("$\\frac{$",), ("_hidden\n",)))
    values = np.arange(6).reshape(3, 2)
    answer = Released(values, (AGES, hostile), "$x_{$", evidence=Alone(0, 0))
    axes = answer.plot()
    axes.figure.canvas.draw()
    shown = [each.get_text() for each in axes.get_legend().get_texts()]
    assert shown == ["$\\frac{$", "_hidden "]
    turned = Released(values.T, (hostile, AGES), "$x_{$", evidence=Alone(0, 0)).plot()
    turned.figure.canvas.draw()
    assert labels(turned) == ["$\\frac{$", "_hidden "]


def test_what_cannot_be_drawn_is_named() -> None:
    many = Axis(("n",), tuple((n,) for n in range(MOST_DRAWN + 1)))
    answer = Released(np.arange(MOST_DRAWN + 1), (many,), "Count", evidence=Alone(0, 0))
    with pytest.raises(ValueError, match="401 estimates are more than 400"):
        answer.plot()
    texts = Released(np.array(["a", "b"], dtype=object), (SEXES,), "Top", evidence=Alone(0, 0))
    with pytest.raises(TypeError, match="numbers and times are drawn, and this answer has str"):
        texts.plot()
    for each in (answer, texts):
        assert each._repr_png_() is None


def test_a_notebook_has_a_picture_of_groups_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import pyplot as plt

    png = ONE._repr_png_()
    assert png is not None
    assert png.startswith(b"\x89PNG")
    assert plt.get_fignums() == []
    assert Released(412, (), "Count", evidence=Between(400, 420))._repr_png_() is None
    monkeypatch.setattr("queryable.answers.plotting.find_spec", lambda _: None)
    assert ONE._repr_png_() is None
    assert "<table>" in ONE._repr_html_()


def test_matplotlib_is_named_if_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match="install matplotlib for figures"):
        ONE.plot()


def test_released_groups_are_drawn() -> None:
    """As they come from a queryable."""
    data = {"age": [1, 11, 12], "sex": ["F", "M", "M"]}
    table = Queryable(FiltCon(PureDP(9)), data)
    by = GroupBy([Keys.bins("age", [0, 10, 20]), Keys("sex", ["F", "M"])], Count())
    answer = table.release(by, within=10)
    axes = answer.plot()
    drawn = [[round(y) for _, y in each] for each in points(axes)]
    assert drawn == answer.estimate.T.tolist()
    assert sorted((low, high) for _, low, high in intervals(axes)) == sorted(
        zip(*(each.ravel().tolist() for each in answer.interval()), strict=True)
    )
