"""Audits of noise reduction and of choices: exact laws of views, and refuted claims."""

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
from queryable import ZCDP, Ask, PureDP, Statistic
from queryable.audit import Outcome, audit
from queryable.view import View

COUNT = Statistic(int, l1=1, l2=1)
SCORES = Statistic(list, l1=3, l2=2, linf=1, shape=3)
ENDS = ([3, 0, 1], [2, 1, 2])  # one record changes scores by one, up and down


def adaptively(view: View) -> Any:
    """Opens and refines; the last variance depends on the first answer."""
    match len(view):
        case 0:
            return Open(COUNT)
        case 1:
            return Ask("estimate 0", Refine(1))
        case 2:
            return Ask("estimate 0", Refine("1/3" if view.answers[-1].value > 0 else "1/2"))
    return None


@pytest.mark.parametrize(("claim", "outcome"), [("3/2", Outcome.HOLDS), ("7/5", Outcome.REFUTED)])
def test_noise_reduction_loses_what_its_last_variance_costs(claim: str, outcome: Outcome) -> None:
    """The loss is 1/(2t) at the finest t of the adversary; a claim slightly below is refuted."""
    mechanism = BrownianNoiseReduction() @ FiltCon(ZCDP("3/2"))
    verdict = audit(
        mechanism, [(0, 1)], adversary=adaptively, tail="1e-8", slack="1e-4", claim=ZCDP(claim)
    )
    assert verdict.outcome == outcome


def twice(view: View) -> Any:
    """Asks for the two releases of doubling."""
    return (Open(COUNT), *(Ask("estimate 0", Refine()),) * 2, None)[len(view)]


@pytest.mark.parametrize(("claim", "outcome"), [("3/2", Outcome.HOLDS), ("1", Outcome.REFUTED)])
def test_doubling_loses_the_sum_of_its_releases(claim: str, outcome: Outcome) -> None:
    """Releases at variances 1 and 1/2 lose 3/2; the last release alone would lose 1."""
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
    """Pure and concentrated claims hold for the exact laws; a third of epsilon is refuted."""
    mechanism = CHOICES[name]
    pairs = [ENDS, *((list(x), [x[0] + 1, x[1] - 1, x[2]]) for x in product((0, 2), repeat=3))]
    assert audit(mechanism, pairs).holds
    assert audit(mechanism, pairs, claim=mechanism.privacy_map(1, ZCDP)).holds
    assert audit(mechanism, pairs, claim=PureDP("1/3")).refuted
