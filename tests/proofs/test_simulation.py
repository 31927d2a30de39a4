"""An adversary that plays an adversary and a person: what it asks, and what its view tells."""

from typing import Any

import attrs
import pytest

from composition import FiltCon
from queryable import (
    Ask,
    Launch,
    Launched,
    PureDP,
    QueryError,
    SeededCoins,
    View,
    interact,
)
from tests.audit.toys import script
from tests.proofs.simulation import NO_COINS, adversary_through, view_through
from tests.strategies import WORD, Courier, Masker, RandomBits, RandomWord, Toy, Twice

COINS = SeededCoins(3)
SAID = (Launch(RandomBits()), Ask(0, "bits"), Launch(RandomWord()), Ask(0, "bits"))


def test_through_a_courier_nothing_changes() -> None:
    """A' asks what A asks, and g gives its view back."""
    adversary = script(*SAID)
    direct = interact(FiltCon(PureDP(9)), None, adversary, COINS)
    played = interact(FiltCon(PureDP(9)), None, adversary_through(Courier(), adversary), COINS)
    assert played == direct
    assert view_through(played, Courier(), adversary) == direct


def test_what_the_person_asks_is_asked() -> None:
    """One query of A through a person that asks twice is two of A', and one exchange of g."""
    adversary = script("bits", "bits")
    played = interact(Toy(), None, adversary_through(Twice(), adversary), COINS)
    assert played.answers == (0, 1, 2, 3)
    read = view_through(played, Twice(), adversary)
    assert read.answers == ((0, 1), (2, 3))
    assert [exchange.query for exchange in read] == ["bits", "bits"]


def test_an_adversary_that_says_nothing_hears_the_opening() -> None:
    """A' stops at once; g is the opening, as the person tells it."""
    played = interact(RandomBits(), None, adversary_through(Courier(), script()), COINS)
    assert len(played) == 0
    assert view_through(played, Courier(), script()) == View(played.opening)


def test_the_adversary_may_branch_on_what_the_person_says() -> None:
    """A hears answers after the person, and decides by them."""

    def adversary(view: View) -> Any:
        if len(view) == 0:
            return "bits"
        return "bits" if view.answers[-1] == (0, 1) else None

    played = interact(Toy(), None, adversary_through(Twice(), adversary), COINS)
    assert view_through(played, Twice(), adversary).answers == ((0, 1), (2, 3))


def test_the_persons_coins_replay() -> None:
    """With coins of its own the person is played alike each time: the view is that of P o M."""
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


def test_a_person_without_coins_may_not_toss() -> None:
    """The default coins refuse, spawned or not, and say what to pass."""
    for coins in (NO_COINS, NO_COINS.spawn(0, 1)):
        with pytest.raises(ValueError, match="pass SeededCoins"):
            coins.draw(WORD)


def test_an_illegal_query_is_still_the_adversarys_error() -> None:
    """What the person or the mechanism refuses is raised through both."""
    adversary = script("no such query")
    with pytest.raises(QueryError):
        interact(Toy(), None, adversary_through(Courier(), adversary), COINS)


def test_launches_are_seen_through_the_person() -> None:
    """Children keep their ids: A' speaks to the mechanism that has them."""
    played = interact(FiltCon(PureDP(9)), None, adversary_through(Courier(), script(*SAID)), COINS)
    assert [a.child for a in played.answers if isinstance(a, Launched)] == [0, None]
