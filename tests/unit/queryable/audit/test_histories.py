"""Claims from every history: a continual mechanism may keep its claim on the whole only."""

from decimal import Decimal
from typing import Any

import pytest

from queryable import SYSTEM, ZCDP, ApproxDP, Coins, PureDP, SeededCoins
from queryable.audit import Outcome, audit, audit_histories
from queryable.audit.histories import Hidden
from queryable.randomness.laws import Bernoulli
from queryable.streams.levels import Growth
from tests.audit.streams import ARRIVES, EMPTY, NOTHING, Flagged, Pads, Rolls
from tests.audit.toys import F, nats

MOVES = (ARRIVES, EMPTY, "read")


@pytest.mark.parametrize(
    ("mechanism", "queries"),
    [(Rolls(3), MOVES), (Rolls(2, delta="1/9"), MOVES), (Pads(3), (ARRIVES, EMPTY, "key", "sum"))],
    ids=str,
)
def test_fresh_noise_keeps_the_claim_from_any_history(mechanism: Any, queries: Any) -> None:
    """Noise that is drawn for each batch is new, whatever was answered before."""
    verdict = audit_histories(mechanism, (), queries=queries, history=3, horizon=3)
    assert verdict.holds
    assert len({repr(finding.x) for finding in verdict.findings}) >= 2  # equal ones once


def test_a_flag_is_told_in_the_opening() -> None:
    """On the whole the claim holds. After the opening that tells the flag it does not."""
    liar = Flagged("1/10", claimed=ApproxDP(0, "1/10"))
    assert audit(liar, NOTHING, queries=MOVES, horizon=4).holds
    verdict = audit_histories(liar, (), queries=MOVES, history=0, horizon=2)
    assert verdict.refuted
    witness = verdict.witness
    assert witness is not None
    assert repr(witness.x) == "after [True]"
    assert witness.below == 1
    assert "x=after [True]" in str(verdict)
    outcomes = {repr(each.x): each.outcome for each in verdict.findings}
    assert outcomes == {"after [True]": Outcome.REFUTED, "after [False]": Outcome.HOLDS}


def test_histories_end_when_nothing_more_can_happen() -> None:
    """However many messages are allowed: none agree here but the opening."""
    both = {"queries": (ARRIVES,), "horizon": 2}
    verdict = audit_histories(Rolls(3), (), history=10**5000, **both)
    assert verdict.findings == audit_histories(Rolls(3), (), history=0, **both).findings
    assert "up to more than 1e308 messages" in str(verdict.method)


@pytest.mark.parametrize("wrong", ["history", "horizon", "differing", "limit"])
def test_numbers_of_messages_are_integers(wrong: str) -> None:
    right = {"history": 1, "horizon": 1, "differing": 1, "limit": 100}
    for value in (Decimal("NaN"), 1.0, None):
        with pytest.raises(TypeError, match=f"{wrong} is .*should be an integer"):
            audit_histories(Rolls(3), (), queries=MOVES, **{**right, wrong: value})
    with pytest.raises(ValueError, match=f"{wrong} is -1"):
        audit_histories(Rolls(3), (), queries=MOVES, **{**right, wrong: -1})


class Warms(Rolls):
    """The third batch and all later ones are answered at odds 9; the flag is tossed at a read."""

    growth = Growth()

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        (bit, asked), told = state if isinstance(state[0], tuple) else (state, False)
        if query == "read" and not asked:
            odds = F(9) if told else F(3, 2)
            answer = coins.draw(Bernoulli(odds / (1 + odds))) == bit
            return ((bit, True), coins.draw(Bernoulli(F(1, 2)))), answer
        return (super().step((bit, asked), query, coins)[0], told), None


def test_what_is_not_told_counts_by_its_probability() -> None:
    """The second read is at odds 9 with probability 1/2, which only the mechanism knows.

    Given the history, the hidden odds are 9 or 3/2 still, so the answer is right with probability
    (9/10 + 3/5)/2 = 3/4. A flag that is not told does not refute the claim.
    """
    hidden = {"queries": MOVES, "history": 3, "horizon": 2}
    assert audit_histories(Warms(), (), claim=PureDP(nats(3)), **hidden).holds  # type: ignore[arg-type]
    low = audit_histories(Warms(), (), claim=PureDP(nats(F(299, 100))), **hidden)  # type: ignore[arg-type]
    assert low.refuted
    assert low.witness is not None
    assert "read" in repr(low.witness.x)


def test_the_length_of_histories_counts() -> None:
    """The loss after a read is found only if histories are as long as that."""
    for history, holds in ((0, True), (1, False)):
        verdict = audit_histories(
            Warms(), (), queries=MOVES, history=history, horizon=2, claim=PureDP(nats(2))
        )
        assert verdict.holds == holds


def test_other_measures_and_numbers_of_pairs() -> None:
    rho = Rolls(3).privacy_map(1, ZCDP)
    options = {"queries": MOVES, "history": 1}
    assert audit_histories(Rolls(3), (), horizon=2, claim=rho, **options).holds  # type: ignore[arg-type]
    twice = {"horizon": 4, "differing": 2, "d_in": 2}
    assert audit_histories(Rolls(3), (), **options, **twice).holds  # type: ignore[arg-type]
    low = audit_histories(Rolls(3), (), horizon=4, differing=2, **options)  # type: ignore[arg-type]
    assert low.refuted


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="contain a Pair"):
        audit_histories(Rolls(3), (), queries=(EMPTY, "read"), history=1, horizon=1)
    with pytest.raises(ValueError, match="are more than 1"):
        audit_histories(Rolls(3), (), queries=MOVES, history=9, horizon=1, limit=1)


def test_hidden_states_can_be_sampled() -> None:
    """Sampled audits of a `FromHistory` are possible too."""
    law = Hidden((("a", F(1, 3)), ("b", F(2, 3))))
    drawn = [SeededCoins(seed).draw(law) for seed in range(300)]
    assert set(drawn) == {"a", "b"}
    assert 60 < drawn.count("a") < 140  # false alarm below 1e-5
