"""Deliberate faults in the runner of conversations, each of which a test has to find."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from queryable.conversation import Later, Run, frames, outcomes, running
from queryable.conversation.frames import TALKING, Frame
from queryable.conversation.outcomes import Outcomes
from queryable.conversation.steps import Child, Moved
from tests.laws import test_conversation as laws
from tests.laws.conversing import CONVERSATIONS, Conversation
from tests.unit.queryable.conversation import test_running as running_tests
from tests.unit.queryable.data import test_later

Patch = pytest.MonkeyPatch
Law = Callable[[Conversation], None]


def of(law: Law, *names: str) -> Callable[[], None]:
    """A law of these conversations; of all if none is named."""

    def check() -> None:
        for each in CONVERSATIONS:
            if not names or each.name in names:
                law(each)

    return check


MUTANTS: dict[str, tuple[Callable[[Patch], None], Callable[[], object]]] = {}
"""Each fault by name: its patch, and the test that finds it."""


def found_by(test: Callable[[], object]) -> Callable[[Callable[[Patch], None]], object]:
    """Register a fault under its function's name."""

    def register(mutant: Callable[[Patch], None]) -> Callable[[Patch], None]:
        MUTANTS[mutant.__name__.replace("_", " ")] = mutant, test
        return mutant

    return register


# Outcomes.


@found_by(
    partial(running_tests.test_one_that_asks_for_other_steps_when_held_again_is_lost, "steps")
)
def the_outcome_of_another_step_is_told(patch: Patch) -> None:
    patch.setattr(outcomes, "_alike", lambda was, now: True)


@found_by(of(laws.test_an_interrupt_keeps_what_was_answered_and_all_charges, "FiltCon"))
def lost_is_not_kept(patch: Patch) -> None:
    """After an interrupt nothing stands, although a leaf ran."""
    patch.setattr(Outcomes, "read", property(lambda self: False))


@found_by(of(laws.test_each_leaf_is_marked_before_it_runs, "FiltCon"))
def a_leaf_is_charged_after_it_has_run(patch: Patch) -> None:
    """Its entry is made when its outcome is there; one that raises has none."""

    def mark(self: Run, step: Any, frame: Frame, held: Any) -> None:
        self.at += 1

    def note(self: Run, outcome: Any, step: Any, frame: Frame, held: Any) -> None:
        self.entries.append((outcome, step, frame.path, frame.number, held))
        self.kept += 1

    patch.setattr(Run, "mark", mark)
    patch.setattr(Run, "note", note)


@found_by(of(laws.test_an_interrupt_keeps_what_was_answered_and_all_charges, "FiltCon"))
def a_leaf_that_was_interrupted_was_never_begun(patch: Patch) -> None:
    a_leaf_is_charged_after_it_has_run(patch)


@found_by(of(laws.test_equal_outcomes_give_equal_results, "FiltCon"))
def known_outcomes_are_shifted_by_one(patch: Patch) -> None:
    plain = Run.__init__

    def shifted(self: Run, *given: Any, known: Any = (), **options: Any) -> None:
        plain(self, *given, known=(*known[1:], *known[:1]), **options)

    patch.setattr(Run, "__init__", shifted)


@found_by(running_tests.test_what_a_query_says_is_read_once)
def a_query_is_read_again(patch: Patch) -> None:
    """What is understood of it is not remembered."""

    class Forgetful(dict[Any, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            return default

    plain = Run.__init__

    def init(self: Run, *given: Any, **options: Any) -> None:
        plain(self, *given, **options)
        self.memo = Forgetful()

    patch.setattr(Run, "__init__", init)


@found_by(of(laws.test_what_stands_is_told_before_data_are_read, "FiltCon"))
def nothing_is_told_to_stand(patch: Patch) -> None:
    patch.setattr(Run, "_announce", lambda self: None)


# Frames and children.


@found_by(of(laws.test_equal_outcomes_give_equal_results, "FiltCon"))
def a_frame_is_resumed_twice(patch: Patch) -> None:
    """With one outcome, when it has asked for the second time."""
    plain = Frame.resumed

    def twice(self: Frame) -> Any:
        told = self.told
        moved = plain(self)
        if moved is TALKING and told:
            self.told = told
            moved = plain(self)
        return moved

    patch.setattr(Frame, "resumed", twice)


@found_by(of(laws.test_no_coins_are_tossed_twice, "FiltCon"))
def a_child_tosses_the_coins_of_its_parent(patch: Patch) -> None:
    """Those of the conversation, whichever child it is."""

    class Mine:
        def __init__(self, coins: Any) -> None:
            self.coins = coins

        def spawn(self, child: Any, message: int) -> Any:
            return self.coins

    plain = Frame.__init__

    def init(self: Frame, talk: Any, coins: Any, *rest: Any) -> None:
        plain(self, talk, Mine(coins), *rest)  # type: ignore[arg-type]

    patch.setattr(Frame, "__init__", init)


def first(mechanism: Any, state: Any, messages: int) -> Child:
    """A child that has got one message, whatever it was."""
    return Child(mechanism, state, min(messages, 1))


@found_by(of(laws.test_no_coins_are_tossed_twice, "Masker of bits"))
def a_message_is_not_counted(patch: Patch) -> None:
    patch.setattr(frames, "_tuple", lambda kind, values: first(*values))


@found_by(of(laws.test_no_coins_are_tossed_twice, "FiltCon"))
def a_message_that_is_passed_on_is_not_counted(patch: Patch) -> None:
    plain = Frame.take

    def take(self: Frame, step: Any, moved: Any, *, atomic: bool) -> None:
        plain(self, step, moved, atomic=atomic)
        if self.talk is None and step.identity in self.children:
            child = first(*self.children[step.identity])
            self.children = self.children.set(step.identity, child)

    patch.setattr(Frame, "take", take)


@found_by(of(laws.test_a_fault_retires_one_child_and_is_replayed, "FiltCon"))
def what_is_lost_goes_on(patch: Patch) -> None:
    plain = Frame._retire

    def stays(self: Frame, identity: Any, atomic: bool) -> None:
        if atomic:
            plain(self, identity, atomic)

    patch.setattr(Frame, "_retire", stays)


@found_by(of(laws.test_equal_outcomes_give_equal_results, "Masker of bits"))
def a_word_is_said_twice(patch: Patch) -> None:
    plain = Run.said

    def twice(self: Run, frame: Any, step: Any, person: Any, state: Any, messages: int) -> Any:
        said = plain(self, frame, step, person, state, messages)
        if type(said) is Moved and self.live:
            return plain(self, frame, step, person, said.state, messages + 1)
        return said

    patch.setattr(Run, "said", twice)


# Data, batches and errors.


@found_by(partial(test_later.test_nobody_looks_at_it, bool))
def a_later_is_looked_at(patch: Patch) -> None:
    patch.setattr(Later, "__bool__", lambda self: True)


def a_later_as_an_answer() -> None:
    with Patch.context() as patch:
        running_tests.test_what_is_no_conversation_is_lost_and_its_parent_goes_on("a Later", patch)


@found_by(a_later_as_an_answer)
def a_later_is_answered(patch: Patch) -> None:
    patch.setattr(frames, "holds_later", lambda value: False)


@found_by(of(laws.test_an_interrupt_keeps_what_was_answered_and_all_charges, "growing FiltCon"))
def a_batch_is_half_through(patch: Patch) -> None:
    """What an interrupt leaves of it stands."""
    plain = Run.__init__

    def half(self: Run, *given: Any, **options: Any) -> None:
        plain(self, *given, **options)
        self.atomic = False

    patch.setattr(Run, "__init__", half)


@found_by(running_tests.test_a_wrong_query_of_a_leaf_leaves_the_root_if_nothing_came_of_anything)
def an_error_after_an_answer_changes_nothing(patch: Patch) -> None:
    """The conversation goes on as if nothing had been read."""
    plain = running.late

    def late(run: Any, frames: list[Frame], error: BaseException) -> None:
        for frame in frames if run.live else ():
            frame.ran = False
        plain(run, frames, error)

    patch.setattr(running, "late", late)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_fault_in_the_runner_is_found(name: str, monkeypatch: Patch) -> None:
    """The test passes, and then it fails."""
    mutant, test = MUTANTS[name]
    test()
    mutant(monkeypatch)
    with pytest.raises((Exception, pytest.fail.Exception)):
        test()
