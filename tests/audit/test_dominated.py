"""Randomized responses and Gaussians that are chosen adaptively stay within one of each.

After a response the analyst launches a response or a Gaussian, whichever has the larger hockey
stick at e^t. The choice may differ after each of the two answers. The hockey stick of the whole
interaction is computed at 60 digits.
"""

from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from composition import FiltCon
from queryable import Launch, Launched, Loss, Refused
from queryable.losses import Dominated
from tests.reference import beside_response, gaussian_profile, mp, real, response_profile
from tests.strategies import RandomWord

TIMES = [Fraction(k, 10) for k in range(-20, 41)]


def within(budget: Dominated, *losses: Loss) -> bool:
    """Whether a filter admits these launches in order."""
    filtered = FiltCon(budget)
    state, _ = filtered.init(None)
    for loss in losses:
        state, answer = filtered.step(state, Launch(RandomWord(loss)))
        assert isinstance(answer, Launched | Refused)
        if isinstance(answer, Refused):
            return False
    return True


def claimed(budget: Dominated, t: Any) -> Any:
    """The hockey stick of the budget's pair, without its coin."""
    return beside_response(budget.epsilon, partial(gaussian_profile, budget.mu), t)


def attained(first: Fraction, response: Fraction, mu: Fraction, t: Any) -> Any:
    """The hockey stick of the best adaptive choice after a first response."""

    def best(at: Any) -> Any:
        return max(response_profile(response, at), gaussian_profile(mu, at))

    return beside_response(first, best, t)


@pytest.mark.parametrize("first", [Fraction("0.01"), Fraction("0.5")])
@pytest.mark.parametrize("response", ["0.2", "1"])
@pytest.mark.parametrize("mu", ["0.2", "1"])
def test_a_choice_by_answers_stays_within_the_pair(first: Fraction, response: str, mu: str) -> None:
    """The filter admits either choice, and the adaptive choice stays within the budget."""
    budget = Dominated(first + Fraction(response), mu, 0)
    for second in (Dominated(response, 0, 0), Dominated(0, mu, 0)):
        assert within(budget, Dominated(first, 0, 0), second)
    for t in TIMES:
        true = attained(first, Fraction(response), Fraction(mu), real(t))
        assert true <= claimed(budget, real(t)) + mp.mpf(10) ** -50


def test_a_budget_without_the_first_response_is_exceeded() -> None:
    """A launch that the filter refuses would exceed the claim, so the test above can fail."""
    budget = Dominated("0.2", "0.2", 0)
    assert not within(budget, Dominated("0.01", 0, 0), Dominated("0.2", 0, 0))
    assert any(
        attained(Fraction("0.5"), Fraction("0.2"), Fraction("0.2"), real(t))
        > claimed(budget, real(t))
        for t in TIMES
    )


def test_gaussians_add_in_squares_and_deltas_in_sums() -> None:
    """The parts fill the budget exactly, and nothing more fits."""
    budget = Dominated(1, 5, "1e-6")
    parts = [Dominated("0.5", 3, "5e-7"), Dominated("0.5", 4, "5e-7")]
    assert within(budget, *parts)
    for more in (Dominated("1e-9", 0, 0), Dominated(0, "1e-9", 0), Dominated(0, 0, "1e-30")):
        assert not within(budget, *parts, more)
