"""The binary tree counter (Dwork, Naor, Pitassi, Rothblum 2010; Chan, Shi, Song 2011)."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs
from attrs.validators import optional
from immutables import Map

from mechanisms.additive import integer_statistic
from mechanisms.counters.contributions import Seen
from mechanisms.counters.counter import (
    EVENTS,
    START,
    Counter,
    CounterState,
    drawn,
    epsilon_of,
    horizon_of,
    implying,
    neighbours_of,
    plus,
    rho_of,
    scale_of,
    zero,
)
from mechanisms.counters.epochs import Epoch, epoch_at, parts
from mechanisms.counters.questions import Span
from mechanisms.counters.sums import GaussianSum, LaplaceSum
from mechanisms.privacy_maps import with_zcdp
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from queryable.events.laws import GaussianEvent, LaplaceEvent, Sensitivity
from queryable.losses import ZCDP, Loss, Measure, PureDP
from queryable.losses.conversions import discrete_laplace_to_zcdp
from queryable.losses.numbers import natural, shown
from queryable.randomness.coins import SYSTEM, Coins
from queryable.randomness.laws import Law
from queryable.statistics import IntegerStatistic
from queryable.streams.levels import EventLevel, UserLevel
from queryable.wording.quoting import one_of, quoted

Node = tuple[int, int]
"""A node: its level, and the number of batches before its first. It has 2**level batches."""


@attrs.frozen
class TreeState(CounterState):
    """The nodes that may still be needed.

    Attributes:
        open: the exact sums of the nodes that make up the current epoch so far, largest first.
        nodes: noisy sums of nodes.
    """

    open: tuple[Any, ...] = attrs.field(repr=False)
    nodes: Map[Node, Any] = attrs.field(repr=False)


def _past(value: Any) -> int | None:
    return None if value is None else natural(value, "past")


@attrs.frozen
class TreeCounter(Counter[TreeState]):
    """Sums a statistic over the batches that arrive after its launch, by a binary tree.

    It answers `Total()` with the sum so far, `Total(at=t)` with that of the first t batches, and
    `Window(last=n)` with that of the last n, each as a `NoisyInt`, or a `NoisyArray` if the
    statistic has a shape. The data at its launch are not counted. Every batch is a leaf, and a node
    is the sum of 2^k batches; its noise is drawn once, when the node is complete, and an answer
    adds at most 2 log2(n) nodes. After the horizon, questions about the present are refused, and
    batches do not count.

    Without a horizon, batches come in epochs of 1, 2, 4, ... (Chan, Shi, Song 2011). Each epoch has
    a tree, whose noise has the scale of an epoch of that length. The root of a tree, which is noisy
    anyway, is the sum of its epoch. A record is in one epoch, so each epoch has the whole budget.

    Privacy:
        Claim: with L = floor(log2(horizon)) + 1 levels and k = d_in records, or
            d_in * max_records with `UserLevel`: Gaussian noise ZCDP(L (l2 k)^2 / (2 scale^2)),
            Laplace noise PureDP(L l1 k / scale). Without a horizon the scale of an epoch of length
            n has L = floor(log2(n)) + 1, and the claim is that of each epoch. The claim is about
            streams, also for an adversary who chooses batches after answers, and it holds from any
            history on which the batches agreed.
        Theorem: docs/theory.md, counters.
        Assumes: the statistic's declared `l1` or `l2`; how many batches there are is public.
        Checked by: tests/unit/mechanisms/counters/test_tree.py

    Args:
        statistic: integer-valued, with declared sensitivities, such as `Count`, `Sum` or
            `Histogram` with public categories. The total of a `Sum` is in its `unit`.
        scale: of a node's noise: sigma of Gaussian, the scale of Laplace noise. It needs a horizon.
            Give exactly one of `scale`, `rho` and `epsilon`.
        rho: the zCDP loss at d_in=1, for Gaussian noise.
        epsilon: the pure loss at d_in=1, for Laplace noise.
        noise: with `scale`, "gaussian" (the default) or "laplace".
        horizon: how many batches count; None for any number.
        past: how many steps back `Total(at=..)` and `Window` may reach; None for all. The state
            keeps O(past + log n) nodes, whatever the number of batches.
        neighbours: `EventLevel()`: streams differ in records. `UserLevel(column, max_records)`:
            they differ in all records of a unit, of which the first `max_records` count. For a
            statistic with a privacy unit it is that of the unit, with its `max_rows`.
    """

    statistic: IntegerStatistic = attrs.field(converter=integer_statistic)
    scale: Fraction | None = attrs.field(kw_only=True, default=None, converter=scale_of)
    rho: Fraction | None = attrs.field(kw_only=True, default=None, converter=rho_of)
    epsilon: Fraction | None = attrs.field(kw_only=True, default=None, converter=epsilon_of)
    noise: str | None = attrs.field(
        kw_only=True, default=None, validator=optional(one_of("gaussian", "laplace"))
    )
    horizon: int | None = attrs.field(kw_only=True, default=None, converter=horizon_of)
    past: int | None = attrs.field(kw_only=True, default=0, converter=_past)
    neighbours: EventLevel | UserLevel = attrs.field(
        kw_only=True, default=EVENTS, converter=neighbours_of
    )
    unit: Fraction = attrs.field(init=False, eq=False, repr=False)
    """The variance, or for Laplace noise the scale, of a node's noise for each level."""

    def noise_unit(self) -> Fraction:
        """The unit that scale, rho or epsilon imply."""
        if (self.scale, self.rho, self.epsilon).count(None) != 2:
            raise ValueError(
                f"give exactly one of scale, rho and epsilon; scale is {quoted(self.scale)}, rho "
                f"is {quoted(self.rho)} and epsilon is {quoted(self.epsilon)}"
            )
        implied = None if self.scale is not None else "gaussian" if self.rho else "laplace"
        if implied is not None and self.noise not in (None, implied):
            raise ValueError(
                f'noise is "{self.noise}"; leave it out: {implied} noise has this loss'
            )
        if self.scale is not None:
            levels = _bounded(self.horizon, self.scale).bit_length()
            return (self.scale if self.laplace else self.scale**2) / levels
        if self.epsilon is not None:
            return implying(self.counted.l1, "l1", "epsilon") * self.records(1) / self.epsilon
        assert self.rho is not None
        moved = implying(self.counted.l2, "l2", "rho") * self.records(1)
        return moved**2 / (2 * self.rho)

    @property
    def laplace(self) -> bool:
        """Whether the noise is Laplace noise; else it is Gaussian."""
        return self.epsilon is not None or self.noise == "laplace"

    def loss(self, d_in: int) -> Loss:
        """That of one record in every level, times the number of records or its square."""
        records = self.records(d_in)
        if self.laplace:
            return PureDP(self.counted.l1 * records / self.unit)
        return ZCDP((self.counted.l2 * records) ** 2 / (2 * self.unit))

    def privacy_map(self, d_in: int, measure: Measure | None = None) -> Loss:
        """The loss at `d_in`; of Laplace noise in zCDP and RDP the smaller of two bounds."""
        converted = super().privacy_map(d_in, measure)
        if not self.laplace or self.horizon is None:
            return converted
        levels = self.horizon.bit_length()
        width = levels * self.counted.l1 * self.records(d_in)
        scale = levels * self.unit
        return with_zcdp(converted, lambda: discrete_laplace_to_zcdp(width, scale), measure)

    def events(self) -> tuple[GaussianEvent] | tuple[LaplaceEvent] | None:
        """The noise of each level; None without a horizon."""
        if self.horizon is None:
            return None
        times = self.horizon.bit_length()
        moved = Sensitivity.of(self.counted, self.records(1))
        if self.laplace:
            return (LaplaceEvent(times * self.unit, moved, times),)
        return (GaussianEvent(times * self.unit, moved, times),)

    @property
    def reach(self) -> int | None:
        """How many steps back questions may reach; None for all."""
        return self.past

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[TreeState, None]:
        """An empty tree. The data are not read, and there is no first answer."""
        return TreeState(**START, open=(), nodes=Map()), None

    def advanced(self, state: TreeState, value: Any, seen: Seen, coins: Coins) -> TreeState:
        """Complete the nodes that end with this batch, draw their noise, drop old nodes."""
        time = state.time + 1
        epoch = epoch_at(time, self.horizon)
        law, nodes, left = self._law(epoch), state.nodes, list(state.open)
        top = _twos(time - epoch.base)
        for level in range(top + 1):
            if level:
                value = plus(left.pop(), value)
            if level == top or self.past is None or 1 << level <= self.past:
                noise = drawn(law, self.statistic.shape, coins)
                nodes = nodes.set((level, time - (1 << level)), plus(value, noise))
        left = [] if self.horizon is None and 1 << top == epoch.length else [*left, value]
        if self.past is not None and time % (self.past + 1) == 0:
            nodes = Map({node: nodes[node] for node in nodes if self._needed(node, time)})
        return TreeState(time, seen, False, tuple(left), nodes)

    def _needed(self, node: Node, time: int) -> bool:
        """Whether an answer from now on may use a node."""
        assert self.past is not None
        (level, start), oldest = node, time - self.past
        if start >= oldest:
            return True
        epoch = epoch_at(start + 1, self.horizon)
        if self.horizon is None and 1 << level == epoch.length:
            return True
        is_left = (start - epoch.base) >> level & 1 == 0
        return is_left and start + (2 << level) > oldest

    def noisy(self, state: TreeState, span: Span) -> tuple[Any, Law[int]]:
        """The sum of the nodes that make up a span."""
        value, sizes = zero(self.statistic.shape), []
        for epoch, start, end in parts(span.start, span.end, self.horizon):
            for level, first in cover(start, end):
                value = plus(value, state.nodes[level, epoch.base + first])
                sizes.append(self._size(epoch))
        return value, (LaplaceSum if self.laplace else GaussianSum)(tuple(sizes))

    def _size(self, epoch: Epoch) -> Fraction:
        """The variance, or the scale, of a node's noise."""
        return epoch.length.bit_length() * self.unit

    def _law(self, epoch: Epoch) -> Law[int]:
        size = self._size(epoch)
        return DiscreteLaplace(size) if self.laplace else DiscreteGaussian(size)


def cover(start: int, end: int) -> Iterator[Node]:
    """The fewest nodes that make up batches start + 1 to end of a tree."""
    while start < end:
        fits = (end - start).bit_length() - 1
        level = min(_twos(start), fits) if start else fits
        yield level, start
        start += 1 << level


def _bounded(horizon: int | None, scale: Fraction) -> int:
    """Check that there is a horizon beside a scale.

    Raises:
        ValueError: there is none.
    """
    if horizon is None:
        raise ValueError(
            f"give a horizon, or a loss in place of the scale, {shown(scale)}: without a horizon "
            "the noise grows with the number of batches"
        )
    return horizon


def _twos(number: int) -> int:
    """How often 2 divides a number above zero."""
    return (number & -number).bit_length() - 1
