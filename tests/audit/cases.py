"""Cases for exact audits: every compositor under every rule, with an adversary's queries.

A case builds its mechanism when it runs, so that it audits the code as patched at that moment.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from composition import (
    ConComp,
    Filt,
    FiltCon,
    FiltSeq,
    GDPResidue,
    Individual,
    LinearOdometer,
    Menu,
    Odom,
    OdomCon,
    OdomSeq,
    Parallel,
    Partition,
    Rogers2016,
    Rogers2023,
    Universal,
    ViaGDP,
    ViaRenyi,
    ViaZCDP,
    Whitehouse2023,
    filter_of,
)
from mechanisms import (
    Best,
    DiscoveredKeys,
    Poisson,
    PrivateKeys,
    RandomizedResponse,
    Scripted,
    Threshold,
)
from mechanisms import TruncatedNegativeBinomial as Repeated
from mechanisms.sampling.laws import DiscreteLaplace
from queryable import (
    GDP,
    RDP,
    SYSTEM,
    ZCDP,
    ApproxDP,
    ApproxZCDP,
    Ask,
    Coins,
    FromAnalyst,
    FromMechanism,
    InteractiveMechanism,
    Launch,
    Loss,
    Measurement,
    PersonInTheMiddle,
    PrivacyLossQuery,
    PureDP,
    ToAnalyst,
    ToMechanism,
    UnknownQueryError,
)
from queryable.audit import Verdict, audit
from queryable.randomness.laws import Bernoulli
from queryable.streams.contributions import Contributions, PerRecord
from queryable.view import View
from tests.audit.toys import PadReveal, Reader, Reported, Response, TwoRounds, nats, reader, yes
from tests.proofs.reductions import NoninteractiveLaunches

F = Fraction
BITS = ((0, 1),)
POISSON = Best(Response(2), "largest", Poisson(2))


class Audited:
    """A claim to audit; `reached` is a false claim below it, or a divergence that is reached."""

    reached: Loss | Fraction

    def audited(self, claim: Loss | None = None) -> Verdict:
        """The verdict on the mechanism's own claim, or on `claim`."""
        raise NotImplementedError

    def keeps(self) -> Verdict:
        """Assert that the claim holds against every adversary."""
        verdict = self.audited()
        assert verdict.holds, verdict
        return verdict


def holds_and_is_nearly_reached(case: Audited) -> None:
    """The claim holds, and the adversary is strong enough to detect a fault."""
    verdict = case.keeps()
    if isinstance(case.reached, Loss):
        assert case.audited(case.reached).refuted
    else:
        assert max(finding.below for finding in verdict.findings) >= case.reached


@attrs.frozen
class Case(Audited):
    """A mechanism to audit, and a divergence that some adversary reaches.

    Attributes:
        reached: a false claim, below the mechanism's own; or a divergence that is reached.
        cut: the probability of draws that are not enumerated.
    """

    build: Callable[[], InteractiveMechanism[Any]]
    queries: tuple[Any, ...] = attrs.field(converter=tuple)
    horizon: int
    reached: Loss | Fraction
    pairs: Any = BITS
    d_in: int = 1
    cut: Fraction = F(1, 10**9)

    def audited(self, claim: Loss | None = None) -> Verdict:
        asking: dict[str, Any] = {"adversary": lambda view: None}
        if self.horizon:
            asking = {"queries": self.queries, "horizon": self.horizon}
        cut = {"tail": self.cut / 2, "slack": self.cut}
        return audit(self.build(), self.pairs, claim=claim, d_in=self.d_in, **cut, **asking)


# Mechanisms that reveal faults which the usual toys do not.


@attrs.frozen
class FailsByBit(Measurement):
    """Fails if a randomized response at odds 3 is True; the failure is its answer."""

    def loss(self, d_in: int) -> Loss:
        return PureDP(nats(3))

    def release(self, dataset: Any, coins: Coins) -> Any:
        if coins.draw(yes(F(3))) == bool(dataset):
            raise RuntimeError
        return "fine"


@attrs.frozen
class Records(Measurement):
    """A response at odds 2 for each of two possible records: its loss grows with d_in."""

    def loss(self, d_in: int) -> Loss:
        return PureDP(min(d_in, 2) * nats(2))

    def release(self, dataset: Any, coins: Coins) -> Any:
        return tuple(coins.draw(yes(F(2))) == (each in dataset) for each in (1, 2))


@attrs.frozen
class Rough(InteractiveMechanism[Any]):
    """Claims approximate zCDP only, and has no coin at launch."""

    inner: Response = Response(2, delta="1/10")

    def loss(self, d_in: int) -> Loss:
        return self.inner.privacy_map(d_in, ApproxZCDP)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return dataset, None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return None, None if state is None else self.inner.release(state, coins)


@attrs.frozen
class Stutter(PersonInTheMiddle[Any]):
    """Asks everything twice; answers whether either answer was True, with a coin of its own."""

    def init(self) -> Any:
        return None

    def step(self, state: Any, message: Any, coins: Coins) -> tuple[Any, Any]:
        match message, state:
            case FromAnalyst(query), _:
                return (query,), ToMechanism(query)
            case FromMechanism(answer), None:
                return None, ToAnalyst(answer)
            case FromMechanism(answer), (query,):
                return (query, answer), ToMechanism(query)
            case FromMechanism(answer), (_, first):
                said = any(getattr(each, "answer", each) is True for each in (first, answer))
                return None, ToAnalyst((said, coins.draw(Bernoulli(F(1, 2)))))
        raise AssertionError(message)


@attrs.frozen(eq=False)
class Column(Contributions):
    """One entry of each record."""

    records: tuple[Any, ...]
    of: int

    @property
    def squares(self) -> Any:  # type: ignore[override]
        return np.array([record[self.of] ** 2 for record in self.records], dtype=np.int64)

    def among(self, active: Any) -> Any:
        return tuple(each for each, there in zip(self.records, active, strict=True) if there)


@attrs.frozen
class Tally(Measurement):
    """The sum of one entry of each record, with two-sided geometric noise, clamped to 0 .. most.

    Its ratio between neighbouring integers is `odds`. So a record that adds s costs at most
    s * log(odds) * tanh(s * log(odds) / 2), which is at most s^2 times that for s = 1.
    """

    of: int = 0
    most: int = 2
    odds: Fraction = attrs.field(default=F(2), converter=F)
    largest: int = 1

    @property
    def per_record(self) -> PerRecord:  # type: ignore[override]
        rho = Response(self.odds).privacy_map(1, ZCDP).rho  # type: ignore[attr-defined]
        return PerRecord(rho, lambda dataset: Column(dataset, self.of))

    def loss(self, d_in: int) -> Loss:
        return ZCDP(self.per_record.loss_per_square * (self.largest * d_in) ** 2)

    def release(self, dataset: Any, coins: Coins) -> Any:
        total, p, rest = sum(record[self.of] for record in dataset), 1 / self.odds, F(1)
        for answer in range(self.most):
            inner = (1 - p) / (1 + p) * p ** abs(answer - total)
            chance = inner if answer else p**total / (1 + p)  # at 0 or below
            if coins.draw(Bernoulli(chance / rest)):
                return answer
            rest -= chance
        return self.most


@attrs.frozen
class Truncated(InteractiveMechanism[Any]):
    """Algorithm 5 as a mechanism: an odometer that stops when its report exceeds the threshold."""

    odometer: OdomCon
    threshold: Any

    def loss(self, d_in: int) -> Loss:
        return self.threshold  # type: ignore[no-any-return]

    def init(self, dataset: Any, coins: Any = SYSTEM) -> tuple[Any, Any]:
        return self.odometer.init(dataset, coins)

    def step(self, state: Any, query: Any, coins: Any = SYSTEM) -> tuple[Any, Any]:
        if state == "over":
            return state, "over"
        after, answer = self.odometer.step(state, query, coins)
        report = self.odometer.step(after, PrivacyLossQuery(), coins)[1]
        return (after, answer) if report <= self.threshold else ("over", "over")


@attrs.frozen
class Doors(InteractiveMechanism[Any]):
    """A response at odds 2, then one of two doors: another response, or a bold one."""

    def loss(self, d_in: int) -> Loss:
        return PureDP(nats(2) + nats(4))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return (bool(dataset), 0), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        bit, asked = state
        if asked < 2 and query == "next":
            return (bit, asked + 1), coins.draw(yes(F(2))) == bit
        if asked == 1 and query == "bold":
            return (bit, 2), coins.draw(Bernoulli(F(1, 2) if bit else F(1, 8)))
        raise UnknownQueryError("a round and a door, then no more")


# Queries.

LAUNCHES = tuple(map(Launch, (PadReveal(3), reader(2), Response(2), TwoRounds())))
ASKS = tuple(Ask(0, query) for query in ("key", "sum", "read", "next"))
OTHER_ASKS = tuple(Ask(1, query.query) for query in ASKS)
PAD = (Ask(0, "key"), Ask(0, "sum"))
ONE = (Launch(Response(F(3, 2))),)
SMALL = (Launch(PadReveal(F(3, 2))), *ONE, *PAD)
READERS = (Launch(reader(3)), Launch(reader(2)), Ask(0, "read"), Ask(1, "read"))
NESTED = (
    Launch(FiltCon(PureDP(nats(2)))),
    *map(Launch, (Response(3), Response(2))),
    *(Ask(0, Launch(Response(odds))) for odds in (2, 3)),
)
TOTAL = nats(3) + nats(2)
UNDER = PureDP(nats(F(599, 100)))
"""A little less than log(6), the total."""


def within(epsilon: Any, delta: Any, rule: Any, queries: Any = ONE) -> Case:
    """A filter with an (epsilon, delta) budget that admits more than its epsilons sum to."""
    return Case(lambda: FiltCon(ApproxDP(epsilon, delta), rule()), queries, 5, F(66, 1000))


PARTS = Partition(lambda record: record[0], ["a", "b"])
APART = (((("a", 1), ("b", 1)), (("a", 1), ("a", 1))),)
"""A record that moves from one part to the other: two that differ."""
ONE_MORE = (((("a", 1), ("b", 1)), (("a", 1), ("b", 1), ("a", 1))),)


def odd(part: Any) -> bool:
    return len(part) % 2 == 1


def parallel() -> Parallel:
    hidden = Reader() @ Response(3, bit=odd)
    return Parallel(PARTS, {"a": FiltCon(PureDP(nats(2))), "b": hidden})


INTO_PARTS = (Ask("a", Launch(Response(2, bit=odd))), Ask("b", "read"))
SUCCESSIVE = (Launch(PadReveal(3)), Launch(Response(2)), *PAD)
LEAKY_PAD = (Launch(Response(2, delta="1/10")), Launch(PadReveal(2)), *PAD)
LEAKY = (*LEAKY_PAD, Launch(reader(2)), Ask(0, "read"))
RHO = Response(3).privacy_map(1, ZCDP).rho  # type: ignore[attr-defined]
HALF_RHO = Response(2).privacy_map(1, ZCDP).rho  # type: ignore[attr-defined]


def both(records: Any) -> bool:
    """Whether the first entries of two records are 1; one record may change it."""
    return sum(record[0] for record in records) >= 2


IN_PERSON = (
    *(Launch(Tally(of)) for of in (0, 1)),
    Launch(reader(2, bit=both)),
    Ask(0, "read"),
    Ask(1, "read"),
)
PERSONS = (
    (((1, 1), (0, 1), (1, 0)), ((0, 1), (1, 0))),
    (((1, 0), (1, 1), (0, 1)), ((1, 0), (0, 1))),
    (((0, 1), (0, 1), (1, 1)), ((0, 1), (0, 1))),
)
"""Three records with two entries each, and two of them."""


def with_care(view: View) -> Any:
    """Asks for the sum of a pad only if a response was True, and for the key at the end."""
    match len(view):
        case 0 | 1:
            return (Launch(Response(2)), Launch(PadReveal(3)))[len(view)]
        case 2:
            return Ask(1, "sum" if view[0].answer.answer else "key")
        case 3:
            return Ask(1, "key" if view[0].answer.answer else "sum")
    return None


def doubting(view: View) -> Any:
    """Fails if a response was True."""
    if len(view) and view[0].answer.answer:
        raise ValueError
    return None if len(view) else Launch(Response(3))


CASES: dict[str, Case] = {
    # filters, by measure
    "FiltCon": Case(lambda: FiltCon(PureDP(TOTAL)), LAUNCHES + ASKS, 4, UNDER),
    "FiltCon that halts": Case(
        lambda: FiltCon(PureDP(TOTAL), on_exceed="halt"), SUCCESSIVE, 4, UNDER
    ),
    "FiltCon, approximate": Case(
        lambda: FiltCon(ApproxDP(2 * nats(2), "1/10")), LEAKY, 4, F(1, 10)
    ),
    "FiltCon, zCDP": Case(
        lambda: FiltCon(ZCDP(RHO + HALF_RHO)), SUCCESSIVE, 4, (RHO + HALF_RHO) * F(999, 1000)
    ),
    "FiltCon, approximate zCDP": Case(
        lambda: FiltCon(ApproxZCDP(2 * HALF_RHO, "1/10")), LEAKY_PAD, 4, F(1, 10)
    ),
    "FiltCon, Renyi": Case(lambda: FiltCon(RDP(3, "3/2")), SUCCESSIVE, 4, F(146, 100)),
    "FiltCon, Renyi at several orders": Case(
        lambda: FiltCon(PureDP(TOTAL).to(RDP.at(2, 8))), SUCCESSIVE, 4, F(169, 100)
    ),
    "FiltCon, Gaussian": Case(
        lambda: FiltCon(GDP("8/5")), (Launch(PadReveal(2)), Launch(Response(2)), *PAD), 4, F(1, 3)
    ),
    # filters, by rule
    "Rogers2016": Case(
        lambda: FiltCon(ApproxDP("4.2", "1/5"), Rogers2016()), ONE, 4, ApproxDP("4/5", 0)
    ),
    "Whitehouse2023": within("0.85", "7/10", Whitehouse2023),
    "Whitehouse2023 with deltas": within(
        "0.85",
        "7/10",
        lambda: Whitehouse2023("13/20"),
        (Launch(Response(F(4, 3), delta="1/20")), *ONE),
    ),
    "Rogers2023": Case(
        lambda: FiltCon(ApproxDP("0.85", "1/2"), Rogers2023()), ONE, 4, ApproxDP("4/5", 0)
    ),
    "ViaZCDP": within("0.85", "3/25", ViaZCDP),
    "deltas beside a slack": Case(
        lambda: Filt(ApproxDP("1/2", "1/10"), Whitehouse2023("1/20")),
        (Launch(Response(F(101, 100), delta="1/30")),),
        4,
        F(3, 100),
    ),
    "ViaRenyi": within("0.85", "3/25", lambda: ViaRenyi((2, 4, 8, 16))),
    "ViaGDP": within("0.85", "3/25", ViaGDP),
    "GDPResidue": within("0.85", "2/25", GDPResidue),
    "Menu": within("0.85", "2/25", lambda: Menu(nats(F(3, 2)), [1, 2])),
    "a filter of a time-uniform odometer": within(
        "0.85", "7/10", lambda: filter_of(LinearOdometer("7/10", 1))
    ),
    # other filters
    "Filt": Case(
        lambda: Filt(PureDP(TOTAL)),
        (Launch(Response(3)), Launch(Response(2)), Launch(FailsByBit())),
        4,
        UNDER,
    ),
    "FiltSeq": Case(lambda: FiltSeq(PureDP(TOTAL)), SUCCESSIVE, 4, UNDER),
    "FiltSeq, approximate zCDP without a coin": Case(
        lambda: FiltSeq(ApproxZCDP(HALF_RHO, "1/10")),
        (Launch(Rough()), Ask(0, "?"), Launch(Response(2))),
        3,
        F(1, 10),
    ),
    "failures are paid": Case(
        lambda: FiltCon(PureDP(nats(3))), (Launch(FailsByBit()),), 3, PureDP(nats(2))
    ),
    "nested filters": Case(lambda: FiltCon(PureDP(TOTAL)), NESTED, 4, UNDER),
    "an odometer launched as a filter": Case(
        lambda: FiltCon(PureDP(TOTAL)),
        (
            Launch(OdomCon(PureDP), PureDP(nats(3))),
            Ask(0, Launch(Response(3))),
            Launch(Response(2)),
        ),
        4,
        UNDER,
    ),
    "two records": Case(
        lambda: FiltCon(PureDP(2 * nats(2)), d_in=2),
        (Launch(Records()), Launch(RandomizedResponse(lambda data: 1 in data, odds=2))),
        2,
        PureDP(nats(F(7, 2))),
        pairs=(((), (1, 2)), ((1,), (2,))),
        d_in=2,
    ),
    "a budget for one record, at two": Case(
        lambda: FiltCon(PureDP(nats(2))),
        (Launch(Records()),),
        2,
        PureDP(nats(F(7, 2))),
        pairs=(((), (1, 2)),),
        d_in=2,
    ),
    # odometers, truncated at a threshold
    "OdomCon": Case(lambda: Truncated(OdomCon(PureDP), PureDP(TOTAL)), SUCCESSIVE, 4, UNDER),
    "OdomCon, Renyi": Case(
        lambda: Truncated(OdomCon(RDP.at(3)), RDP(3, "3/2")), SUCCESSIVE, 4, F(146, 100)
    ),
    "OdomCon, zCDP": Case(
        lambda: Truncated(OdomCon(ZCDP), ZCDP(RHO)), SUCCESSIVE, 4, RHO * F(999, 1000)
    ),
    "OdomCon, approximate": Case(
        lambda: Truncated(OdomCon(ApproxDP), ApproxDP(2 * nats(2), "1/10")), LEAKY_PAD, 4, F(1, 10)
    ),
    "OdomCon, Whitehouse2023": Case(
        lambda: Truncated(
            OdomCon(ApproxDP, Reported(Whitehouse2023(), "7/10")), ApproxDP("0.85", "7/10")
        ),
        SMALL,
        4,
        F(66, 1000),
    ),
    "OdomCon, below its first report": Case(
        lambda: Truncated(OdomCon(PureDP), PureDP(nats(F(199, 100)))), LAUNCHES + ASKS, 3, F(0)
    ),
    "a filter in an odometer": Case(
        lambda: Truncated(OdomCon(PureDP), PureDP(TOTAL)), NESTED, 4, UNDER
    ),
    "OdomCon, Gaussian": Case(lambda: Truncated(OdomCon(GDP), GDP("8/5")), SUCCESSIVE, 4, F(1, 2)),
    "OdomSeq": Case(lambda: Truncated(OdomSeq(PureDP), PureDP(TOTAL)), SUCCESSIVE, 4, UNDER),
    "Odom": Case(
        lambda: Truncated(Odom(PureDP), PureDP(TOTAL)),
        (Launch(Response(3)), Launch(Response(2)), Launch(FailsByBit())),
        4,
        UNDER,
    ),
    "Odom, between two reports": Case(
        lambda: Truncated(Odom(PureDP), PureDP(nats(F(5, 2)))),
        (*ONE, Launch(Response(2)), Launch(Response(3))),
        5,
        PureDP(nats(F(224, 100))),
    ),
    # an account for each record
    "Individual": Case(
        lambda: Individual(HALF_RHO), IN_PERSON, 3, HALF_RHO * F(999, 1000), pairs=PERSONS[1:2]
    ),
    "Individual, with a rest that pays for nothing": Case(
        lambda: Individual(HALF_RHO * F(7, 4)),
        IN_PERSON[:2],
        3,
        HALF_RHO * F(999, 1000),
        pairs=PERSONS,
    ),
    # all at once
    "ConComp": Case(
        lambda: ConComp([PadReveal(3), PadReveal(2)]),
        tuple(Ask(child, query) for child in (0, 1) for query in ("key", "sum")),
        4,
        UNDER,
    ),
    "ConComp, optimal": Case(
        lambda: ConComp([PadReveal(3), PadReveal(2), Response(2)], delta="1/20"),
        tuple(Ask(child, query) for child in (0, 1) for query in ("key", "sum")),
        4,
        F(4999, 100000),
    ),
    "Parallel": Case(parallel, INTO_PARTS, 4, PureDP(nats(F(3, 2))), pairs=ONE_MORE),
    "Parallel, two records": Case(parallel, INTO_PARTS, 5, PureDP(nats(3)), pairs=APART, d_in=2),
    "Parallel, two records, flat maps": Case(
        lambda: Parallel(PARTS, {"a": Response(3, bit=odd), "b": Response(2, bit=odd)}),
        (),
        0,
        PureDP(nats(3)),
        pairs=APART,
        d_in=2,
    ),
    "Universal": Case(
        lambda: Universal(PureDP(nats(3))),
        (Launch(PadReveal(3)), Launch(Response(2)), Launch(PadReveal(4)), "key", "sum"),
        3,
        PureDP(nats(2)),
    ),
    # postprocessing
    "a person": Case(lambda: reader(3), ("read",), 4, PureDP(nats(F(5, 4)))),
    "a person over a filter": Case(
        lambda: Stutter() @ FiltCon(PureDP(2 * nats(3))),
        (Launch(Response(3)), Launch(PadReveal(3)), *PAD),
        3,
        PureDP(nats(3)),
    ),
    "the person that takes interactive mechanisms": Case(
        lambda: NoninteractiveLaunches() @ Filt(PureDP(TOTAL)), READERS, 4, PureDP(nats(F(5, 4)))
    ),
    # private selection
    "Scripted": Case(lambda: Scripted(FiltCon(PureDP(TOTAL)), with_care), (), 0, UNDER),
    "Scripted, that fails": Case(
        lambda: Scripted(FiltCon(PureDP(nats(3))), [Launch(FailsByBit()), Ask(0, "key")]),
        (),
        0,
        F(0),
    ),
    "Best": Case(
        lambda: Best(Response(2), "largest", Repeated(1, "9/10")),
        (),
        0,
        PureDP(nats(2)),
        cut=F(1, 10**6),
    ),
    "Best, most of many runs": Case(
        lambda: Best(Response(2), "largest", Repeated(100, "25/26")),
        (),
        0,
        PureDP(F(7, 4) * nats(2)),
        cut=F(1, 25),
    ),
    "Best, eta below 0": Case(
        lambda: Best(Response(2), "smallest", Repeated("-1/2", "1/2")),
        (),
        0,
        PureDP(nats(2)),
        cut=F(1, 1000),
    ),
    "Best, Poisson": Case(
        lambda: Scripted(FiltCon(POISSON.privacy_map(1, PureDP)), [Launch(POISSON)]),
        (),
        0,
        PureDP(nats(2)),
        cut=F(1, 100),
    ),
    "Best, Threshold": Case(
        lambda: Best(Response(3), "largest", Threshold(1, "1/4")),
        (),
        0,
        PureDP(nats(5)),
        cut=F(1, 1000),
    ),
    "Best, Threshold, of analyses that may fail": Case(
        lambda: Best(Scripted(FiltCon(PureDP(nats(3))), doubting), "largest", Threshold(1, "1/4")),
        (),
        0,
        PureDP(nats(5)),
        cut=F(1, 100),
    ),
    # claims of mechanisms that are launched
    "RandomizedResponse": Case(
        lambda: RandomizedResponse(bool, odds=F(7, 3)), (), 0, PureDP("0.84729786038720")
    ),
    "DiscoveredKeys": Case(
        lambda: PrivateKeys(DiscoveredKeys("key"), noise=DiscreteLaplace("1/2"), threshold=3),
        (),
        0,
        F(1613, 100_000),  # e^-4 / (1 + e^-2) is above it
        pairs=tuple(({"key": [*rows]}, {"key": [*rows, "a"]}) for rows in ("", "a", "aaa", "bb")),
    ),
    "RandomizedResponse with delta": Case(
        lambda: RandomizedResponse(bool, odds=F(7, 3), delta="1/9"), (), 0, F(1, 9)
    ),
}


def larger(*names: str, **changes: Any) -> dict[str, Case]:
    return {name: attrs.evolve(CASES[name], **changes) for name in names}


LARGER: dict[str, Case] = {
    **larger(
        "FiltCon that halts",
        "FiltCon, Renyi",
        "FiltCon, Renyi at several orders",
        "OdomCon",
        "OdomCon, Renyi",
        queries=LAUNCHES + ASKS,
    ),
    **larger(
        "Whitehouse2023",
        "Rogers2016",
        "Rogers2023",
        "ViaZCDP",
        "ViaRenyi",
        "ViaGDP",
        "GDPResidue",
        "Menu",
        "a filter of a time-uniform odometer",
        queries=SMALL,
    ),
    **larger("FiltCon", "FiltSeq", queries=LAUNCHES + ASKS + OTHER_ASKS, horizon=5),
    **larger("OdomCon, zCDP", queries=LAUNCHES + ASKS),
    **larger("OdomCon, approximate", "FiltCon, approximate zCDP", queries=LEAKY),
    **larger(
        "Whitehouse2023 with deltas", queries=(Launch(Response(F(4, 3), delta="1/20")), *SMALL)
    ),
    **larger("FiltCon, Gaussian", queries=(Launch(PadReveal(2)), Launch(reader(2)), *ASKS[:3])),
    **larger(
        "nested filters",
        "a filter in an odometer",
        queries=(*NESTED, Ask(0, Launch(PadReveal(2))), *(Ask(0, ask) for ask in PAD)),
        horizon=5,
    ),
    **larger("Individual", pairs=PERSONS),
    **larger("Best, most of many runs", cut=F(6, 1000), reached=PureDP(2 * nats(2))),
    **larger("Best, Poisson", "Best, Threshold, of analyses that may fail", cut=F(1, 1000)),
}
"""Cases with more queries or more pairs, or of which less is cut off; searches of a second."""
