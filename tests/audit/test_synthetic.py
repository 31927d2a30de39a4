"""The choice of marginals by `Synthetic`, audited exactly as the person launches it."""

import numpy as np
import pytest

from mechanisms import ExponentialMechanism, Synthetic
from mechanisms.synthetic.graphical import Model
from mechanisms.synthetic.scores import Distances
from mechanisms.synthetic.spending import of_loss
from mechanisms.synthetic.synthetic import Fitting, SyntheticState
from queryable import Launch, PureDP, ToMechanism
from queryable.audit import Verdict, audit

PERSON = Synthetic({"a": [0, 1], "b": [0, 1]}, {("a", "b"): 1, ("b",): 2})
ALONE = ((0,), (1,))


def choosing(a: list[float], b: list[float], total: float) -> ExponentialMechanism:
    """What the person launches where its model has these shares of the columns' cells."""
    model = Model((3, 3), (((0,), np.log(a)), ((1,), np.log(b))), total)
    under_way = Fitting(of_loss(20), 20, 1, None, 0)  # type: ignore[arg-type]
    _, reply = PERSON._next(SyntheticState(model, (), ALONE), under_way)
    assert isinstance(reply, ToMechanism)
    assert isinstance(reply.query, Launch)
    chosen = reply.query.mechanism
    assert isinstance(chosen, ExponentialMechanism)
    return chosen


def records(*rows: tuple[int, int]) -> list[dict[str, int]]:
    return [{"a": a, "b": b} for a, b in rows]


SAME = records(*[(0, 1)] * 3)
PAIRS = [(SAME, SAME + records(row)) for row in ((0, 0), (0, 1), (1, 0), (1, 1), (7, 0))]
MODELS = (
    ([0.3, 0.35, 0.35], [0.35, 0.3, 0.35], 9.0),
    ([0.98, 0.01, 0.01], [0.01, 0.98, 0.01], 5.0),
    ([0.01, 0.98, 0.01], [0.98, 0.01, 0.01], 5.0),
)


def audited() -> list[Verdict]:
    """The verdicts on the claim of the choice, for several models and neighbours."""
    found = []
    for model in MODELS:
        mechanism = choosing(*model)
        claim = PureDP(mechanism.epsilon)
        found.append(audit(mechanism, PAIRS, adversary=lambda view: None, claim=claim))
    return found


def test_the_choice_keeps_its_claim() -> None:
    """A mutant with half the sensitivity does not: tests/audit/test_mutations.py."""
    for verdict in audited():
        assert verdict.holds, verdict


def test_more_than_half_of_the_claim_is_reached() -> None:
    """So the sensitivity is not too large by more than a factor of 2."""
    mechanism = choosing(*MODELS[0])
    verdict = audit(
        mechanism, PAIRS, adversary=lambda view: None, claim=PureDP(mechanism.epsilon / 2)
    )
    assert not verdict.holds


@pytest.mark.parametrize("model", MODELS)
def test_scores_move_by_no_more_than_they_declare(
    model: tuple[list[float], list[float], float],
) -> None:
    scores = choosing(*model).scores
    assert isinstance(scores, Distances)
    for x, y in PAIRS:
        moved = abs(np.asarray(scores.value(y)) - np.asarray(scores.value(x)))
        assert moved.max() <= scores.linf
        assert moved.sum() <= scores.l1
