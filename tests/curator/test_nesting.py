"""Messages that are nested as deep as is admitted work from every stack; one level more is refused.

At 1b177ec analyses in analyses were limited by Python's recursion limit alone. Where it was reached
depended on the caller, and `curator replay` failed for a root whose messages had been admitted.
"""

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import curator
import queryable as q
from composition import ConComp, FiltCon, Partition
from composition import Parallel as InParts
from curator.codec import CODEC, QUERIES, encode
from curator.codec.analysts import ANALYST_TAGS
from mechanisms import Best, Count, Frugal, Laplace, Scripted, TruncatedNegativeBinomial, column
from mechanisms.first_good import FirstGood, Try
from queryable.checks.held import MOST_NESTED, held, nesting
from queryable.errors import CodecError
from tests.encoded import values

DATA = {"age": [*range(40)]}
BUDGET = q.PureDP(1)
CHEAP = Laplace(Count(), epsilon="1/1000")
LAW = TruncatedNegativeBinomial(1, "1/2")


def conditions(depth: int) -> Any:
    """A predicate that nests as deep as predicates may."""
    where = column("age") > 1
    while where.depth < depth - 1:
        where = ~(where & (column("age") > 2))
    return where


INNERMOST = Laplace(Count(conditions(100)), epsilon="1/1000")


def parts_of(inner: Any) -> Any:
    return InParts(Partition("age", range(39)), {0: inner, "other": CHEAP})


NESTS: dict[str, Callable[[Any], Any]] = {
    "launched": lambda inner: Scripted(FiltCon(BUDGET), [q.Launch(inner)]),
    "asked": lambda inner: Scripted(
        FiltCon(BUDGET), [q.Launch(FiltCon(BUDGET)), q.Ask(0, q.Launch(inner))]
    ),
    "of one fixed": lambda inner: Scripted(ConComp([inner]), []),
    "of parts": lambda inner: Scripted(parts_of(inner), []),
    "fixed": lambda inner: ConComp([inner]),
    "parts": parts_of,
}
"""What holds a mechanism, in each way in which one can."""
HOLDERS = {
    "scripted/1",
    "con-comp/1",
    "parallel/1",
    "best/1",
    "try/1",
    "ask/1",
    "release/1",
    "postprocessed/1",
}
HOLDERS |= {"ask/1", "release/1", "launch/1", "launch-many/1", "launch-over/1", "can-afford/1"}


def deepest(nest: Callable[[Any], Any], most: int = MOST_NESTED) -> Any:
    """The deepest launch of at most so many levels."""
    found: Any = None
    inner: Any = INNERMOST
    try:
        while nesting(q.Launch(inner)) <= most:
            found, inner = inner, nest(inner)
    except (q.QueryError, ValueError):  # beyond the limit, or that of mechanisms without messages
        pass
    return found


def deeper(nest: Callable[[Any], Any]) -> Any:
    """One more than the deepest."""
    return nest(deepest(nest))


def called_deep(call: Callable[[], Any], frames: int) -> Any:
    return call() if not frames else called_deep(call, frames - 1)


def somewhere_else(call: Callable[[], Any], where: str) -> Any:
    """Call from here, from a thread with a small stack, or from a caller that is deep already."""
    if where == "here":
        return call()
    if where == "deep":
        return called_deep(call, 20)
    told, raised = list[Any](), list[BaseException]()

    def run() -> None:
        try:
            told.append(call())
        except BaseException as error:
            raised.append(error)

    old = threading.stack_size(2**18)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(old)
    thread.join()
    for error in raised:
        raise error
    return told[0]


def failed(answer: Any) -> bool:
    """Whether anything in an answer failed."""
    return isinstance(answer, q.Failed) or any(isinstance(each, q.Failed) for each in parts(answer))


def parts(answer: Any) -> list[Any]:
    waiting, found = [answer], []
    while waiting:
        each = waiting.pop()
        found.append(each)
        for name in ("answers", "answer"):
            inner = getattr(each, name, ())
            waiting += inner if isinstance(inner, tuple) else [inner]
        waiting += each if isinstance(each, tuple) else ()
    return found


@pytest.mark.parametrize("where", ["here", "small", "deep"])
@pytest.mark.parametrize("nest", NESTS)
def test_the_deepest_message_works_everywhere_and_one_deeper_nowhere(
    nest: str, where: str, tmp_path: Path
) -> None:
    """Launch, ledger, tree, explanation, name, opening and replay, on a ledger; texts too."""
    mechanism, place = deepest(NESTS[nest]), tmp_path / "a.db"
    budget = FiltCon(q.PureDP(10))

    def works() -> Any:
        root: Any = curator.open(place, budget, DATA, name="a")
        answer = root.launch(mechanism, name="deep")
        answer = answer.opening if isinstance(answer, q.Queryable) else answer
        assert root.explain()
        assert root.tree()
        assert len(root.ledger()) == 1
        curator.release(root)
        again = curator.open(place, budget, DATA, name="a")
        again.launch(mechanism, name="deep")  # compared with what was launched under the name
        assert len(again.ledger()) == 1
        curator.release(again)
        return answer

    assert not failed(somewhere_else(works, where))
    found = somewhere_else(lambda: curator.replay(place, budget, DATA, name="a"), where)
    assert found.difference is None
    assert found.messages == 1
    assert QUERIES.decode(encode(q.Launch(mechanism))) == q.Launch(mechanism)

    def refused() -> bool:
        root = curator.open(place, budget, DATA, name="a")
        spent = root.privacy_loss()
        with pytest.raises((q.QueryError, ValueError), match="nested"):
            root.launch(deeper(NESTS[nest]))
        same = bool(root.privacy_loss() == spent)
        curator.release(root)
        return same

    assert somewhere_else(refused, where)


def test_what_may_hold_a_mechanism_is_nested_here() -> None:
    """A new holder needs a line in `NESTS`, or one in `Best`'s and persons' tests below."""
    found = set()
    for value in values():
        tag = CODEC.tag_of(type(value))
        inner = [each for each in held(value) if isinstance(each, q.InteractiveMechanism)]
        if tag in ANALYST_TAGS and any(each is not value for each in inner):
            found.add(tag)
    assert found <= HOLDERS


@pytest.mark.parametrize("where", ["here", "small", "deep"])
def test_the_best_of_analyses_and_persons_over_persons(where: str) -> None:
    """At the depth that each admits."""
    inner = deepest(NESTS["launched"], MOST_NESTED - 5)
    best, tried = Best([inner], len, LAW), Try([inner], len)
    person: Any = FiltCon(q.ZCDP(1))
    for _ in range(38):
        person = Frugal() @ person
    rest = ConComp([person])

    def works() -> bool:
        root = q.Queryable(FiltCon(q.ZCDP(10**9)), DATA)
        told = root.launch(best)
        assert root.launch(rest) is not None
        assert not failed(root.launch(FirstGood(1, LAW, 1))(tried))
        return failed(told)

    assert not somewhere_else(works, where)


def test_asks_and_lists_count() -> None:
    """Beyond the limit nothing is charged, also in a text."""
    root = q.Queryable(FiltCon(q.PureDP(10)), DATA)
    asked: Any = q.Launch(CHEAP)
    for _ in range(MOST_NESTED):
        asked = q.Ask(0, asked)
    held_in: Any = CHEAP
    for _ in range(MOST_NESTED):
        held_in = (held_in,)
    for inner in (asked, held_in):
        with pytest.raises(q.QueryError, match="nested too deep"):
            root.launch(Scripted(FiltCon(BUDGET), [inner]))
    assert root.privacy_loss() == q.PureDP(0)
    with pytest.raises(CodecError, match="nested"):
        QUERIES.decode("[" * 300 + "]" * 300)


def test_a_caller_that_leaves_no_stack_is_refused_before_the_charge() -> None:
    root = q.Queryable(FiltCon(q.PureDP(10)), DATA)
    mechanism = deepest(NESTS["launched"])
    with pytest.raises(q.QueryError, match="Ask from a shallower call"):
        called_deep(lambda: root.launch(mechanism), sys.getrecursionlimit() - 500)
    assert root.privacy_loss() == q.PureDP(0)
