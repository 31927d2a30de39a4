"""The zCDP of continuous Laplace noise claimed for integer noise: false.

e + exp(-e) - 1 with e = width/scale is the divergence of two shifted Laplace *densities* (Harrison
and Manurangsi 2025). On the integers the noise has the same worst loss but is at its extremes more
often: where the width is 1, it is randomized response, whose divergence is e*tanh(e/2).
"""

from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import FiltCon
from mechanisms import Laplace
from queryable import ZCDP, Launch, Launched, Loss, Statistic
from queryable.audit import audit
from queryable.losses import Measure
from queryable.losses.numbers import round_up
from queryable.view import View

NEIGHBOURS = [((), ("someone",))]
BUDGET = ZCDP("0.74")


@attrs.frozen(init=False)
class ContinuousLaplace(Laplace):
    """Naive: integer noise, and the claim of the continuous mechanism."""

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        if measure != ZCDP:
            return super().privacy_map(d_in, measure)
        epsilon = self.statistic.l1 * d_in / self.scale
        return ZCDP(round_up(lambda e: e + (-e).expm1(), epsilon))


def noisy_count(kind: Any, width: int, scale: Any) -> Laplace:
    """The number of records, each counted `width` times, with integer noise."""
    counted = Statistic(lambda dataset: width * len(dataset), l1=width, l2=width)
    mechanism = kind(counted, scale=scale)
    assert isinstance(mechanism, Laplace)
    return mechanism


@pytest.mark.parametrize(
    ("epsilon", "stated"),
    [
        ("0.1", 0.004837418035959606),
        ("0.5", 0.10653065971263342),
        ("1", 0.36787944117144233),
        ("2", 1.1353352832366128),
    ],
)
def test_the_naive_claim_is_the_published_one(epsilon: str, stated: float) -> None:
    """As computed elsewhere for continuous noise; even at width 10 it is below ours."""
    naive = noisy_count(ContinuousLaplace, 10, 10 / Fraction(epsilon))
    ours = noisy_count(Laplace, 10, 10 / Fraction(epsilon))
    claim: Any = naive.privacy_map(1, ZCDP)
    assert float(claim.rho) == pytest.approx(stated, rel=1e-9)
    assert claim <= ours.privacy_map(1, ZCDP) != claim


@pytest.mark.parametrize(("width", "scale"), [(1, 1), (2, 2), (3, 1), (1, "1/3")])
def test_the_naive_claim_is_refuted(width: int, scale: Any) -> None:
    """By the exact law of the answers; ours, on the same law, holds."""
    for kind, holds in ((Laplace, True), (ContinuousLaplace, False)):
        mechanism = noisy_count(kind, width, scale)
        verdict = audit(mechanism, NEIGHBOURS, claim=mechanism.privacy_map(1, ZCDP))
        assert (verdict.holds, verdict.refuted) == (holds, not holds)


def launching(mechanism: Laplace) -> Any:
    """An adversary that launches the mechanism until it is refused."""

    def adversary(view: View) -> Any:
        if any(not isinstance(answer, Launched) for answer in view.answers):
            return None
        return Launch(mechanism)

    return adversary


@pytest.mark.parametrize(("kind", "holds"), [(Laplace, True), (ContinuousLaplace, False)])
def test_a_filter_with_the_naive_claim_exceeds_its_budget(kind: Any, holds: bool) -> None:
    """The filter admits two launches where only one fits, and loses 0.92 of a budget of 0.74."""
    filtered = FiltCon(BUDGET)
    adversary = launching(noisy_count(kind, 1, 1))
    verdict = audit(filtered, NEIGHBOURS, adversary=adversary, tail="1e-4", slack="1e-3")
    assert (verdict.holds, verdict.refuted) == (holds, not holds)
