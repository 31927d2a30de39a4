"""Several launches in one message: check all, charge all in order, then run all.

This is the sequence of launches of an adversary that chose all of them without looking at the
answers in between (docs/theory/launch.md). Every launch has the charge, the refusal, the id and the
coins that it would have on its own. What is gained: the data may read ahead for all of them at
once.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import attrs

from composition.compositors.children import NO_CHILDREN, Children, start_child
from composition.compositors.claims import Claim
from composition.compositors.state import CompositionState
from composition.rules import RunningAccount
from queryable.data.growing import Part, growable
from queryable.datasets import read_ahead, statistics_of
from queryable.errors import UnknownQueryError
from queryable.faults import contained_init, interrupted, recalling
from queryable.losses import Loss
from queryable.mechanism import Measurement
from queryable.messages import (
    Answer,
    Failed,
    Halted,
    Launch,
    Launched,
    LaunchMany,
    Refused,
    entries_of,
    entry,
)
from queryable.randomness.coins import Coins
from queryable.receipts import Receipt
from queryable.statistics import IntegerStatistic

Decided = tuple[CompositionState, Answer]

Moved = Callable[[Children, Sequence[Answer]], tuple[Any, Answer]]
"""A compositor's state and answer, from its children and the answers to several launches."""


class Compositor(Protocol):
    """What a compositor decides about a launch; see `adaptive`."""

    @property
    def d_in(self) -> int:
        """The records that charges are stated for."""

    @property
    def interleaves(self) -> bool:
        """Whether a launch leaves earlier children alive."""

    def _checked(self, state: CompositionState, query: Any) -> tuple[Launch, Claim]: ...
    def _launch_refused(
        self, state: CompositionState, candidate: RunningAccount, worst: Loss
    ) -> Refused | None: ...
    def _declined(self, state: CompositionState, refusal: Refused) -> Decided: ...
    def _still_halted(self, state: CompositionState, query: Any) -> Halted: ...


@attrs.frozen
class Due:
    """A launch that is charged and has yet to run on `data`; `failed` is its answer until then."""

    place: int
    identity: int
    claim: Claim
    failed: Failed
    data: Any = attrs.field(repr=False)


def launch_many(
    compositor: Compositor, state: CompositionState, query: LaunchMany, coins: Coins
) -> Decided:
    """Check all launches, charge them in order, then run those that were admitted.

    Raises:
        QueryError: an entry is wrong; the error says which.
        UnknownQueryError: a child is charged as it answers, so that what the next launch may cost
            depends on an answer.
    """
    checked = []
    for place, each in enumerate(entries_of(query)):
        with entry(place):
            checked.append(compositor._checked(state, each))
    if not all(claim.fixed for _, claim in checked):
        raise UnknownQueryError(
            "launch one after the other: a mechanism here is charged as it answers, so whether the "
            "next one fits depends on an answer"
        )
    if any(claim.mechanism.retires_others for _, claim in checked):
        raise UnknownQueryError("launch a mechanism that retires the others alone")
    answers, due = [], []
    for place, (launch, claim) in enumerate(checked):
        identity = len(state.claims)
        state, answer = _charged(compositor, state, launch, claim)
        answers.append(answer)
        if isinstance(answer, Failed):
            due.append((place, identity, claim, answer))
    data = state.dataset

    def moved(children: Children, answers: Sequence[Answer]) -> Decided:
        account, claims, streams = state.account, state.claims, state.streams
        now = CompositionState(data, account, claims, children, state.halted, streams)
        return now, tuple(answers)

    orders = [Due(*each, data) for each in due]
    living, interleaves = state.children, compositor.interleaves
    return run_all(living, answers, orders, moved, coins, interleaves=interleaves)


def still_halted(compositor: Compositor, state: CompositionState, query: LaunchMany) -> Answer:
    """The answer after a halt: `Halted` for every launch."""
    return tuple(compositor._still_halted(state, each) for each in entries_of(query))


def _charged(
    compositor: Compositor, state: CompositionState, launch: Launch, claim: Claim
) -> Decided:
    """Steps 4 and 5 of a launch. The answer to one that is charged is `Failed` until it has run."""
    if state.halted is not None:
        return state, compositor._still_halted(state, launch)
    mechanism, d_in = claim.mechanism, compositor.d_in
    account = state.account.add(claim.loss)
    refusal = compositor._launch_refused(state, account, claim.loss)
    if refusal is not None:
        receipt = Receipt(mechanism, launch.d_out, d_in, claim.loss, state.account)
        return compositor._declined(state, attrs.evolve(refusal, receipt=receipt))
    claims = state.claims.set(len(state.claims), state.shared(claim))
    living = state.children if compositor.interleaves else NO_CHILDREN
    receipt = Receipt(mechanism, launch.d_out, d_in, claim.loss, account)
    data, streams = state.dataset, state.streams
    if mechanism.continual:
        data = growable(data)
        streams = None if streams is None else (*streams, len(state.claims))
    return CompositionState(data, account, claims, living, streams=streams), Failed(receipt=receipt)


def run_all(
    children: Children,
    answers: Sequence[Answer],
    due: Sequence[Due],
    moved: Moved,
    coins: Coins,
    *,
    interleaves: bool = True,
) -> tuple[Any, Answer]:
    """Step 6 of all launches. If it is interrupted, what has not run has failed.

    Args:
        children: those that are alive when the first launch runs.
        answers: to every launch; to those that are due, `Failed` with the receipt.
        moved: the compositor's state and answer with these children and answers.
    """
    answers = list(answers)

    def read() -> tuple[None, None]:
        for data, wanted in _measured(due):
            read_ahead(data.whole if type(data) is Part else data, wanted)
        return None, None

    reads = due and recalling() is None
    if reads and contained_init(read, lambda _: moved(children, answers)) is None:
        return moved(children, answers)
    for each in due:

        def lost(children: Children, _: Answer, each: Due = each) -> tuple[Any, Answer]:
            after = answers[each.place + 1 :]
            return moved(children, [*answers[: each.place], each.failed, *after])

        mechanism, charge, data = each.claim.mechanism, each.claim.loss, each.data
        living = children if interleaves else NO_CHILDREN
        children, answer = start_child(living, each.identity, mechanism, charge, data, coins, lost)
        if isinstance(answer, Launched):
            receipt = each.failed.receipt
            answers[each.place] = Launched(answer.child, answer.answer, receipt=receipt)
        elif interrupted():
            break
    return moved(children, answers)


def _measured(due: Sequence[Due]) -> Iterable[tuple[Any, list[IntegerStatistic]]]:
    """The data sets that measurements read, each with all their statistics."""
    found: dict[int, tuple[Any, list[IntegerStatistic]]] = {}
    for each in due:
        if isinstance(each.claim.mechanism, Measurement):
            _, wanted = found.setdefault(id(each.data), (each.data, []))
            checked = statistics_of(each.claim.mechanism)
            wanted += [it for it in checked if isinstance(it, IntegerStatistic)]
    return found.values()
