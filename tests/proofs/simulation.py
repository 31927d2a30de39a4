"""The proof that postprocessing costs no privacy, as code (Haney et al. 2023, Algorithms 8 and 9).

For an adversary A, a person in the middle P and a mechanism M, the adversary A' simulates A and P
and talks to M directly. The function g computes the view of A against P o M from the view of A'
against M. Both replay the conversation from the view alone, so the person's coins must be
replayable.
"""

from collections.abc import Iterable
from typing import Any, Never

from queryable.postprocessing import FromAnalyst, FromMechanism, PersonInTheMiddle, ToAnalyst
from queryable.randomness.coins import ChildId, Coins
from queryable.view import Adversary, View


class _NoCoins:
    """Coins that raise when the person draws."""

    def draw(self, law: object, size: object = None) -> Never:
        raise ValueError("pass SeededCoins: the person draws coins, which must be replayable")

    def spawn(self, child: ChildId, message: int) -> "_NoCoins":
        return self


NO_COINS: Any = _NoCoins()
"""The default coins, for a person that never draws."""


def _converse(
    person: PersonInTheMiddle[Any], adversary: Adversary, answers: Iterable[Any], coins: Coins
) -> tuple[View, Any]:
    """Replay A and P against the mechanism's answers so far.

    Returns:
        The view of A, and the next query to the mechanism, or None if A has stopped.
    """
    state, received = person.init(), 0
    view: View | None = None
    query: Any = None

    def send(message: FromAnalyst | FromMechanism) -> Any:
        nonlocal state, received
        state, reply = person.step(state, message, coins.spawn("person", received))
        received += 1
        return reply

    reply: Any = None
    for answer in answers:
        reply = send(FromMechanism(answer))
        while isinstance(reply, ToAnalyst):
            view = View(reply.answer) if view is None else view.then(query, reply.answer)
            query = adversary(view)
            if query is None:
                return view, None
            reply = send(FromAnalyst(query))
    return (View() if view is None else view), reply.query


def adversary_through(
    person: PersonInTheMiddle[Any], adversary: Adversary, coins: Coins = NO_COINS
) -> Adversary:
    """Algorithm 8: return A', the adversary against M that runs A and P as submachines."""

    def through(view: View) -> Any:
        return _converse(person, adversary, (view.opening, *view.answers), coins)[1]

    return through


def view_through(
    view: View, person: PersonInTheMiddle[Any], adversary: Adversary, coins: Coins = NO_COINS
) -> View:
    """Algorithm 9: apply g, which maps the view of A' against M to that of A against P o M."""
    return _converse(person, adversary, (view.opening, *view.answers), coins)[0]
