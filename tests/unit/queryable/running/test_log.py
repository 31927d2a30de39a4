"""The log gives back what was put in, numbered, and keeps little of what needs no keeping."""

import gc
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

import attrs
import pytest

from composition import (
    ConComp,
    ExPost,
    Filt,
    FiltCon,
    FiltSeq,
    GDPResidue,
    Menu,
    OdomCon,
    Rogers2016,
    Universal,
    Whitehouse2023,
)
from mechanisms import Count, Laplace, LaplaceNoiseReduction, RandomizedResponse
from mechanisms.refinement.refine_queries import Refine
from queryable import (
    ZCDP,
    ApproxDP,
    CanAfford,
    Halted,
    InteractiveError,
    Launch,
    Launched,
    Postprocessed,
    PrivacyLossQuery,
    PureDP,
    Queryable,
    QueryError,
    SeededCoins,
)
from queryable.answers.noisy import Remarked
from queryable.display.nodes import TreeNode
from queryable.errors import HandleError
from queryable.receipts import Receipt
from queryable.running.log import POLLS, Log, Shape
from queryable.running.telling import Tells
from queryable.view import Exchange
from tests.strategies import Courier, Faulty, RandomWord, Toy, raising

COIN = RandomizedResponse(bool, odds="1.1")
BUDGET = ApproxDP(5, "1e-6")
FILTERS: dict[str, Any] = {
    "additive": FiltCon(PureDP(5)),
    "noninteractive": Filt(ZCDP(5)),
    "odometer": OdomCon(ZCDP),
    "ex-post": ExPost(BUDGET),
    "Whitehouse2023": FiltCon(BUDGET, Whitehouse2023()),
    "Rogers2016": FiltCon(ApproxDP(1, "1e-6"), Rogers2016()),
    "GDPResidue": FiltCon(BUDGET, GDPResidue()),
    "Menu": FiltCon(BUDGET, Menu("0.1", [1, 2])),
}


class Plain(Log):
    """A log that packs nothing."""

    def _packed(self, exchange: Exchange) -> Any:
        return exchange, None, None


def session(q: Queryable) -> None:
    """Repeated and new launches, failures, refusals, polls and grandchildren."""
    fresh = [RandomizedResponse(bool, odds="1.1") for _ in range(3)]
    for mechanism in (COIN, COIN, *fresh, COIN, Laplace(Count(), epsilon="1/10"), COIN, COIN):
        with suppress(InteractiveError):
            q.launch(mechanism)
        q.privacy_loss()
    with suppress(InteractiveError):
        q.launch(COIN, d_out=PureDP("0.2"))
    with suppress(InteractiveError):
        q.launch(COIN, name="named")
    with suppress(InteractiveError):
        team = q.launch(FiltCon(PureDP("0.5")))
        for _ in range(3):
            team.launch(COIN)
            q.launch(COIN)
    with suppress(InteractiveError):
        child = q.launch(LaplaceNoiseReduction(Count(), epsilons=["0.1", "0.2"]))
        for _ in range(3):
            child.ask(Refine())
            q.can_afford(COIN)
    with suppress(InteractiveError):
        q.launch(Toy(PureDP(100)))


class Halting(Toy):
    """Remarks on its second answer, halts at the third question and fails at the fifth."""

    def step(self, state: Any, query: Any, coins: Any = None) -> Any:
        count = state + 1 if isinstance(state, int) else 1
        match count:
            case 2:
                return count, Noted("well")
            case 3 | 4:
                return count, Halted("enough")
            case 5:
                raise ValueError
        return count, count


@attrs.frozen
class Noted(Remarked):
    """An answer with a remark."""

    remark: str = ""


HALTING = Halting(PureDP("1/100"))
TEAM, TURNS = FiltCon(PureDP("1/2")), FiltSeq(PureDP("1/2"))
LAUNCHED: list[Any] = [
    *(COIN, HALTING, Toy(PureDP("1/100")), TEAM, TURNS, ConComp([TEAM, COIN])),
    LaplaceNoiseReduction(Count(), epsilons=["1/100", "2/100"]),
    *(Faulty(raising(ValueError()), at_launch=True), Toy(PureDP(100))),
    FiltCon(PureDP("1/100"), on_exceed="halt"),
    Universal(PureDP("1/10")),
]
ASKED: list[Any] = ["bits", Refine(), Launch(COIN), CanAfford(COIN), PrivacyLossQuery()]


def wander(q: Queryable, seed: int, messages: int) -> None:
    """Send random messages to random mechanisms of a tree."""
    random, there = Random(seed), [q]
    for number in range(messages):
        under = random.choice(there[:1] + there[-9:])
        with suppress(InteractiveError):
            if random.random() < 0.6:
                again = HALTING if random.random() < 0.4 else random.choice(LAUNCHED)
                name = f"number {number}" if random.random() < 0.1 else None
                found = under.launch(again, name=name)
                there += [found] if isinstance(found, Queryable) else []
            else:
                under.ask(random.choice(ASKED))


def below(node: TreeNode) -> Any:
    """All that a node and those below it say."""
    told = attrs.asdict(node, recurse=False, filter=lambda field, _: field.name != "children")
    receipt, before = node.receipt, node.before
    told["receipt"] = receipt and attrs.astuple(receipt, recurse=False)
    told |= {"before": before and before.total(), "account": node.account and node.spent}
    told |= {"mechanism": node.mechanism, "share": node.share, "count": node.count()}
    return told, [below(child) for child in node.children]


def shown(q: Queryable) -> list[Any]:
    receipts = [
        attrs.astuple(each.answer.receipt, recurse=False)
        if hasattr(each.answer, "receipt") and each.answer.receipt
        else None
        for each in q.view
    ]
    return [
        list(q.view),
        receipts,
        list(q.ledger()),
        q.ledger().to_json(),
        q.tree(),
        q.explain(),
        q._repr_html_(),
        q.ledger().columns(),
        below(q.node),
        *(c.tree() for c in q.children.values()),
    ]


@pytest.mark.parametrize("case", FILTERS)
def test_packed_launches_are_read_back(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Displays and receipts are equal to those of a log that packs nothing."""
    from queryable.randomness.coins import SeededCoins

    def run() -> Queryable:
        q = Queryable(FILTERS[case], [1] * 10, coins=SeededCoins(3), allow_seeded=True)
        session(q)
        return q

    packed = run()
    assert any(isinstance(each, Shape) for each in packed._root.log.entries)
    monkeypatch.setattr("queryable.running.moments.Log", Plain)
    whole = run()
    assert not any(isinstance(each, Shape) for each in whole._root.log.entries)
    assert shown(packed) == shown(whole)
    assert packed.ledger()[-1].total == whole.privacy_loss()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    "mechanism", [FiltCon(PureDP(9)), FiltSeq(PureDP(9)), ExPost(BUDGET), OdomCon(PureDP)], ids=str
)
def test_packed_children_are_shown_as_they_were(
    mechanism: Any, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trees in which children are retired, fail, halt and remark are those of a plain log."""

    def run(messages: int) -> Queryable:
        q = Queryable(mechanism, [1] * 10, coins=SeededCoins(3), allow_seeded=True)
        wander(q, seed, messages)
        return q

    packed = run(150)
    assert any(each.tells is Tells.STARTED for each in shapes(packed))
    monkeypatch.setattr("queryable.running.moments.Log", Plain)
    assert shown(packed) == shown(run(150))


def shapes(q: Queryable) -> list[Shape]:
    return [each for each in q._root.log.entries if isinstance(each, Shape)]  # type: ignore[attr-defined]


def test_numbers_count_polls() -> None:
    q = Queryable(FiltCon(PureDP(5)), True)
    q.privacy_loss()
    q.launch(COIN)
    q.launch(COIN)
    for _ in range(3):
        q.can_afford(COIN)
    q.launch(COIN, name="third")
    assert [row.sequence for row in q.ledger()] == [1, 2, 6]
    assert [row.name for row in q.ledger()] == [None, None, "third"]
    assert [type(each.query).__name__ for each in q.view] == [
        "PrivacyLossQuery",
        "Launch",
        "Launch",
        "CanAfford",
        "CanAfford",
        "CanAfford",
        "Launch",
    ]
    assert "third: RandomizedResponse" in q.tree()


def test_polls_are_bounded_and_leave_no_gap_in_the_numbers() -> None:
    q = Queryable(FiltCon(PureDP(5)), True)
    concurrent = q.launch(ConComp([Toy(), Toy()]))
    concurrent.privacy_loss()
    for _ in range(POLLS + 500):
        q.can_afford(COIN)
    q.launch(COIN)
    assert len(q.view) == 2 + POLLS + 1  # and the report
    assert q.ledger()[-1].sequence == 2 + POLLS + 500
    assert "last reported PureDP(epsilon=0.2)" in q.tree()
    assert len(concurrent.view) == 1
    q = Queryable(Postprocessed(FiltCon(PureDP(1)), Courier()), True)
    for _ in range(POLLS + 5):
        q.ask(PrivacyLossQuery())
    assert len(q.view) == POLLS + 5
    q = Queryable(FiltCon(PureDP(1)), True)
    with pytest.raises(QueryError):
        q.privacy_loss(-1)
    assert len(q.view) == 0


def test_a_report_that_is_told_again_is_a_message_like_another() -> None:
    """Its number counts for the coins, it is a poll of the log, and a batch ends it."""
    told, asked = (
        Queryable(FiltCon(PureDP(1)), [1], coins=SeededCoins(3), allow_seeded=True)
        for _ in range(2)
    )
    for q, query in ((told, PrivacyLossQuery()), (asked, PrivacyLossQuery(1))):
        for _ in range(3):
            assert q.ask(query) == PureDP(0)
    assert told.launch(RandomWord(PureDP("1/10"))) == asked.launch(RandomWord(PureDP("1/10")))
    for q in (told, asked):
        child = q.launch(FiltCon(PureDP("1/2")))
        assert [child.privacy_loss(), child.privacy_loss()] == [PureDP(0)] * 2
        child.launch(RandomWord(PureDP("1/10")))
        assert [child.privacy_loss(), child.privacy_loss()] == [PureDP("1/10")] * 2
        assert [q.privacy_loss(), q.privacy_loss()] == [PureDP("6/10")] * 2
        q.feed([2])
        assert [q.privacy_loss(), q.privacy_loss(0)] == [PureDP("6/10"), PureDP(0)]
    assert len(told.view) == len(asked.view) == 3 + 1 + 1 + 2 + 1 + 2 + 2 + 2


def test_a_report_is_not_told_again_past_a_journal() -> None:

    class Lost:
        def require_ready(self) -> None:
            raise HandleError("the ledger belongs to another process")

    q = Queryable(FiltCon(PureDP(1)), [1])
    assert [q.privacy_loss(), q.privacy_loss()] == [PureDP(0)] * 2
    q._root.journal = Lost()  # type: ignore[attr-defined]
    with pytest.raises(HandleError):
        q.privacy_loss()


def test_entries_that_are_not_valid_are_overwritten() -> None:
    """As after an interrupt between log and state."""
    receipt = Receipt(COIN, None, 1, PureDP("0.1"), FiltCon(PureDP(1)).account())  # type: ignore[arg-type]
    launch = Exchange((), Launch(COIN), Launched(None, True, receipt=receipt))
    poll = Exchange((), PrivacyLossQuery(), PureDP("0.1"))
    log = Log()
    for answer in range(3):
        log.add(attrs.evolve(launch, answer=Launched(None, answer, receipt=receipt)), 0, 0)
        log.add_poll(attrs.evolve(poll, answer=PureDP(answer)), 1, 0)
    log.add(launch, 1, 1)
    assert [(n, each.answer) for n, each in log.record(2, 1).numbered()] == [
        (0, Launched(None, 2)),
        (1, PureDP(2)),
        (2, Launched(None, True)),
    ]
    assert [each for each, _ in log.record(1, 0).numbered()] == [0]


@pytest.mark.parametrize("before", [0, 1])
def test_a_poll_that_is_not_valid_has_no_number(before: int) -> None:
    """Entries after it are numbered as if it had not been; with a poll before it or without."""
    launch = Exchange((), Launch(COIN), Launched(0, None))
    poll = Exchange((), PrivacyLossQuery(), PureDP("0.1"))
    log = Log()
    log.add(launch, 0, 0)
    for number in range(before):
        log.add_poll(poll, 1, number)
    log.add_poll(poll, 1, before)
    log._polled_after.append(1)  # interrupted here
    log.add(launch, 1, before)
    log.add_poll(poll, 2, before)
    log.add(launch, 2, before + 1)
    numbers = [number for number, _ in log.record(3, before + 1).numbered()]
    assert numbers == list(range(4 + before))


@pytest.mark.parametrize("account", [None, "nothing", 3])
def test_a_wrong_receipt_is_kept_as_it_is(account: Any) -> None:
    receipt = Receipt(COIN, None, 1, PureDP("0.1"), account)
    log = Log()
    log.add(Exchange((), Launch(COIN), Launched(None, True, receipt=receipt)), 0, 0)
    ((_, exchange),) = log.record(1, 0).numbered()
    assert exchange.answer.receipt is receipt


def test_a_launch_that_answers_in_another_way_is_no_child() -> None:
    """As a person in the middle may answer: of one mechanism, with a child and without."""
    receipt = Receipt(HALTING, None, 1, PureDP("0.1"), FiltCon(PureDP(1)).account())  # type: ignore[arg-type]
    given = [(0, None), (None, None), (None, 7), (1, None), (2, "opened")]
    log, launch = Log(), Launch(HALTING)
    for place, told in enumerate(given):
        log.add(Exchange((), launch, Launched(*told, receipt=receipt)), place, 0)
    answers = [each.answer for _, each in log.record(len(given), 0).numbered()]
    assert answers == [Launched(*told) for told in given]
    assert [log.child(place) for place in (0, 3)] == [0, 1]


def objects_left_by(act: Callable[[], object], times: int) -> float:
    """How many objects each call leaves for the garbage collector.

    What there is before is frozen: it is not looked through, and counted while it is there.
    """
    act(), act()
    gc.freeze()
    before = gc.get_freeze_count()
    for _ in range(times):
        act()
    gc.collect()
    left = len(gc.get_objects()) + gc.get_freeze_count() - before
    return left / times


def test_a_launch_leaves_little_to_the_collector() -> None:
    """A launch that comes again leaves less than one object, a poll none at all."""
    q = Queryable(FiltCon(PureDP(10_000)), True)
    assert objects_left_by(lambda: q.launch(COIN), 2_000) < 1
    for _ in range(POLLS):
        q.can_afford(COIN)
    assert objects_left_by(lambda: q.can_afford(COIN), 500) < 0.5


class Counting(RandomizedResponse):
    """Counts how often its loss is asked for."""

    asked = 0

    def loss(self, d_in: int) -> Any:
        type(self).asked += 1
        return super().loss(d_in)


def test_trees_and_ledgers_make_only_the_rows_that_are_read() -> None:
    q = Queryable(FiltCon(PureDP(10_000)), True)
    for _ in range(2_000):
        q.launch(Counting(bool, odds="1.1"))
    for act, most in ((q.tree, 50), (q.ledger, 0), (lambda: q.ledger()[-5:], 0)):
        Counting.asked = 0
        act()
        assert Counting.asked <= most
    assert [row.outcome for row in q.ledger()[-5:]] == ["charged"] * 5
    assert len(q.ledger()) == 2_000
    assert "1,990 more: 1,990 answered" in q.tree()
    assert "(2,000 times)" in q.explain()
