"""The figures of the guide "Which mechanism for which questions" are those that are measured."""

from pathlib import Path

import pytest

from benchmarks.choosing import GROUPS, LONG
from composition.advice import hints

SECONDS = {"frugal", "unknown"}
"""Groups whose figures take seconds to measure."""

PAGE = Path(__file__).parents[1] / "docs" / "choosing.md"


def lacks(text: str, phrases: list[str]) -> list[str]:
    """The phrases that are not in a text; lines may be broken anywhere."""
    read = " ".join(text.split())
    return [each for each in phrases if each not in read]


@pytest.mark.parametrize(
    "group",
    [pytest.param(each, marks=pytest.mark.slow if each in SECONDS else ()) for each in GROUPS],
)
@pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
def test_the_page_has_the_figures(group: str) -> None:
    phrases = list(GROUPS[group]())
    assert len(phrases) >= 2
    assert lacks(PAGE.read_text("utf-8"), phrases) == []


@pytest.mark.slow
@pytest.mark.parametrize("group", LONG)
@pytest.mark.filterwarnings("ignore::queryable.PrivacyWarning")
def test_the_page_has_the_figures_that_take_long(group: str) -> None:
    assert lacks(PAGE.read_text("utf-8"), list(LONG[group]())) == []


def test_hints_begin_where_the_page_says() -> None:
    """`recommend` speaks of a mechanism from the number of launches on from which it pays."""
    text = PAGE.read_text("utf-8")
    said = [
        f"ranges of 10 groups | from {hints.OVERLAPPING} questions on",
        f"from {hints.ABOVE} counts on in zCDP, and from {hints.ABOVE_ADDED} counts on if epsilons",
        f"from {hints.BEST} candidates on (rho",
        f"(with eta = 1), so it pays from {hints.BEST_ADDED} candidates on",
    ]
    assert lacks(text, said) == []


def test_another_figure_is_noticed() -> None:
    text = PAGE.read_text("utf-8")
    figure = "562 launches in place of 100"
    assert lacks(text, [figure]) == []
    assert lacks(text.replace("562", "563"), [figure]) == [figure]
