"""Ex-post accounting against its strongest adversary, exactly: every launch, ask and stop.

The toys have rational probabilities, and their expenses are logarithms of rationals. Claims
therefore hold with equality: at the budget's odds the excess over delta is zero, and just below it
is positive.
"""

from fractions import Fraction
from functools import cache
from math import prod
from random import Random
from typing import Any

import attrs
import pytest

from composition import ConComp, ExPost, FiltCon
from composition.compositors.ex_post_claims import ExPostClaim
from queryable import (
    SYSTEM,
    ApproxDP,
    Ask,
    Coins,
    Launch,
    Measurement,
    PureDP,
    Refused,
    UnknownQueryError,
)
from queryable.audit import HockeyStick, view_law
from queryable.audit import worst_case as strongest
from queryable.conversation import Moved, Node
from queryable.ex_post import Expense, ExPostMechanism, Opening
from queryable.randomness.laws import Bernoulli
from tests.audit import toys
from tests.audit.toys import (
    F,
    PadReveal,
    Response,
    excess,
    odds_below,
    reader,
    script,
    worst_case,
    worst_cases,
    yes,
)

nats = cache(toys.nats)
both = pytest.mark.parametrize(("x", "x_prime"), [(0, 1), (1, 0)])


@attrs.frozen
class Odds(Expense):
    """An expense as odds: `worst` after one more query, `realised` after its answer."""

    worst: Any
    realised: Any
    odds: Fraction = F(1)

    def epsilon(self, d_in: int) -> Fraction:
        return nats(self.odds)

    def at_worst(self, query: Any, d_in: int) -> Fraction:
        return nats(self.worst(self.odds, query))

    def after(self, query: Any, answer: Any) -> Expense:
        return attrs.evolve(self, odds=self.realised(self.odds, query, answer))


STEPS = {"coarse": F(2), "fine": F(4)}


def _at_least(odds: Fraction, query: Any, answer: Any = None) -> Fraction:
    if isinstance(query, Opening):
        return odds
    if query not in STEPS:
        raise UnknownQueryError("ask for 'coarse' or 'fine'")
    return max(odds, STEPS[query])


@attrs.frozen
class Reduction(ExPostMechanism[Any]):
    """Noise reduction in small: a response at odds 4, and a noisier version at odds 2.

    The fine bit is right with probability 4/5. The coarse bit is the fine bit, flipped with
    probability 2/9, so it is right with probability 2/3. Both together reveal as much as the fine
    bit.
    """

    def loss(self, d_in: int) -> PureDP:
        return PureDP(nats(4))

    def expense(self) -> Expense:
        return Odds(_at_least, _at_least)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        fine = coins.draw(yes(F(4))) == bool(dataset)
        return (fine, coins.draw(yes(F(7, 2))) == fine), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        _at_least(F(1), query)
        return state, state[0] if query == "fine" else state[1]


def _if_loud(odds: Fraction, query: Any, answer: Any = "loud") -> Fraction:
    return odds if isinstance(query, Opening) or answer == "quiet" else odds * 4


def alarm(bit: bool, coins: Coins) -> Any:
    """ "quiet" with probability 1/2, else the bit at odds 4."""
    if coins.draw(Bernoulli(F(1, 2))):
        return "quiet"
    return coins.draw(yes(F(4))) == bit


@attrs.frozen
class Alarm(ExPostMechanism[bool]):
    """A quiet answer costs nothing; any other costs log 4, the worst case."""

    def expense(self) -> Expense:
        return Odds(_if_loud, _if_loud)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[bool, Any]:
        return bool(dataset), None

    def step(self, state: bool, query: Any, coins: Coins = SYSTEM) -> tuple[bool, Any]:
        if query != "alarm":
            raise UnknownQueryError("ask for 'alarm'")
        return state, alarm(state, coins)


@attrs.frozen
class Tell(ExPostMechanism[Any], Measurement):
    """An alarm that answers once, at launch: its opening determines its cost."""

    def expense(self) -> Expense:
        return Odds(lambda odds, query: odds * 4, lambda odds, _, a: _if_loud(odds, None, a))

    def release(self, dataset: Any, coins: Coins) -> Any:
        return alarm(bool(dataset), coins)


@attrs.frozen
class Leaky(ExPostMechanism[Any]):
    """A response at odds 3/2 per ask; with probability 1/20, decided at launch, it reveals the bit.

    Its delta covers the leak; its expense does not.
    """

    stated_delta: Fraction = F(1, 20)

    def delta(self, d_in: int) -> Fraction:
        return self.stated_delta

    def expense(self) -> Expense:
        def times(odds: Fraction, query: Any, answer: Any = None) -> Fraction:
            return odds if isinstance(query, Opening) else odds * F(3, 2)

        return Odds(times, times)

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return (bool(dataset), coins.draw(Bernoulli(F(1, 20)))), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        if query != "ask":
            raise UnknownQueryError("ask to 'ask'")
        bit, tells = state
        return state, ("sure", bit) if tells else coins.draw(yes(F(3, 2))) == bit


@attrs.frozen
class Flatterer(Reduction):
    """Falsely claims that its coarse answer costs nothing."""

    def expense(self) -> Expense:
        def fine_alone(odds: Fraction, query: Any, answer: Any = None) -> Fraction:
            return F(4) if query == "fine" else odds

        return Odds(fine_alone, fine_alone)


def asks(*queries: str) -> list[Ask]:
    """Each of these queries to the first child, and to the second."""
    return [Ask(child, query) for child in (0, 1) for query in queries]


REDUCE, ALARMS, TELL, LEAK = (Launch(each) for each in (Reduction(), Alarm(), Tell(), Leaky()))


@both
def test_the_toys_state_their_cost_correctly(x: int, x_prime: int) -> None:
    """Each toy alone, for every adversary: the sum over views of the excess over the expense."""

    def over(mechanism: Any, asks: list[Any]) -> Any:
        def leaves(state: Node) -> list[Any]:
            claims = state.own.claims.values()
            odds = [each.expense.odds for each in claims if isinstance(each, ExPostClaim)]
            return [excess(odds[0] if odds else 1)]

        queries = [Launch(mechanism), *(Ask(0, ask) for ask in asks)]
        alone = ExPost(ApproxDP(100, 1), max_mechanisms=1)
        return worst_cases(alone, x, x_prime, queries, 4, leaves)[0]

    assert over(Reduction(), ["coarse", "fine"]) == 0
    assert over(Alarm(), ["alarm"]) == 0
    assert over(Tell(), []) == 0
    assert over(Leaky(), ["ask"]) == Leaky().stated_delta
    assert over(Flatterer(), ["coarse", "fine"]) > 0


DEEP = [Launch(ExPost(PureDP(nats(4)))), Launch(Response(2)), Ask(0, REDUCE), Ask(0, ALARMS)]
DEEP += [Ask(0, Ask(child, query)) for child in (0, 1) for query in ("fine", "alarm")]
PAD_AND_REDUCTION = [
    *(Launch(PadReveal(3)), REDUCE),
    *(Ask(0, "key"), Ask(0, "sum"), Ask(1, "fine")),
]
USED_UP: dict[str, tuple[Any, tuple[int, ...], list[Any], int]] = {
    "reductions in any order": (ExPost, (8,), [REDUCE, *asks("coarse", "fine")], 4),
    "answers that cost less leave more": (ExPost, (16,), [ALARMS, TELL, Ask(0, "alarm")], 5),
    "a pad is charged before its first answer": (ExPost, (3, 4), PAD_AND_REDUCTION, 5),
    "in a filter it costs its budget": (FiltCon, (4, 2), DEEP, 4),
}
"""Compositors, factors of the odds of their epsilon, queries, and how many of these are sent."""


@both
@pytest.mark.parametrize("name", USED_UP)
def test_all_of_epsilon_is_used_and_no_more(name: str, x: int, x_prime: int) -> None:
    compositor, factors, queries, horizon = USED_UP[name]
    mechanism = compositor(PureDP(sum(map(nats, factors))), max_mechanisms=2)
    leaves = [excess(prod(factors)), excess(prod(factors) * F(999, 1000))]
    exactly, below = worst_cases(mechanism, x, x_prime, queries, horizon, leaves)
    assert exactly == 0 < below


@both
@pytest.mark.parametrize("delta", [F(3, 20), F(1, 10)])
def test_with_deltas_of_every_kind(delta: Fraction, x: int, x_prime: int) -> None:
    """Ex-post and ordinary deltas add, and may be allocated adaptively.

    The smaller budget does not admit all of them.
    """
    budget = ApproxDP(nats(F(3, 2) * 2), delta)
    launches = [LEAK, Launch(Response(2, delta="1/10")), Launch(reader(2, delta="1/20")), TELL]
    queries = [*launches, *asks("ask", "read")]
    gain = worst_case(ExPost(budget, max_mechanisms=2), x, x_prime, queries, 4, excess(3))
    assert budget.delta * F(9, 10) < gain <= budget.delta


@both
def test_beside_a_filter(x: int, x_prime: int) -> None:
    """Rogers 2023, Theorem 2: with a concurrent filter, epsilons and deltas add."""
    side_by_side = ConComp(
        [ExPost(PureDP(nats(4)), max_mechanisms=1), FiltCon(ApproxDP(nats(2), "1/10"))]
    )
    assert side_by_side.privacy_map(1) == ApproxDP(nats(4) + nats(2), "1/10")
    queries = [Ask(0, REDUCE), Ask(1, Launch(Response(2, delta="1/10")))]
    queries += [Ask(0, Ask(0, "coarse")), Ask(0, Ask(0, "fine"))]
    assert worst_case(side_by_side, x, x_prime, queries, 4, excess(8)) == F(1, 10)


def test_the_searching_audit_agrees() -> None:
    """`queryable.audit.worst_case` finds the same value, and an adversary that reaches it."""
    filtered, queries = ExPost(PureDP(nats(4))), [REDUCE, ALARMS, *asks("coarse", "alarm")]
    assert strongest(filtered, 1, 0, queries, 3, HockeyStick(nats(4))).value == 0
    short = strongest(filtered, 1, 0, queries, 3, HockeyStick(nats(F(7, 2))))
    assert short.value > 0
    p, q = (view_law(filtered, bit, short.adversary) for bit in (1, 0))
    assert max(p[seen] / q[seen] for seen in p) == 4


# Random children: trees of answers with random expenses, whose delta is computed.


@attrs.frozen
class Tree(ExPostMechanism[Any], Expense):
    """A tree with at most two answers per node; each node has an expense, and the delta is exact.

    A node is (odds, laws, below): the laws of the two answers under each bit, and the next nodes.
    The delta is the largest sum of the excess over the expense, over adversaries and directions.
    """

    node: Any
    name: int = 0
    stated_delta: Fraction = F(0)

    def delta(self, d_in: int) -> Fraction:
        return self.stated_delta

    def expense(self) -> Expense:
        return self

    def epsilon(self, d_in: int) -> Fraction:
        return nats(self.node[0])

    def at_worst(self, query: Any, d_in: int) -> Fraction:
        if isinstance(query, Opening):
            return self.epsilon(d_in)
        return nats(max(below[0] for below in self._below(query)))

    def after(self, query: Any, answer: Any) -> Expense:
        if isinstance(query, Opening):
            return self
        return attrs.evolve(self, node=self._below(query)[answer])

    def _below(self, query: Any) -> Any:
        if query != "next" or len(self.node) == 1:
            raise UnknownQueryError("no more answers")
        return self.node[2]

    def init(self, dataset: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        return (bool(dataset), self), None

    def step(self, state: Any, query: Any, coins: Coins = SYSTEM) -> tuple[Any, Any]:
        bit, tree = state
        tree._below(query)
        answer = int(coins.draw(Bernoulli(tree.node[1][bit])))
        return (bit, tree.after(query, answer)), answer


def random_tree(random: Random, name: int) -> Tree:
    def grow(depth: int, odds: Fraction) -> Any:
        odds *= F(random.choice([4, 5, 6, 8]), 4)
        if depth == 0:
            return (odds,)
        laws = tuple(F(random.randint(2, 8), 10) for _ in range(2))
        return (odds, laws, tuple(grow(depth - 1, odds) for _ in range(2)))

    def exceeding(node: Any, p: Fraction, q: Fraction) -> Fraction:
        here = max(p - node[0] * q, F(0))
        if len(node) == 1:
            return here
        on = sum(
            exceeding(below, p * (a if answer else 1 - a), q * (b if answer else 1 - b))
            for (a, b), (answer, below) in zip([node[1]] * 2, enumerate(node[2]), strict=True)
        )
        return max(here, on)

    def swapped(node: Any) -> Any:
        return node if len(node) == 1 else (node[0], node[1][::-1], tuple(map(swapped, node[2])))

    root = grow(2, F(1))
    delta = max(exceeding(root, F(1), F(1)), exceeding(swapped(root), F(1), F(1)))
    return Tree(root, name, delta)


def random_game(seed: int) -> tuple[list[Tree], ApproxDP]:
    random = Random(seed)
    trees = [random_tree(random, name) for name in range(2)]
    total = sum((tree.stated_delta for tree in trees), F(0))
    odds = random.choice([F(2), F(3), F(4), F(6)])
    return trees, ApproxDP(
        nats(odds), min(random.choice([max(t.stated_delta for t in trees), total]), 1)
    )


def test_random_children() -> None:
    """With random answers, expenses and deltas, no adversary exceeds the budget's delta.

    Some adversaries reach more than half of it, so the claim is not vacuous.
    """
    reached = F(0)
    for seed in range(8):
        trees, budget = random_game(seed)
        queries = [*(Launch(tree) for tree in trees), *asks("next")]
        filtered, leaf = ExPost(budget, max_mechanisms=2), excess(odds_below(budget.epsilon))
        for x in (0, 1):
            gain = worst_case(filtered, x, 1 - x, queries, 6, leaf)
            assert gain <= budget.delta + F(1, 10**20), (
                seed
            )  # the factor is slightly below e^epsilon
            reached = max(reached, gain / budget.delta) if budget.delta else reached
    assert reached > F(1, 2)


# Faulty accounting.


@attrs.frozen
class ChargesAfterwards(ExPost):
    """Mutation: admits a step as long as the realised loss so far is within the budget."""

    def _ask_refused(self, own: Any, entry: ExPostClaim, worst: Any) -> Refused | None:
        return super()._ask_refused(own, entry, entry.loss)


@attrs.frozen
class Forgets(ExPost):
    """Mutation: charges nothing for the steps of ex-post children."""

    def _ask(self, own: Any, asked: Any) -> Any:
        moved = yield from super()._ask(own, asked)
        return Moved(attrs.evolve(moved.state, account=own.account), moved.answer)


def test_faulty_accounting_is_refuted() -> None:
    """Both mutations exceed the budget."""
    budget, queries = PureDP(nats(4)), [ALARMS, REDUCE, *asks("alarm"), Ask(1, "fine")]
    assert worst_case(ExPost(budget), 1, 0, queries, 4, excess(4)) == 0
    for faulty in (ChargesAfterwards, Forgets):
        assert worst_case(faulty(budget), 1, 0, queries, 3, excess(4)) > 0


@pytest.mark.parametrize("compositor", [ExPost, FiltCon])
def test_a_false_expense_is_caught(compositor: Any) -> None:
    """A filter relies on a child's claimed expense; the exact worst case refutes a false one.

    `FiltCon` charges the whole loss of the child at its launch, which is true.
    """
    queries = [Launch(Flatterer()), *asks("coarse"), Ask(0, "fine")]
    gain = worst_case(compositor(PureDP(nats(4))), 1, 0, queries, 4, excess(4))
    assert (gain > 0) == (compositor is ExPost)


def test_an_early_stop_leaves_room() -> None:
    """Unrealised loss is available to other launches, unlike in a filter."""
    queries = script(REDUCE, Ask(0, "coarse"), Launch(Response(3)))
    for compositor, admitted in ((ExPost, True), (FiltCon, False)):
        law = view_law(compositor(PureDP(nats(2) + nats(3))), 1, queries)
        refused = [any("Refused" in str(answer) for answer in seen) for seen in law]
        assert all(each is not admitted for each in refused)
