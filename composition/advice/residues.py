"""How many launches `GDPResidue` admits, counted in floats.

An account checks each launch in exact arithmetic, some thousands in a second. A count needs only
the mu that is left. Each step here is what the account itself guesses before it checks. So a count
differs from the account's only if the last launch fits, or does not, by about a unit in the last
place of a float for each launch. Nothing is charged by these counts.

Theory of operation: a launch lowers mu squared by an amount that hardly changes while mu is much
larger than the launch: by epsilon^2, apart from a share of it of about (epsilon/mu)^2. While s more
launches at this amount fit, s/64 of them are taken at once, at the amount in their middle. The
error of the midpoint rule is then below 10^-5 launches each time. Of a plan that alternates between
few kinds about as much is taken at once, by kind. The order of these launches changes what they
take by less than 10^-4 launches.
"""

from collections.abc import Callable
from fractions import Fraction
from math import erf, inf, sqrt, tanh

import attrs

from composition.advice.kinds import Kinds, greatest_count
from composition.rules.fitting import Plan
from composition.rules.residue import MARGINS, ResidueAccount, guess, residue
from queryable.losses import Dominated, Loss

_AT_ONCE = 64
_MARGIN = float(1 - MARGINS[0])
_LEAST_COST = 2.0**-52
_RUNS, _KINDS = 64, 64
"""Plans of more runs of at most so many kinds are counted by kind."""
_CLOSE = 4  # a launch that leaves less than this part of mu is computed exactly

Step = Callable[[float], float | None]
"""The mu after a launch, or after several; None if it does not fit."""


@attrs.frozen
class MuLeft:
    """What an account of `GDPResidue` has left for further launches.

    Attributes:
        account: the account before the first launch that is counted.
        room: what the launches' own deltas may still come to.
        mu: None while only deltas were charged.
    """

    account: ResidueAccount
    room: Fraction
    mu: float | None

    @classmethod
    def of(cls, account: ResidueAccount) -> "MuLeft":
        """What an account has left."""
        room = account.budget.delta - account.slack - account.deltas
        return cls(account, room, None if account.mu is None else float(account.mu))


def more(left: MuLeft, loss: Loss, most: float = inf) -> tuple[MuLeft, float]:
    """What is left after as many equal launches as fit, up to `most`, and their number."""
    assert isinstance(loss, Dominated)
    if loss.delta:
        most = min(most, left.room // loss.delta)
    mu, count = _spent(left, loss, most) if loss.epsilon or loss.mu else (left.mu, most)
    spent = Fraction(int(count)) * loss.delta if loss.delta else 0
    return attrs.evolve(left, mu=mu, room=left.room - spent), count


def _spent(left: MuLeft, loss: Dominated, most: float) -> tuple[float | None, float]:
    if left.mu is not None:
        return _run(_step(loss), left.mu, most)
    first = left.account.add(attrs.evolve(loss, delta=0))
    if most < 1 or first.mu is None:
        return None, 0
    mu, count = _run(_step(loss), float(first.mu), most - 1)
    return mu, count + 1


def before_refusal(left: MuLeft, plan: Plan) -> int:
    """How many launches of a plan fit before the first refusal, in the order listed."""
    if _is_mixed(plan):
        kinds = Kinds.of(plan)
        return mixed(left, kinds, kinds.launches)
    total = 0
    for loss, count in plan:
        left, fits = more(left, loss, count)
        total += int(fits)
        if fits < count:
            break
    return total


def times(left: MuLeft, plan: Plan, most: float = inf) -> float:
    """How many times a plan fits, launch after launch as it is listed, up to `most`."""
    if _is_mixed(plan):
        kinds = Kinds.of(plan)
        costs = any(_usual(loss) for loss in kinds.losses)
        most = min(most, _by_deltas(left, kinds) // kinds.launches)
        return mixed(left, kinds, most * kinds.launches) // kinds.launches if costs else most
    losses = [(loss, count) for loss, count in plan if isinstance(loss, Dominated)]
    deltas = sum((loss.delta * count for loss, count in losses), Fraction(0))
    if deltas:
        most = min(most, left.room // deltas)
    bare = [(attrs.evolve(loss, delta=0), n) for loss, n in losses if loss.epsilon or loss.mu]
    if not bare or most < 1:
        return max(most, 0)
    for each, count in bare:  # once, which may have the budget itself before it
        left, fits = more(left, each, count)
        if fits < count:
            return 0
    assert left.mu is not None
    steps = [(_step(loss), count) for loss, count in bare]

    def whole(mu: float) -> float | None:
        for step, count in steps:
            mu, fits = _run(step, mu, count)
            if fits < count:
                return None
        return mu

    return 1 + _run(whole, left.mu, most - 1)[1]


def _is_mixed(plan: Plan) -> bool:
    """Whether a plan has many runs of few kinds."""
    if len(plan) <= _RUNS:
        return False
    some = {id(loss): loss for loss, _ in plan}
    return len(some) <= _KINDS or len(set(some.values())) <= _KINDS


def mixed(left: MuLeft, kinds: Kinds, most: float) -> int:
    """How many launches of a plan that is repeated fit, up to `most`."""
    place, mu, most = 0, left.mu, min(most, _by_deltas(left, kinds))
    while mu is None and place < most:
        loss = kinds.at(place)
        if _usual(loss):  # the first one is compared with the budget itself
            mu = more(left, attrs.evolve(loss, delta=0), 1)[0].mu  # type: ignore[misc]
            if mu is None:
                return place
        place += 1
    steps: dict[Loss, Step] = {loss: _step(loss) for loss in kinds.losses}
    whole = sum(count * _usual(loss) for loss, count in kinds.between(0, kinds.launches))
    while mu is not None and place < most:
        some = _AT_ONCE * whole
        leap = int(min(mu * mu * kinds.launches / some, most - place)) if some else most - place
        after = None
        while leap > 1 and after is None:
            launches = kinds.between(place, place + int(leap))
            after = _several([(steps[loss], count) for loss, count in launches], mu)
            leap = leap if after is not None else leap // 2
        leap = max(int(leap), 1)
        mu = steps[kinds.at(place)](mu) if after is None else after
        place += leap if mu is not None else 0
    return place


def _by_deltas(left: MuLeft, kinds: Kinds) -> float:
    """How many launches of a plan that is repeated have deltas that fit together."""

    def deltas(first: int) -> Fraction:
        some = kinds.between(0, first)
        parts = (count * loss.delta for loss, count in some if isinstance(loss, Dominated))
        return sum(parts, Fraction(0))

    if not (whole := deltas(kinds.launches)):
        return inf
    fit = int(left.room // whole) * kinds.launches
    return greatest_count(lambda count: deltas(count) <= left.room, fit + kinds.launches, fit)


def _several(steps: list[tuple[Step, int]], mu: float) -> float | None:
    """The mu after launches of several kinds, at what each takes in their middle.

    None if one does not fit there, or they take more than a small share.
    """
    at = mu
    for share in (2, 1):  # to the middle, then as a whole
        taken = 0.0
        for step, count in steps:
            after = step(at)
            if after is None:
                return None
            taken += count * _cost(at, after) if after < at else 0.0
        if not taken <= 2 * mu * mu / _AT_ONCE:
            return None
        at = sqrt(mu * mu - taken / share)
    return at


def _usual(loss: Loss) -> float:
    """About what a launch takes of mu squared while mu is large."""
    assert isinstance(loss, Dominated)
    return float(loss.epsilon) ** 2 + float(loss.mu) ** 2


def _run(step: Step, mu: float, most: float) -> tuple[float, float]:
    """The mu after as many steps as fit, up to `most`, and their number."""
    count = 0.0
    while count < most:
        after = step(mu)
        if after is None:
            break
        cost = _cost(mu, after)
        leap = min(mu * mu // (_AT_ONCE * cost), most - count)
        halfway = sqrt(mu * mu - leap / 2 * cost)
        middle = step(halfway) if leap > 1 else None
        if middle is None:
            mu, count = after, count + 1
        else:
            mu, count = sqrt(mu * mu - leap * _cost(halfway, middle)), count + leap
    return mu, count


def _cost(before: float, after: float) -> float:
    """What a step takes of mu squared; what floats cannot tell from nothing counts as their gap."""
    return max(before * before - after * after, before * before * _LEAST_COST)


def _step(loss: Loss) -> Step:
    """A launch of this loss without its delta."""
    assert isinstance(loss, Dominated)
    epsilon, square = float(loss.epsilon), float(loss.mu) ** 2
    response = tanh(epsilon / 2)

    def after(mu: float) -> float | None:
        if epsilon:
            if not response <= erf(mu / sqrt(8)):
                return None
            left = guess(mu, epsilon)
            if _CLOSE * left < mu:
                left = float(residue(Fraction(mu), loss.epsilon) or 0)
            mu = left * _MARGIN
        return sqrt(mu * mu - square) if square <= mu * mu else None

    return after
