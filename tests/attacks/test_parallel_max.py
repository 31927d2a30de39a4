"""Attack: ask the parts of a partition about a record that moved, and read both answers.

Many libraries charge disjoint parts the largest of their losses. For one record more or less that
is right. A record that moves changes two parts, and a mechanism such as randomized response loses
as much for two records as for one: the largest of the two maps is half of what is lost.
"""

from fractions import Fraction
from typing import Any

import pytest

from composition import FiltCon, Parallel, Partition
from queryable import SYSTEM, Launch, PureDP, Refused
from queryable.audit import hockey_stick, view_law
from queryable.conversation.stepping import (
    advance,
    begin,
)
from tests.audit.toys import Response, nats, script

HOME = (("north", "patient"), ("south", "doctor"))
MOVED = (("south", "patient"), ("south", "doctor"))


def region(record: Any) -> Any:
    return record[0]


def crowded(part: Any) -> bool:
    return len(part) == 1


PARALLEL = Parallel(
    Partition(region, ["north", "south"]),
    {"north": Response(9, bit=crowded), "south": Response(9, bit=crowded)},
)


def naive_map(parallel: Parallel, d_in: int) -> PureDP:
    """The rule under attack."""
    return max(
        (each.privacy_map(d_in) for each in parallel.mechanisms.values()),
        key=lambda loss: loss.epsilon,
    )


def gained(epsilon: Fraction) -> Fraction:
    """The delta that an adversary has at this epsilon."""
    return hockey_stick(*(view_law(PARALLEL, data, script()) for data in (HOME, MOVED)), epsilon)


def test_the_naive_rule_is_broken() -> None:
    """Both answers together have odds 81 to 1; delta is 0.72 at the epsilon of the naive rule."""
    assert naive_map(PARALLEL, 2) == PureDP(nats(9))
    assert gained(nats(9)) == pytest.approx(Fraction(81 - 9, 100))


def test_ours_is_not() -> None:
    """Delta is 0 at the sum of both; for one record the largest loss is enough."""
    stated = PARALLEL.privacy_map(2)
    assert stated == PureDP(2 * nats(9))
    assert gained(stated.epsilon) == 0
    assert PARALLEL.privacy_map(1) == PureDP(nats(9))


def test_a_filter_charges_what_is_lost() -> None:
    """Under a budget for two records the launch is charged both, or refused."""
    for budget, fits in ((PureDP(2 * nats(9)), True), (PureDP(nats(9)), False)):
        filtered = FiltCon(budget, d_in=2)
        state, _ = begin(filtered, HOME, SYSTEM)
        answer = advance(filtered, state, Launch(PARALLEL), SYSTEM, 1)[1]
        assert isinstance(answer, Refused) != fits
