"""Keys that are found: exact losses on neighbouring data, at the edge, and false claims caught."""

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import attrs
import numpy as np
import pytest

from mechanisms import DiscoveredKeys, PrivateKeys, Table
from mechanisms.sampling.laws import DiscreteGaussian, DiscreteLaplace
from mechanisms.tables.requests.request import Tabular
from queryable import ApproxDP, ApproxZCDP, Loss
from queryable.audit import Verdict, audit, view_law
from queryable.audit.divergences import hockey_stick_below
from queryable.losses import Dominated
from tests.reference import gaussian_profile, real

F = Fraction
Units = tuple[str, ...]
"""The keys of each unit, as letters."""


class Remembered(Tabular):
    """A table whose keys are found once, as enumeration releases them for every outcome."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._found: dict[Any, list[Any]] = {}

    def totals(self, request: Any) -> Any:
        return self.table.totals(request)

    def found(self, asked: Any) -> Iterator[Any]:
        if asked not in self._found:
            self._found[asked] = list(self.table.found(asked))
        return iter(self._found[asked])


@cache
def people(*units: str) -> Remembered:
    """A table of these units, each with a row for each of its keys; and one without keys."""
    rows = [(who, key) for who, keys in enumerate(units) for key in keys]
    data = {"who": [*(who for who, _ in rows), 99], "key": [*(key for _, key in rows), None]}
    return Remembered(Table(data, privacy_unit="who", max_rows=9, seed=1))


LAPLACE, GAUSSIAN = DiscreteLaplace("1/2"), DiscreteGaussian("1/2")


def asked(noise: Any, keys: int, threshold: int = 3) -> PrivateKeys:
    found = DiscoveredKeys("key", keys, per=people().table.unit)
    return PrivateKeys(found, noise=noise, threshold=threshold)


def pairs(*apart: tuple[Units, Units]) -> list[tuple[Remembered, Remembered]]:
    return [(people(*one), people(*other)) for one, other in apart]


ONE = [((), ("a",)), (("a",), ("a", "a")), (("a",) * 3, ("a",) * 4), (("b",) * 2, ("a", "b", "b"))]
TWO = [((), ("ab",)), (("ab",) * 2, ("ab",) * 3), (("a",) * 2, ("a", "a", "ab")), ((), ("abc",))]
NEIGHBOURS = {1: ONE, 2: TWO}
APART = {
    1: [((), ("a", "a")), ((), ("a", "b")), (("a",), ("b",)), (("a",) * 2, ("a",) * 4)],
    2: [((), ("ab", "ab")), (("ab",), ("ab",) * 3), (("a",), ("ab", "a", "b"))],
}
"""By `max_keys`: data that differ in one unit, and in two."""


def audited(mechanism: PrivateKeys, data: Any, **options: Any) -> Verdict:
    return audit(mechanism, data, tail="1e-8", slack="1e-6", **options)


def the_claim_holds(noise: Any, keys: int, apart: list[tuple[Units, Units]]) -> None:
    assert audited(asked(noise, keys), pairs(*apart)).holds


def less(claim: Any) -> Loss:
    """A little less delta."""
    if isinstance(claim, ApproxDP):
        return ApproxDP(claim.epsilon, claim.delta * F(999, 1000))
    return ApproxZCDP(claim.rho, claim.delta * F(999, 1000))


@pytest.mark.parametrize(
    ("noise", "keys"),
    [
        (GAUSSIAN, 1),
        pytest.param(GAUSSIAN, 2, marks=pytest.mark.slow),
        *(pytest.param(LAPLACE, keys, marks=pytest.mark.slow) for keys in (1, 2)),
    ],
    ids=str,
)
def test_the_claim_is_exact(noise: Any, keys: int) -> None:
    """Of one unit: a thousandth less delta is refuted, so the edge is where the claim says."""
    mechanism, data = asked(noise, keys), pairs(*NEIGHBOURS[keys])
    assert audited(mechanism, data).holds
    assert audited(mechanism, data, claim=mechanism.privacy_map(1, ApproxZCDP)).holds
    assert audited(mechanism, data[:1], claim=less(mechanism.privacy_map(1))).refuted


def test_epsilon_is_exact() -> None:
    """Of keys that both datasets have; at a delta of their own chance to be hidden."""
    for keys, held in ((1, "a"), (2, "ab")):
        mechanism = asked(LAPLACE, keys)
        claim: Any = mechanism.privacy_map(1)
        assert claim.epsilon == 2 * keys
        both = pairs(((held,) * 2, (held,) * 3))
        assert audited(mechanism, both, claim=ApproxDP(claim.epsilon, 0)).holds
        assert audited(mechanism, both, claim=ApproxDP(claim.epsilon * F(99, 100), 0)).refuted


def exceeds(claim: Dominated, mechanism: PrivateKeys, data: Any) -> bool:
    """Whether a hockey stick of two exact views is provably above that of the claim's pair."""
    coin = real(claim.delta)
    for pair in data:
        one, other = (view_law(mechanism, it, lambda view: None, tail="1e-9") for it in pair)
        for p, q in ((one, other), (other, one)):
            for epsilon in (F(0), F(1), F(3), F(9)):
                claimed = coin + (1 - coin) * gaussian_profile(claim.mu, real(epsilon))
                if real(hockey_stick_below(p, q, epsilon)) > claimed:
                    return True
    return False


@pytest.mark.parametrize("keys", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_gaussians_beside_a_continuous_one(keys: int) -> None:
    """The claim in Dominated holds; a little less delta is refuted, and so is a smaller mu."""
    mechanism, data = asked(DiscreteGaussian(5), keys, 7), pairs(*NEIGHBOURS[keys])
    both = pairs((("ab"[:keys],) * 9, ("ab"[:keys],) * 10))
    claim: Any = mechanism.privacy_map(1, Dominated)
    assert F(203, 1000) * keys <= claim.mu**2 <= F(204, 1000) * keys
    assert not exceeds(claim, mechanism, [*data, *both])
    assert exceeds(attrs.evolve(claim, delta=claim.delta * F(999, 1000)), mechanism, data)
    assert exceeds(attrs.evolve(claim, mu=claim.mu * F(9, 10)), mechanism, both)


@pytest.mark.parametrize("keys", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("noise", [LAPLACE, GAUSSIAN], ids=str)
def test_two_units_lose_at_most_the_group_bound(noise: Any, keys: int) -> None:
    """And as much: twice the delta of one unit is refuted where noise is small."""
    mechanism, data = asked(noise, keys), pairs(*APART[keys])
    claim: Any = mechanism.privacy_map(2)
    assert audited(mechanism, data, d_in=2).holds
    assert audited(mechanism, data, claim=mechanism.privacy_map(2, ApproxZCDP), d_in=2).holds
    assert audited(mechanism, data, claim=less(claim), d_in=2).refuted
    one: Any = mechanism.privacy_map(1)
    assert claim.delta > 2 * one.delta


def test_two_units_apart_are_worse_where_noise_is_large() -> None:
    """Two keys of one unit each are then shown more often than one key of two units."""
    mechanism = asked(DiscreteLaplace(2), 1)
    apart, together = (hidden(mechanism, *units) for units in (("a", "b"), ("a", "a")))
    assert apart < together
    claim: Any = mechanism.privacy_map(2)
    assert float(claim.delta) == pytest.approx(float(1 - apart), rel=1e-4)


def hidden(mechanism: Any, *units: str) -> Fraction:
    """The probability that no key is shown."""
    law = view_law(mechanism, people(*units), lambda view: None, tail="1e-6")
    return sum((chance.high for seen, chance in law.items() if "values=()" in repr(seen)), F(0))


def test_a_unit_is_counted_in_so_many_keys_on_its_own_account() -> None:
    """Tables that are opened anew: a unit with three keys moves two counts by one each."""
    people.cache_clear()
    try:
        mechanism = asked(LAPLACE, 2, 1)
        for others in ((), ("abc",) * 2, ("a", "bc")):
            counts: list[dict[Any, int]] = []
            for units in (others, (*others, "abc")):
                counts.append({})
                for batch in people(*units).found(mechanism.keys.discovery):
                    every = batch.keys(np.arange(len(batch.counts)))
                    counts[-1] |= zip(every, batch.counts.tolist(), strict=True)
            moved = {key: counts[1].get(key, 0) - counts[0].get(key, 0) for key in counts[1]}
            assert sorted(moved.values()) in ([1, 1], [0, 1, 1])
    finally:
        people.cache_clear()
