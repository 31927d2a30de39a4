"""Data that grow: every compositor and continual mechanism, against its exact worst adversary.

The adversary sends batches and asks questions in any order. In one place the streams differ: a
record arrives, or none does.
"""

import pytest

from queryable import Loss
from tests.audit.streams import STREAMS

LONGER = {"FiltCon, zCDP", "FiltCon, approximate zCDP", "FiltCon of pads", "nested filters"}
"""Cases of a second or more."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=[pytest.mark.slow] * (each in LONGER)) for each in STREAMS],
)
def test_the_claim_holds_and_is_nearly_reached(name: str) -> None:
    """The claim holds, and the adversary is strong enough to detect a fault."""
    case = STREAMS[name]
    verdict = case.keeps()
    if isinstance(case.reached, Loss):
        assert case.audited(case.quick, case.reached).refuted
    else:
        assert max(finding.below for finding in verdict.findings) >= case.reached


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAMS)
def test_the_claim_holds_for_four_updates_and_four_questions(name: str) -> None:
    """As above, with more updates that are part of both streams."""
    case = STREAMS[name]
    verdict = case.audited(case.most)
    assert verdict.holds, verdict
