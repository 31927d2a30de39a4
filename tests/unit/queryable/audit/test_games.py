"""The three games of Rogers et al. 2016, compared with laws by hand and the project's filters."""

from fractions import Fraction
from typing import Any

import pytest

from composition import FiltCon
from composition.rules import Basic, Rogers2016, Whitehouse2023
from mechanisms import Laplace
from queryable import ApproxDP, Launch, Launched, PureDP, Refused, Statistic
from queryable.audit import hockey_stick, view_law
from queryable.audit.games import (
    BOTTOM,
    adapt_param_comp,
    fixed_param_comp,
    privacy_filter_comp,
)
from queryable.audit.views.enumeration import CUT
from queryable.view import View
from tests.audit.toys import PadReveal, Response, nats, optimal_delta

F = Fraction


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


def test_views_by_hand() -> None:
    """Two responses to the bit b: the answers are independent."""
    law = fixed_param_comp(responses(3, 2), [PureDP(nats(3)), PureDP(nats(2))], 1)
    assert law == {
        (True, True): F(3, 4) * F(2, 3),
        (True, False): F(3, 4) * F(1, 3),
        (False, True): F(1, 4) * F(2, 3),
        (False, False): F(1, 4) * F(1, 3),
    }


def test_fixed_parameters_are_kept() -> None:
    """A mechanism that exceeds the parameters of its round is refused."""
    fixed = [PureDP(nats(3)), PureDP(nats(2))]
    assert sum(fixed_param_comp(responses(2, 2), fixed, 0).values()) == 1
    with pytest.raises(ValueError, match="round 2 is fixed at"):
        fixed_param_comp(responses(3, 3), fixed, 0)


def test_fixed_composition_is_optimal_composition() -> None:
    """The views of responses at odds 3 and 2 reach the optimal composition theorem."""
    fixed = [PureDP(nats(3)), PureDP(nats(2))]
    p, q = (fixed_param_comp(responses(3, 2), fixed, bit) for bit in (1, 0))
    assert hockey_stick(p, q, 0) == optimal_delta([(3, 0), (2, 0)], 1)
    assert hockey_stick(p, q, nats(6)) == 0


def test_parameters_may_depend_on_answers() -> None:
    """The view is as long as the adversary makes it, and k bounds it."""
    law = adapt_param_comp(cautious, 3, 1)
    assert (True, True) not in law
    assert law[(True, False)] == F(3, 4) * F(1, 3)
    assert law[(False, False, False)] == F(1, 4) ** 3
    assert law[(True, True, True)] == F(3, 4) * F(2, 3) ** 2
    assert sum(law.values()) == 1


def test_the_datasets_may_change_every_round() -> None:
    """With b = 0 each round uses the first dataset of its pair."""

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


def test_invalid_rounds_are_refused() -> None:
    """Interactive mechanisms, claims below the mechanism's loss, and invalid bits."""
    with pytest.raises(TypeError, match="interactive"):
        adapt_param_comp(lambda _: (0, 1, PadReveal(3), PureDP(9)), 1, 0)
    with pytest.raises(ValueError, match="has a loss of"):
        adapt_param_comp(lambda _: (0, 1, Response(3), PureDP(1)), 1, 0)
    with pytest.raises(ValueError, match="bit is 2"):
        adapt_param_comp(responses(3), 1, 2)
