"""Views: the queries and answers that an adversary sees (Haney et al. 2023, Definition 1.6).

Responsible for views, and for running an adversary against a mechanism without a handle.
"""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from queryable.conversation.stepping import advance, advance_with_receipts, begin
from queryable.errors import ForeignNoiseError
from queryable.faults import collecting, raise_interrupt
from queryable.losses import Loss
from queryable.losses.numbers import natural
from queryable.mechanism import InteractiveMechanism
from queryable.messages import Answer, Halted, PrivacyLossQuery, Query, unnested
from queryable.randomness.coins import SYSTEM, ChildId, Coins
from queryable.receipts import AskReceipt

Receipts = tuple[AskReceipt, ...]


@attrs.frozen
class Exchange:
    """One query and its answer; `path` leads from the root to the child that was asked.

    `receipts` are those of compositors on the path whose charges changed with this answer.
    """

    path: tuple[ChildId, ...]
    query: Query
    answer: Answer
    receipts: Receipts = attrs.field(default=(), kw_only=True, eq=False, repr=False)


@attrs.frozen
class View:
    """The opening answer and every exchange in order; `len` counts exchanges.

    Its answers are the view of Haney et al. 2023, Definition 1.6.
    """

    opening: Answer = None
    exchanges: tuple[Exchange, ...] = ()

    def __len__(self) -> int:
        return len(self.exchanges)

    def __iter__(self) -> Iterator[Exchange]:
        return iter(self.exchanges)

    def __getitem__(self, index: int) -> Exchange:
        return self.exchanges[index]

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers, without the opening."""
        return tuple(exchange.answer for exchange in self.exchanges)

    def then(self, query: Query, answer: Answer, receipts: Receipts = ()) -> "View":
        """The view with one more exchange."""
        return View(self.opening, (*self.exchanges, exchange(query, answer, receipts)))


Adversary = Callable[[View], Any]
"""A function from the view so far to the next query, or to None to stop."""


def exchange(query: Query, answer: Answer, receipts: Receipts = ()) -> Exchange:
    """An exchange: nested `Ask`s become the path."""
    return Exchange(*unnested(query), answer, receipts=receipts)


def interact(
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    adversary: Adversary,
    coins: Coins = SYSTEM,
    max_rounds: int | None = None,
) -> View:
    """Run the interaction of an adversary and a mechanism until one halts; return the view.

    This is the interaction of Haney et al. 2023, Definition 1.5. It ends when the adversary returns
    None or the mechanism answers `Halted`, which is then the last answer of the view. `Halted` from
    a child, as the answer to an `Ask`, does not end the interaction.

    Args:
        max_rounds: the number of exchanges after which to stop; None for no limit.

    Raises:
        QueryError: the adversary asked something illegal.
    """
    most = None if max_rounds is None else natural(max_rounds, "max_rounds")
    with collecting() as faults:
        return conversation(
            mechanism, dataset, adversary, coins, most, lambda: _require_whole(faults)
        )


def conversation(
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    adversary: Adversary,
    coins: Coins,
    most: int | None,
    check: Callable[[], object],
) -> View:
    """The view of `interact`, without a scope of its own for faults.

    Args:
        most: the number of exchanges after which to stop; None for no limit.
        check: called before each message and at the end; raises if there was an interrupt.

    Raises:
        QueryError: the adversary asked something illegal.
    """
    state, opening = begin(mechanism, dataset, coins)
    view = View(opening)
    while most is None or len(view) < most:
        check()
        query = adversary(view)
        if query is None:
            break
        state, *told = advance_with_receipts(mechanism, state, query, coins, len(view) + 1)
        view = view.then(query, *told)
        if isinstance(view[-1].answer, Halted) and not view[-1].path:
            break
    check()
    return view


def _require_whole(faults: list[BaseException]) -> None:
    """Check that there was no interrupt, and that coins decided all noise.

    Raises:
        ForeignNoiseError: a mechanism failed because they do not decide its noise.
    """
    foreign = any(type(each) is ForeignNoiseError for each in faults)
    raise_interrupt(faults)
    if foreign:
        raise ForeignNoiseError


def truncated_view(
    mechanism: InteractiveMechanism[Any],
    dataset: Any,
    adversary: Adversary,
    threshold: Loss,
    coins: Coins = SYSTEM,
    max_rounds: int | None = None,
) -> View:
    """The adversary's view of an odometer, truncated where its report exceeds `threshold`.

    Haney et al. 2023, Definition 2.10 and Algorithm 5. The report is read after each answer, from
    the new state. The answer at which it first exceeds the threshold is dropped.
    """
    most = None if max_rounds is None else natural(max_rounds, "max_rounds")
    with collecting() as faults:
        state, opening = begin(mechanism, dataset, coins)
        view = View(opening)
        while most is None or len(view) < most:
            _require_whole(faults)
            query = adversary(view)
            if query is None:
                break
            state, *told = advance_with_receipts(mechanism, state, query, coins, len(view) + 1)
            state, loss = advance(mechanism, state, PrivacyLossQuery(), coins, 0)
            if not loss <= threshold:
                break
            view = view.then(query, *told)
        _require_whole(faults)
    return view
