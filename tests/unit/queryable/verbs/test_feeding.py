"""The owner's handle: batches arrive whole or not at all, and only from the owner."""

import copy
import pickle
from collections import Counter
from typing import Any

import attrs
import numpy as np
import pytest

from composition import Blocks, FiltCon
from queryable import (
    SYSTEM,
    Ask,
    Coins,
    InteractiveMechanism,
    Launch,
    MechanismFault,
    PureDP,
    Queryable,
    QueryError,
    ToMechanism,
    UnknownQueryError,
    Update,
)
from queryable.data.growing import Grown, grown, snapshot
from queryable.data.later import made
from queryable.errors import HandleError, ReentrantQueryError
from queryable.messages import AskMany, CloseBlock, LaunchMany, entries_of
from queryable.streams.blocks import BlocksQuery
from queryable.streams.levels import Growth
from queryable.verbs.feeding import Feed
from tests.attacks.test_interrupts import interrupted_at
from tests.strategies import Courier, RandomBits, Toy

SMALL = PureDP("1/100")


@attrs.frozen
class Watcher(InteractiveMechanism[Any]):
    """A continual toy: "now" gives the records it has, "messages" how many messages it got."""

    fault: Any = attrs.field(default=None, eq=False, repr=False)
    growth = Growth()

    def loss(self, d_in: int) -> PureDP:
        return SMALL.group(d_in)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> Any:
        return (dataset, ("init",)), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        data, told = state
        if isinstance(query, Update | CloseBlock):
            if self.fault is not None:
                self.fault(query)
            if isinstance(query, Update):
                data = grown(data, query.records, query.block)
            return (data, (*told, type(query).__name__)), None
        if query == "messages":
            return state, told
        for each in entries_of(query) if isinstance(query, AskMany) else (query,):
            if each != "now":
                raise UnknownQueryError("ask now")
        return (data, (*told, query)), snapshot(data)


@attrs.frozen
class Keeper(Toy):
    """Answers "bits" with the data that it was launched on."""

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> Any:
        return dataset, None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
        return state, state


def table(data: Any = (1, 2)) -> Queryable:
    """A filter over two records."""
    return Queryable(FiltCon(PureDP(10)), list(data))


def test_nested_filters_grow_and_share_the_records() -> None:
    """Filters in filters have the batches too, and all of them keep one copy."""
    q = table()
    inner = q(FiltCon(PureDP(2)))
    deep = inner(FiltCon(PureDP(1)))
    watcher, keeper = deep(Watcher()), deep(Keeper(SMALL))
    assert q.feed([3]) is None
    q.feed([4])
    assert keeper.ask("bits") == [1, 2]
    assert deep(Keeper(SMALL)).ask("bits") == watcher.ask("now") == [1, 2, 3, 4]
    states = [q._root.state]  # type: ignore[attr-defined]
    states.append(states[-1].children[0].state)
    states.append(states[-1].children[0].state)
    rows = [made(each.own.data.rows) for each in states]
    stores = {id(each._shared.store) for each in rows}
    assert len(stores) == 1
    assert states[2].children[0].state[0] == rows[0]


def test_nothing_is_charged_and_the_view_has_no_entry() -> None:
    q = table()
    child = q(Watcher())
    loss, view = q.privacy_loss(), q.view
    q.feed([3])
    assert q.view == view
    assert (q.privacy_loss(), len(q.ledger())) == (loss, 1)
    assert child.ask("now") == [1, 2, 3]
    q = Queryable(FiltCon(PureDP("1/100"), on_exceed="halt"), [1])
    q(Watcher())
    with pytest.raises(QueryError):
        q.ask(Update([2]))
    assert q.feed([2]) is None


def test_a_person_never_sees_batches() -> None:
    """The mechanism behind a person grows; the person has got no message."""
    q = Queryable(Courier() @ FiltCon(PureDP(10)), [1])
    q.feed([2])
    assert q(Keeper(SMALL)).ask("bits") == [1, 2]
    person = Courier() @ Watcher()
    state, _ = person.init([1])
    after, answer = person.step(state, Update([2]))
    assert answer is None
    assert after.children["person"] is state.children["person"]
    assert after.children["mechanism"].messages == state.children["mechanism"].messages + 1


@attrs.frozen
class Owning(Courier):
    """A person that claims to be the owner."""

    def step(self, state: int, message: Any, coins: Any) -> Any:
        if message.__class__.__name__ == "FromAnalyst":
            return state + 1, ToMechanism(message.query[0])
        return super().step(state, message, coins)


@attrs.frozen
class Heir(Update):
    """A subclass."""


class Disguised:
    """Claims to be a message of the owner, from a certain look on."""

    records, block = (9,), "day"

    def __init__(self, kind: type, honest: int) -> None:
        self.kind, self.honest = kind, honest

    @property
    def __class__(self) -> Any:  # type: ignore[override]
        self.honest -= 1
        return Disguised if self.honest >= 0 else self.kind

    @__class__.setter
    def __class__(self, value: Any) -> None:
        raise TypeError


@pytest.mark.parametrize("kind", [Update, CloseBlock])
def test_what_an_object_says_of_its_class_does_not_count(kind: type) -> None:
    """An analyst's object that answers each look differently gets past no check."""
    blocks = Queryable(Blocks(FiltCon(PureDP(1))), [])
    blocks.feed([1], block="day")
    for honest in range(20):
        message: Any = Disguised(kind, honest)
        assert not isinstance(message, kind)
        q = table()
        inner = q(FiltCon(PureDP(1)))
        state, book = q._root.state, blocks._root.state  # type: ignore[attr-defined]
        asks = [q.ask, inner.ask, blocks.ask]
        for ask in (*asks, lambda m, q=q: q.ask(Ask(0, m))):
            with pytest.raises(QueryError):
                ask(message)
        assert q._root.state is state  # type: ignore[attr-defined]
        assert blocks._root.state is book  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "message", [Update([9]), CloseBlock("day"), Heir([9])], ids=lambda m: type(m).__name__
)
def test_an_analyst_cannot_send_an_owners_message(message: Any) -> None:
    """By no way of asking; and nothing has changed afterwards."""
    q = table()
    child, inner = q(Watcher()), q(FiltCon(PureDP(1)))
    watcher = inner(Watcher())
    view, state = q.view, q._root.state  # type: ignore[attr-defined]
    person = q(Owning() @ Watcher())
    ways: list[Any] = [
        lambda: q.ask(message),
        lambda: q(message),
        lambda: q.launch(message),
        lambda: q.ask(Launch(message)),
        lambda: q.ask(Ask(0, message)),
        lambda: q.ask(Ask(1, Ask(0, message))),
        lambda: child.ask(message),
        lambda: inner.ask(message),
        lambda: watcher.ask(message),
        lambda: child.ask_many([message]),
        lambda: q.ask_many([Ask(0, "now"), Ask(0, message)]),
        lambda: q.ask(Ask(0, AskMany([message]))),
        lambda: q.ask(LaunchMany([message])),
        lambda: q.launch_many([message]),
        lambda: person.ask((message,)),
        lambda: person.ask((AskMany([message]),)),
    ]
    for way in ways:
        with pytest.raises(QueryError):
            way()
    assert watcher.ask("messages") == child.ask("messages") == ("init",)
    assert len(q.view) == len(view) + 3
    assert q._root.state.own.data is state.own.data  # type: ignore[attr-defined]


def test_only_the_roots_handle_feeds() -> None:
    q = table()
    with pytest.raises(HandleError, match="owner"):
        _ = q(FiltCon(PureDP(1))).feed
    with pytest.raises(HandleError):
        copy.copy(q.feed)
    with pytest.raises(HandleError):
        pickle.dumps(q.feed)
    assert repr(q.feed) == "<Feed>"


@pytest.mark.parametrize(
    ("data", "batch", "says"),
    [
        ([1], "12", "list of records"),
        ([1], None, "list of records"),
        ([1], iter([1]), "one-shot iterator"),
        ([1], np.array([1]), "list of records"),
        (np.array([1]), np.array([1.5]), "int64"),
        (np.array([1]), np.array([[1]]), "shape"),
        (np.array([1]), {"a": [1]}, "array"),
        ({"a": [1], "b": np.array([2])}, {"a": [1]}, "columns of the data"),
        ({"a": [1], "b": np.array([2])}, {"a": [1], "b": np.array([1, 2])}, "lengths"),
        ({"a": [1], "b": np.array([2])}, {"a": [1], "b": np.array(["x"])}, "column 'b'"),
        ({"a": [1]}, [{"a": 1}], "dict of columns"),
        (None, [1], "cannot grow"),
        (7, [1], "cannot grow"),
    ],
)
def test_a_batch_of_another_form_is_refused(data: Any, batch: Any, says: str) -> None:
    """Nothing is lost: the batches before it and after it are there."""
    q = Queryable(FiltCon(PureDP(10)), data)
    watcher = q(Watcher())
    with pytest.raises(QueryError, match=says):
        q.feed(batch)
    assert watcher.ask("messages") == ("init",)


@pytest.mark.parametrize("block", [True, 1.5, (), b"x"])
def test_a_block_is_named_by_a_text_an_int_or_a_date(block: Any) -> None:
    q = table()
    with pytest.raises(QueryError, match="block's name"):
        q.feed([3], block=block)
    with pytest.raises(QueryError, match="block's name"):
        q.feed.close(block)


@pytest.mark.parametrize("root", [Watcher(), Courier() @ Watcher()], ids=repr)
def test_where_nothing_has_blocks_they_are_refused(root: Any) -> None:
    """A name that means nothing is not accepted in silence."""
    q = Queryable(root, [1, 2])
    for wrong in (lambda: q.feed([3], block="monday"), lambda: q.feed.close("monday")):
        with pytest.raises(QueryError, match="has no blocks"):
            wrong()
    q.feed([3])


def test_blocks_are_closed_once_also_where_none_runs_yet() -> None:
    """One that is launched later has these blocks."""
    q = table()
    with pytest.raises(QueryError, match="'monday' was never opened"):
        q.feed.close("monday")
    q.feed([3], block="monday")
    q.feed.close("monday")
    with pytest.raises(QueryError, match="'monday' is closed already"):
        q.feed.close("monday")
    with pytest.raises(QueryError, match="'monday' is closed"):
        q.feed([4], block="monday")
    q.privacy_loss()
    q(RandomBits(SMALL))
    q.feed([5], block="tuesday")
    with pytest.raises(QueryError, match="'monday' is closed"):
        q.feed([4], block="monday")
    days = q(Blocks(FiltCon(PureDP(1))))
    assert [each.block for each in days.ask(BlocksQuery())] == ["monday", "tuesday"]
    q.feed.close("tuesday")
    q.feed([6], block="wednesday")


def test_feed_takes_an_update() -> None:
    q = table()
    watcher = q(Watcher())
    q.feed(Update([3], block="monday"))
    assert watcher.ask("now") == [1, 2, 3]
    q.feed.close("monday")
    assert watcher.ask("messages") == ("init", "Update", "now", "CloseBlock")
    # A buffer that the owner uses again changes nothing.
    q, buffer = table(), [3]
    q.feed(buffer)
    buffer[:] = [4]
    q.feed(buffer)
    assert q(Keeper(SMALL)).ask("bits") == [1, 2, 3, 4]
    array = np.array([3])
    q = Queryable(FiltCon(PureDP(10)), np.array([1]))
    watcher = q(Watcher())
    q.feed(array)
    array[0] = 9
    assert list(watcher.ask("now")) == [1, 3]


def test_a_root_that_keeps_its_data_refuses() -> None:
    q = Queryable(RandomBits(), [1])
    with pytest.raises(QueryError, match="keeps the data"):
        q.feed([2])

    def fail(message: Any) -> None:
        raise ValueError

    q = Queryable(Watcher(fail), [1])
    for _ in range(2):
        with pytest.raises(MechanismFault):
            q.feed([2])
    with pytest.raises(MechanismFault):
        q.ask("now")


def test_a_child_that_fails_is_retired_and_the_others_go_on() -> None:
    """Its charge is kept, the batch arrives, and the curator gets the exception."""
    faults: list[BaseException] = []

    def fail(message: Any) -> None:
        raise ValueError("47")

    q = Queryable(FiltCon(PureDP(10)), [1], on_fault=faults.append)
    first, broken, last = q(Watcher()), q(Watcher(fail)), q(Watcher())
    loss = q.privacy_loss()
    assert q.feed([2]) is None
    assert first.ask("now") == last.ask("now") == [1, 2]
    with pytest.raises(MechanismFault):
        broken.ask("now")
    with pytest.raises(QueryError, match="retired"):
        broken.ask("now")
    assert q.privacy_loss() == loss
    assert [str(each) for each in faults] == ["47"]
    q.feed([3])
    assert last.ask("now") == [1, 2, 3]


def test_a_child_that_says_the_message_is_wrong_refuses_it_for_all() -> None:
    def refuse(message: Any) -> None:
        if message.records == [2]:
            raise QueryError("the block is closed")

    q = Queryable(FiltCon(PureDP(10)), [1])
    first = q(Watcher())
    q(Watcher(refuse))
    with pytest.raises(QueryError, match="closed"):
        q.feed([2])
    q.feed([3])
    assert first.ask("now") == [1, 3]
    assert q(Keeper(SMALL)).ask("bits") == [1, 3]


def test_a_mechanism_cannot_feed_while_it_answers() -> None:
    handles: list[Feed] = []
    caught: list[BaseException] = []

    def again(message: Any) -> None:
        with pytest.raises(ReentrantQueryError) as raised:
            handles[0]([3])
        caught.append(raised.value)

    q = Queryable(FiltCon(PureDP(10)), [1])
    q(Watcher(again))
    handles.append(q.feed)
    q.feed([2])
    assert len(caught) == 1


def test_a_subclass_with_its_own_step_gets_no_batches() -> None:
    """Unless it says so: its `step` may not know them."""

    @attrs.frozen
    class Own(FiltCon):
        def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> Any:
            return super().step(state, query, coins)

    assert Own.growth is None
    q = table()
    child = q(Own(PureDP(1)))
    q.feed([3])
    assert child(Keeper(SMALL)).ask("bits") == [1, 2]


def test_batches_are_private(recwarn: pytest.WarningsRecorder) -> None:
    from queryable.checks.datasets import is_private

    q, batch = Queryable(FiltCon(PureDP(10)), np.array([1])), np.array([2])
    q.feed(batch)
    assert is_private(batch)
    assert isinstance(made(q._root.state.own.data.rows), Grown)  # type: ignore[attr-defined]


def test_an_interrupt_anywhere_leaves_no_half_of_a_batch() -> None:
    """At every instruction that a batch runs: either everything has the batch, or nothing has."""
    kept, point, stopped = Counter[int](), 0, True
    while stopped:
        q = Queryable(FiltCon(PureDP(10)), [1])
        inner = q(FiltCon(PureDP(1)))
        watchers = [q(Watcher()), inner(Watcher())]
        stopped = interrupted_at(point, lambda feed=q.feed: feed([2]))  # type: ignore[misc]
        has = [len(each.ask("now")) for each in (*watchers, q(Watcher()), inner(Watcher()))]
        assert len(set(has)) == 1, point
        kept[has[0]] += 1
        q.feed([3])
        assert {len(each.ask("now")) for each in watchers} == {has[0] + 1}
        point += 1
    assert kept[1] > 100
    assert kept[2] >= 1
