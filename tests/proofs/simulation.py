"""An adversary that plays an adversary and a person (Haney et al. 2023, Algorithms 8 and 9).

Responsible for the proof that postprocessing costs nothing, as code: A' talks to M as P and A
together would, and g reads the view of A against P o M off the view of A' against M.

Both replay the conversation from the view alone, so the person's coins must replay too.
"""

from collections.abc import Iterable
from typing import Any, Never

from queryable.postprocessing import FromAnalyst, FromMechanism, PersonInTheMiddle, ToAnalyst
from queryable.randomness.coins import ChildId, Coins
from queryable.view import Adversary, View


class _NoCoins:
    """Coins for persons that toss none."""

    def draw(self, law: object, size: object = None) -> Never:
        raise ValueError("the person tosses coins; pass SeededCoins, so that its play can replay")

    def spawn(self, child: ChildId, message: int) -> "_NoCoins":
        return self


NO_COINS: Any = _NoCoins()
"""The default: the person may not draw."""


def _converse(
    person: PersonInTheMiddle[Any], adversary: Adversary, answers: Iterable[Any], coins: Coins
) -> tuple[View, Any]:
    """Play A and P against the mechanism's answers so far.

    Returns:
        The view of A, and the next query to the mechanism, or None when A has stopped.
    """
    state, heard = person.init(), 0
    view: View | None = None
    query: Any = None

    def hear(message: FromAnalyst | FromMechanism) -> Any:
        nonlocal state, heard
        state, reply = person.step(state, message, coins.spawn("person", heard))
        heard += 1
        return reply

    reply: Any = None
    for answer in answers:
        reply = hear(FromMechanism(answer))
        while isinstance(reply, ToAnalyst):
            view = View(reply.answer) if view is None else view.then(query, reply.answer)
            query = adversary(view)
            if query is None:
                return view, None
            reply = hear(FromAnalyst(query))
    return (View() if view is None else view), reply.query


def adversary_through(
    person: PersonInTheMiddle[Any], adversary: Adversary, coins: Coins = NO_COINS
) -> Adversary:
    """Algorithm 8: A', the adversary against M that plays A and P as submachines."""

    def through(view: View) -> Any:
        return _converse(person, adversary, (view.opening, *view.answers), coins)[1]

    return through


def view_through(
    view: View, person: PersonInTheMiddle[Any], adversary: Adversary, coins: Coins = NO_COINS
) -> View:
    """Algorithm 9: g, which turns the view of A' against M into that of A against P o M."""
    return _converse(person, adversary, (view.opening, *view.answers), coins)[0]
