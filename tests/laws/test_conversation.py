"""Laws of conversations: eight invariants of the runner, over a table of conversations."""

import ast
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from queryable import Ask, CanAfford, Postprocessed, PrivacyLossQuery, QueryError, SeededCoins
from queryable.conversation import LOST, Data, Later, Ready, Run
from queryable.conversation.frames import only_reads
from queryable.conversation.steps import BROKEN, OtherVersionError
from queryable.data.facts import Facts
from queryable.messages import is_owners
from tests.conversations import replayed
from tests.laws.conversing import (
    CONVERSATIONS,
    Conversation,
    at,
    breaking_at,
    leaves,
    picture,
    raising_at,
    tossed,
)

EACH = pytest.mark.parametrize("conversation", CONVERSATIONS, ids=str)
ROOT = Path(__file__).parents[2]


def plainly(read: Any, number: int, step: Any) -> Any:
    """A leaf as it is."""
    return read()


def runs(conversation: Conversation) -> Any:
    """For each message: the root before it, the query, and how many leaves it runs."""
    for root, query in conversation.messages():
        with leaves(plainly) as count:
            begun(root, query)()
        yield root, query, count[0]


def begun(root: Any, query: Any, **options: Any) -> Run:
    """The next message of a root, which does not count."""
    coins = root.coins.spawn("root", root.messages + 1)
    return Run(root.mechanism, query, coins, root.state, **options)


@EACH
def test_equal_outcomes_give_equal_results(conversation: Conversation) -> None:
    """1, 6, 7: what a log knows leads to the same state and answer, and no leaf runs."""
    for root, query in conversation.messages():
        run = begun(root, query)
        moved = run()
        assert moved is not LOST
        with leaves(plainly) as count:
            again = begun(root, query, known=run.log())
            known = replayed(again)
            assert count == [0]
        assert known is not LOST
        assert known.answer == moved.answer
        assert picture(known.state) == picture(moved.state)
        assert [each[:1] + each[2:] for each in again.log()] == [
            each[:1] + each[2:] for each in run.log()
        ]


@EACH
def test_a_whole_log_is_opened_without_data(conversation: Conversation) -> None:
    """6, 7: states are made when somebody asks; then the run goes on as if it had not stopped."""
    root = conversation.root()
    for query in conversation.script:
        root.tell(query)

    def unread() -> Any:
        raise AssertionError("data were read")

    coins = SeededCoins(3)
    data = Data(Facts.of(conversation.rows), Later(unread))
    run = Run(conversation.mechanism, data, coins.spawn("root", 0), known=root.told[0])
    moved = replayed(run)
    for number, query in enumerate(conversation.script, 1):
        assert moved is not LOST
        known, coins_of = root.told[number], coins.spawn("root", number)
        run = Run(conversation.mechanism, query, coins_of, moved.state, known=known)
        moved = replayed(run)
    assert moved is not LOST
    assert {*moved.state.children} == {*root.state.children}


@EACH
def test_what_stands_is_told_before_data_are_read(conversation: Conversation) -> None:
    """2, 4: it is what stands if the message ends at its first leaf, which no leaf runs before."""
    for root, query, count in runs(conversation):
        told: list[Any] = []

        def read(run: Any, number: int, step: Any, told: list[Any] = told) -> Any:
            assert told
            raise KeyboardInterrupt

        if is_owners(query) or not count:
            continue
        run = begun(root, query)
        run.announce(told.append)
        with leaves(read), pytest.raises(KeyboardInterrupt):
            run()
        assert len(told) == 1
        assert picture(run.standing()) == picture((told[0],))
        assert [each.outcome for each in run.log()] == [LOST]


@EACH
def test_an_interrupt_keeps_what_was_answered_and_all_charges(conversation: Conversation) -> None:
    """2, 4: in a leaf or between two, the rest is lost; what came before stands."""
    for root, query, count in runs(conversation):
        whole = begun(root, query)
        whole_moved = whole()
        for place in range(1, count + 1):
            inside, outside = begun(root, query), begun(root, query)
            if is_owners(query):
                within = raising_at(place, KeyboardInterrupt())
                for run, read in ((inside, within), (outside, breaking_at(place))):
                    with leaves(read), pytest.raises(KeyboardInterrupt):
                        run()
                    assert run.standing() is None
                continue
            with leaves(raising_at(place, KeyboardInterrupt())) as ran:
                moved = inside()
            assert inside.stopped
            assert ran == [place]
            assert costs_as_much(root, moved, whole_moved)
            assert picture(replayed(begun(root, query, known=inside.log()))) == picture(moved)
            with leaves(breaking_at(place)), pytest.raises(KeyboardInterrupt):
                outside()
            known = replayed(begun(root, query, known=whole.log()[: place - 1]))
            assert picture((known,)) == picture(outside.standing())
            assert not any(each.outcome is LOST for each in outside.log()[: place - 1])


@EACH
def test_a_fault_retires_one_child_and_is_replayed(conversation: Conversation) -> None:
    """3, 6: of a leaf that fails nothing but `LOST` is known, and its text goes to the curator.

    It costs as much as if it had not failed, and its siblings are live.
    """
    for root, query, count in runs(conversation):
        whole = begun(root, query)()
        for place in range(1, count + 1):
            run, fault = begun(root, query), ValueError("the patient is 47")
            with leaves(raising_at(place, fault)), suppress(QueryError):
                moved = LOST
                moved = run()
            assert run.faults[0] is fault
            if moved is LOST and is_owners(query):
                continue  # the batch itself could not be read
            assert "patient" not in repr(moved)
            if moved is not LOST:
                lost = next(each for each in run.log() if each.outcome is LOST)
                assert at(moved.state, lost.path) is (BROKEN if is_owners(query) else None)
                assert costs_as_much(root, moved, whole)
                if type(lost.step) is not Ready:  # which all of them need
                    assert siblings(moved, lost.path) == siblings(whole, lost.path)
            again = begun(root, query, known=run.log())
            assert picture(replayed(again)) == picture(moved)


@EACH
def test_each_leaf_is_marked_before_it_runs(conversation: Conversation) -> None:
    """2: at the moment of reading, the log of the message ends with this step, lost."""
    for root, query, count in runs(conversation):
        run, marked = begun(root, query), list[bool]()

        def read(
            leaf: Any, number: int, step: Any, run: Run = run, marked: list[bool] = marked
        ) -> Any:
            log = run.log()
            last = log[-1] if len(log) == number else None
            marked.append(last is not None and last.step is step and last.outcome is LOST)
            return leaf()

        with leaves(read):
            run()
        assert marked == [True] * count


@EACH
def test_no_coins_are_tossed_twice(conversation: Conversation) -> None:
    """5: a leaf's coins are those of its path, and of how many messages it got before."""
    with tossed() as coins:
        root = conversation.root()
        for query in conversation.script:
            root.tell(query)
    assert len({*coins}) == len(coins)
    log = [each for told in root.told for each in told if type(each.step) is not Ready]
    paths = [each.path for each in log if not only_reads(getattr(each.step, "query", None))]
    assert [path[1:] for path, _ in coins] == paths
    counts: Counter[Any] = Counter()
    for path, message in coins:
        assert message == counts[path]
        counts[path] += 1


@EACH
def test_a_wrong_query_and_a_poll_change_nothing(conversation: Conversation) -> None:
    """3, 4: the state is the same object, no leaf runs, and an error has no context."""
    for root, query, count in runs(conversation):
        for wrong in (None, object(), "a string") if _goes_on(root) else ():
            with pytest.raises(QueryError) as raised:
                begun(root, wrong)()
            assert raised.value.__cause__ is raised.value.__context__ is None
        asked, poll = root.mechanism, query
        if isinstance(query, Ask) and not isinstance(asked, Postprocessed):
            asked, poll = root.state.children[query.child].mechanism, query.query
        if not count and isinstance(poll, PrivacyLossQuery | CanAfford):
            moved = begun(root, query)()
            assert moved is not LOST
            assert moved.state is root.state or isinstance(asked, Postprocessed)


def costs_as_much(root: Any, moved: Any, whole: Any) -> bool:
    """Whether the loss reported after a message is at least that after an undisturbed one.

    A person may have no report to give.
    """
    if isinstance(root.mechanism, Postprocessed):
        return True
    least, lost = (
        Run(root.mechanism, PrivacyLossQuery(), SeededCoins(1), each.state)().answer
        for each in (whole, moved)
    )
    return bool(least <= lost)


def siblings(moved: Any, path: Any) -> set[Any]:
    """The ids of the live children beside the one at a path."""
    parent = at(moved.state, path[:-1])
    return {*getattr(parent, "children", ())} - {path[-1]}


def _goes_on(root: Any) -> bool:
    """Whether it has not halted; then a wrong query is answered `Halted` too."""
    return getattr(root.state.own, "halted", None) is None


@EACH
def test_old_states_and_the_log_of_another_message_are_told_apart(
    conversation: Conversation,
) -> None:
    """6: outcomes of other steps are not taken, but said to be of another version."""
    logs = []
    for root, query in conversation.messages():
        run = begun(root, query)
        run()
        mine = [each.path for each in run.log()]
        for log in logs:
            theirs = [each.path for each in log]
            if theirs[: len(mine)] != mine[: len(theirs)] or len(theirs) > len(mine):
                with pytest.raises((OtherVersionError, QueryError)):
                    replayed(begun(root, query, known=log))
        logs.append(run.log())


def walked(tree: ast.AST) -> Iterator[ast.AST]:
    """All in it but context managers, whose `yield` is the block of their `with`."""
    for each in ast.iter_child_nodes(tree):
        named = {ast.unparse(it) for it in getattr(each, "decorator_list", ())}
        if "contextmanager" not in named:
            yield each
            yield from walked(each)


def yields_inside(source: str) -> list[int]:
    """Lines with a `yield` that an exception or the end of a `with` would act on."""
    found = []
    for outer in walked(ast.parse(source)):
        if isinstance(outer, ast.Try | ast.TryStar | ast.With | ast.AsyncWith):
            parts = [*outer.body]
            if isinstance(outer, ast.Try | ast.TryStar):
                parts += [*outer.handlers, *outer.finalbody, *outer.orelse]
            inner = [each for part in parts for each in ast.walk(part)]
            found += [each.lineno for each in inner if isinstance(each, ast.Yield | ast.YieldFrom)]
    return sorted(set(found))


def test_no_conversation_yields_where_an_exception_is_handled() -> None:
    """8: in all modules that know conversations; a text that does so is complained about."""
    assert yields_inside("def talk():\n try:\n  yield 1\n finally: pass") == [3]
    assert yields_inside("def talk():\n with a:\n  x = yield from b") == [3]
    packages = [ROOT / name for name in ("queryable", "composition", "mechanisms")]
    modules = [path for each in packages for path in each.rglob("*.py")]
    modules.append(ROOT / "tests" / "conversations.py")
    asked = [each for each in modules if "queryable.conversation" in each.read_text()]
    assert len(asked) > 5
    assert [each for each in asked if yields_inside(each.read_text())] == []
