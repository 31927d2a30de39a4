"""Deliberate faults in the runner of conversations, each of which a test has to find."""

from collections.abc import Callable
from typing import Any

import pytest

from queryable.conversation import Later, Run, frames, outcomes, running
from queryable.conversation.frames import TALKING, Frame
from queryable.conversation.outcomes import Outcomes
from queryable.conversation.steps import Moved
from tests.laws import test_conversation as laws
from tests.laws.conversing import CONVERSATIONS
from tests.laws.test_conversation_oracle import talk
from tests.unit.queryable.conversation import test_running
from tests.unit.queryable.data import test_later

FILTER = CONVERSATIONS[0]
Patch = pytest.MonkeyPatch


def compared() -> None:
    """A few random conversations on both kernels."""
    for seed in range(6):
        talk(seed, interrupts=False)


def outcome_of_another_step(patch: Patch) -> None:
    patch.setattr(outcomes, "_alike", lambda was, now: True)


def lost_is_not_kept(patch: Patch) -> None:
    patch.setattr(Outcomes, "read", property(lambda self: False))


def charged_after_the_leaf(patch: Patch) -> None:
    plain = running.leaves.read
    patch.setattr(Outcomes, "mark", lambda *_: None)

    def note(self: Any, outcome: Any, step: Any, frame: Any, held: Any) -> None:
        self.entries.append((outcome, step, frame.path, frame.number, held))

    patch.setattr(Outcomes, "note", note)
    patch.setattr(running.leaves, "read", plain)


def resumed_twice(patch: Patch) -> None:
    plain = Frame.resumed

    def twice(self: Frame) -> Any:
        moved = plain(self)
        return plain(self) if moved is TALKING and self.turns == 1 else moved

    patch.setattr(Frame, "resumed", twice)


def known_outcomes_are_shifted(patch: Patch) -> None:
    plain = Outcomes.__init__

    def shifted(self: Any, known: Any, same: Any) -> None:
        plain(self, (*known[1:], *known[:1]), same)

    patch.setattr(Outcomes, "__init__", shifted)


def coins_of_the_parent(patch: Patch) -> None:
    plain = Frame.__init__

    class Mine:
        def __init__(self, coins: Any) -> None:
            self.coins = coins

        def spawn(self, child: Any, message: int) -> Any:
            return self.coins.spawn("mine", 0)

    def mine(self: Any, talk: Any, coins: Any, *rest: Any) -> None:
        plain(self, talk, Mine(coins), *rest)  # type: ignore[arg-type]

    patch.setattr(Frame, "__init__", mine)


def a_message_is_not_counted(patch: Patch) -> None:
    plain = frames.Child
    patch.setattr(frames, "Child", lambda mechanism, state, messages: plain(mechanism, state, 1))


def a_later_is_looked_at(patch: Patch) -> None:
    patch.setattr(Later, "__bool__", lambda self: True)


def a_word_is_said_twice(patch: Patch) -> None:
    plain = Run._said

    def twice(self: Run, frame: Any, step: Any, person: Any, state: Any, messages: int) -> Any:
        said = plain(self, frame, step, person, state, messages)
        if type(said) is Moved and self._live:
            return plain(self, frame, step, person, said.state, messages + 1)
        return said

    patch.setattr(Run, "_said", twice)


def a_batch_is_half_through(patch: Patch) -> None:
    plain = Run.__init__

    def half(self: Any, *given: Any, **options: Any) -> None:
        plain(self, *given, **options)
        self.atomic = False

    patch.setattr(Run, "__init__", half)


def nothing_is_told_to_stand(patch: Patch) -> None:
    patch.setattr(Run, "_announce", lambda self: None)


def what_is_lost_goes_on(patch: Patch) -> None:
    plain = Frame._retire

    def stays(self: Frame, identity: Any, atomic: bool) -> None:
        if atomic:
            plain(self, identity, atomic)

    patch.setattr(Frame, "_retire", stays)


MUTANTS: tuple[tuple[Callable[[Patch], None], Callable[[], object]], ...] = (
    (
        outcome_of_another_step,
        lambda: test_running.test_one_that_asks_for_other_steps_when_held_again_is_lost("steps"),
    ),
    (
        lost_is_not_kept,
        lambda: laws.test_an_interrupt_keeps_what_was_answered_and_all_charges(FILTER),
    ),
    (
        charged_after_the_leaf,
        lambda: laws.test_an_interrupt_keeps_what_was_answered_and_all_charges(FILTER),
    ),
    (resumed_twice, compared),
    (known_outcomes_are_shifted, lambda: laws.test_equal_outcomes_give_equal_results(FILTER)),
    (coins_of_the_parent, compared),
    (a_message_is_not_counted, compared),
    (a_later_is_looked_at, lambda: test_later.test_nobody_looks_at_it(bool)),
    (a_word_is_said_twice, compared),
    (a_batch_is_half_through, test_running.test_a_batch_is_atomic),
    (nothing_is_told_to_stand, lambda: laws.test_what_stands_is_told_before_data_are_read(FILTER)),
    (what_is_lost_goes_on, compared),
)


@pytest.mark.parametrize(("mutant", "test"), MUTANTS, ids=[each.__name__ for each, _ in MUTANTS])
def test_a_fault_in_the_runner_is_found(
    mutant: Callable[[Patch], None], test: Callable[[], object], monkeypatch: Patch
) -> None:
    """The test passes, and then it fails."""
    test()
    mutant(monkeypatch)
    with pytest.raises((Exception, pytest.fail.Exception)):
        test()
