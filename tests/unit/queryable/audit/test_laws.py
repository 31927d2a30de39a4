"""The laws of state machines for users' mechanisms: each law detects what breaks it."""

from itertools import count
from typing import Any

import attrs
import pytest

from composition import FiltCon
from queryable import (
    SYSTEM,
    Ask,
    Coins,
    InteractiveMechanism,
    Launch,
    Loss,
    Measurement,
    PrivacyClaimError,
    PureDP,
    QueryError,
    UnknownQueryError,
    Update,
)
from queryable.audit import LAWS, broken_laws
from queryable.audit.views.scripts import snapshot
from queryable.conversation import Data, Later
from queryable.data.growing import grown
from queryable.randomness.laws import Bernoulli
from queryable.streams.levels import Growth
from tests.strategies import Courier, RandomBits, RandomWord, Toy

DATA = tuple(range(20))
BITS = ("bits",) * 3
FAIR = Bernoulli("1/2")


class Listed(Toy):
    """Keeps its state in a list and mutates it."""

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> Any:
        return [], None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        if query != "bits":
            raise UnknownQueryError("ask for 'bits'")
        state.append(coins.draw(FAIR))
        return state, len(state)


class Elsewhere(Toy):
    """Uses randomness other than its coins."""

    def answer(self, state: int, coins: Coins) -> int:
        return SYSTEM.draw(Bernoulli("1/2")) + 2 * next(_TICKS)


_TICKS = count()


class Obliging(RandomBits):
    """Answers every query."""

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> Any:
        return state + 1, coins.draw(FAIR)


class Grumpy(RandomBits):
    """Raises an error other than QueryError."""

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> Any:
        if query != "bits":
            raise KeyError(query)
        return state + 1, coins.draw(FAIR)


@attrs.frozen
class Open(RandomBits):
    """Its state is the dataset."""

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> Any:
        return dataset, None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        return state, super().step(0, query, coins)[1]


class Claims(RandomBits):
    """Its loss decreases as d_in grows."""

    def privacy_map(self, d_in: int, measure: Any = None) -> Any:
        return {0: PureDP(0), 1: PureDP(2)}.get(d_in, PureDP(1))


class Costly(RandomBits):
    """Claims a loss for equal data."""

    def privacy_map(self, d_in: int, measure: Any = None) -> Loss:
        return PureDP(1)


class Number(RandomBits):
    """Claims a number instead of a loss."""

    def privacy_map(self, d_in: int, measure: Any = None) -> Any:
        return 0.5


class Silent(RandomBits):
    """Has no privacy map."""

    def privacy_map(self, d_in: int, measure: Any = None) -> Loss:
        raise PrivacyClaimError("none")


class Loose(InteractiveMechanism[int]):
    """Not an attrs class: its copies are unequal, and its attributes can be set."""

    def loss(self, d_in: int) -> Loss:
        return PureDP(d_in)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        return 0, coins.draw(FAIR)

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[int, Any]:
        raise UnknownQueryError("nothing to ask")


class Late(RandomWord):
    """A measurement without a coin at launch."""

    coin_at_launch = False


@attrs.frozen
class Growing(RandomBits):
    """Takes batches; its state is how many messages it got."""

    growth = Growth()

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        if isinstance(query, Update):
            return state + 1, None
        return super().step(state, query, coins)


class Talking(Growing):
    """Answers a batch with the number of its records."""

    growth = Growth()

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        after, answer = super().step(state, query, coins)
        return after, len(query.records) if isinstance(query, Update) else answer


class Hoarding(Growing):
    """Its state is the last batch."""

    growth = Growth()

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        if isinstance(query, Update):
            return query.records, None
        return state, super().step(0, query, coins)[1]


@attrs.frozen(repr=False)
class Deaf(FiltCon):
    """A filter that keeps batches from its children."""

    budget: Any = PureDP(1)
    growth = Growth()

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        if isinstance(query, Update):
            own = state.own
            rows = Later(grown, own.data.rows, query.records)
            own = attrs.evolve(own, data=Data(own.data.facts, rows))
            return state._replace(own=own), None
        return super().step(state, query, coins)


class Gossiping(Deaf):
    """A filter that passes batches to all children."""

    growth = Growth()

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        after, answer = super().step(state, query, coins)
        if isinstance(query, Update):
            for identity, child in after.children.items():
                told = child.mechanism.step(child.state, query, coins)[0]
                children = after.children.set(identity, child._replace(state=told))
                after = after._replace(children=children)
        return after, answer


class Trusting(Deaf):
    """A filter that obeys an analyst's batch for a child."""

    growth = Growth()

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        if isinstance(query, Ask) and isinstance(query.query, Update):
            return state, None
        return FiltCon.step(self, state, query, coins)


BATCH = Update(tuple(range(40, 50)))
BROKEN: tuple[tuple[type[Any], tuple[Any, ...], set[str]], ...] = (
    (
        Listed,
        BITS,
        {
            "a step leaves its state alone",
            "equal coins give equal results",
            "old states stay usable",
            "wrong queries change nothing",
        },
    ),
    (
        Elsewhere,
        BITS,
        {
            "equal coins give equal results",
            "a run replays from its seed",
            "old states stay usable",
            "wrong queries change nothing",
        },
    ),
    (Obliging, BITS, {"wrong queries change nothing", "only the owner sends batches"}),
    (Grumpy, BITS, {"wrong queries change nothing"}),
    (Toy, BITS, {"a run replays from its seed"}),
    (Open, BITS, {"data do not show in a state"}),
    (Claims, (), {"the map is zero at zero and monotone"}),
    (Costly, (), {"the map is zero at zero and monotone"}),
    (Number, (), {"the map is zero at zero and monotone"}),
    (Silent, (), {"the map is zero at zero and monotone"}),
    (Loose, (), {"a description is a value"}),
    (Late, (), {"a measurement has a coin at launch"}),
    (Talking, (*BITS, BATCH), {"batches are answered with none"}),
    (Hoarding, ("bits", BATCH, "bits"), {"data do not show in a state"}),
    (Deaf, (Launch(RandomWord()), BATCH), {"children get what they should"}),
    (Gossiping, (Launch(RandomWord()), BATCH), {"children get what they should"}),
    (Trusting, (Launch(RandomBits()), BATCH), {"only the owner sends batches"}),
)


@pytest.mark.parametrize(
    ("kind", "queries", "laws"), BROKEN, ids=[kind.__name__ for kind, *_ in BROKEN]
)
def test_broken_laws_are_found(kind: type[Any], queries: tuple[Any, ...], laws: set[str]) -> None:
    found = {each.law for each in broken_laws(kind(), DATA, queries)}
    assert laws <= found
    assert found - laws <= {"a run replays from its seed"}


def test_every_law_can_be_broken_and_correct_mechanisms_break_none() -> None:
    assert {law for *_, laws in BROKEN for law in laws} == set(LAWS)
    assert broken_laws(RandomBits(), DATA, BITS) == ()
    assert broken_laws(Courier() @ RandomBits(), DATA, BITS) == ()
    assert broken_laws(FiltCon(PureDP(1)), DATA, [Launch(RandomWord())]) == ()
    assert broken_laws(Toy(), DATA, BITS, random=False) == ()
    assert broken_laws(Growing(), DATA, (*BITS, BATCH, *BITS)) == ()
    assert broken_laws(FiltCon(PureDP(1)), DATA, [BATCH, Launch(RandomWord()), BATCH]) == ()
    (broken,) = broken_laws(Grumpy(), DATA, BITS[:1], wrong=["what"])
    assert str(broken) == (
        "wrong queries change nothing: 'what' raises KeyError; it should be a QueryError"
    )


def test_states_that_differ_in_their_records_are_told_apart() -> None:
    """A data set that grows prints nothing, so snapshots look into it."""
    data = grown(DATA, (20,))
    assert snapshot(data) == snapshot(grown(DATA, (20,)))
    assert snapshot(data) != snapshot(grown(DATA, (21,)))


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(QueryError, match="bits"):
        broken_laws(RandomBits(), DATA, ["words"])
    with pytest.raises(TypeError, match="InteractiveMechanism"):
        broken_laws(RandomBits, DATA)  # type: ignore[arg-type]


def test_a_measurement_is_checked_at_its_opening() -> None:
    @attrs.frozen
    class Forgetful(Measurement):
        def loss(self, d_in: int) -> Loss:
            return PureDP(d_in)

        def release(self, dataset: Any, coins: Coins) -> int:
            return next(_TICKS)

    assert "equal coins give equal results" in {each.law for each in broken_laws(Forgetful(), DATA)}
