"""Noise reduction and choices, audited: the exact law of a view, and claims that it refutes."""

from itertools import product
from typing import Any

import pytest

from composition import FiltCon
from mechanisms import (
    BrownianNoiseReduction,
    Doubling,
    ExponentialMechanism,
    Open,
    PermuteAndFlip,
    Refine,
    TopK,
)
from queryable import ZCDP, Ask, PureDP, Statistic, View
from queryable.audit import Outcome, audit

COUNT = Statistic(int, l1=1, l2=1)
SCORES = Statistic(list, l1=3, l2=2, shape=3)
ENDS = ([3, 0, 1], [2, 1, 2])  # one record moves scores by one, up and down


def adaptively(view: View) -> Any:
    """Opens, refines, and refines further the further the first answer is from zero."""
    match len(view):
        case 0:
            return Open(COUNT)
        case 1:
            return Ask("estimate 0", Refine(1))
        case 2:
            return Ask("estimate 0", Refine("1/3" if view.answers[-1].value > 0 else "1/2"))
    return None


@pytest.mark.parametrize(("claim", "outcome"), [("3/2", Outcome.HOLDS), ("7/5", Outcome.REFUTED)])
def test_a_view_of_noise_reduction_loses_what_its_last_variance_says(
    claim: str, outcome: Outcome
) -> None:
    """1/(2t) at the finest t that the adversary ever goes to: no more, and not a tenth less."""
    mechanism = BrownianNoiseReduction() @ FiltCon(ZCDP("3/2"))
    verdict = audit(
        mechanism, [(0, 1)], adversary=adaptively, tail="1e-8", slack="1e-4", claim=ZCDP(claim)
    )
    assert verdict.outcome == outcome


def twice(view: View) -> Any:
    """The two releases of doubling."""
    return (Open(COUNT), *(Ask("estimate 0", Refine()),) * 2, None)[len(view)]


@pytest.mark.parametrize(("claim", "outcome"), [("3/2", Outcome.HOLDS), ("1", Outcome.REFUTED)])
def test_doubling_loses_all_its_releases(claim: str, outcome: Outcome) -> None:
    """To variance 1/2 by way of 1: the last release alone would be 1."""
    mechanism = Doubling(1) @ FiltCon(ZCDP("3/2"))
    verdict = audit(
        mechanism, [(0, 1)], adversary=twice, tail="1e-8", slack="1e-4", claim=ZCDP(claim)
    )
    assert verdict.outcome == outcome


CHOICES = {
    "exponential": ExponentialMechanism(SCORES, 1, sensitivity=1),
    "permute": PermuteAndFlip(SCORES, 1, sensitivity=1),
    "peeling": TopK(SCORES, 1, sensitivity=1, k=2),
}


@pytest.mark.parametrize("name", CHOICES)
def test_choices_keep_their_epsilon(name: str) -> None:
    """Pure and concentrated claims hold of the exact laws; a third of epsilon does not."""
    mechanism = CHOICES[name]
    pairs = [ENDS, *((list(x), [x[0] + 1, x[1] - 1, x[2]]) for x in product((0, 2), repeat=3))]
    assert audit(mechanism, pairs).holds
    assert audit(mechanism, pairs, claim=mechanism.privacy_map(1, ZCDP)).holds
    assert audit(mechanism, pairs, claim=PureDP("1/3")).refuted
