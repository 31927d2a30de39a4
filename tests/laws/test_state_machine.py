"""Random use of a nested tree, compared with a model that keeps exact sums.

The model stores each node's budget and charges, how often each leaf was asked, and which mechanisms
ran. Rules launch, nest, ask, overspend, fail and send illegal queries, in any order and at any
depth. After each rule the tree must agree with the model.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    rule,
)

from composition import FiltCon, OdomCon
from queryable import (
    Ask,
    InteractiveMechanism,
    Launch,
    MechanismFault,
    Postprocessed,
    PureDP,
    Queryable,
    QueryError,
    QueryRefusedError,
    SeededCoins,
    interact,
)
from queryable.errors import RetiredChildError
from tests.strategies import ILLEGAL, SECRET, WORD, Courier, Faulty, RandomBits, Recorder, raising

DATA = (1, 2, 3)
UNIT = Fraction(1, 20)
costs = st.integers(0, 12).map(lambda units: PureDP(units * UNIT))


@attrs.define
class Node:
    """The model of a filter or an odometer."""

    handle: Queryable
    budget: Fraction | None
    spent: Fraction = Fraction(0)
    launches: int = 0
    parents: "tuple[Node, ...]" = ()

    def fits(self, cost: PureDP) -> bool:
        """Basic composition: the sum stays within the budget."""
        return self.budget is None or self.spent + cost.epsilon <= self.budget

    def charge(self, cost: PureDP) -> int:
        """Add the cost and return the next id."""
        self.spent += cost.epsilon
        self.launches += 1
        return self.launches - 1


@attrs.define
class Leaf:
    """The model of a child that answers random bits."""

    handle: Queryable
    charged: PureDP


@attrs.define
class Ready:
    """The model of a child that fails at its next query."""

    handle: Queryable


PATHS: dict[str, Callable[[InteractiveMechanism[Any]], InteractiveMechanism[Any]]] = {
    "plain": lambda mechanism: mechanism,
    "person": lambda mechanism: Postprocessed(mechanism, Courier()),
}


class NestedTree(RuleBasedStateMachine):
    """Random use of one tree."""

    nodes = Bundle("nodes")
    leaves = Bundle("leaves")
    bombs = Bundle("bombs")

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[str] = []
        self.expected_runs = 0
        self.faults: list[BaseException] = []
        self.expected_faults = 0
        self.tree: list[Node] = []
        self.placed: list[Leaf | Ready] = []

    def opened(self) -> Queryable:
        """Open the root."""
        return Queryable(
            self.root, DATA, coins=SeededCoins(5), allow_seeded=True, on_fault=self.faults.append
        )

    def node(self, handle: Queryable, budget: Fraction | None, *parents: Node) -> Node:
        """Record a node for the invariants."""
        node = Node(handle, budget, parents=parents)
        self.tree.append(node)
        return node

    @initialize(target=nodes, odometer=st.booleans(), units=st.integers(0, 40))
    def plant(self, odometer: bool, units: int) -> Node:
        """Create the root: a filter, or an odometer without a threshold."""
        self.root = OdomCon(PureDP) if odometer else FiltCon(PureDP(units * UNIT))
        return self.node(self.opened(), None if odometer else units * UNIT)

    def recorder(self, cost: PureDP, *, fits: bool) -> Recorder:
        """A measurement that records whether it was to run."""
        return Recorder(self.runs, cost, "admitted" if fits else "refused")

    def launch(self, node: Node, cost: PureDP, mechanism: Any, d_out: Any = None) -> Any:
        """Launch; check that the launch is refused exactly if the model refuses it."""
        assert node.handle.can_afford(mechanism, d_out) is node.fits(cost)
        if node.fits(cost):
            return node.handle.launch(mechanism, d_out)
        with pytest.raises(QueryRefusedError) as caught:
            node.handle.launch(mechanism, d_out)
        refusal = caught.value
        assert refusal.requested == cost
        assert refusal.spent == PureDP(node.spent)
        assert node.budget is not None
        assert refusal.remaining == PureDP(node.budget - node.spent)
        return None

    @rule(node=nodes, cost=costs)
    def measure(self, node: Node, cost: PureDP) -> None:
        """A measurement runs exactly if it is admitted."""
        answer = self.launch(node, cost, self.recorder(cost, fits=node.fits(cost)))
        if answer is not None:
            assert answer == 3
            self.expected_runs += 1
            node.charge(cost)

    @rule(target=leaves, node=nodes, cost=costs)
    def open_leaf(self, node: Node, cost: PureDP) -> Any:
        """An interactive child opens with its first random bits."""
        handle = self.launch(node, cost, RandomBits(cost))
        if handle is None:
            return multiple()
        identity = node.charge(cost)
        assert set(node.handle.children) <= set(range(node.launches))
        assert node.handle.children[identity] is handle
        self.placed.append(Leaf(handle, charged=cost))
        return self.placed[-1]

    @rule(
        target=nodes,
        node=nodes,
        cost=costs,
        kind=st.sampled_from(["filter", "odometer"]),
        way=st.sampled_from(sorted(PATHS)),
    )
    def nest(self, node: Node, cost: PureDP, kind: str, way: str) -> Any:
        """Launch a filter, or an odometer with a threshold, possibly behind a person."""
        if len(node.parents) >= 3:
            return multiple()
        if kind == "filter":
            handle = self.launch(node, cost, PATHS[way](FiltCon(cost)))
        else:
            handle = self.launch(node, cost, PATHS[way](OdomCon(PureDP)), cost)
        if handle is None:
            return multiple()
        node.charge(cost)
        return self.node(handle, cost.epsilon, *node.parents, node)

    @rule(leaf=leaves)
    def ask(self, leaf: Leaf) -> None:
        """A leaf answers fresh bits, whatever happened around it."""
        assert isinstance(leaf.handle.ask("bits"), int)
        assert leaf.handle.privacy_loss() == leaf.charged

    @rule(leaf=leaves, wrong=st.sampled_from(ILLEGAL))
    def ask_nonsense(self, leaf: Leaf, wrong: Any) -> None:
        """An illegal query to a leaf changes nothing."""
        with pytest.raises(QueryError):
            leaf.handle.ask(wrong)

    @rule(node=nodes, wrong=st.sampled_from([*ILLEGAL, Launch(None), Ask(10**6, "bits")]))
    def nonsense(self, node: Node, wrong: Any) -> None:
        """An illegal query to a node changes nothing."""
        with pytest.raises(QueryError):
            node.handle.ask(wrong)

    @rule(node=nodes, cost=costs.filter(lambda cost: cost.epsilon > 0))
    def lie(self, node: Node, cost: PureDP) -> None:
        """A claim below the privacy map is refused before anything runs."""
        lie = self.recorder(cost, fits=False)
        with pytest.raises(QueryError):
            node.handle.launch(lie, PureDP(cost.epsilon / 2))

    @rule(node=nodes, cost=costs)
    def break_at_launch(self, node: Node, cost: PureDP) -> None:
        """A failure at launch is charged and uses an id."""
        mechanism = Faulty(raising(ValueError(SECRET)), at_launch=True, charged=cost)
        if not node.fits(cost):
            self.launch(node, cost, mechanism)
            return
        with pytest.raises(MechanismFault):
            node.handle.launch(mechanism)
        node.charge(cost)
        self.expected_faults += 1

    @rule(target=bombs, node=nodes, cost=costs)
    def arm(self, node: Node, cost: PureDP) -> Any:
        """Launch a child that fails at its first query."""
        handle = self.launch(node, cost, Faulty(raising(ValueError(SECRET)), charged=cost))
        if handle is None:
            return multiple()
        node.charge(cost)
        self.placed.append(Ready(handle))
        return self.placed[-1]

    @rule(bomb=consumes(bombs))
    def break_later(self, bomb: Ready) -> None:
        """The child fails once and is then retired. The charge stays."""
        with pytest.raises(MechanismFault):
            bomb.handle.ask("bits")
        with pytest.raises(RetiredChildError):
            bomb.handle.ask("bits")
        self.expected_faults += 1

    @rule(node=nodes)
    def read(self, node: Node) -> None:
        """The loss is zero for no records and doubles for two."""
        assert node.handle.privacy_loss(0) == PureDP(0)
        assert node.handle.privacy_loss(2) == PureDP(2 * node.spent)

    @invariant()
    def losses_are_the_models(self) -> None:
        """Every node reports the exact sum of its charges, within its budget."""
        for node in self.tree:
            assert node.handle.privacy_loss() == PureDP(node.spent)
            assert node.budget is None or node.spent <= node.budget

    @invariant()
    def refused_launches_never_ran(self) -> None:
        """Only admitted mechanisms ran, and every failure reached the curator."""
        assert "refused" not in self.runs
        assert len(self.runs) == self.expected_runs
        assert len(self.faults) == self.expected_faults

    def teardown(self) -> None:
        """All bits are distinct, and replaying the log from the seed gives the same view."""
        if not self.tree:
            return
        exchanges = self.tree[0].handle.view.exchanges
        words = [each.answer for each in exchanges if each.query == "bits"]
        numbers = [word for word in words if isinstance(word, int)]
        assert len(set(numbers)) == len(numbers)
        runs = len(self.runs)
        script = []
        for each in exchanges:
            query = each.query
            for child in reversed(each.path):
                query = Ask(child, query)
            script.append(query)
        view = interact(
            self.root,
            DATA,
            lambda view: script[len(view)] if len(view) < len(script) else None,
            SeededCoins(5),
        )
        assert view.exchanges == exchanges
        assert len(self.runs) == 2 * runs


TestNestedTree = NestedTree.TestCase
TestNestedTree.settings = settings(max_examples=20, stateful_step_count=40, deadline=None)


def test_the_bits_of_a_leaf_are_those_of_its_path() -> None:
    """The n-th message at a path draws from that path's coins; replay depends on this."""
    q = Queryable(FiltCon(PureDP(1)), None, coins=SeededCoins(5), allow_seeded=True)
    inner = q(FiltCon(PureDP("0.5")))
    leaf = inner(RandomBits())
    coins = SeededCoins(5).spawn("root", 99).spawn(0, 99)
    assert leaf.opening == coins.spawn(0, 0).draw(WORD)
    assert [leaf.ask("bits") for _ in range(3)] == [coins.spawn(0, n).draw(WORD) for n in (1, 2, 3)]
