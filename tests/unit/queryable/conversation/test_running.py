"""The runner: what a conversation may do, and what comes of what it may not do."""

import gc
import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import attrs
import pytest

from composition import FiltCon
from queryable import (
    SYSTEM,
    Ask,
    Coins,
    Failed,
    InteractiveMechanism,
    Loss,
    MechanismFault,
    PersonInTheMiddle,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    SeededCoins,
    UnknownQueryError,
    Update,
)
from queryable.conversation import (
    LOST,
    Compositor,
    Data,
    Drop,
    Later,
    Live,
    Moved,
    Pass,
    Ready,
    Run,
    Say,
    Start,
    Talk,
)
from queryable.conversation import frames as frames_module
from queryable.conversation.steps import Node, OtherVersionError, UnlikeError
from queryable.faults import collecting
from queryable.losses import PureDP as Pure
from queryable.messages import CloseBlock
from tests.conversations import Root, replayed
from tests.strategies import WORD, Toy

SECRET = "the patient is 47"
NONE = Data.of([1, 2, 3])


@attrs.frozen
class Talking(Compositor):
    """A compositor that does what its query, a function of its state, says; its state is a list."""

    loss_: Loss = PureDP(1)

    def loss(self, d_in: int) -> Loss:
        return self.loss_

    def open(self, data: Data) -> Moved:
        return Moved((data, 0), None)

    def understood(self, own: Any, query: Any, live: Live) -> Any:  # type: ignore[override]
        if not callable(query):
            raise UnknownQueryError("send a conversation")
        return query

    def converse(self, own: Any, understood: Any, live: Live) -> Talk | Moved:
        return understood(own, live)  # type: ignore[no-any-return]


@attrs.frozen
class Leaf(InteractiveMechanism[int]):
    """Answers with a function of the data, or counts; "wrong" is a wrong query."""

    function: Callable[[Any], Any] = len
    runs: list[str] = attrs.field(factory=list, eq=False)

    def loss(self, d_in: int) -> Loss:
        return Pure(1)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        self.runs.append("init")
        return 0, self.function(dataset)

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        if query == "wrong":
            raise QueryError("this is wrong")
        self.runs.append(str(query))
        if isinstance(query, BaseException):
            raise query
        return state + 1, coins.draw(WORD)


def started(*mechanisms: Any) -> Callable[[Any, Any], Talk]:
    """A conversation that starts mechanisms, with ids from 0 on."""

    def talk(own: Any, live: Any) -> Talk:
        data, count = own
        moved = yield [Start(n, each, data) for n, each in enumerate(mechanisms)]
        return Moved((data, count + len(mechanisms)), [each and each.answer for each in moved])

    return talk


def passed(*queries: tuple[Any, Any]) -> Callable[[Any, Any], Talk]:
    """A conversation that passes queries on, one after the other."""

    def talk(own: Any, live: Any) -> Talk:
        answers = []
        for child, query in queries:
            moved = yield Pass(child, query)
            answers.append(Failed() if moved is LOST else moved.answer)
        return Moved(own, answers)

    return talk


def root(*mechanisms: Any) -> Root:
    """A talking root with these children."""
    made = Root(Talking(), NONE, SeededCoins(1))
    if mechanisms:
        made.tell(started(*mechanisms))
    return made


def test_children_are_counted_and_their_coins_never_repeat() -> None:
    """The paths are those of the ids, with the number of messages; drawn words all differ."""
    made = root(Leaf(), Leaf())
    answers = [*made.tell(passed((0, "a"), (0, "a"), (1, "a"))), *made.tell(passed((0, "a")))]
    wanted = [(0, 1), (0, 2), (1, 1), (0, 3)]
    coins = [SeededCoins(1).spawn("root", 0).spawn(*each) for each in wanted]
    assert answers == [each.draw(WORD) for each in coins]
    assert made.state.children[0].messages == 4


def test_a_leaf_whose_state_does_not_change_does_not_repeat_its_noise() -> None:
    """Unless the query only reads, a message counts."""

    @attrs.frozen
    class Same(Leaf):
        def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
            return state, coins.draw(WORD)

    made = root(Same())
    one, other = made.tell(passed((0, "a"), (0, "a")))
    assert one != other
    assert made.tell(passed((0, PrivacyLossQuery()))) == made.tell(passed((0, PrivacyLossQuery())))


def test_dropped_children_are_gone_and_others_stay() -> None:
    made = root(Leaf(), Leaf(), Leaf())

    def some(own: Any, live: Any) -> Talk:
        yield Drop((1, 9))
        return Moved(own, sorted(live))

    def all_but_new(own: Any, live: Any) -> Talk:
        yield [Drop(), Start(7, Leaf(), own[0])]
        return Moved(own, None)

    assert made.tell(some) == [0, 1, 2]
    assert sorted(made.state.children) == [0, 2]
    made.tell(all_but_new)
    assert sorted(made.state.children) == [7]


def test_a_subclass_that_understands_a_query_otherwise_passes_none_on_unread() -> None:
    """Its `understood` decides, even where the class above it passes queries on as they are."""

    class Deaf(FiltCon):
        def understood(self, own: Any, query: Any, live: Live) -> Any:
            if isinstance(query, Ask):
                raise UnknownQueryError("it is deaf")
            return super().understood(own, query, live)

    for filter_, heard in ((FiltCon(PureDP(9)), True), (Deaf(PureDP(9)), False)):
        outer = Queryable(FiltCon(PureDP(9)), None)
        child = outer.launch(filter_).launch(Toy(PureDP(1)))
        with nullcontext() if heard else pytest.raises(UnknownQueryError, match="deaf"):
            child.ask("bits")


def test_an_analyst_sends_no_batch_through_a_conversation() -> None:
    made = root(Leaf())
    with pytest.raises(QueryError, match="owner"):
        made.tell(passed((0, Update([1]))))


@pytest.mark.parametrize("message", [Update([1]), CloseBlock("day")])
def test_an_owners_message_goes_to_the_root_alone(message: Any) -> None:
    """What is sent on a way to a child is no batch, however deep the child is."""
    q = Queryable(FiltCon(PureDP(9)), [31, 47])
    q.launch(FiltCon(PureDP(1))).launch(Toy(PureDP(1)))
    before = q._root.state  # type: ignore[attr-defined]
    for way in ((0,), (0, 0)):
        with pytest.raises(QueryError, match="owner"):
            q._root.tell(way, message)
    assert q._root.state is before  # type: ignore[attr-defined]


# Late errors.


def test_a_wrong_query_of_a_leaf_leaves_the_root_if_nothing_came_of_anything() -> None:
    """And if something did, the conversation that was told so is lost, as it cannot be undone."""
    made = root(Leaf())
    before = made.state
    with pytest.raises(QueryError, match="this is wrong"):
        made.tell(passed((0, "wrong")))
    assert made.state is before
    inner = root(Talking())
    inner.tell(passed((0, started(Leaf()))))
    assert inner.tell(passed((0, passed((0, "a"), (0, "wrong"))))) == [Failed()]
    assert sorted(inner.state.children) == []


def test_an_answer_after_the_loss_of_another_child_stands_after_an_interrupt() -> None:
    """What a leaf said about its query is an outcome too: nothing after it moves up."""
    made = root(Talking(), Leaf())
    made.tell(passed((0, started(Leaf()))))
    lost, interrupt = passed((0, "a"), (0, "wrong")), KeyboardInterrupt()

    def talk(own: Any, live: Any) -> Talk:
        moved = yield [Pass(0, lost), Pass(1, "b"), Pass(1, interrupt)]
        return Moved(own, [each and each.answer for each in moved])

    run = made.begun(talk)
    moved = run()
    assert run.stopped
    assert moved.answer[0] is moved.answer[2] is None
    assert type(moved.answer[1]) is int
    assert run.standing()[0].answer == moved.answer


def test_the_text_of_an_error_does_not_reach_the_analyst() -> None:
    made = root(Leaf())

    def talk(own: Any, live: Any) -> Talk:
        raise ValueError(SECRET)
        yield

    with pytest.raises(QueryError, match=r"cannot be worked out \(ValueError\)") as raised:
        made.tell(talk)
    assert SECRET not in str(raised.value)
    assert raised.value.__context__ is raised.value.__cause__ is None
    assert [str(each) for each in made.faults] == [SECRET]


def test_a_conversation_that_fails_when_it_starts_is_lost_at_once() -> None:
    @attrs.frozen
    class Shut(Talking):
        def open(self, data: Data) -> Talk:  # type: ignore[override]
            yield Ready("x", Later.of(1))
            raise QueryError(SECRET)

    @attrs.frozen
    class ShutAtOnce(Talking):
        def open(self, data: Data) -> Moved:
            raise QueryError(SECRET)

    made = root()
    assert made.tell(started(Shut(), ShutAtOnce(), Leaf())) == [None, None, 3]
    assert sorted(made.state.children) == [2]
    assert Root(ShutAtOnce(), NONE).state is None
    with pytest.raises(MechanismFault):
        ShutAtOnce().init([1])


@attrs.frozen
class Speaks(PersonInTheMiddle[int]):
    """Does what a function of the message says."""

    function: Callable[[Any], Any]

    def init(self) -> int:
        return 0

    def step(self, state: int, message: Any, coins: Coins) -> Any:
        return state + 1, self.function(message)


def person(message: Any) -> Callable[[Any, Any], Talk]:
    """A conversation with the person "p" about a message."""

    def talk(own: Any, live: Any) -> Talk:
        said = yield Say("p", message)
        if said is LOST:
            return LOST
        moved = yield Pass(0, said.answer)
        said = yield Say("p", moved and moved.answer)
        return LOST if said is LOST else Moved(own, said.answer)

    return talk


def test_a_person_is_a_child_that_reads_no_data() -> None:
    """Its word is no outcome of a leaf: if it raises first, nothing has changed."""
    made = root(Leaf())

    def introduce(own: Any, live: Any) -> Talk:
        yield Start("p", Speaks(lambda message: {"x": "go", None: 1 / 0}.get(message, message)))
        return Moved(own, None)

    with pytest.raises(QueryError, match="ZeroDivisionError"):
        made.tell(introduce) or made.tell(person("x"))
    quiet = root(Leaf())

    def meet(own: Any, live: Any) -> Talk:
        def hear(message: Any) -> Any:
            if message == "raise" or type(message) is int:
                raise QueryError(f"no {message}")
            return message

        yield Start("p", Speaks(hear))
        return Moved(own, None)

    quiet.tell(meet)
    before = quiet.state
    with pytest.raises(QueryError, match="no raise"):
        quiet.tell(person("raise"))
    assert quiet.state is before
    assert quiet.tell(person("go")) == Failed()  # it raises with an answer: its text is hidden
    assert quiet.state is None
    assert len(quiet.faults) == 1


# Bad input: what is no conversation.


def yields(what: Any) -> Callable[[Any, Any], Talk]:
    """A conversation that yields this after its first leaf."""

    def talk(own: Any, live: Any) -> Talk:
        yield Pass(0, "a")
        yield what
        return Moved(own, None)

    return talk


def ends(what: Any) -> Callable[[Any, Any], Talk]:
    """A conversation that ends with this after its first leaf."""

    def talk(own: Any, live: Any) -> Talk:
        yield Pass(0, "a")
        return what(own)

    return talk


def forever(own: Any, live: Any) -> Talk:
    while True:
        yield Pass(0, "a")


def holds_on(own: Any, live: Any) -> Talk:
    yield Pass(0, "a")
    try:
        yield "no step"
    except GeneratorExit:
        yield "I stay"


BAD: dict[str, Callable[[Any, Any], Talk]] = {
    "no step": yields("step"),
    "no steps": yields([Pass(0, "a"), 3]),
    "a set": yields({Pass(0, "a")}),
    "an unknown child": yields(Pass(9, "a")),
    "an unknown person": yields(Say(9, "a")),
    "a live child": yields(Start(0, Leaf(), NONE)),
    "rows": yields(Start(5, Leaf(), [1, 2])),  # type: ignore[arg-type]
    "rows as they are": yields(Start(5, Leaf(), Data(None, [1]))),  # type: ignore[arg-type]
    "no id": yields(Start(None, Leaf(), NONE)),  # type: ignore[arg-type]
    "a bool": yields(Pass(False, "a")),
    "a look": ends(lambda own: Moved(own, 1 if own[0].rows else 0)),
    "a sum": ends(lambda own: Moved(own, sum(own[0].rows))),
    "a Later": ends(lambda own: Moved(own, own[0].rows)),
    "a hidden Later": ends(lambda own: Moved(own, (1, [own[0].rows]))),
    "no Moved": ends(lambda own: (own, 1)),
    "forever": forever,
    "holding on": holds_on,
}


@pytest.mark.parametrize("how", BAD)
def test_what_is_no_conversation_is_lost_and_its_parent_goes_on(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The charge, which its parent made, is kept; the error is for the curator, without data."""
    monkeypatch.setattr(frames_module, "MOST_TURNS", 50)
    made = root(Talking(), Leaf())
    made.tell(passed((0, started(Leaf()))))
    assert made.tell(passed((0, BAD[how]), (1, "a")))[0] == Failed()
    assert sorted(made.state.children) == [1]
    assert made.faults
    assert not any("[1, 2, 3]" in str(each) for each in made.faults)
    assert type(made.tell(passed((1, "a")))[0]) is int
    alone = root(Leaf())  # at the root, nothing is left to go on
    alone.tell(BAD[how])
    assert alone.state is None


@pytest.mark.parametrize("how", ["steps", "fewer", "none", "child"])
def test_one_that_asks_for_other_steps_when_held_again_is_lost(how: str) -> None:
    """Its parent goes on, with the charge; nothing that was read is given to another step."""
    held = []

    def talk(own: Any, live: Any) -> Talk:
        held.append(1)
        first = len(held) == 1
        if how == "none" and not first:
            return Moved(own, "free")
        yield Pass(0, "a" if first or how != "steps" else "b")
        if how == "fewer" and not first:
            return Moved(own, "free")
        yield Pass(0 if first or how != "child" else 1, "c")
        yield Pass(0, KeyboardInterrupt())
        return Moved(own, "paid")

    made = root(Talking(), Leaf())
    made.tell(passed((0, started(Leaf(), Leaf()))))
    run = made.begun(passed((0, talk)))
    run()
    assert run.stopped
    standing = run.standing()
    assert standing is not None
    assert standing[0].answer == [Failed()]
    assert sorted(standing[0].state.children) == [1]
    assert any(type(each) is UnlikeError for each in run.faults)


def test_what_a_query_says_is_read_once() -> None:
    """A mechanism that states another loss the second time cannot have two charges."""
    stated = iter([Pure("1/8"), Pure("1/1000000"), Pure(0)])

    @attrs.frozen
    class Shifty(Toy):
        def loss(self, d_in: int) -> Loss:
            return next(stated)

    @attrs.frozen
    class Charging(Talking):
        def understood(self, own: Any, query: Any, live: Live) -> Any:  # type: ignore[override]
            return query if callable(query) else (query, query.privacy_map(1))

        def converse(self, own: Any, understood: Any, live: Live) -> Talk | Moved:
            mechanism, loss = understood
            return self._launch(own, mechanism, loss)

        def _launch(self, own: Any, mechanism: Any, loss: Loss) -> Talk:
            data, _ = own
            moved = yield Start(0, mechanism, data)
            return Moved((data, loss), moved is not LOST)

    told: list[Any] = []
    run = Run(Charging(), Shifty(), SYSTEM, Node((NONE, None)))
    run.announce(told.append)
    moved = run()
    standing = run.standing()
    charges = [told[0].state.own[1], moved.state.own[1], standing[0].state.own[1]]
    assert charges == [Pure("1/8")] * 3


def test_outcomes_that_might_have_been_do_not_mix() -> None:
    """What is understood in a pass that loses everything is not what is understood in another."""
    seen = []

    def branch(own: Any, live: Any) -> Talk:
        moved = yield Pass(0, "a")
        again = yield Pass(1, passed((0, "lost" if moved is LOST else "kept")))
        return Moved(own, again and again.answer)

    @attrs.frozen
    class Noting(Talking):
        def understood(self, own: Any, query: Any, live: Live) -> Any:  # type: ignore[override]
            seen.append(query)
            return super().understood(own, query, live)

    leaf = Leaf()
    made = root(Leaf(), Noting())
    made.tell(passed((1, started(leaf))))
    run = made.begun(branch)
    run.announce(lambda _: None)
    run()
    assert leaf.runs == ["init", "kept"]


# Replays.


def test_another_answer_than_the_log_s_makes_the_step_lost() -> None:
    """The state of a leaf is made again when it is asked; its parent goes on."""
    made = root(Leaf(), Leaf())
    run = made.begun(passed((0, "a"), (1, "a")))
    run()
    wrong = [each._replace(outcome=Moved(None, 7)) for each in run.log()[:1]]
    again = made.begun(passed((0, "a"), (1, "a")), known=[*wrong, *run.log()[1:]])
    moved = replayed(again)
    assert moved.answer[0] == 7
    after = Run(Talking(), passed((0, "b"), (1, "b")), SYSTEM, moved.state)
    told = after()
    assert told.answer[0] == Failed()
    assert type(told.answer[1]) is int
    assert [type(each) for each in after.faults] == [OtherVersionError]


def test_an_interrupt_while_a_state_is_made_again_changes_nothing() -> None:
    """It was paid for before: no leaf is marked, and the old state stands."""
    faults = [KeyboardInterrupt()]

    @attrs.frozen
    class Slow(Leaf):
        def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
            if query == "a" and faults:
                raise faults.pop()
            return state + 1, "same"

    made = root(Slow())
    kept = faults.pop()
    run = made.begun(passed((0, "a")))
    run()
    moved = replayed(made.begun(passed((0, "a")), known=run.log()))
    faults.append(kept)
    told: list[Any] = []
    later = Run(Talking(), passed((0, "b")), SYSTEM, moved.state)
    later.announce(told.append)
    with pytest.raises(KeyboardInterrupt):
        later()
    assert told == []
    assert later.standing() is None
    assert Run(Talking(), passed((0, "b")), SYSTEM, moved.state)().answer == ["same"]


def test_a_log_of_more_or_other_steps_is_of_another_version() -> None:
    made = root(Leaf(), Leaf())
    run = made.begun(passed((0, "a"), (1, "a")))
    run()
    for query in (passed((0, "a")), passed((1, "a"), (0, "a")), passed()):
        with pytest.raises(OtherVersionError):
            replayed(made.begun(query, known=run.log()))


def test_what_a_person_kept_to_itself_is_marked() -> None:
    made = root(Leaf(), Talking())
    made.tell(passed((1, started(Leaf()))))

    def meet(own: Any, live: Any) -> Talk:
        yield Start("p", Speaks(lambda message: message))
        return Moved(own, None)

    made.tell(passed((1, meet)))
    run = made.begun(passed((0, "a"), (1, person("b"))))
    run()
    assert [(each.path, each.hidden) for each in run.log()] == [((0,), False), ((1, 0), True)]
    assert run.log()[1].step == Pass(0, "b")  # verifying needs no coins


def test_receipts_have_the_path_of_who_gave_them() -> None:
    """Those given under a person are not shown; one that is given at once is."""

    def paid(receipt: str, *steps: Any) -> Callable[[Any, Any], Talk]:
        def talk(own: Any, live: Any) -> Talk:
            yield list(steps)
            return Moved(own, None, (receipt,))

        return talk

    def at_once(own: Any, live: Any) -> Moved:
        return Moved(own, None, ("at once",))

    made = root(Talking(), Talking())
    made.tell(passed((1, started(Talking()))))

    def meet(own: Any, live: Any) -> Talk:
        yield Start("p", Speaks(lambda message: message))
        return Moved(own, None)

    made.tell(passed((1, meet)))
    steps = Pass(0, paid("inner")), Pass(0, at_once), Pass(1, person(paid("hidden")))
    run = made.begun(paid("outer", *steps))
    run()
    assert run.receipts == [((0,), "inner"), ((0,), "at once"), ((), "outer")]


# Batches.


@attrs.frozen
class Grows(Talking):
    """Passes its batches to all children."""

    def understood(self, own: Any, query: Any, live: Live) -> Any:  # type: ignore[override]
        return query

    def converse(self, own: Any, understood: Any, live: Live) -> Talk | Moved:
        return (
            self._talk(own, understood, live)
            if isinstance(understood, Update)
            else understood(own, live)
        )

    def _talk(self, own: Any, batch: Update, live: Live) -> Talk:
        yield [Pass(each, batch) for each in sorted(live)]
        return Moved(own, None)


@attrs.frozen
class Summing(Leaf):
    """Adds up its batches; `Update([])` is wrong, and one with a fault raises it."""

    def step(self, state: int, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        if not isinstance(query, Update):
            return state, state
        if not query.records:
            raise QueryError("empty")
        if isinstance(query.records[0], BaseException) and state > 10:
            raise query.records[0]
        return state + sum(each for each in query.records if type(each) is int), None


def test_a_batch_is_atomic() -> None:
    """A fault breaks that child alone; a `QueryError` and an interrupt change nothing."""
    made = Root(Grows(), NONE, SeededCoins(1))
    made.tell(started(Summing(), Summing(), Summing()))
    made.tell(Update([1, 2]))
    before = made.state
    with pytest.raises(QueryError):
        made.tell(Update([]))
    assert made.state is before
    twenty = Root(Grows(), NONE, SeededCoins(1))
    twenty.tell(started(Summing(), Summing()))
    twenty.tell(Update([20]))
    with pytest.raises(KeyboardInterrupt):
        twenty.tell(Update([KeyboardInterrupt()]))
    assert twenty.tell(passed((0, "sum"), (1, "sum"))) == [20, 20]
    twenty.tell(Update([ValueError(SECRET)]))
    assert twenty.tell(passed((0, "sum"))) == [Failed()]
    assert sorted(twenty.state.children) == [1]  # the other one shows it when it is asked
    assert made.tell(passed((0, "sum"), (1, "sum"))) == [3, 3]


# Leaves, and the end of a message.


def test_a_compositor_with_a_step_of_its_own_is_a_leaf() -> None:
    """It runs its children itself; an interrupt in it makes the whole leaf lost."""

    @attrs.frozen
    class Own(Talking):
        def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
            return super().step(state, query, coins)

    assert not Own.converses
    assert Talking.converses
    made = root(Own(), Leaf())
    made.tell(passed((0, started(Leaf()))))
    assert type(made.tell(passed((0, passed((0, "a")))))[0][0]) is int
    assert [each.path for each in made.told[-1]] == [(0,)]
    run = made.begun(passed((0, passed((0, KeyboardInterrupt()))), (1, "a")))
    assert run().answer == [Failed(), Failed()]
    assert run.stopped
    with collecting() as faults:
        assert made.tell(passed((0, passed((0, ValueError(SECRET)))))) == [[Failed()]]
    assert [str(each) for each in faults] == [SECRET]


def test_a_derived_step_raises_an_interrupt_bare() -> None:
    mechanism = Talking()
    state, _ = mechanism.init([1, 2, 3])
    state, answer = mechanism.step(state, started(Leaf()))
    assert answer == [3]
    with pytest.raises(KeyboardInterrupt) as raised:
        mechanism.step(state, passed((0, KeyboardInterrupt(SECRET))))
    assert raised.value.args == ()


def test_all_conversations_are_closed_innermost_first() -> None:
    closed = []

    def talk(name: str, *steps: Any) -> Callable[[Any, Any], Talk]:
        def inner(own: Any, live: Any) -> Talk:
            try:
                yield list(steps)
                return Moved(own, None)
            finally:
                closed.append(name)

        return inner

    made = root(Talking())
    made.tell(passed((0, started(Leaf()))))
    before: Any = KeyboardInterrupt()

    def unkept(_: Any) -> None:
        raise before

    run = made.begun(talk("outer", Pass(0, talk("inner", Pass(0, "a")))))
    run.announce(unkept)
    with pytest.raises(KeyboardInterrupt):
        run()
    assert closed == ["inner", "outer"] * 2  # what stands was found, and then it was not told
    assert run.standing() is None


def test_nesting_takes_no_stack() -> None:
    """A hundred compositors, one in another, on a stack that has room for one."""
    made, depth = root(Talking()), 100
    for below in range(depth):
        query = started(Talking() if below < depth - 1 else Leaf())
        for _ in range(below + 1):
            query = passed((0, query))
        made.tell(query)
    query = passed((0, "a"))
    for _ in range(depth):
        query = passed((0, query))
    calls, deepest = sys._getframe(), [0]

    def see(frame: Any, event: str, argument: Any) -> None:
        here = 0
        while frame is not None and frame is not calls:
            frame, here = frame.f_back, here + 1
        deepest[0] = max(deepest[0], here)

    sys.setprofile(see)
    try:
        answer: Any = made.tell(query)
    finally:
        sys.setprofile(None)
    for _ in range(depth):
        (answer,) = answer
    assert type(answer[0]) is int
    assert deepest[0] < 20


def test_a_finished_message_keeps_no_data_alive() -> None:
    """No cycle is left that only a collection of garbage would find."""

    class Rows(list[int]):
        pass

    import weakref

    rows = Rows([1, 2, 3])
    alive = weakref.ref(rows)
    gc.disable()
    try:
        made = Root(Talking(), Data.of(rows), SeededCoins(1))
        made.tell(started(Leaf()))
        with pytest.raises(QueryError):
            made.tell(passed((0, "wrong")))
        del made, rows
        assert alive() is None
    finally:
        gc.enable()
