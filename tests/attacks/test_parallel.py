"""Attacks on parallel composition: a record that moves, and parts that get batches."""

from fractions import Fraction
from typing import Any

import pytest

from composition import FiltCon, Parallel, Partition
from queryable import (
    SYSTEM,
    ZCDP,
    ApproxDP,
    Ask,
    Launch,
    PureDP,
    Refused,
    UnprovenCompositionError,
    Update,
)
from queryable.audit import (
    HockeyStick,
    MaxDivergence,
    Pair,
    audit,
    audit_histories,
    hockey_stick,
    view_law,
    worst_case,
    zcdp,
)
from queryable.audit.concentrated import concentration
from queryable.conversation.stepping import advance, begin
from queryable.streams.levels import Growth
from tests.audit.streams import ARRIVES, EMPTY, NOTHING, Flagged, Pads, Rolls
from tests.audit.toys import F, Response, nats, odds_below, script

# Attack: ask the parts of a partition about a record that moved, and read both answers.
#
# Many libraries charge disjoint parts the largest of their losses. For one record more or less that
# is right. A record that moves changes two parts, and a mechanism such as randomized response loses
# as much for two records as for one: the largest of the two maps is half of what is lost.


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


# Attack: choose the part for a record after the parts have told what they will answer.
#
# If data do not change, one record is in one part, and that part is fixed before the first answer.
# The largest loss of a part is then the loss of the whole. If data grow, the adversary first looks
# which part is careless, and then lets the record arrive there. Henzinger, Safavi and Vadhan (2024)
# show that parallel composition fails for delta > 0. The second attack shows the same for zCDP.
#
# A careless part says at its launch that it is flagged, with probability 1/1000. A flagged part
# answers about the records that arrive; others answer nothing.


RARE = F(1, 1000)
MANY = 5_000
E = odds_below(Fraction(1))
"""Odds of e, from below: the loss of a response at these odds is at most 1."""
ONE_RHO = ZCDP("0.0325")
"""What one careless part that responds at odds e claims; the least such number is 0.0324."""
MOVES = (ARRIVES, EMPTY, "read")


def part_of(record: Any) -> Any:
    return record[0]


def parallel(parts: int, *careless: Any) -> Parallel:
    """Parts 0, 1, ..., each with one of these mechanisms in turn."""
    names = list(range(parts))
    return Parallel(Partition(part_of, names), {n: careless[n % len(careless)] for n in names})


class Naive(Parallel):
    """Passes every batch to its parts, whatever they claim, and claims the largest loss."""

    growth = Growth()

    def require_growing(self) -> None:
        """No theorem is asked for."""


def naive(parts: int, careless: Any) -> Naive:
    ours = parallel(parts, careless)
    return Naive(ours.partition, ours.mechanisms)


def into(parts: int) -> tuple[Any, ...]:
    """A record arrives in one of the parts, or none does; each part may be read."""
    arrivals = [Pair(Update(((n, "record"),)), Update(())) for n in range(parts)]
    return (*arrivals, *(Ask(n, "read") for n in range(parts)))


def some_flag(parts: int, chance: Fraction = RARE) -> Fraction:
    """The probability that a part is flagged."""
    return 1 - (1 - chance) ** parts


# (epsilon, delta): Henzinger, Safavi and Vadhan.


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_parallel_fails_for_delta(parts: int) -> None:
    """The worst adversary lets the record arrive in a flagged part, whenever there is one."""
    careless = Flagged("1/4", claimed=ApproxDP(0, "1/4"))
    mechanism = naive(parts, careless)
    claimed = mechanism.privacy_map(1)
    assert claimed == ApproxDP(0, "1/4")
    found = worst_case(mechanism, (), (), into(parts), 2, HockeyStick(0))
    assert found.value == some_flag(parts, F(1, 4))
    verdict = audit(mechanism, NOTHING, queries=into(parts), horizon=2)
    assert verdict.refuted == (parts > 1)


def test_five_thousand_parts_have_a_delta_of_nearly_one() -> None:
    """Each is (0, 1/1000)-DP; together they are not (0, 0.99)-DP."""
    assert audit(Flagged(RARE, claimed=ApproxDP(0, RARE)), NOTHING, queries=MOVES, horizon=4).holds
    assert round(float(some_flag(MANY)), 4) == 0.9933
    assert some_flag(MANY) > F(99, 100)


# zCDP.


def flagged_response(parts: int, chance: Fraction, odds: Fraction) -> tuple[Any, Any]:
    """The laws of what the worst adversary learns: nothing, or one response of a flagged part."""
    some, right = some_flag(parts, chance), odds / (1 + odds)
    one = {None: 1 - some, True: some * right, False: some * (1 - right)}
    return one, {None: 1 - some, True: some * (1 - right), False: some * right}


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_the_laws_of_the_attack(parts: int) -> None:
    """The laws written down above are those of the naive mechanism's worst adversary."""
    mechanism = naive(parts, Flagged("1/4", F(3), claimed=ZCDP(1)))
    p, q = flagged_response(parts, F(1, 4), F(3))
    for epsilon in (F(0), F(1, 2), F(1)):
        found = worst_case(mechanism, (), (), into(parts), 2, HockeyStick(epsilon))
        assert found.value == hockey_stick(p, q, epsilon)


def test_one_careless_part_loses_little() -> None:
    """It is 0.0325-zCDP and not 0.0323-zCDP, against every adversary."""
    careless = Flagged(RARE, E, claimed=ONE_RHO)
    assert audit(careless, NOTHING, queries=MOVES, horizon=3).holds
    assert audit(careless, NOTHING, queries=MOVES, horizon=3, claim=ZCDP("0.0323")).refuted
    p, q = flagged_response(1, RARE, E)
    assert round(float(zcdp(p, q)), 4) == 0.0324


def test_parallel_fails_for_zcdp() -> None:
    """5,000 careless parts lose 0.459, fourteen times what the largest part loses."""
    p, q = flagged_response(MANY, RARE, E)
    found = concentration(p, q)
    assert round(float(found.below), 3) == round(float(found.above), 3) == 0.459
    assert found.below > 14 * ONE_RHO.rho
    assert parallel(MANY, Flagged(RARE, E, claimed=ONE_RHO)).privacy_map(1) == ONE_RHO


# Ours.


@pytest.mark.parametrize("claimed", [ApproxDP(0, RARE), ONE_RHO], ids=str)
def test_ours_refuses_batches(claimed: Any) -> None:
    """A careless part has a claim that does not hold from every history."""
    mechanism = parallel(3, Rolls(3), Flagged(RARE, E, claimed=claimed))
    state, _ = begin(mechanism, (), SYSTEM)
    with pytest.raises(UnprovenCompositionError, match="parallel composition is false"):
        advance(mechanism, state, Update(((1, "record"),)), SYSTEM, 1)


def test_ours_keeps_its_snapshot_below_a_filter() -> None:
    """There it answers about the data of its launch, so a record that arrives later is not seen."""
    mechanism = parallel(2, Flagged("1/4", claimed=ApproxDP(0, "1/4")))
    queries = (Launch(mechanism), *into(2)[:2], Ask(0, Ask(0, "read")), Ask(0, Ask(1, "read")))
    filtered = FiltCon(ApproxDP(0, "1/4"))
    assert worst_case(filtered, (), (), queries[:1] + queries[3:], 4, MaxDivergence()).value == 0
    verdict = audit(filtered, NOTHING, queries=queries, horizon=4)
    assert verdict.holds
    assert max(finding.below for finding in verdict.findings) <= F(1, 4)


def test_ours_takes_batches_for_pure_parts() -> None:
    """A pure part has ratio 1 while messages agree, so its claim holds from every history."""
    mechanism = parallel(2, Rolls(3), Rolls(2))
    assert mechanism.privacy_map(1) == PureDP(nats(3))
    verdict = audit(mechanism, NOTHING, queries=into(2), horizon=5)
    assert verdict.holds
    low = audit(mechanism, NOTHING, queries=into(2), horizon=5, claim=PureDP(nats(F(299, 100))))
    assert low.refuted
    twice = {"d_in": 2, "differing": 2}
    assert audit(mechanism, NOTHING, queries=into(2), horizon=4, **twice).holds  # type: ignore[arg-type]


class Pure(Flagged):
    """A careless part is 1-DP, and knows a zCDP of its own that is smaller."""

    growth = Growth()

    def step(self, state: Any, query: Any, coins: Any = SYSTEM) -> tuple[Any, Any]:
        return super().step(state, query, coins)

    def privacy_map(self, d_in: int, measure: Any = None) -> Any:
        return ONE_RHO if measure is ZCDP else super().privacy_map(d_in, measure)


def test_a_pure_part_is_charged_by_conversion() -> None:
    """It keeps its epsilon from every history, but not its own rho."""
    part = Pure(RARE, E, claimed=PureDP(1))
    assert part.privacy_map(1, ZCDP) == ONE_RHO
    stated = parallel(MANY, part).privacy_map(1, ZCDP)
    assert stated == PureDP(1).to(ZCDP)
    assert stated.rho > concentration(*flagged_response(MANY, RARE, E)).above  # type: ignore[attr-defined]


# A part that claims more than it keeps.


def test_a_wrong_declaration_is_refuted() -> None:
    """`Parallel` believes the declaration; `audit_histories` finds the history that refutes it."""
    for claimed, odds in ((ApproxDP(0, RARE), None), (ONE_RHO, E)):
        liar = Flagged(RARE, odds, claimed=claimed, from_any_history=True)
        assert audit(liar, NOTHING, queries=MOVES, horizon=3).holds
        verdict = audit_histories(liar, (), queries=MOVES, history=1, horizon=2)
        assert verdict.refuted
        assert "after [True]" in str(verdict)


def test_a_believed_liar_breaks_parallel() -> None:
    """The declaration matters: with it the attack succeeds against ours as well."""
    liar = Flagged("1/4", claimed=ApproxDP(0, "1/4"), from_any_history=True)
    mechanism = parallel(3, liar)
    assert audit(mechanism, NOTHING, queries=into(3), horizon=2).refuted


def test_honest_declarations_hold() -> None:
    for mechanism, moves in ((Rolls(3), MOVES), (Pads(3), (ARRIVES, EMPTY, "key", "sum"))):
        assert mechanism.growth.from_any_history
        assert audit_histories(mechanism, (), queries=moves, history=3, horizon=3).holds
