"""Parallel composition, exactly, on datasets that differ in one record and in two.

Records are pairs (part, value). The mechanisms answer queries about the parity of their part.
"""

from typing import Any

import attrs
import pytest

from composition import FiltCon, OdomCon, Parallel, Partition
from queryable import (
    FDP,
    SYSTEM,
    ZCDP,
    ApproxDP,
    Ask,
    InteractiveMechanism,
    Launch,
    Loss,
    PrivacyLossQuery,
    PureDP,
)
from queryable.audit import view_law
from queryable.conversation.stepping import advance, begin
from queryable.losses import curves
from tests.audit.toys import (
    F,
    Reader,
    Response,
    excess,
    moment,
    nats,
    optimal_delta,
    script,
    worst_cases,
)


def part_of(record: Any) -> Any:
    return record[0]


def odd(part: Any) -> bool:
    return len(part) % 2 == 1


PARTS = Partition(part_of, ["a", "b"])
BASE = (("a", 1), ("b", 1))
ONE_MORE = (*BASE, ("a", 2))
MOVED = (("a", 1), ("a", 1))  # removed from b, added to a
BOTH = (*BASE, ("a", 2), ("b", 2))
TWICE = (*BASE, ("a", 2), ("a", 3))
APART = {"one more": (1, ONE_MORE), "moved": (2, MOVED), "both": (2, BOTH), "twice": (2, TWICE)}


def response(odds: Any, **options: Any) -> Response:
    return Response(odds, bit=odd, **options)


def worst(mechanism: Any, other: Any, queries: Any, horizon: int, *leaves: Any) -> tuple[Any, ...]:
    """The worst case of both directions between the base and another dataset."""
    there = worst_cases(mechanism, BASE, other, queries, horizon, leaves)
    back = worst_cases(mechanism, other, BASE, queries, horizon, leaves)
    return tuple(map(max, there, back))


@pytest.mark.parametrize(
    ("name", "odds"), [("one more", 3), ("moved", 6), ("both", 6), ("twice", 1)]
)
def test_pure_loss_is_the_largest_or_the_sum(name: str, odds: int) -> None:
    """One record costs the largest loss; one record in each of two parts costs the sum."""
    mechanism = Parallel(PARTS, {"a": response(3), "b": response(2)})
    exactly, below = worst(mechanism, APART[name][1], (), 0, excess(odds), excess(odds - F(1, 100)))
    assert exactly == 0
    assert below > 0
    stated = mechanism.privacy_map(APART[name][0])
    assert stated == PureDP(nats(3) if APART[name][0] == 1 else nats(3) + nats(2))


@pytest.mark.parametrize(
    ("name", "horizon"),
    [
        *((name, 4) for name in APART),
        *(pytest.param(name, 6, marks=pytest.mark.slow) for name in APART),
    ],
)
def test_interleaved_parts_keep_the_claim(name: str, horizon: int) -> None:
    """Filters and readers on parts, with asks and launches in any order."""
    hidden = Reader() @ response(3)
    mechanism = Parallel(PARTS, {"a": FiltCon(PureDP(nats(2))), "b": hidden})
    queries = [
        Ask("a", Launch(response(2))),
        Ask("a", Launch(Reader() @ response(F(3, 2)))),
        Ask("a", Ask(0, "read")),
        Ask("b", "read"),
    ]
    d_in, other = APART[name]
    assert mechanism.privacy_map(d_in) == PureDP(nats(3) + (d_in - 1) * nats(2))
    stated, below = worst(
        mechanism, other, queries, horizon, excess(3 * 2 ** (d_in - 1)), excess(F(3, 2))
    )
    assert stated == 0
    assert (below > 0) == (name != "twice")  # where no parity changes


@attrs.frozen
class Counts(InteractiveMechanism[Any]):
    """Responses to the parities of both values: the loss grows with d_in."""

    odds: Any = F(2)

    def loss(self, d_in: int) -> Loss:
        return PureDP(min(d_in, 2) * nats(self.odds))

    def init(self, dataset: Any, coins: Any = SYSTEM) -> tuple[Any, Any]:
        bits = [sum(value == each for _, value in dataset) % 2 == 1 for each in (2, 3)]
        return None, tuple(Response(self.odds).release(bit, coins) for bit in bits)

    def step(self, state: Any, query: Any, coins: Any = SYSTEM) -> tuple[Any, Any]:
        raise AssertionError


def test_the_supremum_is_over_all_ways_to_spread_the_records() -> None:
    """A growing map and a flat one: both records in one part, or one in each."""
    cheap = Parallel(PARTS, {"a": Counts(F(4)), "b": response(2)})
    assert cheap.privacy_map(2) == PureDP(2 * nats(4))
    exactly, below = worst(cheap, TWICE, (), 0, excess(16), excess(15))
    assert exactly == 0 < below
    assert worst(cheap, BOTH, (), 0, excess(8)) == (0,)
    dear = Parallel(PARTS, {"a": Counts(F(2)), "b": response(3)})
    assert dear.privacy_map(2) == PureDP(nats(2) + nats(3))
    assert worst(dear, BOTH, (), 0, excess(6)) == (0,)
    assert worst(dear, BOTH, (), 0, excess(5)) > (0,)
    assert worst(dear, TWICE, (), 0, excess(4)) == (0,)


@attrs.frozen
class Curved(Response):
    """A response that claims its exact trade-off curve, flat in d_in."""

    def loss(self, d_in: int) -> Loss:
        good = 1 - self.delta
        corner = good / (1 + self.odds)
        ends = [(good, F(0)), (F(1), F(0))] if self.delta else [(F(1), F(0))]
        return FDP([(F(0), good), (corner, corner), *ends])


RATIOS = [F(1), F(11, 10), F(5, 4), F(3, 2), F(2), F(5, 2), F(3), F(4), F(8)]


@pytest.mark.parametrize("name", APART)
def test_a_curve_is_the_hull_of_the_parts(name: str) -> None:
    """At every ratio one record costs the larger delta exactly; two records cost the product.

    The two curves cross, so neither part's curve bounds the other's.
    """
    first, second = Curved(3, bit=odd), Curved(F(3, 2), delta="1/10", bit=odd)
    mechanism = Parallel(PARTS, {"a": first, "b": second})
    d_in, other = APART[name]
    stated, one, two = mechanism.privacy_map(d_in), first.loss(1), second.loss(1)
    assert isinstance(stated, FDP)
    assert isinstance(one, FDP)
    assert isinstance(two, FDP)
    assert not one <= two
    assert not two <= one
    there = worst(mechanism, other, (), 0, *map(excess, RATIOS))
    back = worst(mechanism, (("a", 1),), (), 0, *map(excess, RATIOS))  # part b loses a record
    for ratio, a, b in zip(RATIOS, there, back, strict=True):
        deltas = [curves.delta_at(each.knots, ratio) for each in (stated, one, two)]
        if d_in == 1:
            assert deltas[0] == max(deltas[1:]) == max(a, b)
        else:
            assert deltas[0] >= max(a, b)
            both = one.compose(two)
            assert deltas[0] == curves.delta_at(both.knots, ratio)
            assert (a == deltas[0]) == (name in ("moved", "both"))


def test_the_stated_curve_bounds_every_way_to_spread_the_records() -> None:
    """For growing maps, and for more records than the exact enumeration covers."""
    laplace, flat = FDP.of_approx("1/2"), FDP.of_approx("1/3", "1/100")

    @attrs.frozen
    class Growing(Curved):
        curve: FDP = laplace

        def loss(self, d_in: int) -> Loss:
            return self.curve.group(d_in)

    mechanism = Parallel(PARTS, {"a": Growing(), "b": Growing(curve=flat)})
    two = mechanism.privacy_map(2)
    for spread in (laplace.group(2), flat.group(2), laplace.compose(flat)):
        assert spread <= two
    many = mechanism.privacy_map(9)
    assert laplace.group(5).compose(flat.group(4)) <= many
    assert mechanism.privacy_map(0) == FDP.of_approx(0)


@pytest.mark.parametrize("name", APART)
def test_partial_orders_take_the_join(name: str) -> None:
    """Neither part's (epsilon, delta) bounds the other's; the coordinate-wise join does."""
    first, second = response(3), response(F(3, 2), delta="1/10")
    mechanism = Parallel(PARTS, {"a": first, "b": second})
    d_in, other = APART[name]
    stated = mechanism.privacy_map(d_in, ApproxDP)
    epsilon = nats(3) if d_in == 1 else nats(3) + nats(F(3, 2))
    assert stated == ApproxDP(epsilon, "1/10")
    assert not first.privacy_map(1, ApproxDP) <= second.privacy_map(1, ApproxDP)
    assert not second.privacy_map(1, ApproxDP) <= first.privacy_map(1, ApproxDP)
    (gain,) = worst(mechanism, other, (), 0, excess(3 if d_in == 1 else F(9, 2)))
    assert gain <= stated.delta
    changed = {"one more": [(3, 0)], "twice": []}.get(name, [(3, 0), (F(3, 2), F(1, 10))])
    assert gain == optimal_delta(changed, 3 if d_in == 1 else F(9, 2))


@pytest.mark.parametrize("name", APART)
def test_renyi_divergence_stays_within_zcdp(name: str) -> None:
    """If both parts change, their zCDP losses add; if one changes, the largest counts."""
    mechanism = Parallel(PARTS, {"a": response(3), "b": response(2)})
    d_in, other = APART[name]
    rho = mechanism.privacy_map(d_in, ZCDP).rho
    parts = [Response(odds).privacy_map(1, ZCDP).rho for odds in (3, 2)]
    assert rho == (max(parts) if d_in == 1 else sum(parts))
    (value,) = worst(mechanism, other, (), 0, moment(2))
    assert value <= 1 + 2 * rho + (2 * rho) ** 2 / 2 + (2 * rho) ** 3 / 6  # < e^(2 rho)


def test_the_report_is_the_part_that_spent_most() -> None:
    """A part reports its own loss, the whole reports the largest; both may be below budget."""
    mechanism = Parallel(PARTS, {"a": FiltCon(PureDP(9)), "b": OdomCon(PureDP)})
    state, _ = begin(mechanism, BASE, SYSTEM)
    for query in (Ask("a", Launch(response(2))), *[Ask("b", Launch(response(2)))] * 2):
        state, _ = advance(mechanism, state, query, SYSTEM, 1)
    reports = [
        advance(mechanism, state, query, SYSTEM, 1)[1]
        for query in (
            Ask("a", PrivacyLossQuery()),
            Ask("b", PrivacyLossQuery()),
            PrivacyLossQuery(),
        )
    ]
    assert reports == [PureDP(nats(2)), PureDP(2 * nats(2)), PureDP(2 * nats(2))]


def test_a_part_sees_its_own_records_only() -> None:
    """A part whose records are equal has the same law on both datasets."""
    mechanism = Parallel(PARTS, {"a": response(3), "b": response(2)})
    here, there = (view_law(mechanism, data, script()) for data in (BASE, ONE_MORE))

    def of_b(law: Any) -> dict[Any, Any]:
        marginal: dict[Any, Any] = {}
        for (opening,), chance in law.items():
            marginal[opening[1]] = marginal.get(opening[1], F(0)) + chance
        return marginal

    assert of_b(here) == of_b(there)
    assert here != there
