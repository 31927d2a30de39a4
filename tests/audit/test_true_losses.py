"""The true losses of counts and responses, against the claims of the mechanisms themselves."""

from fractions import Fraction
from typing import Any

import pytest

from queryable import GDP, RDP, ZCDP, ApproxDP, ApproxZCDP, PureDP
from queryable.losses import Dominated, TimeUniformBound
from tests.audit.true_losses import Atom, delta_at, exceeds, together

F = Fraction
COUNT = Atom(variance=F(4))
ATOMS = (
    COUNT,
    Atom(variance=F(1, 6)),
    Atom(scale=F(2)),
    Atom(odds=F(3)),
    Atom(odds=F(3, 2), delta=F(1, 10)),
)


@pytest.mark.parametrize("atom", ATOMS, ids=str)
@pytest.mark.parametrize("moved", [1, 2])
def test_a_mechanism_loses_what_it_claims(atom: Atom, moved: int) -> None:
    """Its claims hold in every measure, and its own measure shows a claim that is 1% too small."""
    measures = (PureDP, ApproxDP, ZCDP, ApproxZCDP, GDP, Dominated, RDP.at(2), RDP.at(2, 8))
    stated = []
    for measure in measures:
        try:
            stated.append(atom.mechanism().privacy_map(moved, measure))
        except ValueError:
            continue
    assert stated
    assert [exceeds(claim, [atom], moved) for claim in stated] == [""] * len(stated)
    own: Any = atom.mechanism().privacy_map(moved)
    parts = tuple(F(99, 100) * part for part in own.parts)
    assert exceeds(own.of_parts(parts), [atom], moved)


def test_responses_together_in_closed_form() -> None:
    """Two responses at odds 3: the largest loss, log 9, has probability 9/16 and 1/16."""
    law = together([Atom(odds=F(3))] * 2, 1)
    assert delta_at(law, F(0)) == pytest.approx(8 / 16)
    assert delta_at(together([Atom(delta=F(1, 10))], 1), F(50)) == pytest.approx(1 / 10)


@pytest.mark.parametrize(
    "claim",
    [
        *(PureDP(2), ApproxDP(1, "1e-6"), ZCDP("7/4"), ApproxZCDP("1/100", "1e-6"), RDP(8, 13)),
        *(GDP("1/2"), Dominated(0, "1/2", 0), TimeUniformBound(1, "1/10")),
    ],
    ids=str,
)
def test_more_than_a_claim_is_seen(claim: Any) -> None:
    """Fourteen counts of variance 4 are 7/4-zCDP exactly; every other claim here is below them."""
    assert bool(exceeds(claim, [COUNT] * 14)) is not isinstance(claim, ZCDP)
    assert exceeds(claim, [COUNT] * 15)
