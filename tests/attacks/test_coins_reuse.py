"""Attacks on coins: subtract noise that was drawn twice.

If two children, or two answers of one child, draw the same bits, one of them may be a mechanism
with zero loss that reveals the noise of the other.
"""

from typing import Any

import attrs
import pytest

from composition import ConComp, FiltCon
from queryable import (
    SYSTEM,
    Ask,
    Coins,
    InteractiveMechanism,
    Launch,
    Loss,
    Measurement,
    PureDP,
    Queryable,
    SeededCoins,
    UnknownQueryError,
)
from queryable.conversation.stepping import advance, begin
from queryable.randomness.laws import Bernoulli
from tests.audit.toys import F, nats

QUARTER = Bernoulli(F(1, 4))
SEEDS = range(200)


@attrs.frozen
class Noisy(Measurement):
    """The bit with noise: randomized response at odds 3."""

    def loss(self, d_in: int) -> Loss:
        return PureDP(nats(3))

    def release(self, dataset: Any, coins: Coins) -> bool:
        return bool(dataset) ^ coins.draw(QUARTER)


@attrs.frozen
class Noise(Measurement):
    """The noise alone: does not read the data, and has zero loss."""

    def loss(self, d_in: int) -> Loss:
        return PureDP(0)

    def release(self, dataset: Any, coins: Coins) -> bool:
        return coins.draw(QUARTER)


@attrs.frozen
class Stream(InteractiveMechanism[Any]):
    """Answers with the noisy bit once, and with draws of its noise at every ask."""

    def loss(self, d_in: int) -> Loss:
        return PureDP(nats(3))

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return (bool(dataset), False), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        bit, said = state
        match query:
            case "bit" if not said:
                return (bit, True), bit ^ coins.draw(QUARTER)
            case "noise":
                return state, coins.draw(QUARTER)
        raise UnknownQueryError("ask for 'noise', or once for the 'bit'")


class Shared(SeededCoins):
    """Naive coins: every child and message gets the same ones."""

    def spawn(self, child: Any, message: int) -> "Shared":
        return Shared(self._seed)


def recovered(mechanism: Any, queries: tuple[Any, ...], kind: type[SeededCoins]) -> float:
    """How often the xor of the two last answers is the bit."""
    hits = 0
    for seed in SEEDS:
        coins, answers = kind(seed), []
        state, _ = begin(mechanism, seed % 2, coins)
        for message, query in enumerate(queries, 1):
            state, answer = advance(mechanism, state, query, coins, message)
            answers.append(getattr(answer, "answer", answer))
        hits += (answers[-1] ^ answers[-2]) == bool(seed % 2)
    return hits / len(SEEDS)


ATTACKS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (FiltCon(PureDP(2)), (Launch(Noisy()), Launch(Noise()))),
    (FiltCon(PureDP(2)), (Launch(Stream()), Ask(0, "bit"), Ask(0, "noise"))),
    (FiltCon(PureDP(4)), (Launch(Stream()), Launch(Stream()), Ask(0, "bit"), Ask(1, "noise"))),
    (ConComp([Stream(), Stream()]), (Ask(0, "bit"), Ask(1, "noise"))),
    (
        FiltCon(PureDP(9)),
        (
            Launch(FiltCon(PureDP(2))),
            Launch(FiltCon(PureDP(2))),
            Ask(0, Launch(Noisy())),
            Ask(1, Launch(Noise())),
        ),
    ),
)


@pytest.mark.parametrize(("mechanism", "queries"), ATTACKS)
def test_shared_coins_tell_the_bit(mechanism: Any, queries: tuple[Any, ...]) -> None:
    """With shared coins the attack finds the bit every time."""
    assert recovered(mechanism, queries, Shared) == 1


@pytest.mark.parametrize(("mechanism", "queries"), ATTACKS)
def test_ours_are_never_drawn_twice(mechanism: Any, queries: tuple[Any, ...]) -> None:
    """With seeded coins siblings and repeated asks differ: a guess is right 10 times in 16.

    200 fixed seeds; four standard deviations are 0.14.
    """
    assert recovered(mechanism, queries, SeededCoins) == pytest.approx(10 / 16, abs=0.14)


def test_seeded_coins_are_not_for_analysts() -> None:
    """Two queryables of one seed have the same noise; a handle takes such coins only when told."""
    with pytest.raises(ValueError, match="allow_seeded"):
        Queryable(FiltCon(PureDP(2)), 1, coins=SeededCoins(5))
    bits = (0, 1)
    pairs = [
        (
            Queryable(FiltCon(PureDP(2)), bit, coins=SeededCoins(seed), allow_seeded=True)(Noisy()),
            Queryable(FiltCon(PureDP(2)), bit, coins=SeededCoins(seed), allow_seeded=True)(Noise()),
            bool(bit),
        )
        for seed in range(20)
        for bit in bits
    ]
    assert all(noisy ^ noise == bit for noisy, noise, bit in pairs)
