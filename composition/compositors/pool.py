"""The pool of an ex-post filter: children that are zero-concentrated DP, charged by their rho.

Together they are one ex-post child. Its epsilon is a function of the sum of their rho, the least of
lines that are fixed before the first of them; its delta is the slack (docs/theory.md, zCDP ex
post). This file has the account; `ex_post` says which children are in the pool.
"""

from fractions import Fraction
from itertools import chain
from typing import Any

import attrs

from composition.compositors.ex_post_claims import ExPostAccount, bound
from composition.rules.additive import AdditiveAccount, RunningSum
from composition.rules.base import sums
from composition.rules.checks.added import beside_a_pool
from composition.rules.checks.compare import Verdict
from composition.rules.checks.pools import pool_within
from composition.rules.slack import outside, share_of
from queryable.losses import ZCDP, AdditiveLoss, ApproxDP, ExPostBound, Loss, Parts, add_parts
from queryable.losses.lines import start_of
from queryable.losses.numbers import shown
from queryable.wording.quoting import an_instance, quoted

_ZERO = Fraction(0)


def _slopes(_: object, attribute: Any, values: Any) -> None:
    found = values if type(values) is tuple else ()
    if not found or not all(type(each) is Fraction and each > 0 for each in found):
        raise ValueError(f"{attribute.name} is {quoted(values)}; a pool has some, above 0")


def pool_share(slack: Fraction, budget: Loss) -> Fraction:
    """The slack of a pool under a budget.

    Raises:
        ValueError: the budget has no delta, or less than the slack.
    """
    if not isinstance(budget, ApproxDP):
        raise ValueError(f"slack is {shown(slack)}; it should be part of the delta of an ApproxDP")
    return share_of(slack, budget)


@attrs.frozen
class PooledAccount(ExPostAccount):
    """The sum of all other charges, and the rho of the pool.

    Attributes:
        slack: the delta of the pool, charged with its first child.
        slopes: lambda of each line; a line costs 1 + lambda for each rho.
        rho: the sum over the pool's children.
    """

    charged = ("rho",)

    slack: Fraction = attrs.field(validator=an_instance(Fraction))
    slopes: tuple[Fraction, ...] = attrs.field(validator=_slopes)
    rho: Fraction = attrs.field(default=_ZERO, validator=sums)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        pool_share(self.slack, self.budget)

    def add(self, loss: AdditiveLoss) -> "PooledAccount":
        """The account after one more launch, of the pool if its loss is a rho."""
        if not isinstance(loss, ZCDP):
            return super().add(loss)
        (rho,) = add_parts((self.rho,), loss.parts)
        return attrs.evolve(self, rho=rho)

    def plus(self, loss: Loss) -> "AdditiveAccount | None":
        """The account with the loss added, if it is a rho or in the budget's measure."""
        return self.add(loss) if isinstance(loss, ZCDP) else super().plus(loss)

    def _with(self, change: Parts) -> "PooledAccount":
        total = RunningSum(self.sum.zero, add_parts(self.sum.parts, change))
        return attrs.evolve(self, sum=total)

    @property
    def _starts(self) -> tuple[Fraction, ...]:
        each = self.slack / len(self.slopes)
        return tuple(start_of(slope, each) for slope in self.slopes)

    @property
    def pool(self) -> Parts:
        """The epsilon and the delta of the pool so far."""
        if not self.rho:
            return _ZERO, _ZERO
        lines = zip(self.slopes, self._starts, strict=True)
        least = min((1 + slope) * self.rho + start for slope, start in lines)
        return max(least, _ZERO), self.slack

    @property
    def _together(self) -> AdditiveAccount:
        parts = add_parts(self.sum.parts, self.pool)
        return AdditiveAccount(RunningSum(self.sum.zero, parts), self.budget, self.most)

    @property
    def within(self) -> bool:
        """Whether the pool and all else are within the budget."""
        return self._together.within

    def total(self) -> ExPostBound:  # type: ignore[override]
        """The realised total of the pool and all else."""
        return bound(self._together.sum.parts)

    def spent(self) -> AdditiveLoss:
        """The pool and all else, as a loss."""
        return self._together.total()

    def remaining(self) -> AdditiveLoss:
        """What the pool and all else leave of the budget, for a child that is not in the pool."""
        return self._together.remaining()

    def left_for(self, requested: Loss) -> AdditiveLoss:
        """The largest rho that the pool may grow by, if a rho was requested; exact."""
        if not isinstance(requested, ZCDP):
            return self.remaining()
        (epsilon, delta), (most, most_delta) = self.sum.parts, self.most
        if not delta + self.slack <= most_delta:
            return requested.zero()
        lines = zip(self.slopes, self._starts, strict=True)
        rho = max((most - epsilon - start) / (1 + slope) for slope, start in lines)
        return ZCDP(max(rho - self.rho, _ZERO))

    def hint(self, loss: Loss) -> str:
        """What the first child of the pool costs at least, if it is refused for that."""
        if self.rho or not isinstance(loss, ZCDP) or any(self.left_for(loss).parts):
            return ""
        least = shown(max(min(self._starts), _ZERO), 3)
        return (
            f"; the first zCDP child costs more than an epsilon of {least} and a delta of "
            f"{shown(self.slack)}"
        )

    def share(self) -> Fraction:
        """The used part of the coordinate that is used most."""
        return self._together.share()

    def amounts(self) -> Parts:
        """Epsilon and delta of all but the pool, and rho."""
        return *self.sum.parts, self.rho

    def added(self, loss: Any) -> Parts:
        """Epsilon and delta, or rho."""
        return beside_a_pool(loss)

    def check(self, amounts: Parts) -> Verdict:
        """Whether a line is within what the rest leaves of the budget."""
        return pool_within(amounts, self.most, self.slopes, self.slack)

    def wrong_terms(self) -> str:
        """A slack that the budget does not have."""
        assert isinstance(self.budget, ApproxDP)
        return outside(self.slack, self.budget)

    def limits(self) -> Parts:
        """What the pool leaves to the rest, and the present rho."""
        left = self.remaining().parts
        return *add_parts(self.sum.parts, left), self.rho

    def costing(self, amounts: Parts) -> AdditiveLoss:
        """The loss of a child of the pool with this rho; if it is 0, that of another child."""
        *rest, rho = amounts
        return ZCDP(rho) if rho else self.sum.costing(tuple(rest))

    def packed(self, like: Any) -> Any:
        """The numerators and denominators of the amounts."""
        alike = type(like) is type(self) and like.budget is self.budget and like.most is self.most
        alike = alike and like.sum.zero is self.sum.zero and like.slopes is self.slopes
        if not (alike and like.slack is self.slack):
            return self
        return tuple(chain.from_iterable(map(Fraction.as_integer_ratio, self.amounts())))

    def unpacked(self, packed: tuple[int, ...]) -> "PooledAccount":
        """The account, with the terms of this one."""
        *parts, rho = map(Fraction, packed[::2], packed[1::2])
        return attrs.evolve(self, sum=RunningSum(self.sum.zero, tuple(parts)), rho=rho)
