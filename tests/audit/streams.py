"""Data that grow: toys that are continual, and every compositor under streams as a case.

Data are tuples of records. The toys look at the parity of a number of records, so one record more
always changes what they look at. Every probability is a Fraction.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs

from composition import (
    ConComp,
    ExPost,
    Filt,
    FiltCon,
    FiltSeq,
    GDPResidue,
    Individual,
    Menu,
    Odom,
    OdomCon,
    OdomSeq,
    Parallel,
    Partition,
    Universal,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
)
from queryable import (
    GDP,
    RDP,
    SYSTEM,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    Coins,
    InteractiveMechanism,
    Launch,
    Loss,
    PureDP,
    QueryError,
    UnknownQueryError,
    Update,
)
from queryable.audit import Pair, Verdict, audit
from queryable.audit.views.pairs import Around
from queryable.data.growing import snapshot
from queryable.messages import is_owners
from queryable.randomness.laws import Bernoulli
from queryable.streams.levels import Growth
from tests.audit.cases import HALF_RHO, RHO, TOTAL, UNDER, Audited, Stutter, Tally, Truncated, both
from tests.audit.toys import PadReveal, Response, nats, reader, yes

F = Fraction


def odd(records: Any) -> bool:
    """Whether the number of records is odd."""
    return len(records) % 2 == 1


ARRIVES = Pair(Update((1,)), Update(()))
"""One record arrives, or none does."""
EMPTY = Update(())
NOTHING = (((), ()),)
"""The initial data of streams that differ later: none."""


@attrs.frozen
class Rolls(InteractiveMechanism[tuple[bool, bool]]):
    """ "read" responds to the parity of the latest batch, once for each batch.

    The data at launch are the first batch. With probability `delta` it reveals the parity. With
    `stated` odds it claims less than its loss.
    """

    growth = Growth(from_any_history=True)

    odds: Fraction = attrs.field(default=F(3), converter=F)
    delta: Fraction = attrs.field(default=F(0), converter=F, kw_only=True)
    stated: Any = attrs.field(default=None, kw_only=True)

    @property
    def response(self) -> Response:
        """What answers about one batch."""
        return Response(self.odds, delta=self.delta)

    def loss(self, d_in: int) -> Loss:
        epsilon = d_in * nats(self.odds if self.stated is None else self.stated)
        return ApproxDP(epsilon, min(1, d_in * self.delta)) if self.delta else PureDP(epsilon)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[tuple[bool, bool], Any]:
        return (odd(snapshot(dataset)), False), None

    def step(
        self, state: tuple[bool, bool], query: Any, coins: Coins = SYSTEM
    ) -> tuple[tuple[bool, bool], Any]:
        bit, asked = state
        if isinstance(query, Update):
            return (odd(query.records), False), None
        if query == "read" and not asked:
            return (bit, True), self.response.release(bit, coins)
        raise UnknownQueryError("ask to 'read', once for each batch")


@attrs.frozen
class Pads(PadReveal):
    """A `PadReveal` about the latest batch: response and key are drawn when it arrives."""

    growth = Growth(from_any_history=True)

    def loss(self, d_in: int) -> Loss:
        return PureDP(d_in * nats(self.odds if self.stated is None else self.stated))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[tuple[bool, bool], Any]:
        return super().init(odd(snapshot(dataset)), coins)

    def step(
        self, state: tuple[bool, bool], query: Any, coins: Coins = SYSTEM
    ) -> tuple[tuple[bool, bool], Any]:
        if isinstance(query, Update):
            return super().init(odd(query.records), coins)
        return super().step(state, query, coins)


@attrs.frozen
class Limited(Around):
    """Takes at most `updates` messages of the owner, and `questions` of the analyst.

    Every other message is wrong. What is counted is public.
    """

    growth = Growth()

    updates: int = 4
    questions: int = 4

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[tuple[Any, int, int], Any]:
        inner, opening = self.mechanism.init(dataset, coins)
        return (inner, self.updates, self.questions), opening

    def step(
        self, state: tuple[Any, int, int], query: Any, coins: Coins = SYSTEM
    ) -> tuple[tuple[Any, int, int], Any]:
        inner, updates, questions = state
        if is_owners(query):
            updates -= 1
        else:
            questions -= 1
        if min(updates, questions) < 0:
            raise QueryError("no more of these")
        after, answer = self.mechanism.step(inner, query, coins)
        return (after, updates, questions), answer


@attrs.frozen
class Flagged(InteractiveMechanism[tuple[bool, bool]]):
    """Tosses at launch whether it is flagged, and tells; then it answers about the latest batch.

    A flagged one responds at `odds`, or tells the parity if `odds` is None. Others answer None.
    """

    chance: Fraction = attrs.field(converter=F)
    odds: Any = None
    claimed: Any = None
    from_any_history: bool = attrs.field(default=False, kw_only=True)

    @property
    def growth(self) -> Growth:  # type: ignore[override]
        return Growth(from_any_history=self.from_any_history)

    def loss(self, d_in: int) -> Loss:
        return self.claimed  # type: ignore[no-any-return]

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[tuple[bool, Any], Any]:
        flagged = coins.draw(Bernoulli(self.chance))
        return (flagged, None), flagged

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        flagged, bit = state
        if isinstance(query, Update):
            return (flagged, odd(query.records)), None
        if query != "read" or bit is None:
            raise UnknownQueryError("ask to 'read', once for each batch")
        if not flagged:
            return (flagged, None), None
        told = bit if self.odds is None else coins.draw(yes(F(self.odds))) == bit
        return (flagged, None), told


# Cases.


@attrs.frozen
class Stream(Audited):
    """A mechanism whose data grow, and a divergence that some adversary reaches.

    Attributes:
        reached: a false claim, below the mechanism's own; or a divergence that is reached.
        quick: how many updates and questions the adversary has in the quick test.
        most: how many it has in the slow one.
    """

    build: Callable[[], InteractiveMechanism[Any]]
    queries: tuple[Any, ...] = attrs.field(converter=tuple)
    reached: Loss | Fraction
    quick: tuple[int, int] = (1, 4)
    most: tuple[int, int] = (4, 4)
    arrivals: tuple[Any, ...] = (ARRIVES,)

    def audited(self, claim: Loss | None = None, size: tuple[int, int] | None = None) -> Verdict:
        """For streams of this size, or of the quick one."""
        size = size or self.quick
        mechanism = Limited(self.build(), *size)
        batches = (*self.arrivals, EMPTY) if size[0] > 1 else self.arrivals
        queries, horizon = (*batches, *self.queries), sum(size)
        return audit(mechanism, NOTHING, queries=queries, horizon=horizon, claim=claim)


def response(odds: Any, **options: Any) -> Response:
    """A response that keeps the data that it was launched on."""
    return Response(odds, bit=odd, **options)


READS = (Ask(0, "read"), Ask(1, "read"))
PADS = (Ask(0, "key"), Ask(0, "sum"))
BOTH = (Launch(Rolls(3)), Launch(Rolls(2)), *READS)
MIXED = (*BOTH, Launch(response(2)))
"""Children that see updates, and one that is launched before or after them."""
UP_TO_THREE = PureDP(nats(F(299, 100)))
PARTS = Partition(lambda record: record[0], ["a", "b"])
PARTS_OF_PERSONS = Partition(lambda record: record[0], [0, 1])
SMALL = (Launch(Rolls(F(3, 2))), Launch(response(F(3, 2))), Ask(0, "read"))


def within(epsilon: Any, delta: Any, rule: Any) -> Stream:
    """A filter with an (epsilon, delta) budget that admits more than its epsilons sum to."""
    return Stream(lambda: FiltCon(ApproxDP(epsilon, delta), rule()), SMALL, F(66, 1000))


STREAMS: dict[str, Stream] = {
    # filters, by measure
    "FiltCon": Stream(lambda: FiltCon(PureDP(TOTAL)), BOTH, UNDER),
    "FiltCon, beside a snapshot": Stream(lambda: FiltCon(PureDP(TOTAL)), MIXED, UNDER),
    "FiltCon of pads": Stream(
        lambda: FiltCon(PureDP(TOTAL)), (Launch(Pads(3)), Launch(response(2)), *PADS), UNDER
    ),
    "FiltCon that halts": Stream(lambda: FiltCon(PureDP(TOTAL), on_exceed="halt"), BOTH, UNDER),
    "FiltCon, approximate": Stream(
        lambda: FiltCon(ApproxDP(2 * nats(2), "1/10")),
        (Launch(Rolls(2, delta="1/10")), Launch(Rolls(2)), *READS),
        F(1, 10),
    ),
    "FiltCon, zCDP": Stream(
        lambda: FiltCon(ZCDP(RHO + HALF_RHO)), BOTH, ZCDP((RHO + HALF_RHO) * F(99, 100))
    ),
    "FiltCon, approximate zCDP": Stream(
        lambda: FiltCon(ApproxZCDP(2 * HALF_RHO, "1/10")),
        (Launch(Rolls(2)), Launch(response(2, delta="1/10")), *READS),
        F(1, 10),
    ),
    "FiltCon, Renyi": Stream(lambda: FiltCon(RDP(3, "3/2")), BOTH, F(146, 100)),
    "FiltCon, Renyi at several orders": Stream(
        lambda: FiltCon(PureDP(TOTAL).to(RDP.at(2, 8))), BOTH, F(169, 100)
    ),
    "FiltCon, Gaussian": Stream(lambda: FiltCon(GDP("8/5")), BOTH, F(1, 3)),
    # filters, by rule
    "Whitehouse2023": within("0.85", "7/10", Whitehouse2023),
    "ViaZCDP": within("0.85", "3/25", ViaZCDP),
    "ViaRenyi": within("0.85", "3/25", lambda: ViaRenyi((2, 4, 8, 16))),
    "ViaGDP": within("0.85", "3/25", ViaGDP),
    "GDPResidue": within("0.85", "2/25", GDPResidue),
    "Menu": within("0.85", "2/25", lambda: Menu(nats(F(3, 2)), [1, 2])),
    # other filters
    "Filt": Stream(lambda: Filt(PureDP(TOTAL)), (Launch(response(3)), Launch(response(2))), UNDER),
    "FiltSeq": Stream(lambda: FiltSeq(PureDP(TOTAL)), (*BOTH, Launch(response(2))), UNDER),
    "ExPost": Stream(lambda: ExPost(PureDP(TOTAL)), BOTH, UNDER),
    "nested filters": Stream(
        lambda: FiltCon(PureDP(TOTAL)),
        (
            Launch(FiltCon(PureDP(nats(2)))),
            Launch(Rolls(3)),
            Ask(0, Launch(Rolls(2))),
            Ask(0, Launch(response(2))),
            Ask(0, Ask(0, "read")),
            Ask(1, "read"),
        ),
        UNDER,
        (1, 5),
        (4, 5),
    ),
    "an odometer launched as a filter": Stream(
        lambda: FiltCon(PureDP(TOTAL)),
        (
            Launch(OdomCon(PureDP), PureDP(nats(3))),
            Ask(0, Launch(Rolls(3))),
            Ask(0, Ask(0, "read")),
            Launch(response(2)),
        ),
        UNDER,
    ),
    # odometers, truncated at a threshold
    "OdomCon": Stream(lambda: Truncated(OdomCon(PureDP), PureDP(TOTAL)), BOTH, UNDER),
    "OdomCon, Renyi": Stream(
        lambda: Truncated(OdomCon(RDP.at(3)), RDP(3, "3/2")), BOTH, F(146, 100)
    ),
    "OdomCon, Gaussian": Stream(lambda: Truncated(OdomCon(GDP), GDP("8/5")), BOTH, F(1, 3)),
    "OdomSeq": Stream(
        lambda: Truncated(OdomSeq(PureDP), PureDP(TOTAL)), (*BOTH, Launch(response(2))), UNDER
    ),
    "Odom": Stream(
        lambda: Truncated(Odom(PureDP), PureDP(TOTAL)),
        (Launch(response(3)), Launch(response(2))),
        UNDER,
    ),
    # an account for each record
    "Individual": Stream(
        lambda: Individual(HALF_RHO),
        (*(Launch(Tally(of)) for of in (0, 1)), Launch(reader(2, bit=both)), Ask(1, "read")),
        HALF_RHO * F(999, 1000),
        (2, 2),
        (2, 3),
        arrivals=(Pair(Update(((1, 1),)), Update(())), Update(((1, 0),))),
    ),
    "Individual in a filter and in parts": Stream(
        lambda: FiltCon(ZCDP(2 * HALF_RHO)),
        (
            Launch(Individual(HALF_RHO)),
            Launch(Parallel(PARTS_OF_PERSONS, {1: Individual(HALF_RHO)})),
            Ask(0, Launch(Tally(0))),
            Ask(0, Launch(Tally(1))),
            Ask(1, Ask(1, Launch(Tally(1)))),
        ),
        HALF_RHO * F(999, 1000),
        (1, 3),
        (1, 4),
        arrivals=(Pair(Update(((1, 1),)), Update(())),),
    ),
    # postprocessing
    "a person over a filter": Stream(
        lambda: Stutter() @ FiltCon(PureDP(2 * nats(3))),
        (Launch(Rolls(3)), Launch(response(3)), Ask(0, "read"), Ask(1, "read")),
        PureDP(nats(3)),
        (1, 3),
    ),
    "a person over pads": Stream(lambda: Stutter() @ Pads(3), ("key", "sum"), UP_TO_THREE),
    # all at once
    "ConComp": Stream(
        lambda: ConComp([Pads(3), Pads(2)]),
        tuple(Ask(child, query) for child in (0, 1) for query in ("key", "sum")),
        UNDER,
    ),
    "Parallel": Stream(
        lambda: Parallel(PARTS, {"a": FiltCon(PureDP(nats(2))), "b": Rolls(3)}),
        (
            Ask("a", Launch(Rolls(2))),
            Ask("a", Launch(response(2))),
            Ask("a", Ask(0, "read")),
            Ask("b", "read"),
        ),
        UP_TO_THREE,
        arrivals=tuple(Pair(Update(((part, 1),)), Update(())) for part in "ab"),
    ),
    "Universal": Stream(
        lambda: Universal(PureDP(nats(3))),
        (Launch(Pads(3)), Launch(response(2)), Launch(Pads(4)), "key", "sum"),
        UP_TO_THREE,
    ),
    "Universal of a filter": Stream(
        lambda: Universal(PureDP(nats(3))),
        (Launch(FiltCon(PureDP(nats(3)))), Launch(Rolls(3)), Launch(Rolls(2)), Ask(0, "read")),
        UP_TO_THREE,
    ),
    # mechanisms that are launched
    "a response to each batch": Stream(
        lambda: Rolls(F(7, 3)), ("read",), PureDP("0.84729786038720"), (3, 3)
    ),
    "a response with delta": Stream(lambda: Rolls(2, delta="1/9"), ("read",), F(1, 9), (3, 3)),
    "pads": Stream(lambda: Pads(3), ("key", "sum"), UP_TO_THREE, (3, 3)),
}
