"""The interface of mechanisms: maps, measurements, and the root's failure."""

from fractions import Fraction
from typing import Any

import attrs
import pytest

from composition import FiltCon
from mechanisms import Count, Gaussian
from queryable import (
    SYSTEM,
    ZCDP,
    ApproxDP,
    Coins,
    Failed,
    InteractiveMechanism,
    Launch,
    Measurement,
    MechanismFault,
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
from queryable.messages import is_owners
from queryable.optional import as_filter
from queryable.streams.contributions import PerRecord
from queryable.streams.levels import Growth
from tests.strategies import Faulty, RandomBits, RandomWord, Size, Toy, raising


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
    assert as_filter(bits, PureDP(1), 1) is bits


def test_the_interface_stays_small() -> None:
    """A member that few mechanisms define is optional, or a field of `growth` or `per_record`."""
    assert [name for name in dir(InteractiveMechanism) if not name.startswith("_")] == [
        *("coin_at_launch", "converses", "growth", "init", "loss", "neighbours", "per_record"),
        *("privacy_map", "reports_loss", "retires_others", "step", "understood"),
    ]


@attrs.frozen
class Watching(RandomBits):
    """Takes batches, and says what records lose."""

    growth = Growth(from_any_history=True)
    per_record = PerRecord(Fraction(1, 2), raising(MechanismFault()))

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        return (state, None) if is_owners(query) else super().step(state, query, coins)


class Stepping:
    """Answers queries, and nothing is known of it."""

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        return state, query


def test_a_step_of_its_own_takes_no_batches() -> None:
    """Unless its class says so; also where the step comes from another base class."""

    class Overriding(Watching):
        def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
            return state, query

    class Mixed(Stepping, Watching):
        pass

    class Stated(Stepping, Watching):
        growth = Growth()

    class Named(Watching):
        public_name = "named"

    class Later(Overriding):
        pass

    assert Overriding.growth is Mixed.growth is Later.growth is None
    assert Stated.growth == Growth()
    assert Named.growth == Growth(from_any_history=True)


def test_what_records_lose_is_not_inherited() -> None:
    """A subclass may answer something else, whatever it overrides."""

    @attrs.frozen
    class Named(Watching):
        name: str = "named"

    class Louder(Gaussian):
        def release(self, dataset: Any, coins: Coins) -> Any:
            return 100 * super().release(dataset, coins)

    assert Watching().per_record is not None
    assert Named().per_record is None
    assert Gaussian(Count(), scale=9).per_record is not None
    assert Louder(Count(), scale=9).per_record is None


@pytest.mark.parametrize("wrong", [True, False, Growth])
def test_a_growth_is_a_value(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"growth of Wrong should be a Growth"):
        type("Wrong", (RandomBits,), {"growth": wrong})


@pytest.mark.parametrize("field", [each.name for each in attrs.fields(Growth)])
def test_what_a_growth_says_is_true_or_false(field: str) -> None:
    with pytest.raises(TypeError, match="True or False, not a"):
        Growth(**{field: 1})  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [True, 0.05, -1, Fraction(-1, 2), "1/20", None])
def test_what_a_record_loses_is_exact(wrong: Any) -> None:
    with pytest.raises(ValueError, match="loss_per_square should be a Fraction"):
        PerRecord(wrong, raising(MechanismFault()))


def test_a_measurement_states_the_type_of_its_answer() -> None:
    """At run time the type parameter changes nothing."""
    assert Size.__orig_bases__ == (Measurement[int],)  # type: ignore[attr-defined]
    q = Queryable(FiltCon(PureDP(1)), [1, 2])
    assert (q.launch(Size(), name="size"), q.launch(Size(), name="size"), q(Size())) == (2, 2, 2)
    assert len(q.ledger()) == 2
