"""The three composition games of Rogers, Roth, Ullman and Vadhan 2016, as exact laws.

Each game is a function of an adversary and a bit b. It returns the law (probability distribution)
of the view V^b. `hockey_stick` and the other divergences compare the laws for b = 0 and b = 1.

In every round the adversary names two neighbouring datasets and a mechanism. It receives the
mechanism's answer on the dataset x^{i,b}. The games differ in who fixes the privacy parameters:

- `fixed_param_comp` (Algorithm 1): the parameters are fixed before the first round, and each
  mechanism must satisfy them. The views for b = 0 and 1 are (epsilon, delta)-close:
  Definition 2.8.
- `adapt_param_comp` (Algorithm 2): the adversary chooses the parameters adaptively. No constant
  bounds the loss; an odometer bounds it with high probability: Definition 3.2.
- `privacy_filter_comp` (Algorithm 3): the adversary chooses the parameters adaptively, until a
  filter answers HALT. With a valid filter the views are close: Definition 3.1.

The paper's adversary tosses coins R, which are part of the view. The adversary here is
deterministic. A randomized adversary is a mixture of deterministic ones, and by joint convexity its
divergences do not exceed the largest of theirs. The paper defines closeness pointwise, with
probability 1 - delta over the view. Pointwise closeness implies the (epsilon, delta) that the
divergences here measure.
"""

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, Self, TypeAlias

from queryable.audit.views.enumeration import CUT, every_outcome
from queryable.audit.views.keys import hashable
from queryable.audit.views.view_laws import ViewLaw
from queryable.conversation.stepping import begin
from queryable.losses import Loss
from queryable.losses.numbers import Number, natural, positive
from queryable.mechanism import InteractiveMechanism, Measurement
from queryable.randomness.intervals import Chance

Answers: TypeAlias = tuple[Hashable, ...]
"""The answers A_1, ..., A_{i-1}."""
Round: TypeAlias = tuple[Any, Any, InteractiveMechanism[Any], Loss]
"""The datasets x^{i,0} and x^{i,1}, the mechanism M_i and its privacy parameters."""
GameAdversary: TypeAlias = Callable[[Answers], Round | None]
"""Maps the answers so far to a round, or to None to stop (epsilon = delta = 0 afterwards)."""


class _Bottom:
    def __repr__(self) -> str:
        return "BOTTOM"


BOTTOM = _Bottom()
"""The answer of every round after the filter answers HALT."""


class ChargedLosses(Protocol):
    """The losses charged to a filter so far."""

    @property
    def within(self) -> bool:
        """Whether the filter answers CONT; if not, it answers HALT."""

    def add(self, loss: Any) -> Self:
        """Return the account with one more loss."""


class ContinuationRule(Protocol):
    """A continuation rule, such as those of `composition.rules`."""

    def open(self, budget: Any) -> Any:
        """Return an empty `ChargedLosses`."""

    def child_measure(self, budget: Any) -> Any:
        """Return the measure in which the filter adds losses."""


def fixed_param_comp(
    adversary: GameAdversary, losses: Sequence[Loss], bit: int, *, tail: Number | None = None
) -> ViewLaw:
    """Return the law of V^b in FixedParamComp(A, (E_1, ..., E_k), b).

    E_i is the class of mechanisms whose loss is at most `losses[i]`.

    Args:
        tail: the mass that each draw with infinite support may cut off.

    Raises:
        ValueError: a mechanism does not satisfy the parameters of its round.
    """

    def allowed(answers: Answers, loss: Loss) -> bool:
        fixed = losses[len(answers)]
        if not loss.to(fixed.measure) <= fixed:
            raise ValueError(f"round {len(answers) + 1} is fixed at {fixed}; {loss} exceeds it")
        return True

    return _play(adversary, len(losses), bit, allowed, tail)


def adapt_param_comp(
    adversary: GameAdversary, rounds: int, bit: int, *, tail: Number | None = None
) -> ViewLaw:
    """Return the law of V^b in AdaptParamComp(A, k, b)."""
    return _play(adversary, natural(rounds, "rounds"), bit, lambda *_: True, tail)


def privacy_filter_comp(
    adversary: GameAdversary,
    rounds: int,
    bit: int,
    rule: ContinuationRule,
    budget: Loss,
    *,
    tail: Number | None = None,
) -> ViewLaw:
    """Return the law of V^b in PrivacyFilterComp(A, k, b; COMP), where COMP is `rule` at `budget`.

    A mechanism runs only if the rule answers CONT after its parameters are added. After HALT every
    answer is `BOTTOM`.
    """
    measure = rule.child_measure(budget)
    losses: dict[Answers, tuple[Loss, ...]] = {}

    def allowed(answers: Answers, loss: Loss) -> bool:
        before = losses.get(answers[:-1], ()) if answers else ()
        account = rule.open(budget)
        for charged in (*before, loss):
            account = account.add(charged.to(measure))
        losses[answers] = (*before, loss)
        return bool(account.within)

    return _play(adversary, natural(rounds, "rounds"), bit, allowed, tail)


def _play(
    adversary: GameAdversary,
    rounds: int,
    bit: int,
    allowed: Callable[[Answers, Loss], bool],
    tail: Number | None,
) -> ViewLaw:
    """Play every path; a halted path is answered `BOTTOM` in all remaining rounds."""
    if bit not in (0, 1):
        raise ValueError(f"bit should be 0 or 1; bit is {bit}")
    given_up = None if tail is None else positive(tail, "tail")
    law: dict[Hashable, Chance] = {}
    running: list[tuple[Chance, Answers]] = [(Fraction(1), ())]
    while running:
        chance, answers = running.pop()
        move = adversary(answers) if len(answers) < rounds else None
        if move is None:
            law[answers] = law.get(answers, Fraction(0)) + chance
            continue
        *datasets, mechanism, loss = move
        _require(mechanism, loss)
        if not allowed(answers, loss):
            halted = (*answers, *[BOTTOM] * (rounds - len(answers)))
            law[halted] = law.get(halted, Fraction(0)) + chance
            continue
        for more, outcome in every_outcome(partial(begin, mechanism, datasets[bit]), given_up):
            if outcome is CUT:
                law[CUT] = law.get(CUT, Fraction(0)) + chance * more
            else:
                running.append((chance * more, (*answers, hashable(outcome[1]))))
    return law


def _require(mechanism: InteractiveMechanism[Any], loss: Loss) -> None:
    """Check that M_i is a measurement and satisfies its parameters."""
    if not isinstance(mechanism, Measurement):
        raise TypeError(f"pass a measurement; {mechanism} is interactive")
    own = mechanism.privacy_map(1, loss.measure)
    if not own <= loss:
        raise ValueError(f"{mechanism} has a loss of {own}, not {loss}")
