"""Sealed coins: a function of the key and of the whole history, and of nothing else."""

import copy
import itertools
import pickle
from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pytest

from composition import FiltCon
from queryable import (
    Ask,
    CanAfford,
    Coins,
    InteractiveMechanism,
    Launch,
    MechanismFault,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
)
from queryable.messages import LaunchMany
from queryable.randomness.sealed import SealedCoins
from tests.strategies import WORD, RandomBits, RandomWord

KEY = bytes(range(32))
SMALL = PureDP("0.001")


def written(value: Any) -> bytes:
    """What the tests write instead of the codec's text."""
    text = repr(value)
    if "{" in text:
        raise QueryError("a set cannot be written")
    return text.encode()


def sealed(key: bytes = KEY, root: str = "visits") -> SealedCoins:
    return SealedCoins(key, root, canonical=written)


def running(coins: Coins | None = None, mechanism: Any = None) -> Queryable:
    """A filter over three records with sealed coins."""
    mechanism = FiltCon(PureDP(1)) if mechanism is None else mechanism
    return Queryable(mechanism, [1, 2, 3], coins=coins or sealed(), allow_seeded=True)


def after(coins: SealedCoins, history: list[tuple[Any, Any]]) -> SealedCoins:
    """The coins after these queries and answers."""
    for query, answer in history:
        coins = coins.asked((), query).answered(answer)
    return coins


def test_the_same_key_and_history_give_the_same_draws() -> None:
    history = [("a", 1), ("b", None)]
    first, second = (after(sealed(), history).asked((0,), "c") for _ in range(2))
    assert [first.draw(WORD) for _ in range(100)] == [second.draw(WORD) for _ in range(100)]
    coins = after(sealed(), [("a", 1), ("b", 2)])
    again = sealed().resumed(coins.history, coins.count)
    assert again.asked((), "c").draw(WORD) == coins.asked((), "c").draw(WORD)


def test_every_difference_in_the_history_gives_other_draws() -> None:
    """The key, the root, the query, the path, an old query, an old answer, and their number."""
    base = [("a", 1), ("b", 2)]
    starts = [sealed(), sealed(bytes(32)), sealed(root="visit")]
    histories = [base, [("a", 1), ("b", 3)], [("c", 1), ("b", 2)], [("b", 2), ("a", 1)], base[:1]]
    questions: list[tuple[tuple[Any, ...], str]] = [((), "c"), ((0,), "c"), (("0",), "c"), ((), "")]
    draws = [
        after(start, history).asked(*question).spawn("root", 1).draw(WORD)
        for start, history, question in itertools.product(starts, histories, questions)
    ]
    draws += [start.spawn("root", 0).draw(WORD) for start in starts]
    assert len(set(draws)) == len(draws)


def test_histories_do_not_collide_at_their_seams() -> None:
    """Texts that are equal when they are put one after the other are different messages."""
    start = SealedCoins(KEY, "visits", canonical=lambda value: str(value).encode())
    one, other = start.answered("12").answered("3"), start.answered("1").answered("23")
    assert one.draw(WORD) != other.draw(WORD)
    coins = sealed().asked((), "a")
    places = [coins.spawn(child, n) for child in (0, 1, 11, "0", "a'") for n in range(9)]
    places += [coins.spawn(1, 1).spawn(child, n) for child in (0, 1, "1") for n in range(9)]
    draws = [each.draw(WORD) for each in places] + [coins.draw(WORD)]
    assert len(set(draws)) == len(draws)


def test_bytes_are_uniform() -> None:
    counts = Counter(sealed().bytes(256_000))  # chi-square of 255 degrees passes 450 rarely: 1e-12
    assert sum((counts[value] - 1000) ** 2 / 1000 for value in range(256)) < 450
    drawn = sealed().draw(WORD, (2, 3))
    assert drawn.shape == (2, 3)
    assert not np.array_equal(drawn, sealed().asked((), 1).draw(WORD, (2, 3)))


def test_neither_key_nor_history_is_shown() -> None:
    coins = sealed().asked((), "a question")
    assert repr(coins) == "SealedCoins()"
    for call in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="hold the key"):
            call(coins)
    for wrong in (b"short", bytearray(KEY), "a" * 32, None):
        with pytest.raises(ValueError, match=r"key should be 32 bytes$"):
            SealedCoins(wrong, "visits", canonical=written)  # type: ignore[arg-type]


LAUNCH = Launch(RandomWord(SMALL))
SCRIPT: tuple[Any, ...] = (
    LAUNCH,
    LAUNCH,
    Launch(RandomBits(SMALL)),
    Ask(2, "bits"),
    Ask(2, "bits"),
    LaunchMany([LAUNCH, LAUNCH, Launch(RandomBits(SMALL))]),
    Ask(5, "bits"),
    Launch(FiltCon(PureDP("1/2"))),
    Ask(6, LaunchMany([LAUNCH, Launch(RandomBits(SMALL))])),
    Ask(6, Ask(1, "bits")),
)


def words(handle: Queryable) -> list[int]:
    """All random words in a view."""

    def found(value: Any) -> Iterator[int]:
        if isinstance(value, int) and value > 1000:
            yield value
        elif hasattr(value, "answer"):
            yield from found(value.answer)
        elif isinstance(value, tuple):
            for each in value:
                yield from found(each)

    return [word for exchange in handle.view for word in found(exchange.answer)]


def played(handle: Queryable, script: tuple[Any, ...] = SCRIPT) -> list[int]:
    for query in script:
        if isinstance(query, LaunchMany):
            handle.launch_many(query.launches)
        else:
            handle.ask(query)
    return words(handle)


def test_the_same_analysis_has_the_same_view() -> None:
    one, other = running(), running()
    assert played(one) == played(other)
    assert one.view == other.view
    assert played(running(sealed(bytes(32)))) != words(one)
    drawn = played(running())
    assert len(drawn) == 12
    assert len(set(drawn)) == len(drawn)


def test_polls_and_wrong_queries_change_nothing() -> None:
    """As they are in no history, they may come or not, such as after a restart."""
    disturbed = running()
    for query in SCRIPT:
        disturbed.privacy_loss()
        disturbed.ask(CanAfford(LAUNCH))
        for wrong in ("nonsense", Ask(77, "bits"), Launch(3), Launch({1})):
            with pytest.raises(QueryError):
                disturbed.ask(wrong)
        if isinstance(query, LaunchMany):
            disturbed.launch_many(query.launches)
        else:
            disturbed.ask(query)
        disturbed.ask(PrivacyLossQuery(2))
    assert words(disturbed) == played(running())


OTHER = PureDP("0.002")
CHANGES: dict[int, tuple[Any, ...]] = {
    0: (Launch(RandomWord(OTHER)),),
    2: (Launch(RandomBits(OTHER)),),
    4: (),
    5: (LaunchMany([LAUNCH, LAUNCH, Launch(RandomBits(OTHER))]),),
    7: (Launch(FiltCon(PureDP("1/3"))),),
}
"""Instead of the query at a place of the script, these."""


@pytest.mark.parametrize("place", CHANGES)
def test_two_histories_never_share_coins(place: int) -> None:
    """Histories that differ in one earlier query have other noise in everything after it.

    Fails for coins that depend on the number of the message, as those of `SeededCoins` do: an old
    copy of a log that is continued otherwise would add the same noise to two questions.
    """
    one, two = running(), running()
    played(one)
    before = played(two, SCRIPT[:place])
    assert words(one)[: len(before)] == before
    played(two, (*CHANGES[place], *SCRIPT[place + 1 :]))
    first, second = words(one)[len(before) :], words(two)[len(before) :]
    assert len(second) > 1
    assert not {*first} & {*second}


@attrs.frozen
class Unwritable(InteractiveMechanism[int]):
    """Answers a launch and its first asks with None, then with a value that cannot be written."""

    good: int = 0

    def loss(self, d_in: int) -> PureDP:
        return SMALL

    def init(self, dataset: Any, coins: Coins = sealed()) -> tuple[int, Any]:  # noqa: B008
        return 0, None if self.good else {1}

    def step(self, state: int, query: Any, coins: Coins = sealed()) -> tuple[int, Any]:  # noqa: B008
        return state + 1, None if state < self.good - 1 else {state}


def test_an_answer_that_cannot_be_written_is_withheld() -> None:
    """It is no part of a history. Data may have been read: the charge is kept, the child failed."""
    faults: list[BaseException] = []
    handle = Queryable(
        FiltCon(PureDP(1)), [1], coins=sealed(), allow_seeded=True, on_fault=faults.append
    )
    with pytest.raises(MechanismFault):
        handle.launch(Unwritable())
    child = handle.launch(Unwritable(good=2))
    assert child.ask(1) is None
    with pytest.raises(MechanismFault):
        child.ask(2)
    assert handle.privacy_loss() == PureDP("0.002")
    assert [str(fault) for fault in faults] == ["a set cannot be written"] * 2
    handle.launch(RandomWord(SMALL))
    with pytest.raises(MechanismFault):
        running(mechanism=Unwritable())
    with pytest.raises(MechanismFault):
        running(mechanism=Unwritable(good=1)).ask(1)


def test_a_query_that_cannot_be_written_is_refused_before_anything_is_read() -> None:
    handle = running()
    with pytest.raises(QueryError, match="a set"):
        handle.ask(Launch(RandomWord({1})))  # type: ignore[arg-type]
    assert len(handle.view) == 0
