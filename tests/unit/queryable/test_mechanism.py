"""The interface of mechanisms: maps, measurements, and the root's failure."""

from typing import Any

import attrs
import pytest

from composition import FiltCon
from queryable import (
    SYSTEM,
    ZCDP,
    ApproxDP,
    Coins,
    Failed,
    InteractiveMechanism,
    Launch,
    Loss,
    Measurement,
    PrivacyClaimError,
    PureDP,
    Queryable,
    SeededCoins,
    UnknownQueryError,
)
from queryable.conversation.stepping import (
    Dead,
    advance,
    begin,
)
from tests.strategies import Faulty, RandomBits, RandomWord, Toy, raising


def test_the_map_is_the_loss_and_its_conversions() -> None:
    """Without a measure the mechanism's own loss, with one the converted loss."""
    toy = Toy(PureDP("0.1"))
    assert toy.privacy_map(1) == PureDP("0.1")
    assert toy.privacy_map(3) == PureDP("0.3")
    assert toy.privacy_map(1, ZCDP) == PureDP("0.1").to(ZCDP)
    assert toy.privacy_map(2, ApproxDP) == ApproxDP("0.2", 0)


def test_equal_data_lose_nothing() -> None:
    """At d_in=0 the loss is zero, in every measure."""
    assert Toy().privacy_map(0) == PureDP(0)
    assert Toy().privacy_map(0, ZCDP) == ZCDP(0)


@pytest.mark.parametrize("d_in", [True, -1])
def test_d_in_is_a_count(d_in: object) -> None:
    """A bool or a negative number of records is refused."""
    with pytest.raises(ValueError, match="d_in"):
        Toy().privacy_map(d_in)  # type: ignore[arg-type]


def test_a_mechanism_without_loss_raises() -> None:
    """The default of `loss` is a claim error, not zero."""

    class Lossless(Toy):
        def loss(self, d_in: int) -> PureDP:
            return InteractiveMechanism.loss(self, d_in)  # type: ignore[return-value]

    with pytest.raises(PrivacyClaimError, match="Lossless"):
        Lossless().privacy_map(1)


def test_a_measurement_answers_once() -> None:
    """A measurement's answer is its opening, and every query after it is an error."""
    state, answer = RandomWord().init(None, SeededCoins(1))
    assert isinstance(answer, int)
    for query in ("bits", None, Launch(RandomWord())):
        with pytest.raises(UnknownQueryError, match="answers once"):
            RandomWord().step(state, query)


def test_a_root_that_fails_is_dead() -> None:
    """After a fault the root answers `Failed` to everything and runs nothing."""
    ran = []

    def function(dataset: object) -> None:
        ran.append(dataset)
        raise ValueError

    mechanism = Faulty(function)
    state, _ = begin(mechanism, "data", SYSTEM)
    state, answer = advance(mechanism, state, "bits", SYSTEM, 1)
    assert (state, answer) == (Dead(), Failed())
    assert advance(mechanism, state, "bits", SYSTEM, 2) == (Dead(), Failed())
    assert ran == ["data"]


def test_a_root_that_fails_at_the_start_is_dead() -> None:
    """A fault at `init` is an answer, not an exception."""
    assert begin(Faulty(raising(ValueError()), at_launch=True), None, SYSTEM) == (Dead(), Failed())


def test_as_filter_returns_the_mechanism_itself_by_default() -> None:
    """Only an odometer changes when it is launched at a given loss."""
    bits = RandomBits()
    assert bits.as_filter(PureDP(1), 1) is bits


def test_a_measurement_states_the_type_of_its_answer() -> None:
    """At run time the type parameter changes nothing."""

    @attrs.frozen
    class Word(Measurement[int]):
        def loss(self, d_in: int) -> Loss:
            return PureDP("0.1").group(d_in)

        def release(self, dataset: Any, coins: Coins) -> int:
            return len(dataset)

    q = Queryable(FiltCon(PureDP(1)), [1, 2])
    assert (q.launch(Word(), name="word"), q.launch(Word(), name="word"), q(Word())) == (2, 2, 2)
    assert len(q.ledger()) == 2
