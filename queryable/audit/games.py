"""The three composition games of Rogers, Roth, Ullman and Vadhan 2016, as exact laws.

Responsible for playing them: each is a function of an adversary and a bit b, and returns the law of
the view V^b. Two such laws are held apart by `hockey_stick` and its kin.

In every round the adversary names two neighbouring datasets and a mechanism, and receives what the
mechanism says of the dataset x^{i,b}. The games differ in who fixes the privacy parameters:

- `fixed_param_comp` (Algorithm 1): they are fixed before the first round, and each mechanism has to
  satisfy them. The view is (epsilon, delta)-close for b = 0 and 1: Definition 2.8.
- `adapt_param_comp` (Algorithm 2): the adversary chooses them as it goes. No constant bounds the
  loss of that; odometers do, with high probability: Definition 3.2.
- `privacy_filter_comp` (Algorithm 3): it chooses them as it goes, until a filter says HALT. A valid
  filter keeps the views close: Definition 3.1.

The paper's adversary tosses coins R, which are part of the view. Here it is deterministic: an
adversary with coins is a mixture of such, and by joint convexity none of its divergences exceeds
the largest of theirs. Differs from the paper: closeness there is pointwise, with probability
1 - delta over the view, which implies (epsilon, delta) as the divergences here have it.
"""

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Protocol, Self, TypeAlias

from queryable.audit.enumeration import CUT, ViewLaw, every_outcome
from queryable.audit.keys import hashable
from queryable.intervals import Chance
from queryable.losses import Loss
from queryable.mechanism import InteractiveMechanism, Measurement, begin
from queryable.numbers import Number, natural, positive

Answers: TypeAlias = tuple[Hashable, ...]
"""A_1, ..., A_{i-1}."""
Round: TypeAlias = tuple[Any, Any, InteractiveMechanism[Any], Loss]
"""x^{i,0}, x^{i,1}, M_i and its privacy parameters."""
GameAdversary: TypeAlias = Callable[[Answers], Round | None]
"""From the answers so far to a round, or None to stop: epsilon = delta = 0 from there on."""


class _Bottom:
    """What is answered after HALT."""

    def __repr__(self) -> str:
        return "BOTTOM"


BOTTOM = _Bottom()
"""The answer of every round after the filter has said HALT."""


class Account(Protocol):
    """What a filter has been charged so far."""

    @property
    def within(self) -> bool:
        """CONT, or else HALT."""

    def add(self, loss: Any) -> Self:
        """The account with one loss more."""


class Filter(Protocol):
    """A continuation rule, such as those of `composition.rules`."""

    def open(self, budget: Any) -> Any:
        """An empty `Account`."""

    def child_measure(self, budget: Any) -> Any:
        """The measure in which it takes losses."""


def fixed_param_comp(
    adversary: GameAdversary, losses: Sequence[Loss], bit: int, *, tail: Number | None = None
) -> ViewLaw:
    """The law of V^b in FixedParamComp(A, (E_1, ..., E_k), b), E_i what loses `losses[i]` or less.

    Args:
        tail: of draws with infinite support, the mass that each may give up.

    Raises:
        ValueError: a mechanism does not satisfy the parameters of its round.
    """

    def allowed(answers: Answers, loss: Loss) -> bool:
        fixed = losses[len(answers)]
        if not loss.to(fixed.measure) <= fixed:
            raise ValueError(f"round {len(answers) + 1} is fixed at {fixed}; {loss} is above it")
        return True

    return _play(adversary, len(losses), bit, allowed, tail)


def adapt_param_comp(
    adversary: GameAdversary, rounds: int, bit: int, *, tail: Number | None = None
) -> ViewLaw:
    """The law of V^b in AdaptParamComp(A, k, b)."""
    return _play(adversary, natural(rounds, "rounds"), bit, lambda *_: True, tail)


def privacy_filter_comp(
    adversary: GameAdversary,
    rounds: int,
    bit: int,
    rule: Filter,
    budget: Loss,
    *,
    tail: Number | None = None,
) -> ViewLaw:
    """The law of V^b in PrivacyFilterComp(A, k, b; COMP), COMP the rule at this budget.

    A mechanism runs only if the rule says CONT with its parameters added; after HALT every answer
    is `BOTTOM`.
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
    """Play every path; a path that may not go on is answered `BOTTOM` to the end."""
    if bit not in (0, 1):
        raise ValueError(f"bit is {bit}; it should be 0 or 1")
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
    """Check that M_i is what its parameters say, and answers once."""
    if not isinstance(mechanism, Measurement):
        raise TypeError(f"{mechanism} is interactive; the games are of measurements")
    own = mechanism.privacy_map(1, loss.measure)
    if not own <= loss:
        raise ValueError(f"{mechanism} has a loss of {own}, not {loss}")
