"""Games of an adversary, its beliefs, and histories."""

from decimal import Decimal
from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import FiltCon
from composition.rules import Basic, Rogers2016, Whitehouse2023
from mechanisms import Laplace
from queryable import (
    SYSTEM,
    ZCDP,
    ApproxDP,
    Coins,
    InteractiveMechanism,
    Launch,
    Launched,
    PureDP,
    QueryError,
    Refused,
    SeededCoins,
    Statistic,
    UnknownQueryError,
)
from queryable.audit import Outcome, SeenError, audit, audit_histories, hockey_stick, view_law
from queryable.audit.beliefs import Belief, Machine
from queryable.audit.games import BOTTOM, adapt_param_comp, fixed_param_comp, privacy_filter_comp
from queryable.audit.histories import Hidden
from queryable.audit.views.enumeration import CUT
from queryable.randomness.laws import Bernoulli
from queryable.streams.levels import Growth
from queryable.view import View
from tests.audit.streams import ARRIVES, EMPTY, NOTHING, Flagged, Pads, Rolls
from tests.audit.toys import F, PadReveal, Response, nats, optimal_delta


def responses(*odds: Any) -> Any:
    """An adversary that asks for responses at these odds in order and then stops."""

    def adversary(answers: Any) -> Any:
        if len(answers) >= len(odds):
            return None
        mechanism = Response(odds[len(answers)])
        return 0, 1, mechanism, mechanism.privacy_map(1)

    return adversary


def cautious(answers: Any) -> Any:
    """Responses at odds 3 while the answers are False, and one at odds 2 after the first True."""
    if any(answers):
        return (0, 1, Response(2), PureDP(nats(2))) if answers[-1] else None
    return 0, 1, Response(3), PureDP(nats(3))


def test_fixed_parameters_are_kept_and_give_optimal_composition() -> None:
    """Two responses to the bit b: the answers are independent."""
    law = fixed_param_comp(responses(3, 2), [PureDP(nats(3)), PureDP(nats(2))], 1)
    assert law == {
        (True, True): F(3, 4) * F(2, 3),
        (True, False): F(3, 4) * F(1, 3),
        (False, True): F(1, 4) * F(2, 3),
        (False, False): F(1, 4) * F(1, 3),
    }
    # A mechanism that exceeds the parameters of its round is refused.
    fixed = [PureDP(nats(3)), PureDP(nats(2))]
    assert sum(fixed_param_comp(responses(2, 2), fixed, 0).values()) == 1
    with pytest.raises(ValueError, match="round 2 is fixed at"):
        fixed_param_comp(responses(3, 3), fixed, 0)
    # The views of responses at odds 3 and 2 reach the optimal composition theorem.
    fixed = [PureDP(nats(3)), PureDP(nats(2))]
    p, q = (fixed_param_comp(responses(3, 2), fixed, bit) for bit in (1, 0))
    assert hockey_stick(p, q, 0) == optimal_delta([(3, 0), (2, 0)], 1)
    assert hockey_stick(p, q, nats(6)) == 0


def test_parameters_and_datasets_may_depend_on_answers() -> None:
    """The view is as long as the adversary makes it, and k bounds it."""
    law = adapt_param_comp(cautious, 3, 1)
    assert (True, True) not in law
    assert law[(True, False)] == F(3, 4) * F(1, 3)
    assert law[(False, False, False)] == F(1, 4) ** 3
    assert law[(True, True, True)] == F(3, 4) * F(2, 3) ** 2
    assert sum(law.values()) == 1

    def swapped(answers: Any) -> Any:
        pair = (1, 0) if answers else (0, 1)
        return (*pair, Response(3), PureDP(nats(3))) if len(answers) < 2 else None

    law = adapt_param_comp(swapped, 5, 0)
    assert law[(False, True)] == F(9, 16)


def test_a_filter_halts_for_good() -> None:
    """A mechanism that does not fit is not run, and all later answers are BOTTOM."""
    law = privacy_filter_comp(responses(3, 3, 3, 2), 4, 1, Basic(), PureDP(2 * nats(3)))
    assert all(view[2:] == (BOTTOM, BOTTOM) for view in law)
    assert sum(law.values()) == 1
    assert repr(BOTTOM) == "BOTTOM"


@pytest.mark.parametrize(
    ("rule", "budget"),
    [
        (Basic(), PureDP(nats(6))),
        (Whitehouse2023(F(1, 100)), ApproxDP(4, F(1, 100))),
        (Rogers2016(), ApproxDP(12, F(1, 100))),
    ],
)
def test_filters_are_valid_here(rule: Any, budget: Any) -> None:
    """Definition 3.1 for one adaptive adversary: the views keep the budget, both ways."""
    p, q = (privacy_filter_comp(cautious, 4, bit, rule, budget) for bit in (0, 1))
    delta = getattr(budget, "delta", 0)
    assert hockey_stick(p, q, budget.epsilon) <= delta
    assert hockey_stick(q, p, budget.epsilon) <= delta
    assert hockey_stick(p, q, 0) > 0


def test_a_filter_that_never_halts_is_refuted() -> None:
    """Mutation: the same adversary exceeds the budget of a rule that admits everything."""

    class Always:
        within = True

        def add(self, loss: Any) -> "Always":
            return self

        def open(self, budget: Any) -> "Always":
            return self

        def child_measure(self, budget: Any) -> Any:
            return PureDP

    laws = [
        privacy_filter_comp(responses(3, 3, 3), 3, b, Always(), PureDP(nats(3))) for b in (0, 1)
    ]
    assert hockey_stick(*laws, nats(3)) > F(1, 4)


def test_the_game_is_what_filtcon_plays() -> None:
    """The game has the law of `FiltCon`, with HALT read as a refusal."""
    budget = PureDP(nats(6))
    law = privacy_filter_comp(responses(3, 2, 5), 3, 1, Basic(), budget)

    def analyst(view: View) -> Any:
        odds = (3, 2, 5)
        return Launch(Response(odds[len(view)])) if len(view) < 3 else None

    def read(answer: Any) -> Any:
        return BOTTOM if isinstance(answer, Refused) else answer.answer

    played: dict[Any, Any] = {}
    for (_, *answers), chance in view_law(FiltCon(budget), 1, analyst).items():  # type: ignore[misc]
        assert all(isinstance(answer, Launched | Refused) for answer in answers)
        seen = tuple(map(read, answers))
        played[seen] = played.get(seen, 0) + chance
    assert played == law


def test_tails_are_collected() -> None:
    """Infinite noise is enumerated up to a tail."""
    laplace = Laplace(Statistic(lambda data: data, l1=1, l2=1), epsilon=1)

    def once(answers: Any) -> Any:
        return None if answers else (0, 1, laplace, PureDP(1))

    p, q = (adapt_param_comp(once, 1, bit, tail="1e-6") for bit in (0, 1))
    assert CUT in p
    assert hockey_stick(p, q, 1) < F(1, 10**5) < hockey_stick(p, q, F(9, 10))


def masses(seen: Any) -> dict[Any, tuple[Fraction, Fraction]]:
    return {key: each.belief.mass for key, each in seen.items()}


def test_beliefs_are_updated_by_answers() -> None:
    """For a response: the answer's probability under either bit."""
    assert masses(Machine(Response(3)).start(1, 0)) == {
        True: (F(3, 4), F(1, 4)),
        False: (F(1, 4), F(3, 4)),
    }
    # The pad's key alone reveals nothing; key and sum together are the response.
    machine = Machine(PadReveal(3))
    (start,) = machine.start(1, 0).values()
    keys = machine.after(start.belief, "key")
    assert keys is not None
    assert masses(keys) == {True: (F(1, 2), F(1, 2)), False: (F(1, 2), F(1, 2))}
    sums = machine.after(keys[True].belief, "sum")
    assert sums is not None
    assert masses(sums) == {True: (F(1, 8), F(3, 8)), False: (F(3, 8), F(1, 8))}
    # The order of states does not matter; normalised beliefs are equal up to a factor.
    machine = Machine(PadReveal(3))
    (start,) = machine.start(1, 0).values()
    belief = start.belief
    shuffled = Belief(belief.p[::-1], belief.q[::-1])
    assert shuffled.key == belief.key
    half = belief.over(F(2))
    assert half.key != belief.key
    assert half.over(sum(half.mass)).key == belief.over(sum(belief.mass)).key  # type: ignore[arg-type]


@attrs.frozen
class Counted(InteractiveMechanism[Any]):
    """Records every step that it takes."""

    steps: list[Any] = attrs.field(factory=list, eq=False)
    hidden: Any = None

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return (bool(dataset) if self.hidden is None else self.hidden(bool(dataset))), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        self.steps.append((state, query))
        return state, coins.draw(Bernoulli(F(1, 2)))


class Unhashable:
    """A state that cannot be hashed."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, bit: bool) -> None:
        self.bit = bit


def test_a_step_is_enumerated_once() -> None:
    """A hashable state is enumerated once per query, an unhashable one each time."""
    for hidden, most in ((None, 4), (Unhashable, 12)):
        mechanism = Counted(hidden=hidden)
        machine = Machine(mechanism)
        (seen,) = machine.start(1, 0).values()
        for _ in range(3):
            after = machine.after(seen.belief, "toss")
            assert after is not None
            seen = after[True]
            assert seen.belief.mass == seen.belief.mass[::-1]
        assert len(mechanism.steps) == most


@attrs.frozen
class Grudging(InteractiveMechanism[Any]):
    """Raises a query error for every query; the text may depend on the data."""

    said: Any

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return dataset, None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        raise UnknownQueryError(self.said(state))


def test_an_error_common_to_all_states_is_no_answer() -> None:
    machine = Machine(Grudging(lambda state: "not that"))
    (seen,) = machine.start(1, 0).values()
    assert machine.after(seen.belief, "?") is None
    machine = Machine(Grudging(lambda state: f"not for patient {state}"))
    (seen,) = machine.start(1, 0).values()
    answers = machine.after(seen.belief, "?")
    assert answers is not None
    assert masses(answers) == {
        SeenError("UnknownQueryError: not for patient 1"): (F(1), F(0)),
        SeenError("UnknownQueryError: not for patient 0"): (F(0), F(1)),
    }
    assert SeenError.of(QueryError("no")) != SeenError.of(UnknownQueryError("no"))


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
    rho = Rolls(3).privacy_map(1, ZCDP)
    options = {"queries": MOVES, "history": 1}
    assert audit_histories(Rolls(3), (), horizon=2, claim=rho, **options).holds  # type: ignore[arg-type]
    twice = {"horizon": 4, "differing": 2, "d_in": 2}
    assert audit_histories(Rolls(3), (), **options, **twice).holds  # type: ignore[arg-type]
    low = audit_histories(Rolls(3), (), horizon=4, differing=2, **options)  # type: ignore[arg-type]
    assert low.refuted
    # However many messages are allowed: none agree here but the opening.
    both = {"queries": (ARRIVES,), "horizon": 2}
    verdict = audit_histories(Rolls(3), (), history=10**5000, **both)
    assert verdict.findings == audit_histories(Rolls(3), (), history=0, **both).findings
    assert "up to more than 1e308 messages" in str(verdict.method)


def test_invalid_rounds_and_histories_are_refused() -> None:
    with pytest.raises(ValueError, match="contain a Pair"):
        audit_histories(Rolls(3), (), queries=(EMPTY, "read"), history=1, horizon=1)
    with pytest.raises(ValueError, match="are more than 1"):
        audit_histories(Rolls(3), (), queries=MOVES, history=9, horizon=1, limit=1)
    # Interactive mechanisms, claims below the mechanism's loss, and invalid bits.
    with pytest.raises(TypeError, match="interactive"):
        adapt_param_comp(lambda _: (0, 1, PadReveal(3), PureDP(9)), 1, 0)
    with pytest.raises(ValueError, match="has a loss of"):
        adapt_param_comp(lambda _: (0, 1, Response(3), PureDP(1)), 1, 0)
    with pytest.raises(ValueError, match="bit is 2"):
        adapt_param_comp(responses(3), 1, 2)


def test_hidden_states_can_be_sampled() -> None:
    """Sampled audits of a `FromHistory` are possible too."""
    law = Hidden((("a", F(1, 3)), ("b", F(2, 3))))
    drawn = [SeededCoins(seed).draw(law) for seed in range(300)]
    assert set(drawn) == {"a", "b"}
    assert 60 < drawn.count("a") < 140  # false alarm below 1e-5
