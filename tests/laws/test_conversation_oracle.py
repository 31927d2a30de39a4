"""The same random conversation on the runner and on compositors that run their children themselves.

Messages get a fault or an interrupt in a random leaf, and the runner an interrupt at a random
instruction. `two_kernels` says what has to be equal.
"""

from typing import Any

import numpy as np
import pytest

from queryable import MechanismFault, QueryError
from queryable.conversation import LOST, Compositor, Run
from queryable.messages import Launch, LaunchMany, is_owners, unnested
from tests.attacks.test_interrupts import OURS, ROOT, interrupted_at
from tests.laws.two_kernels import (
    TRIGGER,
    Result,
    begun,
    new_message,
    new_picture,
    new_run,
    old_message,
    random_query,
    random_root,
)

FAULTS: tuple[Any, ...] = (
    lambda: ValueError("the patient is 47"),
    lambda: KeyboardInterrupt("the patient is 47"),
    lambda: QueryError("the patient is 47"),
    MechanismFault,
)
TRACED = (*OURS, str(ROOT / "tests" / "conversations.py"))
MESSAGES = 10


def talk(seed: int, *, interrupts: bool) -> None:
    """One random conversation."""
    rng = np.random.default_rng(seed)
    old, old_state, new, new_state = begun(random_root(rng))
    for number in range(1, MESSAGES + 1):
        if new_state is None:
            return
        old_query, new_query = random_query(rng, new, new_state)
        at = int(rng.integers(1, 5)) if rng.integers(3) == 0 else 0
        fault = FAULTS[rng.integers(len(FAULTS))]
        if interrupts and not is_owners(new_query):
            point = int(np.exp(rng.uniform(0, np.log(3000))))
            TRIGGER.set(0, None)
            cut = interrupted(new, new_state, new_query, number, point)
            allowed = [
                new_picture(new, new_state),
                *after_interrupts(old, old_state, old_query, number),
            ]
            assert cut in allowed
        if isinstance(fault(), KeyboardInterrupt) and opens_unlike(new_query):
            at = 0
        TRIGGER.set(at, fault)
        was = old_message(old, old_state, old_query, number)
        TRIGGER.set(at, fault)
        now, run = new_message(new, new_state, new_query, number)
        context = (seed, number, new_query, at, fault)
        same(was, now, context)
        if now.intents:
            TRIGGER.set(1, KeyboardInterrupt)
            cut_short = old_message(old, old_state, old_query, number)
            assert now.intents[0] in (*was.intents, cut_short.stands()), (context, now.intents)
        TRIGGER.set(0, None)
        if type(now.told) is not str and not (now.interrupted and is_owners(new_query)):
            replays(run, now, new, new_state, new_query, number)
        old_state, new_state = was.state, now.state


def opens_unlike(query: Any) -> bool:
    """Whether it launches what the kernels open differently after an interrupt. Both ways are safe.

    Of several, one that reads nothing when it is opened: the runner opens it after an interrupt
    before it, because no leaf runs; the other kernel ends. A parallel composition whose rows could
    not be divided: the runner gives it up; the other kernel opens it with all parts failed.
    """
    _, inner = unnested(query)
    if isinstance(inner, Launch):
        return "Split(" in repr(inner.mechanism)
    several = inner.launches if isinstance(inner, LaunchMany) else ()
    return any(isinstance(each.mechanism, Compositor) for each in several)


def same(was: Result, now: Result, context: Any) -> None:
    """Both kernels did the same."""
    assert was.picture == now.picture, context
    assert was.interrupted == now.interrupted, context
    wrong = [type(each.told) is str and each.picture != "dead" for each in (was, now)]
    assert wrong[0] == wrong[1], context  # of two errors only one may know what was raised
    if not any(wrong):
        assert was.told == now.told or now.picture == "dead", context
        assert was.faults == now.faults, context


def replays(run: Run, now: Result, new: Any, state: Any, query: Any, number: int) -> None:
    """What the log of a message says leads to its state and answer, and no leaf runs."""
    again = new_run(new, state, query, number, known=run.log())
    moved = again.replayed()
    assert TRIGGER.count == 0
    assert moved is not LOST
    assert moved.answer == now.told
    assert new_picture(new, moved.state) == now.picture


def interrupted(new: Any, state: Any, query: Any, number: int, point: int) -> Any:
    """What stands on the runner after an interrupt between two instructions."""
    run, moved = new_run(new, state, query, number), list[Any]()

    def call() -> None:
        try:
            moved.append(run())
        except QueryError:
            moved.append(None)

    interrupted_at(point, call, TRACED)
    if moved and moved[0] is not None:
        return new_picture(new, moved[0].state)
    standing = None if moved else run.standing()
    if standing is None:
        return new_picture(new, state)
    return new_picture(new, None if standing[0] is LOST else standing[0].state)


def after_interrupts(old: Any, state: Any, query: Any, number: int) -> list[Any]:
    """What may stand on the other kernel: if any leaf is interrupted, or any line, or nothing."""
    TRIGGER.set(0, None)
    whole = old_message(old, state, query, number)
    found = [whole.picture, *(each if each == "dead" else each[0] for each in whole.standing)]
    for place in range(1, TRIGGER.count + 1):
        TRIGGER.set(place, KeyboardInterrupt)
        found.append(old_message(old, state, query, number).picture)
    return found


@pytest.mark.parametrize("seed", range(40))
def test_both_kernels_do_the_same(seed: int) -> None:
    talk(seed, interrupts=False)


@pytest.mark.parametrize("seed", range(4))
def test_an_interrupt_anywhere_leaves_what_the_other_kernel_may_leave(seed: int) -> None:
    talk(1_000_000 + seed, interrupts=True)


@pytest.mark.slow
def test_both_kernels_do_the_same_in_thousands_of_conversations() -> None:
    for seed in range(2_000):
        talk(2_000_000 + seed, interrupts=seed % 20 == 0)


@pytest.mark.long
def test_both_kernels_do_the_same_in_twenty_thousand_conversations() -> None:
    for seed in range(20_000):
        talk(3_000_000 + seed, interrupts=seed % 4 == 0)
