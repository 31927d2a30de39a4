"""Reports: bounds on the realised loss have their own order and do not mix with losses."""

from typing import Any

import pytest

from queryable import ApproxDP, PureDP
from queryable.losses import ExPostBound, TimeUniformBound

BOUNDS = (ExPostBound, TimeUniformBound)


@pytest.mark.parametrize("bound", BOUNDS)
def test_order_and_zero(bound: Any) -> None:
    """Bounds of one kind are ordered by both coordinates; zero is the least."""
    small, large = bound("0.1", "1e-6"), bound("0.2", "1e-6")
    assert small <= large
    assert large >= small
    assert not large <= small
    assert not bound("0.1", "1e-5") <= large
    assert small.zero() == bound(0, 0) <= small


@pytest.mark.parametrize("bound", BOUNDS)
def test_kinds_do_not_mix(bound: Any) -> None:
    """Comparing with a loss or another kind of bound is a `TypeError`, and so is any sum."""
    one = bound("0.1", "1e-6")
    others = [PureDP(1), ApproxDP(1, "1e-6"), 1, *(kind(1, 1) for kind in BOUNDS if kind != bound)]
    for other in others:
        for compare in (lambda a, b: a <= b, lambda a, b: a >= b, lambda a, b: a < b):
            with pytest.raises(TypeError, match="not a privacy loss"):
                compare(one, other)
    for add in (lambda: one + one, lambda: one - one, lambda: PureDP(1) + one):
        with pytest.raises(TypeError):
            add()


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize(("epsilon", "delta"), [(-1, 0), (float("nan"), 0), (1, 2), (1, -1)])
def test_parameters_are_checked(bound: Any, epsilon: Any, delta: Any) -> None:
    with pytest.raises(ValueError, match=r"epsilon|delta"):
        bound(epsilon, delta)


def test_the_text_of_reports() -> None:
    assert str(ExPostBound("0.1", 0)) == "ExPostBound(loss <= 0.1 for these answers)"
    assert "except with probability 1e-06" in str(ExPostBound("0.1", "1e-6"))
    assert "at all times" in str(TimeUniformBound("0.1", "1e-6"))
