"""Exact losses of streams in blocks: updates as moves of the adversary, in pairs.

An adversary sends up to four batches and closes blocks, launches over them and asks children. One
batch differs: it has a record or none. Two differ where a test says so.
"""

from collections.abc import Callable
from fractions import Fraction
from math import log
from typing import Any

import attrs
import pytest

from composition import AtMostADay, Blocks, FiltCon, GDPResidue, Menu, ViaRenyi, Whitehouse2023
from queryable import (
    GDP,
    RDP,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    Launch,
    LaunchOver,
    Loss,
    PureDP,
    Queryable,
    QueryRefusedError,
    Update,
)
from queryable.audit import HockeyStick, MaxDivergence, Pair, Verdict, audit, worst_case
from queryable.data.growing import Grown
from queryable.messages import CloseBlock
from tests.audit.cases import HALF_RHO, RHO, Audited, holds_and_is_nearly_reached
from tests.audit.toys import PadReveal, Response, nats

F = Fraction


def odd(records: Any) -> bool:
    return len(records) % 2 == 1


def differs(block: str) -> Pair:
    """A batch with one record or none."""
    return Pair(Update((1,), block), Update((), block))


def over(mechanism: Any, *blocks: str) -> LaunchOver:
    return LaunchOver(mechanism, list(blocks))


OWNER = (differs("a"), CloseBlock("a"), differs("b"), Update((), "b"), CloseBlock("b"))
"""Block b is opened after a, or alone."""

HALF = Response(2, bit=odd)
LAUNCHES = (
    over(PadReveal(3), "a"),
    over(HALF, "a", "b"),
    over(HALF, "a"),
    Ask(0, "key"),
    Ask(0, "sum"),
)
SIX = nats(3) + nats(2)


@attrs.frozen
class Stream(Audited):
    """Blocks under a rule, what the adversary may send, and a divergence that it reaches."""

    blocks: Callable[[], Any]
    reached: Loss | Fraction
    queries: tuple[Any, ...] = OWNER + LAUNCHES
    horizon: int = 7
    differing: int = 1
    d_in: int = 1
    start: Any = ()

    def audited(self, claim: Loss | None = None) -> Verdict:
        pairs = [(self.start, self.start)]
        return audit(
            self.blocks(),
            pairs,
            claim=claim,
            d_in=self.d_in,
            queries=self.queries,
            horizon=self.horizon,
            differing=self.differing,
        )


LEAKY = (over(Response(2, delta="1/10", bit=odd), "a", "b"), over(HALF, "a"), over(HALF, "b"))
STREAMS: dict[str, Stream] = {
    "pure": Stream(lambda: Blocks(FiltCon(PureDP(SIX))), PureDP(nats(F(599, 100)))),
    "pure, of a launch": Stream(
        lambda: Blocks(FiltCon(PureDP(nats(2)))),
        PureDP(nats(F(199, 100))),
        (*OWNER, over(HALF, "a"), over(HALF, "b"), over(HALF, "a", "b")),
        6,
    ),
    "records that arrive later": Stream(
        lambda: Blocks(FiltCon(PureDP(nats(2)))),
        PureDP(nats(F(199, 100))),
        (
            differs("a"),
            CloseBlock("a"),
            Update((1,), "b"),
            CloseBlock("b"),
            over(HALF, "a"),
            over(HALF, "b"),
        ),
        6,
    ),
    "approximate": Stream(
        lambda: Blocks(FiltCon(ApproxDP(2 * nats(2), "1/10"))), F(1, 10), OWNER + LEAKY
    ),
    "zCDP": Stream(lambda: Blocks(FiltCon(ZCDP(RHO + HALF_RHO))), (RHO + HALF_RHO) * F(999, 1000)),
    "approximate zCDP": Stream(
        lambda: Blocks(FiltCon(ApproxZCDP(2 * HALF_RHO, "1/10"))), F(1, 10), OWNER + LEAKY
    ),
    "Renyi": Stream(lambda: Blocks(FiltCon(RDP(3, "3/2"))), F(146, 100)),
    "Gaussian": Stream(lambda: Blocks(FiltCon(GDP("8/5"))), F(49, 100)),
    "Menu, with a state": Stream(
        lambda: Blocks(FiltCon(ApproxDP("0.85", "2/25"), Menu(nats(F(3, 2)), [1, 2]))),
        F(66, 1000),
        (*OWNER, *(over(Response(F(3, 2), bit=odd), *blocks) for blocks in ("a", "b", "ab"))),
        8,
    ),
    "GDPResidue, with a state": Stream(
        lambda: Blocks(FiltCon(ApproxDP("0.85", "2/25"), GDPResidue())),
        F(66, 1000),
        (*OWNER, *(over(Response(F(3, 2), bit=odd), *blocks) for blocks in ("a", "ab"))),
    ),
    "Whitehouse2023": Stream(
        lambda: Blocks(FiltCon(ApproxDP("0.85", "7/10"), Whitehouse2023())),
        F(66, 1000),
        (*OWNER, *(over(Response(F(3, 2), bit=odd), *blocks) for blocks in ("a", "ab"))),
    ),
    "ViaRenyi": Stream(
        lambda: Blocks(FiltCon(ApproxDP("0.85", "3/25"), ViaRenyi((2, 4, 8, 16)))),
        F(66, 1000),
        (*OWNER, *(over(Response(F(3, 2), bit=odd), *blocks) for blocks in ("a", "ab"))),
    ),
    "two records": Stream(
        lambda: Blocks(FiltCon(PureDP(nats(2)))),
        PureDP(nats(F(399, 100))),
        (*OWNER, over(HALF, "a"), over(HALF, "b"), over(HALF, "a", "b")),
        6,
        differing=2,
        d_in=2,
    ),
    "a policy of a day": Stream(
        lambda: AtMostADay(PureDP(nats(2))) @ Blocks(FiltCon(PureDP(2 * nats(2)))),
        PureDP(nats(F(399, 100))),
        (*OWNER, over(HALF, "a"), over(HALF, "a", "b")),
        6,
    ),
}


SLOW = ("pure", "zCDP", "approximate zCDP", "Gaussian")
"""Searches of some seconds. The budget of the first is also reached exactly in a quick test."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in STREAMS]
)
def test_the_claim_holds_and_is_nearly_reached(name: str) -> None:
    holds_and_is_nearly_reached(STREAMS[name])


def nothing_is_read_before_it_is_paid() -> None:
    """A launch that is refused, a dry run and a wrong launch read no block."""
    q = Queryable(Blocks(FiltCon(PureDP(1))), [])
    q.feed([1], block="a")
    q.feed.close("a")
    read = list[Any]()
    real = Grown.over
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Grown, "over", lambda self, names: read.append(names) or real(self, names))
        assert not q.can_afford(Response(5, bit=odd), blocks=["a"])
        assert q.can_afford(HALF, blocks=["a"])
        with pytest.raises(QueryRefusedError):
            q.launch_over(Response(5, bit=odd), ["a"])
        assert read == []
        q.launch_over(HALF, ["a"])
        assert len(read) == 1


def test_nothing_is_read_before_it_is_paid() -> None:
    nothing_is_read_before_it_is_paid()


def test_the_budget_of_the_differing_block_is_reached_exactly() -> None:
    """Block a pays for launches over a and over both; b has its whole budget left."""
    found = worst_case(Blocks(FiltCon(PureDP(SIX))), (), (), OWNER + LAUNCHES, 7, MaxDivergence())
    assert float(found.value) == pytest.approx(log(6))


def test_launches_before_the_record_arrives_tell_nothing() -> None:
    """A child launched on a keeps its records; a differing record in b changes none of them."""
    queries = (Update((1,), "a"), CloseBlock("a"), differs("b"), CloseBlock("b"), *LAUNCHES[:2])
    lone = (*queries[:4], over(PadReveal(3), "a"), Ask(0, "key"), Ask(0, "sum"))
    blocks = Blocks(FiltCon(PureDP(SIX)))
    assert worst_case(blocks, (), (), lone, 8, MaxDivergence()).value == 0
    both = worst_case(blocks, (), (), queries, 7, MaxDivergence()).value
    assert float(both) == pytest.approx(log(4))  # two launches over a and b


def test_blocks_within_a_filter_beside_other_launches() -> None:
    """The filter's budget covers a Blocks that is launched on the way, and what runs beside it."""
    inner = Blocks(FiltCon(PureDP(nats(2))))
    queries = (
        Launch(inner),
        differs("a"),
        CloseBlock("a"),
        Ask(0, over(HALF, "a")),
        Launch(Response(F(3, 2), bit=odd)),
    )
    outer = FiltCon(PureDP(nats(2) + nats(F(3, 2))))
    verdict = audit(outer, [((), ())], queries=queries, horizon=6)
    assert verdict.holds
    false = PureDP(nats(F(29, 10)))
    assert audit(outer, [((), ())], claim=false, queries=queries, horizon=6).refuted


# Units.


def rows(block: str, *names: str) -> Update:
    return Update(tuple({"who": name} for name in names), block)


def of_unit(block: str) -> Pair:
    return Pair(rows(block, "x"), rows(block))


BOTH = (of_unit("a"), CloseBlock("a"), of_unit("b"), CloseBlock("b"), of_unit("c"), CloseBlock("c"))


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_a_unit_in_several_blocks(count: int) -> None:
    """The claim is that of `count` budgets, and is reached; later rows of the unit do not count."""
    queries = (*BOTH, *(over(HALF, block) for block in "abc"))
    claim = PureDP(nats(2**count - F(1, 100)))
    blocks = Blocks(FiltCon(PureDP(nats(2))), "who", count)
    holds_and_is_nearly_reached(Stream(lambda: blocks, claim, queries, 9, differing=3))


@attrs.frozen
class Rows(Response):
    """A response for each of the first rows: its loss grows with d_in."""

    def loss(self, d_in: int) -> Loss:
        return PureDP(min(d_in, 2) * nats(self.odds))

    def release(self, dataset: Any, coins: Any) -> Any:
        return tuple(
            Response(self.odds, bit=lambda rows, place=place: len(rows) > place).release(
                dataset, coins
            )
            for place in range(2)
        )


def test_a_launch_over_several_blocks_of_a_unit_pays_for_all_its_rows() -> None:
    """Both rows of the unit change the answer; the launch is charged for two records."""
    queries = (*BOTH[:4], over(Rows(2), "a"), over(Rows(2), "a", "b"))
    blocks = Blocks(FiltCon(PureDP(2 * nats(2))), "who", 2)
    claim = PureDP(nats(F(399, 100)))
    holds_and_is_nearly_reached(Stream(lambda: blocks, claim, queries, 7, differing=2))


@pytest.mark.slow
def test_a_bound_that_is_not_enforced_is_refuted() -> None:
    """Without `unit`, a unit in three blocks loses three budgets."""
    queries = (*BOTH, *(over(HALF, block) for block in "abc"))
    unbounded = Blocks(FiltCon(PureDP(nats(2))))
    found = worst_case(unbounded, (), (), queries, 9, MaxDivergence(), differing=3)
    assert float(found.value) == pytest.approx(log(8))


def test_two_deltas_of_two_blocks_add_up() -> None:
    """An (epsilon, delta) budget for a unit in two blocks: twice both."""
    leaky = Response(2, delta="1/10", bit=odd)
    queries = (*BOTH[:4], over(leaky, "a"), over(leaky, "b"))
    blocks = Blocks(FiltCon(ApproxDP(nats(2), "1/10")), "who", 2)
    found = worst_case(blocks, (), (), queries, 6, HockeyStick(2 * nats(2)), differing=2)
    assert F(1, 10) < found.value <= F(2, 10)
    assert audit(blocks, [((), ())], queries=queries, horizon=6, differing=2).holds
