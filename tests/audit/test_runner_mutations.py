"""Deliberate faults in the runner of conversations, each of which a test has to find."""

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import pytest

from queryable.conversation import Later, Run, frames, outcomes, running
from queryable.conversation.frames import TALKING, Frame
from queryable.conversation.outcomes import Outcomes
from queryable.conversation.steps import Child, Moved
from tests.audit.faults import Faults
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


MUTANTS = Faults()
found_by, instead, value = MUTANTS.caught_by, MUTANTS.instead, MUTANTS.value

# Outcomes.

KEPT = of(laws.test_an_interrupt_keeps_what_was_answered_and_all_charges, "FiltCon")
EQUAL = of(laws.test_equal_outcomes_give_equal_results, "FiltCon")
TOLD = of(laws.test_what_stands_is_told_before_data_are_read, "FiltCon")
COINS = of(laws.test_no_coins_are_tossed_twice, "FiltCon")

value(
    "the outcome of another step is told",
    partial(running_tests.test_one_that_asks_for_other_steps_when_held_again_is_lost, "steps"),
    *(outcomes, "_alike", lambda was, now: True),
)
value(
    "after an interrupt nothing stands, although a leaf ran",
    *(KEPT, Outcomes, "read", property(lambda self: False)),
)
value("nothing is told to stand", TOLD, Run, "_announce", lambda self: None)


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


@found_by(KEPT)
def a_leaf_that_was_interrupted_was_never_begun(patch: Patch) -> None:
    a_leaf_is_charged_after_it_has_run(patch)


@instead(EQUAL, Run, "__init__")
def known_outcomes_are_shifted_by_one(
    real: Any, self: Run, *given: Any, known: Any = (), **options: Any
) -> None:
    real(self, *given, known=(*known[1:], *known[:1]), **options)


@instead(running_tests.test_what_a_query_says_is_read_once, Run, "__init__")
def a_query_is_read_again(real: Any, self: Run, *given: Any, **options: Any) -> None:
    """What is understood of it is not remembered."""

    class Forgetful(dict[Any, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            return default

    real(self, *given, **options)
    self.memo = Forgetful()


# Frames and children.


@instead(EQUAL, Frame, "resumed")
def a_frame_is_resumed_twice(real: Any, self: Frame) -> Any:
    """With one outcome, when it has asked for the second time."""
    told = self.told
    moved = real(self)
    if moved is TALKING and told:
        self.told = told
        moved = real(self)
    return moved


@attrs.frozen
class Mine:
    """Coins that all children share."""

    coins: Any

    def spawn(self, child: Any, message: int) -> Any:
        return self.coins


@instead(COINS, Frame, "__init__")
def a_child_tosses_the_coins_of_its_parent(
    real: Any, self: Frame, talk: Any, coins: Any, *rest: Any
) -> None:
    """Those of the conversation, whichever child it is."""
    real(self, talk, Mine(coins), *rest)


def first(mechanism: Any, state: Any, messages: int) -> Child:
    """A child that has got one message, whatever it was."""
    return Child(mechanism, state, min(messages, 1))


@found_by(of(laws.test_no_coins_are_tossed_twice, "Masker of bits"))
def a_message_is_not_counted(patch: Patch) -> None:
    patch.setattr(frames, "_tuple", lambda kind, values: first(*values))


@instead(COINS, Frame, "take")
def a_message_that_is_passed_on_is_not_counted(
    real: Any, self: Frame, step: Any, moved: Any, *, atomic: bool
) -> None:
    real(self, step, moved, atomic=atomic)
    if self.talk is None and step.identity in self.children:
        child = first(*self.children[step.identity])
        self.children = self.children.set(step.identity, child)


@instead(of(laws.test_a_fault_retires_one_child_and_is_replayed, "FiltCon"), Frame, "_retire")
def what_is_lost_goes_on(real: Any, self: Frame, identity: Any, atomic: bool) -> None:
    if atomic:
        real(self, identity, atomic)


@instead(of(laws.test_equal_outcomes_give_equal_results, "Masker of bits"), Run, "said")
def a_word_is_said_twice(
    real: Any, self: Run, frame: Any, step: Any, person: Any, state: Any, messages: int
) -> Any:
    said = real(self, frame, step, person, state, messages)
    if type(said) is Moved and self.live:
        return real(self, frame, step, person, said.state, messages + 1)
    return said


# Data, batches and errors.


value(
    "a Later is looked at",
    partial(test_later.test_nobody_looks_at_it, bool),
    *(Later, "__bool__", lambda self: True),
)


def a_later_as_an_answer() -> None:
    with Patch.context() as patch:
        running_tests.test_what_is_no_conversation_is_lost_and_its_parent_goes_on("a Later", patch)


value("a Later is answered", a_later_as_an_answer, frames, "holds_later", lambda value: False)


@instead(
    of(laws.test_an_interrupt_keeps_what_was_answered_and_all_charges, "growing FiltCon"),
    *(Run, "__init__"),
)
def a_batch_is_half_through(real: Any, self: Run, *given: Any, **options: Any) -> None:
    """What an interrupt leaves of it stands."""
    real(self, *given, **options)
    self.atomic = False


@instead(
    running_tests.test_a_wrong_query_of_a_leaf_leaves_the_root_if_nothing_came_of_anything,
    *(running, "late"),
)
def an_error_after_an_answer_changes_nothing(
    real: Any, run: Any, frames: list[Frame], error: BaseException
) -> None:
    """The conversation goes on as if nothing had been read."""
    for frame in frames if run.live else ():
        frame.ran = False
    real(run, frames, error)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_fault_in_the_runner_is_found(name: str, monkeypatch: Patch) -> None:
    """The test passes, and then it fails."""
    mutant, test = MUTANTS[name]
    test()
    mutant(monkeypatch)
    with pytest.raises((Exception, pytest.fail.Exception)):
        test()
