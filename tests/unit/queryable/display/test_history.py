"""The tree computed from the view: mechanisms, their status and their charges."""

import sys
from collections.abc import Callable
from typing import Any, ClassVar

import attrs
import pytest

from composition import ConComp, Filt, FiltCon, FiltSeq, Parallel, Partition, Universal
from mechanisms import (
    Count,
    Laplace,
    PrivateMultiplicativeWeights,
    RandomizedResponse,
    SparseVector,
)
from queryable import (
    Ask,
    FromAnalyst,
    FromMechanism,
    Launch,
    Launched,
    MechanismFault,
    Postprocessed,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    ToAnalyst,
)
from queryable.display.nodes import TreeNode
from tests.strategies import Courier, Faulty, Toy, raising

TOY = Toy()


def root_of(q: Queryable) -> TreeNode:
    return q.node


def statuses(node: TreeNode) -> list[str]:
    return [child.status for child in node.children]


def test_children_are_live_answered_and_failed() -> None:
    q = Queryable(FiltCon(PureDP(1)), "data")
    q.launch(TOY)
    q.launch(RandomizedResponse(lambda data: True, odds="1.1"))
    with pytest.raises(MechanismFault):
        q.launch(Faulty(raising(ValueError()), at_launch=True))
    late = q.launch(Faulty(raising(ValueError()), good=1))
    late.ask("bits")
    assert statuses(root_of(q)) == ["live", "answered", "failed", "live"]
    with pytest.raises(MechanismFault):
        late.ask("bits")
    assert statuses(root_of(q)) == ["live", "answered", "failed", "failed"]
    assert [row.outcome for row in q.ledger()] == ["charged", "charged", "failed", "charged"]


def test_refusals_are_counted_and_add_no_children() -> None:
    q = Queryable(FiltCon(PureDP("0.15")), None)
    q.launch(TOY)
    for _ in range(3):
        with pytest.raises(QueryRefusedError):
            q.launch(TOY)
    root = root_of(q)
    assert (root.refused, len(root.children)) == (3, 1)
    q = Queryable(FiltCon(PureDP(1)), None)
    with pytest.raises(QueryError):
        q.launch("no mechanism")  # type: ignore[arg-type]
    assert len(q.ledger()) == 0


def test_a_later_launch_retires_children_and_grandchildren() -> None:
    q = Queryable(FiltSeq(PureDP(1)), None)
    team = q.launch(FiltCon(PureDP("0.5")))
    team.launch(TOY)
    assert statuses(root_of(q).children[0]) == ["live"]
    q.launch(TOY)
    root = root_of(q)
    assert statuses(root) == ["retired", "live"]
    assert statuses(root.children[0]) == ["retired"]
    q = Queryable(FiltCon(PureDP("0.1"), on_exceed="halt"), None)
    q.launch(TOY)
    with pytest.raises(QueryRefusedError, match="halted for good"):
        q.launch(TOY)
    assert root_of(q).status == "halted"
    assert [row.outcome for row in q.ledger()] == ["charged", "refused"]


class Fainting(Courier):
    """Fails at the answer to one question."""

    def step(self, state: Any, message: Any, coins: Any) -> Any:
        if message == FromAnalyst("faint"):
            message = FromAnalyst(Ask(0, "bits"))
        if message == FromMechanism(0):
            raise ValueError("gone")
        return super().step(state, message, coins)


def test_a_failure_retires_the_children() -> None:
    q = Queryable(FiltCon(PureDP(1)), "data")
    person = q.launch(Postprocessed(FiltCon(PureDP("0.5")), Fainting()))
    person.launch(TOY)
    assert statuses(root_of(q).children[0]) == ["live"]
    with pytest.raises(MechanismFault):
        person.ask("faint")
    assert statuses(root_of(q)) == ["failed"]
    assert statuses(root_of(q).children[0]) == ["retired"]


def test_nested_launches_have_their_path() -> None:
    q = Queryable(FiltCon(PureDP(1)), None)
    q.launch(FiltCon(PureDP("0.5")))
    q.ask(Ask(0, Launch(FiltCon(PureDP("0.2")))))
    q.ask(Ask(0, Ask(0, Launch(TOY))))
    assert [row.path for row in q.ledger()] == [(), (0,), (0, 0)]
    inner = q.children[0].children[0]
    assert [row.sequence for row in inner.ledger()] == [2]
    assert inner.ledger()[0].total == inner.privacy_loss()


def test_fixed_children_are_in_the_tree_from_the_start() -> None:
    parts = Partition("k", ["a", "b"])
    filters = {"a": FiltCon(PureDP("0.5")), "b": Filt(PureDP("0.5"))}
    q = Queryable(FiltCon(PureDP(1)), {"k": ["a", "b"]})
    parallel = q.launch(Parallel(parts, filters))
    parallel.children["a"].launch(TOY)
    node = root_of(q).children[0]
    assert [child.path for child in node.children] == [(0, "a"), (0, "b")]
    assert parallel.children["a"].ledger()[0].total == PureDP("0.1")
    deep = Queryable(FiltCon(PureDP(1)), None)
    deep.launch(ConComp([ConComp([TOY]), RandomizedResponse(bool, odds="1.1")]))
    assert root_of(deep).children[0].children[0].children[0].path == (0, 0, 0)


def test_a_forwarded_answer_keeps_its_receipt() -> None:
    """The postprocessor's own node has no account: its own launches are not in the view."""
    q = Queryable(Postprocessed(FiltCon(PureDP(1)), Courier()), None)
    q.launch(TOY)
    (row,) = q.ledger()
    tenth = PureDP("0.1")
    assert (row.claim, row.loss, row.total, row.outcome) == (tenth, tenth, tenth, "charged")
    assert statuses(root_of(q)) == ["live"]
    assert root_of(q).account is None


@attrs.frozen
class Retelling(Courier):
    """Rewrites the answer to a launch."""

    receipt: Any = None

    def step(self, state: Any, message: Any, coins: Any) -> Any:
        state, reply = super().step(state, message, coins)
        if isinstance(message, FromMechanism) and isinstance(message.answer, Launched):
            told = Launched(message.answer.child, message.answer.answer, receipt=self.receipt)
            return state, ToAnalyst(told)
        return state, reply


@pytest.mark.parametrize("receipt", [None, "free"])
def test_without_a_receipt_no_charge_is_shown(receipt: Any) -> None:
    q = Queryable(Postprocessed(FiltCon(PureDP(1)), Retelling(receipt)), None)
    q.launch(TOY)
    (row,) = q.ledger()
    assert (row.claim, row.loss, row.total, row.outcome) == (PureDP("0.1"), None, None, "charged")
    assert statuses(root_of(q)) == ["live"]
    assert q.tree()


def test_leaves_and_universals_as_roots() -> None:
    leaf = Queryable(SparseVector(1, 1), [1])
    assert root_of(leaf).spent == PureDP(1)
    universal = Queryable(Universal(PureDP(1)), [1])
    universal.ask(Launch(Laplace(Count(), epsilon=1)))
    assert root_of(universal).claim == PureDP(1)
    # The view contains its reported loss, but not its launches.
    data: Any = [0, 1, 1]
    person = PrivateMultiplicativeWeights(3, records=3, epsilon=1, threshold=2, updates=2)
    q = Queryable(person @ FiltCon(PureDP(1)), data)
    root = root_of(q)
    assert (root.account, root.claim, root.reported) == (None, PureDP(1), None)
    spent = q.privacy_loss()
    assert root_of(q).reported == root_of(q).spent == spent


class Capricious(Toy):
    """Its privacy map fails when it is called again."""

    calls: ClassVar[list[int]] = []

    def loss(self, d_in: int) -> Any:
        self.calls.append(1)
        if len(self.calls) > 1:
            raise ValueError("not again")
        return PureDP("0.1")


def test_an_inconsistent_privacy_map_is_shown_as_charged() -> None:
    q = Queryable(FiltCon(PureDP(1)), None)
    Capricious.calls.clear()
    q.launch(Capricious())
    (row,) = q.ledger()
    tenth = PureDP("0.1")
    assert (row.claim, row.loss, row.total, row.outcome) == (tenth, tenth, tenth, "charged")
    assert q.tree()


class Silent(FiltCon):
    """A filter that gives no receipts."""

    def step(self, state: Any, query: Any, coins: Any = None) -> Any:
        after, answer = super().step(state, query, coins)
        return after, attrs.evolve(answer, receipt=None) if isinstance(query, Launch) else answer


def test_a_compositor_without_receipts_has_no_total() -> None:
    q = Queryable(Silent(PureDP(1)), None)
    assert root_of(q).account is not None
    q.launch(TOY)
    assert (root_of(q).account, root_of(q).spent) == (None, PureDP(1))
    (row,) = q.ledger()
    assert (row.claim, row.loss, row.total) == (PureDP("0.1"), None, None)


def test_a_launch_in_a_failed_mechanism_is_not_charged() -> None:
    q = Queryable(Fails(PureDP(1)), None)
    q.launch(TOY)
    with pytest.raises(MechanismFault):
        q.ask("fail")
    for _ in range(2):
        with pytest.raises(MechanismFault):
            q.launch(TOY)
    assert root_of(q).status == "failed"
    assert statuses(root_of(q)) == ["retired"]
    assert [(row.loss, row.total, row.outcome) for row in q.ledger()] == [
        (PureDP("0.1"), PureDP("0.1"), "charged"),
        (None, None, "failed"),
        (None, None, "failed"),
    ]


class Fails(FiltCon):
    """A filter that fails at one query."""

    def step(self, state: Any, query: Any, coins: Any = None) -> Any:
        if query == "fail":
            raise ValueError("gone")
        return super().step(state, query, coins)


def calls(act: Callable[[], object]) -> int:
    """How many Python functions are called, and generators resumed."""
    count = 0

    def see(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    act()
    sys.setprofile(see)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count


def crowd(count: int, *, anew: bool = False) -> Queryable:
    """Three launches, `count` times, and each child of one is asked once.

    Args:
        anew: whether one mechanism is made anew each time.
    """
    q = Queryable(FiltCon(PureDP(10_000)), [1])
    coin, small = RandomizedResponse(bool, odds="1.1"), FiltCon(PureDP("1/10"))
    team = q.launch(FiltCon(PureDP(1_000)))
    for _ in range(count):
        q.launch(TOY).ask("bits")
        team.launch(coin)
        q.launch(FiltCon(PureDP("1/10")) if anew else small)
    return q


def test_calls_do_not_grow_with_the_launches() -> None:
    """A piece of a log is a call or two, and no launch or answer is one."""
    few, many = crowd(200), crowd(1_000)
    for display in ("tree", "explain", "_repr_html_"):
        more = calls(getattr(many, display)) - calls(getattr(few, display))
        assert more < 300, display
    assert calls(crowd(1_000, anew=True).tree) - calls(few.tree) < 300
    assert calls(crowd(1_000, anew=True).explain) < 40 * 1_000
    assert "1,991 more: 1,991 live" in many.tree()
    assert "990 more: 990 answered" in many.tree()
    assert "Toy (1,000 times)" in many.explain()
