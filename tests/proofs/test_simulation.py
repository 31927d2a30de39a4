"""The adversary A' that simulates A and a person, and the map g that recovers the view of A."""

from typing import Any

import attrs
import pytest

from composition import FiltCon
from queryable import Ask, Launch, Launched, PureDP, QueryError, SeededCoins, interact
from queryable.view import View
from tests.audit.toys import script
from tests.proofs.simulation import NO_COINS, adversary_through, view_through
from tests.strategies import WORD, Courier, Masker, RandomBits, RandomWord, Toy, Twice

COINS = SeededCoins(3)
SAID = (Launch(RandomBits()), Ask(0, "bits"), Launch(RandomWord()), Ask(0, "bits"))


def test_a_courier_changes_neither_queries_nor_view() -> None:
    """A' sends the queries of A, and g returns the view of A' unchanged."""
    adversary = script(*SAID)
    direct = interact(FiltCon(PureDP(9)), None, adversary, COINS)
    played = interact(FiltCon(PureDP(9)), None, adversary_through(Courier(), adversary), COINS)
    assert played == direct
    assert view_through(played, Courier(), adversary) == direct


def test_a_person_that_asks_twice_makes_two_queries() -> None:
    """One query of A becomes two queries of A', and g merges them into one exchange."""
    adversary = script("bits", "bits")
    played = interact(Toy(), None, adversary_through(Twice(), adversary), COINS)
    assert played.answers == (0, 1, 2, 3)
    read = view_through(played, Twice(), adversary)
    assert read.answers == ((0, 1), (2, 3))
    assert [exchange.query for exchange in read] == ["bits", "bits"]


def test_an_adversary_without_queries_sees_the_opening() -> None:
    """A' stops at once, and g returns the opening as the person forwards it."""
    played = interact(RandomBits(), None, adversary_through(Courier(), script()), COINS)
    assert len(played) == 0
    assert view_through(played, Courier(), script()) == View(played.opening)


def test_the_adversary_may_branch_on_the_persons_answers() -> None:
    """A receives the answers from the person and chooses its queries by them."""

    def adversary(view: View) -> Any:
        if len(view) == 0:
            return "bits"
        return "bits" if view.answers[-1] == (0, 1) else None

    played = interact(Toy(), None, adversary_through(Twice(), adversary), COINS)
    assert view_through(played, Twice(), adversary).answers == ((0, 1), (2, 3))


def test_the_persons_coins_replay() -> None:
    """With seeded coins every replay of the person is equal, and g returns the view of P o M."""
    coins = COINS.spawn("root", 0)

    @attrs.frozen
    class AsInside:
        """The person's coins as `Postprocessed` would spawn them in `interact`."""

        def draw(self, law: Any, size: Any = None) -> Any:
            raise AssertionError("only spawned coins are drawn from")

        def spawn(self, child: Any, message: int) -> Any:
            return SeededCoins(3).spawn("root", message).spawn(child, message)

    adversary = script("bits", "bits")
    played = interact(Toy(), None, adversary_through(Masker(), adversary, AsInside()), COINS)
    read = view_through(played, Masker(), adversary, AsInside())
    assert read == view_through(played, Masker(), adversary, AsInside())
    assert read.answers == interact(Masker() @ Toy(), None, adversary, COINS).answers
    assert coins.draw(WORD) != COINS.draw(WORD)


def test_a_person_may_not_draw_from_the_default_coins() -> None:
    """The default coins raise, spawned or not, and the message says what to pass."""
    for coins in (NO_COINS, NO_COINS.spawn(0, 1)):
        with pytest.raises(ValueError, match="pass SeededCoins"):
            coins.draw(WORD)


def test_an_illegal_query_is_still_the_adversarys_error() -> None:
    """An error of the person or of the mechanism is raised through A' and P o M alike."""
    adversary = script("no such query")
    with pytest.raises(QueryError):
        interact(Toy(), None, adversary_through(Courier(), adversary), COINS)


def test_launches_are_seen_through_the_person() -> None:
    """Children keep their ids, since A' talks to the mechanism that holds them."""
    played = interact(FiltCon(PureDP(9)), None, adversary_through(Courier(), script(*SAID)), COINS)
    assert [a.child for a in played.answers if isinstance(a, Launched)] == [0, None]
