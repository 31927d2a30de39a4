"""Several launches in one message: check all, charge all in order, then run all.

This is the sequence of launches of an adversary that chose all of them without looking at the
answers in between (docs/theory/launch.md). Every launch has the charge, the refusal, the id and the
coins that it would have on its own. What is gained: the data may read ahead for all of them at
once.
"""

from typing import Any, Protocol

import attrs

from composition.compositors.children import NO_CHILDREN, Children, start_child
from composition.compositors.claims import Claim
from composition.compositors.state import CompositionState
from composition.rules import RunningAccount
from queryable.data.growing import growable
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

Decided = tuple[CompositionState, Answer]


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
    """A launch that is charged and has yet to run; `failed` is its answer until then."""

    place: int
    identity: int
    claim: Claim
    failed: Failed


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
            due.append(Due(place, identity, claim, answer))
    return _run(state, answers, due, compositor.interleaves, coins)


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


def _run(
    state: CompositionState, answers: list[Answer], due: list[Due], interleaves: bool, coins: Coins
) -> Decided:
    """Step 6 of all launches. If it is interrupted, what has not run has failed."""
    data, children = state.dataset, state.children

    def moved(children: Children, answers: list[Answer]) -> Decided:
        account, claims, streams = state.account, state.claims, state.streams
        now = CompositionState(data, account, claims, children, state.halted, streams)
        return now, tuple(answers)

    def read() -> tuple[None, None]:
        running = (each.claim.mechanism for each in due)
        measured = (each for each in running if isinstance(each, Measurement))
        read_ahead(data, [each for found in map(statistics_of, measured) for each in found])
        return None, None

    reads = due and recalling() is None
    if reads and contained_init(read, lambda _: moved(children, answers)) is None:
        return moved(children, answers)
    for each in due:

        def lost(children: Children, _: Answer, each: Due = each) -> Decided:
            after = answers[each.place + 1 :]
            return moved(children, [*answers[: each.place], each.failed, *after])

        mechanism, charge = each.claim.mechanism, each.claim.loss
        living = children if interleaves else NO_CHILDREN
        children, answer = start_child(living, each.identity, mechanism, charge, data, coins, lost)
        if isinstance(answer, Launched):
            receipt = each.failed.receipt
            answers[each.place] = Launched(answer.child, answer.answer, receipt=receipt)
        elif interrupted():
            break
    return moved(children, answers)
