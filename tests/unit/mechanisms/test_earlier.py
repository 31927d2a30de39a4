"""Mechanisms as logs of earlier versions have them: their texts, their noise and their claims."""

from fractions import Fraction
from typing import Any

from curator.codec import CODEC
from mechanisms import Count, DiscreteLaplace, PrivateMultiplicativeWeights, SparseVector
from mechanisms.earlier import EarlierSparseVector, EarlierWeights
from queryable import (
    ZCDP,
    FromMechanism,
    Launch,
    PureDP,
    SeededCoins,
    Statistic,
    ToMechanism,
)

VECTOR = '{"@":"sparse-vector/1","cutoff":3,"epsilon":"1/2","sensitivity":2,"threshold":"10"}'
WEIGHTS = (
    '{"@":"private-multiplicative-weights/1","epsilon":"1","learning_rate":4.0,"records":4,'
    '"threshold":"1","universe":4,"updates":2}'
)


class Noted:
    """Coins that give 0, and note the laws."""

    def __init__(self) -> None:
        self.laws: list[Any] = []

    def draw(self, law: Any) -> int:
        self.laws.append(law)
        return 0


def test_an_old_sparse_vector_keeps_its_noise() -> None:
    """2cs/epsilon on the threshold, anew after each True, and 4cs/epsilon on counts too."""
    mechanism, coins = CODEC.decode(VECTOR), Noted()
    assert type(mechanism) is EarlierSparseVector
    assert CODEC.encode(mechanism) == VECTOR.encode()
    state, _ = mechanism.init([0] * 20, coins)
    for statistic in (Count(), Statistic(len, l1=2, l2=2), Count()):
        state, answer = mechanism.step(state, statistic, coins)
        assert answer is True
    threshold, query = DiscreteLaplace(24), DiscreteLaplace(48)
    assert coins.laws == [threshold, query, threshold, query, threshold, query]


def test_an_old_sparse_vector_keeps_its_claim_and_its_name() -> None:
    """In zCDP what the pure loss implies, not the smaller bound of today."""
    mechanism = CODEC.decode(VECTOR)
    assert mechanism.privacy_map(3) == PureDP(Fraction(3, 2))
    assert mechanism.privacy_map(1, ZCDP) == PureDP(Fraction(1, 2)).to(ZCDP)
    today = SparseVector(10, "1/2", cutoff=3, sensitivity=2, refresh=True, monotone=False)
    assert not mechanism.privacy_map(1, ZCDP) <= today.privacy_map(1, ZCDP)
    assert mechanism.public_name == "SparseVector"
    assert mechanism != today


def test_old_weights_launch_an_old_sparse_vector() -> None:
    """And today's one of today, for values that move both ways."""
    old = CODEC.decode(WEIGHTS)
    assert type(old) is EarlierWeights
    assert CODEC.encode(old) == WEIGHTS.encode()
    assert old.public_name == "PrivateMultiplicativeWeights"
    today = PrivateMultiplicativeWeights(4, records=4, epsilon=1, threshold=1, updates=2)
    for person, detector in (
        (old, EarlierSparseVector(1, "1/2", cutoff=2)),
        (today, SparseVector(1, "1/2", cutoff=2, monotone=False)),
    ):
        _, message = person.step(person.init(), FromMechanism(None), SeededCoins(0))
        assert message == ToMechanism(Launch(detector))
